from __future__ import annotations

import re
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blendp.errors import ParameterError
from blendp.logs.synthetic import NAMES, law
from blendp.logs.synthetic.text import BASE, STRIDE, Vocabulary, vocabulary

QUERY = {"aol": re.compile(r"[a-z.]+( [a-z]+){0,3}"), "yandex": re.compile(r"[а-я]+( [а-я]+){0,3}")}
QUERY["aol-sparse"] = QUERY["aol"]
URL = re.compile(r"http://([a-z]([a-z-]{0,61}[a-z])?\.)+[a-z]{2,4}(/[a-z]+)?(/[a-z-]+)?")


def phrases(texts: Vocabulary, length: int) -> tuple[tuple[str, ...], ...]:
    lists = (texts.modifiers, texts.nouns, texts.aspects, texts.places)
    return (texts.nouns,) if length == 1 else lists[:length]


def ranks_with_a_text(texts: Vocabulary) -> int:
    """The named ones and W + W^2 + W^3 + W^4 phrases."""
    return len(texts.named) + sum(int(BASE**length) for length in range(1, 5))


def rank_of(texts: Vocabulary, query: str) -> int:
    """The rank a query came from, read back from its words alone."""
    named = [text for text, _ in texts.named]
    if query in named:
        return 1 + named.index(query)
    parts = query.split(" ")
    numeral = 0
    for word, digits in zip(parts, phrases(texts, len(parts)), strict=True):
        numeral = numeral * BASE + digits.index(word)
    sizes = [int(BASE**length) for length in range(1, len(parts) + 1)]
    return 1 + len(named) + sum(sizes[:-1]) + numeral * pow(STRIDE, -1, sizes[-1]) % sizes[-1]


@pytest.mark.parametrize("name", NAMES)
def test_lists_hold_distinct_single_words(name: str) -> None:
    texts = vocabulary(name)
    for vocabulary_list in (texts.modifiers, texts.nouns, texts.aspects, texts.places):
        assert len(vocabulary_list) == len(set(vocabulary_list)) == BASE
        assert not any(re.search(r"\s", word) for word in vocabulary_list)
    assert len(texts.addresses) == len(set(texts.addresses)) >= law(name).url_shares.shape[1]


@pytest.mark.parametrize("name", NAMES)
def test_named_queries_are_distinct_and_no_phrases(name: str) -> None:
    texts = vocabulary(name)
    named = [query for query, _ in texts.named]
    assert len(named) == len(set(named)) >= 40
    for query in named:
        parts = query.split(" ")
        lists = phrases(texts, len(parts))
        assert len(parts) > len(lists) or not all(word in digits for word, digits in zip(parts, lists, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_every_query_of_the_law_has_a_text(name: str) -> None:
    assert ranks_with_a_text(vocabulary(name)) >= law(name).queries


@given(st.sampled_from(NAMES), st.data())
def test_the_text_tells_the_rank(name: str, data: st.DataObject) -> None:
    texts = vocabulary(name)
    rank = data.draw(st.integers(1, ranks_with_a_text(texts)))
    assert rank_of(texts, texts.queries(np.array([rank]))[0].as_py()) == rank


@pytest.mark.parametrize("name", NAMES)
def test_no_two_ranks_share_front_and_back(name: str) -> None:
    texts = vocabulary(name)
    front, back = texts.split(np.arange(1, ranks_with_a_text(texts) + 1))
    assert front.min() == back.min() == 0
    assert front.max() == len(texts.fronts[0]) - 1
    assert back.max() == len(texts.backs[0]) - 1
    cells = front * len(texts.backs[0]) + back
    seen = np.zeros(len(texts.fronts[0]) * len(texts.backs[0]), dtype=bool)
    seen[cells] = True
    assert seen.sum() == ranks_with_a_text(texts)


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_distinct_and_in_normal_form(name: str) -> None:
    texts = vocabulary(name)
    queries = texts.queries(np.arange(1, 300_001)).to_pylist()
    assert len(set(queries)) == 300_000
    for query in queries:
        assert QUERY[name].fullmatch(query), query
    joined = "\n".join(queries)
    assert unicodedata.is_normalized("NFC", joined)
    assert joined == joined.lower() == joined.casefold()


@pytest.mark.parametrize("name", NAMES)
def test_urls_are_in_normal_form_and_differ_within_a_query(name: str) -> None:
    texts = vocabulary(name)
    generator = np.random.default_rng(7)
    ranks = np.concatenate((np.arange(1, 500), generator.integers(1, ranks_with_a_text(texts), 2_000)))
    places = len(texts.addresses)
    urls = texts.urls(np.repeat(ranks, places), np.tile(np.arange(places), len(ranks))).to_pylist()
    for url in urls:
        assert URL.fullmatch(url), url
    for start in range(0, len(urls), places):
        assert len(set(urls[start : start + places])) == places


@pytest.mark.parametrize("name", NAMES)
def test_the_longest_slug_fits_a_host_label(name: str) -> None:
    texts = vocabulary(name)
    longest = [max(map(len, slugs.to_pylist())) for slugs in (texts.fronts[1], texts.backs[1])]
    assert sum(longest) <= 63


def test_google_queries_share_their_site() -> None:
    texts = vocabulary("aol")
    assert texts.queries(np.array([1, 3, 7])).to_pylist() == ["google", "google.com", "www.google.com"]
    assert set(texts.urls(np.array([1, 3, 7]), np.zeros(3, dtype=np.int64)).to_pylist()) == {"http://www.google.com"}


def test_unknown_vocabulary_is_refused() -> None:
    with pytest.raises(ParameterError, match="one of aol, yandex, aol-sparse"):
        vocabulary("bing")
