"""Real answers to eight yes/no questions, for trying surveys out.

They come from a magazine's survey of 6 366 married women (Fair, Journal of Political Economy 86, 1978), which the
package statsmodels ships as ``statsmodels.datasets.fair``. That is too few people for a survey under local differential
privacy, so rows are drawn from it again and again, with replacement: the way answers hang together is real, the number
of people is not.

    python -m examples.fair_survey --people 200000 --out fair
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from statsmodels.datasets import fair

from blendp import Answers, Attribute, Questionnaire, write_answers

QUESTIONS = {
    "happy marriage": ("rate_marriage", 5),
    "over 30": ("age", 32),
    "married 9 years": ("yrs_married", 9),
    "children": ("children", 0.5),
    "religious": ("religious", 3),
    "college degree": ("educ", 16),
    "professional": ("occupation", 4),
    "husband professional": ("occupation_husb", 4),
}
"""Each question, its column, and the number from which on the answer is yes."""


def fair_answers(people: int | None = None, seed: int = 0) -> Answers:
    """The answers of so many people, drawn with replacement; of those who were asked, if no number is given."""
    data = fair.load_pandas().data
    codes = np.stack([(data[column] >= threshold).to_numpy() for column, threshold in QUESTIONS.values()], axis=1)
    questions = Questionnaire(tuple(Attribute(name, ("no", "yes")) for name in QUESTIONS))
    asked = Answers(questions, codes.astype(np.int32))
    if people is None:
        return asked
    return asked.take(np.random.default_rng(seed).integers(0, asked.people, people))


def main() -> None:
    """Write the answers, and the questionnaire, which is public."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("fair"))
    options = parser.parse_args()
    answers = fair_answers(options.people, options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    table, questions = options.out / "answers.csv", options.out / "questionnaire.json"
    write_answers(answers, table, overwrite=True)
    questions.write_bytes(answers.questionnaire.to_bytes())
    print(f"{answers.people:,} people in {table}, questions in {questions}")


if __name__ == "__main__":
    main()
