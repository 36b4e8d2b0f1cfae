"""A device's memory: one SQLite file that only its owner can read, in which every step is whole or did not happen."""

from __future__ import annotations

import datetime
import json
import os
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blendp.client.collector import Campaign, Offer
from blendp.client.consent import Consent
from blendp.client.ledger import Ledger, LedgerEntry, days_passed
from blendp.client.refusals import EquivocationError, RefusedError
from blendp.client.schema import bring_up
from blendp.errors import ParameterError
from blendp.privacy import Budget
from blendp.wire import Envelope, Terms, VerifyKey
from blendp.wire.keys import Trust
from blendp.wire.text_forms import require_day

FILE = "device.sqlite"
SECRET_BYTES = 32

_ITEM = "id, campaign, kind, method, url, media_type, body, created, due, attempts, state, reason, tried, overdue"
_ENTRY = "campaign, party, epsilon, delta, day, counted"
_PARTICIPATION = "campaign, party, day, server, report_id, question, data, token"
_REMEDY = "Name a folder for this device alone."


@dataclass(frozen=True)
class Server:
    """A collector that was visited."""

    url: str
    trust: Trust
    witnesses: tuple[str, ...]


@dataclass(frozen=True)
class Participation:
    """What this device did in a campaign, once and for all.

    where:
        group      is client or opt-in,
        report_id  is None for opt-in people, and for a device that was not drawn and keeps silent,
        question   is the number of the question that the report is about (:data:`blendp.wire.reports.QUESTIONS`),
        data       is the randomised report.
    """

    campaign: str
    group: str
    day: str
    server: str
    report_id: bytes | None = None
    question: int | None = None
    data: bytes | None = None
    token: str | None = field(default=None, repr=False)

    @property
    def silent(self) -> bool:
        """Whether this device was not drawn, and sends nothing."""
        return self.group == "client" and self.report_id is None


@dataclass(frozen=True)
class Item:
    """Something to be sent, or that was, and its fate.

    where:
        kind    is report, opt-in, deletion or opt-in-deletion,
        body    is exactly what is sent; of opt-in records it is wiped once it is no longer needed,
        state   is waiting, sent, refused or dropped,
        reason  is what the collector answered, or why it was dropped,
        tried   is when it was tried last, or queued: if the clock shows less, it was set back, and no wait counts,
        overdue is when it was first found too old; None while it is not.
    """

    id: int
    campaign: str
    kind: str
    method: str
    url: str
    media_type: str | None
    body: bytes | None = field(repr=False)
    created: float
    due: float
    attempts: int
    state: str
    reason: str
    tried: float
    overdue: float | None = None


