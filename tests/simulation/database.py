"""What a collector's database holds, read past the collector."""

from __future__ import annotations

import datetime
import itertools
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import psycopg
from argon2 import PasswordHasher

from blendp.service import tokens
from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
from blendp.wire.envelope import VerifyKey
from tests.service.postgres import Postgres

FIRST_DAY = datetime.date(2026, 11, 2)
_QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""For the one token of all databases, which every process that is started again has to verify."""


@dataclass(frozen=True)
class Rows:
    """What is held of one campaign: state, reports by id, enrolments by token, documents, how many were accepted."""

    state: str
    reports: dict[bytes, tuple[bytes, int, bytes | None]]
    """The keyed pseudonym, the question, and the data unless it was deleted."""
    enrolments: dict[bytes, tuple[str, bool]]
    documents: frozenset[str]
    accepted: int


class Databases:
    """Makes databases, each a copy of one with the schema, a signing key and an operator's token."""

    def __init__(self, folder: Path, postgres: Postgres | None) -> None:
        self.postgres = postgres
        self._folder = folder
        self._numbers = itertools.count()
        self._template = folder / "template"
        self._prefix = f"sim-{folder.name}"
        if postgres is not None:
            self._admin(f'CREATE DATABASE "{self._prefix}"')
        url = None if postgres is None else postgres.url(self._prefix)
        collector = CollectorService.open(Settings(self._template, database=url), lambda: FIRST_DAY)
        with patch.object(tokens, "_hasher", _QUICK):
            self.token = collector.tokens.create("operator")
        self.first_key = VerifyKey.of_text(collector.keys.known()[0].public)
        collector.close()
        if url is not None:
            _log_sequences(url)

    def new(self) -> tuple[Path, str | None]:
        """A fresh folder, and the address of a database if it is not in there."""
        number = next(self._numbers)
        folder = self._folder / str(number)
        folder.mkdir()
        shutil.copytree(self._template, folder / "data")
        if self.postgres is None:
            return folder, None
        name = f"{self._prefix}-{number}"
        self._admin(f'CREATE DATABASE "{name}" TEMPLATE "{self._prefix}"')
        return folder, self.postgres.url(name)

    def drop(self, database: str | None) -> None:
        """Make space: a server starts faster after a crash if it has less."""
        if database is not None:
            name = urlsplit(database).path[1:]
            self._admin(f'DROP DATABASE "{name}" WITH (FORCE)')

    def _admin(self, statement: str) -> None:
        assert self.postgres
        with psycopg.connect(self.postgres.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())


def _log_sequences(database: str) -> None:
    """Have sequences log their next number: PostgreSQL logs 32 ahead, which a copy of the database does not know, so
    that its numbers would come back after a crash."""
    with psycopg.connect(database) as connection:
        for (name,) in connection.execute("SELECT sequencename FROM pg_sequences").fetchall():
            connection.execute(
                f"SELECT setval('{name}', (SELECT last_value FROM {name}), (SELECT is_called FROM {name}))".encode()
            )


def read(data: Path, database: str | None, statement: str) -> list[tuple[Any, ...]]:
    """Rows of a query."""
    if database is not None:
        with psycopg.connect(database) as connection:
            return connection.execute(statement.encode()).fetchall()
    with closing(sqlite3.connect(data / "collector.db", timeout=10)) as connection:
        return connection.execute(statement).fetchall()


def rows_of(data: Path, database: str | None, name: str) -> Rows | None:
    """What is held of this campaign; None if it is unknown."""
    opener: Any = psycopg.connect(database) if database else sqlite3.connect(data / "collector.db", timeout=10)
    with closing(opener) as connection:
        if not database:
            connection.execute("BEGIN")
        cursor = connection.cursor()
        mark = "%s" if database else "?"
        row = cursor.execute(f"SELECT number, state FROM campaign WHERE name = {mark}", (name,)).fetchone()
        if row is None:
            return None
        number, state = row

        def select(columns: str, table: str) -> list[tuple[Any, ...]]:
            query = f"SELECT {columns} FROM {table} WHERE campaign = {mark}"
            return list(cursor.execute(query, (number,)).fetchall())

        reports = select("report_id, pseudonym, question, data", "report")
        enrolments = select("token, state, sealed IS NOT NULL", "enrolment")
        return Rows(
            state,
            {bytes(row[0]): (bytes(row[1]), row[2], None if row[3] is None else bytes(row[3])) for row in reports},
            {bytes(row[0]): (row[1], bool(row[2])) for row in enrolments},
            frozenset(row[0] for row in select("kind", "document")),
            sum(count for outcome, count in select("outcome, count", "intake") if outcome == "accepted"),
        )
