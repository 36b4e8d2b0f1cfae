"""Tokens: operators' (scoped, revocable, hashed with Argon2) and opt-in people's (good once, in one campaign).

Both are 32 random bytes, so nobody guesses them; the store knows hashes alone.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from threading import Lock

import argon2
import sqlalchemy as sa

from blendp.errors import ParameterError
from blendp.service.audit import LOCAL, Trail
from blendp.service.clock import Clock
from blendp.service.store.schema import operator_token
from blendp.service.store.store import Store
from blendp.wire.install import ENROLMENT_TOKEN
from blendp.wire.tokens import SCOPES

_OPERATOR = re.compile(r"blendp-op-([0-9a-f]{12})-([0-9a-f]{64})")
_MAX_NAME = 100

_hasher = argon2.PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


@dataclass(frozen=True)
class OperatorToken:
    """What is known of an operator's token; never the token."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created: str
    revoked: str | None


@dataclass(frozen=True)
class OperatorTokens:
    """Who may operate the collector."""

    store: Store
    clock: Clock
    _proved: dict[str, bytes] = field(default_factory=dict, repr=False)
    _slow: Lock = field(default_factory=Lock, repr=False)

    def create(self, name: str, scopes: Collection[str] = SCOPES) -> str:
        """A new token, told this once."""
        if not 0 < len(name) <= _MAX_NAME or not name.isprintable():
            raise ParameterError("name", name, f"1 to {_MAX_NAME} printable characters", "Say whose token it is.")
        if not scopes or not set(scopes) <= set(SCOPES):
            raise ParameterError("scopes", sorted(scopes), "some of " + ", ".join(SCOPES), "Give at least one.")
        token_id, secret = secrets.token_hex(6), secrets.token_hex(32)
        row = {
            "id": token_id,
            "name": name,
            "scopes": " ".join(scope for scope in SCOPES if scope in scopes),
            "hash": _hasher.hash(secret),
            "created": self.clock().isoformat(),
        }
        with self.store.writing() as connection:
            connection.execute(operator_token.insert().values(**row))
            detail = f"{token_id} of {name!r}: {row['scopes']}"
            Trail(self.store).note(connection, LOCAL, "create-token", detail=detail)
        return f"blendp-op-{token_id}-{secret}"

    def revoke(self, token_id: str) -> bool:
        """Make a token worthless from now on; False if there is none of this id, or it was revoked before."""
        with self.store.writing() as connection:
            changed = connection.execute(
                operator_token.update()
                .where(operator_token.c.id == token_id, operator_token.c.revoked.is_(None))
                .values(revoked=self.clock().isoformat())
            )
            if changed.rowcount:
                Trail(self.store).note(connection, LOCAL, "revoke-token", detail=token_id)
            return changed.rowcount == 1

    def all(self) -> list[OperatorToken]:
        """Every token there ever was."""
        columns = operator_token.c
        query = sa.select(columns.id, columns.name, columns.scopes, columns.created, columns.revoked)
        with self.store.reading() as connection:
            rows = connection.execute(query.order_by(columns.created, columns.id)).all()
        return [OperatorToken(row.id, row.name, tuple(row.scopes.split()), row.created, row.revoked) for row in rows]

    def named(self, token_id: str) -> OperatorToken | None:
        """The token of this id."""
        return next((token for token in self.all() if token.id == token_id), None)

    def was_proved(self, token: str) -> bool:
        """Whether this process has proved this very token before; it may have been revoked since."""
        match = _OPERATOR.fullmatch(token)
        proved = None if match is None else self._proved.get(match[1])
        return proved is not None and hmac.compare_digest(proved, hashlib.sha256(token.encode("ascii")).digest())

    def scopes_of(self, token: str) -> tuple[str, ...] | None:
        """What the holder of this text may do; None if it is no token, or a revoked one.

        The slow hash is computed once a process and token, one at a time; that it is not revoked is looked up always.
        """
        match = _OPERATOR.fullmatch(token)
        if match is None:
            return None
        token_id, secret = match.groups()
        with self.store.reading() as connection:
            row = connection.execute(sa.select(operator_token).where(operator_token.c.id == token_id)).one_or_none()
        if row is None or row.revoked is not None:
            return None
        digest = hashlib.sha256(token.encode("ascii")).digest()
        with self._slow:
            proved = self._proved.get(token_id)
            if proved is None:
                try:
                    _hasher.verify(row.hash, secret)
                except argon2.exceptions.VerificationError:
                    return None
                self._proved[token_id] = digest
            elif not hmac.compare_digest(proved, digest):
                return None
        return tuple(row.scopes.split())


def operator_id(token: str) -> str:
    """The id of an operator's token, which is part of it and no secret; nothing if this is none."""
    match = _OPERATOR.fullmatch(token)
    return "" if match is None else match.group(1)


def new_enrolment_token() -> str:
    """A token that lets one person opt in, once."""
    return f"blendp-in-{secrets.token_hex(32)}"


def enrolment_hash(token: str) -> bytes | None:
    """What the store knows of an enrolment token; None if this is no such token."""
    if ENROLMENT_TOKEN.fullmatch(token) is None:
        return None
    return hashlib.sha256(token.encode("ascii")).digest()
