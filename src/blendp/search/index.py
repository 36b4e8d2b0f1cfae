"""The offline index of a release: its records in columns, sorted by query, with shares and errors as whole numbers.

    share = round(10^9 p),     error = round(10^9 s)

where:
    p  is the estimated probability of a record, and s its standard error; products are doubles, ties go to the even
       number.

It is made of the release's bytes alone, so everybody makes the same bytes, and a device that has verified the release
needs nobody for it.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from typing import Any, Self

from blendp.canonical import canonical_json, is_sha256, read_canonical, sha256
from blendp.errors import ParameterError
from blendp.search.matching import Answer, Matcher, Result, require_limit
from blendp.wire.campaign import require_campaign_id
from blendp.wire.releases import read_release
from blendp.wire.search_index import INDEX_FORMAT, MAX_INDEX_BYTES
from blendp.wire.text_forms import require_day

MAX_RECORDS = 20_000
"""As many as a list may have for devices; of a longer one the index has the most probable."""

UNIT = 1e9
_MAX_WHOLE = 2**53 - 1
_REMEDY = "Fetch it again; if that does not help, it needs another version of blendp."

_Row = tuple[str, str | None, int, int]
"""Query, URL, share, error."""


@dataclass(frozen=True)
class SearchIndex:
    """The listed records of a release, to be searched.

    where:
        urls    has the URLs of each query, in order, none for a query that is a record by itself; it is empty where all
                are,
        shares  and ``errors`` are of the records, in the order of queries and URLs, in units of 1e-9.
    """

    campaign: str
    """Empty if the release is of none."""

    released: str
    """The day of the release."""

    release_sha256: str
    queries: tuple[str, ...]
    urls: tuple[tuple[str, ...], ...]
    shares: tuple[int, ...]
    errors: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse columns that do not fit together, so that equal indices have equal bytes."""
        if self.campaign != "":
            require_campaign_id(self.campaign)
        require_day("released", self.released)
        counts = self._counts
        fits = {
            "release_sha256": is_sha256(self.release_sha256),
            "queries": _is_sorted(self.queries),
            "urls": len(counts) == len(self.queries)
            and all(map(_is_sorted, self.urls))
            and any(self.urls) == bool(self.urls),
            "shares": len(self.shares) == sum(counts) <= MAX_RECORDS and all(map(_is_whole, self.shares)),
            "errors": len(self.errors) == len(self.shares) and all(map(_is_whole, self.errors)),
        }
        for name, is_fine in fits.items():
            if not is_fine:
                raise ParameterError(name, "a column", "as the specification of the index says", _REMEDY)

    @classmethod
    def of_release(cls, payload: bytes) -> Self:
        """The index of a release, from the bytes that were signed; verify them first."""
        release = read_release(payload)
        try:
            rows = _kept(_rows(release["estimates"]))
            urls = {
                query: tuple(url for _, url, _, _ in group if url is not None)
                for query, group in groupby(rows, key=itemgetter(0))
            }
            return cls(
                campaign=release["campaign"],
                released=release["released"],
                release_sha256=sha256(payload),
                queries=tuple(urls),
                urls=tuple(urls.values()) if any(urls.values()) else (),
                shares=tuple(share for _, _, share, _ in rows),
                errors=tuple(error for _, _, _, error in rows),
            )
        except (ParameterError, TypeError, KeyError) as error:
            legal = "of a campaign and a day, with each record once, and its numbers"
            raise ParameterError("release", payload[:40], legal, _REMEDY) from error

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """From canonical bytes; refuses any other form."""
        if len(data) > MAX_INDEX_BYTES:
            raise ParameterError("index", f"{len(data)} bytes", f"of at most {MAX_INDEX_BYTES} bytes", _REMEDY)
        value = read_canonical(data, "index", INDEX_FORMAT)
        del value["format"]
        try:
            for name in ("queries", "shares", "errors", "urls"):
                value[name] = _column(value[name])
            return cls(**{**value, "urls": tuple(map(_column, value["urls"]))})
        except (ParameterError, TypeError, KeyError) as error:
            raise ParameterError("index", data[:40], f"a sound {INDEX_FORMAT} document", _REMEDY) from error

    def to_bytes(self) -> bytes:
        """The canonical bytes: the same index gives the same bytes everywhere."""
        return canonical_json({"format": INDEX_FORMAT, **{one.name: getattr(self, one.name) for one in fields(self)}})

    @property
    def records(self) -> int:
        """How many records there are."""
        return len(self.shares)

    @cached_property
    def sha256(self) -> str:
        """The name of this index: SHA-256 of its canonical bytes."""
        return sha256(self.to_bytes())

    def search(self, text: str, limit: int = 10) -> Answer:
        """What is found for a text, the best first; an empty text finds what is most popular."""
        require_limit(limit)
        results: list[Result] = []
        for match, numbers in self._matcher.matching(text):
            records = (record for number in numbers for record in self._records_of(number))
            best = heapq.nsmallest(limit - len(results), records, key=lambda record: (-self.shares[record], record))
            results += [self._result(record, match) for record in best]
            if len(results) == limit:
                break
        return Answer(tuple(results))

    @cached_property
    def _matcher(self) -> Matcher:
        return Matcher(self.queries)

    @cached_property
    def _counts(self) -> list[int]:
        """How many records each query has."""
        return [len(urls) or 1 for urls in self.urls] if self.urls else [1] * len(self.queries)

    @cached_property
    def _firsts(self) -> list[int]:
        """The number of each query's first record, and at the end how many records there are."""
        return list(accumulate(self._counts, initial=0))

    @cached_property
    def _labels(self) -> list[tuple[str, str | None]]:
        of_queries = self.urls or ((),) * len(self.queries)
        return [(query, url) for query, urls in zip(self.queries, of_queries, strict=True) for url in urls or (None,)]

    def _records_of(self, number: int) -> range:
        return range(self._firsts[number], self._firsts[number + 1])

    def _result(self, record: int, match: str) -> Result:
        return Result(*self._labels[record], self.shares[record] / UNIT, self.errors[record] / UNIT, match)


