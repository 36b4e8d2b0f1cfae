"""Figure 9: the most popular queries, as every ingredient of the methods estimates them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from blendp.arrays import falling_order
from blendp.evaluation.figures.figure import METHODS, UNKNOWN, Figure, Line, Panel, Recipe, Table, pm
from blendp.evaluation.figures.laboratory import Experiment, Laboratory, Mean, Played, Point
from blendp.evaluation.figures.populations import AOL, FigurePopulation, Grid, Setting
from blendp.evaluation.figures.printed import FIGURE_9, printed_row

TOP = 9
"""Named queries in the figure, besides everything else."""

EVERYTHING_ELSE = "* (everything else)"
COLUMNS = ("blended", "opt_in", "client", "client_sum")
LOOKS = {"blended": "blended", "opt_in": "opt-in", "client": "client"}
LABELS = {"blended": "blended", "opt_in": "opt-in alone", "client": "clients alone"}
CAPTION = (
    "“As printed” is the paper's one run on the real log, beside means of ours. The truth agrees by construction. "
    "www.google.com's 0.0004 looks like a weight that explodes where a noisy count is about 0 (erratum 3), which "
    "mended weights cannot; column 6, the clients' URLs, must equal the clients' column and does not."
)
NOT_LISTED = "not listed"
MISSING = (
    f"“{NOT_LISTED.capitalize()}”: no run listed the query, since too few people opted in who hold it, so nothing but "
    "the truth is known of it. More people, or a larger share who opt in, list more."
)


@dataclass(frozen=True)
class TopQueries(Recipe):
    """The table of figure 9, averaged over runs, and how far a single run strays."""

    def steps(self, settings: Sequence[Setting], grid: Grid) -> set[object]:
        """What has to be played."""
        del grid
        return {(self.name, _experiment(setting, method)) for setting in settings for method in METHODS}

    def make(self, settings: Sequence[Setting], grid: Grid, laboratory: Laboratory) -> Figure:
        """Play both methods and look at the nine queries."""
        del grid
        panels, points, rows = [], [], []
        for setting in settings:
            truth = _most_popular(laboratory.populations[setting.name])
            queries = tuple(truth)
            points_of = {method: _watch(laboratory, _experiment(setting, method), truth) for method in METHODS}
            panels.append(tuple(_panel(setting, method, queries, points_of[method]) for method in METHODS))
            points += [point for method in METHODS for point in points_of[method]]
            rows += [row for method in METHODS for row in _rows(method, points_of[method])]
            if _is_printed(setting.name, queries):
                rows += _printed_rows()
        header = (
            "Query",
            "Method",
            "Truth",
            "Blended",
            "Opt-in",
            "Clients",
            "Clients' URLs",
            "One run strays",
            "Weight",
        )
        captions = [CAPTION] if any(row[1] == "as printed" for row in rows) else []
        captions += [MISSING] if any(NOT_LISTED in row for row in rows) else []
        return self.figure(tuple(panels), points, [Table(header, tuple(rows), " ".join(captions))])


def _experiment(setting: Setting, method: str) -> Experiment:
    return Experiment(setting.name, setting.opt_in, setting.parameters(method))


def _most_popular(people: FigurePopulation) -> dict[str, float]:
    """Their true probabilities by query."""
    truth = people.law.truth
    top = falling_order(truth.query)[:TOP]
    texts = people.law.texts(np.searchsorted(truth.query_id, top))
    return {query: float(p) for (query, _), p in zip(texts, truth.query[top], strict=True)}


def _is_printed(population: str, queries: tuple[str, ...]) -> bool:
    """Whether the paper's numbers are about these queries: AOL's, or those of a log whose nine are the paper's."""
    return population == AOL.name or {None, *queries} == set(FIGURE_9)


def _watch(laboratory: Laboratory, experiment: Experiment, truth: Mapping[str, float]) -> list[Point]:
    """A point for everything else, one for each query, and last the number of estimates out of order."""
    queries = tuple(truth)
    seen = [_look(played, queries) for played in laboratory.play(experiment)]
    points = []
    for index, query in enumerate((None, *queries)):
        runs = [run[index] for run in seen if run[index]]
        means = {name: Mean.of([values[name] for values in runs]) for name in (runs[0] if runs else ())}
        spread = {
            f"{name}_spread": mean.error * math.sqrt(len(runs)) for name, mean in means.items() if name in COLUMNS
        }
        means |= {name: Mean(sd, math.nan) for name, sd in spread.items()}
        if query is not None and not runs:
            means["truth"] = Mean(truth[query], 0.0)
        if _is_printed(experiment.population, queries):
            means |= {f"{name}_printed": Mean(value, math.nan) for name, value in printed_row(query).items()}
        points.append(Point({"query": query, **laboratory.about(experiment), "listed_in": len(runs)}, means))
    disorder = {name: Mean.of([_disorder(run[1:], name) for run in seen]) for name in COLUMNS}
    points.append(Point({"query": "(out of order)", **laboratory.about(experiment), "listed_in": len(seen)}, disorder))
    return points


