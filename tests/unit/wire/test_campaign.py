"""Terms and manifests: one form of bytes, and nothing in it that nobody could keep."""

import datetime
import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blendp.canonical import canonical_json, sha256
from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.methods import objectives as methods_objectives
from blendp.wire import Manifest, Terms
from blendp.wire.campaign import OBJECTIVES
from blendp.wire.text_forms import of_hex
from tests.support import WHO

TERMS = Terms(
    "trends-2026-11",
    "What people search",
    **WHO,
    opens="2026-11-01",
    opt_in_until="2026-11-20",
    reports_until="2026-11-30",
)
LIST = HeadList.of_records([("a", "http://a"), ("a", "http://b"), ("b", "http://c")])
MANIFEST = Manifest(TERMS, LIST.sha256, 3, 100, 0.35, "2026-11-20")

TERMS_BYTES = (
    b'{"campaign":"trends-2026-11","contact":"privacy@example.org","delta":1e-06,"epsilon":4.0,'
    b'"expected_clients":10000,"format":"blendp/terms/1","grace_days":7,"levels":2,"method":"blendp","min_clients":1000,"min_opt_in":100,"normalise":"blendp-1",'
    b'"opens":"2026-11-01","opt_in_records":100,"opt_in_until":"2026-11-20",'
    b'"organisation":"Example Search","participation":1.0,"purpose":"A list of popular searches",'
    b'"reports_until":"2026-11-30","size":50,"title":"What people search"}'
)


def test_a_manifest_says_in_a_second_format_that_the_wildcard_is_apart() -> None:
    """One value has one spelling, and what was valid is as it was."""
    apart = replace(MANIFEST, randomiser="apart")
    assert b'"format":"blendp/manifest/1"' in MANIFEST.to_bytes()
    assert b"randomiser" not in MANIFEST.to_bytes()
    assert b'"format":"blendp/manifest/2"' in apart.to_bytes()
    assert b'"randomiser":"apart"' in apart.to_bytes()
    assert (Manifest.from_bytes(apart.to_bytes()), MANIFEST.client_randomiser) == (apart, "split")
    assert apart.sha256 != MANIFEST.sha256
    assert apart.scheme(LIST).numbers() != MANIFEST.scheme(LIST).numbers()
    assert apart.binding(LIST).scheme != MANIFEST.binding(LIST).scheme
    for wrong, name in (
        (apart.to_bytes().replace(b'"apart"', b'"split"'), "randomiser"),
        (apart.to_bytes().replace(b'"apart"', b'"auto"'), "randomiser"),
        (apart.to_bytes().replace(b'"apart"', b"[]"), "randomiser"),
        (apart.to_bytes().replace(b"manifest/2", b"manifest/1"), "manifest"),
        (apart.to_bytes().replace(b"manifest/2", b"manifest/3"), "manifest"),
        (MANIFEST.to_bytes().replace(b"manifest/1", b"manifest/2"), "manifest"),
    ):
        with pytest.raises(ParameterError) as caught:
            Manifest.from_bytes(wrong)
        assert caught.value.parameter == name
    with pytest.raises(ParameterError, match="randomiser"):
        replace(MANIFEST, terms=replace(TERMS, method="published"), randomiser="apart")


days = st.dates().map(lambda day: day.isoformat())
printable = st.characters(exclude_categories=["C", "Z"], include_characters=" ")
short_text = st.text(printable, min_size=1, max_size=200).filter(str.strip)


@st.composite
def three_days(draw: st.DrawFn) -> dict[str, Any]:
    """Days on which a campaign is possible, and its grace."""
    opens = draw(st.dates(max_value=datetime.date(9990, 1, 1)))
    opt_in = opens + datetime.timedelta(draw(st.integers(0, 1000)))
    grace = draw(st.integers(3, 90))
    reports = opt_in + datetime.timedelta(grace + draw(st.integers(1, 1000)))
    three = {"opens": opens, "opt_in_until": opt_in, "reports_until": reports}
    return {**{name: day.isoformat() for name, day in three.items()}, "grace_days": grace}


