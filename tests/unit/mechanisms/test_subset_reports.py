"""Encoded reports counted all at once: what decode says of each, added up."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from blendp.errors import ParameterError
from blendp.mechanisms.subset_selection import SubsetSelection, counting, ranks
from blendp.randomness import SimulationRandom

ANY_SIZE = [SubsetSelection(1.0, 1), *(SubsetSelection(1.0, k, w) for k in range(2, 10) for w in range(1, k))]
LARGE = [(4.0, 200), (1.0, 60), (1.0, 73), (2.0, 150), (1.0, 300), (0.5, 400), (1.0, 1000), (4.0, 2000)]


def rows(randomiser: SubsetSelection, numbers: list[int]) -> NDArray[np.uint8]:
    data = b"".join(number.to_bytes(randomiser.report_bytes, "big") for number in numbers)
    return np.frombuffer(data, dtype=np.uint8).reshape(len(numbers), randomiser.report_bytes)


def random_rows(randomiser: SubsetSelection, count: int, seed: int) -> NDArray[np.uint8]:
    """Uniform ranks, and the first and last."""
    data = np.random.default_rng(seed).bytes(count * (randomiser.report_bytes + 8))
    step = len(data) // count
    numbers = [int.from_bytes(data[i * step : (i + 1) * step], "big") % randomiser.subsets for i in range(count)]
    return rows(randomiser, [*numbers, 0, randomiser.subsets - 1])


def one_by_one(randomiser: SubsetSelection, data: NDArray[np.uint8]) -> Any:
    items = [item for row in data for item in randomiser.decode(row.tobytes())]
    return np.bincount(np.array(items, dtype=np.int64), minlength=randomiser.items).tolist()


WAYS: dict[str, dict[str, Any]] = {
    "walk": {"_SEARCH": 1 << 40},
    "search": {"_SEARCH": 0},
    "whole numbers": {"_MAX_LIMBS": 4},
    "every report one by one": {"_NEAR_WHOLE": 0.5},
    "small blocks": {"_BLOCK": 7, "_WORDS_AT_ONCE": 7, "_GROUP": 1 << 9},
}


def other_ways(randomiser: SubsetSelection, data: NDArray[np.uint8]) -> Iterator[Any]:
    """The counts, by ways that other reports are counted."""
    for settings_of_way in WAYS.values():
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settings_of_way.items():
                patch.setattr(counting, name, value)
            yield randomiser.supports_of_reports(data).tolist()


def require_counts(randomiser: SubsetSelection, data: NDArray[np.uint8]) -> None:
    """All ways agree with what decode says of every report."""
    expected = one_by_one(randomiser, data)
    assert randomiser.supports_of_reports(data).tolist() == expected
    for way, counts in zip(WAYS, other_ways(randomiser, data), strict=True):
        assert counts == expected, way


@pytest.mark.parametrize("randomiser", ANY_SIZE, ids=lambda randomiser: f"{randomiser.items}-{randomiser.size}")
def test_every_rank_of_small_lists(randomiser: SubsetSelection) -> None:
    """All together, and each alone: so no two errors cancel."""
    data = rows(randomiser, list(range(randomiser.subsets)))
    totals = randomiser.supports_of_reports(data)
    assert totals.dtype == np.int64
    require_counts(randomiser, data)
    for report, row in zip(randomiser.all_subsets(), data, strict=True):
        assert np.array_equal(randomiser.supports_of_reports(row[None]), report)


@pytest.mark.parametrize("word", [2, 7, 40])
@pytest.mark.parametrize("items", range(2, 10))
def test_every_rank_of_small_lists_that_are_cut(items: int, word: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long lists are, down to parts with fewer sets than ``word``."""
    monkeypatch.setattr(ranks, "WORD", word)
    for size in range(1, items):
        randomiser = SubsetSelection(1.0, items, size)
        data = rows(randomiser, list(range(randomiser.subsets)))
        require_counts(randomiser, data)
        for row in data:
            assert randomiser.supports_of_reports(row[None]).tolist() == one_by_one(randomiser, row[None])


