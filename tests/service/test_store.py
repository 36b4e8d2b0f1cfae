"""The store on both databases: schema versions, what becomes of every row, durability settings."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.engine import Connection

from blendp.service.refusal import Refused
from blendp.service.settings import Settings
from blendp.service.store import Store, open_store
from blendp.service.store import migrations as migrations_package
from blendp.service.store.one_call import Row, keep_in_one_call
from blendp.service.store.partitions import make_partition
from blendp.service.store.reports import (
    close_door,
    count_intake,
    count_reports,
    delete_report,
    keep_reports,
    read_reports,
)
from blendp.service.store.schema import campaign, intake, metadata, report
from tests.service.helpers import add_campaign, keep_rows
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
        add_campaign(connection, 1)
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
        assert _differences(connection) == []


def _differences(connection: Connection) -> object:
    """Between the database and the code; partitions are as their table is, since else they could not be attached."""

    def is_compared(name: str | None, kind: str, _parents: object) -> bool:
        return kind != "table" or not re.fullmatch("report_[0-9]+", name or "")

    return compare_metadata(MigrationContext.configure(connection, opts={"include_name": is_compared}), metadata)


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_reports_are_partitioned_by_campaign(store: Store) -> None:
    with store.reading() as connection:
        by = connection.exec_driver_sql("SELECT pg_get_partkeydef('report'::regclass)").scalar_one()
        of = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'report'::regclass"
        assert (by, connection.exec_driver_sql(of).scalars().all()) == ("LIST (campaign)", ["report_1"])


@both
def test_every_earlier_schema_migrates_with_its_rows(store: Store) -> None:
    """From each version that ever was, filled with a row in every table, to the newest; and back, and forth again."""
    scripts = ScriptDirectory(str(Path(migrations_package.__file__).parent))
    versions = [script.revision for script in scripts.walk_revisions()][::-1]
    for version in versions:
        metadata.drop_all(store.engine)
        with store.engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE IF EXISTS alembic_version")
        migrations_package.migrate(store.engine, version)
        row_counts = _fill(store)
        for turn in (None, version, None):
            migrations_package.migrate(store.engine, turn)
        with store.engine.connect() as connection:
            assert _differences(connection) == []
            for table, count in row_counts.items():
                assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one() == count, table


@both
def test_a_migration_that_fails_has_not_happened(store: Store) -> None:
    metadata.drop_all(store.engine)
    with store.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE alembic_version")

    def fail(_: Connection) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        migrations_package.migrate(store.engine, note=fail)
    tables = sa.inspect(store.engine).get_table_names()
    assert [name for name in tables if not name.startswith("report_")] == []
    migrations_package.migrate(store.engine)
    store.beat()


def _fill(store: Store) -> dict[str, int]:
    """One row in every table of whatever schema there is."""
    reflected = sa.MetaData()
    reflected.reflect(store.engine)
    tables = [table for table in reflected.sorted_tables if table.name != "alembic_version"]
    with store.writing() as connection:
        make_partition(connection, 1)
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
    store.beat()


@both
def test_every_outcome(store: Store) -> None:
    with store.writing() as connection:
        assert keep_rows(connection, 1, [_row(1), _row(2)]) == ["accepted", "accepted"]
    with store.writing() as connection:
        outcomes = keep_rows(
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
    assert outcomes == ["duplicate", "accepted", "conflict", "conflict", "over-quota", "accepted", "accepted"]
    with store.reading() as connection:
        assert count_reports(connection, 1) == 5


@both
def test_rows_of_one_batch_that_repeat_each_other(store: Store) -> None:
    with store.writing() as connection:
        rows = [_row(1), _row(1), _row(1, data=b"y"), _row(2, pseudonym=1), _row(3), _row(3)]
        outcomes = keep_rows(connection, 1, rows)
        assert outcomes == ["accepted", "duplicate", "conflict", "over-quota", "accepted", "duplicate"]


@both
def test_the_same_id_in_two_campaigns_is_two_reports(store: Store) -> None:
    with store.writing() as connection:
        add_campaign(connection, 2)
        assert keep_rows(connection, 1, [_row(1)]) == keep_rows(connection, 2, [_row(1)]) == ["accepted"]


@both
def test_what_was_deleted_never_comes_back(store: Store) -> None:
    with store.writing() as connection:
        keep_rows(connection, 1, [_row(1), _row(2)])
        assert delete_report(connection, 1, _row(1)[1])
        assert not delete_report(connection, 1, _row(1)[1])
        assert not delete_report(connection, 1, _row(9)[1])
    with store.writing() as connection:
        assert keep_rows(connection, 1, [_row(1), _row(7, pseudonym=1)]) == ["deleted", "deleted"]
        assert count_reports(connection, 1) == 1
        assert keep_rows(connection, 1, [_row(9), _row(2)]) == ["deleted", "duplicate"], "it overtook its report"
    assert list(read_reports(store, 1)) == [[(0, b"x")]]


_Sent = tuple[int, int, int, int, bytes]
"""Campaign, report id, pseudonym, question, data."""


@both
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.integers(1, 3),
                st.integers(0, 9),
                st.integers(0, 9),
                st.integers(0, 1),
                st.sampled_from([b"a", b"b", b"cc"]),
            ),
            min_size=1,
        ),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
def test_outcomes_are_those_of_a_simple_model(store: Store, batches: list[list[_Sent]], hope: bool) -> None:
    """Of two campaigns that take reports and one that does not; contents and numbers are those of the model, too."""
    with store.writing() as connection:
        for table in (report, intake):
            connection.execute(table.delete())
        for number, state in ((2, "reporting"), (3, "released")):
            known = connection.execute(sa.select(campaign.c.number).where(campaign.c.number == number)).all()
            if not known:
                add_campaign(connection, number, state)
    kept: dict[tuple[int, int], tuple[int, int, bytes]] = {}
    counts: Counter[tuple[int, str]] = Counter()
    for batch in batches:
        expected = _expected(batch, kept)
        counts += Counter((number, outcome) for number, some in expected.items() for outcome in some)
        counts[1, "malformed"] += 1
        rows_of = {number: [_row(*sent[1:]) for sent in batch if sent[0] == number] for number in expected}
        with store.writing() as connection:
            refused = Counter({(1, "malformed"): 1})
            assert keep_reports(connection, rows_of, "2026-11-16", refused, hope=hope) == expected
    with store.reading() as connection:
        stored = {
            (row[0], bytes(row[1]), bytes(row[2]), row[3], bytes(row[4])) for row in connection.execute(report.select())
        }
        numbers = sa.select(intake.c.campaign, intake.c.outcome, intake.c["count"])
        assert {(row[0], row[1]): row[2] for row in connection.execute(numbers)} == counts
    due = {(number, *_row(sent[0], install, *sent[1:])) for (number, install), sent in kept.items()}
    assert stored == due


def _expected(batch: list[_Sent], kept: dict[tuple[int, int], tuple[int, int, bytes]]) -> dict[int, list[str]]:
    """What becomes of a batch's rows, and what is kept after it, by campaign and pseudonym."""
    outcomes: dict[int, list[str]] = {number: [] for number in sorted({sent[0] for sent in batch})}
    for number, report_id, install, question, data in batch:
        sent = (report_id, question, data)
        if number == 3:
            fate = "late"
        elif (number, install) not in kept:
            fate, kept[number, install] = "accepted", sent
        elif kept[number, install][0] != report_id:
            fate = "over-quota"
        else:
            fate = "duplicate" if kept[number, install] == sent else "conflict"
        outcomes[number].append(fate)
    return outcomes


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
@pytest.mark.parametrize("hope", [True, False])
def test_one_call_keeps_and_tells_what_is_new(store: Store, hope: bool) -> None:
    def keep(number: int, *rows: Row) -> list[str] | None:
        with store.writing() as connection:
            return keep_in_one_call(connection, number, rows, "2026-11-16", {}, hope=hope)

    a, d, c, q = "accepted", "duplicate", "conflict", "over-quota"
    assert keep(1, *(_row(i, question=i % 2, data=bytes(i + 1)) for i in range(3))) == [a, a, a]
    rows = [
        _row(4),
        _row(1, question=1, data=bytes(2)),
        _row(2, question=1),
        _row(5, pseudonym=2),
        _row(4),
        _row(6, 7),
        _row(8, 7),
    ]
    assert keep(1, *rows) == [a, d, c, q, d, a, q]
    assert keep(7, _row(8)) is None
    (part,) = read_reports(store, 1)
    assert sorted(part) == [(0, bytes(1)), (0, bytes(3)), (0, b"x"), (0, b"x"), (1, bytes(2))]
    with store.reading() as connection:
        assert connection.exec_driver_sql("SELECT sum(count) FROM intake").scalar_one() == 10


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_one_call_is_neither_compiled_nor_scans(store: Store) -> None:
    """A few hundred milliseconds of compiling, or a scan of all reports, would be anybody's to cause."""
    with store.reading() as connection:
        settings_of = "SELECT proconfig FROM pg_proc WHERE starts_with(proname, 'blendp_keep_reports_')"
        assert connection.exec_driver_sql(settings_of).scalars().all() == [
            ["enable_seqscan=off", "jit=off", "plan_cache_mode=force_custom_plan"]
        ]


