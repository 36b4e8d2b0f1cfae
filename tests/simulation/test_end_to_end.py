"""Twenty thousand devices through real HTTP tell what ``blendp run`` tells of the same log."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
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
from blendp.wire import Envelope, VerifyKey, addresses
from blendp.wire.media_types import RELEASE_TYPE
from tests.support import WHO, KnownKey

OPT_IN, CLIENTS, WHOLE_DEVICES, SINGLE_UPLOADS = 1500, 20_000, 20, 400
EPSILON, DELTA = 3.0, 1e-6
CAMPAIGN = addresses.of_campaign(addresses.CAMPAIGN, "e2e")


class Server:
    """``blendp serve`` in a process of its own."""

    def __init__(self, data: Path) -> None:
        command = [sys.executable, "-m", "blendp", "serve", "--data", str(data), "--port", "0", "--rate", "0"]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr
        self.url = next(
            json.loads(line)["url"] for line in self._process.stderr if line.startswith("{") and "serving" in line
        )
        self._drain = threading.Thread(target=self._process.stderr.read)
        self._drain.start()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(20)
        self._drain.join()
        assert self._process.stderr
        self._process.stderr.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path / "data")
    yield started
    started.stop()


@pytest.fixture
def fleet(server: Server) -> Iterator[Fleet]:
    with Fleet(server.url, "e2e") as people:
        yield people


@pytest.mark.statistical
def test_a_fleet_tells_what_run_tells(server: Server, fleet: Fleet, tmp_path: Path) -> None:
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
    command = [sys.executable, "-m", "blendp", "token", "create", "--data", str(data), "--name", "test"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


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


def _whole_device(server: Server, key: VerifyKey, folder: Path, record: tuple[str, str]) -> None:
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
