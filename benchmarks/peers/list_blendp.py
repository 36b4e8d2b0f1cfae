"""blendp, on the same terms as its peers: one record of each user, noisy totals, and the texts of what passes."""

from __future__ import annotations

import time

import numpy as np

import blendp
from benchmarks.peers.job import ListJob, answer_list, list_job
from blendp.mechanisms import AsymmetricList
from blendp.privacy import Budget
from blendp.randomness import ReleaseRandom


def mechanism(job: ListJob) -> AsymmetricList:
    """The list with totals. Its proof shows that leaving costs the falling rate of the noise, coming the rising one.

    So a replacement costs their sum, and presence the larger of the two.
    """
    if job.unit == "replace":
        return AsymmetricList(Budget(job.epsilon, job.delta), wildcards=False)
    return AsymmetricList(Budget(2 * job.epsilon, job.delta), wildcards=False, falling_share=0.5)


def main() -> None:
    """The only job that runs in blendp's own environment."""
    job = list_job()
    start = time.perf_counter()
    chosen = mechanism(job)
    planned = time.perf_counter()
    random = ReleaseRandom()
    drawn = blendp.open_log(job.log).draw(1, random.key())
    counts = np.bincount(drawn.records[drawn.records >= 0], minlength=drawn.distinct_records)
    listed, _ = chosen.release(counts, random)
    keys = [query for query, _ in drawn.texts(listed)]
    answer_list(time.perf_counter() - start, keys, planned - start)


if __name__ == "__main__":
    main()
