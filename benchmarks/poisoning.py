"""How far lying clients move a result, with and without the cap on their influence.

    python -m benchmarks.poisoning [--repeat 20] [--seed 8]

A share of the clients of an AOL-sized population works together: all of them name the least popular listed record, or
its query, in every report. Prints how far its query rises against honest runs from the same seeds, beside what the
release itself states as the most. Not private.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from blendp.evaluation.drawn_people import DrawnPeople, RecordLaw
from blendp.logs import log_of_table
from blendp.logs.synthetic import USERS, population
from blendp.methods import Parameters, simulate_people
from blendp.randomness import Random, SimulationRandom
from blendp.reports import ListScheme, ReportSums

OPT_IN = 0.05


class LyingPeople(DrawnPeople):
    """Drawn people of whom a share of the clients lies about one record."""

    share = 0.0
    target = 0
    """The cell that is named."""

    def reports(self, scheme: ListScheme, random: Random) -> ReportSums:
        """The honest clients' reports, with liars in the place of a share of them."""
        honest, head_list = super().reports(scheme, random), scheme.head_list
        self.__dict__["target"] = int(head_list.record_cells[-1])
        targets = {"query": int(head_list.query_of_cell[self.target]), "record": self.target}
        return replace(honest, supports={name: self._lie(honest, name, item) for name, item in targets.items()})

    def _lie(self, honest: ReportSums, question: str, item: int) -> NDArray[np.int64]:
        """So many reports fewer of the others, the named item in every lying report, beside all others alike."""
        reports, size = honest.reports[question], honest.questions[question].size
        supports: NDArray[np.int64] = np.rint(honest.supports[question] * (1 - self.share)).astype(np.int64)
        supports[item] += round(self.share * reports)
        others = np.delete(np.arange(len(supports)), item)
        each, rest = divmod(size * reports - int(supports.sum()), len(others))
        supports[others] += each
        supports[others[:rest]] += 1
        return supports


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Lying clients and the cap on their influence.")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--seed", type=int, default=8)
    options = parser.parse_args()
    law = RecordLaw(log_of_table(population("aol", seed=options.seed).table()))
    print("percentage points by which the query of the attacked record rises; standard errors in brackets")
    print(f"{'epsilon':>7} {'liars':>6} {'cap':>5} {'measured':>16} {'stated most':>12} {'cross-check finds it':>21}")
    for epsilon in (1.0, 4.0):
        for share in (0.001, 0.01, 0.05):
            for cap in (None, 3.0):
                gains, stated, flagged = [], [], 0
                for run in range(options.repeat):
                    parameters = Parameters(
                        epsilon=epsilon, delta=1e-5, influence_cap=cap, randomiser="split", opt_in_records=1
                    )
                    outcomes = []
                    for liars in (0.0, share):
                        random = SimulationRandom(1_000 * options.seed + run)
                        drawn = DrawnPeople.draw(law, USERS["aol"], OPT_IN, parameters, random)
                        people = LyingPeople(**{f: getattr(drawn, f) for f in drawn.__dataclass_fields__})
                        people.__dict__["share"] = liars
                        outcomes.append(simulate_people(people, parameters, random))
                    row = int(outcomes[0].head_list.query_of_cell[people.target])
                    gains.append(outcomes[1].queries.probability[row] - outcomes[0].queries.probability[row])
                    (line,) = [line for line in outcomes[0].influence if line.share == share]
                    stated.append(line.blended if cap is None else line.capped)
                    check = outcomes[1].check
                    flagged += check is not None and people.target in check.flagged
                error = np.std(gains, ddof=1) / math.sqrt(len(gains))
                print(
                    f"{epsilon:>7g} {100 * share:>5g}% {'off' if cap is None else cap:>5} "
                    f"{100 * np.mean(gains):>8.4f} ({100 * error:.4f}) {100 * np.mean(stated):>11.4f} "
                    f"{flagged:>12} of {options.repeat}"
                )


if __name__ == "__main__":
    main()
