"""A machine as docs/operations.md describes it, in a folder: programs, data, and a collector that runs or not.

Commands of the page run as they stand there, in a shell. Only folders and ports are others, and what the page says to
``systemctl`` is done here. ``blendp``, of this version or another, is forked from a process that has loaded it, which
saves the time to load it again.
"""

from __future__ import annotations

import datetime
import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from blendp.client import Collector, Consent, Device
from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
from blendp.wire import VerifyKey
from tests.forked import SHELL_FUNCTION, parent_of_collectors, shell_environment
from tests.operations.versions import install
from tests.ports import free_pair
from tests.service.helpers import enrolment_body
from tests.service.postgres import Postgres
from tests.support import WHO

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
CAMPAIGN = "trends"
_WAIT_SECONDS = 60.0
_PEOPLE, _RECORDS = 120, 12


def commands(heading: str) -> list[str]:
    """The shell blocks under a heading of the page, as far as the next one; a command over two lines is one."""
    text = re.sub(r" *\\\n *", " ", PAGE.read_text(encoding="utf-8"))
    parts = re.split(r"^#+ (.+)$", text, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    return re.findall(r"```sh\n(.*?)```", sections[heading], flags=re.DOTALL)


def record(person: int) -> tuple[str, str]:
    """What a person looked for."""
    return f"query {person % _RECORDS}", f"http://site{person % _RECORDS}.example"


class Machine:
    """One machine with a collector on it."""

    def __init__(self, folder: Path, postgres: Postgres | None = None) -> None:
        self._postgres = postgres
        self.folder = folder
        self.data = folder / "var/lib/blendp"
        self.settings = Settings(self.data, None if postgres is None else postgres.new_database())
        self.environment = {
            "PATH": f"{folder}/opt/blendp/bin:{os.environ['PATH']}",
            "COLUMNS": "200",
            "HOME": str(folder),
        }
        if self.settings.database is not None:
            self.environment["BLENDP_DATABASE"] = self.settings.database
        self.ports = dict(zip(("8321", "8322"), map(str, free_pair()), strict=True))
        self.url = f"http://127.0.0.1:{self.ports['8321']}"
        self.environment["BLENDP_SERVER"] = self.url
        self._process: subprocess.Popen[bytes] | None = None
        for made_by_kit in ("var/lib/blendp-backup", "etc/blendp"):
            (folder / made_by_kit).mkdir(parents=True)
        install(folder / "opt/blendp-old")
        (folder / "opt/blendp").symlink_to(folder / "opt/blendp-old")

    def change_database(self) -> None:
        """Go on with an empty database of PostgreSQL."""
        assert self._postgres is not None
        self.environment["BLENDP_DATABASE"] = self._postgres.new_database()

    def prepare(self, name: str = CAMPAIGN, *, publish: bool = True) -> None:
        """A campaign, an operator's token and a note of the public key; the list is published unless it shall not."""
        collector = CollectorService.open(self.settings)
        today = collector.clock()
        days = {name: (today + datetime.timedelta(days=after)).isoformat() for name, after in _DAYS.items()}
        minimums = {"min_opt_in": 100, "min_clients": 2, "expected_clients": 10}
        one_each = {"opt_in_records": 1}  # no noisy mean decides how the list is made
        fields = {"campaign": name, "title": "What is asked", **WHO, **days, **minimums, **one_each, "delta": 1e-4}
        terms = collector.lifecycle.create(fields)
        for person, token in enumerate(collector.opt_in.enrol(name, _PEOPLE)):
            query, url = record(person)
            collector.opt_in.receive(name, token, enrolment_body(terms, [{"query": query, "url": url}]))
        if publish:
            collector.lifecycle.publish(name)
        self.environment["BLENDP_TOKEN"] = collector.tokens.create("me")
        self.key = collector.keys.known()[-1].public
        collector.close()

    def device(self, name: str, *, knows: str | None = None, days_ahead: int = 0) -> Device:
        """A person's device, which knows the collector's first key, or another, and whose clock may be ahead."""
        collector = Collector(self.url, keys=[VerifyKey.of_text(knows or self.key)])
        return Device(self.folder / name, collector, clock=lambda: time.time() + 86_400 * days_ahead)

    def report(self, name: str, **device: Any) -> None:
        """A device takes part, and its report is acknowledged."""
        with self.device(name, **device) as own:
            own.set_consent(Consent.LOCAL)
            own.take_part(CAMPAIGN, [record(len(name))])
            sent = own.send()
        assert sent.sent == 1, sent

    def run(self, script: str, *, code: int = 0) -> str:
        """Run commands of the page; what they print and say."""
        printed = ""
        for of_system, lines in groupby(self._placed(script).splitlines(), lambda line: line.startswith("systemctl ")):
            if not of_system:
                printed += self._shell("\n".join(lines), code)
                continue
            for line in lines:
                {"start": self.start, "stop": self.stop}[line.split()[1]]()
        return printed

    def _placed(self, script: str) -> str:
        for old, new in {
            "/opt/": f"{self.folder}/opt/",
            "/var/lib/": f"{self.folder}/var/lib/",
            "/etc/": f"{self.folder}/etc/",
            **self.ports,
        }.items():
            script = re.sub(rf"(?<![\w.-]){re.escape(old)}", new, script)
        return script

    def _shell(self, line: str, code: int) -> str:
        done = subprocess.run(
            ["bash", "-ec", SHELL_FUNCTION + line],
            cwd=self.folder,
            env={**self.environment, **shell_environment(parent_of_collectors())},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == code, f"{line}\n{done.stdout}"
        return done.stdout

    def start(self, *options: str) -> None:
        """What systemd does."""
        program, log = str(self.folder / "opt/blendp/bin/blendp"), self.folder / "log"
        command = [program, "serve", "--data", str(self.data), "--port", self.ports["8321"], "--rate", "0", *options]
        with log.open("wb") as file:
            self._process = subprocess.Popen(command, env=self.environment, stderr=file)
        until = time.monotonic() + _WAIT_SECONDS
        while "startup complete" not in log.read_text():
            assert self._process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.02)

    def stop(self) -> None:
        """What systemd does."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(30)
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


_DAYS = {"opens": -1, "opt_in_until": 30, "reports_until": 60}
