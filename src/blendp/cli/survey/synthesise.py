"""``blendp survey synthesise``: a table of invented answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from blendp.cli.console import results
from blendp.cli.survey.plan import require_questions
from blendp.errors import ParameterError, require_count
from blendp.logs import write_answers
from blendp.outputs import refuse_existing, whole
from blendp.randomness import SimulationRandom
from blendp.survey import Tree
from blendp.survey.synthetic import draw_answers

EXAMPLES = """Examples:

- `blendp survey synthesise --out answers.csv`
- `blendp survey synthesise --attributes 5 --values 4 --correlation 0.5 --people 20000 --out answers.parquet`
"""

QUESTIONS = "questionnaire.json"


def synthesise(
    out: Annotated[Path, Option(help=f"File to write: .csv, .csv.gz or .parquet; {QUESTIONS} goes beside it.")],
    people: Annotated[int, Option(help="How many people answer.")] = 100_000,
    attributes: Annotated[int, Option(help="How many questions there are.")] = 8,
    values: Annotated[int, Option(help="How many answers each question has.")] = 2,
    correlation: Annotated[float, Option(help="The correlation of every two answers, from 0 to 1.")] = 0.1,
    seed: Annotated[int, Option(help="The same seed gives the same file.")] = 0,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace the files if they exist.")] = False,
) -> None:
    """Make a table of answers of people who do not exist, and its questionnaire, to try surveys out."""
    require_questions(attributes, values)
    require_count("seed", seed, min_value=0, remedy="Use a whole number such as 0.")
    require_count("people", people, min_value=1, remedy="Invent somebody.")
    questions = out.parent / QUESTIONS
    if out.name == QUESTIONS:
        raise ParameterError("out", str(out), "another name than the questionnaire's", "Name a .csv or .parquet file.")
    for target in (out, questions):
        refuse_existing(target, overwrite=overwrite)
    answers = draw_answers(Tree.equicorrelated(attributes, correlation, values), people, SimulationRandom(seed))
    write_answers(answers, out, overwrite=overwrite)
    with whole(questions, overwrite=overwrite) as part:
        part.write_bytes(answers.questionnaire.to_bytes())
    results.print(
        f"{answers.people:,} people in {out}, questions in {questions}", highlight=False, markup=False, soft_wrap=True
    )
