"""The picture of the survey benchmark: errors relative to asking everybody one question, against the correlation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks.surveys import PUBLISHED, Row, comparable, ratio
from blendp.render.svg import COLOURS, house_style

_TITLE, _TEXT = 10.0, 9.0


@dataclass(frozen=True)
class _Line:
    method: str
    label: str
    colour: str
    style: str
    marker: str
    width: float = 1.6


_LINES = (
    _Line("split", "split ε", COLOURS["edge"], "-", "s"),
    _Line("rsfd", "RS+FD, within the promise", COLOURS["client"], "-", "^"),
    _Line(PUBLISHED, "RS+FD as published (hollow: does not keep the promise)", COLOURS["client"], "--", "^"),
    _Line("cbp", "cbp, all attributes", COLOURS["opt-in"], "-", "D"),
    _Line("cbps", "cbps", COLOURS["ink"], "-", "o", 2.6),
)
_DOTS = (
    _Line("spl-grr", "multi-freq-ldpy SPL", COLOURS["edge"], "", "x"),
    _Line("smp-grr", "multi-freq-ldpy SMP", COLOURS["truth"], "", "x"),
    _Line("rsfd-grr", "multi-freq-ldpy RS+FD[GRR]", COLOURS["client"], "", "x"),
    _Line("rsfd-oue-z", "multi-freq-ldpy RS+FD[OUE-z]", COLOURS["client"], "", "+"),
)


def draw(rows: Sequence[Row], path: Path) -> None:
    """Write the picture as PNG: a panel for every epsilon and number of attributes."""
    epsilons = sorted({row.epsilon for row in rows})
    many = sorted({row.attributes for row in rows})
    with house_style():
        figure = Figure(figsize=(1.2 + 3 * len(epsilons), 1.8 + 2.5 * len(many)), dpi=130, layout="constrained")
        places = figure.subplots(len(many), len(epsilons), sharex=True, sharey="row", squeeze=False)
        for line, d in zip(places, many, strict=True):
            for axes, epsilon in zip(line, epsilons, strict=True):
                _panel(axes, [row for row in rows if (row.epsilon, row.attributes) == (epsilon, d)])
                axes.set_title(f"ε = {epsilon:g}, {d} attributes", fontsize=_TITLE, loc="left")
            line[0].set_ylabel("error / error of sample", fontsize=_TEXT)
        for axes in places[-1]:
            axes.set_xlabel("correlation of any two attributes", fontsize=_TEXT)
        figure.legend(
            handles=_legend(rows),
            loc="outside lower center",
            ncols=3 if len(epsilons) > 2 else 1,
            frameon=False,
            fontsize=_TEXT,
        )
        figure.savefig(path, facecolor="white")


def _panel(axes: Axes, rows: Sequence[Row]) -> None:
    at = {(row.method, row.correlation): row for row in rows}
    correlations = sorted({row.correlation for row in rows})
    axes.axhline(1, color=COLOURS["truth"], linewidth=1.4)
    for line in (*_LINES, *_DOTS):
        points = []
        for correlation in correlations:
            row = at.get((line.method, correlation))
            pair = None if row is None else comparable(row, at["sample", correlation])
            if row is not None and pair is not None:
                points.append((correlation, *ratio(*pair), row.kept))
        if not points:
            continue
        x, y = [point[0] for point in points], [point[1] for point in points]
        if line.style:
            axes.plot(x, y, line.style, color=line.colour, linewidth=line.width, zorder=2 + (line.method == "cbps"))
        for where, height, error, kept in points:
            axes.errorbar(
                where,
                height,
                error,
                fmt=line.marker,
                color=line.colour,
                markersize=6 if line in _DOTS else 5 if kept else 8,
                markerfacecolor=line.colour if kept else "white",
                elinewidth=0.8,
                zorder=3 + (line.method == "cbps") - 0.5 * (not kept),
            )
    axes.set_xscale(
        "function", functions=(lambda x: np.sign(x) * np.sqrt(np.abs(x)), lambda x: np.sign(x) * np.square(x))
    )
    axes.set_xlim(-0.003, max(correlations) * 1.12)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(correlations, [f"{each:g}" for each in correlations])
    axes.minorticks_off()
    axes.tick_params(labelsize=_TEXT)
    axes.grid(color=COLOURS["line"], linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _legend(rows: Sequence[Row]) -> list[Line2D]:
    measured = {row.method for row in rows if row.error is not None or row.projected is not None}
    shown = [Line2D([], [], color=COLOURS["truth"], linewidth=1.4, label="sample: one attribute a client (1 = this)")]
    for line in (*reversed(_LINES), *_DOTS):
        if line.method in measured:
            hollow = line.method == PUBLISHED
            shown.append(
                Line2D(
                    [],
                    [],
                    color=line.colour,
                    linestyle=line.style or "none",  # type: ignore[arg-type]
                    linewidth=line.width,
                    marker=line.marker,
                    markerfacecolor="white" if hollow else line.colour,
                    markersize=6,
                    label=line.label,
                )
            )
    return shown
