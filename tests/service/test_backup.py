"""Backups: one moment of a collector in one file, with its keys only if asked for, and back again."""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
import subprocess
import tarfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from blendp.errors import EngineError
from blendp.service import backup as backup_module
from blendp.service.backup import BACKUP_KEY, FORMAT, make_backup, restore_backup
from blendp.service.campaigns import find, overview, payload
from blendp.service.collector import CollectorService
from blendp.service.private_files import PrivateFiles, make_private
from blendp.service.settings import Settings
from blendp.service.store.migrations import known_schemas
from blendp.service.store.reports import keep_reports
from blendp.wire import Envelope, SigningKey, Terms
from blendp.wire.envelope import SignatureError
from blendp.wire.media_types import BACKUP_TYPE
from tests.service.helpers import enrolment_body, records_of
from tests.service.postgres import Postgres
from tests.support import WHO
from tests.unit.cli.test_serve import blendp

DAYS = {"opens": "2026-01-01", "opt_in_until": "2100-01-01", "reports_until": "2100-02-02"}
TERMS: dict[str, Any] = {"title": "What is asked", **WHO, **DAYS}


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgres"))])
def databases(request: pytest.FixtureRequest) -> Places:
    return Places(request.getfixturevalue("postgres") if request.param == "postgresql" else None)


class Places:
    """Where collectors may be: on the embedded database, or on a new PostgreSQL database each."""

    def __init__(self, postgres: Postgres | None) -> None:
        self._postgres = postgres

    def new(self, data: Path) -> Settings:
        return Settings(data, None if self._postgres is None else self._postgres.new_database())


def fill(settings: Settings, *names: str) -> str:
    """A collector with campaigns and a token."""
    collector = CollectorService.open(settings)
    for name in names:
        collector.lifecycle.create({"campaign": name, **TERMS})
        collector.opt_in.enrol(name, 2)
    token = collector.tokens.create("me")
    collector.close()
    return token


def options(settings: Settings) -> tuple[str, ...]:
    return "--data", str(settings.data), *(() if settings.database is None else ("--database", settings.database))


def key_files(data: Path) -> list[Path]:
    """All keys but the one that signs backups, which is never in one."""
    return [path for path in sorted((data / "keys").iterdir()) if path.name != BACKUP_KEY]


def backup_key(settings: Settings) -> str:
    """What an operator has noted of the backup key."""
    return SigningKey.of_raw(bytes.fromhex((settings.data / "keys" / BACKUP_KEY).read_text())).public.text


def secrets(data: Path) -> list[bytes]:
    keys = [path.read_text().strip() for path in key_files(data)]
    return [form for key in keys for form in (key.encode(), bytes.fromhex(key))]


def test_there_and_back(databases: Places, tmp_path: Path) -> None:
    old, new, out = databases.new(tmp_path / "old"), databases.new(tmp_path / "new"), tmp_path / "backup.tar"
    token = fill(old, "one", "two")
    code, shown, printed = blendp("backup", *options(old), "--with-keys", "--out", str(out))
    assert (code, shown) == (0, f"Backup in {out}.\n"), printed
    assert "private keys" in printed
    assert (old.data / "keys" / BACKUP_KEY).read_bytes().strip() not in out.read_bytes()
    assert out.stat().st_mode & 0o777 == 0o600
    assert blendp("backup", *options(old), "--out", str(out))[0] == 4

    assert f"Signed with the backup key {backup_key(old)}" in printed.replace("\n", " ")

    code, shown, printed = blendp("restore", str(out), *options(new))
    assert (code, shown) == (2, "")
    assert printed.startswith("Error: --key is missing: it must be given where")
    code, shown, printed = blendp("restore", str(out), *options(new), "--key", backup_key(old))
    assert (code, shown) == (0, f"Restored {out} to {new.data}.\n"), printed
    assert "missing" not in printed
    assert secrets(new.data) == secrets(old.data)
    assert (new.data / "keys").stat().st_mode & 0o777 == 0o700
    collector = CollectorService.open(new)
    assert [one.campaign for one in overview(collector.store)] == ["one", "two"]
    assert collector.tokens.scopes_of(token) is not None
    with collector.store.writing() as connection:
        rows = {find(connection, "one").number: [(bytes(16), bytes(16), 0, b"x")]}
        assert [*keep_reports(connection, rows, "2026-11-16", Counter()).values()] == [["wrong-state"]]
    collector.lifecycle.create({"campaign": "three", **TERMS})
    with collector.store.reading() as connection:
        assert find(connection, "three").number == 3
    collector.close()

    known = ("--key", backup_key(old))
    code, _, printed = blendp("restore", str(out), *options(new), *known)
    assert code == 4
    assert "--overwrite" in printed
    assert blendp("restore", str(out), *options(new), *known, "--overwrite")[0] == 0
    collector = CollectorService.open(new)
    assert [one.campaign for one in overview(collector.store)] == ["one", "two"]
    collector.close()


