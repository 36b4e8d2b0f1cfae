"""Clients that share no code with the package, held to all vectors: what they cannot do, they say."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from blendp.conformance.check import FAILED, PASSED, UNSUPPORTED, findings, started
from blendp.conformance.vectors import own_vectors, read_vectors

ROOT = Path(__file__).parents[3]
NODE = shutil.which("node", path=f"{ROOT / '.venv/node/bin'}{os.pathsep}{os.environ.get('PATH', '')}")
CLIENTS = {
    "independent": [sys.executable, str(Path(__file__).with_name("independent_client.py"))],
    "TypeScript": [str(NODE), str(ROOT / "clients/js/test/responder.mjs")],
}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_that_answers_everything(name: str) -> None:
    with started(CLIENTS[name], 120.0) as subject:
        wrong = [one for one in findings(subject, read_vectors(own_vectors())) if one.outcome != PASSED]
    assert wrong == []


def test_a_client_of_few_lines_makes_reports() -> None:
    """It has no device and checks no documents; all else it does as everybody."""
    with started([sys.executable, str(ROOT / "examples/second_client.py")], 120.0) as subject:
        done = list(findings(subject, read_vectors(own_vectors())))
    assert [one for one in done if one.outcome == FAILED] == []
    able = {one.kind for one in done if one.outcome == PASSED}
    assert able >= {
        "envelope",
        "normal-form",
        "records",
        "cell",
        "subset",
        "apart",
        "two-stage",
        "rank",
        "scheme",
        "report",
    }
    assert able.isdisjoint(one.kind for one in done if one.outcome == UNSUPPORTED)


def test_the_independent_clients_know_nothing_of_the_package() -> None:
    for path in (ROOT / "examples/second_client.py", Path(CLIENTS["independent"][1])):
        assert "import blendp" not in path.read_text(encoding="utf-8")
        assert "from blendp" not in path.read_text(encoding="utf-8")
