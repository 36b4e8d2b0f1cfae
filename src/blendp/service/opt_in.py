"""Opt-in people: one-time tokens, and their records, encrypted until the list is made and gone afterwards."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import pyarrow as pa
import sqlalchemy as sa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy.engine import Connection

from blendp.engines import EmbeddedLog
from blendp.errors import ParameterError, require_count
from blendp.headlist.head_list import Record
from blendp.logs import Columns, log_of_table
from blendp.service.audit import LOCAL, Actor, Trail
from blendp.service.campaigns import FoundCampaign, being_made, find, opt_in_key, terms_of
from blendp.service.clock import Clock, past
from blendp.service.private_files import PrivateFiles
from blendp.service.refusal import Refused
from blendp.service.store.schema import enrolment, opt_in_intake
from blendp.service.store.store import Store
from blendp.service.tokens import enrolment_hash, new_enrolment_token
from blendp.texts import MAX_TEXT_BYTES, is_usable
from blendp.wire.campaign import Terms
from blendp.wire.enrolments import MAX_ENROLMENTS
from blendp.wire.opt_in import OptInRecords
from blendp.wire.reports import ACCEPTED, DUPLICATE
from blendp.wire.text_forms import require_day

_SEAL_NONCE_BYTES = 12
_PAD_BYTES = 256
"""Records are padded to a multiple of this, so that their length tells little."""


_COUNT_DAY = sa.text("""
    INSERT INTO opt_in_intake (campaign, day, count) VALUES (:campaign, :day, 1)
    ON CONFLICT (campaign, day) DO UPDATE SET count = opt_in_intake.count + 1
