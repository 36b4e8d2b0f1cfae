"""pure-ldp: the heavy hitters of everybody's reports, by the prefix extending method (PEM) or by TreeHist.

Both walk down a tree of bits and ask a frequency oracle at each level. Theirs that reach large domains are sketches; of
these the one over optimised local hashing (sketch response) has the smallest error where epsilon is large.
"""

from __future__ import annotations

import random
import time
import warnings

import numpy as np
from pure_ldp.frequency_oracles.sketch_response import SketchResponseClient, SketchResponseServer
from pure_ldp.heavy_hitters import PEMClient, PEMServer, TreeHistClient, TreeHistServer

from benchmarks.peers.job import HeavyHittersJob, answer_heavy_hitters, heavy_hitters_job

HASHES, WIDTH = 64, 512
"""Of the sketch: how many hash functions, and how many values each has. Collisions add little to the noise."""

UNBIASED = 3
"""How a sketch is read: the mean over all hash functions, collisions subtracted."""


def index(prefix: str) -> int:
    """A number of its own for every prefix of every length."""
    return int("1" + prefix, 2)


def oracle(epsilon: float) -> tuple[SketchResponseServer, SketchResponseClient]:
    """Both sides of the frequency oracle."""
    server = SketchResponseServer(epsilon, HASHES, WIDTH, index_mapper=index, sketch_method=UNBIASED)
    client = SketchResponseClient(epsilon, WIDTH, server.get_hash_funcs(), index_mapper=index)
    return server, client


def sides(job: HeavyHittersJob, bits: int) -> tuple[PEMServer | TreeHistServer, PEMClient | TreeHistClient]:
    """Both sides of the protocol, with levels of equal length."""
    server, client = oracle(job.epsilon)
    step = bits // job.levels
    if job.protocol == "PEM":
        return (
            PEMServer(job.epsilon, 0, bits, step, index_mapper=index, fo_server=server),
            PEMClient(job.epsilon, 0, bits, step, index_mapper=index, fo_client=client),
        )
    return (
        TreeHistServer(job.epsilon, bits, step, index_mapper=index, fo_server=server),
        TreeHistClient(job.epsilon, step, bits, index_mapper=index, fo_client=client),
    )


def main() -> None:
    """Everybody sends one report; nobody is trusted."""
    job = heavy_hitters_job()
    random.seed(job.seed)
    np.random.seed(job.seed)  # noqa: NPY002 - the generator that the library draws from
    warnings.simplefilter("ignore")
    bits = -(-job.bits // job.levels) * job.levels
    codes = np.load(job.codes).tolist()
    start = time.perf_counter()
    server, client = sides(job, bits)
    for code in codes:
        server.aggregate(client.privatise(f"{code:0{bits}b}"))
    texts, counts = server.find_heavy_hitters(k=job.kept)
    answer_heavy_hitters(time.perf_counter() - start, [int(text, 2) for text in texts], counts)


if __name__ == "__main__":
    main()
