"""Whether a device reports or enrols does not depend on its records; what cannot be used is as if not there."""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from blendp.client import Consent, Device, Policy
from blendp.client.personal import campaign_records
from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.randomness import Random, ReleaseRandom
from blendp.texts import MAX_TEXT_BYTES
from blendp.wire import Terms
from blendp.wire.messages import MAX_BODY_BYTES
from tests.support import Branch, branches
from tests.unit.client.fake_collector import CAMPAIGN, TERMS, TOKEN, Clock, FakeCollector

GROWS = "\u023a" * (MAX_TEXT_BYTES // 2)
"""Each of its letters takes a byte more in lower case: it is too long only as the campaign spells it."""

UNUSABLE: dict[str, Any] = {
    "no query": ("", "http://a"),
    "blank query": (" \t\u2003", "http://a"),
    "query too long": ("q" * (MAX_TEXT_BYTES + 1), "http://a"),
    "query too long once normalised": (GROWS, "http://a"),
    "query with a NUL": ("a\0b", "http://a"),
    "query that is no text": ("\ud800", "http://a"),
    "query that is a number": (7, "http://a"),
    "query that is nothing": (None, None),
    "a text": "ab",
    "a number": 7,
    "nothing": None,
    "one field": ("a",),
    "three fields": ("a", "http://a", "b"),
    "an object": {"query": "a", "url": "http://a"},
}
WITHOUT_URL: dict[str, Any] = {
    "no URL": ("query 1", None),
    "empty URL": ("query 1", ""),
    "URL of a fragment": ("query 1", " #top"),
    "URL too long": ("query 1", "http://" + "a" * MAX_TEXT_BYTES),
    "URL too long once normalised": ("query 1", f"http://{GROWS[:-4]}"),
    "URL with a NUL": ("query 1", "http://\0"),
    "URL that is a number": ("query 1", 7),
}
KINDS = [(levels, kind) for levels in (1, 2) for kind in (*UNUSABLE, *(WITHOUT_URL if levels == 2 else ()))]
METHODS = ("blendp", "published")


def campaign(levels: int, method: str = "blendp") -> FakeCollector:
    """A campaign about a list of three queries."""
    terms = dataclasses.replace(TERMS, levels=levels, method=method, epsilon=1.0, participation=0.5)
    records = [(f"query {i}", f"http://{i}.org" if levels == 2 else None) for i in range(3)]
    return FakeCollector(terms, HeadList.of_records(records, levels=levels))


def record(kind: str) -> Any:
    return {**UNUSABLE, **WITHOUT_URL}[kind]


class ReleaseBranch(Branch, ReleaseRandom):
    """One path of decisions, where only what may be released is taken."""


def law(device: Device, records: list[Any]) -> dict[object, Fraction]:
    """The exact probability of everything that may leave this device, silence included."""
    seen = device.look(CAMPAIGN)
    ready = campaign_records(records, seen.terms)
    drawn: list[object] = []

    def draw(random: Random) -> int:
        follows = ReleaseBranch(random.path)  # type: ignore[attr-defined]
        device._random = follows
        done = device._drawn(seen, ready)
        random.taken, random.probability = follows.taken, follows.probability  # type: ignore[attr-defined]
        drawn.append((done.silent, done.question, done.data))
        return len(drawn) - 1

    total: dict[object, Fraction] = defaultdict(Fraction)
    for number, probability in branches(draw):
        total[drawn[number]] += probability
    return total


@pytest.fixture(scope="module")
def empty_laws(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, str], dict[object, Fraction]]:
    """What somebody without any record sends."""
    laws = {}
    for levels in (1, 2):
        for method in METHODS:
            with looking(campaign(levels, method), tmp_path_factory.mktemp("device")) as device:
                laws[levels, method] = law(device, [])
    return laws


