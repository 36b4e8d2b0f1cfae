"""Ways to ask people with many records, compared on the same people with the same promise.

    python -m benchmarks.many_records [--epsilon 4 1] [--delta 1e-5] [--mean 20] [--size 50] [--unit record] [--plain]
                                      [--runs 20] [--seed 1900] [--ways NAME ...] [--against FILE] [--store FILE]
                                      [--pages FILE] [--quick]
    python -m benchmarks.many_records --show benchmarks/many_records_before.json

For each way: how many records pass, the error on the true top M (:mod:`blendp.evaluation.metrics`), the L1 of trends
and 1 - NDCG of the list trimmed to M records (or queries), and the share of 95 % intervals that hold the truth, of
listed records and of their queries; means over the runs with their standard errors. Then ratios to the ways before it,
of ``auto`` to the better of one record and many, and to what ``--against`` stored, paired run by run: people are those
of the seed, whatever the ways. They are synthetic with habits (without if ``--plain``), or real ones of a file
(``--pages``: a line a person, see :mod:`benchmarks.real_people`). Not private.

``many_records_before.json`` keeps what one record a person and the weighted Gaussian set union of 20 records gave, to
compare other ways with.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from benchmarks.real_people import RealPeople
from blendp.arrays import Array
from blendp.curator.noisy_counts import TRIM_UNITS
from blendp.evaluation.holding_people import OptInHoldings, PeopleSource, SyntheticPeople
from blendp.evaluation.metrics import score, true_head
from blendp.logs.synthetic import NAMES, USERS, Population
from blendp.methods import Parameters, simulate_people
from blendp.randomness import SimulationRandom

WAYS: dict[str, dict[str, Any]] = {
    "1 record": {"opt_in_records": 1},
    "many": {"opt_in_records": "many"},
    "long list": {"opt_in_records": "many", "objective": "long-list"},
    "trends": {"opt_in_records": "many", "objective": "trends"},
    "auto": {},
}
"""What each way changes in the parameters."""

EITHER = ("1 record", "many")
"""What ``auto`` chooses from."""

STORED = ", stored"

ERRORS = ("top_error", "l1", "one_minus_ndcg")
"""Figures of which less is better."""


@dataclass(frozen=True)
class Setting:
    """Everything but the way."""

    people: str
    """aol or yandex, or the name of a file of real people."""

    users: int
    opt_in: float
    mean: float | None
    """Records of a person on average; None for real people."""

    habits: bool | None
    epsilon: float
    delta: float
    size: int
    runs: int
    seed: int
    unit: str = "record"

    def parameters(self, changes: dict[str, Any]) -> Parameters:
        """Those of a way here."""
        size = self.size or None
        return Parameters(epsilon=self.epsilon, delta=self.delta, size=size, trim_unit=self.unit, **changes)

    def __str__(self) -> str:
        """One line for people."""
        kind = "real people" if self.mean is None else f"{'habits' if self.habits else 'no habits'}, mean {self.mean:g}"
        length = f"M {self.size} {self.unit}s" if self.size else "all"
        return (
            f"{self.people}, {self.users:,} people, {100 * self.opt_in:g} % opt in, {kind}, ε {self.epsilon:g}, "
            f"δ {self.delta:g}, {length}, {self.runs} runs from seed {self.seed}"
        )


@dataclass(frozen=True)
class Figures:
    """What one run of one way gives."""

    passed: float
    listed: float
    top_error: float
    l1: float
    one_minus_ndcg: float
    records_hold: float
    queries_hold: float


@dataclass(frozen=True)
class Compared:
    """All runs of all ways in one setting."""

    setting: Setting
    ways: dict[str, tuple[Figures, ...]]

    def values(self, way: str, name: str) -> Array:
        """One figure of every run; nan where there is none."""
        return np.array([getattr(run, name) for run in self.ways[way]], dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, every run by itself: a later comparison pairs with them."""
        runs = {
            way: {field.name: _plain(self.values(way, field.name)) for field in fields(Figures)} for way in self.ways
        }
        return {"setting": asdict(self.setting), "ways": runs}

    @classmethod
    def of_dict(cls, stored: dict[str, Any]) -> Compared:
        """What :meth:`to_dict` gave."""
        names = [field.name for field in fields(Figures)]
        ways = {
            way: tuple(
                Figures(*(math.nan if value is None else value for value in run))
                for run in zip(*(columns.get(name, [None] * len(columns["l1"])) for name in names), strict=True)
            )
            for way, columns in stored["ways"].items()
        }
        return cls(Setting(**stored["setting"]), ways)

    def joined(self, stored: Sequence[Compared]) -> Compared:
        """With the ways that were stored for this setting before the others."""
        earlier = {
            f"{way}{STORED}": runs
            for other in stored
            if other.setting == self.setting
            for way, runs in other.ways.items()
        }
        return Compared(self.setting, {**earlier, **self.ways})

    def markdown(self) -> str:
        """Means, and ratios of every way to those before it and to the best that was stored, figure by figure."""
        names = [field.name for field in fields(Figures)]
        heads = ["way", *(name.replace("_", " ") for name in names)]
        lines = [heads, ["---"] * len(heads)]
        lines += [[way, *(shown(mean(self.values(way, name))) for name in names)] for way in self.ways]
        ways = list(self.ways)
        stored = [way for way in ways if way.endswith(STORED)]
        for i, way in enumerate(ways[1:], 1):
            best = [("best stored", stored)] if stored and way not in stored else []
            both = (
                [("better of both", ["1 record", "many"])] if way == "auto" and {"1 record", "many"} <= {*ways} else []
            )
            for label, others in [*((other, [other]) for other in ways[:i]), *both, *best]:
                lines.append([f"{way} / {label}", *(shown(self.against(way, others, name)) for name in names)])
        return f"{self.setting}:\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"

    def against(self, way: str, others: Sequence[str], name: str) -> tuple[float, float]:
        """The ratio of a figure to that of the best of other ways: the largest list, the smallest error."""
        best = (min if name in ERRORS else max)(others, key=lambda other: mean(self.values(other, name))[0])
        return ratio(self.values(way, name), self.values(best, name))


