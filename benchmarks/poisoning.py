"""How far lying clients move a result, beside what the release says of liars.

    python -m benchmarks.poisoning [--runs 200] [--seed 8] [--epsilon 1 4] [--share chosen 0.95] [--liars 0.001 0.01]

A share of the clients of an AOL-sized population works together: they know the release, choose the record or the query
to raise and which of them answer which question, and are the worst of all that are tried. The same release is made
without them, from the same reports of all others. Printed in percentage points: how far the clients' own estimate and
the blend rise, the medians of what the release with the liars in it states, how often the rise exceeds that, and the
median of stated / risen. Not private.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from blendp.arrays import Array, Ids
from blendp.estimate import (
    InfluenceGuard,
    Posterior,
    Split,
    cross_check,
    hybrid_blend,
    influence,
    project_on_simplex,
    split_estimate,
)
from blendp.evaluation.drawn_people import DrawnPeople, RecordLaw
from blendp.headlist import HeadList
from blendp.logs import log_of_table
from blendp.logs.synthetic import USERS, population
from blendp.mechanisms import FrequencyOracle, SubsetSelection
from blendp.methods import Parameters, Simulation, phases
from blendp.methods.listed import Listed
from blendp.randomness import SimulationRandom
from blendp.reports import ReportSums

OPT_IN, CHOSEN = 0.05, "chosen"
ANSWERING_RECORDS = (0.0, 0.03, 0.13, 0.33, 0.67, 0.87, 0.97, 1.0)
"""Shares of the liars who answer about the record; not those that the statement compares."""

_TARGETS = 4
_HEAD = (
    f"{'epsilon':>7} {'share':>6} {'liars':>6} | {'own: risen':>10} {'stated':>7} {'exceeded':>8} {'ratio':>5} | "
    f"{'blend: risen':>12} {'most':>7} {'stated':>7} {'exceeded':>8} {'ratio':>5} | {'arms':>5} {'flagged':>7}"
)


@dataclass(frozen=True)
class Lie:
    """What liars answer: so many about the record, all others about the query.

    They name one cell, or in turn all cells of the query if there is none, and the query.
    """

    of_record: int
    of_query: int
    query: int
    cell: int | None

    def among(self, honest: ReportSums, head_list: HeadList) -> ReportSums:
        """The honest reports and theirs."""
        cells = np.flatnonzero(head_list.query_of_cell == self.query)
        named = cells if self.cell is None else np.array([self.cell])
        forged = {
            "record": _forged(_oracle(honest, "record"), self.of_record, named, cells),
            "query": _forged(_oracle(honest, "query"), self.of_query, np.array([self.query]), np.zeros(0, np.int64)),
        }
        liars = {"record": self.of_record, "query": self.of_query}
        return replace(
            honest,
            reports={name: number + liars[name] for name, number in honest.reports.items()},
            supports={name: supports + forged[name] for name, supports in honest.supports.items()},
        )


def _oracle(sums: ReportSums, question: str) -> FrequencyOracle:
    (oracle,) = sums.questions[question].answers
    if not isinstance(oracle, FrequencyOracle):
        raise TypeError(f"clients answer the {question} by {type(oracle).__name__}")
    return oracle


def _forged(oracle: FrequencyOracle, liars: int, named: Ids, avoided: Ids) -> Ids:
    """How many of the liars' reports name each item: first the named, then all that are not avoided, then these."""
    items = oracle.items if isinstance(oracle, SubsetSelection) else oracle.items - 1
    supports, left = np.zeros(oracle.items, dtype=np.int64), oracle.size * liars
    others = np.setdiff1d(np.arange(items), np.append(named, avoided))
    for some in (named, others, np.setdiff1d(avoided, named)):
        if len(some):
            each = min(left, liars * len(some))
            supports[some] = each // len(some)
            supports[some[: each % len(some)]] += 1
            left -= each
    return supports


@dataclass(frozen=True)
class Run:
    """What liars did in one run, and what the release with them in it states: clients' own estimate, blend."""

    own: float
    own_stated: float
    blend: float
    blend_stated: float
    misfit: bool
    flagged: bool