def test_a_database_of_an_earlier_version_is_backed_up_as_it_is_and_migrated_when_restored(
    databases: Places, tmp_path: Path
) -> None:
    old, new, out = databases.new(tmp_path / "old"), databases.new(tmp_path / "new"), tmp_path / "backup.tar"
    fill(old, "one")
    assert blendp("migrate", *options(old), "--to", "0001", "--backup", str(tmp_path / "before.tar"))[0] == 0
    assert blendp("backup", *options(old), "--with-keys", "--out", str(out))[0] == 0
    assert blendp("restore", str(out), *options(new), "--key", backup_key(old))[0] == 0
    collector = CollectorService.open(new)
    terms = Terms(campaign="one", **TERMS)
    for token in collector.opt_in.enrol("one", 2):
        collector.opt_in.receive("one", token, records_of(terms, 0))
    shown = collector.board.status("one")
    today = collector.clock().isoformat()
    assert [(one.day, one.people) for one in shown.opt_in_by_day] == [(today, 2)]
    assert (shown.opt_in.people, shown.opt_in.enrolments) == (2, 4)
    collector.close()


def test_no_restore_draws_other_noise(databases: Places, tmp_path: Path) -> None:
    """A backup with keys, published from three times, gives one list and one set of noisy counts."""
    old, out = databases.new(tmp_path / "old"), tmp_path / "backup.tar"
    collector = CollectorService.open(old)
    terms = collector.lifecycle.create({"campaign": "one", **TERMS, "delta": 1e-4, "min_opt_in": 100})
    for person, token in enumerate(collector.opt_in.enrol("one", 200)):
        records = [{"query": f"q{person % 9}", "url": "http://u"}]
        collector.opt_in.receive("one", token, enrolment_body(terms, records))
    collector.close()
    _, signed_by = make_backup(old, out, with_keys=True)
    lists = set()
    for turn in range(3):
        new = databases.new(tmp_path / f"new {turn}")
        restore_backup(out, new, overwrite=False, key=signed_by)
        restored = CollectorService.open(new)
        manifest = restored.lifecycle.publish("one")
        with restored.store.reading() as connection:
            number = find(connection, "one").number
            lists.add((payload(connection, number, "list"), payload(connection, number, "listed")))
        restored.close()
    assert len(lists) == 1
    assert manifest.records > 5


def test_a_damaged_backup_replaces_nothing(databases: Places, tmp_path: Path) -> None:
    old, out = databases.new(tmp_path / "old"), tmp_path / "backup.tar"
    fill(old, *(f"campaign-{i}" for i in range(40)))
    assert blendp("backup", *options(old), "--out", str(out))[0] == 0
    archive = bytearray(out.read_bytes())
    middle = len(archive) // 2
    archive[middle : middle + 400] = bytes(one ^ 255 for one in archive[middle : middle + 400])
    out.write_bytes(archive)
    code, _, printed = blendp("restore", str(out), *options(old), "--overwrite")
    assert code in (2, 3, 5), printed
    collector = CollectorService.open(old)
    assert len(overview(collector.store)) == 40
    collector.close()


@pytest.mark.xdist_group("postgres")
def test_a_database_in_use_is_not_replaced(postgres: Postgres, tmp_path: Path) -> None:
    settings, out = Settings(tmp_path / "data", postgres.new_database()), tmp_path / "backup.tar"
    fill(settings, "one")
    assert blendp("backup", *options(settings), "--out", str(out))[0] == 0
    collector = CollectorService.open(settings)
    code, _, printed = blendp("restore", str(out), *options(settings), "--overwrite")
    collector.close()
    assert (code, "stop the collector" in printed) == (5, True)


