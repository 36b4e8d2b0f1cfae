"""Surveys on the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from blendp.answers import Questionnaire
from blendp.render.about import About
from blendp.render.survey.files import survey_card
from blendp.render.survey.text import NOT_PRIVATE, PlanView, Trials, group_lines, kept, loss, points
from blendp.render.terminal_table import FigureTable, Name
from blendp.render.text import UNKNOWN, decimals, percent, visible
from blendp.spelling import counted
from blendp.survey import AnswerRow, Design, SurveyOutcome

ROWS = 40
"""How many rows of frequencies are shown."""

_DROPPABLE = (
    "clients,\npredicted",
    "loss\npromised",
    "opt-in\nalone",
    "by the\nmodel",
    "clients\nalone",
    "by the\ndata",
)
"""Columns of an evaluation that a narrow terminal goes without, the first of them first."""

_GROUPS = 12
_BAR = 12
_EIGHTHS = " ▏▎▍▌▋▊▉"


def survey_summary(outcome: SurveyOutcome, about: About | None = None) -> RenderableType:
    """What it is of, who took part, both promises, and what to be careful about."""
    return card_summary(survey_card(outcome, about=about))


def card_summary(card: Mapping[str, Any]) -> RenderableType:
    """The same, of a survey whose card was read."""
    people, promise, about = card["people"], card["guarantee"], About.of_card(card)
    lines = Table.grid(padding=(0, 2))
    lines.add_column(no_wrap=True)
    lines.add_column()
    epsilon, record = promise["epsilon"], promise["record_epsilon"]
    clients = f"{people['client']:,} clients"
    groups = counted(len(card["design"]["groups"]), "group", "groups")
    method = visible(card["method"])
    lines.add_row("survey", Text(f"method {method}: {people['opt_in']:,} opt-in, {clients} in {groups}"))
    if people["opt_in"]:
        beside = visible(promise["delta_statement"].rstrip("."))
        lines.add_row("opt-in", Text(f"ε = {epsilon:g} for all answers of a person together; {beside}"))
    if record > epsilon * (1 + 1e-9):
        worst = max(promise["loss_by_attribute"].values())
        about_one = f"at most {worst:.4g} about any attribute of a client (promised {epsilon:g}); the model is"
        lines.add_row("by the model", Text(f"{about_one} {visible(promise['model'])}"))
    lines.add_row("in any case", Text(f"ε = {record:.4g} for a client's whole record, however answers hang together"))
    for exception in promise["not_protected"]:
        lines.add_row(Text("not protected", style="bold yellow"), Text(visible(exception)))
    panel = Panel(lines, title="Promises", title_align="left", expand=False)
    of_what = [] if about is None else [Text(str(about))]
    return Group(*of_what, panel, *(Text(visible(caution), style="yellow") for caution in card["cautions"]))


def frequency_table(rows: Sequence[AnswerRow], last_step: str, max_rows: int = ROWS) -> RenderableType:
    """The frequencies with their intervals and a bar each, and what was done to them last."""
    digits = decimals([row.std_error for row in rows], [row.frequency for row in rows])
    table = FigureTable("Frequencies", droppable=("0 to 100 %", "± std error"))
    table.add_column("attribute")
    table.add_column("value")
    for name in ("frequency", "± std error", "95 % interval"):
        table.add_column(name, justify="right")
    table.add_column("0 to 100 %", no_wrap=True)
    before = None
    for row in rows[:max_rows]:
        known = math.isfinite(row.low) and math.isfinite(row.high)
        interval = f"{percent(row.low, digits)} to {percent(row.high, digits)} %" if known else UNKNOWN
        table.add_row(
            Name("" if row.attribute == before else row.attribute),
            Name(row.value),
            _percent(row.frequency, digits),
            _percent(row.std_error, digits),
            interval,
            Text(bar(row.frequency), style="blue"),
        )
        before = row.attribute
    remarks = [visible(last_step)]
    if len(rows) > max_rows:
        remarks.insert(0, f"... and {len(rows) - max_rows:,} more, in frequencies.csv")
    return Group(table, *(Text(remark, style="dim") for remark in remarks))


def bar(share: float, width: int = _BAR) -> str:
    """A share as a bar of blocks."""
    if not math.isfinite(share):
        return ""
    eighths = round(8 * width * min(max(share, 0.0), 1.0))
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def survey_plan_tables(view: PlanView) -> RenderableType:
    """Methods side by side, who reports what with the best, and what to do next."""
    plan = view.plan
    parts: list[RenderableType] = [
        Text(
            f"{plan.people:,} people like {visible(view.like)}: {plan.opt_in_people:,} opt in, "
            f"{plan.people - plan.opt_in_people:,} clients; promise ε = {view.epsilon:g}"
        ),
        Text(f"Losses under the model rest on {view.model_words}.", style="dim"),
        Text(),
        _planned(view),
    ]
    if plan.opt_in_rmse is not None:
        parts.append(Text(f"The opt-in group alone: an error of {points(plan.opt_in_rmse)} points.", style="dim"))
    parts += [Text(), _groups(plan.best.design, plan.questionnaire, plan.best.parameters.method), Text()]
    parts += [Text(caution, style="yellow") for caution in view.cautions]
    parts.append(Text("What to do next", style="bold"))
    parts += [Padding(Text(line), (0, 0, 0, 2), expand=False) for line in view.advice]
    if not plan.private:
        parts.append(Text(NOT_PRIVATE, style="bold magenta"))
    return Group(*parts)


def _planned(view: PlanView) -> FigureTable:
    table = FigureTable("Expected", droppable=("groups",))
    table.add_column("method", no_wrap=True)
    for name in (
        "groups",
        "error of a frequency,\n% points",
        "loss about an attribute,\nby the model",
        "ε of the\nrecord",
    ):
        table.add_column(name, justify="right")
    table.add_column("")
    for planned in view.plan.methods:
        best = planned is view.plan.best
        losses = planned.design.losses
        kind = "" if losses.kind == "exact" else "at most "
        table.add_row(
            planned.parameters.method,
            str(len(planned.design.groups)),
            points(planned.rmse),
            f"{kind}{losses.worst:.3g}",
            f"{losses.record:.3g}",
            "best" if best else "",
            style="bold green" if best else None,
        )
    return table


def _groups(design: Design, questionnaire: Questionnaire, method: str) -> RenderableType:
    title = f"Who reports what with {method}"
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    table.add_column("group", justify="right")
    table.add_column("clients", justify="right")
    table.add_column("attributes, and the ε of each report")
    lines = group_lines(design, questionnaire)
    for line in lines[:_GROUPS]:
        reports = "; ".join(f"{visible(name)} ({how})" for name, how in line.reports)
        table.add_row(str(line.number), f"{line.clients:,} ({100 * line.share:.0f} %)", Text(reports))
    parts: list[RenderableType] = [table]
    if design.hidden is not None:
        parts.append(Text("Each client reports one of them, hidden among invented answers to the others.", style="dim"))
    if len(lines) > _GROUPS:
        parts.append(Text(f"... and {counted(len(lines) - _GROUPS, 'more group', 'more groups')}", style="dim"))
    return Group(*parts)


def trials_tables(view: Trials) -> RenderableType:
    """Every method against the truth."""
    first = view.best.example
    table = FigureTable(droppable=_DROPPABLE)
    table.add_column("method", no_wrap=True)
    for name in (
        "error",
        "clients\nalone",
        "clients,\npredicted",
        "opt-in\nalone",
        "intervals\nthat hold",
        "loss\npromised",
        "by the\nmodel",
        "by the\ndata",
        "ε of the\nrecord",
    ):
        table.add_column(name, justify="right")
    for trial in view.trials:
        promise = trial.parameters.epsilon
        broken = kept(trial) is False
        table.add_row(
            trial.parameters.method,
            points(trial.rmse),
            points(trial.client_rmse),
            points(trial.predicted),
            points(trial.opt_in_rmse),
            f"{100 * trial.coverage:.1f} %",
            f"{promise:g}",
            f"{max(trial.losses):.3g}",
            Text(loss(trial.worst_data_loss, promise), style="bold red" if broken else ""),
            f"{trial.record:.3g}",
            style="bold" if trial is view.best else None,
        )
    parts: list[RenderableType] = [
        Text(
            f"{view.people:,} people ({first.opt_in_people:,} opt in) answer "
            f"{counted(len(view.questionnaire.names), 'question', 'questions')}; "
            f"{counted(view.best.runs, 'survey', 'surveys')} with each method, seed {view.seed}"
        ),
        Text(),
        table,
        Text(
            "Errors are in percentage points of a frequency (root mean square); 95 % of intervals should hold. Losses "
            "are about an attribute, the largest of all surveys: by the data means if people answer exactly like these "
            "rows.",
            style="dim",
        ),
    ]
    if any(kept(trial) is False for trial in view.trials):
        parts.append(Text("! is more than promised: these people do not answer as the model says.", style="bold red"))
    parts.append(Text(NOT_PRIVATE, style="bold magenta"))
    return Group(*parts)


def _percent(value: float, digits: int) -> str:
    return f"{percent(value, digits)} %" if math.isfinite(value) else UNKNOWN