any_terms = st.builds(
    lambda three, **fields: Terms(**three, **fields),
    three_days(),
    campaign=st.from_regex(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?", fullmatch=True),
    title=short_text,
    organisation=short_text,
    purpose=short_text,
    contact=short_text,
    method=st.sampled_from(["blendp", "published"]),
    epsilon=st.floats(0, 50, exclude_min=True),
    delta=st.floats(0, 1, exclude_max=True),
    levels=st.sampled_from([1, 2]),
    normalise=st.sampled_from(["blendp-1", "none"]),
    size=st.none() | st.integers(1, 10**9),
    opt_in_records=st.integers(1, 10**9),
    objective=st.sampled_from(["balanced", "long-list", "trends"]),
    records_per_person=st.none() | st.floats(0, 1e9, exclude_min=True),
    min_opt_in=st.integers(1, 10**9),
    min_clients=st.integers(1, 10**9),
    expected_clients=st.integers(1, 10**9),
    participation=st.floats(0, 1, exclude_min=True),
)
any_manifest = any_terms.flatmap(
    lambda terms: st.builds(
        Manifest,
        terms=st.just(terms),
        list_sha256=st.binary(min_size=32, max_size=32).map(bytes.hex),
        records=st.integers(0, 10**6),
        opt_in_people=st.integers(terms.min_opt_in, 10**10),
        query_share=st.floats(0, 1),
        published=days,
    )
)

WRONG_TERMS: dict[str, list[Any]] = {
    "campaign": ["", "A", "a_b", "-a", "a-", "a" * 65, "a\n", "ä", "a/b", None, 1],
    "title": ["", " ", "a" * 201, "a\nb", "a\0", "\ud800", None, 1],
    "organisation": ["", "  ", "a" * 201, "a\nb", None, 1],
    "purpose": ["", " ", "a" * 1001, "a\nb", None, 1],
    "contact": ["", " ", "a" * 201, "a\nb", None, 1],
    "opens": [
        "",
        "2026-11-31",
        "2026-1-01",
        "20261101",
        "2026-11-01T00:00",
        "２０２６-11-01",
        None,
        20261101,
        "2026-11-21",
    ],
    "opt_in_until": ["2026-10-31", "2026-12-01", None],
    "reports_until": ["2026-11-19", "2026-11-27", "never", None],
    "grace_days": [-1, 2, 10, 91, 1.0, True, None, 10**400],
    "method": ["BLENDP", "", None, [], {}],
    "epsilon": [0, -1, 50.1, float("inf"), float("nan"), 10**400, True, "4", None],
    "delta": [-1e-9, 1, 2, float("nan"), 10**400, True, "0", None],
    "levels": [0, 3, 1.0, 2.0, True, "2", None, []],
    "normalise": ["", "NFC", None, {}],
    "size": [0, -1, 1.5, True, "50", 10**9 + 1, 10**400],
    "opt_in_records": [0, 1.0, True, None, 10**400],
    "min_opt_in": [0, 1.0, True, None, 10**400],
    "min_clients": [0, 1.0, True, None, 10**400],
    "expected_clients": [0, 1.0, True, None, 10**9 + 1, 10**400],
    "participation": [0, 1.01, -1, True, "1", None, 10**400],
    "objective": ["", "Balanced", "counts", None, [], {}],
    "records_per_person": [0, -1, 1e9 + 1, float("inf"), float("nan"), True, "20", [], 10**400],
}
WRONG_MANIFEST: dict[str, list[Any]] = {
    "terms": [None, [], "terms", 1],
    "list_sha256": ["", "ab" * 31, "AB" * 32, "ab" * 32 + "\n", None, 1],
    "records": [-1, 1.0, True, None],
    "opt_in_people": [99, 0, 100.0, True, None],
    "query_share": [-0.1, 1.1, float("nan"), 10**400, None, "0.5", True],
    "published": ["", "2026-02-30", None],
    "randomiser": ["auto", "split", "two-stage", "Apart", 1, ["apart"]],
}


def test_terms_byte_for_byte() -> None:
    assert TERMS.to_bytes() == TERMS_BYTES
    assert Terms.from_bytes(TERMS_BYTES) == TERMS
    assert TERMS.sha256 == sha256(TERMS_BYTES)


ADDED: dict[str, tuple[Any, Any]] = {"objective": ("balanced", "trends"), "records_per_person": (None, 20.0)}
"""Fields that the format did not have at first: what terms mean that leave them out, and another value."""


@pytest.mark.parametrize("name", ADDED)
def test_what_was_added_is_written_only_where_it_is_not_as_usual(name: str) -> None:
    """So terms that were signed before it was there stay what they were, and one value has one spelling."""
    usual, other = ADDED[name]
    assert getattr(TERMS, name) == usual
    assert name not in plain(TERMS)
    terms = replace(TERMS, **{name: other})
    assert plain(terms) == {**plain(TERMS), name: other}
    assert Terms.from_bytes(terms.to_bytes()) == terms
    manifest = replace(MANIFEST, terms=terms)
    assert Manifest.from_bytes(manifest.to_bytes()) == manifest
    for spelt in ({**plain(TERMS), name: usual}, {**plain(terms), name: usual}):
        with pytest.raises(ParameterError, match=rf"^{name} = .* left out"):
            Terms.from_bytes(canonical_json(spelt))
        bare = {member: value for member, value in spelt.items() if member != "format"}
        with pytest.raises(ParameterError, match=rf"^{name} = "):
            Manifest.from_bytes(canonical_json({**plain(MANIFEST), "terms": bare}))


def test_objectives_are_those_of_the_method() -> None:
    assert OBJECTIVES == methods_objectives.OBJECTIVES


@given(any_terms)
def test_terms_round_trip(terms: Terms) -> None:
    assert Terms.from_bytes(terms.to_bytes()) == terms
    assert Terms.from_bytes(terms.to_bytes()).sha256 == terms.sha256


@given(any_manifest)
def test_manifest_round_trip(manifest: Manifest) -> None:
    data = manifest.to_bytes()
    assert Manifest.from_bytes(data) == manifest
    assert manifest.sha256 == sha256(data)


def test_every_field_has_wrong_values_in_these_tests() -> None:
    assert set(WRONG_TERMS) == set(asdict(TERMS))
    assert set(WRONG_MANIFEST) == set(asdict(MANIFEST))


@pytest.mark.parametrize(("name", "value"), [(name, one) for name, some in WRONG_TERMS.items() for one in some])
def test_wrong_terms_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ParameterError):
        replace(TERMS, **{name: value})
    if value == value and value not in (float("inf"), "\ud800"):  # others have no canonical bytes
        with pytest.raises(ParameterError):
            Terms.from_bytes(canonical_json({**json.loads(TERMS_BYTES), name: value}))
        with pytest.raises(ParameterError):
            Manifest.from_bytes(canonical_json({**plain(MANIFEST), "terms": {**TERMS.to_plain(), name: value}}))


