"""Write the database of a collector of the newest schema as SQL text, to hold later versions to it.

    python -m tests.operations.freeze

Run once for a schema, before its first release; what is written then never changes. Campaigns: ``opting`` takes opt-in
records, ``running`` takes reports, ``over`` is released. The keys are written too: they are nobody's.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

from blendp.service.campaigns import find, keyed, pseudonym_key
from blendp.service.collector import CollectorService
from blendp.service.settings import DATABASE_FILE, Settings
from blendp.service.store.migrations import known_schemas
from blendp.service.store.reports import keep_reports
from blendp.wire import UploadedReport
from tests.service.helpers import DAY, on, published_campaign, records_of, terms_of
from tests.service.postgres import Postgres, programs, temporary_folder

HERE = Path(__file__).parent
REPORTS = 20
FAR = {"opt_in_until": "2100-01-01", "reports_until": "2100-02-02"}


def fill(settings: Settings) -> None:
    """Campaigns in three states."""
    collector = CollectorService.open(settings, on())
    terms = collector.lifecycle.create(terms_of("opting", **FAR))
    for person, token in enumerate(collector.opt_in.enrol("opting", terms.min_opt_in)):
        collector.opt_in.receive("opting", token, records_of(terms, person))
    for name in ("running", "over"):
        take(collector, name, published_campaign(collector, name, **FAR).make(REPORTS))
    collector.lifecycle.release("over")
    collector.close()


def take(collector: CollectorService, name: str, sent: list[UploadedReport]) -> list[str]:
    """What becomes of these reports."""
    key = collector.files.get(pseudonym_key(name)) or b""
    rows = [(one.report_id, keyed(one.pseudonym, key), one.question, one.data) for one in sent]
    with collector.store.writing() as connection:
        number = find(connection, name).number
        return keep_reports(connection, {number: rows}, DAY.isoformat(), Counter())[number]


def main() -> None:
    """Write one folder."""
    target = HERE / f"schema_{known_schemas()[-1]}"
    target.mkdir()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(Path(folder) / "data")
        fill(settings)
        with closing(sqlite3.connect(settings.data / DATABASE_FILE)) as connection:
            (target / "sqlite.sql").write_text("\n".join(connection.iterdump()) + "\n")
        _write_keys(settings, target / "sqlite.keys.json")
        postgres = Postgres(temporary_folder())
        database = postgres.new_database()
        settings = Settings(Path(folder) / "postgresql", database)
        fill(settings)
        command = [str(programs() / "pg_dump"), "--inserts", "--no-owner", "--no-comments", f"--dbname={database}"]
        dump = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        lines = [line for line in dump.splitlines() if line and not line.startswith(("--", "\\", "SET "))]
        (target / "postgresql.sql").write_text("\n".join(lines) + "\n")
        _write_keys(settings, target / "postgresql.keys.json")
        postgres.stop()


def _write_keys(settings: Settings, target: Path) -> None:
    keys = {path.name: path.read_text().strip() for path in sorted((settings.data / "keys").iterdir())}
    target.write_text(json.dumps(keys, indent=1) + "\n")


if __name__ == "__main__":
    main()
