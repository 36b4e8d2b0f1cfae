"""``blendp token`` and ``blendp key`` as an operator meets them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
from blendp.wire import VerifyKey
from tests.unit.cli.test_serve import blendp


def create(data: Path, *options: str) -> str:
    code, shown, errors = blendp("token", "create", "--data", str(data), *options)
    assert code == 0, errors
    assert "this once" in errors
    assert "Made a new collector in" in errors
    return shown


def test_a_token_is_shown_once_and_kept_nowhere(tmp_path: Path) -> None:
    data = tmp_path / "data"
    shown = create(data, "--name", "alice")
    match = re.fullmatch(r"blendp-op-([0-9a-f]{12})-([0-9a-f]{64})\n", shown)
    assert match is not None
    token_id, secret = match.groups()
    stored = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    assert token_id.encode() in stored
    assert b"$argon2id$" in stored
    assert secret.encode() not in stored
    assert bytes.fromhex(secret) not in stored
    _, listed, _ = blendp("token", "list", "--data", str(data))
    assert token_id in listed
    assert secret not in listed
    collector = CollectorService.open(Settings(data))
    assert collector.tokens.scopes_of(shown.strip()) == ("read", "manage", "release")
    collector.close()


def test_tokens_are_listed_and_revoked(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    token = create(tmp_path / "data", "--name", "[bold]eve", "--scope", "read", "--scope", "release").strip()
    token_id = token.split("-")[2]
    (listed,) = json.loads(blendp("token", "list", *data, "--json")[1])["tokens"]
    assert (listed["id"], listed["name"]) == (token_id, "[bold]eve")
    assert listed["scopes"] == ["read", "release"]
    assert listed["revoked"] is None
    assert blendp("token", "revoke", token_id, *data) == (0, f"Token {token_id} is revoked.\n", "")
    code, shown, errors = blendp("token", "revoke", token_id, *data)
    assert (code, shown) == (2, "")
    assert "not revoked" in errors
    _, shown, _ = blendp("token", "list", *data)
    header, row = shown.splitlines()
    assert header.split() == ["id", "name", "scopes", "created", "revoked"]
    assert not row.rstrip().endswith("no")
    collector = CollectorService.open(Settings(tmp_path / "data"))
    assert collector.tokens.scopes_of(token) is None
    collector.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--name", "x", "--scope", "read", "--scope", "rEAD"),
            "Error: --scope = 'rEAD' is not allowed: it must be one",
        ),
        (("--name", "x", "--scope", "admin"), "read, manage, release"),
        (("--name", ""), "name"),
    ],
)
def test_a_wrong_scope_or_name_makes_no_token(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    code, shown, errors = blendp("token", "create", "--data", str(tmp_path / "data"), *options)
    assert (code, shown) == (2, "")
    assert message in errors


def test_only_a_new_collector_is_told_of(tmp_path: Path) -> None:
    create(tmp_path / "data", "--name", "me")
    code, _, errors = blendp("token", "create", "--data", str(tmp_path / "data"), "--name", "you")
    assert code == 0
    assert "new collector" not in errors


def test_keys_are_shown_and_rotated(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "data"))
    create(tmp_path / "data", "--name", "me")
    (first,) = json.loads(blendp("key", "list", *data, "--json")[1])["keys"]
    assert VerifyKey.of_text(first["key"]).id == first["id"]
    assert first["until"] is None
    code, shown, errors = blendp("key", "rotate", "--overlap-days", "7", *data)
    assert code == 0
    assert first["key"] in errors
    new = shown.strip()
    old, newest = json.loads(blendp("key", "list", *data, "--json")[1])["keys"]
    assert (old["key"], newest["key"]) == (first["key"], new)
    assert old["until"] > old["since"]
    code, shown, _ = blendp("key", "list", *data, COLUMNS="60")
    assert [line.split()[0] for line in shown.splitlines()] == ["id", old["id"], old["key"], newest["id"], new]
    assert max(map(len, shown.splitlines())) < 80
    private = [path.read_text().strip() for path in (tmp_path / "data" / "keys").iterdir()]
    assert len(private) == 2
    assert not [key for key in private if key in shown]
    code, _, errors = blendp("key", "rotate", "--overlap-days", "-1", *data)
    assert code == 2
    assert "--overlap-days" in errors


def test_a_folder_without_a_collector_is_refused_and_not_made(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path / "nothing"))
    for command in (("token", "list"), ("token", "revoke", "x"), ("key", "list"), ("key", "rotate")):
        code, shown, errors = blendp(*command, *data)
        assert (code, shown) == (2, "")
        assert "blendp serve" in errors
    assert list(tmp_path.iterdir()) == []
