"""The programs that deploy/ is for, as Debian packages them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KIT = ROOT / "deploy"
_FOLDERS = (*(f"{sys.prefix}/{name}" for name in ("tools", "bin", "node/bin")), os.environ.get("PATH", ""), "/usr/sbin")


def tool(name: str) -> str:
    """Where a program is."""
    path = shutil.which(name, path=os.pathsep.join(_FOLDERS))
    assert path is not None, f"{name} is missing: run scripts/setup dev"
    return path


def run_tool(name: str, *arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """What a program says, and how it ends."""
    command = [tool(name), *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=120)


def require_success(name: str, *arguments: str | Path, cwd: Path = ROOT) -> str:
    """What a program says that must succeed."""
    done = run_tool(name, *arguments, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def replaced(text: str, changes: dict[str, str]) -> str:
    """A shipped file with a few of its words changed; each must be there."""
    for old, new in changes.items():
        assert old in text, f"the shipped file no longer says: {old}"
        text = text.replace(old, new)
    return text
