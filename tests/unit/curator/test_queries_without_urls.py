"""Queries that are listed without any URL: kept and cut like other records, and folded into <*,*>."""

from __future__ import annotations

import numpy as np
import pytest

from blendp.curator import OptInCounts
from blendp.headlist import HeadList

LIST = HeadList.of_records([("a", "1"), ("b", None), ("c", "1"), ("c", "2"), ("d", None)])
PEOPLE = [9.0, 4, 20, 30, 5, 3, 6, 100]
"""How many people hold a1 a* b* c1 c2 c* d* **."""


def whole() -> OptInCounts:
    noise = np.array([1.0, 2, 4, 8, 16, 32, 64, 127])
    return OptInCounts(LIST, round(sum(PEOPLE)), np.array(PEOPLE), noise, queries_above=3.5)


def test_they_come_after_records_with_a_url_and_what_is_cut_is_everything_else() -> None:
    trimmed = whole().trimmed(4)
    assert trimmed.head_list == HeadList.of_records([("a", "1"), ("b", None), ("c", "1"), ("c", "2")])
    assert trimmed.people.tolist() == [9, 4, 20, 30, 5, 3, 6 + 100]
    assert whole().trimmed(3).head_list == HeadList.of_records([("a", "1"), ("c", "1"), ("c", "2")])
    # <*,*> is what is left of a public number, so its noise is that of what is kept
    assert trimmed.noise_variance.tolist() == [1, 2, 4, 8, 16, 32, 63]
    assert trimmed.queries_above == 3.5


def test_by_query_their_number_is_that_of_the_query() -> None:
    trimmed = whole().trimmed(3, "query")
    assert trimmed.head_list == HeadList.of_records([("a", "1"), ("b", None), ("c", "1"), ("c", "2")])
    assert trimmed.people.tolist() == [9, 4, 20, 30, 5, 3, 6 + 100]


@pytest.mark.parametrize(("left_out", "rest"), [("b", 20), ("d", 6)])
def test_one_that_is_left_out_is_everything_else(left_out: str, rest: int) -> None:
    kept = [cell for cell in LIST.record_cells if LIST.labels[cell][0] != left_out]
    fewer = whole().only(np.array(kept))
    assert left_out not in [entry.query for entry in fewer.head_list.entries]
    assert fewer.people[-1] == 100 + rest
    assert fewer.people.sum() == sum(PEOPLE)
