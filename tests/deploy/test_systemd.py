"""The units: as systemd reads and rates them, and what they do under the system calls that they allow."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import httpx
import pytest

from blendp.service.collector import CollectorService
from blendp.service.operator_client import OperatorClient
from blendp.service.settings import Settings
from blendp.wire import Terms
from blendp.wire.media_types import BATCH_TYPE, OPT_IN_TYPE
from tests.browser.collectors import library_terms
from tests.deploy.devices import RECORD, new_reports
from tests.deploy.tools import KIT, require_success, run_tool
from tests.service.conftest import postgres
from tests.service.helpers import bearer, enrolment_body
from tests.service.postgres import Postgres, programs
from tests.service.real_server import RealServer

__all__ = ["postgres"]

UNITS = KIT / "systemd"
HARDENING = (UNITS / "blendp-.service.d/hardening.conf").read_text()
SERVICES = ("blendp-collector.service", "blendp-backup.service")
MAX_EXPOSURE = 15
"""Tenths: systemd calls up to 2.0 safe enough to smile."""


def setting(name: str) -> list[str]:
    """All values of a setting of the hardening, in order."""
    return re.findall(rf"^{name}=(.*)$", HARDENING, re.MULTILINE)


def command_of(unit: str) -> list[str]:
    (line,) = re.findall(r"^ExecStart=(.*)$", (UNITS / unit).read_text(), re.MULTILINE)
    return shlex.split(line)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The units where an operator puts them, and the program where they look for it."""
    system = tmp_path / "etc/systemd/system"
    shutil.copytree(UNITS, system)
    program = tmp_path / "opt/blendp/bin/blendp"
    program.parent.mkdir(parents=True)
    program.symlink_to(Path(sysconfig.get_path("scripts")) / "blendp")
    return tmp_path


@pytest.mark.parametrize("unit", [*SERVICES, "blendp-backup.timer"])
def test_systemd_finds_nothing_wrong(root: Path, unit: str) -> None:
    """With the program at another path, since verify looks whether it is there."""
    system = root / "etc/systemd/system"
    for name in SERVICES:
        text = (system / name).read_text()
        assert "ExecStart=/opt/blendp/bin/blendp " in text
        (system / name).write_text(text.replace("=/opt/blendp", f"={root}/opt/blendp"))
    complaints = require_success("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", system / unit)
    assert complaints == ""


@pytest.mark.parametrize("unit", SERVICES)
def test_systemd_rates_the_exposure_as_low(unit: str) -> None:
    options = ("--offline=true", f"--threshold={MAX_EXPOSURE}", "--no-pager")
    assert "Overall exposure level" in require_success("systemd-analyze", "security", *options, UNITS / unit)


def test_the_rating_would_be_high_without_the_hardening(tmp_path: Path) -> None:
    shutil.copy(UNITS / SERVICES[0], tmp_path)
    options = ("--offline=true", f"--threshold={MAX_EXPOSURE}", "--no-pager")
    assert run_tool("systemd-analyze", "security", *options, tmp_path / SERVICES[0]).returncode != 0


def test_the_calendar_of_the_timer_is_understood() -> None:
    (calendar,) = re.findall(r"^OnCalendar=(.*)$", (UNITS / "blendp-backup.timer").read_text(), re.MULTILINE)
    assert "Next elapse:" in require_success("systemd-analyze", "calendar", calendar)


