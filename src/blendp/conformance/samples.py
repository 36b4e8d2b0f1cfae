"""A campaign that does not exist, for vectors: its terms, lists and signing keys."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from blendp.headlist import HeadList
from blendp.wire import Manifest, SigningKey, Terms

TERMS = Terms(
    "trends-2026-11",
    "What is searched for",
    organisation="Example Search",
    purpose="A page of popular searches",
    contact="privacy@example.org",
    opens="2026-11-01",
    opt_in_until="2026-11-10",
    reports_until="2026-11-30",
    opt_in_records=1,
)
SITES = ("http://a.example", "http://b.example", "https://c.example/x?y=1")
LIST = HeadList.of_records([(f"query {number}", SITES[number % 3]) for number in range(12)] + [("query 3", SITES[1])])
"""13 records of 12 queries."""

QUERIES = HeadList.of_records([(f"word {number}", None) for number in range(11)], levels=1)
"""A list of one level."""

MIXED = HeadList.of_records(
    [(f"query {number}", SITES[number % 3]) for number in range(1, 9)]
    + [("query 3", SITES[1]), *((f"query {number}", None) for number in (0, 35, 9))]
)
"""12 records of 11 queries, of which the first, the last and one between are listed without any URL."""

ALONE = HeadList.of_records([(f"word {number}", None) for number in range(11)])
"""A list of two levels in which no query has a URL."""

LONG = HeadList.of_records([(f"{number:03}", SITES[extra]) for number in range(120) for extra in range(1 + number % 3)])
"""Long enough for ranks of more than 64 bits."""


def signing_key(number: int) -> SigningKey:
    """A key that everybody knows: for vectors alone."""
    return SigningKey.of_raw(hashlib.sha256(b"blendp vectors, key %d" % number).digest())


def manifest_of(head_list: HeadList, query_share: float = 0.4, randomiser: str = "", **terms: Any) -> Manifest:
    """The manifest of a list, with other terms than usual where they are given."""
    terms_of_list = replace(TERMS, levels=head_list.levels, **terms)
    return Manifest(terms_of_list, head_list.sha256, head_list.records, 250, query_share, "2026-11-12", randomiser)