def _look(played: Played, queries: tuple[str, ...]) -> list[dict[str, float]]:
    """What one run says about everything else and about every query; nothing about a query that it did not list."""
    outcome, head_list = played.outcome, played.outcome.head_list
    row_of: dict[str | None, int] = {entry.query: row for row, entry in enumerate(head_list.entries)}
    row_of[None] = head_list.queries
    sums = np.bincount(head_list.query_of_cell, weights=outcome.client.cells.probability)
    columns = {
        "truth": played.head.queries,
        "blended": outcome.query_probability,
        "opt_in": outcome.opt_in.queries.probability,
        "client": outcome.client.queries.probability,
        "client_sum": sums,
        "variance": outcome.queries.variance,
        "opt_in_variance": outcome.opt_in.queries.variance,
        "client_variance": outcome.client.queries.variance,
        "weight_opt_in": outcome.queries.weight_opt_in,
    }
    return [
        {name: float(values[row_of[query]]) for name, values in columns.items()} if query in row_of else {}
        for query in (None, *queries)
    ]


def _disorder(run: Sequence[dict[str, float]], column: str) -> float:
    """How many estimates exceed that of the more popular query above."""
    values = [values[column] for values in run if values]
    return float(np.count_nonzero(np.diff(values) > 0))


def _panel(setting: Setting, method: str, queries: tuple[str, ...], points: Sequence[Point]) -> Panel:
    """One run's spread around the mean, for every query."""
    at, listed = tuple(float(i) for i in range(len(queries))), points[1:-1]
    nothing = Mean(math.nan, math.nan)

    def line(name: str, label: str, look: str) -> Line:
        means = [point.means.get(name, nothing) for point in listed]
        spreads = [point.means.get(f"{name}_spread", nothing).value for point in listed]
        return Line(label, look, at, tuple(replace(m, error=sd) for m, sd in zip(means, spreads, strict=True)))

    lines = [line("truth", "truth", "truth"), *(line(name, LABELS[name], look) for name, look in LOOKS.items())]
    if method == "published" and _is_printed(setting.name, queries):
        looks = {"truth": "truth", **LOOKS}
        lines += [line(f"{name}_printed", "as printed", f"printed {look}") for name, look in looks.items()]
        lines.append(line("client_sum_printed", "as printed, column 6", "printed sum"))
    return Panel(f"{setting.title}, {METHODS[method]}", "query", "probability", tuple(lines), rows=queries)


def _rows(method: str, points: Sequence[Point]) -> list[tuple[str, ...]]:
    """The rows of one method for the page."""
    rows = []
    for point in points[:-1]:
        name, means = point.about["query"] or EVERYTHING_ELSE, point.means
        true = f"{means['truth'].value:.4f}"
        if "blended" not in means:
            rows.append((name, method, true, *[NOT_LISTED] * 6))
            continue
        spread, weight = means["blended_spread"].value, means["weight_opt_in"].value
        strays = UNKNOWN if math.isnan(spread) else f"± {spread:.4f}"
        share = UNKNOWN if math.isnan(weight) else f"{weight:.2f}"
        rows.append((name, method, true, *(pm(means[column], 4) for column in COLUMNS), strays, share))
    disorder = [pm(points[-1].means[column], 1) for column in COLUMNS]
    rows.append(("estimates out of order", method, "0", *disorder, "", ""))
    return rows


def _printed_rows() -> list[tuple[str, ...]]:
    """The paper's own table, in the columns of ours."""
    rows = [
        (query or EVERYTHING_ELSE, "as printed", *(f"{value:.4f}" for value in values), "", "")
        for query, values in FIGURE_9.items()
    ]
    named = [printed_row(query) for query in FIGURE_9 if query is not None]
    disorder = (f"{_disorder(named, column):.0f}" for column in COLUMNS)
    return [*rows, ("estimates out of order", "as printed", "0", *disorder, "", "")]
