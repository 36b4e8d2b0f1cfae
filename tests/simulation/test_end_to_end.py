"""Twenty thousand devices through real HTTP tell what ``blendp run`` tells of the same log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import blendp
from blendp.client import Collector, Consent, Device
from blendp.fleet import Fleet, invented_records
from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
from blendp.wire import Envelope, VerifyKey, addresses
from blendp.wire.media_types import RELEASE_TYPE
from tests.service.real_server import RealServer
from tests.support import WHO, KnownKey

OPT_IN, CLIENTS, WHOLE_DEVICES, SINGLE_UPLOADS = 1500, 20_000, 20, 400
EPSILON, DELTA = 3.0, 1e-6
CAMPAIGN = addresses.of_campaign(addresses.CAMPAIGN, "e2e")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealServer]:
    with RealServer(tmp_path, "--rate", "0") as started:
        yield started


@pytest.fixture
def fleet(server: RealServer) -> Iterator[Fleet]:
    with Fleet(server.url, "e2e") as people:
        yield people


@pytest.mark.statistical
def test_a_fleet_tells_what_run_tells(server: RealServer, fleet: Fleet, tmp_path: Path) -> None:
    records = invented_records(OPT_IN + CLIENTS, seed=20)
    operator = _Operator(fleet, _token(tmp_path / "data"))

    operator.post("/v1/campaigns", _terms())
    fleet.opt_in(operator.post(f"{CAMPAIGN}/enrolments", {"count": OPT_IN})["tokens"], records[:OPT_IN])
    operator.post(f"{CAMPAIGN}/publish")
    (key,) = fleet.keys()
    whole = OPT_IN + WHOLE_DEVICES
    for i in range(OPT_IN, whole):
        _whole_device(server, key, tmp_path / f"device{i}", records[i])
    single = whole + SINGLE_UPLOADS
    fleet.report(records[whole:single])
    fleet.report(records[single:], batch=500)

    status = operator.get(f"{CAMPAIGN}/status")
    assert status["clients"]["reports"] == CLIENTS
    assert status["intake"] == {"accepted": CLIENTS}
    operator.post(f"{CAMPAIGN}/release")
    released = json.loads(Envelope.from_bytes(fleet.get(addresses.RELEASE)).verified(RELEASE_TYPE, (key,)))

    ran = _run(records)
    assert released["card"]["users"] == ran.groups.to_dict()
    z = _differences(released["estimates"], ran)
    assert len(z) >= 12, "both lists share their popular records"
    assert np.abs(z).max() < 4.5
    assert np.sqrt(np.mean(z**2)) < 1.5
    popular = max(released["estimates"], key=lambda row: row["probability"] if row["query"] else 0.0)
    share = np.mean([record == (popular["query"], popular["url"]) for record in records])
    assert popular["probability"] == pytest.approx(share, abs=4.5 * popular["std_error"])
    # now and then the groups differ by chance, and the blend says so by a larger error: 0.15 of the share was seen
    assert popular["std_error"] < share / 4, "an answer that says nothing would not pass for an agreement"


class _Operator:
    def __init__(self, fleet: Fleet, token: str) -> None:
        self._fleet = fleet
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def post(self, path: str, body: Any = None) -> Any:
        return self._good("POST", path, json.dumps(body).encode())

    def get(self, path: str) -> Any:
        return self._good("GET", path)

    def _good(self, method: str, path: str, body: bytes | None = None) -> Any:
        status, answer = self._fleet.ask(method, path, body, self._headers)
        assert status in (200, 201), answer
        return json.loads(answer)


def _token(data: Path) -> str:
    collector = CollectorService.open(Settings(data))
    token = collector.tokens.create("test")
    collector.close()
    return token


def _terms() -> dict[str, Any]:
    today = np.datetime64("today")
    return {
        "campaign": "e2e",
        "title": "End to end",
        **WHO,
        "opens": str(today),
        "opt_in_until": str(today + 7),
        "reports_until": str(today + 21),
        "epsilon": EPSILON,
        "delta": DELTA,
        "min_opt_in": OPT_IN,
        "min_clients": CLIENTS,
        "expected_clients": CLIENTS,
    }


def _whole_device(server: RealServer, key: VerifyKey, folder: Path, record: tuple[str, str]) -> None:
    """The client library from consent to acknowledgement."""
    with Device(folder, Collector(server.url, keys=[key])) as device:
        device.set_consent(Consent.LOCAL)
        device.take_part("e2e", [record])
        device.send()
        assert [item.state for item in device.items] == ["sent"]


def _run(records: Sequence[tuple[str, str]]) -> blendp.Release:
    queries, urls = zip(*records, strict=True)
    trusts = ["yes" if i < OPT_IN else "no" for i in range(len(records))]
    users = [str(i) for i in range(len(records))]
    table = pa.table({"user": users, "query": queries, "url": urls, "trusts": trusts})
    log = blendp.log_of_table(table, columns=blendp.Columns(opt_in="trusts"))
    parameters = blendp.Parameters(epsilon=EPSILON, delta=DELTA)
    return blendp.run(log, parameters, random=KnownKey(9))


def _differences(estimates: list[dict[str, Any]], ran: blendp.Release) -> NDArray[np.float64]:
    """Of every record that both list, in standard errors of the difference."""
    of_run = {(row.query, row.url): row for row in ran.records() if row.url is not None}
    both = [(row, of_run[key]) for row in estimates if (key := (row["query"], row["url"])) in of_run]
    return np.array(
        [(ours["probability"] - row.probability) / np.hypot(ours["std_error"], row.std_error) for ours, row in both]
    )
