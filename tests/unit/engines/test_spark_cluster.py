"""Spark on a cluster: what comes to the driver, and what happens when a worker dies."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

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
