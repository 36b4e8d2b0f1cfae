"""The list as a value: one canonical form, cells in a fixed order, a wildcard that cannot be forged."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blendp.errors import ParameterError
from blendp.headlist import Entry, HeadList

texts = st.text(st.characters(codec="utf-8"), max_size=12)
records = st.lists(st.tuples(texts, texts), max_size=12)


@given(records, st.randoms())
def test_order_does_not_matter_and_bytes_round_trip(pairs: list[tuple[str, str]], shuffler: object) -> None:
    head_list = HeadList.of_records(pairs)
    shuffled = list(pairs)
    shuffler.shuffle(shuffled)  # type: ignore[attr-defined]
    assert HeadList.of_records(shuffled + pairs) == head_list
    assert HeadList.from_bytes(head_list.to_bytes()) == head_list
    assert HeadList.of_records(shuffled).sha256 == head_list.sha256


@given(records)
def test_cells_are_where_they_are_said_to_be(pairs: list[tuple[str, str]]) -> None:
    head_list = HeadList.of_records(pairs)
    assert len(head_list.labels) == head_list.cells == head_list.cells_per_query.sum()
    assert [head_list.cell_of(*label) for label in head_list.labels] == list(range(head_list.cells))
    assert head_list.records == len(set(pairs))
    assert {head_list.labels[i] for i in head_list.record_cells} == set(pairs)
    assert head_list.labels[-1] == (None, None)
    assert np.array_equal(head_list.first_cell, np.searchsorted(head_list.query_of_cell, range(head_list.queries + 1)))


def test_a_star_in_the_data_is_not_the_wildcard() -> None:
    head_list = HeadList.of_records([("*", "*"), ("a", "*")])
    assert head_list.cell_of("*", "*") == 0
    assert head_list.cell_of("*", "elsewhere") == 1
    assert head_list.cell_of("a", "*") == 2
    assert head_list.cell_of("b", "*") == head_list.cell_of(None) == head_list.cells - 1
    assert head_list.labels == (("*", "*"), ("*", None), ("a", "*"), ("a", None), (None, None))


def test_one_level_lists_hold_queries_alone() -> None:
    head_list = HeadList.of_records([("b", None), ("a", None)], levels=1)
    assert head_list.cells_per_query.tolist() == [1, 1, 1]
    assert head_list.records == 2
    assert head_list.record_cells.tolist() == [0, 1]
    assert head_list.cell_of("b") == 1
    assert HeadList.from_bytes(head_list.to_bytes()) == head_list


def test_the_empty_list_has_one_cell() -> None:
    head_list = HeadList.of_records([])
    assert (head_list.cells, head_list.records, head_list.queries) == (1, 0, 0)
    assert head_list.cell_of("anything", "at all") == 0


def test_canonical_bytes_are_stable() -> None:
    head_list = HeadList.of_records([("погода", "http://a"), ("b", "http://c")])
    assert head_list.to_bytes().decode() == (
        '{"format":"blendp/head-list/1","levels":2,"queries":'
        '[{"query":"b","urls":["http://c"]},{"query":"погода","urls":["http://a"]}]}'
    )
    assert str(head_list).startswith("head list ")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b'{"format":"blendp/head-list/2","levels":2,"queries":[]}',
        b'{"format":"blendp/head-list/1","levels":3,"queries":[]}',
        b'{"format":"blendp/head-list/1","levels":"2","queries":[]}',
        b'{"format":"blendp/head-list/1","levels":true,"queries":[]}',
        b'{"levels":2,"format":"blendp/head-list/1","queries":[]}',
        b'{"format":"blendp/head-list/1","levels":2,"queries":[{"query":"b","urls":["x"]},{"query":"a","urls":["x"]}]}',
        b'{"format":"blendp/head-list/1","levels":2,"queries":[{"query":"a","urls":["y","x"]}]}',
        b'{"format":"blendp/head-list/1","levels":1,"queries":[{"query":"a","urls":["x"]}]}',
        b'{"format":"blendp/head-list/1","levels":2,"queries":[{"query":1,"urls":["x"]}]}',
    ],
)
def test_anything_but_a_canonical_list_is_refused(data: bytes) -> None:
    with pytest.raises(ParameterError):
        HeadList.from_bytes(data)


def test_text_without_a_utf8_form_is_refused() -> None:
    with pytest.raises(ParameterError, match="Unicode"):
        Entry("\ud800", ("x",))


def test_values_cannot_be_changed() -> None:
    head_list = HeadList.of_records([("a", "b")])
    with pytest.raises(ValueError, match="read-only"):
        head_list.cells_per_query[0] = 9
    with pytest.raises(AttributeError):
        head_list.levels = 1  # type: ignore[misc]
    assert json.loads(head_list.to_bytes())["levels"] == 2


def test_a_query_may_be_listed_without_any_url() -> None:
    """Its only cell, <q,*>, is a record: whoever has the query falls into it, whatever the URL."""
    head_list = HeadList.of_records([("b", None), ("a", "u"), ("c", "u"), ("c", "v")])
    assert head_list.labels == (
        ("a", "u"), ("a", None), ("b", None), ("c", "u"), ("c", "v"), ("c", None), (None, None),
    )  # fmt: skip
    assert head_list.record_cells.tolist() == [0, 2, 3, 4]
    assert (head_list.records, head_list.queries, head_list.cells) == (4, 3, 7)
    assert head_list.cell_of("b", "anything") == head_list.cell_of("b", None) == 2
    assert HeadList.from_bytes(head_list.to_bytes()) == head_list
