"""Load for the collector's benchmark: a process of its own, raw sockets, requests made before the clock starts.

Reads an :class:`Order` from standard input, and writes a :class:`Load` to standard output, both as JSON. Every sender
keeps one connection and has one request under way. Invalid senders send as many requests as the valid ones together,
in turns: a body cut short, the wrong manifest, impossible reports, a replay of what was acknowledged.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import re
import struct
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import cast

import msgspec
import uvloop

from blendp.wire.reports import Binding

SINGLE, BATCH = "single", "batch"

_TYPES = {SINGLE: "application/vnd.blendp.report.v1+json", BATCH: "application/vnd.blendp.reports.v1"}
_MAX_A_SECOND = {SINGLE: 10_000, BATCH: 300_000}
_QUESTIONS = ("query", "record")
_SECTION = struct.Struct(">BHI")
_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"content-length: *([0-9]+)", re.IGNORECASE)
_INVALID = ("cut", "wrong-manifest", "impossible", "replay")
_CREATED, _OK = 201, 200


class Order(msgspec.Struct, frozen=True):
    """What to send, and how.

    where:
        possible    has possible data of each question, in hexadecimal digits,
        impossible  has one that is not,
        rate        is that of valid requests, in requests a second; 0 sends when the answer before is there.
    """

    host: str
    port: int
    campaign: str
    binding: Binding
    kind: str
    reports: int
    senders: int
    possible: list[list[str]]
    impossible: list[str]
    invalid_senders: int = 0
    rate: float = 0.0
    warm_seconds: float = 0.5
    seconds: float = 5.0


class Load(msgspec.Struct, frozen=True):
    """What came of it, after the warm-up: times in seconds, of valid requests unless it says otherwise."""

    accepted: int
    requests: int
    seconds: float
    p50: float
    p99: float
    statuses: dict[str, int]
    invalid_requests: int
    invalid_statuses: dict[str, int]
    processor: float
    """Share of a core that the generator itself used."""

    exhausted: bool
    """Whether it had sent everything it had made before the time was up."""


class Maker:
    """Requests with fresh ids, of the kind that is ordered."""

    def __init__(self, order: Order, seed: int | None = None) -> None:
        self._order = order
        self._random = Random(seed)
        self._pools = [
            [bytes.fromhex(one) for one in pool] for pool in (order.possible[question] for question in (0, 1))
        ]

    def valid(self) -> bytes:
        return self._request(self._order.binding, self._pools)

    def invalid(self, kind: str) -> bytes:
        """Malformed in its body, its manifest or its reports."""
        if kind == "wrong-manifest":
            return self._request(Binding("00" * 32, "00" * 8), self._pools)
        if kind == "impossible":
            return self._request(self._order.binding, [[bytes.fromhex(one)] for one in self._order.impossible])
        head, _, body = self.valid().partition(_HEAD_END)
        cut = body[: len(body) * 2 // 3]
        return _LENGTH.sub(b"content-length: %d" % len(cut), head) + _HEAD_END + cut

    def _request(self, binding: Binding, pools: list[list[bytes]]) -> bytes:
        order = self._order
        path = f"/v1/campaigns/{order.campaign}/reports"
        if order.kind == SINGLE:
            question = self._random.randrange(2)
            data = self._random.choice(pools[question])
            path += "/" + os.urandom(16).hex()
            return self._framed("PUT", path, _single(binding, os.urandom(16).hex(), question, data.hex()))
        return self._framed("POST", path, _batch(binding, pools, order.reports))

    def _framed(self, method: str, path: str, body: bytes) -> bytes:
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: {self._order.host}:{self._order.port}\r\n"
            f"content-type: {_TYPES[self._order.kind]}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


def _single(binding: Binding, pseudonym: str, question: int, data: str) -> bytes:
    return (
        f'{{"data":"{data}","manifest":"{binding.manifest}","pseudonym":"{pseudonym}",'
        f'"question":"{_QUESTIONS[question]}","scheme":"{binding.scheme}"}}'
    ).encode()


def _parts(reports: int) -> list[tuple[int, int]]:
    """The first half asks one question, the second the other."""
    return [(question, count) for question, count in enumerate((reports - reports // 2, reports // 2)) if count]


def _batch(binding: Binding, pools: list[list[bytes]], reports: int) -> bytes:
    parts = [b"blR1", bytes.fromhex(binding.manifest + binding.scheme)]
    for question, count in _parts(reports):
        names = os.urandom(32 * count)
        pool = pools[question]
        parts.append(_SECTION.pack(question, len(pool[0]), count))
        for start, data in zip(range(0, 32 * count, 32), itertools.cycle(pool), strict=False):
            parts += (names[start : start + 32], data)
    return b"".join(parts)


class Sender(asyncio.Protocol):
    """One connection: ``send`` writes a request, ``done`` is called with its whole answer."""

    def __init__(self, done: Callable[[Sender, int, bytes], None], lost: Callable[[], None]) -> None:
        self._done, self._lost = done, lost
        self._answer = bytearray()
        self._end = 0
        self.transport: asyncio.Transport | None = None
        self.request = b""
        self.sent = 0.0

    def send(self, request: bytes, due: float | None = None) -> None:
        assert self.transport is not None
        self.request = request
        self.sent = time.perf_counter() if due is None else due
        self.transport.write(request)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._lost()

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        answer += data
        if not self._end:
            head = answer.find(_HEAD_END)
            if head < 0:
                return
            length = _LENGTH.search(answer, 0, head)
            self._end = head + len(_HEAD_END) + (int(length[1]) if length else 0)
        if len(answer) >= self._end:
            whole, self._end = bytes(answer), 0
            answer.clear()
            self._done(self, int(whole[9:12]), whole)


class Generator:
    """All senders of one process, and what they saw."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._supply = self._made(self._needed())
        maker = Maker(order)
        number = 64 if order.reports == 1 else 8
        self._invalid = {kind: [maker.invalid(kind) for _ in range(number)] for kind in _INVALID[:3]}
        self._kinds: Iterator[str] = itertools.cycle(_INVALID)
        self._acknowledged: deque[bytes] = deque(maxlen=1000 if order.reports == 1 else 20)
        self._random = Random()
        self._times: list[float] = []
        self._accepted = 0
        self._statuses: Counter[str] = Counter()
        self._invalid_statuses: Counter[str] = Counter()
        self._owed = 0
        self._idle: list[Sender] = []
        self._next_due: dict[Sender, float] = {}
        self._measuring = self._over = False
        self._exhausted_at: float | None = None
        self._ended: asyncio.Event | None = None

    def _needed(self) -> int:
        order = self._order
        reports = order.rate * order.reports if order.rate else _MAX_A_SECOND[order.kind]
        seconds = 1.2 * (order.warm_seconds + order.seconds)
        return 2 * order.senders + int(reports * seconds / order.reports)

    def _made(self, number: int) -> deque[bytes]:
        maker = Maker(self._order)
        return deque(maker.valid() for _ in range(number))

    async def run(self) -> Load:
        order, loop = self._order, asyncio.get_running_loop()
        self._ended = asyncio.Event()
        senders = [await self._connect(self._valid_done) for _ in range(order.senders)]
        invalid = [await self._connect(self._invalid_done) for _ in range(order.invalid_senders)]
        gc.collect()
        gc.freeze()
        gc.disable()
        self._idle = list(invalid)
        start = time.perf_counter()
        for number, sender in enumerate(senders):
            self._next_due[sender] = start + number / order.rate if order.rate else start
            self._next(sender)
        loop.call_later(order.warm_seconds, self._measure)
        await asyncio.sleep(order.warm_seconds)
        began, used = time.perf_counter(), time.process_time()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), order.seconds)
        self._over = True
        seconds = (self._exhausted_at or time.perf_counter()) - began
        processor = (time.process_time() - used) / max(1e-9, time.perf_counter() - began)
        for sender in (*senders, *invalid):
            if sender.transport is not None:
                sender.transport.abort()
        times = sorted(self._times) or [0.0]
        return Load(
            accepted=self._accepted,
            requests=len(self._times),
            seconds=seconds,
            p50=times[len(times) // 2],
            p99=times[min(len(times) - 1, len(times) * 99 // 100)],
            statuses=dict(self._statuses),
            invalid_requests=self._invalid_statuses.total(),
            invalid_statuses=dict(self._invalid_statuses),
            processor=processor,
            exhausted=self._exhausted_at is not None,
        )

    async def _connect(self, done: Callable[[Sender, int, bytes], None]) -> Sender:
        loop = asyncio.get_running_loop()
        _, sender = await loop.create_connection(lambda: Sender(done, self._lost), self._order.host, self._order.port)
        return sender

    def _measure(self) -> None:
        self._measuring = True

    def _lost(self) -> None:
        if not self._over:
            self._statuses["lost"] += 1

    def _next(self, sender: Sender) -> None:
        if self._over:
            return
        if not self._supply:
            if self._exhausted_at is None and self._ended is not None:
                self._exhausted_at = time.perf_counter()
                self._ended.set()
            return
        if not self._order.rate:
            self._send(sender, None)
            return
        due = self._next_due[sender]
        self._next_due[sender] = due + self._order.senders / self._order.rate
        wait = due - time.perf_counter()
        if wait > 0:
            asyncio.get_running_loop().call_later(wait, self._send, sender, due)
        else:
            self._send(sender, due)

    def _send(self, sender: Sender, due: float | None) -> None:
        if self._over or not self._supply:
            return
        sender.send(self._supply.popleft(), due)
        if self._order.invalid_senders:
            self._owed += 1
            if self._idle:
                self._send_invalid(self._idle.pop())

    def _valid_done(self, sender: Sender, status: int, answer: bytes) -> None:
        now = time.perf_counter()
        accepted = self._accepted_of(status, answer)
        if self._measuring and not self._over:
            self._times.append(now - sender.sent)
            self._statuses[str(status)] += 1
            self._accepted += accepted
        if accepted:
            self._acknowledged.append(sender.request)
        self._next(sender)

    def _accepted_of(self, status: int, answer: bytes) -> int:
        """Created is all of the request; otherwise the body tells one outcome a report."""
        if status == _CREATED:
            return self._order.reports
        return answer.count(b'"accepted"') if status == _OK else 0

    def _send_invalid(self, sender: Sender) -> None:
        self._owed -= 1
        kind = next(self._kinds)
        replays = self._acknowledged if kind == "replay" else None
        sender.send(self._random.choice(replays or self._invalid[kind if kind != "replay" else "impossible"]))

    def _invalid_done(self, sender: Sender, status: int, _answer: bytes) -> None:
        if self._measuring and not self._over:
            self._invalid_statuses[str(status)] += 1
        if self._owed > 0 and not self._over:
            self._send_invalid(sender)
        else:
            self._idle.append(sender)


def main() -> None:
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    load = uvloop.run(Generator(order).run())
    sys.stdout.buffer.write(msgspec.json.encode(load))


if __name__ == "__main__":
    main()
