"""How fast the embedded database takes reports in as its table grows, beside the empty table in the same run.

    python -m benchmarks.full_table --sizes 500000 2000000 5000000 --max-seconds 900

The table is filled by large sorted transactions that are not durable, to save time; what is measured are groups of
reports kept by the collector's own code, each in a durable transaction. A size that the time does not suffice for is
left out, and said to be.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import tempfile
import time
from collections import Counter
from contextlib import closing
from operator import itemgetter
from pathlib import Path

from blendp.service.settings import DATABASE_FILE, Settings
from blendp.service.store import Store, open_store
from blendp.service.store.one_call import Row
from blendp.service.store.reports import keep_reports
from blendp.service.store.schema import campaign

_DATA_BYTES = 60
_GROUP = 10_000
_PIECE = 250_000
_FILL = "INSERT INTO report (campaign, report_id, pseudonym, question, data) VALUES (1, ?, ?, ?, ?)"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500_000, 2_000_000, 5_000_000])
    parser.add_argument("--measured", type=int, default=200_000, help="reports that are measured at each size")
    parser.add_argument("--max-seconds", type=float, default=900.0)
    options = parser.parse_args()
    until = time.monotonic() + options.max_seconds
    print("| reports in the table | reports/s | ratio to the empty table | µs of processor/report |")
    print("| ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Settings(Path(folder)))
        with store.writing() as connection:
            connection.execute(campaign.insert().values(number=1, name="c", state="reporting", revision=0))
        empty = _measured(store, 0, options.measured, None)
        for size in options.sizes:
            if not _filled(Path(folder), size, until):
                print(f"| {size:,} | left out: the time was over | | |")
                break
            _measured(store, size, options.measured, empty)
        store.close()


def _measured(store: Store, size: int, count: int, empty: float | None) -> float:
    groups = [_rows(_GROUP) for _ in range(count // _GROUP)]
    begun, processor = time.perf_counter(), time.process_time()
    for rows in groups:
        with store.writing() as connection:
            outcomes = keep_reports(connection, {1: rows}, "2026-11-16", Counter())
        assert set(outcomes[1]) == {"accepted"}
    rate = len(groups) * _GROUP / (time.perf_counter() - begun)
    used = 1e6 * (time.process_time() - processor) / (len(groups) * _GROUP)
    print(f"| {size:,} | {rate:,.0f} | {rate / (empty or rate):.2f} | {used:.1f} |", flush=True)
    return rate


def _filled(folder: Path, size: int, until: float) -> bool:
    """Whether there was time to fill the table to this size."""
    with closing(sqlite3.connect(folder / DATABASE_FILE, isolation_level=None)) as connection:
        for pragma in ("synchronous=OFF", "cache_size=-1048576", "wal_autocheckpoint=100000"):
            connection.execute(f"PRAGMA {pragma}").close()
        while (there := connection.execute("SELECT count(*) FROM report").fetchone()[0]) < size:
            if time.monotonic() > until:
                return False
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(_FILL, sorted(_rows(min(_PIECE, size - there)), key=itemgetter(1)))
            connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
    return True


def _rows(count: int) -> list[Row]:
    return [(os.urandom(16), os.urandom(16), 1, os.urandom(_DATA_BYTES)) for _ in range(count)]


if __name__ == "__main__":
    main()
