"""One Spark for all tests of a process, on a cluster of its own: starting it takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from blendp.engines.spark import SparkSettings, spark_session
from tests.spark_cluster import CONF, SparkCluster, spark_cluster
from tests.support import SHORT_LIVED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAIN = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Plans for a few rows: nothing is compiled, and nothing is planned again on the way."""


@pytest.fixture(scope="session")
def cluster() -> Iterator[SparkCluster]:
    with spark_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def spark(cluster: SparkCluster) -> Iterator[SparkSession]:
    name, _, options = SHORT_LIVED.partition("=")
    conf = CONF | PLAIN | {name: options}
    session = spark_session(SparkSettings(cluster.url, conf=conf))
    yield session
    session.stop()
