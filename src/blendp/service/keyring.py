"""The collector's signing keys: one at a time, the one before still good for a while."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from blendp.errors import require_count
from blendp.service.audit import ITSELF, Trail
from blendp.service.clock import Clock, reading
from blendp.service.journal import tell_failure
from blendp.service.private_files import PrivateFiles
from blendp.service.refusal import Refused
from blendp.service.store.schema import signing_key
from blendp.service.store.store import Store
from blendp.wire.envelope import MAX_SIGNATURES, Envelope, Signature, SigningKey
from blendp.wire.keys import KeyStatement
from blendp.wire.text_forms import require_day

OVERLAP_DAYS = 30
DESTROYED_AFTER_DAYS = 7
"""How long the private part of a key that had its day is kept: a clock that ran fast can be set right till then."""


@dataclass(frozen=True)
class KnownKey:
    """What everybody may know of a signing key."""

    id: str
    public: str
    since: str
    until: str | None
    statement: Envelope | None


@dataclass(frozen=True)
class KeyRing:
    """The keys: public parts in the store, private parts in files."""

    store: Store
    files: PrivateFiles
    clock: Clock

    def ensure(self) -> None:
        """Make the first key, if there is none; raises if the private part of the newest is missing."""
        with self.store.writing() as connection:
            self.store.hold_keys(connection, shared=False)
            if not self._rows(connection):
                key = SigningKey.new()
                self._keep(key)
                connection.execute(
                    signing_key.insert().values(
                        id=key.public.id, number=1, public=key.public.text, since=self._today.isoformat()
                    )
                )
        self._private(self.known()[-1])

    def destroy_old(self) -> None:
        """Destroy private keys that had their day a while ago; none while it is in doubt which day it is."""
        now = reading(self.clock)
        if not now.sure:
            return
        for known in self.known():
            if _is_spent(known, now.day) and _file(known.id) in self.files.names():
                try:
                    self.files.destroy(_file(known.id))
                except OSError as error:
                    tell_failure("a key could not be destroyed", error, key=known.id)
                Trail(self.store).note_now(ITSELF, "destroy-key", detail=f"{known.id}, good until {known.until}")

    def good(self, connection: Connection) -> list[str]:
        """The ids of the keys that are good today."""
        return [known.id for known in self._rows(connection) if self._good(known)]

    def known(self) -> list[KnownKey]:
        """All keys there ever were, the newest last."""
        with self.store.reading() as connection:
            return self._rows(connection)

    def sign(self, connection: Connection, media_type: str, payload: bytes) -> list[Signature]:
        """The signatures of the newest key, and of those before it that are good today and at hand."""
        self.store.hold_keys(connection, shared=True)
        *older, newest = self._rows(connection)
        keys = [key for known in older if self._good(known) and (key := self._held(known)) is not None]
        return [key.sign(media_type, payload) for key in (*keys, self._private(newest))]

    def rotate(self, connection: Connection, overlap_days: int = OVERLAP_DAYS) -> tuple[KnownKey, SigningKey]:
        """A new key, vouched for by the newest, which stays good for so many days."""
        require_count("overlap_days", overlap_days, min_value=0, remedy=f"{OVERLAP_DAYS} is usual.")
        self.store.hold_keys(connection, shared=False)
        keys = self._rows(connection)
        if len(self.good(connection)) >= MAX_SIGNATURES:
            raise Refused(
                "wrong-state", f"{MAX_SIGNATURES} keys are good at the moment: wait until some had their day."
            )
        newest, old, new = keys[-1], self._private(keys[-1]), SigningKey.new()
        since = self._today.isoformat()
        until = (self._today + datetime.timedelta(days=overlap_days)).isoformat()
        statement = KeyStatement(new.public.text, since, newest.id, until).sealed(old, new)
        self._keep(new)
        connection.execute(signing_key.update().where(signing_key.c.id == newest.id).values(until=until))
        row = {"id": new.public.id, "number": len(keys) + 1, "public": new.public.text, "since": since}
        connection.execute(signing_key.insert().values(**row, statement=statement.to_bytes()))
        return KnownKey(new.public.id, new.public.text, since, None, statement), new

    @property
    def _today(self) -> datetime.date:
        return self.clock()

    def _good(self, known: KnownKey) -> bool:
        return known.until is None or self._today <= require_day("until", known.until)

    def _keep(self, key: SigningKey) -> None:
        self.files.keep(_file(key.public.id), key.raw)

    def _held(self, known: KnownKey) -> SigningKey | None:
        raw = self.files.get(_file(known.id))
        return None if raw is None else SigningKey.of_raw(raw)

    def _private(self, known: KnownKey) -> SigningKey:
        key = self._held(known)
        if key is None:
            sentence = f"The private part of signing key {known.id} is missing: put the keys folder back."
            raise Refused("internal", sentence)
        return key

    def _rows(self, connection: Connection) -> list[KnownKey]:
        rows = connection.execute(sa.select(signing_key).order_by(signing_key.c.number)).all()
        return [
            KnownKey(
                row.id,
                row.public,
                row.since,
                row.until,
                None if row.statement is None else Envelope.from_bytes(bytes(row.statement)),
            )
            for row in rows
        ]


def _is_spent(known: KnownKey, today: datetime.date) -> bool:
    """Whether a key had its day, and is kept for a clock's sake no longer."""
    if known.until is None:
        return False
    return today > require_day("until", known.until) + datetime.timedelta(days=DESTROYED_AFTER_DAYS)


def _file(key: str) -> str:
    return f"signing-{key}.key"