@contextmanager
def _door_closed(store: Store, number: int, send: Callable[[], None]) -> Iterator[Connection]:
    """A transaction that closed a campaign's door, with a sender who waits outside and goes on when it ends."""
    sending = threading.Thread(target=send)
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with store.writing() as connection:
        close_door(connection, number)
        sending.start()
        while not connection.exec_driver_sql(waits).scalar_one():
            time.sleep(0.01)
        yield connection
    sending.join()


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_numbers_of_another_campaign_are_not_held_at_a_door(store: Store) -> None:
    """Whoever deletes a campaign closes its door, then deletes its numbers: nobody may hold those and wait outside."""
    with store.writing() as connection:
        add_campaign(connection, 2)
        count_intake(connection, "2026-11-16", Counter({(2, "malformed"): 1}))
    outcomes: dict[int, list[str]] = {}

    def send() -> None:
        with store.writing() as connection:
            rows_of = {1: [_row(1)], 2: [_row(2)]}
            outcomes.update(keep_reports(connection, rows_of, "2026-11-16", Counter({(2, "malformed"): 1})))

    with _door_closed(store, 2, send) as connection:
        connection.exec_driver_sql("SET LOCAL lock_timeout = '5s'")
        connection.execute(intake.delete().where(intake.c.campaign == 2))
    assert outcomes == {1: ["accepted"], 2: ["accepted"]}


