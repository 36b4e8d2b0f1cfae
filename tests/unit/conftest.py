"""One Spark for all tests of a process: starting it takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from blendp.engines.spark import SparkSettings, spark_session
from tests.support import SHORT_LIVED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    name, _, options = SHORT_LIVED.partition("=")
    conf = {"spark.sql.shuffle.partitions": "4", "spark.default.parallelism": "4", name: options}
    session = spark_session(SparkSettings("local[2]", conf=conf))
    yield session
    session.stop()
