"""The picture of all benchmarks: seconds, on scales of powers of ten, ours in the dark colour."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks.client_against_peers import ReportsRow
from benchmarks.curator_against_peers import ListRow
from benchmarks.run_against_floor import RunRow, exponent
from blendp.render.svg import COLOURS, house_style

_TITLE, _TEXT = 11.0, 9.0
_PLAIN = FuncFormatter(lambda value, _: f"{value:g}")


def draw(
    floor: RunRow, growth: Sequence[RunRow], lists: Sequence[ListRow], reports: Sequence[ReportsRow], path: Path
) -> None:
    """Write the picture as PNG."""
    with house_style():
        figure = Figure(figsize=(11, 8), dpi=150, layout="constrained")
        panels = figure.subplots(2, 2)
        _grown(panels[0][0], floor, growth)
        _bars(
            panels[0][1], "The curator's list, 5 million rows", [(row.tool, row.seconds, row.failure) for row in lists]
        )
        for axes, items in zip(panels[1], sorted({row.items for row in reports}), strict=False):
            named = [(f"{row.tool}, {row.oracle}", row.seconds, row.failure) for row in reports if row.items == items]
            _bars(axes, f"Reports of the clients, {items} items", named)
        figure.savefig(path, facecolor="white")


def _grown(axes: Axes, floor: RunRow, growth: Sequence[RunRow]) -> None:
    """Seconds over rows of blendp and the floor."""
    rows = sorted([*growth], key=lambda row: row.rows) or [floor]
    title = "blendp run, from end to end"
    axes.set_title(f"{title}: rows^{exponent(rows):.2f}" if len(rows) > 1 else title, fontsize=_TITLE, loc="left")
    at = [row.rows / 1e6 for row in rows]
    axes.loglog(at, [row.floor_seconds for row in rows], "s--", color=COLOURS["opt-in"], label="the bare engine")
    axes.loglog(at, [row.seconds for row in rows], "o-", color=COLOURS["ink"], label="blendp run")
    for x, row in zip(at, rows, strict=True):
        axes.annotate(
            f"{row.seconds:.1f} s\n{row.megabytes / 1000:.1f} GB",
            (x, row.seconds),
            xytext=(-4, 6),
            textcoords="offset points",
            ha="right",
            fontsize=_TEXT - 1,
            color=COLOURS["quiet"],
        )
    axes.set_xticks(at, [f"{x:.0f}" for x in at])
    axes.minorticks_off()
    axes.set_xlabel("million rows", fontsize=_TEXT)
    axes.set_ylabel("seconds", fontsize=_TEXT)
    axes.tick_params(labelsize=_TEXT)
    axes.margins(0.16, 0.18)
    axes.yaxis.set_major_formatter(_PLAIN)
    axes.grid(color=COLOURS["line"], linewidth=0.8)
    axes.legend(frameon=False, fontsize=_TEXT, loc="lower right")


def _bars(axes: Axes, title: str, named: Sequence[tuple[str, float | None, str | None]]) -> None:
    """Seconds as bars; who has no result is named with the reason."""
    axes.set_title(title, fontsize=_TITLE, loc="left")
    known = [seconds for _, seconds, _ in named if seconds is not None]
    left_end = min(known) / 3
    for row, (name, seconds, failure) in enumerate(named):
        ours = name.startswith("blendp")
        if seconds is not None:
            axes.barh(row, seconds - left_end, left=left_end, height=0.6, color=COLOURS["ink" if ours else "opt-in"])
        shown = (
            f" {seconds:.2g} s"
            if seconds is not None and seconds < 1
            else f" {seconds:.3g} s"
            if seconds is not None
            else f" {(failure or '')[:40]}"
        )
        axes.text(seconds or left_end, row, shown, va="center", fontsize=_TEXT, color=COLOURS["quiet"])
    axes.set_xscale("log")
    axes.set_xlim(left_end, max(known) * 6)
    axes.xaxis.set_major_formatter(_PLAIN)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(named)), [name for name, _, _ in named], fontsize=_TEXT)
    axes.invert_yaxis()
    axes.tick_params(axis="x", labelsize=_TEXT)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("seconds", fontsize=_TEXT)
    axes.grid(axis="x", color=COLOURS["line"], linewidth=0.8)
    axes.set_axisbelow(True)
