"""What people hold, as a value: what it refuses, and what it adds up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blendp.errors import ParameterError
from blendp.mechanisms import Holdings
from blendp.mechanisms.filtered_union import MAX_DIFFERENT

GOOD: dict[str, Any] = {
    "people": 4,
    "owner": [0, 0, 2, 2, 2],
    "record": [3, 1, 1, 0, 7],
    "occurrences": [1, 2, 5, 1, 1],
    "kept": [True, False, True, True, True],
}


def holdings(**changed: Any) -> Holdings:
    columns = GOOD | changed
    kinds = {"owner": np.int64, "record": np.int64, "occurrences": np.int64, "kept": np.bool_}
    for name, kind in kinds.items():
        if isinstance(columns[name], list):
            columns[name] = np.array(columns[name], dtype=kind)
    return Holdings(**columns)


def test_what_is_added_up() -> None:
    rows = holdings()
    assert rows.different.tolist() == [2, 0, 3, 0]
    assert rows.totals.tolist() == [3, 0, 7, 0]
    assert rows.start.tolist() == [0, 2, 2, 5, 5]
    for column in (rows.owner, rows.record, rows.occurrences, rows.kept):
        assert not column.flags.writeable


@pytest.mark.parametrize("records", [[], [-1], [-1, -1, -1], [4, -1, 4, 0, -1]])
def test_one_record_each(records: list[int]) -> None:
    rows = Holdings.one_each(np.array(records, dtype=np.int64))
    assert rows.people == len(records)
    assert rows.totals.tolist() == rows.different.tolist() == [int(record >= 0) for record in records]
    assert rows.record.tolist() == [record for record in records if record >= 0]
    assert rows.kept.all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"people": 2}, "owner = 2 .* below people = 2"),
        ({"people": -1}, "people = -1"),
        ({"people": 2.5}, "people = 2.5"),
        ({"owner": [-1, 0, 2, 2, 2]}, "owner = -1 .* 0 or more"),
        ({"owner": [0, 2, 0, 2, 2]}, "ascending"),
        ({"record": [3, 1, 1, -1, 7]}, "record = -1"),
        ({"record": [3, 1, 7, 0, 7]}, "twice the same of one person"),
        ({"record": [3, 3, 1, 2, 7]}, "twice the same of one person"),
        ({"occurrences": [1, 2, 0, 1, 1]}, "occurrences = 0"),
        ({"occurrences": [1, 2, 1 << 50, 1, 1]}, "occurrences = .* 2\\^50 or fewer"),
        ({"occurrences": [1, 2, (1 << 63) - 1, (1 << 63) - 1, 1]}, "occurrences = .* 2\\^50 or fewer"),
        ({"kept": [True] * 4}, "kept .* as long as owner"),
        ({"kept": np.ones(5, dtype=np.int64)}, "kept .* column of bool"),
        ({"record": np.ones((5, 1), dtype=np.int64)}, "record .* as long as owner"),
        ({"owner": np.zeros((5, 1), dtype=np.int64)}, "owner .* column of int64"),
        ({"owner": np.array([0, 0, 2, 2, 2], dtype=np.int32)}, "owner .* column of int64"),
        ({"occurrences": (1, 2, 5, 1, 1)}, "occurrences .* column of int64"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        holdings(**changed)


def test_at_most_so_many_rows_of_a_person_are_kept() -> None:
    many = np.arange(MAX_DIFFERENT + 1)
    rows: dict[str, Any] = {
        "people": 1,
        "owner": np.zeros_like(many),
        "record": many,
        "occurrences": np.ones_like(many),
    }
    assert Holdings(**rows, kept=many > 0).totals.tolist() == [MAX_DIFFERENT + 1]
    with pytest.raises(ParameterError, match=r"kept = 101 .* at most 100"):
        Holdings(**rows, kept=many >= 0)
