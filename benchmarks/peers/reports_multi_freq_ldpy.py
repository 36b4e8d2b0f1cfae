"""multi-freq-ldpy: clients compiled by numba, a call for each, and its estimator (clipped at 0 and rescaled)."""

from __future__ import annotations

import time

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client

from benchmarks.peers.job import answer_estimate, reports_job

ORACLES = {"GRR": (GRR_Client, GRR_Aggregator_MI), "SS": (SS_Client, SS_Aggregator_MI)}


def main() -> None:
    """Compilation is not counted."""
    job = reports_job()
    own_items = np.load(job.own_items).tolist()
    client, aggregate = ORACLES[job.oracle]
    client(own_items[0], job.items, job.epsilon)
    start = time.perf_counter()
    reports = [client(item, job.items, job.epsilon) for item in own_items]
    estimate = aggregate(reports, job.items, job.epsilon)
    answer_estimate(time.perf_counter() - start, estimate)


if __name__ == "__main__":
    main()