def attack(law: RecordLaw, parameters: Parameters, liars: float, seed: int) -> Run:
    """One release with the worst liars, and without them."""
    random = SimulationRandom(seed)
    number = round(liars * (1 - OPT_IN) * USERS["aol"])
    people = DrawnPeople.draw(law, USERS["aol"], OPT_IN, parameters, random)
    people = replace(people, sizes=replace(people.sizes, client=people.sizes.client - number))
    listed = phases.publish(people, parameters, random, lambda _: None).settled()
    share = listed.query_share_for(people.sizes.client)
    honest = people.reports(listed.scheme(share), random)

    usual = Split.of_sums(honest, listed.head_list)
    check = cross_check(listed.posterior, usual, np.random.Generator(np.random.PCG64(seed)))
    guard = InfluenceGuard(parameters.influence_cap, check.kappa)
    lies = list(_lies(listed.posterior, honest, listed.head_list, number))
    own, blend = _worst(lies, honest, listed, guard)
    poisoned = Split.of_sums(own.lie.among(honest, listed.head_list), listed.head_list)
    forged = blend.lie.among(honest, listed.head_list)
    after = phases.conclude(Simulation, listed, forged, share, SimulationRandom(seed))
    (stated,) = (line.capped for line in after.influence if line.share == liars)
    published = np.append(after.cell_probability[:-1], after.query_probability[:-1])
    return Run(
        own.rise,
        influence(listed.posterior, poisoned, guard, liars).clients,
        float((published - _published(listed, usual, guard)).max()),
        stated,
        not after.arms_fit,
        after.check is not None and len(after.check.flagged) > 0,
    )


def _published(listed: Listed, split: Split, guard: InfluenceGuard) -> Array:
    """The probabilities of cells and queries as they would be published, <*,*> left out."""
    listed_cells = hybrid_blend(listed.posterior, split, guard)[0].probability[:-1]
    cells = project_on_simplex(np.append(listed_cells, 1 - listed_cells.sum()))
    return np.append(cells[:-1], np.bincount(split.query_of_cell, weights=cells)[:-1])


def _lies(posterior: Posterior, honest: ReportSums, head_list: HeadList, liars: int) -> Iterator[Lie]:
    """What is tried: the queries, and of each the record, about which the opt-in group knows least."""
    rows = head_list.query_of_cell[:-1]
    spread = np.bincount(rows, weights=posterior.variance)
    asked = [share for share in ANSWERING_RECORDS if share == 1 or honest.reports["query"]]
    for query in np.argsort(-spread)[:_TARGETS].tolist():
        cells = np.flatnonzero(rows == query)
        for cell in (int(cells[posterior.variance[cells].argmax()]), None):
            for share in asked:
                yield Lie(round(share * liars), liars - round(share * liars), query, cell)


@dataclass(frozen=True)
class Tried:
    """A lie, and how far it raises an estimate."""

    rise: float
    lie: Lie


def _worst(lies: Sequence[Lie], honest: ReportSums, listed: Listed, guard: InfluenceGuard) -> tuple[Tried, Tried]:
    """The lie that raises the clients' own estimate most, and that which raises the blend most."""

    def estimates(reports: ReportSums) -> tuple[Array, Array]:
        split = Split.of_sums(reports, listed.head_list)
        own, (cells, queries) = split_estimate(split), hybrid_blend(listed.posterior, split, guard)
        return (
            np.append(own.cells.probability[:-1], own.queries.probability[:-1]),
            np.append(cells.probability[:-1], queries.probability[:-1]),
        )

    usual = estimates(honest)
    rises = [
        [
            float((new - old).max())
            for new, old in zip(estimates(lie.among(honest, listed.head_list)), usual, strict=True)
        ]
        for lie in lies
    ]
    worst = [int(np.argmax(each)) for each in zip(*rises, strict=True)]
    own, blend = (Tried(rises[which][kind], lies[which]) for kind, which in enumerate(worst))
    return own, blend


def row(runs: Sequence[Run]) -> str:
    """The figures of one setting, without its name."""
    own, own_stated, blend, stated = (
        np.array([getattr(run, name) for run in runs]) for name in ("own", "own_stated", "blend", "blend_stated")
    )
    tiny = 1e-9
    return (
        f"{100 * np.median(own):>10.3f} {100 * np.median(own_stated):>7.3f} {int((own > own_stated + tiny).sum()):>8} "
        f"{np.median(own_stated / own):>5.2f} | {100 * np.median(blend):>12.4f} {100 * blend.max():>7.4f} "
        f"{100 * np.median(stated):>7.4f} {int((blend > stated + tiny).sum()):>8} {np.median(stated / blend):>5.2f} | "
        f"{sum(run.misfit for run in runs):>5} {sum(run.flagged for run in runs):>7}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 4.0])
    parser.add_argument("--share", nargs="+", default=[CHOSEN, "0.95"], help="shares of clients who report the query")
    parser.add_argument("--liars", type=float, nargs="+", default=[0.001, 0.01])
    options = parser.parse_args(arguments)
    law = RecordLaw(log_of_table(population("aol", seed=options.seed).table()))
    print(_HEAD)
    for epsilon in options.epsilon:
        for share in options.share:
            fixed = None if share == CHOSEN else float(share)
            parameters = Parameters(epsilon=epsilon, delta=1e-5, query_share=fixed, opt_in_records=1)
            for liars in options.liars:
                runs = [attack(law, parameters, liars, 1_000 * options.seed + run) for run in range(options.runs)]
                print(f"{epsilon:>7g} {share:>6} {100 * liars:>5g}% | {row(runs)}", flush=True)


if __name__ == "__main__":
    main()
