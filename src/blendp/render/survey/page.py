"""Surveys as one HTML page each that needs nothing else: no network, no fonts of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blendp.render import text
from blendp.render.about import About
from blendp.render.survey import plots
from blendp.render.survey import text as survey_text
from blendp.render.survey.text import PlanView, Trials, about, group_lines, loss, points
from blendp.render.templates import fill
from blendp.survey import SurveyOutcome, SurveySimulation

LONG = 160
"""Texts of more characters than this are folded in tables."""

MAX_ROWS = 1000
"""How many frequencies the table shows."""

MAX_LOSSES = 24
"""How many attributes the plot of losses shows."""

SEEDED = (
    "Simulation - drawn with seeded randomness, which protects from nobody who knows the seed. Not private: "
    "do not publish this page."
)

_MEANING = {
    "epsilon": "ε: the privacy loss each person is promised at most; a client's about every attribute, by the model",
    "delta": "δ: by how much probability may exceed that bound, for the opt-in group",
    "method": "how clients report",
    "group": "how many attributes one client reports",
    "per_attribute": "whether attributes of a group may be reported with different strength",
    "record_epsilon": "the largest ε of a client's whole record",
    "learn": "what the opt-in group shows about how answers hang together",
    "confidence": "with what probability the learnt model bounds the truth",
    "project": "whether published frequencies are moved to the nearest ones that sum to 1",
}


def render_survey(outcome: SurveyOutcome, *, title: str, about: About | None = None) -> str:
    """The page of a survey that was carried out; ``about`` says what it is of."""
    page = {
        **_shared("survey", title),
        "about": about,
        "warning": SEEDED if isinstance(outcome, SurveySimulation) else None,
        "outcome": outcome,
        "told": outcome.parameters,
        "frequencies": _frequencies(outcome, None),
        "losses": _losses(
            outcome.questionnaire.names, outcome.design.losses.by_attribute, None, outcome.parameters.epsilon
        ),
        "record": outcome.design.losses.record,
        "kind": survey_text.about(outcome.design),
        "method": outcome.parameters.method,
        "groups": group_lines(outcome.design, outcome.questionnaire),
        "hidden": outcome.design.hidden is not None,
        "learnt": _model(outcome),
        "parameters": [
            (name, _plain(name, value), _MEANING.get(name, "")) for name, value in outcome.parameters.to_dict().items()
        ],
    }
    return fill("survey/page.html.j2", page)


def render_survey_plan(view: PlanView) -> str:
    """The page of a plan."""
    plan, best = view.plan, view.plan.best
    errors = [
        plots.BarRow(
            one.parameters.method,
            f"{points(one.rmse)} points, clients alone {points(one.client_rmse)}",
            (("ink", one.rmse), ("client", one.client_rmse)),
        )
        for one in plan.methods
    ]
    page = {
        **_shared("plan", f"A plan for a survey of {plan.people:,} people"),
        "warning": None if plan.private else survey_text.NOT_PRIVATE,
        "view": view,
        "made": plan,
        "told": best.parameters,
        "best": best,
        "rows": [(one, about(one.design)) for one in plan.methods],
        "errors": plots.bar_plot(
            errors, _point_tick, "plan-errors", "Expected error by method", "Bars are errors of a frequency."
        ),
        "losses": _losses(plan.questionnaire.names, best.design.losses.by_attribute, None, view.epsilon),
        "record": best.design.losses.record,
        "kind": about(best.design),
        "method": best.parameters.method,
        "groups": group_lines(best.design, plan.questionnaire),
        "hidden": best.design.hidden is not None,
    }
    return fill("survey/page.html.j2", page)


def render_trials(view: Trials) -> str:
    """The page of an evaluation."""
    best = view.best
    errors = [
        plots.BarRow(
            one.parameters.method,
            f"{points(one.rmse)} points, clients alone {points(one.client_rmse)}",
            (("ink", one.rmse), ("client", one.client_rmse)),
            one.predicted,
        )
        for one in view.trials
    ]
    page = {
        **_shared("evaluation", f"A survey of {view.people:,} people, tried {best.runs:,} times"),
        "warning": survey_text.NOT_PRIVATE,
        "view": view,
        "told": best.parameters,
        "best": best,
        "rows": [
            (one, loss(one.worst_data_loss, one.parameters.epsilon), survey_text.kept(one) is False)
            for one in view.trials
        ],
        "broken": any(survey_text.kept(one) is False for one in view.trials),
        "errors": plots.bar_plot(
            errors, _point_tick, "trial-errors", "Error by method", "Bars are errors of a frequency."
        ),
        "outcome": best.example,
        "frequencies": _frequencies(best.example, view.truth),
        "losses": _losses(view.questionnaire.names, best.losses, best.data_losses, view.epsilon),
        "record": best.record,
        "kind": about(best.example.design),
        "method": best.parameters.method,
        "groups": group_lines(best.example.design, view.questionnaire),
        "hidden": best.example.design.hidden is not None,
    }
    return fill("survey/page.html.j2", page)


def _shared(page: str, title: str) -> dict[str, Any]:
    return {
        "page": page,
        "title": title,
        "about": None,
        "long": LONG,
        "points": points,
        "method_words": survey_text.METHOD_WORDS,
    }


def _frequencies(outcome: SurveyOutcome, truth: Sequence[NDArray[np.float64]] | None) -> dict[str, Any]:
    """The plots and the table."""
    rows = outcome.rows()
    digits = text.decimals([row.std_error for row in rows], [row.frequency for row in rows])
    true = None if truth is None else np.concatenate(truth).tolist()
    lines = []
    for index, row in enumerate(rows[:MAX_ROWS]):
        numbers = [text.percent(x, digits) for x in (row.frequency, row.std_error, row.low, row.high)]
        numbers.append(text.percent(row.weight_opt_in, 0))
        if true is not None:
            numbers.append(text.percent(true[index], digits))
        first = index == 0 or rows[index - 1].attribute != row.attribute
        lines.append({"attribute": row.attribute, "value": row.value, "numbers": numbers, "first": first})
    return {
        "plots": plots.frequency_plots(outcome, truth),
        "lines": lines,
        "left_out": len(rows) - len(lines),
        "with_truth": truth is not None,
        "count": len(rows),
        "plotted": plots.plotted(outcome),
    }


def _losses(
    names: Sequence[str], model: Sequence[float], data: Sequence[float | None] | None, promise: float
) -> dict[str, Any]:
    """The plot of what reports tell about each attribute, the largest first if there are many."""
    order = list(range(len(names)))
    if len(order) > MAX_LOSSES:
        losses = [max(model[i], (data[i] or 0.0) if data is not None else 0.0) for i in order]
        order = sorted(order, key=lambda i: -losses[i])[:MAX_LOSSES]
    rows = []
    for i in order:
        bars: list[tuple[str, float]] = [("client", model[i])]
        value = f"{model[i]:.3g}"
        if data is not None:
            measured = data[i]
            value = f"{value}, {loss(measured, promise)}"
            bars.append(("truth", measured or 0.0))
        rows.append(plots.BarRow(names[i], value, tuple(bars)))
    plot = plots.bar_plot(
        rows,
        lambda x: f"{x:g}",
        "losses",
        "What reports tell about each attribute",
        f"The dashed line is the promise, {promise:g}.",
        promise,
    )
    return {"plot": plot, "left_out": len(names) - len(order), "with_data": data is not None}


def _model(outcome: SurveyOutcome) -> dict[str, Any] | None:
    """What was learnt about how answers hang together."""
    if not survey_text.learnt_model(outcome) or outcome.tables is None:
        return None
    names, misfit = outcome.questionnaire.names, outcome.misfit
    tree = survey_text.learnt_tree(outcome)
    pair = None if misfit is None or misfit.pair is None else tuple(names[index] for index in misfit.pair)
    return {
        "tree": tree is not None,
        "pairs": [] if tree is None else [(names[edge.first], names[edge.second]) for edge in tree.edges],
        "noise": float(outcome.tables.sigmas[-1]),
        "misfit": None if misfit is None else f"{100 * misfit.share:.2g} %",
        "misfit_pair": pair,
    }


def _point_tick(x: float) -> str:
    return f"{100 * x:.3g}"


def _plain(name: str, value: object) -> str:
    if value is None:
        return "auto" if name == "group" else "no limit"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return text.number(value) if isinstance(value, float) else str(value)
