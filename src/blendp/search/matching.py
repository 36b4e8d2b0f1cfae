"""Which records a typed text finds, and in which order: exact, beginning, words, typing errors; then by share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from blendp.errors import ParameterError
from blendp.normalise import normalise_query
from blendp.search.lexicon import Lexicon

MATCHES = ("exact", "prefix", "word", "typo", "nearest")
"""How a record can match what was typed, the best first; the nearest are given if nothing matches."""

MAX_TYPED = 256
"""Code points of a typed text that are looked at."""

MAX_RESULTS = 1000

MAX_TYPED_WORDS, MAX_WORDS = 8, 16
"""So many words count of a typed text, and of a query: their product bounds what one keystroke can cost."""

_WORD = re.compile(r"[^ -/:-@\[-`{-~]+")
"""What stands between spaces and the marks of ASCII."""


@dataclass(frozen=True)
class Result:
    """A record, how probable it is, with what error, and how it matches."""

    query: str
    url: str | None
    share: float
    error: float
    match: str


@dataclass(frozen=True)
class Answer:
    """What is found for a typed text, the best first."""

    results: tuple[Result, ...]

    @property
    def nearest(self) -> bool:
        """Whether nothing matched, and these are the nearest."""
        return bool(self.results) and self.results[0].match == MATCHES[-1]


class Matcher:
    """Queries by their normal forms, and the words of these."""

    def __init__(self, queries: Sequence[str]) -> None:
        """Sort the queries and their words."""
        forms = sorted((normalise_query(query), number) for number, query in enumerate(queries))
        self._numbers = [number for _, number in forms]
        self._entries = Lexicon([form for form, _ in forms])
        holders: dict[str, list[int]] = {}
        for entry, form in enumerate(self._entries.texts):
            for word in _words(form, MAX_WORDS):
                holders.setdefault(word, []).append(entry)
        self._vocabulary = Lexicon(sorted(holders))
        self._entries_of = [holders[word] for word in self._vocabulary.texts]

    def matching(self, text: str) -> Iterator[tuple[str, list[int]]]:
        """The numbers of the queries that match a text, by class: each query once, computed as they are asked for."""
        typed = normalise_query(text[:MAX_TYPED])
        seen: set[int] = set()
        for match, entries in self._classes(typed):
            new = set(entries) - seen
            seen |= new
            yield match, [self._numbers[entry] for entry in new]

    def _classes(self, typed: str) -> Iterator[tuple[str, Iterable[int]]]:
        exact, prefix, word, typo, nearest = MATCHES
        starting = self._entries.beginning(typed)
        yield exact, (entry for entry in starting if self._entries.texts[entry] == typed)
        yield prefix, starting
        parts = _words(typed, MAX_TYPED_WORDS)
        by_word = self._having(parts, self._vocabulary.beginning)
        yield word, by_word
        reaches = self._entries.reaches(typed)
        by_typo = self._having(parts, self._vocabulary.reached) | _where(reaches, len(typed))
        yield typo, by_typo
        if not (starting or by_word or by_typo):
            yield nearest, _where(reaches, max(reaches, default=0))

    def _having(self, parts: set[str], fitting: Callable[[str], Iterable[int]]) -> set[int]:
        """The entries that have a fitting word for every typed one; none if no word was typed."""
        counts: Counter[int] = Counter()
        for part in parts:
            counts.update({entry for number in fitting(part) for entry in self._entries_of[number]})
        return {entry for entry, count in counts.items() if count == len(parts)}


def _words(text: str, max_words: int) -> set[str]:
    """The first words of a text in normal form, each once."""
    return {match[0] for match in islice(_WORD.finditer(text), max_words)}


def _where(values: Sequence[int], value: int) -> set[int]:
    return {number for number, one in enumerate(values) if one == value}


def require_limit(limit: object) -> None:
    """Raise unless this can be the number of results that somebody wants."""
    if type(limit) is not int or not 1 <= limit <= MAX_RESULTS:
        raise ParameterError("limit", limit, f"a whole number from 1 to {MAX_RESULTS}", "10 is usual.")
