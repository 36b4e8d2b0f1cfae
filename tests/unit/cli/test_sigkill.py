"""A run that is killed, at whatever moment, leaves the earlier release or the new one, whole."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

from blendp.render.release.names import FILES
from tests.forked import Command, parent

KILLS = 27
"""How many runs are killed, two of three at a random moment, the third as soon as it writes."""

RUN = "run log.csv --opt-in 0.2 --size 10 --overwrite --out release"


class Runs:
    """Runs in a folder, a process each, whose modules are loaded: so a kill strikes a run, not their loading."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self) -> Command:
        with Path(os.devnull).open("r+b") as nothing:
            environment = {**os.environ, "TMPDIR": str(self.folder / "tmp")}
            return parent().start(RUN.split(), self.folder, environment, [nothing] * 3)

    def hidden(self) -> list[str]:
        return [name for name in os.listdir(self.folder) if name.startswith(".")]  # noqa: PTH208

    def temporary(self) -> list[str]:
        return os.listdir(self.folder / "tmp")  # noqa: PTH208


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    (tmp_path / "tmp").mkdir()
    people = "".join(f"u{i},q{i % 7},http://x{i % 5}.com\n" for i in range(5_000))
    (tmp_path / "log.csv").write_text("user,query,url\n" + people)
    return Runs(tmp_path)


def read_whole(release: Path) -> dict[str, bytes]:
    """The bytes of a release, which must be complete."""
    files = {path.name: path.read_bytes() for path in release.iterdir()}
    assert sorted(files) == sorted(FILES)
    card = json.loads(files["release.json"])
    assert card["head_list"]["sha256"] == hashlib.sha256(files["head_list.json"]).hexdigest()
    records = list(csv.DictReader(files["estimates.csv"].decode().splitlines()))
    assert [row["query"] for row in records][-1] == "*"
    assert list(csv.DictReader(files["trends.csv"].decode().splitlines()))[-1]["query"] == "*"
    assert files["report.html"].rstrip().endswith(b"</html>")
    return files


def test_a_kill_at_any_moment(runs: Runs) -> None:
    chance = random.Random(5)
    release = runs.folder / "release"
    for _ in range(2):
        begun = time.monotonic()
        assert runs.start().wait(60) == 0
    duration = time.monotonic() - begun
    earlier = read_whole(release)
    seen = {"killed": 0, "earlier": 0, "new": 0, "leftover": 0}
    for turn in range(3 * KILLS):
        before = runs.hidden()
        process = runs.start()
        if turn % 3:
            process.ends_within(chance.uniform(0, 1.05 * duration))
        else:
            while runs.hidden() in ([], before) and not process.ends_within(0):
                time.sleep(0.0005)
            time.sleep(chance.uniform(0, 0.1 * duration))
        process.kill()
        struck = process.wait(60) == -signal.SIGKILL
        seen["killed"] += struck
        duration *= 1.03 if struck else 0.8  # other work comes and goes, and runs with it are slower
        now = read_whole(release)
        seen["earlier" if now == earlier else "new"] += 1
        seen["leftover"] += bool(runs.hidden())
        assert len(runs.hidden()) <= 1, "a run removes what the one before left"
        assert len(runs.temporary()) <= 1
        earlier = now
        if seen["killed"] >= KILLS and all(seen.values()):
            break
    else:
        pytest.fail(f"the kills do not strike: {seen}")
    assert runs.start().wait(60) == 0
    assert read_whole(release) != earlier
    assert sorted(path.name for path in runs.folder.iterdir()) == ["log.csv", "release", "tmp"]
    assert runs.temporary() == []