""")

_records_decoder = msgspec.json.Decoder(list[tuple[str, str | None]])


@dataclass(frozen=True)
class OptIn:
    """The opt-in side of all campaigns."""

    store: Store
    files: PrivateFiles
    clock: Clock

    def enrol(self, name: str, count: int, by: Actor = LOCAL) -> list[str]:
        """New tokens for so many people, told this once."""
        require_count("count", count, min_value=1, remedy="One token lets one person opt in.")
        if count > MAX_ENROLMENTS:
            raise ParameterError("count", count, f"at most {MAX_ENROLMENTS}", "Ask several times.")
        tokens = [new_enrolment_token() for _ in range(count)]
        with self.store.writing() as connection:
            current = self._open(connection, name)
            rows = [{"campaign": current.number, "token": enrolment_hash(token), "state": "unused"} for token in tokens]
            connection.execute(enrolment.insert(), rows)
            Trail(self.store).note(connection, by, "enrol", name, detail=f"{count} tokens")
        return tokens

    def receive(self, name: str, token: str, body: bytes) -> str:
        """Keep a person's records, encrypted; under the same nonce again is a duplicate, under another a conflict.

        What the records say decides neither: whoever knows a token must not be able to test guesses of them.
        """
        try:
            sent = OptInRecords.from_bytes(body)
            nonce = hashlib.sha256(sent.nonce_bytes).digest()
        except ParameterError as error:
            raise Refused("malformed", f"The body is not a set of records: {error}") from error
        with self.store.writing() as connection:
            current, person = self._person(connection, name, token)
            if person.state == "deleted":
                raise Refused("deleted", "These records were deleted on request; the token is spent.")
            if person.state == "used":
                if hmac.compare_digest(bytes(person.nonce), nonce):
                    return DUPLICATE
                raise Refused("conflict", "This token was used before, under another nonce.")
            terms = terms_of(connection, current.number)
            records = _plain(sent, terms)
            self._require_open(current, terms)
            sealed = self._sealed(name, person.token, records)
            connection.execute(_this(current.number, person.token).values(state="used", sealed=sealed, nonce=nonce))
            connection.execute(_COUNT_DAY, {"campaign": current.number, "day": self.clock().isoformat()})
        return ACCEPTED

    def withdraw(self, name: str, token: str) -> bool:
        """Delete a person's records for good; the token is spent. False if none are held."""
        with self.store.writing() as connection:
            current, person = self._person(connection, name, token)
            deleted = person.sealed is not None
            if current.state == "listing":
                raise being_made(current)
            if current.state == "opt-in":
                connection.execute(_this(current.number, person.token).values(state="deleted", sealed=None, nonce=None))
        return deleted

    def people(self, connection: Connection, number: int) -> int:
        """How many people have sent their records and not withdrawn them."""
        return self.counts(connection, number).get("used", 0)

    def before_the_list(self, name: str) -> tuple[Terms, int]:
        """The terms, and how many people have opted in by now; refused where the list has been made."""
        with self.store.reading() as connection:
            current = find(connection, name)
            if current.state not in ("opt-in", "listing"):
                raise Refused("wrong-state", f"The campaign {name!r} is {current.state}: its list has been made.")
            return terms_of(connection, current.number), self.people(connection, current.number)

    @staticmethod
    def counts(connection: Connection, number: int) -> dict[str, int]:
        """How many tokens are in each state."""
        query = sa.select(enrolment.c.state, sa.func.count()).where(enrolment.c.campaign == number)
        return {row[0]: int(row[1]) for row in connection.execute(query.group_by(enrolment.c.state))}

    @staticmethod
    def by_day(connection: Connection, number: int) -> dict[str, int]:
        """How many people sent their records on each day; of who came when nothing is kept."""
        columns = opt_in_intake.c
        query = sa.select(columns.day, columns.count).where(columns.campaign == number).order_by(columns.day)
        return {day: int(count) for day, count in connection.execute(query)}

    def gathered(self, connection: Connection, current: FoundCampaign) -> list[list[Record]]:
        """Everybody's records, in an order that says nothing of who came when and is the same for the same records."""
        query = sa.select(enrolment).where(enrolment.c.campaign == current.number, enrolment.c.sealed.is_not(None))
        return in_order(self._unsealed(current.name, row) for row in connection.execute(query))

    def noise_key(self, name: str) -> bytes:
        """The secret that the noise of a campaign's list is derived from: destroyed with the records."""
        return self._key(name)

    def _open(self, connection: Connection, name: str) -> FoundCampaign:
        current = find(connection, name, self.store)
        self._require_open(current, terms_of(connection, current.number))
        return current

    def _require_open(self, current: FoundCampaign, terms: Terms) -> None:
        if current.state == "listing":
            raise being_made(current)
        if current.state != "opt-in" or past(self.clock, require_day("opt_in_until", terms.opt_in_until)):
            raise Refused("late", f"The campaign {current.name!r} takes no more opt-in records.")
        if not past(self.clock, require_day("opens", terms.opens) - datetime.timedelta(days=1)):
            raise Refused("wrong-state", f"The campaign {current.name!r} opens on {terms.opens}.")

    def _person(
        self, connection: Connection, name: str, token: str
    ) -> tuple[FoundCampaign, sa.Row[tuple[object, ...]]]:
        """The campaign and the enrolment that this token is for; held for this transaction."""
        current = find(connection, name, self.store)
        query = sa.select(enrolment).where(
            enrolment.c.campaign == current.number, enrolment.c.token == (enrolment_hash(token) or b"")
        )
        person = connection.execute(query).one_or_none()
        if person is None:
            raise Refused("unauthorised", "This is no enrolment token of the campaign.")
        return current, person

    def _sealed(self, name: str, token: bytes, records: list[Record]) -> bytes:
        nonce = secrets.token_bytes(_SEAL_NONCE_BYTES)
        plain = msgspec.json.encode(records)
        padded = plain.ljust(-(-len(plain) // _PAD_BYTES) * _PAD_BYTES)
        return nonce + AESGCM(self._key(name)).encrypt(nonce, padded, bytes(token))

    def _unsealed(self, name: str, person: sa.Row[tuple[object, ...]]) -> list[Record]:
        sealed = bytes(person.sealed)
        plain = AESGCM(self._key(name)).decrypt(
            sealed[:_SEAL_NONCE_BYTES], sealed[_SEAL_NONCE_BYTES:], bytes(person.token)
        )
        return _records_decoder.decode(plain)

    def is_readable(self, name: str) -> bool:
        """Whether the key of a campaign's records is there."""
        return self.files.get(opt_in_key(name)) is not None

    def _key(self, name: str) -> bytes:
        key = self.files.get(opt_in_key(name))
        if key is None:
            raise Refused(
                "wrong-state",
                f"The key of the opt-in records of {name!r} is missing: it is destroyed when their list is made; if "
                f"that was not done, put the keys folder back.",
            )
        return key


def in_order(people: Iterable[list[Record]]) -> list[list[Record]]:
    """Everybody's records, sorted, and the people by what they sent."""
    return sorted((sorted(records, key=_bytes_of) for records in people), key=msgspec.json.encode)


def _bytes_of(record: Record) -> bytes:
    return msgspec.json.encode(record)


def bytes_of_people(people: list[list[Record]]) -> bytes:
    """What everybody sent, in one spelling."""
    return msgspec.json.encode(people)


def log_of_people(people: list[list[Record]], terms: Terms) -> EmbeddedLog:
    """All records as a log, which the library's methods draw from; people are named by their place."""
    columns: dict[str, list[str | None]] = {"user": [], "query": [], "url": []}
    for number, records in enumerate(people):
        for text, url in records or [("", None)]:
            columns["user"].append(f"{number:08x}")
            columns["query"].append(text)
            columns["url"].append(url)
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    return log_of_table(table, columns=Columns(levels=terms.levels), normalise=terms.normalise, max_broken=1.0)


def _this(number: int, token: bytes) -> sa.Update:
    return enrolment.update().where(enrolment.c.campaign == number, enrolment.c.token == token)


def _plain(sent: OptInRecords, terms: Terms) -> list[Record]:
    """The records, if they keep to the terms."""
    if sent.terms != terms.sha256:
        raise Refused("wrong-list", f"These records are bound to other terms than {terms.sha256}: look at them again.")
    if len(sent.records) > terms.opt_in_records:
        raise Refused("over-quota", f"At most {terms.opt_in_records} records of a person are taken: send fewer.")
    for record in sent.records:
        if (record.url is not None) != (terms.levels == 2):
            rule = "need a URL each" if terms.levels == 2 else "have no URL"
            raise Refused("malformed", f"Records of this campaign {rule}.")
        if not all(is_usable(text) for text in (record.query, record.url or "")):
            raise Refused("malformed", f"A text has more than {MAX_TEXT_BYTES} bytes, or a NUL character.")
    return [(record.query, record.url) for record in sent.records]
