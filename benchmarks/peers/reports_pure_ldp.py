"""pure-ldp: direct encoding (k-ary randomised response) and optimised unary encoding, a call for each client."""

from __future__ import annotations

import time

import numpy as np
from pure_ldp.frequency_oracles import DEClient, DEServer, UEClient, UEServer

from benchmarks.peers.job import answer_estimate, reports_job


def same(item: int) -> int:
    return item


def main() -> None:
    """Reports are aggregated as they come."""
    job = reports_job()
    own_items = np.load(job.own_items).tolist()
    start = time.perf_counter()
    if job.oracle == "GRR":
        client = DEClient(job.epsilon, job.items, index_mapper=same)
        server = DEServer(job.epsilon, job.items, index_mapper=same)
    else:
        client = UEClient(job.epsilon, job.items, use_oue=True, index_mapper=same)
        server = UEServer(job.epsilon, job.items, use_oue=True, index_mapper=same)
    for item in own_items:
        server.aggregate(client.privatise(item))
    estimate = server.estimate_all(range(job.items), suppress_warnings=True) / len(own_items)
    answer_estimate(time.perf_counter() - start, estimate)


if __name__ == "__main__":
    main()
