"""The demonstration's collector: it goes by the days that it is given, and never outlives who started it."""

from __future__ import annotations

import datetime
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from blendp.errors import EngineError
from blendp.fleet.collector_process import CollectorProcess
from blendp.service.clock import utc_today
from blendp.service.operator_client import OperatorClient

STARTER = """
import sys, time
from pathlib import Path
from blendp.fleet.collector_process import CollectorProcess
print(CollectorProcess(Path(sys.argv[1]), {}).url, flush=True)
time.sleep(600)
"""


def answers(url: str) -> bool:
    address = urlsplit(url)
    try:
        socket.create_connection((str(address.hostname), address.port or 0), timeout=5).close()
    except OSError:
        return False
    return True


def wait_until_gone(url: str) -> None:
    until = time.monotonic() + 60
    while answers(url):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_it_goes_by_the_days_that_it_is_given(tmp_path: Path) -> None:
    with CollectorProcess(tmp_path, {"me": ("read",)}) as collector:
        with OperatorClient(collector.url, collector.tokens["me"]) as operator:
            collector.put_to(datetime.date(2026, 1, 31))
            assert operator.clock().day == "2026-01-31"
            collector.put_to(None)
            before, day, after = utc_today(), operator.clock().day, utc_today()
            assert before.isoformat() <= day <= after.isoformat()
        collector.require_running()
        collector.stop()
        with pytest.raises(EngineError, match=r"has ended.*Finished server process"):
            collector.require_running()
        with pytest.raises(EngineError, match="has ended"), collector.explaining():
            raise ConnectionRefusedError
    assert not answers(collector.url)


def test_it_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout
        url = starter.stdout.readline().strip()
        assert answers(url)
        starter.send_signal(signal.SIGKILL)
    wait_until_gone(url)


def test_one_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no folder")
    with CollectorProcess(tmp_path, {}) as collector, pytest.raises(EngineError, match="has ended"):
        _ = collector.url