class DeviceStore:
    """Reads and writes; knows no network, no clock and no chance but the install secret's."""

    def __init__(self, folder: Path, cap: Budget, yearly: Budget, entropy: Callable[[int], bytes] = os.urandom) -> None:
        """Open the memory in this folder; a new one has these caps, and consent off."""
        _own(folder)
        path = folder / FILE
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600))
        path.chmod(0o600)
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=30.0)
        try:
            self._prepare(folder, cap, yearly, entropy)
        except BaseException:
            self.close()
            raise

    def _prepare(self, folder: Path, cap: Budget, yearly: Budget, entropy: Callable[[int], bytes]) -> None:
        """Bring the tables up to date; a new memory gets its secret and its caps."""
        self._run("PRAGMA synchronous = FULL")
        self._run("PRAGMA secure_delete = ON")
        with self.whole():
            if bring_up(self._connection, folder):
                caps = (cap.epsilon, cap.delta, yearly.epsilon, yearly.delta)
                first = (entropy(SECRET_BYTES), Consent.OFF.value, *caps)
                columns = "secret, consent, epsilon, delta, year_epsilon, year_delta, counted"
                self._run(f"INSERT INTO device ({columns}) VALUES (?, ?, ?, ?, ?, ?, 0)", first)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _run(self, sql: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        return self._connection.execute(sql, tuple(values))

    def _one(self, sql: str, values: Iterable[Any] = ()) -> Any:
        return self._run(sql, values).fetchone()

    @contextmanager
    def whole(self) -> Iterator[None]:
        """All that is written inside becomes true in one step, or not at all."""
        if self._connection.in_transaction:
            yield
            return
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._run("ROLLBACK")
            raise

    @property
    def secret(self) -> bytes:
        """The install secret, which never leaves the device."""
        return bytes(self._one("SELECT secret FROM device")[0])

    @property
    def consent(self) -> Consent:
        """What the person agreed to."""
        return Consent(self._one("SELECT consent FROM device")[0])

    def set_consent(self, consent: Consent) -> None:
        """Write down what the person agrees to."""
        self._run("UPDATE device SET consent = ?", (consent.value,))

    @property
    def ledger(self) -> Ledger:
        """What was spent, and the caps."""
        row = self._one("SELECT epsilon, delta, year_epsilon, year_delta, counted FROM device")
        rows = self._run(f"SELECT {_ENTRY} FROM ledger ORDER BY rowid").fetchall()
        entries = tuple(LedgerEntry(one[0], one[1], Budget(one[2], one[3]), one[4], one[5]) for one in rows)
        return Ledger(Budget(row[0], row[1]), entries, Budget(row[2], row[3]), row[4])

    def count_days(self, today: datetime.date) -> int:
        """Count the days that have passed since the latest that was ever seen; how many there were in all."""
        with self.whole():
            last, counted = self._one("SELECT last_day, counted FROM device")
            seen = None if last is None else require_day("last_day", last)
            if seen is None or seen < today:
                counted += days_passed(seen, today)
                self._run("UPDATE device SET last_day = ?, counted = ?", (today.isoformat(), counted))
        return int(counted)

    def set_caps(self, cap: Budget | None, yearly: Budget | None) -> None:
        """Write down lower caps."""
        with self.whole():
            lower = self.ledger.lowered(cap, yearly)
            caps = (lower.cap.epsilon, lower.cap.delta, lower.yearly.epsilon, lower.yearly.delta)
            self._run("UPDATE device SET epsilon = ?, delta = ?, year_epsilon = ?, year_delta = ?", caps)

    def spend(self, entry: LedgerEntry) -> None:
        """Write down a participation's cost; raises if a cap does not allow it."""
        with self.whole():
            self.ledger.spending(entry)
            row = (entry.campaign, entry.group, entry.budget.epsilon, entry.budget.delta, entry.day, entry.counted)
            self._run(f"INSERT INTO ledger ({_ENTRY}) VALUES (?, ?, ?, ?, ?, ?)", row)

    def server(self, url: str | None = None) -> Server | None:
        """A collector that was visited: this one, or the last."""
        where = "" if url is None else "WHERE url = ?"
        values = () if url is None else (url,)
        row = self._one(f"SELECT url, keys, witnesses FROM servers {where} ORDER BY visit DESC LIMIT 1", values)
        if row is None:
            return None
        keys = [
            (VerifyKey.of_text(key), None if until is None else require_day("until", until))
            for key, until in json.loads(row[1])
        ]
        return Server(row[0], Trust(tuple(keys)), tuple(json.loads(row[2])))

    def server_of(self, campaign: str) -> str | None:
        """The collector at which a campaign was seen."""
        row = self._one("SELECT server FROM campaigns WHERE campaign = ?", (campaign,))
        return None if row is None else str(row[0])

    def remember(self, seen: Offer, witnesses: tuple[str, ...]) -> None:
        """Keep a verified campaign; raises :class:`EquivocationError` if another was seen under this name."""
        campaign, manifest, head_list = seen.terms.campaign, None, None
        if isinstance(seen, Campaign):
            manifest, head_list = seen.manifest_envelope, seen.head_list.to_bytes()
        with self.whole():
            row = self._one("SELECT server, terms, manifest FROM campaigns WHERE campaign = ?", (campaign,))
            if row is not None:
                _require_same(seen, "terms", (row[0], row[1]), (seen.server, seen.terms_envelope))
                if row[2] is not None and manifest is not None:
                    _require_same(seen, "manifest", (row[0], row[2]), (seen.server, manifest))
            keys = [(key.text, None if until is None else until.isoformat()) for key, until in seen.trust.keys]
            self._run(
                "INSERT OR REPLACE INTO servers (url, keys, witnesses, visit) "
                "SELECT ?, ?, ?, 1 + coalesce(max(visit), 0) FROM servers",
                (seen.server, json.dumps(keys), json.dumps(witnesses)),
            )
            self._run(
                "INSERT INTO campaigns (campaign, server, terms, manifest, list) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (campaign) DO UPDATE SET "
                "manifest = coalesce(manifest, excluded.manifest), list = coalesce(list, excluded.list)",
                (campaign, seen.server, seen.terms_envelope, manifest, head_list),
            )

    def terms(self, campaign: str) -> Terms | None:
        """The terms of a campaign, as they were verified."""
        row = self._one("SELECT terms FROM campaigns WHERE campaign = ?", (campaign,))
        return None if row is None else Terms.from_bytes(Envelope.from_bytes(row[0]).payload)

    def documents(self, campaign: str) -> tuple[bytes, bytes] | None:
        """The manifest's bytes and the list's, as they were verified."""
        row = self._one("SELECT manifest, list FROM campaigns WHERE campaign = ?", (campaign,))
        return None if row is None or row[0] is None else (Envelope.from_bytes(row[0]).payload, row[1])

    def accuse(self, error: EquivocationError) -> None:
        """Keep the proof that a collector signed two different documents."""
        with self.whole():
            for source, envelope in error.envelopes:
                self._run(
                    "INSERT INTO evidence (campaign, what, source, envelope) VALUES (?, ?, ?, ?)",
                    (error.campaign, error.what, source, envelope),
                )

    def evidence(self, campaign: str) -> tuple[tuple[str, bytes], ...]:
        """Where the contradicting envelopes of a campaign came from, and what they are."""
        rows = self._run("SELECT source, envelope FROM evidence WHERE campaign = ? ORDER BY rowid", (campaign,))
        return tuple((row[0], bytes(row[1])) for row in rows.fetchall())

    def participation(self, campaign: str) -> Participation | None:
        """What this device did in a campaign."""
        row = self._one(f"SELECT {_PARTICIPATION} FROM participations WHERE campaign = ?", (campaign,))
        return None if row is None else Participation(*row)

    def participations(self) -> tuple[Participation, ...]:
        """All that this device took part in."""
        rows = self._run(f"SELECT {_PARTICIPATION} FROM participations ORDER BY rowid").fetchall()
        return tuple(Participation(*row) for row in rows)

    def add_participation(self, done: Participation) -> None:
        """Write down what this device did."""
        row = (done.campaign, done.group, done.day, done.server, done.report_id, done.question, done.data, done.token)
        self._run(f"INSERT INTO participations ({_PARTICIPATION}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def wipe_token(self, campaign: str) -> None:
        """Forget an enrolment token that is no longer needed."""
        self._run("UPDATE participations SET token = NULL WHERE campaign = ?", (campaign,))

    def add_item(self, item: Item) -> None:
        """Queue something; its id is given by the queue."""
        row = (item.campaign, item.kind, item.method, item.url, item.media_type, item.body, item.created, item.due)
        columns = "campaign, kind, method, url, media_type, body, created, due, tried, attempts, state, reason"
        self._run(
            f"INSERT INTO queue ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 'waiting', '')", (*row, item.tried)
        )

    def items(self) -> tuple[Item, ...]:
        """All that is, or was, in the queue."""
        return tuple(Item(*row) for row in self._run(f"SELECT {_ITEM} FROM queue ORDER BY id").fetchall())

    def attempt(self, item: Item, now: float, due: float) -> bool:
        """Write down that an item is about to be sent; False if another process was faster or it is no longer due."""
        return bool(
            self._run(
                "UPDATE queue SET attempts = attempts + 1, due = ?, tried = ? "
                "WHERE id = ? AND state = 'waiting' AND (due <= ? OR tried > ?)",
                (due, now, item.id, now, now),
            ).rowcount
        )

    def set_overdue(self, item: Item, moment: float | None) -> None:
        """Write down when an item was first found too old, or that it is not."""
        self._run("UPDATE queue SET overdue = ? WHERE id = ?", (moment, item.id))

    def postpone(self, item: Item, due: float | None, reason: str) -> None:
        """Write down why an item still waits, and when to try again if that is not what was written before."""
        self._run(
            "UPDATE queue SET due = coalesce(?, due), reason = ? WHERE id = ? AND state = 'waiting'",
            (due, reason, item.id),
        )

    def settle(self, item: Item, state: str, reason: str) -> None:
        """Write down an item's fate; opt-in records and used tokens are wiped."""
        with self.whole():
            self._run("UPDATE queue SET state = ?, reason = ? WHERE id = ?", (state, reason, item.id))
            if item.kind == "opt-in":
                self._run("UPDATE queue SET body = NULL WHERE id = ?", (item.id,))
            if item.kind == "opt-in-deletion" and state == "sent":
                self.wipe_token(item.campaign)


def _own(folder: Path) -> None:
    """Make a folder that only its owner can enter; refuses one that holds other things."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not folder.is_dir() or any(not path.name.startswith(FILE) for path in folder.iterdir()):
        raise ParameterError("device", str(folder), "a folder that holds nothing else", _REMEDY)
    if stat.S_IMODE(folder.stat().st_mode) != 0o700:
        folder.chmod(0o700)


def _require_same(seen: Offer, what: str, before: tuple[str, bytes], now: tuple[str, bytes]) -> None:
    """Raise unless two envelopes hold the same document; who signed may differ, for keys rotate.

    Only the collector that signed both is accused: what another one serves under this name proves nothing about it.
    """
    old, new = (Envelope.from_bytes(envelope) for _, envelope in (before, now))
    if old.payload == new.payload:
        return
    campaign = seen.terms.campaign
    if before[0] != now[0]:
        raise RefusedError("terms", f"{before[0]} runs another campaign {campaign}: this device keeps to that one.")
    raise EquivocationError(campaign, what, (before, now))
