"""Spark on a cluster: what comes to the driver, and what happens when a worker dies."""

from __future__ import annotations

import socket
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from blendp.engines.spark.tables import SparkTables
from tests.spark_cluster import SparkCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def test_the_cluster_of_the_tests_is_on_loopback(spark: SparkSession, cluster: SparkCluster) -> None:
    assert spark.sparkContext.master == cluster.url
    executors = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    assert {executor.host() for executor in executors} == {"127.0.0.1"}
    port = int(cluster.url.rpartition(":")[2])
    with socket.socket() as other, pytest.raises(OSError, match="refused"):
        other.connect(("127.0.0.2", port))


def test_what_is_kept_is_not_planned_from_the_rows_again(spark: SparkSession) -> None:
    """Each table names the one before twice: written out, the last would be planned from sixteen of the first."""
    tables = SparkTables(spark, nullcontext)
    name = tables.view("SELECT id FROM range(3)", keep=True)
    for _ in range(4):
        name = tables.view(f"SELECT id FROM {name} UNION ALL SELECT id + 1 FROM {name}", keep=True)
    plan = spark.sql(f"SELECT * FROM {name}")._jdf.queryExecution().analyzed()
    assert plan.collectLeaves().size() == 1
    assert tables.ask(f"SELECT count(*) AS rows, sum(id) AS total FROM {name}").to_pylist() == [
        {"rows": 48, "total": 144}
    ]
