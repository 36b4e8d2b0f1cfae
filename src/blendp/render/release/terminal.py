"""Tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from blendp.headlist import HeadList
from blendp.methods import Outcome, Simulation
from blendp.methods.objectives import top_named
from blendp.render.about import About
from blendp.render.release.advice import CHANGE, EXPECTED, AdviceText
from blendp.render.release.cautions import all_cautions
from blendp.render.terminal_table import FigureTable, names
from blendp.render.text import ANY_URL, UNKNOWN, decimals, percent
from blendp.spelling import counted

if TYPE_CHECKING:
    from blendp.evaluation.metrics import TrueHead
    from blendp.render.tally.files import ClientRow


def summary(outcome: Outcome, about: About | None = None) -> RenderableType:
    """What it is of, who took part, with which promise, and how long the list is."""
    kind = "simulation, not private:" if isinstance(outcome, Simulation) else "method"
    lines = [
        *([] if about is None else [str(about)]),
        f"{kind} {outcome.parameters.method}, promise {outcome.parameters.budget} to every person",
        outcome.how_delta,
        f"people {outcome.groups}",
        f"list {counted(outcome.head_list.records, 'record')} of "
        f"{counted(outcome.head_list.queries, 'query', 'queries')}, "
        f"from {outcome.candidates} that passed the threshold {outcome.guarantee.threshold:.4g}",
        outcome.how_listed,
        *([] if outcome.how_filtered is None else [outcome.how_filtered]),
    ]
    if outcome.check is not None and outcome.check.p_value is not None:
        lines.append(f"groups {'differ' if outcome.check.differ else 'agree'} (p = {outcome.check.p_value:.2g})")
    return Group(Text("\n".join(lines)), *(Text(caution, style="yellow") for caution in all_cautions(outcome)))


def records_table(outcome: Outcome, truth: TrueHead | None = None, top: int = 15) -> FigureTable:
    """The most probable records, with their errors and where the knowledge comes from."""
    two_levels = outcome.head_list.levels == 2
    title = "Most popular records" if two_levels else "Most popular queries"
    table = FigureTable(title, droppable=("clients", "opt-in", "± std error"))
    table.add_column("query")
    if two_levels:
        table.add_column("url")
    for name in ("estimate", "± std error", "opt-in", "clients"):
        table.add_column(name, justify="right")
    if truth is not None:
        table.add_column("truth", justify="right", style="magenta")
    rows = outcome.records()[: min(top, outcome.head_list.records)]
    digits = decimals([row.std_error for row in rows], [row.probability for row in rows])
    for row in rows:
        texts = [row.query, ANY_URL if row.url is None else row.url] if two_levels else [row.query]
        figures = [_percent(row.probability, digits), _percent(row.std_error, digits)]
        figures += [_percent(row.weight_opt_in, 0), _percent(1 - row.weight_opt_in, 0)]
        if truth is not None:
            figures.append(_percent(float(truth.cells[outcome.head_list.cell_of(row.query, row.url)]), digits))
        table.add_row(*names(texts), *figures)
    return table


def advice_table(advice: AdviceText) -> RenderableType:
    """What would list something, and how much, after a list that came out empty."""
    sentences = Text(" ".join(advice.sentences), style="dim")
    if not advice.rows:
        return Group(Text(advice.heading, style="table.title"), sentences)
    table = FigureTable(advice.heading)
    table.add_column(CHANGE)
    table.add_column(EXPECTED, justify="right")
    for row in advice.rows:
        table.add_row(*row)
    return Group(table, sentences)


def _percent(value: float, digits: int) -> str:
    return f"{percent(value, digits)} %" if math.isfinite(value) else UNKNOWN


def scores_table(figures: dict[str, Any]) -> RenderableType:
    """The means of an evaluation, with their standard errors where there are several runs."""
    table = FigureTable("Against the log's own truth", header_style="", droppable=("clients alone", "opt-in alone"))
    table.add_column("")
    for name in ("blended", "opt-in alone", "clients alone"):
        table.add_column(name, justify="right")
    columns: Sequence[tuple[dict[str, Any], dict[str, Any]]] = [(figures, figures["std_error"])]
    columns = [*columns, *((figures["groups"][g], figures["std_error"]["groups"][g]) for g in ("opt_in", "client"))]
    labels = {
        "top_error": top_named(figures["parameters"]["size"]),
        "precision": "  precision",
        "recall": "  recall",
        "l1": "L1 (0 is perfect)",
        "ndcg": "NDCG (1 is perfect)",
        "ndcg_random": "  in random order",
        "ndcg_list": "NDCG of the list",
        "ndcg_list_random": "  in random order",
        "head_list_records": "records listed",
        "head_list_queries": "queries listed",
    }
    for key, label in labels.items():
        digits = 1 if key.startswith("head") else 4
        table.add_row(label, *(_with_error(mean.get(key), error.get(key), digits) for mean, error in columns))
    warning = Text("Not private: computed from the raw log without protection.", style="bold magenta")
    return Group(table, warning)


def _with_error(mean: float | None, error: float | None, digits: int) -> str:
    if mean is None:
        return ""
    return f"{mean:.{digits}f}" if error is None else f"{mean:.{digits}f} ± {error:.{digits}f}"


def clients_table(rows: list[ClientRow], head_list: HeadList, *, about_records: bool, top: int = 15) -> FigureTable:
    """The most probable records, or queries, as the clients tell them."""
    two_levels = about_records and head_list.levels == 2
    title = f"What the clients say of {'records' if two_levels else 'queries'}"
    table = FigureTable(title, droppable=("± std error",))
    table.add_column("query")
    if two_levels:
        table.add_column("url")
    for name in ("estimate", "± std error", "95 % interval"):
        table.add_column(name, justify="right")
    shown = rows[: min(top, head_list.records if about_records else head_list.queries)]
    digits = decimals([row.std_error for row in shown], [row.probability for row in shown])
    for row in shown:
        texts = [row.query, ANY_URL if row.url is None else row.url] if two_levels else [row.query]
        figures = [_percent(row.probability, digits), _percent(row.std_error, digits)]
        known = math.isfinite(row.low) and math.isfinite(row.high)
        figures.append(f"{percent(row.low, digits)} to {_percent(row.high, digits)}" if known else UNKNOWN)
        table.add_row(*names(texts), *figures)
    return table
