"""What deploy/README.md tells to do works, below a folder of its own; and whoever has the source has the kit."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from blendp.service.settings import Settings
from tests.deploy.tools import KIT, ROOT, tool
from tests.docs.test_docs import blocks

README = KIT / "README.md"
LINES = [line for block in blocks(README, "sh") for line in re.split(r"\n(?!BLENDP_|END)", block.strip())]

ELSEWHERE = ("apt-get install", "/opt/blendp-0.1/bin/pip", "runuser", "systemctl daemon-reload", "nginx -t", "promtool")
"""What needs a network, an account or another program's service; their files and options are tested elsewhere."""

RUNNING = ("systemctl restart", "systemctl reload")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder in ("etc/nginx/sites-enabled", "opt"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def below(root: Path, line: str) -> str:
    """A command about a machine's files as one about those below a folder."""
    line = line.replace("systemd-sysusers ", f"systemd-sysusers --root={root} ")
    line = line.replace("systemctl enable --now", f"systemctl --root={root} enable")
    line = line.replace("python3 -m venv", "python3 -m venv --without-pip")
    line = re.sub(r" (/etc/|/opt/)", rf" {root}\1", line)
    kept = line.replace(f" {root}/etc/", "").replace(f" {root}/opt/", "").replace(str(root), "")
    assert not re.search(r"/(etc|opt|var|usr)/", kept), kept
    return line


def test_the_commands_put_every_file_into_its_folder(root: Path) -> None:
    lines = [line for line in LINES if not line.startswith((*ELSEWHERE, *RUNNING))]
    assert len(lines) >= 10
    environment = {"PATH": f"{os.environ['PATH']}:/usr/sbin"}
    for line in lines:
        command = ["bash", "-euc", below(root, line)]
        done = subprocess.run(command, cwd=KIT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    installed = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() or path.is_symlink()}
    for name in (
        "etc/systemd/system/blendp-collector.service",
        "etc/systemd/system/blendp-backup.service",
        "etc/systemd/system/blendp-.service.d/hardening.conf",
        "etc/systemd/system/timers.target.wants/blendp-backup.timer",
        "etc/nginx/sites-enabled/blendp.conf",
        "etc/caddy/Caddyfile",
        "etc/prometheus/rules/alerts.yml",
    ):
        assert name in installed, name
    assert (root / "etc/blendp/collector.env").stat().st_mode & 0o777 == 0o600


def test_the_databases_that_are_shown_are_accepted(tmp_path: Path) -> None:
    addresses = re.findall(r"BLENDP_DATABASE=([^\s`]+)", README.read_text())
    assert len(addresses) == 2
    for address in addresses:
        Settings(tmp_path, database=address, workers=4)


def test_every_file_of_the_kit_is_described() -> None:
    text = README.read_text()
    for path in (path for path in KIT.rglob("*") if path.is_file() and path != README):
        name = path.relative_to(KIT).as_posix()
        assert any(part in text for part in (f"`{name}`", f"`{Path(name).parent}/`", f"`{path.suffix}`")), name
        assert path.suffix == ".json" or path.read_text().startswith("# "), "each says what it is"


def test_the_kit_is_in_the_source_archive(tmp_path: Path) -> None:
    command = [tool("hatchling"), "build", "--target", "sdist", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        packed = {name.partition("/")[2] for name in files.getnames()}
    assert {path.relative_to(ROOT).as_posix() for path in KIT.rglob("*") if path.is_file()} <= packed
