"""Who comes in: connections are counted, by peer and in all, and those that dawdle are closed.

Nothing here waits for a peer. A connection is counted from the moment it is accepted, before any handshake, until it is
gone; the watch looks at all of them about once a second. Where there is no room, whoever comes takes that of an idle
connection, or of the one that has been half told for longest: who means it tells a request within moments. Refusals are
counted by reason and told in sums, once a minute at most, without addresses.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from blendp.service.descriptors import descriptors
from blendp.service.journal import tell
from blendp.service.peers import is_loopback, peer_of
from blendp.service.settings import Settings

DOOR = "door"
"""Under which name the web server finds the door in the application's state."""

MAX_CONNECTIONS = 10_000
"""In all, unless an operator says otherwise or there are fewer file descriptors."""

_LOCAL_RESERVE = 8
"""Connections that this machine may open above all others, so that probes of its health get through."""

_PRESSURE = 0.75
"""The share of all connections from which on it is noted who could make room."""

_TELL_SECONDS = 60.0


@dataclass(frozen=True)
class Patience:
    """How long a connection may take for what it does, in seconds."""

    head: float
    """For a TLS handshake; and from the first byte of a request, or the connection, to the end of its head."""

    body: float
    """From the end of the head to the end of the body."""

    answer: float
    """Without taking anything of an answer; and to close."""

    @property
    def arrival(self) -> float:
        """From the end of the head to that of the connection, if a body does not end: its handler gives up before."""
        return self.body + self.head

    @classmethod
    def of(cls, seconds: float) -> Patience:
        """All of them, from the one number that operators set."""
        return cls(seconds, 3 * seconds, 3 * seconds)


class Guest(Protocol):
    """A connection that was let in, as the watch sees it."""

    @property
    def idle(self) -> bool:
        """Whether nothing is under way: no request, no answer."""

    @property
    def half_told(self) -> bool:
        """Whether it is the peer's turn: to shake hands, or to tell a request."""

    def review(self, now: float) -> None:
        """Close, if something takes too long."""

    def dismiss(self) -> None:
        """Close, though nothing is wrong."""


class Door:
    """The connections of one process."""

    def __init__(
        self,
        settings: Settings,
        count: Callable[[str], None] = lambda _reason: None,
        charge: Callable[[str, float], None] = lambda _peer, _cost: None,
    ) -> None:
        """Nobody is in yet.

        where:
            count   is told the reason whenever a connection is refused or closed against its will,
            charge  takes from a peer's bucket, for requests that no handler sees.
        """
        self.patience = Patience.of(settings.patience)
        self.tls = _context(settings)
        self._proxies = settings.proxies
        self._most = settings.max_connections or min(MAX_CONNECTIONS, descriptors())
        self._max_of_peer = min(settings.max_of_peer, max(1, self._most // 4))
        self._count, self._charge = count, charge
        self._inside: Counter[str] = Counter()
        self._all = 0
        self._guests: dict[str, dict[Guest, None]] = {}
        self._spare: list[Guest] = []
        self._untold: Counter[str] = Counter()

    def admit(self, address: str) -> str | None:
        """The peer that a new connection counts for; None if there is no room for it."""
        peer = peer_of(address)
        if self._all >= self._most + (_LOCAL_RESERVE if is_loopback(address) else 0) and not self._make_room():
            self.refused("connections")
            return None
        exempt = self._proxies is not None and address in self._proxies
        if not exempt and self._inside[peer] >= self._max_of_peer and not self._make_room_of(peer):
            self.refused("connections of a peer")
            return None
        self._inside[peer] += 1
        self._all += 1
        return peer

    def enter(self, peer: str, guest: Guest) -> None:
        """Watch a connection that was admitted and can be spoken with."""
        self._guests.setdefault(peer, {})[guest] = None

    def forget(self, peer: str, guest: Guest) -> None:
        """Watch it no more."""
        guests = self._guests.get(peer, {})
        guests.pop(guest, None)
        if not guests:
            self._guests.pop(peer, None)

    def leave(self, peer: str) -> None:
        """A connection that was admitted is gone."""
        self._inside[peer] -= 1
        if not self._inside[peer]:
            del self._inside[peer]
        self._all -= 1

    def misdirected(self, address: str) -> bool:
        """Whether a proxy is to be passed, and this is none."""
        return self._proxies is not None and address not in self._proxies

    def refused(self, reason: str, address: str = "") -> None:
        """Count a connection that is closed against its will; its peer pays as for a request."""
        self._count(reason)
        self._untold[reason] += 1
        if address and not (self._proxies is not None and address in self._proxies):
            self._charge(peer_of(address), 1.0)

    @property
    def connections(self) -> int:
        """How many there are, half-made ones too."""
        return self._all

    async def watch(self) -> None:
        """Look at every connection again and again; a round that comes late blames nobody for the delay."""
        loop = asyncio.get_running_loop()
        period = min(1.0, self.patience.head / 10)
        last = last_told = loop.time()
        while True:
            await asyncio.sleep(period)
            now = loop.time()
            if now - last < 3 * period + 0.5:
                self._review(now)
            last = now
            if self._untold and now - last_told >= _TELL_SECONDS:
                self.tell_refusals()
                last_told = now

    def tell_refusals(self) -> None:
        """Write down how many were refused for which reason since the last time."""
        if self._untold:
            tell("connections refused", **{"by reason": dict(sorted(self._untold.items()))})
            self._untold.clear()

    def _review(self, now: float) -> None:
        everybody = [guest for guests in self._guests.values() for guest in guests]
        for guest in everybody:
            guest.review(now)
        self._spare = []
        if self._all > _PRESSURE * self._most:
            idle = [guest for guest in everybody if guest.idle]
            self._spare = [*idle, *(guest for guest in everybody if guest.half_told)][::-1]

    def _make_room(self) -> bool:
        """Close a connection that was idle or half told when last looked at, and is still."""
        while self._spare:
            guest = self._spare.pop()
            if guest.idle or guest.half_told:
                self._dismiss(guest)
                return True
        return False

    def _make_room_of(self, peer: str) -> bool:
        """Close the oldest idle or half-told connection of this peer, which may well be many people."""
        guests = self._guests.get(peer, {})
        spare = next((guest for guest in guests if guest.idle), None)
        spare = spare or next((guest for guest in guests if guest.half_told), None)
        if spare is not None:
            self._dismiss(spare)
        return spare is not None

    def _dismiss(self, guest: Guest) -> None:
        if not guest.idle:
            self.refused("made room")
        guest.dismiss()


def _context(settings: Settings) -> ssl.SSLContext | None:
    """What is needed to speak TLS, if it is spoken."""
    if settings.tls_certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(settings.tls_certificate, settings.tls_key)
    return context