def test_keys_are_in_it_only_if_asked_for(databases: Places, tmp_path: Path) -> None:
    old, new, out = databases.new(tmp_path / "old"), databases.new(tmp_path / "new"), tmp_path / "backup.tar"
    fill(old, "one")
    code, _, printed = blendp("backup", *options(old), "--out", str(out))
    assert code == 0, printed
    assert "3 keys are not in it" in printed
    archive = out.read_bytes()
    assert len(secrets(old.data)) == 6
    assert not [secret for secret in secrets(old.data) if secret in archive]
    code, _, printed = blendp("restore", str(out), *options(new), "--key", backup_key(old))
    assert code == 0, printed
    names = [path.name for path in key_files(old.data)]
    assert f"Put the missing keys back by hand, into {new.data / 'keys'}: {', '.join(names)}." in printed
    assert not (new.data / "keys").exists()
    (old.data / "keys").rename(new.data / "keys")
    assert "Put the missing keys" not in blendp("restore", str(out), *options(new), "--overwrite")[2]


@pytest.mark.xdist_group("postgres")
def test_the_two_databases_are_not_interchangeable(postgres: Postgres, tmp_path: Path) -> None:
    embedded, server = Settings(tmp_path / "a"), Settings(tmp_path / "b", postgres.new_database())
    for number, (source, target) in enumerate(((embedded, server), (server, embedded))):
        fill(source)
        out = tmp_path / f"{number}.tar"
        key = make_backup(source, out, with_keys=False)[1].text
        code, _, printed = blendp("restore", str(out), *options(target), "--key", key, "--overwrite")
        assert code == 2
        assert "not interchangeable" in printed


