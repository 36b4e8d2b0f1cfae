"""How often the stated intervals hold the truth, of everything that is published, and the error of queries and rests.

    python -m benchmarks.coverage [--like aol ...] [--pages FILE ...] [--users N] [--opt-in 0.05] [--mean 12]
                                  [--ways one many] [--epsilon 4 1] [--delta 1e-5] [--size 0] [--runs 40] [--seed 3200]
                                  [--plain] [--store FILE] [--against FILE] [--quick]

In every run people are drawn anew and asked in every way: ``one`` record of each opt-in person, or ``many``. They are
those of a synthetic population (with habits, without if ``--plain``) or of a file (:mod:`benchmarks.real_people`).
A row of the table is a setting, and its columns are

    share of 95 % intervals that hold = sum over runs of those that hold / sum over runs of all

for listed records with a URL, listed queries, what is left of a query beside its listed records (<q,*>), where that is
above 0 and where it is exactly 0, queries that are listed without any URL, and <*,*>; then the L1 of queries (rescaled,
:mod:`blendp.evaluation.metrics`) and, in probability, the L1 of all <q,*> beside records and the bias of their sum.
Standard errors are by run. ``--against`` adds ratios of both L1 to stored runs, paired by run. Not private.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.progress import Progress

from benchmarks.many_records import mean, ratio, shown
from benchmarks.real_people import RealPeople
from blendp.arrays import Array, Bools, Ids
from blendp.evaluation.holding_people import OptInHoldings, PeopleSource, SyntheticPeople
from blendp.evaluation.metrics import l1
from blendp.headlist import HeadList
from blendp.logs.synthetic import NAMES, USERS, Population
from blendp.methods import Parameters, simulate_people
from blendp.randomness import SimulationRandom

KINDS = ("records", "queries", "<q,*> > 0", "<q,*> = 0", "<q,*> alone", "<*,*>")
"""What has intervals."""

ERRORS = ("L1 of queries", "L1 of <q,*>", "bias of <q,*>")
WAYS: dict[str, int | str] = {"one": 1, "many": "many"}
"""``opt_in_records`` of each way."""


@dataclass(frozen=True)
class Setting:
    """What the runs of one row of the table have in common."""

    people: str
    users: int
    opt_in: float
    way: str
    epsilon: float
    delta: float
    size: int
    seed: int

    def parameters(self) -> Parameters:
        """Those of its way."""
        way = WAYS[self.way]
        return Parameters(epsilon=self.epsilon, delta=self.delta, size=self.size or None, opt_in_records=way)


@dataclass(frozen=True)
class Run:
    """One run: of every kind how many intervals there are and how many hold, and the errors; nan without any."""

    stated: tuple[int, ...]
    holding: tuple[int, ...]
    errors: tuple[float, ...]


@dataclass(frozen=True)
class Measured:
    """All runs of a setting."""

    setting: Setting
    runs: tuple[Run, ...]

    def coverage(self, kind: int) -> tuple[float, float]:
        """The share of a kind's intervals that hold, in percent, and its standard error."""
        stated, holding = (np.array([getattr(run, name)[kind] for run in self.runs]) for name in ("stated", "holding"))
        share, error = ratio(100.0 * holding, stated.astype(np.float64))
        return share, error

    def listed(self, kind: int) -> float:
        """How many of a kind are listed, on average."""
        return float(np.mean([run.stated[kind] for run in self.runs]))

    def errors(self, which: int) -> Array:
        """One error of every run."""
        return np.array([run.errors[which] for run in self.runs])

    def cells(self, before: Measured | None) -> list[str]:
        """A row of the table."""
        covered = [shown(self.coverage(kind)) for kind in range(len(KINDS))]
        counts = [f"{self.listed(kind):.1f}" for kind in range(len(KINDS) - 1)]
        errors = [shown(mean(self.errors(which))) for which in range(len(ERRORS))]
        ratios = [] if before is None else [shown(ratio(self.errors(w), before.errors(w))) for w in (0, 1)]
        own = self.setting
        return [
            f"{own.people}, {own.users:,} people",
            own.way,
            f"{own.epsilon:g}",
            *covered,
            " / ".join(counts),
            *errors,
            *ratios,
        ]


def one_run(drawn: OptInHoldings, setting: Setting, random: SimulationRandom) -> Run:
    """Ask these people once."""
    parameters = setting.parameters()
    outcome = simulate_people(drawn.ask(parameters, random), parameters, random)
    head_list = outcome.head_list
    true = drawn.law.cells(head_list)
    queries = np.bincount(head_list.query_of_cell, weights=true).astype(np.float64)
    covers = (outcome.cells.low <= true) & (true <= outcome.cells.high)
    covers_query = (outcome.queries.low <= queries) & (queries <= outcome.queries.high)
    rests, alone = _rests(head_list)
    zero = true[rests] <= 0
    records = np.setdiff1d(head_list.record_cells, alone)
    of_kinds: tuple[Bools, ...] = (
        covers[records],
        covers_query[:-1],
        covers[rests][~zero],
        covers[rests][zero],
        covers[alone],
        covers[-1:],
    )
    wrong = outcome.cell_probability[rests] - true[rests]
    of_queries = l1(outcome.query_probability[:-1], queries[:-1]) if head_list.queries else math.nan
    errors = (of_queries, float(np.abs(wrong).sum()), float(wrong.sum()))
    return Run(tuple(len(kind) for kind in of_kinds), tuple(int(kind.sum()) for kind in of_kinds), errors)


