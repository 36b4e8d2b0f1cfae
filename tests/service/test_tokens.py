"""Operators' tokens: shown once, hashed, scoped, revocable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from blendp.errors import ParameterError
from blendp.service.collector import CollectorService
from blendp.service.tokens import OperatorTokens, enrolment_hash, new_enrolment_token
from tests.service.helpers import open_collector


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[CollectorService]:
    opened = open_collector(tmp_path)
    yield opened
    opened.close()


def test_a_token_has_its_scopes_until_it_is_revoked(collector: CollectorService) -> None:
    token = collector.tokens.create("Ana", ("release", "read"))
    assert collector.tokens.scopes_of(token) == ("read", "release")
    (known,) = collector.tokens.all()
    assert (known.name, known.scopes, known.revoked) == ("Ana", ("read", "release"), None)
    assert collector.tokens.revoke(known.id)
    assert not collector.tokens.revoke(known.id)
    assert collector.tokens.scopes_of(token) is None
    assert collector.tokens.all()[0].revoked == "2026-11-16"


def test_a_token_revoked_elsewhere_is_worthless_here(collector: CollectorService) -> None:
    token = collector.tokens.create("Ana")
    elsewhere = OperatorTokens(collector.store, collector.clock)
    assert elsewhere.scopes_of(token)
    collector.tokens.revoke(collector.tokens.all()[0].id)
    assert elsewhere.scopes_of(token) is None


def test_nothing_but_the_token_itself_passes(collector: CollectorService) -> None:
    token = collector.tokens.create("Ana")
    other = collector.tokens.create("Ben")
    mixed = token[:23] + other[23:]
    for turn in range(2):
        for wrong in (mixed, token[:-1], token + "0", token.upper(), "", "blendp-op-" + "0" * 12 + "-" + "0" * 64):
            assert collector.tokens.scopes_of(wrong) is None, (turn, wrong)
        assert collector.tokens.scopes_of(token), "and after it was proved, still nothing else"


def test_the_store_knows_hashes_alone(collector: CollectorService, tmp_path: Path) -> None:
    token = collector.tokens.create("Ana")
    secret = token.rpartition("-")[2].encode()
    for path in (tmp_path / "data").rglob("*"):
        assert path.is_dir() or secret not in path.read_bytes()
    assert secret.decode() not in repr(collector)
    with collector.store.reading() as connection:
        assert connection.exec_driver_sql("SELECT hash FROM operator_token").scalar_one().startswith("$argon2id$")


@pytest.mark.parametrize(("name", "scopes"), [("", ("read",)), ("a\nb", ("read",)), ("Ana", ()), ("Ana", ("all",))])
def test_bad_names_and_scopes_are_refused(name: str, scopes: tuple[str, ...], collector: CollectorService) -> None:
    with pytest.raises(ParameterError):
        collector.tokens.create(name, scopes)


def test_enrolment_tokens_are_known_by_their_hash() -> None:
    token = new_enrolment_token()
    assert enrolment_hash(token) not in (None, enrolment_hash(new_enrolment_token()))
    assert enrolment_hash(token + "0") is None
