"""The store on both databases: schema versions, what becomes of every row, durability settings."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blendp.service.refusal import Refused
from blendp.service.settings import Settings
from blendp.service.store import Store, open_store
from blendp.service.store import migrations as migrations_package
from blendp.service.store.reports import Row, count_intake, count_reports, delete_report, insert_reports, read_reports
from blendp.service.store.schema import campaign, metadata, report
from tests.service.postgres import Postgres

both = pytest.mark.parametrize(
    "store", ["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres"))], indirect=True
)


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    database = None
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        database = server.new_database()
    opened = open_store(Settings(tmp_path / "data", database=database))
    with opened.writing() as connection:
        connection.execute(campaign.insert().values(number=1, name="c", state="reporting", revision=0))
    yield opened
    opened.close()


def _row(report_id: int, pseudonym: int | None = None, question: int = 0, data: bytes = b"x") -> Row:
    return (
        report_id.to_bytes(16, "big"),
        (report_id if pseudonym is None else pseudonym).to_bytes(16, "big"),
        question,
        data,
    )


@both
def test_the_newest_schema_is_that_of_the_code(store: Store) -> None:
    with store.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


@both
def test_every_earlier_schema_migrates_with_its_rows(store: Store) -> None:
    """From each version that ever was, filled with a row in every table, to the newest."""
    scripts = ScriptDirectory(str(Path(migrations_package.__file__).parent))
    versions = [script.revision for script in scripts.walk_revisions()][::-1]
    for version in versions:
        metadata.drop_all(store.engine)
        with store.engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE IF EXISTS alembic_version")
        migrations_package.migrate(store.engine, version)
        held = _fill(store)
        migrations_package.migrate(store.engine)
        with store.engine.connect() as connection:
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
            for table, count in held.items():
                assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one() == count, table


def _fill(store: Store) -> dict[str, int]:
    """One row in every table of whatever schema there is."""
    reflected = sa.MetaData()
    reflected.reflect(store.engine)
    tables = [table for table in reflected.sorted_tables if table.name != "alembic_version"]
    with store.writing() as connection:
        for table in tables:
            values = {
                column.name: 1
                if isinstance(column.type, sa.Integer)
                else b"1"
                if isinstance(column.type, sa.LargeBinary)
                else "1"
                for column in table.columns
            }
            connection.execute(table.insert().values(**values))
    return {table.name: 1 for table in tables}


@both
def test_a_store_may_be_opened_many_times(store: Store) -> None:
    migrations_package.migrate(store.engine)
    assert store.alive()


@both
def test_every_outcome(store: Store) -> None:
    with store.writing() as connection:
        assert insert_reports(connection, 1, [_row(1), _row(2)]) == ["accepted", "accepted"]
    with store.writing() as connection:
        outcomes = insert_reports(
            connection,
            1,
            [
                _row(1),
                _row(3),
                _row(2, data=b"y"),
                _row(2, question=1),
                _row(4, pseudonym=1),
                _row(2, pseudonym=9),
                _row(5),
            ],
        )
    assert outcomes == ["duplicate", "accepted", "conflict", "conflict", "over-quota", "conflict", "accepted"]
    with store.reading() as connection:
        assert count_reports(connection, 1) == 4


@both
def test_rows_of_one_batch_that_repeat_each_other(store: Store) -> None:
    with store.writing() as connection:
        rows = [_row(1), _row(1), _row(1, data=b"y"), _row(2, pseudonym=1), _row(3), _row(3)]
        outcomes = insert_reports(connection, 1, rows)
        assert outcomes == ["accepted", "duplicate", "conflict", "over-quota", "accepted", "duplicate"]


@both
def test_the_same_id_in_two_campaigns_is_two_reports(store: Store) -> None:
    with store.writing() as connection:
        assert insert_reports(connection, 1, [_row(1)]) == insert_reports(connection, 2, [_row(1)]) == ["accepted"]


@both
def test_what_was_deleted_never_comes_back(store: Store) -> None:
    with store.writing() as connection:
        insert_reports(connection, 1, [_row(1), _row(2)])
        assert delete_report(connection, 1, _row(1)[1])
        assert not delete_report(connection, 1, _row(1)[1])
        assert not delete_report(connection, 1, _row(9)[1])
    with store.writing() as connection:
        assert insert_reports(connection, 1, [_row(1), _row(7, pseudonym=1)]) == ["deleted", "deleted"]
        assert count_reports(connection, 1) == 1
        assert insert_reports(connection, 1, [_row(9), _row(2)]) == ["deleted", "duplicate"], "it overtook its report"
        assert list(read_reports(connection, 1, 0)) == [[b"x"]]


@both
@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 1), st.sampled_from([b"a", b"b"])),
            min_size=1,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_outcomes_are_those_of_a_simple_model(store: Store, batches: list[list[tuple[int, int, int, bytes]]]) -> None:
    with store.writing() as connection:
        connection.execute(report.delete())
    kept: dict[int, tuple[object, ...]] = {}
    for batch in batches:
        new = set()
        for place, (report_id, pseudonym, *rest) in enumerate(batch):
            if report_id not in kept and pseudonym not in {held[0] for held in kept.values()}:
                kept[report_id] = (pseudonym, *rest)
                new.add(place)
        fates = (
            "over-quota" if (held := kept.get(row[0])) is None else "duplicate" if held == row[1:] else "conflict"
            for row in batch
        )
        expected = ["accepted" if place in new else fate for place, fate in enumerate(fates)]
        with store.writing() as connection:
            assert insert_reports(connection, 1, [_row(*row) for row in batch]) == expected
    with store.reading() as connection:
        assert count_reports(connection, 1) == len(kept)


@both
def test_many_reports_are_read_in_parts(store: Store) -> None:
    with store.writing() as connection:
        insert_reports(connection, 1, [_row(i, data=bytes([i % 7])) for i in range(250)])
    with store.reading() as connection:
        parts = list(read_reports(connection, 1, 0, at_a_time=100))
    assert [len(part) for part in parts] == [100, 100, 50]
    assert sorted(b for part in parts for b in part) == sorted(bytes([i % 7]) for i in range(250))


@both
def test_a_transaction_that_fails_keeps_nothing(store: Store) -> None:
    def fail() -> None:
        with store.writing() as connection:
            insert_reports(connection, 1, [_row(1)])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.reading() as connection:
        assert count_reports(connection, 1) == 0


@both
def test_writers_at_the_same_time_keep_each_id_once(store: Store) -> None:
    """Eight threads send the same hundred reports in another order each."""
    accepted: list[str] = []

    def send(turn: int) -> None:
        rows = [_row((i * 37 + turn * 13) % 100) for i in range(100)]
        while True:
            try:
                with store.writing() as connection:
                    outcomes = insert_reports(connection, 1, rows)
            except Refused:  # PostgreSQL ends one of two transactions that wait for each other
                continue
            break
        accepted.extend(outcome for outcome in outcomes if outcome == "accepted")
        assert set(outcomes) <= {"accepted", "duplicate"}

    threads = [threading.Thread(target=send, args=(turn,)) for turn in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(accepted) == 100
    with store.reading() as connection:
        assert count_reports(connection, 1) == 100


def test_the_embedded_database_is_durable_and_overwrites(tmp_path: Path) -> None:
    store = open_store(Settings(tmp_path / "data"))
    with store.engine.connect() as connection:
        told = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "secure_delete", "foreign_keys")
        }
    store.close()
    assert told == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "foreign_keys": 1}
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


def test_no_table_knows_a_finer_time_than_a_day() -> None:
    for table in metadata.tables.values():
        for column in table.columns:
            assert not isinstance(column.type, sa.DateTime | sa.Time | sa.TIMESTAMP), f"{table.name}.{column.name}"


@both
def test_numbers_of_any_size_are_counted(store: Store) -> None:
    for _ in range(3):
        with store.writing() as connection:
            count_intake(connection, "2026-11-16", Counter({(1, "malformed"): 2**31 - 1}))
    with store.reading() as connection:
        assert connection.exec_driver_sql("SELECT sum(count) FROM intake").scalar_one() == 3 * (2**31 - 1)


def test_deleted_content_is_overwritten_as_soon_as_nobody_reads(tmp_path: Path) -> None:
    """And nobody waits for a reader in the meantime."""
    secret = b"an opt-in record, or what was one"
    store = open_store(Settings(tmp_path / "data"))
    with store.writing() as connection:
        insert_reports(connection, 1, [_row(1, data=secret)])
    with store.reading() as reader:
        count_reports(reader, 1)
        with store.writing() as connection:
            assert delete_report(connection, 1, _row(1)[1])
        store.note_deletion()
        before = time.monotonic()
        store.forget_deleted()
        assert time.monotonic() - before < 5
        assert _held(tmp_path, secret)
    store.forget_deleted()
    assert not _held(tmp_path, secret)
    store.close()


def _held(folder: Path, secret: bytes) -> bool:
    return any(secret in path.read_bytes() for path in (folder / "data").iterdir() if path.is_file())
