"""OpenDP with polars: one row of each user, counts with integer Laplace noise above a threshold."""

from __future__ import annotations

import time

import opendp.prelude as dp
import polars as pl
from opendp.extras.polars import dp_len

from benchmarks.peers.job import answer_list, list_job


def main() -> None:
    """Protect a replacement by OpenDP's own unit of changed identifiers. It searches for scale and threshold first."""
    job = list_job()
    dp.enable_features("contrib")
    start = time.perf_counter()
    replace = job.unit == "replace"
    unit = dp.unit_of(identifier="user", changes=1 if replace else None, contributions=None if replace else 1)
    context = dp.Context.compositor(
        data=pl.scan_parquet(job.log),
        privacy_unit=unit,
        privacy_loss=dp.loss_of(epsilon=job.epsilon, delta=job.delta),
        split_evenly_over=1,
    )
    query = context.query().truncate_per_group(1).group_by("query").agg(dp_len(signed=True))
    released = query.release()
    planned = time.perf_counter()
    keys = released.collect()["query"].to_list()
    answer_list(time.perf_counter() - start, keys, planned - start)


if __name__ == "__main__":
    main()