@pytest.mark.xdist_group("postgres")
def test_programs_are_told_the_password_in_private(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(tmp_path / "data", postgres.new_database().replace("blendp@", "blendp:sesame@"))
    fill(settings)
    seen: list[tuple[list[str], str | None]] = []
    start = subprocess.Popen

    def watched(command: list[str], **how: Any) -> Any:
        seen.append((command, (how.get("env") or {}).get("PGPASSWORD")))
        return start(command, **how)

    monkeypatch.setattr(subprocess, "Popen", watched)
    make_backup(settings, tmp_path / "b.tar", with_keys=False)
    restore_backup(tmp_path / "b.tar", settings, overwrite=True)
    assert [Path(command[0]).name for command, _ in seen] == ["pg_dump", "pg_restore", "psql", "pg_restore"]
    assert [password for _, password in seen] == ["sesame", None, "sesame", None]
    assert not [word for command, _ in seen for word in command if "sesame" in word]


@pytest.mark.xdist_group("postgres")
def test_a_program_that_is_missing_or_fails_is_told(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(tmp_path / "data", postgres.new_database())
    fill(settings)
    (tmp_path / "pg_dump").write_text("#!/bin/sh\necho 'pg_dump: error: no luck' >&2\nexit 1\n")
    (tmp_path / "pg_dump").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="no luck"):
        make_backup(settings, tmp_path / "b.tar", with_keys=True)
    assert not (tmp_path / "b.tar").exists()
    assert not list(tmp_path.glob(".b.tar*"))


def test_a_backup_of_a_busy_collector_is_one_moment(tmp_path: Path) -> None:
    """Every transaction writes two rows: a backup has both or neither."""
    settings, stop = Settings(tmp_path / "data"), Event()
    fill(settings)
    with closing(sqlite3.connect(settings.data / "collector.db")) as connection:
        connection.execute("CREATE TABLE pairs (number INTEGER, half INTEGER)")

    def write() -> None:
        with closing(sqlite3.connect(settings.data / "collector.db", isolation_level=None, timeout=30)) as connection:
            number = 0
            while not stop.is_set():
                connection.execute("BEGIN IMMEDIATE")
                for half in (0, 1):
                    connection.execute("INSERT INTO pairs VALUES (?, ?)", (number, half))
                connection.execute("COMMIT")
                number += 1

    writer = Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            _, key = make_backup(settings, tmp_path / f"{number}.tar", with_keys=False)
    finally:
        stop.set()
        writer.join()
    counts = []
    for number in range(5):
        restored = Settings(tmp_path / str(number))
        restore_backup(tmp_path / f"{number}.tar", restored, overwrite=False, key=key)
        with closing(sqlite3.connect(restored.data / "collector.db")) as connection:
            assert (
                connection.execute("SELECT count(*) FROM pairs GROUP BY number HAVING count(*) <> 2").fetchall() == []
            )
            counts.append(connection.execute("SELECT count(*) FROM pairs").fetchone()[0])
    assert counts == sorted(counts)
    assert counts[-1] > 0


def test_a_running_collector_is_not_replaced(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "data")
    fill(settings, "one")
    make_backup(settings, tmp_path / "b.tar", with_keys=True)
    collector = CollectorService.open(settings)
    code, _, printed = blendp("restore", str(tmp_path / "b.tar"), *options(settings), "--overwrite")
    assert code == 5
    assert "stop the collector first" in printed
    assert [one.campaign for one in overview(collector.store)] == ["one"]
    collector.close()
    assert blendp("restore", str(tmp_path / "b.tar"), *options(settings), "--overwrite")[0] == 0


def test_a_log_of_an_earlier_database_is_not_applied_to_the_restored_one(tmp_path: Path) -> None:
    old, new = Settings(tmp_path / "old"), Settings(tmp_path / "new")
    fill(old, "one")
    _, key = make_backup(old, tmp_path / "b.tar", with_keys=False)
    new.data.mkdir(mode=0o700)
    (new.data / "collector.db-wal").write_bytes(b"stale")
    restore_backup(tmp_path / "b.tar", new, overwrite=False, key=key)
    assert [path.name for path in new.data.iterdir()] == ["collector.db"]


def test_existing_keys_are_not_replaced(tmp_path: Path) -> None:
    old, new = Settings(tmp_path / "old"), Settings(tmp_path / "new")
    fill(old)
    _, key = make_backup(old, tmp_path / "b.tar", with_keys=True)
    for folder in (new.data, new.data / "keys"):
        folder.mkdir(mode=0o700)
    (new.data / "keys" / "signing-0000000000000000.key").write_text("00")
    code, _, printed = blendp("restore", str(tmp_path / "b.tar"), *options(new), "--key", key.text)
    assert code == 4
    assert "holds keys" in printed
    assert [path.name for path in new.data.iterdir()] == ["keys"]


CARD: dict[str, Any] = {"format": FORMAT, "blendp": "1", "day": "2026-11-16", "schema": "0001", "database": "sqlite"}
CARD |= {"with_keys": True, "keys": [], "sha256": {"database": hashlib.sha256(b"").hexdigest()}}
KEY, XYZ = SigningKey.new(), hashlib.sha256(b"xyz").hexdigest()


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ({"backup.json": json.dumps(CARD | {"format": "blendp/backup/2"}).encode(), "database": b""}, "format"),
        ({"backup.json": json.dumps({"format": FORMAT}).encode(), "database": b""}, "not complete"),
        ({"backup.json": json.dumps(CARD | {"schema": []}).encode(), "database": b""}, "not complete"),
        ({"backup.json": b"{", "database": b""}, "Expecting"),
        ({"backup.json": json.dumps(CARD | {"schema": "9999"}).encode(), "database": b""}, "newer version"),
        ({"backup.json": json.dumps(CARD).encode()}, "members"),
        ({"backup.json": json.dumps(CARD).encode(), "database": b"no database at all" * 100}, "damaged"),
        ({"backup.json": json.dumps(CARD).encode(), "database": b"", "../evil": b""}, "'../evil'"),
        ({"backup.json": json.dumps(CARD).encode(), "database": b"", "keys/../../evil.key": b""}, "evil"),
        (
            {"backup.json": json.dumps(CARD).encode(), "database": b"", "keys/signing-0123456789abcdef.key": b"xyz"},
            "keys is damaged",
        ),
        (
            {
                "backup.json": json.dumps(
                    CARD | {"sha256": CARD["sha256"] | {"keys/signing-0123456789abcdef.key": XYZ}}
                ).encode(),
                "database": b"",
                "keys/signing-0123456789abcdef.key": b"xyz",
            },
            "keys is damaged",
        ),
        ({"backup.json": json.dumps(CARD | {"sha256": "ab"}).encode(), "database": b""}, "not complete"),
        ({"backup.json": json.dumps(CARD | {"sha256": {"database": 1}}).encode(), "database": b""}, "not complete"),
        ({"backup.json": json.dumps(CARD | {"sha256": {}}).encode(), "database": b""}, "damaged"),
    ],
)
def test_what_is_no_backup_is_refused(tmp_path: Path, members: dict[str, bytes], complaint: str) -> None:
    with tarfile.open(tmp_path / "b.tar", "w") as archive:
        for name, unsigned in members.items():
            signed = Envelope.sealed(BACKUP_TYPE, unsigned, [KEY]).to_bytes()
            entry, content = tarfile.TarInfo(name), signed if name == "backup.json" else unsigned
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    known = ("--key", KEY.public.text)
    code, shown, printed = blendp("restore", str(tmp_path / "b.tar"), "--data", str(tmp_path / "data"), *known)
    assert (code, shown) == (2, ""), printed
    assert printed.startswith("Error: FILE")
    assert complaint in printed
    assert not (tmp_path / "data" / "collector.db").exists()


