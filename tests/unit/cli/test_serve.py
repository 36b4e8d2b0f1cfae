"""``blendp serve`` as an operator meets it: a real process, what it says, and how it ends."""

from __future__ import annotations

import inspect
import io
import json
import logging
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
from blendp.service.journal import journal
from blendp.service.settings import Settings
from tests.certificates import certified

RUNNER = CliRunner()
PATH = {"PATH": os.environ.get("PATH", ""), "COLUMNS": "160", "HOME": os.environ.get("HOME", "/")}
PATH |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}


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
        for phrase in (
            f"Listens at {service.url};",
            str(tmp_path / "data"),
            "token create",
            f"BLENDP_SERVER={service.url}",
        ):
            assert phrase in people
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
    (only,) = done.stderr.splitlines()
    assert only.startswith(f"Error: 127.0.0.1:{port}: Address already in use.")
    assert list(tmp_path.iterdir()) == []


def test_a_service_without_its_database_does_not_say_that_it_listens(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "blendp", "serve", "--data", str(tmp_path / "data"), "--port", "0"]
    environment = PATH | {"BLENDP_DATABASE": f"postgresql://me@/x?host={tmp_path}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 5
    assert "Error: The database cannot be used" in done.stderr
    assert "Listens" not in done.stderr
    assert "serving" not in done.stderr


@pytest.mark.parametrize("address", ["postgresql://me:sesame@db/x", "postgresql://me@db/x?password=sesame"])
def test_a_password_on_the_command_line_is_refused_and_not_repeated(tmp_path: Path, address: str) -> None:
    for command in (
        ("serve",),
        ("token", "create", "--name", "me"),
        ("key", "list"),
        ("backup", "--out", str(tmp_path / "b.tar")),
        ("restore", str(tmp_path / "b.tar")),
    ):
        code, shown, errors = blendp(*command, "--data", str(tmp_path / "data"), "--database", address)
        assert (code, shown) == (2, "")
        assert errors.startswith("Error: --database")
        assert "BLENDP_DATABASE" in errors
        assert ".pgpass" in errors
        assert "sesame" not in errors
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_cannot_be_reached_is_one_sentence(tmp_path: Path) -> None:
    address = f"postgresql://me:sesame@/x?host={tmp_path}"
    code, shown, errors = blendp("token", "list", "--data", str(tmp_path / "data"), BLENDP_DATABASE=address)
    assert (code, shown) == (5, "")
    assert errors.startswith("Error: The database cannot be used: connection")
    assert "sesame" not in errors
    code, shown, errors = blendp("token", "list", BLENDP_DATABASE="mysql://me:sesame@db/x")
    assert code == 2
    assert "PostgreSQL" in errors
    assert "sesame" not in errors


def test_what_is_not_safe_or_cannot_work_is_refused(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    (tmp_path / "file").write_text("x")
    certificate = ("--tls-certificate", str(tmp_path / "file"), "--tls-key", str(tmp_path / "file"))
    for options, code, message in (
        (("--host", "0.0.0.0", *data), 2, "--host"),
        (("--workers", "2", *data), 2, "--workers"),
        ((*certificate, *data), 2, "--tls-certificate"),
        (("--port", "65536", *data), 2, "--port"),
        (("--tls-key", str(tmp_path / "file"), *data), 2, "--tls-certificate is missing: it must be given together"),
        (("--tls-certificate", str(tmp_path / "file"), *data), 2, "--tls-key is missing: it must be given together"),
        (("--behind-proxy", "proxy.internal", *data), 2, "--behind-proxy = 'proxy.internal'"),
        (("--behind-proxy", "*", *data), 2, "an IP address or a network, such as 10.0.0.2"),
    ):
        ended, shown, errors = blendp("serve", *options)
        assert (ended, shown) == (code, "")
        assert message in errors.splitlines()[-1]
    code, _, errors = blendp("token", "create", "--name", "me", "--data", str(tmp_path / "file" / "below"))
    assert code == 5
    assert "file/below: Not a directory" in errors
    (tmp_path / "collector.db").write_text("this is no database, whatever its name says")
    assert blendp("token", "list", "--data", str(tmp_path)) == (
        5,
        "",
        "Error: The database cannot be used: file is not a database.\n",
    )


def test_what_is_logged_while_serving_is_not_printed_by_other_commands(tmp_path: Path) -> None:
    """Neither by a process of its own, nor in one that has served."""
    (tmp_path / "collector.db").write_text("this is no database, whatever its name says")
    tmp_path.chmod(0o700)
    command = [sys.executable, "-m", "blendp", "token", "list", "--data", str(tmp_path)]
    done = subprocess.run(command, env=PATH, capture_output=True, text=True, check=False)
    assert done.stderr == "Error: The database cannot be used: file is not a database.\n"
    served = logging.StreamHandler(io.StringIO())
    with journal():
        logging.getLogger("blendp.service").addHandler(served)
    logging.getLogger("blendp.service").warning("the database cannot be used")
    assert served.stream.getvalue() == ""
    assert served not in logging.getLogger().handlers


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


def test_an_authority_of_ones_own_is_named_in_the_environment(tmp_path: Path) -> None:
    certificate, key = certified(tmp_path)
    tls = ("--tls-certificate", str(certificate), "--tls-key", str(key))
    with Service(tmp_path / "data", *tls) as service:
        look = ("client", "look", "trends", "--trust-on-first-use", "--device", str(tmp_path / "device"))
        for command in (("campaign", "list"), look):
            code, shown, errors = blendp(*command, "--server", service.url, BLENDP_CA="")
            assert (code, shown) == (5, "")
            assert "its certificate is not trusted by this machine (self-signed certificate" in errors
            assert errors.endswith("): name the authority's PEM file in BLENDP_CA.\n")
            code, _, errors = blendp(*command, "--server", service.url, BLENDP_CA=str(key))
            assert code == 2
            assert "BLENDP_CA = " in errors
            code, _, errors = blendp(*command, "--server", service.url, BLENDP_CA=str(tmp_path / "none"))
            assert (code, "No such file" in errors) == (2, True)
        told_nothing = (0, "There is no campaign yet.\n", "")
        assert blendp("campaign", "list", "--server", service.url, BLENDP_CA=str(certificate)) == told_nothing
        code, _, errors = blendp(*look, "--server", service.url, BLENDP_CA=str(certificate))
        assert code == 2
        assert "campaign = 'trends'" in errors


def test_a_certificate_of_another_address_is_no_matter_of_authorities(tmp_path: Path) -> None:
    certificate, key = certified(tmp_path, "127.0.0.2")
    with Service(tmp_path / "data", "--tls-certificate", str(certificate), "--tls-key", str(key)) as service:
        code, _, errors = blendp("campaign", "list", "--server", service.url, BLENDP_CA=str(certificate))
    assert code == 5
    assert "IP address mismatch" in errors
    assert errors.endswith("check its address and its certificate.\n")


def test_a_backup_takes_the_place_of_an_earlier_one_when_told(tmp_path: Path) -> None:
    data, out = ("--data", str(tmp_path / "data")), tmp_path / "b.tar"
    assert blendp("token", "create", "--name", "me", *data)[0] == 0
    out.write_text("an earlier one")
    code, _, errors = blendp("backup", *data, "--out", str(out))
    assert code == 4
    assert "--overwrite" in errors
    assert out.read_text() == "an earlier one"
    code, shown, _ = blendp("backup", *data, "--out", str(out), "--overwrite")
    assert (code, shown) == (0, f"Backup in {out}.\n")
    assert out.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar", "data"]
    code, _, errors = blendp("restore", str(tmp_path / "none"), *data)
    assert (code, errors) == (2, f"Error: {tmp_path / 'none'} does not exist (FILE).\n")
