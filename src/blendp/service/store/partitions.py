"""On PostgreSQL the reports of a campaign are a table of their own, a partition of ``report``, emptied in one step.

The embedded database has no partitions: there reports are deleted in pieces
(:func:`~blendp.service.store.reports.delete_piece`).
"""

from __future__ import annotations

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

PARTITIONED_BY = "LIST (campaign)"
PARTITIONS = "report|report_[0-9]+"
"""``report`` and all of its partitions, as a pattern of PostgreSQL's programs."""

WAIT_MILLISECONDS = 3_000
"""How long emptying a partition waits for those who read it; longer than PostgreSQL's own vacuum takes to give way."""

_IN_USE = "55P03"


def make_partition(connection: Connection, campaign: int) -> None:
    """Make room for the reports of a new campaign.

    A table is made and attached, rather than made as a partition at once, since that would wait for all who send
    reports to other campaigns, and let all others wait for it.
    """
    if connection.dialect.name == "postgresql":
        name = partition_of(campaign)
        connection.exec_driver_sql(f"CREATE TABLE {name} (LIKE report INCLUDING ALL)")
        connection.exec_driver_sql(f"ALTER TABLE report ATTACH PARTITION {name} FOR VALUES IN ({int(campaign)})")


def empty_partition(connection: Connection, campaign: int) -> bool:
    """Delete all rows of a campaign with the end of this transaction, however many there are; whether that is so.

    It is not on the embedded database, nor while somebody reads the partition for long, such as a backup. Whoever calls
    this has seen to it that no reports come in, and does nothing afterwards that may wait for a lock.
    """
    if connection.dialect.name != "postgresql":
        return False
    try:
        with connection.begin_nested():
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {WAIT_MILLISECONDS}")
            connection.exec_driver_sql(f"TRUNCATE {partition_of(campaign)}")
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _IN_USE:
            raise
        return False
    return True


def partition_of(campaign: int) -> str:
    """The name of the table that holds a campaign's reports."""
    return f"report_{int(campaign)}"
