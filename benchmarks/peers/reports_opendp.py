"""OpenDP's randomised response over k categories, a call for each client; it has no estimator."""

from __future__ import annotations

import math
import time

import numpy as np
import opendp.prelude as dp

from benchmarks.peers.job import answer_estimate, reports_job


def main() -> None:
    """Estimate by inverting the channel."""
    job = reports_job()
    own_items = np.load(job.own_items).tolist()
    dp.enable_features("contrib")
    start = time.perf_counter()
    truth = math.exp(job.epsilon) / (math.exp(job.epsilon) + job.items - 1)
    randomise = dp.m.make_randomized_response(list(range(job.items)), truth, T="i32")
    counts = np.bincount([randomise(item) for item in own_items], minlength=job.items)
    lie = (1 - truth) / (job.items - 1)
    estimate = (counts / len(own_items) - lie) / (truth - lie)
    answer_estimate(time.perf_counter() - start, estimate)


if __name__ == "__main__":
    main()
