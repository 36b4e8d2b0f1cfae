"""Results as a cell of a notebook: one piece of HTML that loads nothing and runs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from hashlib import sha256

from blendp.evaluation import Evaluation
from blendp.evaluation.planner import Overview
from blendp.evaluation.surveys import SurveyPlan, SurveyTrial
from blendp.methods import Outcome, Simulation
from blendp.methods.objectives import top_named
from blendp.render import text
from blendp.render.notebook.figures import plot_of
from blendp.render.plan import text as plan_text
from blendp.render.release.cautions import all_cautions
from blendp.render.survey.text import points
from blendp.render.templates import fill
from blendp.spelling import counted
from blendp.survey import SurveyOutcome, SurveySimulation

MAX_ROWS = 20
"""How many rows the table of a cell shows."""

LONG = 80
"""Texts of more characters than this are cut in a cell; the tables have all of them."""

SEEDED = "NOT PRIVATE: a simulation, drawn with seeded randomness. Do not publish it."
TRUE_VALUES = "NOT PRIVATE: computed from the raw log without protection. Do not publish it."
TRUE_ANSWERS = "NOT PRIVATE: computed from the raw answers without protection. Do not publish it."


@dataclass(frozen=True)
class Cell:
    """What a cell says.

    where:
        texts    is how many columns, from the left, hold texts; the others hold numbers,
        rows     are those that are shown, of ``total``; None stands for any URL.
    """

    title: str
    lines: tuple[str, ...]
    warning: str | None
    cautions: tuple[str, ...]
    columns: tuple[str, ...]
    texts: int
    rows: tuple[tuple[str | None, ...], ...]
    total: int


def render_cell(result: object) -> str:
    """The piece of HTML; the names in it follow from what it says, so that two cells do not share any."""
    cell = cell_of(result)
    name = f"blendp-{sha256(repr(cell).encode('utf-8', 'replace')).hexdigest()[:12]}"
    plotted = plot_of(result, f"{name}-plot")
    page = {
        "name": name,
        "cell": cell,
        "plot": None if plotted is None else plotted.svg(),
        "legend": () if plotted is None else plotted.legend,
        "long": LONG,
    }
    return fill("notebook/cell.html.j2", page)


@singledispatch
def cell_of(result: object) -> Cell:
    """What the cell of a result says."""
    raise NotImplementedError(type(result).__name__)


@cell_of.register
def _(outcome: Outcome) -> Cell:
    head_list, listed = outcome.head_list, outcome.records()[: outcome.head_list.records]
    digits = text.decimals([row.std_error for row in listed], [row.probability for row in listed])
    two = head_list.levels == 2
    rest = outcome.trends()[-1]
    rows = tuple(
        (
            *((row.query, row.url) if two else (row.query,)),
            *_estimate(row.probability, row.std_error, row.low, row.high, row.weight_opt_in, digits),
        )
        for row in listed[:MAX_ROWS]
    )
    lines = (
        f"Method {outcome.parameters.method}, promise {outcome.parameters.budget} to every person.",
        f"People: {outcome.groups}.",
        f"List: {counted(head_list.records, 'record', 'records')} of "
        f"{counted(head_list.queries, 'query', 'queries')}. "
        f"Everything else: {text.with_error(rest.probability, rest.std_error, digits)}.",
    )
    return Cell(
        "Popular records" if two else "Popular queries",
        lines,
        SEEDED if isinstance(outcome, Simulation) else None,
        tuple(all_cautions(outcome)),
        (*(("Query", "URL") if two else ("Query",)), *_ESTIMATE),
        1 + two,
        rows,
        len(listed),
    )


_ESTIMATE = ("Estimate, %", "Std error", "95 % interval", "Opt-in weight, %")


def _estimate(p: float, error: float, low: float, high: float, weight: float, digits: int) -> tuple[str, ...]:
    interval = f"{text.percent(low, digits)} to {text.percent(high, digits)}"
    return (text.percent(p, digits), text.percent(error, digits), interval, text.percent(weight, 0))


@cell_of.register
def _(outcome: SurveyOutcome) -> Cell:
    rows = outcome.rows()
    digits = text.decimals([row.std_error for row in rows], [row.frequency for row in rows])
    shown = tuple(
        (
            row.attribute,
            row.value,
            *_estimate(row.frequency, row.std_error, row.low, row.high, row.weight_opt_in, digits),
        )
        for row in rows[:MAX_ROWS]
    )
    lines = (
        f"Method {outcome.parameters.method}, promise {outcome.promised}.",
        f"People: {outcome.opt_in_people:,} opt-in, {outcome.design.clients:,} clients.",
    )
    return Cell(
        "How people answer",
        lines,
        SEEDED if isinstance(outcome, SurveySimulation) else None,
        tuple(outcome.cautions),
        ("Question", "Answer", *_ESTIMATE),
        2,
        shown,
        len(rows),
    )


@cell_of.register
def _(view: Overview) -> Cell:
    figures = plan_text.figures(view)
    lines = (f"{plan_text.heading(view)}.", *plan_text.reaches(view))
    rows = tuple((f"… {line.name}" if line.under else line.name, *line.values) for line in figures)
    warning = None if view.private else TRUE_VALUES
    return Cell("A plan", lines, warning, (), ("", *view.plans), 1, rows, len(rows))


@cell_of.register
def _(evaluation: Evaluation) -> Cell:
    figures = evaluation.to_dict()
    errors, groups = figures["std_error"], figures["groups"]
    rows = tuple(
        (
            name,
            _mean(figures[key], errors[key]),
            *(_mean(groups[group].get(key), errors["groups"][group].get(key)) for group in ("opt_in", "client")),
        )
        for key, name in (
            ("top_error", top_named(evaluation.parameters.size).capitalize()),
            ("precision", "… precision"),
            ("recall", "… recall"),
            ("l1", "L1 (0 is perfect)"),
            ("ndcg", "NDCG (1 is perfect)"),
            ("ndcg_random", "NDCG in random order"),
            ("ndcg_list", "NDCG of the list"),
            ("head_list_records", "records listed"),
        )
    )
    lines = (f"{evaluation.parameters}.", f"{counted(len(evaluation.trials), 'run', 'runs')}, seed {evaluation.seed}.")
    columns = ("", "Blended", "Opt-in alone", "Clients alone")
    return Cell("Against the log's own truth", lines, TRUE_VALUES, (), columns, 1, rows, len(rows))


def _mean(mean: float | None, error: float | None) -> str:
    if mean is None:
        return ""
    return f"{mean:.4g}" if error is None else f"{mean:.4g} ± {error:.2g}"


@cell_of.register
def _(plan: SurveyPlan) -> Cell:
    rows = tuple(
        (one.parameters.method, points(one.rmse), points(one.client_rmse), f"{one.design.losses.record:.3g}")
        for one in plan.methods
    )
    lines = (
        f"{plan.people:,} people, of whom {plan.opt_in_people:,} opt in; {plan.questionnaire}.",
        f"Method {plan.best.parameters.method} errs least.",
    )
    columns = ("Method", "Error, points", "Clients alone", "ε of a record")
    warning = None if plan.private else TRUE_ANSWERS
    return Cell("A plan for a survey", lines, warning, (), columns, 1, rows, len(rows))


@cell_of.register
def _(trial: SurveyTrial) -> Cell:
    row = (
        trial.parameters.method,
        points(trial.rmse),
        points(trial.client_rmse),
        points(trial.predicted),
        text.percent(trial.coverage, 1),
    )
    lines = (f"{counted(trial.runs, 'survey', 'surveys')} of the same people, {trial.example.questionnaire}.",)
    columns = ("Method", "Error, points", "Clients alone", "Predicted", "Intervals that hold, %")
    return Cell("A survey against the truth", lines, TRUE_ANSWERS, (), columns, 1, (row,), 1)
