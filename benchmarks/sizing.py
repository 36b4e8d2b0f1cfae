"""What a report costs a collector: bytes on the disk and in a backup, and the time of a release, by length of the list.

    python -m benchmarks.sizing [--reports 200000] [--records 50 500] [--database sqlite|postgresql|both]

Reports are kept by the collector's own code, in groups of 10 000; then a backup is made and the result is released.
Bytes depend on the list's length alone; seconds are those of this machine, and processor time says more than they do.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.collector_servers import CAMPAIGN, possible_reports, publish_campaign
from blendp.service.backup import make_backup
from blendp.service.campaigns import find
from blendp.service.collector import CollectorService
from blendp.service.settings import DATABASE_FILE, Settings
from blendp.service.store.partitions import partition_of
from blendp.service.store.reports import keep_reports

SQLITE, POSTGRESQL = "sqlite", "postgresql"
HEAD = (
    "database",
    "records listed",
    "bytes of a report's data",
    "bytes on the disk",
    "bytes in a backup",
    "backup, s/million",
    "release, s/million",
    "release, µs of processor",
)
_GROUP = 10_000


@dataclass(frozen=True)
class Cost:
    """What a report costs, on one database, with one list."""

    database: str
    records: int
    data_bytes: float
    disk_bytes: float
    backup_bytes: float
    backup_seconds: float
    release_seconds: float
    release_processor: float

    def __str__(self) -> str:
        """A row of the table."""
        cells = [value if isinstance(value, str) else f"{value:,.0f}" for value in astuple(self)]
        cells[-3:] = [f"{value:.1f}" for value in astuple(self)[-3:]]
        return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=200_000)
    parser.add_argument("--records", type=int, nargs="+", default=[50, 500])
    parser.add_argument("--database", choices=(SQLITE, POSTGRESQL, "both"), default="both")
    options = parser.parse_args()
    print(f"| {' | '.join(HEAD)} |")
    print(f"| --- |{' ---: |' * (len(HEAD) - 1)}")
    for database in (SQLITE, POSTGRESQL) if options.database == "both" else (options.database,):
        for records in options.records:
            print(measure(database, records, options.reports), flush=True)


def measure(database: str, records: int, reports: int) -> Cost:
    """The cost of a report, from so many of them."""
    with TemporaryDirectory() as folder, _address(database) as address:
        settings = Settings(Path(folder) / "data", database=address)
        collector = CollectorService.open(settings)
        manifest = publish_campaign(collector, different_records=records)
        before = _disk_bytes(collector), _backup(settings, Path(folder) / "before")[0]
        data_bytes = _fill(collector, possible_reports(collector, manifest), reports)
        disk = _disk_bytes(collector) - before[0]
        backup_bytes, backup_seconds = _backup(settings, Path(folder) / "after")
        start, processor = time.perf_counter(), time.process_time()
        collector.lifecycle.release(CAMPAIGN)
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
        collector.close()
    million, each = reports / 1e6, reports
    return Cost(
        database,
        manifest.records,
        data_bytes,
        disk / each,
        (backup_bytes - before[1]) / each,
        backup_seconds / million,
        seconds / million,
        1e6 * processor / each,
    )


@contextmanager
def _address(database: str) -> Iterator[str | None]:
    """The address of an empty database; None for the embedded one."""
    if database == SQLITE:
        yield None
        return
    from tests.service.postgres import Postgres, temporary_folder

    home = temporary_folder()
    try:
        postgres = Postgres(home)
        try:
            yield postgres.new_database()
        finally:
            postgres.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _fill(collector: CollectorService, possible: list[list[str]], reports: int) -> float:
    """Keep so many reports; the mean length of their data."""
    pools = [[bytes.fromhex(text) for text in pool] for pool in possible]
    day = collector.clock().isoformat()
    with collector.store.reading() as connection:
        number = find(connection, CAMPAIGN).number
    for _ in range(0, reports, _GROUP):
        rows = [
            (os.urandom(16), os.urandom(16), question, secrets.choice(pools[question]))
            for question in (index % len(pools) for index in range(min(_GROUP, reports)))
        ]
        with collector.store.writing() as connection:
            keep_reports(connection, {number: rows}, day, Counter())
    return sum(len(pool[0]) for pool in pools) / len(pools)


def _disk_bytes(collector: CollectorService) -> int:
    """What the tables take, the database's log apart."""
    collector.store.note_deletion()
    collector.store.forget_deleted()
    if collector.store.embedded:
        return (collector.settings.data / DATABASE_FILE).stat().st_size
    with collector.store.reading() as connection:
        table = partition_of(find(connection, CAMPAIGN).number)
        return int(connection.exec_driver_sql(f"SELECT pg_total_relation_size('{table}')").scalar_one())


def _backup(settings: Settings, out: Path) -> tuple[int, float]:
    """Bytes of a backup, and the seconds it took."""
    start = time.perf_counter()
    make_backup(settings, out, with_keys=False)
    return out.stat().st_size, time.perf_counter() - start


if __name__ == "__main__":
    main()
