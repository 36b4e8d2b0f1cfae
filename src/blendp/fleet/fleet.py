"""People who talk to one collector about one campaign, over real HTTP.

What they send is what ``blendp client`` sends, without its files: a trial of a collector, not a client. A real device
keeps a ledger, and knows the collector's key from elsewhere.
"""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Self
from urllib.parse import urlsplit

from blendp.fleet.people import Record
from blendp.headlist import HeadList
from blendp.randomness import ReleaseRandom
from blendp.reports import QUESTION_NUMBER, ListScheme, Report
from blendp.wire import Envelope, Manifest, Terms, UploadedReport, VerifyKey, addresses
from blendp.wire.addresses import of_campaign, of_report
from blendp.wire.install import ENROLMENT_NONCE_BYTES, deletion_key, pseudonym
from blendp.wire.media_types import BATCH_TYPE, MANIFEST_TYPE, OPT_IN_TYPE, REPORT_TYPE, TERMS_TYPE
from blendp.wire.opt_in import OptInRecords
from blendp.wire.problems import RETRYABLE, slug_of
from blendp.wire.reports import ID_BYTES, Binding, write_batch, write_report

_SENDERS = 4
_RETRIES, _RETRY_SECONDS = 120, 1.0
_ANSWER_SECONDS = 60
_SECRET_BYTES = 32

Shown = Callable[[Iterable[None], int], Iterable[None]]
"""Passes on what is sent, one of so many after another, and may show how far it is."""


class FleetError(ConnectionError):
    """An answer that no collector in good order gives to people in good order."""