def looking(fake: FakeCollector, folder: Path) -> Device:
    return fake.device(folder, Clock(), collector=fake.collector(policy=Policy(min_records=1)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("levels", "kind"), KINDS)
def test_what_leaves_has_exactly_the_law_of_an_empty_list(
    tmp_path: Path, empty_laws: dict[tuple[int, str], dict[object, Fraction]], levels: int, kind: str, method: str
) -> None:
    with looking(campaign(levels, method), tmp_path) as device:
        sent = law(device, [record(kind)] * 2)
    assert sum(sent.values()) == 1
    assert sent[True, None, None] == Fraction(1, 2)
    assert sent == empty_laws[levels, method]


def test_the_law_sees_a_record_that_is_usable(tmp_path: Path, empty_laws: Any) -> None:
    with looking(campaign(2), tmp_path) as device:
        assert law(device, [("Query  1", "http://1.org/")]) != empty_laws[2, "blendp"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("levels", "kind"), KINDS)
def test_a_report_leaves_whatever_is_wrong_with_the_records(
    tmp_path: Path, levels: int, kind: str, method: str
) -> None:
    fake = campaign(levels, method)
    fake.terms = dataclasses.replace(fake.terms, participation=1.0)
    fake.change_manifest(terms=fake.terms)
    with looking(fake, tmp_path) as device:
        device.take_part(CAMPAIGN, [record(kind)])
        assert device.usable(CAMPAIGN, [record(kind)]) == 0
        assert device.send().sent == 1
        asked = [str(request.url) for request in fake.requests if request.method == "GET"]
        assert [entry.budget for entry in device.ledger.entries] == [fake.terms.client_budget]
    assert len(asked) == 5, "as many requests as anybody makes"


@pytest.mark.parametrize(("levels", "kind"), KINDS)
def test_somebody_without_a_usable_record_enrols_with_an_empty_list(tmp_path: Path, levels: int, kind: str) -> None:
    fake = campaign(levels)
    with fake.device(tmp_path, Clock(), consent=Consent.OPT_IN) as device:
        device.enrol(CAMPAIGN, TOKEN, [record(kind)])
        assert device.send().sent == 1
    assert json.loads(fake.opt_in[TOKEN])["records"] == []


def test_unusable_records_take_nobodys_place(tmp_path: Path) -> None:
    fake = campaign(2)
    records = [*({**UNUSABLE, **WITHOUT_URL}.values()), ("Query  1", "HTTP://1.org/")]
    with fake.device(tmp_path, Clock(), consent=Consent.OPT_IN) as device:
        device.enrol(CAMPAIGN, TOKEN, records)
        (item,) = device.items
    assert item.body is not None
    assert json.loads(item.body)["records"] == [{"query": "query 1", "url": "http://1.org"}]


def test_an_enrolment_is_never_larger_than_a_collector_takes(tmp_path: Path) -> None:
    """Control characters take six bytes each in JSON."""
    fake = FakeCollector(dataclasses.replace(TERMS, opt_in_records=40))
    long = [(f"{i}" + "\x01" * 8000, "http://a") for i in range(30)]
    with fake.device(tmp_path, Clock(), consent=Consent.OPT_IN) as device:
        device.enrol(CAMPAIGN, TOKEN, [*long, ("short", "http://a")])
        (item,) = device.items
    assert item.body is not None
    assert MAX_BODY_BYTES - 60_000 < len(item.body) <= MAX_BODY_BYTES
    assert {"query": "short", "url": "http://a"} in json.loads(item.body)["records"]


def test_what_is_no_list_at_all_is_refused(tmp_path: Path) -> None:
    terms: Terms = campaign(2).terms
    for records in (None, 7, "ab", b"ab"):
        with pytest.raises(ParameterError, match="a list"):
            campaign_records(records, terms)  # type: ignore[arg-type]
    with campaign(2).device(tmp_path, Clock()) as device, pytest.raises(ParameterError, match="looked at"):
        device.usable(CAMPAIGN, [])
