"""The search as the specification says it, without any thought of speed: what the real one is held against."""

from __future__ import annotations

import re
from functools import cache

from blendp.normalise import normalise_query

Record = tuple[str, str | None, int, int]


@cache
def distance(one: str, other: str) -> int:
    """Edits between two texts: leave out, put in, replace, exchange two neighbours."""
    if not one or not other:
        return len(one) + len(other)
    best = min(
        distance(one[:-1], other) + 1,
        distance(one, other[:-1]) + 1,
        distance(one[:-1], other[:-1]) + (one[-1] != other[-1]),
    )
    if len(one) > 1 and one[-2:] == other[:-3:-1]:
        best = min(best, distance(one[:-2], other[:-2]) + 1)
    return best


def forgiven(length: int) -> int:
    return sum(length >= bound for bound in (3, 6))


def leads_to(typed: str, text: str) -> bool:
    return any(distance(typed, text[:end]) <= forgiven(len(typed)) for end in range(len(text) + 1))


def reach(typed: str, text: str) -> int:
    return max(end for end in range(len(typed) + 1) if leads_to(typed[:end], text))


def parts(text: str) -> list[str]:
    return [part for part in re.split(r"""[ !"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]""", text) if part]


def match_of(typed: str, query: str) -> str | None:
    """The first class that a query belongs to."""
    form = normalise_query(query)
    if form == typed:
        return "exact"
    if form.startswith(typed):
        return "prefix"
    if parts(typed) and all(any(word.startswith(part) for word in parts(form)) for part in parts(typed)):
        return "word"
    if leads_to(typed, form):
        return "typo"
    if parts(typed) and all(any(leads_to(part, word) for word in parts(form)) for part in parts(typed)):
        return "typo"
    return None


def search(records: list[Record], text: str, limit: int) -> list[tuple[str, Record]]:
    """The records that are found, each with its class."""
    typed = normalise_query(text[:256])
    matches = {query: match_of(typed, query) for query, *_ in records}
    if not any(matches.values()):
        reaches = {query: reach(typed, normalise_query(query)) for query in matches}
        furthest = max(reaches.values(), default=0)
        matches = {query: "nearest" if one == furthest else None for query, one in reaches.items()}
    order = ["exact", "prefix", "word", "typo", "nearest"]
    hits = [(str(matches[record[0]]), record) for record in records if matches[record[0]]]
    return sorted(hits, key=lambda hit: (order.index(hit[0]), -hit[1][2], hit[1][0], hit[1][1] or ""))[:limit]
