"""Encoded reports counted all at once: what decode says of each, added up."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from blendp.errors import ParameterError
from blendp.mechanisms.subset_selection import SubsetSelection, ranks
from blendp.randomness import SimulationRandom

ANY_SIZE = [SubsetSelection(1.0, 1), *(SubsetSelection(1.0, k, w) for k in range(2, 10) for w in range(1, k))]
LARGE = [(4.0, 200), (1.0, 60), (1.0, 73), (2.0, 150), (1.0, 300), (0.5, 400), (1.0, 1000), (4.0, 2000)]


def rows(randomiser: SubsetSelection, numbers: list[int]) -> NDArray[np.uint8]:
    data = b"".join(number.to_bytes(randomiser.report_bytes, "big") for number in numbers)
    return np.frombuffer(data, dtype=np.uint8).reshape(len(numbers), randomiser.report_bytes)


def random_rows(randomiser: SubsetSelection, count: int, seed: int) -> NDArray[np.uint8]:
    """Uniform ranks, and the first and last."""
    words = np.random.default_rng(seed).bytes(count * (randomiser.report_bytes + 8))
    step = len(words) // count
    numbers = [int.from_bytes(words[i * step : (i + 1) * step], "big") % randomiser.subsets for i in range(count)]
    return rows(randomiser, [*numbers, 0, randomiser.subsets - 1])


def one_by_one(randomiser: SubsetSelection, data: NDArray[np.uint8]) -> Any:
    items = [item for row in data for item in randomiser.decode(row.tobytes())]
    return np.bincount(np.array(items, dtype=np.int64), minlength=randomiser.items).tolist()


def walked(randomiser: SubsetSelection, data: NDArray[np.uint8]) -> Any:
    """By the way that serves ranks of any length."""
    return ranks._count_by_walk(data, randomiser.items, randomiser.size).tolist()


@pytest.mark.parametrize("randomiser", ANY_SIZE, ids=lambda randomiser: f"{randomiser.items}-{randomiser.size}")
def test_every_rank_of_small_lists(randomiser: SubsetSelection) -> None:
    """All together, and each alone: so no two errors cancel."""
    data = rows(randomiser, list(range(randomiser.subsets)))
    totals = randomiser.supports_of_reports(data)
    assert totals.dtype == np.int64
    assert totals.tolist() == one_by_one(randomiser, data) == walked(randomiser, data)
    for report, row in zip(randomiser.all_subsets(), data, strict=True):
        assert np.array_equal(randomiser.supports_of_reports(row[None]), report)
        assert walked(randomiser, row[None]) == report.tolist()


@pytest.mark.parametrize(("epsilon", "items"), LARGE)
def test_random_ranks_of_large_lists(epsilon: float, items: int) -> None:
    randomiser = SubsetSelection(epsilon, items)
    data = random_rows(randomiser, 200, seed=items)
    assert randomiser.supports_of_reports(data).tolist() == one_by_one(randomiser, data)
    assert walked(randomiser, data) == one_by_one(randomiser, data)


def test_ranks_next_to_the_steps_of_the_walk() -> None:
    """C(item, left) and one less differ in their last limb at most: logarithms cannot tell them apart."""
    randomiser = SubsetSelection(1.0, 400)
    steps = [math.comb(item, randomiser.size) for item in range(randomiser.size, 400, 40)]
    data = rows(randomiser, [step + by for step in steps for by in (-1, 0, 1) if step + by < randomiser.subsets])
    for row in data:
        assert walked(randomiser, row[None]) == one_by_one(randomiser, row[None])
    assert randomiser.supports_of_reports(data).tolist() == one_by_one(randomiser, data)


@settings(max_examples=150, deadline=None)
@given(items=st.integers(1, 90), fraction=st.floats(0, 1), seeds=st.lists(st.integers(0, 1 << 99), max_size=8))
def test_as_decoded_one_by_one(items: int, fraction: float, seeds: list[int]) -> None:
    width = None if items == 1 else 1 + round(fraction * (items - 2))
    randomiser = SubsetSelection(1.0, items, width)
    data = rows(randomiser, [seed % randomiser.subsets for seed in seeds])
    assert randomiser.possible(data).all()
    assert randomiser.supports_of_reports(data).tolist() == one_by_one(randomiser, data) == walked(randomiser, data)


@pytest.mark.parametrize(("epsilon", "items"), [(4.0, 1), (4.0, 51), (4.0, 150), (1.0, 51), (1.0, 120)])
def test_what_devices_encode_is_counted(epsilon: float, items: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one block or in many."""
    randomiser = SubsetSelection(epsilon, items)
    reports = randomiser.draw(np.arange(3_000) % items, SimulationRandom(1))
    encoded = b"".join(randomiser.encode(np.flatnonzero(row).tolist()) for row in reports)
    data = np.frombuffer(encoded, dtype=np.uint8).reshape(len(reports), -1)
    assert np.array_equal(randomiser.supports_of_reports(data), reports.sum(axis=0))
    for name, value in (("_BLOCK", 700), ("_LEAST", 500), ("_CACHE", 1), ("_GROUP", 8_000)):
        monkeypatch.setattr(ranks, name, value)
    assert np.array_equal(randomiser.supports_of_reports(data), reports.sum(axis=0))
    assert walked(randomiser, data) == reports.sum(axis=0).tolist()


def test_no_report() -> None:
    for randomiser in (SubsetSelection(4.0, 150), SubsetSelection(1.0, 300), SubsetSelection(1.0, 1)):
        nothing = np.empty((0, randomiser.report_bytes), dtype=np.uint8)
        assert randomiser.possible(nothing).shape == (0,)
        assert randomiser.supports_of_reports(nothing).tolist() == [0] * randomiser.items


@pytest.mark.parametrize(("epsilon", "items"), [(4.0, 1), (4.0, 51), (4.0, 150), (1.0, 60), (1.0, 300)])
def test_impossible_ranks_are_told_and_refused(epsilon: float, items: int) -> None:
    randomiser = SubsetSelection(epsilon, items)
    last, most = randomiser.subsets - 1, 256**randomiser.report_bytes - 1
    numbers = [0, last, last + 1, last // 2, min(last + 256, most), most]
    data = rows(randomiser, numbers)
    assert randomiser.possible(data).tolist() == [number <= last for number in numbers]
    with pytest.raises(ParameterError, match=rf"{data[2].tobytes().hex()}.*a rank below C\({items}, {randomiser.size}"):
        randomiser.supports_of_reports(data)
    assert randomiser.supports_of_reports(data[[0, 1, 3]]).sum() == 3 * randomiser.size


def test_a_list_whose_ranks_fill_their_bytes_has_no_impossible_report() -> None:
    randomiser = SubsetSelection(8.0, 256)
    assert (randomiser.subsets, randomiser.report_bytes) == (256, 1)
    data = np.arange(256, dtype=np.uint8)[:, None]
    assert randomiser.possible(data).all()
    assert randomiser.supports_of_reports(data).tolist() == [1] * 256


@pytest.mark.parametrize(
    "data",
    [
        np.zeros((3, 1), dtype=np.uint8),
        np.zeros((3, 3), dtype=np.uint8),
        np.zeros(2, dtype=np.uint8),
        np.zeros((3, 2), dtype=np.int64),
    ],
)
def test_rows_of_another_form_are_refused(data: NDArray[np.uint8]) -> None:
    for use in (SubsetSelection(4.0, 150).possible, SubsetSelection(4.0, 150).supports_of_reports):
        with pytest.raises(ParameterError, match="rows of 2 bytes"):
            use(data)