def mean(values: Array) -> tuple[float, float]:
    """Mean and standard error over the runs that have the figure."""
    known = values[np.isfinite(values)]
    if not len(known):
        return math.nan, math.nan
    error = known.std(ddof=1) / math.sqrt(len(known)) if len(known) > 1 else math.nan
    return float(known.mean()), float(error)


def ratio(ours: Array, theirs: Array) -> tuple[float, float]:
    """The ratio of two means over the same runs and its standard error, sd(a - r b) / (sqrt(n) mean(b))."""
    known = np.isfinite(ours) & np.isfinite(theirs)
    a, b = ours[known], theirs[known]
    if len(a) < 2 or not b.mean():
        return math.nan, math.nan
    r = a.mean() / b.mean()
    return float(r), float((a - r * b).std(ddof=1) / math.sqrt(len(a)) / abs(b.mean()))


def shown(value: tuple[float, float]) -> str:
    """A value and its error, with as many digits as the error has meaning."""
    middle, error = value
    if not math.isfinite(middle):
        return ""
    digits = 3 if not error > 1e-5 else max(0, 1 - math.floor(math.log10(error)))
    return f"{middle:.{digits}f}" + (f" ± {error:.{digits}f}" if error > 1e-5 else "")


def one_run(drawn: OptInHoldings, parameters: Parameters, random: SimulationRandom) -> Figures:
    """One way, once, on these people."""
    outcome = simulate_people(drawn.ask(parameters, random), parameters, random)
    head_list = outcome.head_list
    located = drawn.law.locate(head_list)
    head = true_head(head_list, located, drawn.law.truth, parameters.size, parameters.trim_unit)
    scores = score(head_list, outcome.cell_probability, outcome.query_probability, head)
    holds = [
        (blended.low <= truth) & (truth <= blended.high)
        for blended, truth in ((outcome.cells, head.cells), (outcome.queries, head.queries))
    ]
    of_records, of_queries = holds[0][head_list.record_cells], holds[1][:-1]
    return Figures(
        outcome.candidates,
        head_list.records,
        scores.top_error,
        scores.l1,
        1 - scores.ndcg,
        float(of_records.mean()) if len(of_records) else math.nan,
        float(of_queries.mean()) if len(of_queries) else math.nan,
    )