def build_index(release_payload: bytes) -> bytes:
    """The bytes of the index of a release: a pure function of the bytes that were signed."""
    data = SearchIndex.of_release(release_payload).to_bytes()
    if len(data) > MAX_INDEX_BYTES:
        raise ParameterError("release", f"an index of {len(data)} bytes", f"of at most {MAX_INDEX_BYTES}", "List less.")
    return data


def _rows(estimates: Any) -> list[_Row]:
    """The listed records in order: those with a URL, and queries of which no URL is listed; none without numbers."""
    rows = [tuple(row[name] for name in ("query", "url", "probability", "std_error")) for row in _column(estimates)]
    for query, url, share, error in rows:
        if not all(map(_is_text, (query, url))) or not all(map(_is_number, (share, error))):
            raise TypeError("a row of another form")
    have_urls = {query for query, url, _, _ in rows if url is not None}
    listed = [
        row
        for row in rows
        if row[0] is not None and (row[1] is not None or row[0] not in have_urls) and None not in row[2:]
    ]
    return sorted(
        ((query, url, _units(share), _units(error)) for query, url, share, error in listed),
        key=lambda row: (row[0], row[1] or ""),
    )


def _kept(rows: list[_Row]) -> list[_Row]:
    """At most as many as an index may have: the most probable, still in order."""
    numbers = sorted(range(len(rows)), key=lambda number: (-rows[number][2], number))[:MAX_RECORDS]
    return [rows[number] for number in sorted(numbers)]


def _units(value: float) -> int:
    scaled = value * UNIT
    if abs(scaled) > _MAX_WHOLE:
        raise TypeError("no share")
    return round(scaled)


def _column(value: Any) -> tuple[Any, ...]:
    if type(value) is not list:
        raise TypeError("no column")
    return tuple(value)


def _is_text(value: Any) -> bool:
    return value is None or type(value) is str


def _is_number(value: Any) -> bool:
    return value is None or type(value) is float or _is_whole(value)


def _is_whole(value: Any) -> bool:
    return type(value) is int and abs(value) <= _MAX_WHOLE


def _is_sorted(texts: Sequence[Any]) -> bool:
    return all(type(text) is str for text in texts) and all(one < other for one, other in pairwise(texts))
