"""multi-freq-ldpy: surveys of several attributes; a Python call for each person, around clients compiled by numba.

SPL splits epsilon among the attributes, SMP spends it on one that is drawn and told, RS+FD on one that is drawn and
hidden among made-up answers. All the aggregators clip at 0 and rescale to a sum of 1; none has an option not to. Where
all values of an attribute are clipped, SPL and SMP give zeros, RS+FD divides by zero: NaN or, if all attributes have
equally many values, an exception, which ends the job. So does, in SMP, an attribute that nobody drew.

RS+FD spends ln(d (e^epsilon - 1) + 1) on the attribute drawn. If two people differ in all d attributes, that is the
privacy loss, where SPL and SMP have epsilon. If they differ in one, the loss is epsilon with UE-z, with GRR if all
attributes have equally many values, and with UE-r if all are binary; else it is more.

Local hashing is left out: it hashes a str, which the xxhash of our requirements refuses.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from multi_freq_ldpy.mdim_freq_est import RSpFD_solution as rsfd
from multi_freq_ldpy.mdim_freq_est import SMP_solution as smp
from multi_freq_ldpy.mdim_freq_est import SPL_solution as spl
from numba import njit  # type: ignore[import-not-found]

from benchmarks.peers.job import answer_surveys, survey_job

WARM_UP = 500
"""People whose reports are made first, so that everything has been compiled."""


@dataclass(frozen=True)
class Solution:
    """The two halves of a protocol."""

    client: Callable[..., Any]
    aggregate: Callable[..., Any]
    told_values: bool = True
    """Whether the aggregator takes the numbers of values."""
    options: tuple[bool, ...] = ()
    """For unary encoding, whether it is the optimised one (OUE) or the symmetric one (SUE)."""

    def report(self, people: list[list[int]], values: list[int], epsilon: float) -> list[Any]:
        """One report of each person."""
        return [self.client(person, values, len(values), epsilon, *self.options) for person in people]

    def estimate(self, reports: list[Any], values: list[int], epsilon: float) -> Any:
        """The frequencies of each attribute."""
        domain = (values,) if self.told_values else ()
        return self.aggregate(reports, *domain, len(values), epsilon, *self.options)


SOLUTIONS = {
    "spl-grr": Solution(spl.SPL_GRR_Client, spl.SPL_GRR_Aggregator_MI),
    "spl-oue": Solution(spl.SPL_UE_Client, spl.SPL_UE_Aggregator_MI, False, (True,)),
    "spl-sue": Solution(spl.SPL_UE_Client, spl.SPL_UE_Aggregator_MI, False, (False,)),
    "spl-ss": Solution(spl.SPL_SS_Client, spl.SPL_SS_Aggregator_MI),
    "spl-adp": Solution(spl.SPL_ADP_Client, spl.SPL_ADP_Aggregator_MI),
    "smp-grr": Solution(smp.SMP_GRR_Client, smp.SMP_GRR_Aggregator_MI),
    "smp-oue": Solution(smp.SMP_UE_Client, smp.SMP_UE_Aggregator_MI, False, (True,)),
    "smp-sue": Solution(smp.SMP_UE_Client, smp.SMP_UE_Aggregator_MI, False, (False,)),
    "smp-ss": Solution(smp.SMP_SS_Client, smp.SMP_SS_Aggregator_MI),
    "smp-adp": Solution(smp.SMP_ADP_Client, smp.SMP_ADP_Aggregator_MI),
    "rsfd-grr": Solution(rsfd.RSpFD_GRR_Client, rsfd.RSpFD_GRR_Aggregator_MI),
    "rsfd-oue-z": Solution(rsfd.RSpFD_UE_zero_Client, rsfd.RSpFD_UE_zero_Aggregator_MI, True, (True,)),
    "rsfd-oue-r": Solution(rsfd.RSpFD_UE_rnd_Client, rsfd.RSpFD_UE_rnd_Aggregator_MI, True, (True,)),
    "rsfd-sue-z": Solution(rsfd.RSpFD_UE_zero_Client, rsfd.RSpFD_UE_zero_Aggregator_MI, True, (False,)),
    "rsfd-sue-r": Solution(rsfd.RSpFD_UE_rnd_Client, rsfd.RSpFD_UE_rnd_Aggregator_MI, True, (False,)),
    "rsfd-adp": Solution(rsfd.RSpFD_ADP_Client, rsfd.RSpFD_ADP_Aggregator_MI),
}


def seed_numpy(seed: int) -> None:
    """Seed the generator that draws attributes and made-up answers; compiled, numba's own, which perturbs."""
    np.random.seed(seed)  # noqa: NPY002


def main() -> None:
    """Compilation is not counted. The same seed gives the same estimates.

    Both generators are Mersenne Twisters: seeded alike, they would draw the same numbers.
    """
    job = survey_job()
    solution, values = SOLUTIONS[job.solution], list(job.values)
    people = np.load(job.answers).tolist()
    solution.report(people[:WARM_UP], values, job.epsilon)
    for_numpy, for_numba = np.random.SeedSequence(job.seed).generate_state(2).tolist()
    seed_numpy(for_numpy)
    njit(seed_numpy)(for_numba)
    start = time.perf_counter()
    estimates = [
        solution.estimate(solution.report(people, values, job.epsilon), values, job.epsilon) for _ in range(job.runs)
    ]
    answer_surveys(time.perf_counter() - start, estimates)


if __name__ == "__main__":
    main()
