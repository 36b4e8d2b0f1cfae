"""Invented people: seeded, plausible, and alike enough to make a list."""

from collections import Counter

import pytest

from blendp.fleet import invented_records
from blendp.logs.synthetic import NAMES
from blendp.normalise import normalise_query, normalise_url


@pytest.mark.parametrize("like", NAMES)
def test_people_are_those_of_their_seed_and_week(like: str) -> None:
    people = invented_records(300, 1, like=like)
    assert people == invented_records(300, 1, like=like)
    assert people != invented_records(300, 2, like=like)
    assert people != invented_records(300, 1, like=like, week=1)
    assert all((normalise_query(query), normalise_url(url)) == (query, url) for query, url in people)


def test_some_records_are_popular_and_others_rare() -> None:
    counts = Counter(invented_records(5_000, 0))
    assert sum(query.startswith("goo") for (query, _) in counts) > 1
    assert 20 < sum(count > 25 for count in counts.values()) < 46
    assert sum(count == 1 for count in counts.values()) > 200
