"""The tables of a device's memory, and the way to them from every earlier version.

Versions count up from 1. A step is never changed once it has been released: what comes next is another step.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from blendp.errors import ParameterError

APPLICATION = int.from_bytes(b"blDv", "big")
"""Marks the file as a device's memory (``PRAGMA application_id``)."""

_FIRST = """
CREATE TABLE device (
    secret BLOB NOT NULL, consent TEXT NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL,
    year_epsilon REAL NOT NULL, year_delta REAL NOT NULL, last_day TEXT, counted INTEGER NOT NULL
);
CREATE TABLE servers (url TEXT PRIMARY KEY, keys TEXT NOT NULL, witnesses TEXT NOT NULL, visit INTEGER NOT NULL);
CREATE TABLE campaigns (
    campaign TEXT PRIMARY KEY, server TEXT NOT NULL, terms BLOB NOT NULL, manifest BLOB, list BLOB
);
CREATE TABLE evidence (campaign TEXT NOT NULL, what TEXT NOT NULL, source TEXT NOT NULL, envelope BLOB NOT NULL);
CREATE TABLE ledger (campaign TEXT PRIMARY KEY, party TEXT NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL,
    day TEXT NOT NULL, counted INTEGER NOT NULL);
CREATE TABLE participations (campaign TEXT PRIMARY KEY, party TEXT NOT NULL, day TEXT NOT NULL, server TEXT NOT NULL,
    report_id BLOB, question INTEGER, data BLOB, token TEXT);
CREATE TABLE queue (
    id INTEGER PRIMARY KEY AUTOINCREMENT, campaign TEXT NOT NULL, kind TEXT NOT NULL, method TEXT NOT NULL,
    url TEXT NOT NULL, media_type TEXT, body BLOB, created REAL NOT NULL, due REAL NOT NULL, attempts INTEGER NOT NULL,
    state TEXT NOT NULL, reason TEXT NOT NULL, tried REAL NOT NULL, overdue REAL
)
"""

STEPS: tuple[str, ...] = (_FIRST,)
"""Step i leads from version i to version i + 1: statements, each but the last ended by a semicolon and a new line."""


def bring_up(connection: sqlite3.Connection, folder: Path) -> bool:
    """Bring the tables to the latest version, inside the transaction that is open; whether there were none before.

    Refuses a file that a later version of blendp has written, or that is no device's memory, and leaves it as it is.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,)
    if tables or (application, version) != (0, 0):
        _require_known(folder, application, version)
    for step in STEPS[version:]:
        for statement in step.split(";\n"):
            connection.execute(statement)
    if version < len(STEPS):
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(STEPS)}")
    return bool(version == 0)


def _require_known(folder: Path, application: int, version: int) -> None:
    if application != APPLICATION:
        remedy = "A program other than blendp, or blendp before its first release, has written it: name another."
        raise ParameterError("device", str(folder), "the folder of a device", remedy)
    if version > len(STEPS):
        legal = f"of version {len(STEPS)} at most, not {version}"
        raise ParameterError("device", str(folder), legal, "A later version of blendp has written it: update blendp.")
