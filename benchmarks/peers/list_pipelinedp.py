"""PipelineDP on its local backend: one key of each user, partitions kept by the optimal (truncated geometric) rule."""

from __future__ import annotations

import time

import pipeline_dp
import pyarrow.parquet as pq

from benchmarks.peers.job import answer_list, list_job


def main() -> None:
    """Keys only, so that all of the budget goes into them."""
    job = list_job()
    start = time.perf_counter()
    table = pq.read_table(job.log)
    rows = list(zip(table["user"].to_pylist(), table["query"].to_pylist(), strict=True))
    accountant = pipeline_dp.NaiveBudgetAccountant(job.presence_epsilon, job.presence_delta)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1]
    )
    selected = engine.select_partitions(
        rows, pipeline_dp.SelectPartitionsParams(max_partitions_contributed=1), extractors
    )
    accountant.compute_budgets()
    keys = list(selected)
    answer_list(time.perf_counter() - start, keys)


if __name__ == "__main__":
    main()
