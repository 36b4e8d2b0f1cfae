"""The plots of a survey, drawn narrow so that their text stays readable on a phone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from blendp.render.drawing import SvgDrawing
from blendp.render.plots import MIDDLE, ROW, Mark, dot_plot, name_rows, row_drawing, scale
from blendp.render.text import decimals, label
from blendp.survey import SurveyOutcome

ROWS = 14
"""How many values one plot shows."""

MAX_PLOTS = 4
"""How many plots there are at most."""

_ROOM = 1.3


@dataclass(frozen=True)
class BarRow:
    """A name with bars of several colours, and perhaps a mark of what was predicted."""

    name: str
    value: str
    bars: tuple[tuple[str, float], ...]
    mark: float | None = None


def frequency_marks(outcome: SurveyOutcome, truth: Sequence[NDArray[np.float64]] | None = None) -> list[Mark]:
    """A mark for every value, in the order of the questionnaire."""
    true = np.full(len(outcome.frequency), np.nan) if truth is None else np.concatenate(truth)
    columns = zip(outcome.opt_in.probability.tolist(), outcome.client.probability.tolist(), true.tolist(), strict=True)
    return [
        Mark(
            row.attribute,
            row.value,
            row.frequency,
            row.std_error,
            row.low,
            row.high,
            row.weight_opt_in,
            opt_in if outcome.opt_in_people else np.nan,
            client,
            known,
        )
        for row, (opt_in, client, known) in zip(outcome.rows(), columns, strict=True)
    ]


def frequency_plots(outcome: SurveyOutcome, truth: Sequence[NDArray[np.float64]] | None = None) -> list[Markup]:
    """The frequencies with their intervals, attribute by attribute, all on the same scale."""
    marks = frequency_marks(outcome, truth)
    digits = decimals([mark.std_error for mark in marks], [mark.probability for mark in marks])
    parts = _parts(outcome.questionnaire.sizes)
    shown = marks[: parts[-1][1]]
    limits = scale(shown)
    return [
        dot_plot(marks[slice(*part)], digits, f"frequencies-{index}", "Frequencies of answers", limits)
        for index, part in enumerate(parts)
    ]


def plotted(outcome: SurveyOutcome) -> int:
    """How many values the plots show."""
    return _parts(outcome.questionnaire.sizes)[-1][1]


def _parts(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Where each plot starts and ends: between attributes where that is possible, and alike where two are enough."""
    ends = np.cumsum(sizes).tolist()
    wanted = ROWS if ends[-1] > 2 * ROWS else math.ceil(ends[-1] / 2)
    parts: list[tuple[int, int]] = []
    start = 0
    while start < ends[-1] and len(parts) < MAX_PLOTS:
        fitting = [end for end in ends if start < end <= start + ROWS]
        middle = start + wanted
        end = min(fitting, key=lambda end: abs(end - middle)) if fitting else min(start + ROWS, ends[-1])
        parts.append((start, end))
        start = end
    return parts


def bar_plot(
    rows: Sequence[BarRow], tick: Callable[[float], str], name: str, title: str, remark: str, line: float | None = None
) -> Markup:
    """The drawing of :func:`bar_drawing` for a page."""
    return bar_drawing(rows, tick, name, title, remark, line).svg()


def bar_drawing(
    rows: Sequence[BarRow], tick: Callable[[float], str], name: str, title: str, remark: str, line: float | None = None
) -> SvgDrawing:
    """Bars by name, with a dashed line at the promise."""
    max_value = max([value for row in rows for _, value in row.bars] + [row.mark or 0.0 for row in rows])
    room = 1.06 if line is None else _ROOM  # so that numbers stand beside the line, not on it
    drawing, axis = row_drawing(len(rows), 0, room * max(max_value, line or 0.0) or 1.0, tick)
    for index, row in enumerate(rows):
        height = 12 / len(row.bars) if len(row.bars) > 1 else 9
        for number, (colour, value) in enumerate(row.bars):
            y = index * ROW + MIDDLE + (number + 0.5) * height - 4
            drawing.bar(axis.start, axis.at(value), y, height - 0.5, colour)
        if row.mark is not None:
            x, top = axis.at(row.mark), index * ROW + MIDDLE - 5
            drawing.line([(x, top), (x, top + 14)], "opt-in", 2)
    if line is not None:
        drawing.line([(axis.at(line), 0), (axis.at(line), len(rows) * ROW)], "ink", 1.4, dashes="6 4")
    name_rows(drawing, [(row.name, None) for row in rows], [row.value for row in rows])
    heads = "; ".join(f"{label(row.name, None, 30)}: {row.value}" for row in rows[:3])
    return drawing.named(name, title, f"{remark} First {heads}.")
