"""What is found, in which order: the examples of the documentation, and the search held against a slow one."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from blendp.errors import ParameterError
from blendp.search import MATCHES, SearchIndex
from tests.unit.search import reference

LETTERS = (
    "a",
    "b",
    "a",
    "b",
    "ab",
    " ",
    ".",
    "e\u0301",
    "E",
    "\U0001f600",
    "\ue000",
    "\u0301",
    "*",
    "I\u0307",
    "\u0958",
)


def index_of(records: list[reference.Record]) -> SearchIndex:
    records = sorted(records, key=lambda record: (record[0], record[1] or ""))
    urls: dict[str, list[str]] = {}
    for query, url, _, _ in records:
        urls.setdefault(query, []).extend([] if url is None else [url])
    return SearchIndex(
        campaign="trends",
        released="2026-12-01",
        release_sha256="ab" * 32,
        queries=tuple(urls),
        urls=tuple(map(tuple, urls.values())) if any(urls.values()) else (),
        shares=tuple(record[2] for record in records),
        errors=tuple(record[3] for record in records),
    )


def some_text(random_: random.Random, max_length: int) -> str:
    return "".join(random_.choices(LETTERS, k=random_.randint(0, max_length)))


def some_records(random_: random.Random, levels: int) -> list[reference.Record]:
    labels = {
        (some_text(random_, 9), f"u{random_.randint(0, 2)}" if levels == 2 else None)
        for _ in range(random_.randint(0, 12))
    }
    return [(query, url, random_.randint(-2, 4), random_.randint(0, 9)) for query, url in sorted(labels, key=repr)]


@pytest.mark.parametrize("levels", [1, 2])
def test_it_finds_what_a_slow_search_finds(levels: int) -> None:
    random_, matches = random.Random(levels), set()
    for _ in range(150):
        records = some_records(random_, levels)
        index = index_of(records)
        for _ in range(8):
            known = random_.choice(records)[0] if records and random_.random() < 0.7 else ""
            cut = random_.randint(0, len(known))
            text = known[:cut] + some_text(random_, 2) + known[cut + random_.randint(0, 2) :]
            limit = random_.choice((1, 3, 10, 1000))
            results = index.search(text, limit).results
            wanted = reference.search(records, text, limit)
            assert [(one.match, one.query, one.url) for one in results] == [(one, *hit[:2]) for one, hit in wanted], (
                text
            )
            assert [(one.share, one.error) for one in results] == [(hit[2] / 1e9, hit[3] / 1e9) for _, hit in wanted]
            matches |= {one.match for one in results}
    assert matches == set(MATCHES)


WEATHER = index_of(
    [
        ("weather", "http://a", 50, 3),
        ("weather channel", "http://a", 20, 2),
        ("weather channel", "http://b", 60, 2),
        ("the weather", "http://c", 900, 1),
        ("leather", "http://d", 800, 1),
        ("www.weather.com", "http://e", 5, 1),
        ("*", "http://f", 7, 1),
        ("straße", "http://g", 4, 1),
    ]
)


def hits(text: str, limit: int = 10) -> list[str]:
    return [f"{one.match}: {one.query} {one.url}" for one in WEATHER.search(text, limit).results]


def test_exact_before_beginning_before_word_before_typo_then_by_share() -> None:
    assert hits("Weather ") == [
        "exact: weather http://a",
        "prefix: weather channel http://b",
        "prefix: weather channel http://a",
        "word: the weather http://c",
        "word: www.weather.com http://e",
        "typo: leather http://d",
    ]
    assert hits("Weather ", 2) == hits("weather")[:2]


def test_a_word_in_the_middle_and_words_in_another_order() -> None:
    assert hits("channel wea") == ["word: weather channel http://b", "word: weather channel http://a"]
    assert hits("chanel waether")[0] == "typo: weather channel http://b"


@pytest.mark.parametrize("typed", ["weahter", "waether", "wether", "weathher", "weatjer", "wea ther", "eather"])
def test_a_typing_error(typed: str) -> None:
    assert "typo: weather http://a" in hits(typed)
    assert not WEATHER.search(typed).nearest


def test_few_letters_are_taken_at_their_word() -> None:
    assert [hit.split()[0] for hit in hits("we")] == ["prefix:", "prefix:", "prefix:", "word:", "word:"]


def test_a_star_is_a_text() -> None:
    assert hits("*") == ["exact: * http://f"]


def test_an_empty_text_finds_what_is_most_popular() -> None:
    assert hits("  ", 2) == ["prefix: the weather http://c", "prefix: leather http://d"]


def test_if_nothing_matches_the_nearest_are_offered() -> None:
    answer = WEATHER.search("weather in a small town")
    assert answer.nearest
    assert {one.query for one in answer.results} == {"weather channel"}
    assert hits("qqqq", 1) == ["nearest: the weather http://c"]  # all are equally far


def test_a_typing_error_never_outranks_an_exact_match() -> None:
    popular = replace(WEATHER, shares=tuple(10**9 for _ in WEATHER.shares))
    for query in set(popular.queries):
        assert popular.search(query).results[0].match == "exact"


def test_a_very_long_text_is_cut() -> None:
    query = "a" * 256
    index = index_of([(query + "b", None, 1, 0), (query, None, 1, 0)])
    assert [one.match for one in index.search("a" * 10**6).results] == ["exact", "prefix"]


def test_an_empty_index_finds_nothing() -> None:
    for text in ("", "a", "weather"):
        assert index_of([]).search(text).results == ()


@pytest.mark.parametrize("limit", [0, 1001, -1, True, 2.0, None])
def test_a_limit_out_of_bounds_is_refused(limit: object) -> None:
    with pytest.raises(ParameterError, match="limit"):
        WEATHER.search("a", limit)  # type: ignore[arg-type]
