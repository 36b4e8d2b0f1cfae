"""The index is a function of the release's bytes, has one form, and refuses every other."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from blendp.canonical import canonical_json, sha256
from blendp.errors import ParameterError
from blendp.logs.synthetic import law
from blendp.search import SearchIndex, build_index
from blendp.search.index import MAX_RECORDS
from blendp.wire.search_index import MAX_INDEX_BYTES

Row = tuple[str | None, str | None, Any, Any]
ROWS: list[Row] = [
    ("weather", "http://b", 0.25, 0.01),
    ("cats", "http://a", 0.0000000025, 2e-9),
    ("weather", "http://a", -0.5, 0.02),
    ("weather", None, 0.1, 0.1),
    (None, None, 0.3, 0.1),
]


def release(rows: list[Row], **members: Any) -> bytes:
    names = ("query", "url", "probability", "std_error")
    estimates = [{**dict(zip(names, row, strict=True)), "low": 0.0} for row in rows]
    document = {"format": "blendp/release/1", "campaign": "trends", "manifest_sha256": "", "released": "2026-12-01"}
    return canonical_json({**document, "card": {}, "trends": [], "groups": {}, "estimates": estimates, **members})


def index_of(rows: list[Row], **members: Any) -> SearchIndex:
    return SearchIndex.from_bytes(build_index(release(rows, **members)))


def test_listed_records_in_the_order_of_code_points() -> None:
    index = index_of(ROWS)
    assert (index.campaign, index.released, index.records) == ("trends", "2026-12-01", 3)
    assert index.queries == ("cats", "weather")
    assert index.urls == (("http://a",), ("http://a", "http://b"))
    assert index.shares == (2, -500_000_000, 250_000_000)  # 2.5 goes to the even one
    assert index.errors == (2, 20_000_000, 10_000_000)
    assert index.release_sha256 == sha256(release(ROWS))
    assert index.sha256 == sha256(build_index(release(ROWS)))


def test_queries_alone() -> None:
    index = index_of([("b", None, 0.5, 0.1), ("a", None, 0.25, 0.1), (None, None, 0.25, 0.1)])
    assert (index.queries, index.urls, index.shares) == (("a", "b"), (), (250_000_000, 500_000_000))


def test_queries_of_which_no_url_is_listed_stand_alone_among_the_others() -> None:
    """What is known of the other URLs of a query with a listed one is no record."""
    index = index_of([*ROWS, ("dogs", None, 0.2, 0.01), ("ants", None, 0.1, 0.02), ("zebras", None, None, 0.1)])
    assert index.queries == ("ants", "cats", "dogs", "weather")
    assert index.urls == ((), ("http://a",), (), ("http://a", "http://b"))
    assert index.shares == (100_000_000, 2, 200_000_000, -500_000_000, 250_000_000)
    assert index.records == 5
    (result,) = index.search("dog").results
    assert (result.query, result.url, result.share, result.error) == ("dogs", None, 0.2, 0.01)
    popular = [(result.query, result.url) for result in index.search("").results]
    assert popular == [
        ("weather", "http://b"),
        ("dogs", None),
        ("ants", None),
        ("cats", "http://a"),
        ("weather", "http://a"),
    ]


def test_a_release_of_no_campaign() -> None:
    assert index_of([], campaign="").campaign == ""


def test_unknown_numbers_are_left_out() -> None:
    assert index_of([("a", "u", None, 0.1), ("b", "u", 0.1, None), ("c", "u", 0, 1)]).queries == ("c",)


def test_of_too_many_the_most_probable_stay() -> None:
    rows: list[Row] = [(f"q{number:05}", None, number / 1e6, 0.0) for number in range(MAX_RECORDS + 2)]
    index = index_of(rows)
    assert index.records == MAX_RECORDS
    assert index.queries[0] == "q00002"


@pytest.mark.parametrize(
    "data",
    [
        release([("a", "u", 0.1, 0.1), ("a", "u", 0.2, 0.1)]),
        release([("a", None, 0.1, 0.1), ("a", None, 0.2, 0.1)]),
        release([("a", "u", "0.1", 0.1)]),
        release([("a", "u", True, 0.1)]),
        release([("a", "u", 1e300, 0.1)]),
        release([("a", "u", 2**60, 0.1)]),
        release([(5, "u", 0.1, 0.1)]),  # type: ignore[list-item]
        release([], estimates={}),
        release([], estimates=["a"]),
        release([], estimates=[{"query": "a", "url": "u", "probability": 0.1}]),
        release([], campaign="No"),
        release([], campaign=None),
        release([], released="yesterday"),
        release([]) + b"\n",
        b"",
    ],
)
def test_a_release_that_has_no_index(data: bytes) -> None:
    with pytest.raises(ParameterError, match="release"):
        build_index(data)


def test_an_index_that_is_too_long() -> None:
    rows: list[Row] = [(f"{number:05}" + "\x01" * 8000, None, 0.1, 0.1) for number in range(700)]
    with pytest.raises(ParameterError, match=str(MAX_INDEX_BYTES)):
        build_index(release(rows))


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    value = json.loads(build_index(release(ROWS)))
    change(value)
    return canonical_json(value)


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.update(more=1),
        lambda value: value.pop("urls"),
        lambda value: value.update(format="blendp/search-index/2"),
        lambda value: value.update(campaign=None),
        lambda value: value.update(released="2026-13-01"),
        lambda value: value.update(release_sha256="AB" * 32),
        lambda value: value["queries"].reverse(),
        lambda value: value.update(queries="ab"),
        lambda value: value["queries"].append("x"),
        lambda value: value["urls"][1].reverse(),
        lambda value: [urls.clear() for urls in value["urls"]],
        lambda value: value.update(urls=[[], []], shares=[1, 2], errors=[1, 2]),
        lambda value: value["urls"][1].clear(),
        lambda value: value["urls"].pop(),
        lambda value: value.update(urls=["ab", ["a", "b"]]),
        lambda value: value.update(urls=[]),
        lambda value: value["shares"].pop(),
        lambda value: value["errors"].append(1),
        lambda value: value.update(shares=[1, 2.0, 3]),
        lambda value: value.update(shares=[1, True, 3]),
        lambda value: value.update(shares=[1, 2**53, 3]),
        lambda value: value.update(queries=[], urls=[], shares=None, errors=None),
    ],
)
def test_another_form_is_refused(change: Callable[[dict[str, Any]], object]) -> None:
    with pytest.raises(ParameterError, match="index"):
        SearchIndex.from_bytes(changed(change))


def test_other_spellings_are_refused() -> None:
    data = build_index(release(ROWS))
    for other in (data + b"\n", data.replace(b":", b": ", 1), data[:-1], b"{}", b"", b" " * (MAX_INDEX_BYTES + 1)):
        with pytest.raises(ParameterError, match="index"):
            SearchIndex.from_bytes(other)


def test_an_index_of_ten_thousand_records_is_smaller_than_their_table() -> None:
    """At most 1.1 times the table with the same digits, both compressed; the bench beside MiniSearch has the rest."""
    table = law("aol").records(10_000).to_pydict()
    rows: list[Row] = [
        (query, url, share, share / 7) for query, url, share in zip(*(table[name] for name in table), strict=True)
    ]
    lines = ["query,url,probability,std_error", *(f"{q},{u},{p:.9f},{s:.9f}" for q, u, p, s in rows)]
    csv = "\n".join(lines).encode("utf-8")
    assert len(gzip.compress(build_index(release(rows)), 9)) <= 1.1 * len(gzip.compress(csv, 9))
