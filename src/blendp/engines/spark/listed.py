"""A list on the cluster, and the cells of records in it."""

from __future__ import annotations

import pyarrow as pa

from blendp.engines.spark.tables import SparkTables
from blendp.headlist import HeadList

_LOCATED = """
    SELECT /*+ BROADCAST(rest, own) */ records.*, coalesce(own.cell, rest.cell, {last}) AS cell,
        rest.query_number
    FROM ({records}) AS records
        LEFT JOIN (SELECT query, cell, query_number FROM {listed} WHERE url IS NULL) AS rest
            ON rest.query = records.query
        LEFT JOIN (SELECT query, url, cell FROM {listed} WHERE url IS NOT NULL) AS own
            ON own.query = records.query AND own.url = records.url
"""


def located(tables: SparkTables, records: str, head_list: HeadList) -> str:
    """SQL for the rows of SQL for records (query, url, and what else), with the cell and the query's number of each.

    The cell is the record's own if it is listed, <q,*> if only its query is, else <*,*>.
    """
    queries, urls = zip(*head_list.labels[:-1], strict=True) if head_list.cells > 1 else ((), ())
    listed = pa.table(
        {
            "query": pa.array(queries, pa.string()),
            "url": pa.array(urls, pa.string()),
            "cell": pa.array(range(head_list.cells - 1), pa.int64()),
            "query_number": head_list.query_of_cell[:-1],
        }
    )
    return _LOCATED.format(records=records, listed=tables.of(listed), last=head_list.cells - 1)
