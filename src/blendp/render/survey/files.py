"""Writing a survey to a directory."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, fields
from os import PathLike
from pathlib import Path
from typing import Any

from blendp._version import __version__
from blendp.errors import RandomnessError
from blendp.estimate import CONFIDENCE
from blendp.evaluation.surveys import design_facts
from blendp.outputs import whole
from blendp.render.about import About
from blendp.render.survey.page import render_survey
from blendp.render.survey.text import learnt_model, learnt_tree
from blendp.render.tables import write_table
from blendp.survey import AnswerRow, SurveyOutcome, SurveyRelease
from blendp.survey.models.files import model_to_bytes

_ROUNDING = 1e-6
"""By how much a sum of frequencies may miss 1."""

SURVEY_FILES = ("frequencies.csv", "survey.json", "questionnaire.json", "model.json", "report.html")


def write_survey(
    release: SurveyRelease,
    directory: str | PathLike[str],
    *,
    source: Mapping[str, Any] | None = None,
    about: About | None = None,
    overwrite: bool = False,
) -> None:
    """Write the files of a survey. ``source`` says who opted in, and ``about`` what it is of.

    model.json is only written where a tree was learnt. Where the possible answers were read from the answers, neither
    it nor questionnaire.json is: a later survey would take them for public.
    """
    if not isinstance(release, SurveyRelease):
        raise RandomnessError(
            f"A {type(release).__name__} is not for release: make a SurveyRelease with blendp.run_survey."
        )
    with whole(Path(directory), overwrite=overwrite, own_files=SURVEY_FILES) as draft:
        columns = [field.name for field in fields(AnswerRow)]
        write_table(draft / "frequencies.csv", columns, (astuple(row) for row in release.rows()))
        about = about or About()
        document = {**survey_card(release, source, about), "frequencies": frequency_rows(release)}
        text = json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False)
        (draft / "survey.json").write_text(text + "\n", encoding="utf-8")
        if not release.inferred:
            _write_public(release, draft)
        title = about.title or f"A survey of {release.people:,} people"
        (draft / "report.html").write_text(render_survey(release, title=title, about=about), encoding="utf-8")


def _write_public(release: SurveyRelease, folder: Path) -> None:
    """Write what a later survey may take for public."""
    (folder / "questionnaire.json").write_bytes(release.questionnaire.to_bytes())
    tree = learnt_tree(release)
    if tree is not None:
        (folder / "model.json").write_bytes(model_to_bytes(tree, release.questionnaire))


def survey_card(
    outcome: SurveyOutcome, source: Mapping[str, Any] | None = None, about: About | None = None
) -> dict[str, Any]:
    """What was done, to whom, with which guarantee: everything but the frequencies.

    Nothing in it is unprotected, but the number of people where ``guarantee.not_protected`` says so.
    """
    parameters, names = outcome.parameters, outcome.questionnaire.names
    facts = design_facts(outcome.design, outcome.questionnaire)
    return {
        "blendp": __version__,
        **({} if about is None else {"about": about.to_dict()}),
        "method": parameters.method,
        "parameters": {**parameters.to_dict(), **(source or {})},
        "people": {"opt_in": outcome.opt_in_people, "client": outcome.design.clients},
        "guarantee": {
            "epsilon": parameters.epsilon,
            "delta": parameters.budget.delta if outcome.opt_in_people else 0.0,
            **{name: value for name, value in facts.items() if name != "groups"},
            "model": outcome.model_words,
            "statement": outcome.statement,
            "delta_statement": f"{outcome.how_delta}." if outcome.opt_in_people else None,
            "not_protected": outcome.exceptions,
            "confidence": parameters.confidence if learnt_model(outcome) else None,
        },
        "design": {"hidden": outcome.design.hidden is not None, "groups": facts["groups"]},
        "questionnaire": {
            "attributes": len(names),
            "values": sum(outcome.questionnaire.sizes),
            "inferred": outcome.inferred,
        },
        "opt_in_noise": _noise(outcome),
        "tree": _tree(outcome),
        "last_step": outcome.last_step,
        "interval_confidence": CONFIDENCE,
        "cautions": outcome.cautions,
    }


def frequency_rows(outcome: SurveyOutcome) -> list[dict[str, Any]]:
    """Rows as plain values; unknown numbers are null."""
    return [{name: _known(value) for name, value in asdict(row).items()} for row in outcome.rows()]


def rows_of_document(document: Mapping[str, Any]) -> list[AnswerRow]:
    """The rows of a survey whose document was read; what is null is unknown.

    Raises :class:`ValueError` for numbers that no survey has.
    """
    rows = [
        AnswerRow(*(_read_cell(row[field.name], field.type) for field in fields(AnswerRow)))
        for row in document["frequencies"]
    ]
    cautions = document["cautions"]
    if not rows or not isinstance(cautions, list):
        raise ValueError("no answers, or no list of cautions")
    if not all(isinstance(text, str) for text in [*cautions, document["blendp"]]):
        raise TypeError("a caution or a version that is no text")
    if any(row.std_error < 0 or row.low > row.high or abs(row.weight_opt_in - 0.5) > 0.5 for row in rows):
        raise ValueError("an error below 0, an interval without inside, or a weight that is none")
    if document["parameters"]["project"]:
        _require_shares(rows)
    return rows


def _require_shares(rows: Sequence[AnswerRow]) -> None:
    """Refuse frequencies that were not projected: below 0, or of an attribute that is known and do not sum to 1."""
    sums: dict[str, float] = {}
    for row in rows:
        if row.frequency < 0:
            raise ValueError("a frequency below 0")
        sums[row.attribute] = sums.get(row.attribute, 0.0) + row.frequency
    if any(abs(total - 1) > _ROUNDING for total in sums.values()):
        raise ValueError("frequencies that do not sum to 1")


def _read_cell(value: Any, kind: object) -> Any:
    """A text, or a number that may be unknown; ``kind`` is the field's annotation."""
    if (kind == "str") != isinstance(value, str):
        raise TypeError("a text where a number is due, or a number where a text is")
    if kind != "str" and value is not None and not math.isfinite(value):
        raise ValueError("a number that is none")
    return math.nan if value is None else value if kind == "str" else float(value)


def _noise(outcome: SurveyOutcome) -> list[dict[str, Any]]:
    """The noise on the tables of so many attributes that the opt-in group released."""
    if outcome.tables is None:
        return []
    kinds = Counter(
        (len(axes), float(sigma)) for axes, sigma in zip(outcome.tables.axes, outcome.tables.sigmas, strict=True)
    )
    return [{"attributes": width, "tables": tables, "sigma": sigma} for (width, sigma), tables in kinds.items()]


def _tree(outcome: SurveyOutcome) -> dict[str, Any] | None:
    tree = learnt_tree(outcome)
    if tree is None or outcome.misfit is None:
        return None
    names, misfit = outcome.questionnaire.names, outcome.misfit
    return {
        "edges": [[names[edge.first], names[edge.second]] for edge in tree.edges],
        "misfit": {
            "share": misfit.share,
            "attributes": None if misfit.pair is None else [names[index] for index in misfit.pair],
        },
    }


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
