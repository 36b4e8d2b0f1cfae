"""One Spark for all tests of a process: starting it takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from blendp.engines.spark import SparkSettings, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    short_lived = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    conf = {
        "spark.sql.shuffle.partitions": "4",
        "spark.default.parallelism": "4",
        "spark.driver.defaultJavaOptions": short_lived,
    }
    session = spark_session(SparkSettings("local[2]", conf=conf))
    yield session
    session.stop()