@pytest.mark.parametrize(("name", "value"), [(name, one) for name, some in WRONG_MANIFEST.items() for one in some])
def test_wrong_manifests_are_refused(name: str, value: Any) -> None:
    if name != "terms":
        with pytest.raises(ParameterError):
            replace(MANIFEST, **{name: value})
    if value == value:
        with pytest.raises(ParameterError):
            Manifest.from_bytes(canonical_json({**plain(MANIFEST), name: value}))


def plain(document: Terms | Manifest) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(document.to_bytes())
    return value


@pytest.mark.parametrize("document", [TERMS, MANIFEST], ids=["terms", "manifest"])
def test_exactly_the_fields(document: Terms | Manifest) -> None:
    value = plain(document)
    for name in value:
        with pytest.raises(ParameterError):
            type(document).from_bytes(canonical_json({other: value[other] for other in value if other != name}))
    with pytest.raises(ParameterError):
        type(document).from_bytes(canonical_json({**value, "more": 1}))
    with pytest.raises(ParameterError):
        type(document).from_bytes(canonical_json({**value, "format": "blendp/terms/2"}))


def test_terms_within_a_manifest_have_no_format_of_their_own() -> None:
    """Else two documents of different bytes would be one manifest."""
    for form in ("blendp/terms/1", "anything"):
        with pytest.raises(ParameterError):
            Manifest.from_bytes(canonical_json({**plain(MANIFEST), "terms": {**TERMS.to_plain(), "format": form}}))


@pytest.mark.parametrize("document", [TERMS, MANIFEST], ids=["terms", "manifest"])
def test_canonical_bytes_alone(document: Terms | Manifest) -> None:
    data, value = document.to_bytes(), plain(document)
    for other in (
        data + b"\n",
        b" " + data,
        b"\xef\xbb\xbf" + data,
        json.dumps(value).encode(),
        json.dumps(value, separators=(",", ":")).encode("utf-16"),
        json.dumps(dict(reversed(value.items())), separators=(",", ":")).encode(),
        data.replace(b'{"', b'{"format":"x","', 1),
        data.replace(b"2026", b"\\u0032026", 1),
        data.replace(b":4.0", b":4.00"),
        data[:-1],
        b"",
        b"null",
        b"[]",
        b"[" * 100_000,
        b"1" * 5000,
        b'{"a":NaN}',
        b"\xff",
    ):
        with pytest.raises(ParameterError):
            type(document).from_bytes(other)


def test_one_is_not_the_other() -> None:
    with pytest.raises(ParameterError):
        Manifest.from_bytes(TERMS.to_bytes())
    with pytest.raises(ParameterError):
        Terms.from_bytes(MANIFEST.to_bytes())


def test_budgets() -> None:
    assert (TERMS.budget.epsilon, TERMS.budget.delta) == (4.0, 1e-6)
    assert TERMS.client_budget.delta == 0
    assert replace(TERMS, method="published").client_budget.delta == 1e-6


def test_the_list_of_a_manifest() -> None:
    MANIFEST.require_list(LIST)
    other = HeadList.of_records([("a", "http://a")])
    for manifest, given_list in [
        (MANIFEST, other),
        (replace(MANIFEST, records=2), LIST),
        (replace(MANIFEST, terms=replace(TERMS, levels=1)), LIST),
    ]:
        with pytest.raises(ParameterError):
            manifest.require_list(given_list)


@given(st.binary(max_size=40))
def test_hexadecimal_digits_have_one_spelling(data: bytes) -> None:
    assert of_hex(data.hex(), "data") == data
    for other in (data.hex().upper(), data.hex() + " ", data.hex() + "0", "0x" + data.hex(), data.hex() + "zz"):
        if other != data.hex():
            with pytest.raises(ParameterError):
                of_hex(other, "data")
    with pytest.raises(ParameterError):
        of_hex(data.hex(), "data", len(data) + 1)


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))
def test_a_head_list_is_read_or_refused(data: bytes) -> None:
    with pytest.raises(ParameterError):
        HeadList.from_bytes(data)


def test_a_head_list_that_only_its_depth_or_digits_spoil() -> None:
    for data in (b"[" * 100_000, b"1" * 5000, b'{"format":' * 50_000):
        with pytest.raises(ParameterError):
            HeadList.from_bytes(data)
