"""What becomes of a release where opt-in people differ from clients, and what their check costs where they do not.

    python -m benchmarks.unlike_groups [--like aol-sparse] [--apart 0 0.1 0.3 0.6] [--epsilon 4 1] [--runs 200]
                                       [--seed 5000] [--quick]

Clients follow the law of an AOL-sized population, 5 % opt in, M = 50, delta 1e-6, one record a person. The opt-in
people's probability of every record is the clients' times exp(k Z - k^2/2), Z standard normal, k from ``--apart``. The
truth is that of all people. Printed:

    records   how many of the 95 % intervals of listed records hold it, with the standard error by run,
    kappa     in which share of the runs it is above 0, and its median,
    unseen    the median of what the reports do not rule out; "any" where it is any difference,
    top error the median, and the worst run's to the median's.

Not private.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from blendp.arrays import Array, Ids
from blendp.engines import Truth
from blendp.evaluation.drawn_people import DrawnPeople, RecordLaw
from blendp.evaluation.law_records import LawRecords
from blendp.evaluation.metrics import score, true_head
from blendp.headlist.head_list import Record
from blendp.logs.synthetic import NAMES, USERS, law
from blendp.methods import Parameters, simulate_people
from blendp.randomness import SimulationRandom

HEAD = ("people", "ε", "apart", "records", "κ > 0", "κ", "unseen", "top error", "worst")


@dataclass(frozen=True, eq=False)
class OtherRecords:
    """The same records with other probabilities."""

    records: LawRecords
    factor: Array = field(repr=False)

    @property
    def levels(self) -> int:
        """Records are <query, URL>."""
        return self.records.levels

    @property
    def distinct_records(self) -> int:
        """How many different records there are."""
        return self.records.distinct_records

    def texts(self, ids: Ids) -> list[Record]:
        """What these records say."""
        return self.records.texts(ids)

    def truth(self) -> Truth:
        """The probability of every record, by the factors."""
        own = self.records.truth()
        p = own.record * self.factor
        return Truth(p, own.query_id, np.bincount(own.query_id, weights=p, minlength=len(own.query)).astype(np.float64))


@dataclass(frozen=True, eq=False)
class UnlikePeople(DrawnPeople):
    """Opt-in people of another law: they are drawn from it, and all else is said of the clients' law."""

    @classmethod
    def apart(cls, clients: RecordLaw, opt_in: RecordLaw, users: int, random: SimulationRandom) -> UnlikePeople:
        """So many people, of whom 5 % opt in."""
        drawn = DrawnPeople.draw(opt_in, users, 0.05, Parameters(opt_in_records=1), random)
        return cls(clients, drawn.sizes, drawn.list_ids, drawn.estimate_ids)


@dataclass(frozen=True)
class Run:
    """One release."""

    inside: float
    kappa: float
    kappa_max: float
    top_error: float


def one_run(records: LawRecords, clients: RecordLaw, apart: float, epsilon: float, users: int, seed: int) -> Run:
    """A release of people whose groups are so far apart, and how far it is from the truth of all."""
    random = SimulationRandom(seed)
    factor = np.exp(apart * random.generator.standard_normal(records.distinct_records) - apart**2 / 2)
    opt_in = RecordLaw(OtherRecords(records, factor))
    parameters = Parameters(epsilon=epsilon, delta=1e-6, opt_in_records=1)
    outcome = simulate_people(UnlikePeople.apart(clients, opt_in, users, random), parameters, random)
    head_list, located = outcome.head_list, clients.locate(outcome.head_list)
    everybody = OtherRecords(records, 0.95 + 0.05 * factor).truth()
    head = true_head(head_list, located, everybody, 50)
    cells, check = head_list.record_cells, outcome.check
    assert check is not None
    inside = (outcome.cells.low <= head.cells) & (head.cells <= outcome.cells.high)
    errors = score(head_list, outcome.cell_probability, outcome.query_probability, head)
    unseen = math.inf if check.kappa_max is None else check.kappa_max
    return Run(float(inside[cells].mean()), check.kappa, unseen, errors.top_error)


def row(like: str, epsilon: float, apart: float, runs: Sequence[Run]) -> str:
    """A line of the table."""
    inside, kappa, unseen, errors = (
        np.array([getattr(run, name) for run in runs]) for name in Run.__dataclass_fields__
    )
    limit = float(np.median(unseen))
    cells = (
        like,
        f"{epsilon:g}",
        f"{100 * apart:g} %",
        f"{100 * inside.mean():.1f} ± {100 * inside.std(ddof=1) / math.sqrt(len(runs)):.1f}",
        f"{100 * (kappa > 0).mean():.0f} %",
        f"{np.median(kappa):.2f}",
        "any" if math.isinf(limit) else f"{100 * limit:.0f} %",
        f"{np.median(errors):.3f}",
        f"{errors.max() / np.median(errors):.2f}",
    )
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--like", choices=NAMES, default="aol-sparse")
    parser.add_argument("--apart", type=float, nargs="+", default=[0.0, 0.1, 0.3, 0.6])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[4.0, 1.0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=5000)
    parser.add_argument("--quick", action="store_true", help="small, to see that it works")
    options = parser.parse_args(arguments)
    users, runs = (60_000, 3) if options.quick else (USERS["aol"], options.runs)
    records = LawRecords.of_ranks(law(options.like), np.empty(0, dtype=np.int64))
    clients = RecordLaw(records)
    print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}")
    for epsilon in options.epsilon:
        for apart in options.apart:
            done = [one_run(records, clients, apart, epsilon, users, options.seed + run) for run in range(runs)]
            print(row(options.like, epsilon, apart, done), flush=True)


if __name__ == "__main__":
    main()
