"""The rank of a set: every set has one and every rank a set, and long lists cost little more than their length."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blendp.mechanisms.subset_selection import SubsetSelection, ranks
from blendp.mechanisms.subset_selection.ranks import Ranks


@pytest.mark.parametrize("word", [2, 3, 10, 50, 1 << 64])
def test_every_rank_is_the_rank_of_one_set(word: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "WORD", word)
    for items in range(1, 10):
        for size in range(items + 1):
            code = Ranks()
            sets = [tuple(code.members(rank, items, size)) for rank in range(math.comb(items, size))]
            assert sorted(sets) == sorted(combinations(range(items), size))
            assert [code.rank(chosen, items) for chosen in sets] == list(range(len(sets)))


@settings(max_examples=60, deadline=None)
@given(items=st.integers(60, 2_500), fraction=st.floats(0.01, 0.99), seed=st.integers(0, 1 << 300))
def test_ranks_of_long_lists_go_both_ways(items: int, fraction: float, seed: int) -> None:
    size = max(1, round(items * fraction))
    code, rank = Ranks(), seed**9 % math.comb(items, size)
    chosen = code.members(rank, items, size)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == size
    assert code.rank(chosen, items) == rank == Ranks().rank(chosen, items)


@given(items=st.integers(40, 300), data=st.data())
def test_any_set_of_a_long_list_survives(items: int, data: st.DataObject) -> None:
    chosen = sorted(data.draw(st.sets(st.integers(0, items - 1), min_size=1, max_size=items)))
    code = Ranks()
    rank = code.rank(chosen, items)
    assert 0 <= rank < math.comb(items, len(chosen))
    assert code.members(rank, items, len(chosen)) == chosen


@pytest.mark.parametrize(("items", "size"), [(70, 30), (101, 40), (2, 1), (5, 0)])
def test_shares_are_all_the_sets_the_likeliest_first(items: int, size: int) -> None:
    shares = list(Ranks().shares(items, size))
    likely = size * (items - items // 2) // items
    assert shares[0][0] == likely
    assert [number for number, _ in shares] == sorted(
        (number for number, _ in shares), key=lambda number: abs(2 * (number - likely) - 1)
    )
    assert all(
        share == math.comb(items // 2, size - number) * math.comb(items - items // 2, number)
        for number, share in shares
    )
    assert sum(share for _, share in shares) == math.comb(items, size)


@pytest.mark.parametrize(
    ("items", "chosen", "data"),
    [
        (10, [1, 4, 6], "1b"),
        (150, [42], "2a"),
        (68, [*range(0, 68, 2)], "0018aa462da1ade124"),
        (68, [*range(16, 50)], "00d2654e6ea168e002"),
        (68, [*range(34, 68)], "018add8278972bc6e2"),
        (68, [*range(34)], "018add8278972bc6e3"),
    ],
)
def test_vectors(items: int, chosen: list[int], data: str) -> None:
    """The examples of the page on HTTP."""
    randomiser = SubsetSelection(1.0, items, len(chosen))
    assert randomiser.encode(chosen).hex() == data
    assert list(randomiser.decode(bytes.fromhex(data))) == chosen
    counts = randomiser.supports_of_reports(np.frombuffer(bytes.fromhex(data), dtype=np.uint8)[None])
    assert np.flatnonzero(counts).tolist() == chosen


class Counted(int):
    """A whole number that counts the machine words which arithmetic with it goes through."""

    work = 0

    def _done(self, other: int, value: int) -> Counted:
        longer = max(self.bit_length(), int(other).bit_length()) // 64 + 1
        Counted.work += longer * (min(self.bit_length(), int(other).bit_length()) // 64 + 1)
        return Counted(value)

    def __add__(self, other: int) -> Counted:
        return self._done(0, int(self) + int(other))

    def __sub__(self, other: int) -> Counted:
        return self._done(0, int(self) - int(other))

    def __rsub__(self, other: int) -> Counted:
        return self._done(0, int(other) - int(self))

    def __mul__(self, other: int) -> Counted:
        return self._done(other, int(self) * int(other))

    def __floordiv__(self, other: int) -> Counted:
        return self._done(other, int(self) // int(other))

    def __rdivmod__(self, other: int) -> tuple[Counted, Counted]:
        quotient, rest = divmod(int(other), int(self))
        return self._done(quotient, quotient), Counted(rest)

    __radd__, __rmul__ = __add__, __mul__


def work(call: Callable[[Any], object], argument: object) -> int:
    before = Counted.work
    call(argument)
    return Counted.work - before


def test_the_work_for_a_report_grows_little_faster_than_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """A binomial coefficient counts as what its steps would cost; those of a list's parts are remembered."""
    comb = math.comb

    def counted(items: int, size: int) -> Counted:
        value = Counted(comb(items, size))
        Counted.work += min(size, items - size) * (value.bit_length() // 64 + 1) // 2 + 1
        return value

    monkeypatch.setattr(math, "comb", counted)
    lengths, costs = (1_000, 3_000, 10_000), []
    for items in lengths:
        randomiser, generator = SubsetSelection(1.0, items), np.random.default_rng(items)
        some, other = (sorted(generator.choice(items, randomiser.size, replace=False).tolist()) for _ in range(2))
        data = randomiser.encode(some)
        costs.append((work(randomiser.encode, other), work(randomiser.decode, data)))
    encoding, decoding = np.array(costs).T
    assert (encoding <= 2 * decoding).all()
    for cost in (encoding, decoding):
        assert np.polyfit(np.log(lengths), np.log(cost), 1)[0] <= 1.6
