"""A simulated fleet: invented people who opt in to a campaign of a running collector, or report to it, over real HTTP.

    python examples/fleet.py opt-in trends --tokens tokens.txt
    python examples/fleet.py clients trends --people 5000

Each person holds one invented record. What they send is what ``blendp client`` sends, without its files: a trial of a
collector, not a client.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import numpy as np
from rich.progress import track

from blendp import HeadList, ReleaseRandom, make_report
from blendp.reports import QUESTION_NUMBER
from blendp.wire import Envelope, Manifest, Terms, UploadedReport, VerifyKey
from blendp.wire.install import deletion_key, pseudonym
from blendp.wire.media_types import BATCH_TYPE, MANIFEST_TYPE, OPT_IN_TYPE, REPORT_TYPE, TERMS_TYPE
from blendp.wire.problems import RETRYABLE
from blendp.wire.reports import write_batch, write_report

SENDERS = 4

Record = tuple[str, str]


def invented_records(people: int, seed: int) -> list[Record]:
    """One record each; a few of them are popular."""
    drawn = np.random.default_rng(seed).zipf(1.4, people) % 400
    return [(f"query {one % 37}", f"http://site{one}.example") for one in drawn]


class Fleet:
    """People who talk to one collector about one campaign, each thread on a connection of its own."""

    def __init__(self, url: str, campaign: str) -> None:
        """Nobody has connected yet."""
        self._address = urlsplit(url)
        self.campaign = f"/v1/campaigns/{campaign}"
        self._name = campaign
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
        terms = Terms.from_bytes(Envelope.from_bytes(self.get("terms")).verified(TERMS_TYPE, self.keys()))

        def send(token: str, record: Record) -> None:
            sent = [{"query": record[0], "url": record[1]}]
            body = {"terms": terms.sha256, "nonce": os.urandom(16).hex(), "records": sent}
            headers = {"authorization": f"Bearer {token}", "content-type": OPT_IN_TYPE}
            self._put("opt-in", json.dumps(body).encode(), headers)

        self._in_parallel(send, list(zip(tokens, records, strict=True)), "opting in")

    def report(self, records: Sequence[Record], batch: int = 1) -> None:
        """Each person's device randomises the record and sends the report; a relay may send many of them in batches."""
        manifest, head_list = self.look()
        binding = manifest.binding(head_list)

        def make(record: Record) -> UploadedReport:
            report = make_report([record], head_list, manifest.terms.epsilon, manifest.query_share, self._random())
            install = pseudonym(deletion_key(os.urandom(32), self._name))
            return UploadedReport(os.urandom(16), install, QUESTION_NUMBER[report.question], report.data)

        def send(some: Sequence[Record]) -> None:
            reports = [make(record) for record in some]
            if batch > 1:
                self._post("reports", write_batch(binding, reports), BATCH_TYPE, len(reports))
            else:
                body = write_report(binding, reports[0])
                self._put(f"reports/{reports[0].report_id.hex()}", body, {"content-type": REPORT_TYPE})

        batches = [(records[i : i + batch],) for i in range(0, len(records), batch)]
        self._in_parallel(send, batches, "reporting")

    def look(self) -> tuple[Manifest, HeadList]:
        """The campaign's manifest and list, verified."""
        manifest = Manifest.from_bytes(Envelope.from_bytes(self.get("manifest")).verified(MANIFEST_TYPE, self.keys()))
        head_list = HeadList.from_bytes(self.get("list"))
        manifest.require_list(head_list)
        return manifest, head_list

    def keys(self) -> tuple[VerifyKey, ...]:
        """The collector's keys, taken at its word: real devices know one from elsewhere."""
        status, answer = self.ask("GET", "/v1/keys")
        assert status == 200, answer
        return tuple(VerifyKey.of_text(key["key"]) for key in json.loads(answer)["keys"])

    def get(self, what: str) -> bytes:
        """A document of the campaign."""
        status, answer = self.ask("GET", f"{self.campaign}/{what}")
        assert status == 200, answer
        return answer

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """One request; once more if the connection was closed while nobody used it."""
        for last in (False, True):
            if last or not hasattr(self._thread, "connection"):
                secure = self._address.scheme == "https"
                kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
                self._thread.connection = kind(self._address.netloc, timeout=60)
                self._connections.append(self._thread.connection)
            try:
                self._thread.connection.request(method, path, body, headers or {})
                answer = self._thread.connection.getresponse()
                return answer.status, answer.read()
            except (http.client.RemoteDisconnected, BrokenPipeError):
                if last:
                    raise
        raise AssertionError("not reached")

    def _put(self, what: str, body: bytes, headers: dict[str, str]) -> None:
        """Send the same bytes until there is an answer that says more than 'later'."""
        while (sent := self.ask("PUT", f"{self.campaign}/{what}", body, headers))[0] in RETRYABLE:
            time.sleep(1)
        assert sent[0] in (200, 201), sent[1]

    def _post(self, what: str, body: bytes, media_type: str, reports: int) -> None:
        while (sent := self.ask("POST", f"{self.campaign}/{what}", body, {"content-type": media_type}))[0] in RETRYABLE:
            time.sleep(1)
        assert sent[0] == 200, sent[1]
        assert json.loads(sent[1])["outcomes"] == ["accepted"] * reports

    def _random(self) -> ReleaseRandom:
        if not hasattr(self._thread, "random"):
            self._thread.random = ReleaseRandom()
        random: ReleaseRandom = self._thread.random
        return random

    @staticmethod
    def _in_parallel(send: Callable[..., None], people: Sequence[tuple[object, ...]], activity: str) -> None:
        with ThreadPoolExecutor(SENDERS) as pool:
            sent = pool.map(lambda person: send(*person), people)
            for _ in track(sent, activity, total=len(people), transient=True):
                pass


def main() -> None:
    """Play the people."""
    parser = argparse.ArgumentParser(description="Invented people for a trial of a collector.")
    parser.add_argument("group", choices=("opt-in", "clients"))
    parser.add_argument("campaign")
    parser.add_argument("--server", default=os.environ.get("BLENDP_SERVER", "http://127.0.0.1:8321"))
    parser.add_argument("--tokens", type=Path, help="opt-in: the file that `blendp campaign enrol --out` wrote")
    parser.add_argument("--batch", type=int, default=1, help="clients: how many reports a relay sends at a time")
    parser.add_argument("--people", type=int, default=5000, help="clients: how many")
    options = parser.parse_args()
    if options.group == "opt-in" and options.tokens is None:
        parser.error("opt-in needs --tokens FILE")
    with Fleet(options.server, options.campaign) as fleet:
        if options.group == "clients":
            fleet.report(invented_records(options.people, seed=2), options.batch)
            print(f"{options.people} people reported")
        else:
            tokens = options.tokens.read_text().split()
            fleet.opt_in(tokens, invented_records(len(tokens), seed=1))
            print(f"{len(tokens)} people opted in")


if __name__ == "__main__":
    main()