def test_the_account_is_made(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    require_success("systemd-sysusers", f"--root={tmp_path}", UNITS / "blendp.sysusers")
    (line,) = (line for line in (tmp_path / "etc/passwd").read_text().splitlines() if line.startswith("blendp:"))
    assert line.split(":")[5:] == ["/var/lib/blendp", "/usr/sbin/nologin"]


def test_the_units_can_be_enabled(root: Path) -> None:
    require_success("systemctl", f"--root={root}", "enable", "blendp-collector.service", "blendp-backup.timer")
    wanted = {path.name for path in (root / "etc/systemd/system").glob("*.wants/*")}
    assert wanted == {"blendp-collector.service", "blendp-backup.timer"}


def allowed_calls() -> list[str]:
    """The system calls that the units' filter leaves, resolved by systemd itself."""
    allowed: set[str] = set()
    for line in setting("SystemCallFilter"):
        groups = line.removeprefix("~").split()
        allowed = allowed - _calls(groups) if line.startswith("~") else allowed | _calls(groups)
    return sorted(allowed)


def _calls(groups: list[str]) -> set[str]:
    calls = {name for name in groups if name[0] != "@"}
    for group in {*groups} - calls:
        lines = require_success("systemd-analyze", "syscall-filter", "--no-pager", group).splitlines()
        names = [line.strip() for line in lines[1:] if line.startswith("    ") and "#" not in line]
        calls |= _calls(names)
    return calls


def confinement() -> list[str]:
    """What starts a command under the units' filter."""
    settings = {
        "allowed": allowed_calls(),
        "families": setting("RestrictAddressFamilies")[0].split(),
        "refusal": setting("SystemCallErrorNumber")[0],
        "write_xor_execute": setting("MemoryDenyWriteExecute") == ["yes"],
    }
    return [sys.executable, str(Path(__file__).with_name("confined.py")), json.dumps(settings)]


def unit_command(unit: str, folder: Path) -> list[str]:
    """A unit's command under its filter, with its folders below another one, run by this Python."""
    program, *arguments = (word.replace("/var/lib/", f"{folder}/") for word in command_of(unit))
    assert program == "/opt/blendp/bin/blendp"
    return [*confinement(), sys.executable, "-m", "blendp", *arguments]


def test_a_whole_campaign_runs_under_the_filter(tmp_path: Path) -> None:
    """On the embedded database."""
    run_units(tmp_path, Settings(tmp_path / "blendp"))


@pytest.mark.xdist_group("postgres")
def test_and_in_two_processes_on_postgresql(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.new_database()
    monkeypatch.setenv("BLENDP_DATABASE", address)
    monkeypatch.setenv("PATH", f"{programs()}{os.pathsep}{os.environ['PATH']}")
    run_units(tmp_path, Settings(tmp_path / "blendp", database=address), "--workers", "2")


def run_units(folder: Path, settings: Settings, *options: str) -> None:
    """Opt-in, list, reports, result, pages and a backup, with the units' own commands under their filter."""
    with RealServer(folder, *options, start=unit_command("blendp-collector.service", folder)) as server:
        service = CollectorService.open(settings)
        token = service.tokens.create("operator")
        service.close()
        with OperatorClient(server.url, token) as operator, httpx.Client(base_url=server.url) as people:
            run_campaign(operator, people, settings, token)
        backup = unit_command("blendp-backup.service", folder)
        done = subprocess.run(backup, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert (folder / "blendp-backup/collector.backup").stat().st_mode & 0o077 == 0
    assert server.process.returncode == 0, "it stops when it is told to"
    assert [line for line in server.lines() if line["level"] != "info"] == []


def run_campaign(operator: OperatorClient, people: httpx.Client, settings: Settings, operator_token: str) -> None:
    """From its terms to its result, and what the console asks for."""
    terms = Terms(**library_terms("trends", min_opt_in=60, min_clients=3))
    operator.create(terms)
    body = enrolment_body(terms, [{"query": RECORD[0], "url": RECORD[1]}])
    for token in operator.enrol("trends", 60):
        people.put("/v1/campaigns/trends/opt-in", content=body, headers={"content-type": OPT_IN_TYPE, **bearer(token)})
    operator.publish("trends")
    batch = new_reports(settings, "trends", 3)
    sent = people.post("/v1/campaigns/trends/reports", content=batch, headers={"content-type": BATCH_TYPE})
    assert sent.json() == {"outcomes": ["accepted"] * 3}
    operator.release("trends")
    for path in ("/", "/console", "/campaigns/trends/search", "/v1/campaigns/trends/index", "/health/ready"):
        assert people.get(path).status_code == 200, path
    for path in ("plan", "files/report.html"):
        slow = people.get(f"/v1/campaigns/trends/{path}", headers=bearer(operator_token), timeout=300)
        assert slow.status_code == 200, slow.text


def test_the_filter_is_one() -> None:
    """What a collector never does is refused: other kinds of sockets, and memory that is written and executed."""
    attempts = (
        "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
        "import mmap; mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC)",
        "import os; os.chroot('/')",
    )
    for attempt in attempts:
        done = subprocess.run(
            [*confinement(), sys.executable, "-c", attempt], capture_output=True, text=True, check=False
        )
        assert "Operation not permitted" in done.stderr or "Permission denied" in done.stderr, attempt
