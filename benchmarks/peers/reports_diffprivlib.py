"""diffprivlib: the categorical exponential mechanism whose items are all equally far apart, which is GRR.

It has no estimator.
"""

from __future__ import annotations

import math
import time

import numpy as np
from diffprivlib.mechanisms import ExponentialCategorical

from benchmarks.peers.job import answer_estimate, reports_job


def main() -> None:
    """Estimate by inverting the channel."""
    job = reports_job()
    names = [str(item) for item in range(job.items)]
    own_names = [names[item] for item in np.load(job.own_items)]
    start = time.perf_counter()
    far = [(one, other, 1.0) for number, one in enumerate(names) for other in names[number + 1 :]]
    mechanism = ExponentialCategorical(epsilon=job.epsilon, utility_list=far)
    reports = [int(mechanism.randomise(item)) for item in own_names]
    truth = math.exp(job.epsilon) / (math.exp(job.epsilon) + job.items - 1)
    lie = (1 - truth) / (job.items - 1)
    estimate = (np.bincount(reports, minlength=job.items) / len(own_names) - lie) / (truth - lie)
    answer_estimate(time.perf_counter() - start, estimate)


if __name__ == "__main__":
    main()
