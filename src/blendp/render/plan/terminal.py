"""A plan on the terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from blendp.evaluation.planner import Overview, Plan
from blendp.render.plan.text import NOT_PRIVATE, advice, cautions, figures, filtered, heading, reaches, share
from blendp.render.terminal_table import FigureTable
from blendp.render.text import visible


def plan_tables(view: Overview) -> RenderableType:
    """Figures by method, the same over opt-in shares, the target, and what to do next."""
    parts: list[RenderableType] = [Text(heading(view))]
    if (rows := filtered(view)) is not None:
        parts.append(Text(visible(rows)))
    parts += [Text(), _figures(view), Text(), _sweep(view)]
    if view.target is not None:
        parts += [Text(), Text(f"To reach {view.target}:", style="bold")]
        parts += [Padding(Text(line), (0, 0, 0, 2), expand=False) for line in reaches(view)]
    parts += [Text(), *(Text(caution, style="yellow") for caution in cautions(view))]
    parts.append(Text("What to do next", style="bold"))
    parts += [Padding(Text(line), (0, 0, 0, 2), expand=False) for line in advice(view)]
    if not view.private:
        parts.append(Text(NOT_PRIVATE, style="bold magenta"))
    return Group(*parts)


def _figures(view: Overview) -> FigureTable:
    table = FigureTable("Expected", names_above=True)
    table.add_column("")
    for name in view.plans:
        table.add_column(name, justify="right")
    for line in figures(view):
        table.add_row(f"  {line.name}" if line.under else line.name, *line.values)
    return table


def _sweep(view: Overview) -> FigureTable:
    table = FigureTable("By opt-in share", droppable=("people", "NDCG", "L1"))
    table.add_column("opt-in", justify="right")
    table.add_column("people", justify="right")
    for name in view.sweeps:
        for title in (f"{name}: records", "top error", "L1", "NDCG"):
            table.add_column(title, justify="right")
    for row in zip(*view.sweeps.values(), strict=True):
        first = row[0]
        values = [value for one in row for value in _shown(one)]
        style = "bold" if first.opt_in == view.first.opt_in else None
        table.add_row(share(first.opt_in), f"{first.groups.opt_in:,}", *values, style=style)
    return table


def _shown(one: Plan) -> list[str]:
    """What one method gives at one opt-in share."""
    scores = one.scores
    return [f"{one.records:,.1f}", *(f"{value:.3f}" for value in (scores.top_error, scores.l1, scores.ndcg))]