class Fleet:
    """People of one campaign, each thread on a connection of its own."""

    def __init__(self, url: str, campaign: str, shown: Shown = lambda sent, _all: sent) -> None:
        """Nobody has connected yet."""
        self._shown = shown
        self._address = urlsplit(url)
        self.campaign = campaign
        self._thread = threading.local()
        self._connections: list[http.client.HTTPConnection] = []

    def __enter__(self) -> Self:
        """The fleet itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Hang up."""
        for connection in self._connections:
            connection.close()

    def opt_in(self, tokens: Sequence[str], records: Sequence[Record]) -> None:
        """Each person sends their record with their one-time token."""
        terms = Terms.from_bytes(Envelope.from_bytes(self.get(addresses.TERMS)).verified(TERMS_TYPE, self.keys()))

        def send(person: tuple[str, Record]) -> None:
            token, record = person
            body = OptInRecords.of(terms.sha256, os.urandom(ENROLMENT_NONCE_BYTES), [record]).to_bytes()
            headers = {"authorization": f"Bearer {token}", "content-type": OPT_IN_TYPE}
            status, answer = self._sent("PUT", of_campaign(addresses.OPT_IN, self.campaign), body, headers)
            if status != 200:  # a retry whose first answer was lost
                self._require(201, status, answer)

        self._in_parallel(send, list(zip(tokens, records, strict=True)))

    def report(self, records: Sequence[Record], batch: int = 1) -> None:
        """Each person's device randomises the record and sends the report; a relay may send many of them in batches."""

        def send(some: Sequence[Record]) -> None:
            reports = [self.uploaded(self.randomised(record)) for record in some]
            outcomes = self.send_batch(reports) if batch > 1 else [self.send(reports[0])]
            if set(outcomes) != {"accepted"}:
                raise FleetError(f"Reports of {self.campaign} were not accepted: {', '.join(sorted(set(outcomes)))}.")

        _ = self.binding  # looked at once, before there are threads
        self._in_parallel(send, [records[i : i + batch] for i in range(0, len(records), batch)])

    def randomised(self, record: Record) -> Report:
        """What a device makes of a record."""
        return self.scheme.randomise([record], self.random)

    def uploaded(self, report: Report) -> UploadedReport:
        """A report as a new install sends it."""
        install = pseudonym(deletion_key(os.urandom(_SECRET_BYTES), self.campaign))
        return UploadedReport(os.urandom(ID_BYTES), install, QUESTION_NUMBER[report.question], report.data)

    def send(self, report: UploadedReport) -> str:
        """Send one report; its outcome."""
        return self.send_bytes(report.report_id, write_report(self.binding, report))

    def send_bytes(self, report_id: bytes, body: bytes) -> str:
        """Send what may be a report, under its id; the outcome."""
        address = of_report(self.campaign, report_id)
        status, answer = self._sent("PUT", address, body, {"content-type": REPORT_TYPE})
        value = json.loads(answer)
        return str(value["outcome"]) if status in (200, 201) else slug_of(value) or f"http-{status}"

    def send_batch(self, reports: Sequence[UploadedReport]) -> list[str]:
        """Send many reports; the outcome of each."""
        address, body = of_campaign(addresses.REPORTS, self.campaign), write_batch(self.binding, reports)
        status, answer = self._sent("POST", address, body, {"content-type": BATCH_TYPE})
        self._require(200, status, answer)
        outcomes: list[str] = json.loads(answer)["outcomes"]
        return outcomes

    @cached_property
    def scheme(self) -> ListScheme:
        """How devices report."""
        return self._looked_at[0]

    @cached_property
    def binding(self) -> Binding:
        """What reports are bound to."""
        return self._looked_at[1]

    @cached_property
    def _looked_at(self) -> tuple[ListScheme, Binding]:
        """From the campaign's manifest and list, verified."""
        signed = Envelope.from_bytes(self.get(addresses.MANIFEST))
        manifest = Manifest.from_bytes(signed.verified(MANIFEST_TYPE, self.keys()))
        head_list = HeadList.from_bytes(self.get(addresses.LIST))
        return manifest.scheme(head_list), manifest.binding(head_list)

    @property
    def random(self) -> ReleaseRandom:
        """What this thread draws from."""
        if not hasattr(self._thread, "random"):
            self._thread.random = ReleaseRandom()
        random: ReleaseRandom = self._thread.random
        return random

    def keys(self) -> tuple[VerifyKey, ...]:
        """The collector's keys, taken at its word."""
        answer = self._require(200, *self.ask("GET", addresses.KEYS))
        return tuple(VerifyKey.of_text(key["key"]) for key in json.loads(answer)["keys"])

    def get(self, template: str) -> bytes:
        """A document of the campaign."""
        return self._require(200, *self.ask("GET", of_campaign(template, self.campaign)))

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """One request; once more if the connection was closed while nobody used it."""
        for last in (False, True):
            if last or not hasattr(self._thread, "connection"):
                self._thread.connection = self._connected()
            try:
                self._thread.connection.request(method, path, body, headers or {})
                answer = self._thread.connection.getresponse()
                return answer.status, answer.read()
            except (http.client.RemoteDisconnected, BrokenPipeError):
                if last:
                    raise
        raise AssertionError("not reached")

    def _connected(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._address.scheme == "https" else http.client.HTTPConnection
        self._connections.append(kind(self._address.netloc, timeout=_ANSWER_SECONDS))
        return self._connections[-1]

    def _sent(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        """Send the same bytes until there is an answer that says more than 'later'."""
        for _ in range(_RETRIES):
            status, answer = self.ask(method, path, body, headers)
            if status not in RETRYABLE:
                return status, answer
            time.sleep(_RETRY_SECONDS)
        raise FleetError(f"{self._address.netloc} answered {status} again and again.")

    def _require(self, expected: int, status: int, answer: bytes) -> bytes:
        if status != expected:
            raise FleetError(f"{self._address.netloc} answered {status}: {answer[:300].decode(errors='replace')}")
        return answer

    def _in_parallel(self, send: Callable[[Any], None], people: Sequence[Any]) -> None:
        """A few at a time; those who have not begun do not, once one fails or all are interrupted."""
        pool = ThreadPoolExecutor(_SENDERS)
        try:
            for _ in self._shown(pool.map(send, people), len(people)):
                pass
        finally:
            pool.shutdown(cancel_futures=True)