@pytest.mark.parametrize(("epsilon", "items"), LARGE)
def test_random_ranks_of_large_lists(epsilon: float, items: int) -> None:
    randomiser = SubsetSelection(epsilon, items)
    data = random_rows(randomiser, 200, seed=items)
    require_counts(randomiser, data)


@pytest.mark.parametrize("items", [150, 400, 800])
def test_ranks_next_to_the_steps(items: int) -> None:
    """Where a share starts, and where the rank of the first half grows by one, floats cannot tell neighbours apart."""
    randomiser = SubsetSelection(1.0, items)
    steps, start = [], 0
    for behind, share in ranks.Ranks().shares(items, randomiser.size):
        second = ranks.Ranks().binomial(items - items // 2, behind)
        steps += [start, start + share // second // 3 * second]
        start += share
    near = [step + by for step in steps for by in (-1, 0, 1) if 0 <= step + by < randomiser.subsets]
    data = rows(randomiser, near[:: max(1, items // 100)])
    for row in data[::16]:
        assert randomiser.supports_of_reports(row[None]).tolist() == one_by_one(randomiser, row[None])
    require_counts(randomiser, data)


def test_sets_that_no_honest_device_draws() -> None:
    """All in one half, every other item, runs: the counts in the parts are far from what chance gives."""
    randomiser = SubsetSelection(1.0, 900)
    size = randomiser.size
    runs = [list(range(start, start + size)) for start in range(0, 900 - size, 61)]
    spread = [list(range(start, 900, 3))[:size] for start in range(3)]
    ends = [[*range(part), *range(900 - size + part, 900)] for part in range(0, size, 19)]
    encoded = b"".join(randomiser.encode(subset) for subset in [*runs, *spread, *ends])
    data = np.frombuffer(encoded, dtype=np.uint8).reshape(-1, randomiser.report_bytes)
    require_counts(randomiser, data)


@settings(max_examples=150, deadline=None)
@given(items=st.integers(1, 90), fraction=st.floats(0, 1), seeds=st.lists(st.integers(0, 1 << 99), max_size=8))
def test_as_decoded_one_by_one(items: int, fraction: float, seeds: list[int]) -> None:
    width = None if items == 1 else 1 + round(fraction * (items - 2))
    randomiser = SubsetSelection(1.0, items, width)
    data = rows(randomiser, [seed % randomiser.subsets for seed in seeds])
    assert randomiser.possible(data).all()
    require_counts(randomiser, data)


@pytest.mark.parametrize(("epsilon", "items"), [(4.0, 1), (4.0, 51), (4.0, 150), (1.0, 51), (1.0, 120)])
def test_what_devices_encode_is_counted(epsilon: float, items: int) -> None:
    """In one block or in many."""
    randomiser = SubsetSelection(epsilon, items)
    reports = randomiser.draw(np.arange(3_000) % items, SimulationRandom(1))
    encoded = b"".join(randomiser.encode(np.flatnonzero(row).tolist()) for row in reports)
    data = np.frombuffer(encoded, dtype=np.uint8).reshape(len(reports), -1)
    assert np.array_equal(randomiser.supports_of_reports(data), reports.sum(axis=0))
    for counts in other_ways(randomiser, data):
        assert counts == reports.sum(axis=0).tolist()


def test_no_report() -> None:
    for randomiser in (SubsetSelection(4.0, 150), SubsetSelection(1.0, 300), SubsetSelection(1.0, 1)):
        nothing = np.empty((0, randomiser.report_bytes), dtype=np.uint8)
        assert randomiser.possible(nothing).shape == (0,)
        assert randomiser.supports_of_reports(nothing).tolist() == [0] * randomiser.items


@pytest.mark.parametrize(("epsilon", "items"), [(4.0, 1), (4.0, 51), (4.0, 150), (1.0, 60), (1.0, 300)])
def test_impossible_ranks_are_told_and_refused(epsilon: float, items: int) -> None:
    randomiser = SubsetSelection(epsilon, items)
    last, max_number = randomiser.subsets - 1, 256**randomiser.report_bytes - 1
    numbers = [0, last, last + 1, last // 2, min(last + 256, max_number), max_number]
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
