"""``blendp demo --serve`` as a newcomer meets it: a real process, its pages, its live campaign, and its end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from blendp.cli.app import app
from blendp.cli.demo_live import open_browser
from blendp.fleet.misfits import MISFITS
from blendp.service.operator_client import OperatorClient

PATIENCE = 300
"""Seconds, on a machine that is busy with something else."""


class Demo:
    """The command, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "blendp", "demo", "--serve", "--users", "4000", "--seed", "1", "--no-browser"]
        environment = {**os.environ, "TMPDIR": str(folder), "COLUMNS": "160", "DISPLAY": ":none"}
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def lines(self) -> dict[str, str]:
        """What it prints when everything is there."""
        assert self.process.stdout
        lines: dict[str, str] = {}
        while "Token" not in lines:
            line = self.process.stdout.readline()
            assert line, self.process.communicate()[1]
            name, value = line.split()
            lines[name] = value
        return lines

    def end(self, sign: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(sign)
        _, said = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said

    def __enter__(self) -> Demo:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.usefixtures("_heeding_interrupts")
def test_everything_is_shown_alive_and_nothing_stays(tmp_path: Path) -> None:
    with Demo(tmp_path) as demo:
        shown = demo.lines()
        assert list(shown) == ["Console", "Campaign", "Search", "Token"]
        url = shown["Console"].removesuffix("/console")
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        assert re.fullmatch(rf"{url}/campaigns/searches-\d{{4}}-w\d\d", shown["Campaign"])
        assert shown["Search"] == shown["Campaign"] + "/search"
        for page in ("Console", "Campaign", "Search"):
            answer = httpx.get(shown[page])
            assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, "text/html")
        with OperatorClient(url, shown["Token"]) as operator:
            look_at_campaigns(operator, shown["Campaign"].rpartition("/")[2])
        code, said = demo.end(signal.SIGINT)
    assert code == 0
    assert said.endswith("Stopped.\n")
    assert shown["Token"] not in said
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)


def look_at_campaigns(operator: OperatorClient, newest: str) -> None:
    """Released ones with lists that differ, a live one that grows, and every reason for which reports are refused."""
    *released, live = [line.campaign for line in operator.campaigns().campaigns]
    assert (len(released), released[-1]) == (3, newest)
    for name in released:
        status = operator.status(name)
        assert status.state == "released"
        assert {"accepted", "late", *MISFITS} == set(status.intake)
        assert len({one.day for one in status.intake_by_day}) == 6
        assert status.head_list is not None
        assert status.head_list.records >= 10
    assert status.head_list is not None
    assert status.head_list.churn is not None
    assert status.head_list.churn.added > 0
    before = operator.status(live)
    assert before.state == "reporting"
    assert 0 < before.clients.missing < before.clients.minimum
    wait_for(lambda: operator.status(live).clients.reports > before.clients.reports + 2)
    assert len({one.day for one in operator.status(live).intake_by_day}) >= 3


@pytest.mark.usefixtures("_heeding_interrupts")
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_stopped_before_everything_is_there_it_leaves_nothing(tmp_path: Path, sign: signal.Signals) -> None:
    with Demo(tmp_path) as demo:
        wait_for(lambda: any(tmp_path.glob("blendp-demo-*/collector.log")))
        code, said = demo.end(sign)
    assert (code, said) == (130, "Interrupted: nothing was written.\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--serve", "--users", "3999"], "--users"),
        (["--serve", "--users", "50001"], "--users"),
        (["--serve", "--out", "somewhere"], "--out"),
        (["--no-browser"], "--no-browser"),
        (["bing", "--serve"], "name"),
    ],
)
def test_what_cannot_be_shown_is_refused(options: list[str], named: str) -> None:
    done = CliRunner().invoke(app, ["demo", *options], env={"COLUMNS": "160"})
    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {named}")


@pytest.mark.parametrize(("display", "opened"), [("", []), (":0", ["http://127.0.0.1:1/console"])])
def test_a_browser_is_opened_where_there_is_a_display(
    monkeypatch: pytest.MonkeyPatch, display: str, opened: list[str]
) -> None:
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", display)
    open_browser("http://127.0.0.1:1/console")
    assert addresses == opened