def _rests(head_list: HeadList) -> tuple[Ids, Ids]:
    """The cells <q,*> of queries with a listed URL, and of those without; a list of one level has neither."""
    cells, urls = head_list.cells_per_query[:-1], head_list.cells_per_query[:-1] - 1
    last = (head_list.first_cell[:-1] + cells - 1)[: None if head_list.levels == 2 else 0]
    return last[urls[: len(last)] > 0], last[urls[: len(last)] == 0]


def measure(source: PeopleSource, settings: Sequence[Setting], runs: int, progress: Progress) -> list[Measured]:
    """All settings of one source, each on the same people."""
    first = settings[0]
    seen: list[list[Run]] = [[] for _ in settings]
    for run in progress.track(range(runs), description=first.people):
        drawn = source.draw(first.users, first.opt_in, SimulationRandom(first.seed + run))
        for setting, own in zip(settings, seen, strict=True):
            own.append(one_run(drawn, setting, SimulationRandom(10**9 + first.seed + run).spawn()))
    return [Measured(setting, tuple(own)) for setting, own in zip(settings, seen, strict=True)]


def markdown(measured: Sequence[Measured], stored: Sequence[Measured]) -> str:
    """The table."""
    first = measured[0]
    heads = ["people", "records", "ε", *KINDS, "listed of each", *ERRORS]
    heads += ["queries, to stored", "<q,*>, to stored"] if stored else []
    before = {one.setting: one for one in stored}
    rows = [one.cells(before.get(one.setting)) for one in measured]
    lines = [heads, ["---"] * len(heads), *rows]
    title = (
        f"{100 * first.setting.opt_in:g} % opt in, δ {first.setting.delta:g}, "
        f"M {first.setting.size or 'all'}, {len(first.runs)} runs from seed {first.setting.seed}"
    )
    return f"{title}; intervals that hold, in percent:\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _sources(options: argparse.Namespace) -> Iterator[tuple[str, int, PeopleSource]]:
    for path in options.pages:
        yield path.name.split(".")[0], options.users or 400_000, RealPeople.read(path)
    for name in options.like if options.like or options.pages else NAMES[:1]:
        people = Population(name, options.users or USERS[name], options.mean, habits=not options.plain)
        yield f"{name}, mean {options.mean:g}", people.users, SyntheticPeople(people)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description="How often intervals hold.")
    parser.add_argument("--like", nargs="+", choices=NAMES, default=[], help="synthetic populations")
    parser.add_argument("--pages", type=Path, nargs="+", default=[], metavar="FILE", help="files of real people")
    parser.add_argument("--users", type=int, help="how many people in all")
    parser.add_argument("--opt-in", type=float, default=0.05)
    parser.add_argument("--mean", type=float, default=12.0, help="records of a synthetic person on average")
    parser.add_argument("--plain", action="store_true", help="synthetic people without habits")
    parser.add_argument("--ways", nargs="+", choices=tuple(WAYS), default=list(WAYS))
    parser.add_argument("--epsilon", type=float, nargs="+", default=[4.0, 1.0])
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--size", type=int, default=0, help="M; 0 keeps all")
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=3200)
    parser.add_argument("--store", type=Path, metavar="FILE", help="keep every run in this file")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with what was stored there")
    parser.add_argument("--quick", action="store_true", help="small, to see that it works")
    options = parser.parse_args(arguments)
    if options.quick:
        options.users, options.runs = options.users or 20_000, 2
    measured: list[Measured] = []
    with Progress(transient=True) as progress:
        for name, users, source in _sources(options):
            settings = [
                Setting(name, users, options.opt_in, way, epsilon, options.delta, options.size, options.seed)
                for way in options.ways
                for epsilon in options.epsilon
            ]
            measured += measure(source, settings, options.runs, progress)
    print(markdown(measured, _stored(options.against) if options.against else []))
    if options.store is not None:
        options.store.write_text(json.dumps([asdict(one) for one in measured]) + "\n")


def _stored(path: Path) -> list[Measured]:
    return [
        Measured(Setting(**one["setting"]), tuple(Run(*map(tuple, run.values())) for run in one["runs"]))
        for one in json.loads(path.read_text())
    ]


if __name__ == "__main__":
    main()
