"""The audit trail: which operator did what and when. Of people who take part it tells nothing.

An act is noted in the transaction that does it, so that neither is there without the other; acts that were refused,
and those that are no transaction of the database, are noted right after. Rows are added, never changed or deleted: the
trail of a campaign outlives it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from blendp.errors import ParameterError
from blendp.service.clock import utc_second
from blendp.service.refusal import Refused
from blendp.service.store.schema import audit, operator_token
from blendp.service.store.schema import campaign as campaign_table
from blendp.service.store.store import Store
from blendp.wire.audit import AuditEntry

DONE, REFUSED = "done", "refused"
MAX_ENTRIES = 1000
"""Entries that are read at a time."""

_MAX_DETAIL = 300


@dataclass(frozen=True)
class Actor:
    """Who acts: the holder of a token, somebody on the collector's own machine, or the collector by itself."""

    kind: str
    token: str | None = None


@dataclass(frozen=True)
class AuditFilter:
    """Which entries to read; None wants all.

    where:
        campaign  they are about,
        act       they tell of,
        outcome   is done, refused for all others, or the last part of a problem type,
        token     is the id of the token that was shown,
        since     and ``until`` are days, both included,
        before    is the number of an entry: older ones alone.
    """

    campaign: str | None = None
    act: str | None = None
    outcome: str | None = None
    token: str | None = None
    since: datetime.date | None = None
    until: datetime.date | None = None
    before: int | None = None

    def narrowed(self, query: sa.Select[Any]) -> sa.Select[Any]:
        """The query for these entries alone."""
        columns = audit.c
        for column, value in ((columns.campaign, self.campaign), (columns.act, self.act), (columns.token, self.token)):
            if value is not None:
                query = query.where(column == value)
        if self.outcome is not None:
            refused = columns.outcome != DONE
            query = query.where(refused if self.outcome == REFUSED else columns.outcome == self.outcome)
        if self.since is not None:
            query = query.where(columns.time >= self.since.isoformat())
        if self.until is not None:
            query = query.where(columns.time < f"{self.until.isoformat()}U")  # times of a day go on with a T
        return query if self.before is None else query.where(columns.number < self.before)


ALL = AuditFilter()
LOCAL, ITSELF = Actor("local"), Actor("itself")


def holder_of(token: str) -> Actor:
    """Whoever holds the token of this id."""
    return Actor("token", token)


@dataclass(frozen=True)
class Trail:
    """The entries of a store."""

    store: Store
    now: Callable[[], str] = utc_second

    def note(
        self,
        connection: Connection,
        actor: Actor,
        act: str,
        campaign: str | None = None,
        *,
        outcome: str = DONE,
        detail: str = "",
    ) -> None:
        """Note an act in the transaction that does it."""
        whose = sa.select(operator_token.c.name).where(operator_token.c.id == (actor.token or ""))
        row = {"time": self.now(), "actor": actor.kind, "token": actor.token, "act": act, "campaign": campaign}
        name = connection.execute(whose).scalar_one_or_none()
        connection.execute(audit.insert().values(**row, name=name, outcome=outcome, detail=detail[:_MAX_DETAIL]))

    def note_now(
        self, actor: Actor, act: str, campaign: str | None = None, *, outcome: str = DONE, detail: str = ""
    ) -> None:
        """Note an act that is done."""
        with self.store.writing() as connection:
            self.note(connection, actor, act, campaign, outcome=outcome, detail=detail)

    @contextmanager
    def refusals(self, actor: Actor, act: str, campaign: str | None = None) -> Iterator[None]:
        """Note if the act is refused, and why; a store that is away keeps no note."""
        try:
            yield
        except Refused as refused:
            with suppress(Refused):
                self.note_now(actor, act, campaign, outcome=refused.problem.slug, detail=refused.detail)
            raise
        except ParameterError as error:
            with suppress(Refused):
                self.note_now(actor, act, campaign, outcome="invalid-parameter", detail=error.parameter)
            raise

    def entries(self, chosen: AuditFilter = ALL, max_entries: int = 100) -> list[AuditEntry]:
        """The latest entries of those that are chosen, the latest first."""
        if type(max_entries) is not int or not 1 <= max_entries <= MAX_ENTRIES:
            raise ParameterError(
                "max_entries", max_entries, f"from 1 to {MAX_ENTRIES}", "Ask for further pages with before."
            )
        query = chosen.narrowed(sa.select(audit).order_by(audit.c.number.desc()).limit(max_entries))
        with self.store.reading() as connection:
            if chosen.campaign is not None:
                _require_known(connection, chosen.campaign)
            return [AuditEntry(**row._mapping) for row in connection.execute(query)]


def _require_known(connection: Connection, name: str) -> None:
    known = sa.select(campaign_table.c.number).where(campaign_table.c.name == name)
    if connection.execute(known).one_or_none() is None:
        raise Refused("not-found", f"There is no campaign {name!r}, nor was there one.")


def latest(
    connection: Connection, campaign: str, act: str | None = None, actor: str | None = None
) -> AuditEntry | None:
    """The latest entry of a campaign: of one act that was done, or of one kind of actor, if they are given."""
    query = sa.select(audit).where(audit.c.campaign == campaign)
    if act is not None:
        query = query.where(audit.c.act == act, audit.c.outcome == DONE)
    if actor is not None:
        query = query.where(audit.c.actor == actor)
    row = connection.execute(query.order_by(audit.c.number.desc()).limit(1)).one_or_none()
    return None if row is None else AuditEntry(**row._mapping)
