"""Times are read by the way in which each is written, the same by both engines; what may be two things is not read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from blendp.engines.database import connect
from blendp.engines.moments import in_span, time_for_duckdb, time_for_spark
from blendp.engines.spark.filters import lenient

pytestmark = pytest.mark.xdist_group("spark")

TIMES = {
    "2026-10-15T12:00": "2026-10-15T12:00",
    "2026-10-15T12:00Z": "2026-10-15T12:00",
    "2026-10-15 12:00:30.25 +0200": "2026-10-15T10:00:30.25",
    "2026/10/15": "2026-10-15",
    "2026/1/5 9:30": "2026-01-05T09:30",
    "20261015": "2026-10-15",
    "20261015T12:00:00Z": "2026-10-15T12:00",
    "15.10.2026": "2026-10-15",
    "5.1.2026 12:00": "2026-01-05T12:00",
    "15.10.2026, 12:00:01": "2026-10-15T12:00:01",
    "15/Oct/2026:12:00:00 +0200": "2026-10-15T10:00",
    "15/Oct/2026:12:00:00": "2026-10-15T12:00",
    "2026-10-15 12:00:00 UTC": "2026-10-15T12:00",
    "2026-10-15 12:00:00.500000 UTC": "2026-10-15T12:00:00.5",
    "15.10.2026 12:00 GMT": "2026-10-15T12:00",
    "1792065600": "2026-10-15T12:00",
    "1792065600.5": "2026-10-15T12:00:00.5",
    "1792065600123": "2026-10-15T12:00:00.123",
}
"""How times are written that are read, and what they are."""

NO_TIMES = ["10/05/2026", "05/10/26", "26-10-15", "2026101512", "31.02.2026", "15/Foo/2026:12:00:00 +0000", "", None]
NO_TIMES += ["12:00", "2026", "2026-13-01", "infinity", "1792065600123456"]


def expected() -> list[tuple[str | None, int | None]]:
    """Every text, and the microseconds since 1970."""
    moments = [datetime.fromisoformat(time).replace(tzinfo=UTC) for time in TIMES.values()]
    since_1970 = [(moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) for moment in moments]
    return [*zip(TIMES, since_1970, strict=True), *((text, None) for text in NO_TIMES)]


def test_times_for_the_embedded_engine() -> None:
    database = connect()
    database.execute("SET TimeZone = 'UTC'")
    asked = f"SELECT time, epoch_us({time_for_duckdb('time')}) FROM (SELECT unnest(?) AS time)"
    assert database.execute(asked, [[*TIMES, *NO_TIMES]]).fetchall() == expected()


def test_times_for_spark(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(text,) for text in (*TIMES, *NO_TIMES)], "time STRING")
    with lenient(spark):
        rows = frame.selectExpr("time", f"unix_micros({time_for_spark('time', 'string')})").collect()
    assert [tuple(row) for row in rows] == expected()


NOON = datetime(2026, 10, 15, 12)


@pytest.mark.parametrize(
    ("value", "kind", "time"),
    [
        ("1792065600L", "bigint", NOON),
        ("1792065600000L", "bigint", NOON),
        ("20261015", "int", datetime(2026, 10, 15)),
        ("1792065600.5D", "double", NOON + timedelta(seconds=0.5)),
        ("1792065600000D", "double", NOON),
        ("TIMESTAMP_NTZ '2026-10-15 12:00'", "timestamp_ntz", NOON),
        ("DATE '2026-10-15'", "date", datetime(2026, 10, 15)),
        ("7L", "bigint", None),
        ("CAST('NaN' AS DOUBLE)", "double", None),
        ("CAST(NULL AS TIMESTAMP)", "timestamp", None),
    ],
)
def test_times_of_other_types_for_spark(spark: SparkSession, value: str, kind: str, time: datetime | None) -> None:
    frame = spark.sql(f"SELECT {value} AS time")
    assert frame.dtypes == [("time", kind)]
    bounds = [(">=", time or NOON), ("<", (time or NOON) + timedelta(microseconds=1))]
    with lenient(spark):
        row = frame.selectExpr(in_span(time_for_spark("time", kind), bounds)).collect()[0]
    assert row[0] is (None if time is None else True)