def test_a_backup_that_was_cut_is_refused_and_the_old_one_stays(databases: Places, tmp_path: Path) -> None:
    settings, out = databases.new(tmp_path / "data"), tmp_path / "database"
    fill(settings, "one")
    make_backup(settings, out, with_keys=False)
    out.write_bytes(out.read_bytes()[:-20_000])
    code, _, printed = blendp("restore", str(out), *options(settings), "--overwrite")
    assert code == 2, printed
    assert printed.startswith("Error: FILE")
    collector = CollectorService.open(settings)
    assert [one.campaign for one in overview(collector.store)] == ["one"]
    collector.close()


def test_a_database_of_a_newer_version_is_one_sentence(tmp_path: Path) -> None:
    fill(Settings(tmp_path / "data"))
    with closing(sqlite3.connect(tmp_path / "data" / "collector.db", isolation_level=None)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    for command in (
        ("token", "list"),
        ("backup", "--out", str(tmp_path / "b.tar")),
        ("migrate", "--backup", str(tmp_path / "b.tar")),
    ):
        code, shown, printed = blendp(*command, "--data", str(tmp_path / "data"))
        assert (code, shown) == (5, "")
        assert printed.startswith("Error: The database has schema 9999, which blendp")
    assert not (tmp_path / "b.tar").exists()


def test_a_schema_that_is_right_is_left_alone(databases: Places, tmp_path: Path) -> None:
    settings = databases.new(tmp_path / "data")
    fill(settings)
    newest = known_schemas()[-1]
    for to in ((), ("--to", newest)):
        code, shown, printed = blendp("migrate", *options(settings), "--backup", str(tmp_path / "b.tar"), *to)
        assert (code, shown) == (0, f"The database has schema {newest}: nothing to do.\n"), printed
    code, _, printed = blendp("migrate", *options(settings), "--backup", str(tmp_path / "b.tar"), "--to", "0000")
    assert (code, "--to = '0000' is not allowed" in printed) == (2, True)
    assert not (tmp_path / "b.tar").exists()


@pytest.mark.parametrize("is_link", [False, True])
def test_no_file_is_replaced_by_the_backup_of_a_migration(tmp_path: Path, is_link: bool) -> None:
    settings, out = Settings(tmp_path / "data"), tmp_path / "b.tar"
    fill(settings)
    if is_link:
        out.symlink_to(tmp_path / "elsewhere")
    else:
        out.write_text("an earlier one")
    code, _, printed = blendp("migrate", *options(settings), "--backup", str(out), "--to", "0001")
    assert (code, printed.strip()) == (4, f"Error: {out} is there already: name a new file for the backup.")
    assert not (tmp_path / "elsewhere").exists()


def test_links_and_other_files_are_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "b.tar", "w") as archive:
        entry = tarfile.TarInfo("database")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    (tmp_path / "text").write_text("no archive " * 100)
    for name in ("b.tar", "text"):
        known = ("--key", KEY.public.text)
        code, _, printed = blendp("restore", str(tmp_path / name), "--data", str(tmp_path / "data"), *known)
        assert code == 2, printed
        assert printed.startswith("Error: FILE")
    assert blendp("restore", str(tmp_path / "none"), "--data", str(tmp_path / "data"))[0] == 2
    assert not (tmp_path / "data").exists()


