"""``blendp vectors``: clients in any language, held to the vectors over their standard input and output."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from blendp.cli import BAD_PARAMETER, OUTPUT_EXISTS, REFUSED, SYSTEM
from blendp.cli.app import app
from blendp.conformance.vectors import own_vectors, read_vectors

ECHO = """
import json, sys
from blendp.conformance.calls import CALLS
from blendp.conformance.reasons import reason_of
for line in sys.stdin:
    asked = json.loads(line)
    try:
        answer = {"output": CALLS[asked["call"]](asked["input"])}
    except Exception as error:
        answer = {"refused": reason_of(error)}
    print(json.dumps({"id": asked["id"], **answer}), flush=True)
"""
"""A client made of the reference itself."""


def checked(tmp_path: Path, source: str, *options: str) -> Result:
    client = tmp_path / "client.py"
    client.write_text(source, encoding="utf-8")
    return CliRunner().invoke(app, ["vectors", "check", *options, "--", sys.executable, str(client)])


def test_a_client_that_is_right(tmp_path: Path) -> None:
    kinds = ("rank", "report", "terms", "device")
    done = checked(tmp_path, ECHO, "--json", *(f"--kind={kind}" for kind in kinds))
    total = sum(len(file.vectors) for file in read_vectors(own_vectors()) if file.kind in kinds)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"passed": total, "failed": 0, "unsupported": 0, "differing": []}


def test_a_client_that_ranks_sets_in_another_order_is_caught(tmp_path: Path) -> None:
    """The mistake of the first stranger: lexicographic ranks, which every collector used to take."""
    wrong = ECHO.replace("CALLS[asked", "WRONG[asked").replace(
        "for line",
        """
from itertools import combinations
def rank(given):
    number = list(combinations(range(given["items"]), given["size"])).index(tuple(given["members"]))
    return {"rank": str(number), "data": number.to_bytes(1, "big").hex()}
WRONG = {**CALLS, "rank": lambda given: rank(given) if given["items"] == 10 else CALLS["rank"](given)}
for line""",
        1,
    )
    done = checked(tmp_path, wrong, "--kind", "rank")
    assert done.exit_code == REFUSED
    assert "good/rank, 1, 4, 6 of 10: expected" in done.stderr
    passed, failed, unsupported = map(int, done.stdout.splitlines()[-1].split()[1:])
    assert (passed + failed, unsupported) == (18, 0)
    assert failed >= 1


def test_what_is_not_supported_is_told_and_not_passed(tmp_path: Path) -> None:
    silent = ECHO.replace('{"output": CALLS[asked["call"]](asked["input"])}', '{"unsupported": True}')
    done = checked(tmp_path, silent, "--kind", "days", "--json")
    assert done.exit_code == REFUSED
    assert {key: value for key, value in json.loads(done.stdout).items() if key != "differing"} == {
        "passed": 0,
        "failed": 0,
        "unsupported": 9,
    }


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("", "ended"),
        ("print('hello', flush=True)\ninput()", "it must be one line of JSON with the call's id, 1"),
        ('print(\'{"id": 2, "output": {}}\', flush=True)\ninput()', "call's id, 1"),
        ("import time; time.sleep(60)", "did not answer a days call within 0.5 seconds"),
    ],
    ids=["ends", "no JSON", "another id", "sleeps"],
)
def test_a_client_that_does_not_speak_the_protocol(tmp_path: Path, source: str, sentence: str) -> None:
    timeout = "0.5" if "sleep" in source else "60"
    done = checked(tmp_path, source, "--kind", "days", "--timeout", timeout)
    assert done.exit_code == SYSTEM
    assert sentence in " ".join(done.stderr.split())


def test_a_command_that_is_none() -> None:
    done = CliRunner().invoke(app, ["vectors", "check", "--", "no-such-client-anywhere"])
    assert done.exit_code == BAD_PARAMETER
    assert "a program that can be started" in " ".join(done.stderr.split())


def test_a_kind_that_is_none(tmp_path: Path) -> None:
    done = checked(tmp_path, ECHO, "--kind", "nonsense")
    assert done.exit_code == BAD_PARAMETER
    assert "nonsense" in done.stderr


def test_the_list_of_kinds() -> None:
    done = CliRunner().invoke(app, ["vectors", "list", "--json"])
    kinds = json.loads(done.stdout)["kinds"]
    assert {"group": "bad", "kind": "unrank", "call": "unrank", "rules": ["R7"], "vectors": 5} in kinds
    assert (
        f"{sum(kind['vectors'] for kind in kinds if kind['group'] == 'bad')}"
        in CliRunner().invoke(app, ["vectors", "list"]).stdout.splitlines()[-1]
    )


def test_vectors_are_not_written_over(tmp_path: Path) -> None:
    first = CliRunner().invoke(app, ["vectors", "write", str(tmp_path)])
    assert first.exit_code == 0, first.output
    assert "vectors of" in first.stderr
    assert CliRunner().invoke(app, ["vectors", "write", str(tmp_path)]).exit_code == OUTPUT_EXISTS
    assert CliRunner().invoke(app, ["vectors", "write", str(tmp_path), "--overwrite"]).exit_code == 0
