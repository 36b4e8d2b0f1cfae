"""Answers to survey: a public poll of 1978 made into a few choices, and names that try to break a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from statsmodels.datasets import fair

from blendp.answers import Answers, Attribute, Questionnaire
from blendp.logs import write_answers
from blendp.randomness import SimulationRandom
from blendp.survey import Tree
from blendp.survey.synthetic import draw_answers

HOSTILE = ("<script>alert('ran')</script>", "$x^2$ & \\frac", "right\u202eleft", "long " * 60 + "name")


def fair_answers(people: int = 4_000, seed: int = 1) -> Answers:
    """So many people drawn from the Redbook survey of marriages, with answers of two or three values."""
    table: Any = fair.load_pandas().data
    rows = np.random.default_rng(seed).integers(0, len(table), people)

    def cut(name: str, *ends: float) -> Any:
        return np.digitize(table[name].to_numpy()[rows], ends)

    columns = {
        "affair": (cut("affairs", 1e-9), ("no", "yes")),
        "children": (cut("children", 0.5), ("no", "yes")),
        "religious": (cut("religious", 2.5, 3.5), ("little", "fairly", "strongly")),
        "happy": (cut("rate_marriage", 3.5), ("no", "yes")),
        "age": (cut("age", 26, 36), ("young", "middle", "older")),
    }
    asked = Questionnaire(tuple(Attribute(name, values) for name, (_, values) in columns.items()))
    codes = np.stack([codes for codes, _ in columns.values()], axis=1).astype(np.int32)
    return Answers(asked, codes)


def hostile_answers(people: int = 3_000) -> Answers:
    """People who do not exist, asked questions of awkward names."""
    drawn = draw_answers(Tree.equicorrelated(4, 0.4), people, SimulationRandom(2))
    asked = Questionnaire(tuple(Attribute(name.strip(), ("yes", f"no {name}"[:200].strip())) for name in HOSTILE))
    return Answers(asked, drawn.codes)


def write_fair(folder: Path, people: int = 4_000) -> Path:
    """The first as a file, with its questionnaire beside it."""
    answers = fair_answers(people)
    write_answers(answers, folder / "answers.csv")
    (folder / "questionnaire.json").write_bytes(answers.questionnaire.to_bytes())
    return folder / "answers.csv"