def rewritten(backup: Path, change: dict[str, bytes], key: SigningKey | None = None) -> None:
    """Put other members into a backup, and sign it with another key if there is one: what an attacker can do."""
    with tarfile.open(backup) as archive:
        members = {name: archive.extractfile(name).read() for name in archive.getnames()}  # type: ignore[union-attr]
    members |= change
    card = json.loads(Envelope.from_bytes(members["backup.json"]).payload)
    card["sha256"] = {
        name: hashlib.sha256(content).hexdigest() for name, content in members.items() if name != "backup.json"
    }
    if key is not None:
        members["backup.json"] = Envelope.sealed(BACKUP_TYPE, json.dumps(card).encode(), [key]).to_bytes()
    with tarfile.open(backup, "w") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def with_token(settings: Settings, folder: Path) -> tuple[bytes, str]:
    """The database of a collector with a token of the attacker's in it, and the token."""
    folder.mkdir(mode=0o700)
    source, target = (sqlite3.connect(one / "collector.db") for one in (settings.data, folder))
    with closing(source), closing(target):
        source.backup(target)
    attacker = CollectorService.open(Settings(folder.parent / "attackers"))
    token = attacker.tokens.create("attacker")
    with attacker.store.reading() as connection:
        row = connection.exec_driver_sql("SELECT id, name, scopes, hash, created FROM operator_token").one()
    attacker.close()
    with closing(sqlite3.connect(folder / "collector.db", isolation_level=None)) as connection:
        insert = "INSERT INTO operator_token (id, name, scopes, hash, created) VALUES (?, ?, ?, ?, ?)"
        connection.execute(insert, tuple(row))
    return (folder / "collector.db").read_bytes(), token


@pytest.mark.parametrize("signs", [False, True])
def test_a_backup_with_an_attackers_token_is_refused(tmp_path: Path, signs: bool) -> None:
    """Whether or not the attacker signs it anew, in place and elsewhere, and nothing is changed."""
    settings, out = Settings(tmp_path / "data"), tmp_path / "b.tar"
    fill(settings, "one")
    _, key = make_backup(settings, out, with_keys=True)
    database, token = with_token(settings, tmp_path / "forged")
    rewritten(out, {"database": database}, SigningKey.new() if signs else None)
    before = {path: path.read_bytes() for path in settings.data.rglob("*") if path.is_file()}
    code, shown, printed = blendp("restore", str(out), *options(settings), "--overwrite")
    assert (code, shown) == (6 if signs else 2, ""), printed
    assert ("did not sign it" if signs else "changed after it was signed") in printed
    with pytest.raises(SignatureError if signs else ValueError, match="sign"):
        restore_backup(out, Settings(tmp_path / "new"), overwrite=False, key=key)
    assert not (tmp_path / "new").exists()
    assert {path: path.read_bytes() for path in settings.data.rglob("*") if path.is_file()} == before
    collector = CollectorService.open(settings)
    assert collector.tokens.scopes_of(token) is None
    collector.close()


def test_every_member_of_a_backup_is_signed(tmp_path: Path) -> None:
    settings, out = Settings(tmp_path / "data"), tmp_path / "b.tar"
    fill(settings, "one")
    _, key = make_backup(settings, out, with_keys=True)
    good = out.read_bytes()
    name = next(path.name for path in key_files(settings.data) if path.name.startswith("signing"))
    for change in (
        {f"keys/{name}": b"00" * 32 + b"\n"},
        {"keys/signing-0123456789abcdef.key": b"00" * 32 + b"\n"},
        {"keys/campaign-two.opt-in.key": b"00" * 32 + b"\n"},
    ):
        out.write_bytes(good)
        rewritten(out, change)
        with pytest.raises(ValueError, match="changed after it was signed"):
            restore_backup(out, Settings(tmp_path / "new"), overwrite=False, key=key)
    assert not (tmp_path / "new").exists()
    out.write_bytes(good)
    restore_backup(out, Settings(tmp_path / "new"), overwrite=False, key=key)


def test_the_archive_is_not_read_again_after_it_was_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that is exchanged between the look at it and its copy is refused as well."""
    settings, out = Settings(tmp_path / "data"), tmp_path / "b.tar"
    fill(settings, "one")
    _, key = make_backup(settings, out, with_keys=False)
    offset, wrong = out.read_bytes().index(b"SQLite format 3"), b"SQLite format 4"

    def exchange(folder: Path) -> None:
        make_private(folder)
        with out.open("r+b") as file:
            file.seek(offset)
            file.write(wrong)

    monkeypatch.setattr(backup_module, "make_private", exchange)
    with pytest.raises(ValueError, match="changed after it was signed"):
        restore_backup(out, Settings(tmp_path / "new"), overwrite=False, key=key)
    assert list((tmp_path / "new").iterdir()) == []


def test_backups_made_at_the_same_time_have_one_key(tmp_path: Path) -> None:
    files = PrivateFiles(tmp_path / "keys")
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(lambda _: files.ensure(BACKUP_KEY), range(32)))
    assert len(keys) == 1
    assert [path.name for path in (tmp_path / "keys").iterdir()] == [BACKUP_KEY]
