"""``blendp survey plan``: what a survey would be like, before anybody is asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument

from blendp.answers import MAX_ATTRIBUTES, MAX_VALUES, Answers
from blendp.cli.console import print_json, results
from blendp.cli.panels import method, output, takes_job
from blendp.cli.progress import steps
from blendp.cli.survey.options import ALL, SurveyOptions
from blendp.errors import ParameterError, require_choice, require_count, require_number
from blendp.evaluation.surveys import plan_survey
from blendp.outputs import refuse_existing, whole
from blendp.randomness import SimulationRandom
from blendp.render.survey.terminal import survey_plan_tables
from blendp.render.survey.text import PlanView
from blendp.survey import METHODS, Model, Tree
from blendp.survey.synthetic import draw_answers

EXAMPLES = """Examples:

- `blendp survey plan --attributes 8 --correlation 0.3 --people 100000 --opt-in 0.05 --epsilon 1`
- `blendp survey plan --attributes 6 --values 4 --correlation 0.5 --record-epsilon 3 --out plan`
- `blendp survey plan answers.csv --people 50000 --opt-in 0.02 --json`
"""

PAGE = "plan.html"
PEOPLE = 100_000
_ROWS = 100_000
"""How many invented rows tell how frequent answers are."""


@dataclass(frozen=True, kw_only=True)
class PlanJob(SurveyOptions):
    """A table of answers, or what to assume of them."""

    data: Annotated[
        Path | None,
        Argument(
            help="A table of answers to plan for people like these (NOT PRIVATE); or say --attributes and "
            "--correlation, and nobody's answers are read.",
            metavar="[DATA]",
            show_default=False,
        ),
    ] = None
    people: Annotated[
        int | None, method(help=f"How many people are asked (as many as rows; {PEOPLE:,} without DATA).")
    ] = None
    method: Annotated[str, method(help=f"How clients report: {ALL}, {', '.join(METHODS)}.")] = ALL
    attributes: Annotated[int | None, method(help="Without DATA: how many questions are asked.")] = None
    correlation: Annotated[
        float | None, method(help="Without DATA: the correlation of every two answers, from 0 to 1.")
    ] = None
    values: Annotated[int | None, method(help="Without DATA: how many answers each question has (2).")] = None

    def refuse_assumptions(self) -> None:
        """Raise if something is assumed that the table tells."""
        said = {"attributes": self.attributes, "correlation": self.correlation, "values": self.values}
        for name, value in said.items():
            if value is not None:
                raise ParameterError(name, value, "left out when DATA is given", "The rows tell it.")

    def assumed(self) -> tuple[Answers, Tree, str]:
        """People who do not exist, the model they follow, and its words."""
        if self.attributes is None or self.correlation is None:
            missing = "attributes" if self.attributes is None else "correlation"
            legal = "given, with --attributes and --correlation both, where no table of answers is named"
            raise ParameterError(missing, None, legal, "Name a table, or give both.")
        of_table = {
            "columns": self.columns,
            "questionnaire": self.questionnaire,
            "opt_in_column": self.opt_in_column,
            "model": self.model,
            "delimiter": self.delimiter,
            "encoding": self.encoding,
            "quotes": self.quotes,
            "no_header": self.no_header or None,
        }
        for name, given in of_table.items():
            if given is not None:
                raise ParameterError(name, str(given), "left out without DATA", "It is about a table: name one.")
        values = 2 if self.values is None else self.values
        require_questions(self.attributes, values)
        tree = Tree.equicorrelated(self.attributes, self.correlation, values)
        rows = min(_ROWS, PEOPLE if self.people is None else self.people)
        description = (
            f"{self.attributes} attributes of {values} equally frequent values, every two with a correlation of "
            f"{self.correlation:g}"
        )
        return draw_answers(tree, rows, SimulationRandom(0)), tree, description


def require_questions(attributes: int, values: int) -> None:
    """Raise unless there may be so many questions, with so many answers each."""
    for name, number, min_number, max_number, remedy in (
        ("attributes", attributes, 1, MAX_ATTRIBUTES, "It is how many questions are asked."),
        ("values", values, 2, MAX_VALUES, "It is how many answers a question has."),
    ):
        require_number(
            name,
            number,
            min_value=min_number,
            max_value=max_number,
            legal=f"from {min_number} to {max_number}",
            remedy=remedy,
        )


@takes_job
def plan(
    job: PlanJob,
    seed: Annotated[int, output(help="Seed of the opt-in group that is drawn from the rows.")] = 0,
    out: Annotated[Path | None, output(help=f"Directory for {PAGE}, the plan to look at.")] = None,
    overwrite: Annotated[bool, output("--overwrite", help="Replace an earlier plan in --out.")] = False,
    as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Predict the errors of every method, what reports reveal, and who reports what. No survey is carried out.

    Plans from assumed correlations, or from a table of answers: that is NOT PRIVATE, for the eyes of those who hold it.
    """
    require_choice("method", job.method, (ALL, *METHODS))
    parameters, share = job.parameters(), job.who_opts_in()
    if job.people is not None:
        require_count("people", job.people, min_value=2, remedy="Ask more people.")
    if out is not None:
        refuse_existing(out, overwrite=overwrite, own_files=(PAGE,))
    with steps(1 + len(parameters) + (out is not None)) as bar:
        bar.start("reading the answers" if job.data is not None else "drawing people who do not exist")
        model: Model | None
        if job.data is None:
            answers, model, description = job.assumed()
            people = PEOPLE if job.people is None else job.people
        else:
            job.refuse_assumptions()
            answers = job.read(job.data)
            model, people = job.public_model(answers.questionnaire), job.people or answers.people
            description = f"{answers.people:,} rows of {job.data.name}"
            if share is None and answers.opt_in is not None:
                share = float(answers.opt_in.mean())
        planned = plan_survey(
            answers,
            parameters,
            people=people,
            opt_in=share or 0.0,
            model=model,
            private=job.data is None,
            seed=seed,
            progress=bar.start,
        )
        given = "assumed" if job.data is None else "none" if model is None else "given"
        view = PlanView(planned, description, given, answers.inferred)
        if out is not None:
            from blendp.render.survey.page import render_survey_plan

            bar.start("drawing the page")
            with whole(out, overwrite=overwrite, own_files=(PAGE,)) as folder:
                (folder / PAGE).write_text(render_survey_plan(view), encoding="utf-8")
    if as_json:
        print_json({**view.to_dict(), "out": None if out is None else str(out)})
        return
    results.print(survey_plan_tables(view))
    if out is not None:
        results.print(f"Plan: open {out / PAGE}", highlight=False, markup=False, soft_wrap=True)
