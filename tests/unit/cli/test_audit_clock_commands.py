"""``blendp campaign audit`` and ``blendp clock`` as an operator meets them, against a real collector."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from blendp.service.clock import utc_today
from tests.unit.cli.test_campaign_commands import DATES
from tests.unit.cli.test_serve import Service, blendp

WHO = ("--organisation", "Example", "--purpose", "to see that it works", "--contact", "me@example.org")


@pytest.fixture(scope="module")
def operator_env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of an operator, who has created and deleted a campaign, and made a backup."""
    folder = tmp_path_factory.mktemp("collector")
    data = ("--data", str(folder / "data"))
    with Service(folder / "data") as service:
        code, token, _ = blendp("token", "create", "--name", "=alice", *data)
        assert code == 0
        environment = {"BLENDP_SERVER": service.url, "BLENDP_TOKEN": token.strip()}
        for arguments in (
            ("campaign", "create", "trends", "--title", "Searches", *DATES, *WHO),
            ("campaign", "create", "other", "--title", "Others", *DATES, *WHO),
            ("campaign", "delete", "trends", "--yes"),
            ("backup", "--out", str(folder / "backup"), *data),
        ):
            code, _, errors = blendp(*arguments, **environment)
            assert code == 0, errors
        yield environment


def test_audit_shows_who_did_what(operator_env: dict[str, str]) -> None:
    code, shown, _ = blendp("campaign", "audit", **operator_env)
    assert code == 0
    header, *rows = shown.splitlines()
    assert header.split() == ["time", "who", "act", "campaign", "outcome", "detail"]
    acts = [word for row in rows if "=alice" in row for word in ("delete", "create") if word in row.split()]
    assert acts == ["delete", "create", "create"]
    assert "backup" in rows[0]
    assert "local" in rows[0]
    assert operator_env["BLENDP_TOKEN"] not in shown


def test_audit_of_one_campaign_for_programs(operator_env: dict[str, str]) -> None:
    code, shown, _ = blendp("campaign", "audit", "trends", "--json", **operator_env)
    assert code == 0
    entries = json.loads(shown)["entries"]
    assert [(one["act"], one["name"], one["outcome"]) for one in entries] == [
        ("delete", "=alice", "done"),
        ("create", "=alice", "done"),
    ]


def test_audit_is_exported_without_formulas(operator_env: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "audit.csv"
    code, shown, _ = blendp("campaign", "audit", "--csv", str(file), **operator_env)
    assert (code, shown) == (0, f"5 acts in {file}.\n")
    with file.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert [row["act"] for row in rows] == ["backup", "delete", "create", "create", "create-token"]
    assert rows[1]["name"] == "'=alice"
    assert blendp("campaign", "audit", "--csv", str(file), **operator_env)[0] == 4
    assert blendp("campaign", "audit", "--csv", str(file), "--max-entries", "2", "--overwrite", **operator_env)[0] == 0
    assert len(file.read_text(encoding="utf-8").splitlines()) == 3


def test_audit_refuses_what_cannot_be(operator_env: dict[str, str]) -> None:
    assert blendp("campaign", "audit", "--max-entries", "0", **operator_env)[0] == 2
    assert blendp("campaign", "audit", "NOT A NAME", **operator_env)[0] == 2
    code, _, errors = blendp("campaign", "audit", "never-was", **operator_env)
    assert (code, errors) == (6, "Error: There is no campaign 'never-was', nor was there one.\n")


def test_clock_is_shown_and_confirmed(operator_env: dict[str, str]) -> None:
    today = utc_today().isoformat()
    assert blendp("clock", "show", **operator_env) == (0, f"The collector goes by {today}.\n", "")
    assert json.loads(blendp("clock", "show", "--json", **operator_env)[1]) == {
        "day": today,
        "system": today,
        "doubt": None,
    }
    assert blendp("clock", "accept", today, **operator_env) == (0, f"The collector goes by {today}.\n", "")
    code, _, errors = blendp("clock", "accept", "2001-01-01", **operator_env)
    assert code == 6
    assert "not 2001-01-01" in errors
