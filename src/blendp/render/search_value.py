"""What local search is worth, for the terminal."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.text import Text

from blendp.evaluation import SearchValue
from blendp.evaluation.search import ANSWERS, ROUND_TRIP, SHOWN, ClusteredRatio, SearchFigures
from blendp.render.terminal_table import FigureTable
from blendp.render.text import UNKNOWN, with_error


def search_table(value: SearchValue) -> RenderableType:
    """The searches of people who were not asked, by length of the list, beside exact lists."""
    table = FigureTable("Local search by people who were not asked", header_style="")
    table.add_column("records")
    for name in ("answered", "mean rank", "keystrokes saved", "of all typed"):
        table.add_column(name, justify="right")
    for row in value.rows:
        table.add_row(f"{row.records:,.4g}", *_cells(row.released))
        table.add_row("  exact list", *_cells(row.exact), style="magenta")
    notes = (
        f"{value.people:,} people ({100 * value.held_out:g} %) were held out; they searched {value.searches:,} times. "
        f"Answered: what they chose is among the first {ANSWERS} results for the whole query. "
        f"Keystrokes saved, of {_shown(value.keystrokes)} a search: until it is among the first {SHOWN}.",
        "An exact list has the most frequent records of the people who were asked, and is not private.",
        ROUND_TRIP,
    )
    warning = Text("Not private: computed from the raw log without protection.", style="bold magenta")
    return Group(table, *map(Text, notes), warning)


def _cells(figures: SearchFigures) -> tuple[str, str, str, str]:
    return (
        _share(figures.answered),
        _number(figures.mean_rank),
        _number(figures.keystrokes_saved),
        _share(figures.keystrokes_saved_share),
    )


def _share(ratio: ClusteredRatio) -> str:
    """In percent; without an error where there is none."""
    if math.isfinite(ratio.std_error):
        return with_error(ratio.value, ratio.std_error, 2)
    return f"{100 * ratio.value:.2f} %" if math.isfinite(ratio.value) else UNKNOWN


def _number(ratio: ClusteredRatio) -> str:
    if math.isfinite(ratio.std_error):
        return f"{ratio.value:.3f} ± {ratio.std_error:.3f}"
    return f"{ratio.value:.3f}" if math.isfinite(ratio.value) else UNKNOWN


def _shown(keystrokes: float) -> str:
    return f"{keystrokes:.1f}" if math.isfinite(keystrokes) else "0"