@pytest.mark.xdist_group("postgres")
def test_isolation_does_not_depend_on_the_server(postgres: Postgres, tmp_path: Path) -> None:
    """Each statement must see what was committed before it, whatever the database's default is."""
    database = postgres.new_database()
    name = database.partition("?")[0].rpartition("/")[2]
    engine = sa.create_engine(Settings(tmp_path / "data", database=database).database_url)
    with engine.connect() as connection:
        isolation = "ALTER DATABASE {} SET default_transaction_isolation = 'repeatable read'"
        connection.exec_driver_sql(isolation.format(connection.dialect.identifier_preparer.quote(name)))
        connection.commit()
    engine.dispose()
    store = open_store(Settings(tmp_path / "data", database=database))
    show = "SHOW transaction_isolation"
    with store.writing() as connection:
        assert connection.exec_driver_sql(show).scalar_one() == "read committed"
    with store.reading() as connection:
        assert connection.exec_driver_sql(show).scalar_one() == "repeatable read"
    with store.writing() as connection:
        assert connection.exec_driver_sql(show).scalar_one() == "read committed"
    store.close()


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_who_waited_at_the_door_finds_it_closed(store: Store) -> None:
    """A call that came before the campaign was closed, and waited until it was, keeps nothing."""
    outcomes: dict[int, list[str]] = {}

    def send() -> None:
        with store.writing() as connection:
            outcomes.update(keep_reports(connection, {1: [_row(1)]}, "2026-11-16", Counter()))

    with _door_closed(store, 1, send) as connection:
        connection.execute(campaign.update().values(state="closing"))
    assert outcomes == {1: ["busy"]}


@both
@pytest.mark.parametrize("state", ["closing", "signing"])
def test_a_campaign_whose_result_is_computed_asks_to_come_back(store: Store, state: str) -> None:
    """It may take reports again, so nothing is refused for good, and nothing counted as refused."""
    with store.writing() as connection:
        connection.execute(campaign.update().values(state=state))
        assert keep_reports(connection, {1: [_row(1)]}, "2026-11-16", Counter()) == {1: ["busy"]}
    with store.reading() as connection:
        assert connection.execute(intake.select()).all() == []


@both
def test_many_reports_are_read_in_parts(store: Store) -> None:
    with store.writing() as connection:
        keep_rows(connection, 1, [_row(i, data=bytes([i % 7])) for i in range(250)])
    parts = list(read_reports(store, 1, at_a_time=100))
    assert [len(part) for part in parts] == [100, 100, 50]
    assert sorted(one for part in parts for one in part) == sorted((0, bytes([i % 7])) for i in range(250))


@both
def test_a_transaction_that_fails_keeps_nothing(store: Store) -> None:
    def fail() -> None:
        with store.writing() as connection:
            keep_rows(connection, 1, [_row(1)])
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
                    outcomes = keep_rows(connection, 1, rows)
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
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "secure_delete", "foreign_keys")
        }
    store.close()
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "foreign_keys": 1}
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
        add_campaign(connection, 1)
        keep_rows(connection, 1, [_row(1, data=secret)])
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


def test_readers_keep_few_pages(tmp_path: Path) -> None:
    """There may be many at a time; only the one who writes keeps many."""
    store = open_store(Settings(tmp_path / "data"))
    with store.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA cache_size").scalar_one() == -8192
    with store.writing() as connection:
        assert connection.exec_driver_sql("PRAGMA cache_size").scalar_one() == -131072
    with store.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA cache_size").scalar_one() == -8192
    store.close()
