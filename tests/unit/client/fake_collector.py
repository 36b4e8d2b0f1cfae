"""A collector in the same process, a clock that only tests move, and devices that use both."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from blendp.client import Collector, Consent, Device, Http
from blendp.headlist import HeadList
from blendp.wire import Envelope, Manifest, SigningKey, Terms
from blendp.wire.media_types import MANIFEST_TYPE, TERMS_TYPE
from blendp.wire.problems import PROBLEMS
from blendp.wire.reports import read_report
from tests.support import WHO, KnownKey

URL, MIRROR = "https://collector.example", "https://mirror.example"
NOW = 1_794_000_000.0
"""2026-11-06."""

CAMPAIGN = "trends"
TERMS = Terms(
    CAMPAIGN, "What is searched for", **WHO, opens="2026-11-01", opt_in_until="2026-11-10", reports_until="2026-11-30"
)
LIST = HeadList.of_records([(f"query {i}", f"http://site-{i % 3}.org") for i in range(12)])
RECORDS: list[tuple[str, str | None]] = [("Query  3", "http://site-0.org/"), ("other", "http://else.org")]
TOKEN = f"blendp-in-{7:064x}"


class Clock:
    """Time passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = NOW
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class FakeCollector:
    """Serves signed documents and takes reports as the contract says; tests may put anything in their place."""

    def __init__(self, terms: Terms = TERMS, head_list: HeadList = LIST, **manifest: Any) -> None:
        self.key = SigningKey.new()
        self.terms, self.head_list = terms, head_list
        defaults: dict[str, Any] = {
            "list_sha256": head_list.sha256,
            "records": head_list.records,
            "opt_in_people": 200,
            "query_share": 0.5,
            "published": "2026-11-05",
        }
        self.manifest = Manifest(terms, **{**defaults, **manifest})
        self.served: dict[str, bytes | None] = {}
        self.requests: list[httpx.Request] = []
        self.reports: dict[str, bytes] = {}
        self.opt_in: dict[str, bytes] = {}
        self.deleted: set[str] = set()
        self.failures: list[httpx.Response | Exception] = []
        """What the next sending requests get instead of an answer."""

        self.keys_document: dict[str, Any] = {
            "keys": [{"key": self.key.public.text, "since": "2026-01-01", "until": None}],
            "statements": [],
        }
        self.overview: list[dict[str, Any]] = [{"campaign": terms.campaign, "title": terms.title, "state": "reporting"}]
        self.publish()

    def publish(self, *keys: SigningKey) -> None:
        """Sign and serve the documents as they are now."""
        signers = keys or (self.key,)
        campaign = f"/v1/campaigns/{self.terms.campaign}"
        self.served[f"{URL}{campaign}/terms"] = Envelope.sealed(TERMS_TYPE, self.terms.to_bytes(), signers).to_bytes()
        manifest = Envelope.sealed(MANIFEST_TYPE, self.manifest.to_bytes(), signers).to_bytes()
        for server in (URL, MIRROR):
            self.served[f"{server}{campaign}/manifest"] = manifest
        self.served[f"{URL}{campaign}/list"] = self.head_list.to_bytes()

    def change_manifest(self, **values: Any) -> None:
        """Sign another manifest."""
        self.manifest = dataclasses.replace(self.manifest, **values)
        self.publish()

    @property
    def writes(self) -> list[httpx.Request]:
        return [request for request in self.requests if request.method != "GET"]

    @property
    def http(self) -> Http:
        return Http(httpx.MockTransport(self._answer))

    def collector(self, **options: Any) -> Collector:
        defaults: dict[str, Any] = {"keys": [self.key.public], "http": self.http}
        return Collector(URL, **{**defaults, **options})

    def device(self, folder: Path, clock: Clock, *, consent: Consent | None = Consent.LOCAL, **options: Any) -> Device:
        defaults: dict[str, Any] = {
            "collector": self.collector(),
            "clock": clock,
            "sleep": clock.sleep,
            "jitter": lambda: 0.5,
            "random": KnownKey(7),
        }
        device = Device(folder, **{**defaults, **options})
        if consent is not None and device.consent != consent:
            device.set_consent(consent)
        return device

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if request.method == "GET":
            if request.url.path == "/v1/keys":
                return httpx.Response(200, json=self.keys_document)
            if request.url.path == "/v1/campaigns":
                return httpx.Response(200, json={"campaigns": self.overview})
            body = self.served.get(str(request.url))
            return problem("not-found") if body is None else httpx.Response(200, content=body)
        if self.failures:
            failure = self.failures.pop(0)
            if isinstance(failure, Exception):
                raise failure
            return failure
        what = request.url.path.removeprefix(f"/v1/campaigns/{self.terms.campaign}/")
        return self._TAKES[what.partition("/")[0]](self, request, what)

    def _report(self, request: httpx.Request, what: str) -> httpx.Response:
        report_id, body = what.partition("/")[2], request.content
        upload = read_report(report_id, body)
        (row,) = upload.rows
        assert row is not None
        if upload.binding.manifest != self.manifest.sha256:
            return problem("wrong-list")
        if row[1].hex() in self.deleted:
            return problem("deleted")
        return self._kept(self.reports, report_id, body)

    def _opt_in(self, request: httpx.Request, _: str) -> httpx.Response:
        token = request.headers["authorization"].removeprefix("Bearer ")
        if request.method == "DELETE":
            self.deleted.add(token)
            return httpx.Response(200, json={"deleted": self.opt_in.pop(token, None) is not None})
        return problem("deleted") if token in self.deleted else self._kept(self.opt_in, token, request.content)

    def _deletion(self, request: httpx.Request, _: str) -> httpx.Response:
        from blendp.wire.install import pseudonym

        name = pseudonym(bytes.fromhex(json.loads(request.content)["deletion_key"])).hex()
        report_ids = [key for key, body in self.reports.items() if json.loads(body)["pseudonym"] == name]
        for key in report_ids:
            del self.reports[key]
        self.deleted.add(name)
        return httpx.Response(200, json={"deleted": bool(report_ids)})

    @staticmethod
    def _kept(kept: dict[str, bytes], name: str, body: bytes) -> httpx.Response:
        if name not in kept:
            kept[name] = body
            return httpx.Response(201, json={"outcome": "accepted"})
        return httpx.Response(200, json={"outcome": "duplicate"}) if kept[name] == body else problem("conflict")

    _TAKES: dict[str, Callable[[FakeCollector, httpx.Request, str], httpx.Response]] = {  # noqa: RUF012
        "reports": _report,
        "opt-in": _opt_in,
        "deletions": _deletion,
    }


def problem(slug: str, **headers: str) -> httpx.Response:
    kind = PROBLEMS[slug]
    body = {"type": kind.type, "title": kind.title, "status": kind.status, "detail": "as the test wants"}
    return httpx.Response(kind.status, json=body, headers={name.replace("_", "-"): v for name, v in headers.items()})
