"""``blendp serve`` as an operator meets it: a real process, what it says, and how it ends."""

from __future__ import annotations

import inspect
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from blendp.cli.app import app
from blendp.cli.serve import serve
from blendp.service.settings import Settings

RUNNER = CliRunner()
PATH = {"PATH": os.environ.get("PATH", ""), "COLUMNS": "160", "HOME": os.environ.get("HOME", "/")}


def blendp(*arguments: str, **environment: str) -> tuple[int, str, str]:
    """A command in this process: exit code, standard output, standard error."""
    done = RUNNER.invoke(app, arguments, env={"COLUMNS": "160", "BLENDP_DATABASE": None, **environment})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


class Service:
    """A collector in a process of its own, on a free port."""

    def __init__(self, data: Path, *options: str, **environment: str) -> None:
        self.data = data
        command = [sys.executable, "-m", "blendp", "serve", "--data", str(data), "--port", "0", *options]
        self.process = subprocess.Popen(command, env=PATH | environment, stderr=subprocess.PIPE, text=True)
        self.said = [""]
        while not self.said[-1].startswith("{"):
            self.said.append(self.line())
        self.url: str = json.loads(self.said[-1])["url"]
        while "startup complete" not in self.said[-1]:
            self.said.append(self.line())

    def line(self) -> str:
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert line, f"the collector did not start: {self.said}"
        return line

    def stop(self, sign: signal.Signals = signal.SIGTERM) -> tuple[int, list[str]]:
        """The exit code, and what was said since."""
        self.process.send_signal(sign)
        _, rest = self.process.communicate(timeout=20)
        return self.process.returncode, rest.splitlines()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_serve_tells_people_first_and_ends_well(tmp_path: Path, sign: signal.Signals) -> None:
    with Service(tmp_path / "data") as service:
        people = "".join(line for line in service.said if not line.startswith("{"))
        for words in ("Listens at a free port of 127.0.0.1", str(tmp_path / "data"), "token create", "campaign create"):
            assert words in people
        assert httpx.get(f"{service.url}/health/ready").json() == {"ready": True}
        assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
        code, lines = service.stop(sign)
    assert code == 0
    assert [json.loads(line)["event"] for line in lines][-1] == "stopped"


def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "blendp", "serve", "--data", str(tmp_path / "data"), "--port", port]
        done = subprocess.run(command, env=PATH, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 5
    *_, last = done.stderr.splitlines()
    assert last.startswith(f"Error: 127.0.0.1:{port}: Address already in use.")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("address", ["postgresql://me:sesame@db/x", "postgresql://me@db/x?password=sesame"])
def test_a_password_on_the_command_line_is_refused_and_not_repeated(tmp_path: Path, address: str) -> None:
    for command in (
        ("serve",),
        ("token", "create", "--name", "me"),
        ("key", "list"),
        ("backup", "--out", str(tmp_path / "b.tar")),
        ("restore", str(tmp_path / "b.tar")),
    ):
        code, shown, told = blendp(*command, "--data", str(tmp_path / "data"), "--database", address)
        assert (code, shown) == (2, "")
        assert told.startswith("Error: --database")
        assert "BLENDP_DATABASE" in told
        assert ".pgpass" in told
        assert "sesame" not in told
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_cannot_be_reached_is_one_sentence(tmp_path: Path) -> None:
    address = f"postgresql://me:sesame@/x?host={tmp_path}"
    code, shown, told = blendp("token", "list", "--data", str(tmp_path / "data"), BLENDP_DATABASE=address)
    assert (code, shown) == (5, "")
    assert told.startswith("Error: The database cannot be used: connection")
    assert "sesame" not in told
    code, shown, told = blendp("token", "list", BLENDP_DATABASE="mysql://me:sesame@db/x")
    assert code == 2
    assert "PostgreSQL" in told
    assert "sesame" not in told


def test_what_is_not_safe_or_cannot_work_is_refused(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    (tmp_path / "file").write_text("x")
    certificate = ("--tls-certificate", str(tmp_path / "file"), "--tls-key", str(tmp_path / "file"))
    for options, code, words in (
        (("--host", "0.0.0.0", *data), 2, "--host"),
        (("--workers", "2", *data), 2, "--workers"),
        ((*certificate, *data), 2, "--tls-certificate"),
        (("--port", "65536", *data), 2, "--port"),
    ):
        ended, shown, told = blendp("serve", *options)
        assert (ended, shown) == (code, "")
        assert words in told.splitlines()[-1]
    code, _, told = blendp("token", "create", "--name", "me", "--data", str(tmp_path / "file" / "below"))
    assert code == 5
    assert "file/below: Not a directory" in told
    (tmp_path / "collector.db").write_text("this is no database, whatever its name says")
    assert blendp("token", "list", "--data", str(tmp_path)) == (
        5,
        "",
        "Error: The database cannot be used: file is not a database.\n",
    )


def test_defaults_are_those_of_the_settings() -> None:
    options: dict[str, Any] = {name: one.default for name, one in inspect.signature(serve).parameters.items()}
    assert set(options) == {field.name for field in fields(Settings)}
    for field in fields(Settings):
        if field.name != "data":
            assert options[field.name] == field.default


def test_help_does_not_load_the_service() -> None:
    code = (
        "import sys, blendp.cli.app; print(sorted({'uvicorn', 'sqlalchemy', 'starlette', 'httpx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=PATH, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