def compare(
    source: PeopleSource, settings: Sequence[Setting], ways: dict[str, dict[str, Any]], progress: Progress | None = None
) -> list[Compared]:
    """All ways in all settings of one source, which differ in nothing but the promise and the size."""
    first = settings[0]
    runs: list[dict[str, list[Figures]]] = [{way: [] for way in ways} for _ in settings]
    steps = range(first.runs) if progress is None else progress.track(range(first.runs), description=first.people)
    for run in steps:
        drawn = source.draw(first.users, first.opt_in, SimulationRandom(first.seed + run))
        for setting, kept in zip(settings, runs, strict=True):
            for changes, figures in zip(ways.values(), kept.values(), strict=True):
                noise = SimulationRandom(10**9 + first.seed + run).spawn()
                figures.append(one_run(drawn, setting.parameters(changes), noise))
    return [
        Compared(setting, {way: tuple(figures) for way, figures in kept.items()})
        for setting, kept in zip(settings, runs, strict=True)
    ]


def _plain(values: Array) -> list[float | None]:
    return [float(f"{value:.6g}") if math.isfinite(value) else None for value in values.tolist()]


def _settings(options: argparse.Namespace) -> Iterator[tuple[PeopleSource, list[Setting]]]:
    runs = 2 if options.quick else options.runs
    asked = [
        (epsilon, delta, size, runs, options.seed, options.unit)
        for epsilon in options.epsilon
        for delta in options.delta
        for size in options.size
    ]
    if options.pages is not None:
        users = options.users or 400_000
        name = options.pages.name.split(".")[0]
        yield RealPeople.read(options.pages), [Setting(name, users, options.opt_in, None, None, *one) for one in asked]
        return
    users = options.users or (20_000 if options.quick else USERS[options.like])
    habits = not options.plain
    for records in options.mean:
        population = Population(options.like, users, records, habits=habits)
        kind = (options.like, users, options.opt_in, records, habits)
        yield SyntheticPeople(population), [Setting(*kind, *one) for one in asked]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description="Ways to ask people with many records.")
    parser.add_argument("--like", choices=NAMES, default="aol", help="whose law synthetic people follow")
    parser.add_argument(
        "--pages", type=Path, metavar="FILE", help="real people instead: a line each, the pages they saw"
    )
    parser.add_argument("--users", type=int, help="how many people in all")
    parser.add_argument("--opt-in", type=float, default=0.05)
    parser.add_argument("--mean", type=float, nargs="+", default=[20.0], help="records of a person on average")
    parser.add_argument("--plain", action="store_true", help="people without habits")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[4.0, 1.0])
    parser.add_argument("--delta", type=float, nargs="+", default=[1e-5])
    parser.add_argument("--size", type=int, nargs="+", default=[50], help="M; 0 keeps all")
    parser.add_argument("--unit", choices=TRIM_UNITS, default="record", help="what M counts")
    parser.add_argument("--ways", nargs="+", choices=tuple(WAYS), default=["1 record", "many", "auto"])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1900)
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with what was stored there")
    parser.add_argument("--store", type=Path, metavar="FILE", help="add all ways and runs to this file")
    parser.add_argument("--quick", action="store_true", help="small, to see that it works")
    parser.add_argument("--show", type=Path, metavar="FILE", help="print what was stored there, and measure nothing")
    options = parser.parse_args(arguments)
    if options.show is not None:
        print("\n".join(one.markdown() for one in _stored(options.show)))
        return
    stored = _stored(options.against)
    ways = {way: WAYS[way] for way in options.ways}
    compared = []
    with Progress(transient=True) as progress:
        for source, settings in _settings(options):
            for one in compare(source, settings, ways, progress):
                compared.append(one)
                progress.console.print(one.joined(stored).markdown(), soft_wrap=True, highlight=False, markup=False)
    if options.store is not None:
        _store(options.store, compared)


def _store(path: Path, compared: Sequence[Compared]) -> None:
    """Add these ways to those that the file has, setting by setting; of the same name the new one stays."""
    every = {one.setting: one for one in _stored(path)}
    for one in compared:
        earlier = every[one.setting].ways if one.setting in every else {}
        every[one.setting] = Compared(one.setting, {**earlier, **one.ways})
    path.write_text("[\n" + ",\n".join(json.dumps(one.to_dict()) for one in every.values()) + "\n]\n")


def _stored(path: Path | None) -> list[Compared]:
    if path is None or not path.exists():
        return []
    return [Compared.of_dict(one) for one in json.loads(path.read_text())]


if __name__ == "__main__":
    main()
