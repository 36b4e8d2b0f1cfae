"""Counting the items of many encoded reports at once: :meth:`SubsetSelection.decode`, for all rows together.

All reports are cut in the middle together, as :mod:`ranks` cuts one, the longest parts first: long ranks as Python's
whole numbers, shorter ones as arrays of limbs, words item by item or by search. Whose report a part came from is
forgotten at once: only the totals are wanted.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import distinct
from blendp.mechanisms.subset_selection import ranks
from blendp.mechanisms.subset_selection.ranks import halves, shares

_WORD_BYTES = 8
_LIMB_BYTES, _LIMB_BITS, _LIMB = 2, 16, 65536.0
_MAX_LIMBS = 36
_GROUP = 1 << 23
_BLOCK = 1 << 13
_WORDS_AT_ONCE = 1 << 15
_SEARCH = 12
_UNCOVERED = 1 << 40
_NEAR_STEP = 1e-9
_NEAR_WHOLE = 1e-6

Uint64s = NDArray[np.uint64]
Numbers = NDArray[np.int64]
Limbs = NDArray[np.float64]
Bytes = NDArray[np.uint8]


def count_items(data: Bytes, items: int, size: int) -> Numbers:
    """How many of the reports contain each item, from their ranks: rows of bytes, all of them possible reports."""
    totals = np.zeros(items, dtype=np.int64)
    if math.comb(items, size) < ranks.WORD:
        columns = _columns(items, size)
        for block in _blocks(data, _WORDS_AT_ONCE):
            _count_words(_words(block), np.full(len(block), size), columns, totals)
        return totals
    for group in _blocks(data, max(1, _GROUP // data.shape[1])):
        _count_group(group, items, size, totals)
    return totals


def _count_group(data: Bytes, items: int, size: int, totals: Numbers) -> None:
    """Add reports that fit memory; all parts of one length come together, to share their tables."""
    waiting: dict[int, list[_Part]] = defaultdict(list)
    for part in _short_parts(data, items, size):
        waiting[part.items].append(part)
    while waiting:
        length = max(waiting)
        parts = waiting.pop(length)
        splitter = _Splitter(length, parts)
        for part in parts:
            for half in splitter.split(part, totals):
                waiting[half.items].append(half)


def _blocks(data: Bytes, length: int) -> Iterator[Bytes]:
    for start in range(0, len(data), length):
        yield data[start : start + length]


def _words(data: Bytes) -> Uint64s:
    """Rows of at most 8 bytes, the most significant first, as words."""
    padded = np.zeros((len(data), _WORD_BYTES), dtype=np.uint8)
    padded[:, _WORD_BYTES - data.shape[1] :] = data
    return padded.view(">u8").ravel().astype(np.uint64)


@dataclass(frozen=True, eq=False)
class _Part:
    """The same stretch of the list in many reports: how many of its items they contain, and the ranks of these.

    where:
        ranks  has a column for every report, in limbs of 16 bits, the lowest first; floats, as they multiply fastest.
    """

    start: int
    items: int
    sizes: Numbers
    ranks: Limbs

    @classmethod
    def of_bytes(cls, start: int, items: int, sizes: Numbers, data: Bytes) -> Iterator[_Part]:
        """From rows of bytes, the lowest first, in blocks that fit the processor's cache."""
        count = -(-data.shape[1] // _LIMB_BYTES)
        for first in range(0, len(data), _BLOCK):
            block = data[first : first + _BLOCK]
            padded = np.zeros((len(block), count * _LIMB_BYTES), dtype=np.uint8)
            padded[:, : data.shape[1]] = block
            limbs = np.ascontiguousarray(padded.view("<u2").T, dtype=np.float64)
            yield cls(start, items, sizes[first : first + _BLOCK], limbs)

    def rows(self, chosen: NDArray[np.bool_]) -> _Part:
        """Some of the reports."""
        if chosen.all():
            return self
        at = np.flatnonzero(chosen)
        return _Part(self.start, self.items, self.sizes[at], self.ranks.take(at, axis=1))

    def word_ranks(self) -> Uint64s:
        """The ranks, all of them words."""
        word_ranks = np.zeros(len(self.sizes), dtype=np.uint64)
        for limb in self.ranks[: _WORD_BYTES // _LIMB_BYTES][::-1]:
            word_ranks = (word_ranks << np.uint64(_LIMB_BITS)) + limb.astype(np.uint64)
        return word_ranks

    def rank(self, row: int) -> int:
        """One rank."""
        return int.from_bytes(self.ranks[:, row].astype("<u2").tobytes(), "little")


class _Row(dict[int, int]):
    """C(items, size) of one length by size, each from a neighbour."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    def __missing__(self, size: int) -> int:
        if size - 1 in self:
            value = self[size - 1] * (self.length - size + 1) // size
        elif size + 1 in self:
            value = self[size + 1] * (size + 1) // (self.length - size)
        else:
            value = math.comb(self.length, size)
        self[size] = value
        return value


class _Shares:
    """Where the ranks of sets with so many items in the second part start, in the order of the ranks.

    It goes only as far as it was asked for: the likeliest come first.
    """

    def __init__(self, items: int, size: int, first: _Row, second: _Row) -> None:
        likely = size * second.length // items
        self._coming = shares(items, size, first[size - likely] * second[likely])
        self._second = second
        self.end = 0
        self.starts: list[int] = []
        self.counts: list[int] = []
        self.seconds: list[int] = []

    def reach(self, rank: int) -> None:
        """Go so far that this rank is found."""
        while self.end <= rank:
            count, share = next(self._coming)
            self.starts.append(self.end)
            self.counts.append(count)
            self.seconds.append(self._second[count])
            self.end += share

    def cut(self, rank: int) -> tuple[int, int, int]:
        """How many items are in the second part, and the ranks of both."""
        self.reach(rank)
        at = bisect_right(self.starts, rank) - 1
        return (self.counts[at], *divmod(rank - self.starts[at], self.seconds[at]))


@dataclass(frozen=True, eq=False)
class _Stretch:
    """As a :class:`_Part`, with ranks of any length, by the number of items that the reports contain."""

    start: int
    items: int
    ranks: dict[int, list[int]]

    def short(self, row: _Row) -> Iterator[_Part]:
        """Take out the reports whose ranks have few limbs."""
        sizes = [size for size in sorted(self.ranks) if row[size].bit_length() <= _MAX_LIMBS * _LIMB_BITS]
        if sizes:
            width = -(-max(row[size].bit_length() for size in sizes) // 8)
            counts = [len(self.ranks[size]) for size in sizes]
            data = b"".join(rank.to_bytes(width, "little") for size in sizes for rank in self.ranks.pop(size))
            rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, width)
            yield from _Part.of_bytes(self.start, self.items, np.repeat(sizes, counts), rows)

    def cut(self, size: int, table: _Shares, front: dict[int, list[int]], back: dict[int, list[int]]) -> None:
        """Move the reports with so many items to the two halves."""
        moving = self.ranks.pop(size, [])
        table.reach(max(moving, default=-1))
        fronts, backs = [front[size - count] for count in table.counts], [back[count] for count in table.counts]
        starts, seconds = table.starts, table.seconds
        for rank in moving:
            at = bisect_right(starts, rank) - 1
            first, second = divmod(rank - starts[at], seconds[at])
            fronts[at].append(first)
            backs[at].append(second)


def _short_parts(data: Bytes, items: int, size: int) -> Iterator[_Part]:
    """The reports, cut until every rank has few limbs."""
    if math.comb(items, size).bit_length() <= _MAX_LIMBS * _LIMB_BITS:
        yield from _Part.of_bytes(0, items, np.full(len(data), size), data[:, ::-1])
        return
    text, width = data.tobytes(), data.shape[1]
    whole = [int.from_bytes(text[at : at + width], "big") for at in range(0, len(text), width)]
    waiting = {items: [_Stretch(0, items, {size: whole})]}
    while waiting:
        length = max(waiting)
        stretches, row = waiting.pop(length), _Row(length)
        for stretch in stretches:
            yield from stretch.short(row)
        for half in _halved(length, stretches):
            waiting.setdefault(half.items, []).append(half)


def _halved(length: int, stretches: list[_Stretch]) -> Iterator[_Stretch]:
    """The halves of stretches of one length; only one table of long numbers is in memory at a time."""
    first, second = halves(length)
    rows = _Row(first), _Row(second)
    pieces: list[tuple[dict[int, list[int]], dict[int, list[int]]]] = [
        (defaultdict(list), defaultdict(list)) for _ in stretches
    ]
    for size in sorted({size for stretch in stretches for size in stretch.ranks}):
        table = _Shares(length, size, *rows)
        for stretch, (front, back) in zip(stretches, pieces, strict=True):
            stretch.cut(size, table, front, back)
    for stretch, (front, back) in zip(stretches, pieces, strict=True):
        for start, items, ranks_of in ((stretch.start, first, front), (stretch.start + first, second, back)):
            filled = {size: some for size, some in ranks_of.items() if some}
            if filled:
                yield _Stretch(start, items, filled)


class _Splitter:
    """Counts the reports of parts of one length whose ranks are words, and cuts the others, all sizes together.

    A float tells a report's share, and floats the digits of the quotient; what they tell is believed where they are
    far from where the answer changes, so that no rounding can matter. The few other reports are cut one by one.
    """

    def __init__(self, items: int, parts: list[_Part]) -> None:
        sizes = distinct(np.concatenate([part.sizes for part in parts])).tolist()
        row = _Row(items)
        self.items = items
        self._is_word = np.zeros(sizes[-1] + 1, dtype=np.bool_)
        self._is_word[[size for size in sizes if row[size] < ranks.WORD]] = True
        self._columns = _columns(items, int(np.flatnonzero(self._is_word).max(initial=0)))
        long = [size for size in sizes if row[size] >= ranks.WORD]
        if long:
            self._tabulate(long, row)

    def _tabulate(self, sizes: list[int], row: _Row) -> None:
        """Lay the tables of all sizes one after the other, each from its number to the next."""
        first, second = (_Row(half) for half in halves(self.items))
        self._shares = {size: _Shares(self.items, size, first, second) for size in sizes}
        self._nth = np.zeros(sizes[-1] + 1, dtype=np.int64)
        self._nth[sizes] = np.arange(len(sizes))
        self._scale = np.array([1 / row[size] for size in sizes])
        keys: list[float] = []
        starts, seconds, counts, max_front = [], [], [], 0
        for nth, (size, table) in enumerate(self._shares.items()):
            table.reach(row[size] - row[size] // _UNCOVERED - 1)
            keys += [nth + start / row[size] for start in (*table.starts, table.end)]
            starts += [*table.starts, 0]
            seconds += [*table.seconds, 1]
            counts += [*table.counts, 0]
            max_front = max(max_front, *(first[size - count] for count in table.counts))
        self._keys = np.array([*keys, len(sizes), math.inf])
        self._starts = _limbs_of_numbers([*starts, 0], max(row[size] for size in sizes))
        self._seconds = _limbs_of_numbers([*seconds, 1], max(seconds))
        self._divisors = _value(self._seconds)
        self._counts = np.array([*counts, 0])
        self._digits = _limb_count(max_front)
        self._widths = tuple(_limb_count(math.comb(half, half // 2)) for half in halves(self.items))

    def split(self, part: _Part, totals: Numbers) -> Iterator[_Part]:
        """Count what can be counted, and give the halves of the rest."""
        is_word = self._is_word.take(part.sizes)
        if is_word.any():
            ready = part.rows(is_word)
            _count_words(ready.word_ranks(), ready.sizes, self._columns, totals[part.start : part.start + part.items])
        if not is_word.all():
            yield from self._halves(part.rows(~is_word))

    def _halves(self, part: _Part) -> Iterator[_Part]:
        at, sure = self._entries(part)
        counts = self._counts.take(at)
        front, back, divided = self._divide(part, at)
        for row in np.flatnonzero(~(sure & divided)).tolist():
            counts[row], *both = self._shares[int(part.sizes[row])].cut(part.rank(row))
            for limbs, number in zip((front, back), both, strict=True):
                limbs[:, row] = _limbs_of_numbers([number], 256 ** (_LIMB_BYTES * len(limbs)) - 1)[:, 0]
        first, second = halves(self.items)
        yield _Part(part.start, first, part.sizes - counts, front)
        yield _Part(part.start + first, second, counts, back)

    def _entries(self, part: _Part) -> tuple[Numbers, NDArray[np.bool_]]:
        """The entry of the tables in which every rank is, and whether that is sure."""
        nth = self._nth.take(part.sizes)
        keys = nth + _value(part.ranks) * self._scale.take(nth)
        at = np.searchsorted(self._keys, keys, side="right") - 1
        low, high = self._keys.take(at), self._keys.take(at + 1)
        return at, (keys - low > _NEAR_STEP) & (high - keys > _NEAR_STEP)

    def _divide(self, part: _Part, at: Numbers) -> tuple[Limbs, Limbs, NDArray[np.bool_]]:
        """The ranks of both halves: quotient and remainder of rank - start by the sets of the second half.

        Every step keeps rank - start = quotient second + rest exactly: all limbs stay whole numbers below 2^53. The
        floats decide only how much is taken away in a step, and a digit that is off by one is mended by the next.
        """
        rows = len(part.sizes)
        seconds = self._seconds.take(at, axis=1)
        divisors, width = self._divisors.take(at), len(seconds)
        rest = np.zeros((max(len(self._starts), width + self._digits), rows))
        rest[: len(part.ranks)] = part.ranks[: len(rest)]
        for limb, taken in zip(rest, self._starts, strict=False):
            np.subtract(limb, taken.take(at), out=limb)
        front = np.zeros((max(self._widths[0], self._digits), rows))
        back = np.zeros((max(self._widths[1], width), rows))
        product = np.empty(rows)
        for top in range(len(rest) - 1, width + self._digits - 1, -1):
            rest[top - 1] += rest[top] * _LIMB
        for digit in range(self._digits - 1, -1, -1):
            window = rest[digit : digit + width + 1]
            np.floor(np.divide(_value(window), divisors, out=product), out=front[digit])
            for limb, second in zip(window, seconds, strict=False):
                np.subtract(limb, np.multiply(front[digit], second, out=product), out=limb)
            window[-2] += window[-1] * _LIMB
        back[:width] = rest[:width]
        shares_of_whole = _value(back) / divisors
        _carry(front)
        _carry(back)
        return front, back, (shares_of_whole > _NEAR_WHOLE) & (shares_of_whole < 1 - _NEAR_WHOLE)


def _count_words(word_ranks: Uint64s, sizes: Numbers, columns: Uint64s, totals: Numbers) -> None:
    """Add the sets of these ranks, all of them words, to the totals."""
    if _SEARCH * int(sizes.max()) < len(totals):
        _count_by_search(word_ranks, sizes, columns, totals)
    else:
        _count_by_walk(word_ranks, sizes, columns, totals)


def _count_by_search(word_ranks: Uint64s, sizes: Numbers, columns: Uint64s, totals: Numbers) -> None:
    """The largest item of a report is the last c with C(c, left) <= rank, and so on below it: for few items."""
    reached = np.cumsum(np.bincount(sizes)[::-1])[::-1]
    word_ranks = word_ranks.copy() if reached[0] == reached[-1] else word_ranks.take(np.argsort(-sizes))
    for left in range(len(reached) - 1, 0, -1):
        active = word_ranks[: reached[left]]
        largest = np.searchsorted(columns[left], active, side="right") - 1
        totals += np.bincount(largest, minlength=len(totals))
        active -= columns[left][largest]


def _count_by_walk(word_ranks: Uint64s, sizes: Numbers, columns: Uint64s, totals: Numbers) -> None:
    """From the last item down: with so many ``left``, the next is ``item`` when rank >= C(item, left)."""
    word_ranks, left = word_ranks.copy(), sizes.copy()
    for item, steps in reversed(list(enumerate(np.ascontiguousarray(columns.T)))):
        step = steps.take(left)
        inside = word_ranks >= step
        totals[item] += np.count_nonzero(inside)
        word_ranks -= step * inside
        left -= inside


def _columns(items: int, size: int) -> Uint64s:
    """C(c, left) for c = 0 .. items-1, a row for every left up to ``size``; what is no word is the largest word."""
    columns = np.ones((size + 1, items), dtype=np.uint64)
    for before, column in pairwise(columns):
        column[0] = 0
        np.cumsum(before[:-1], out=column[1:])
        too_large = column[1:] < column[:-1]
        column[1:][np.maximum.accumulate(too_large)] = np.iinfo(np.uint64).max
    return columns


def _value(limbs: Limbs) -> NDArray[np.float64]:
    """The numbers that the limbs are, as floats; limbs of both signs that cancel one another do so exactly."""
    value: NDArray[np.float64] = limbs[-1].copy()
    for limb in limbs[-2::-1]:
        value *= _LIMB
        value += limb
    return value


def _carry(limbs: Limbs) -> None:
    """Bring all limbs into their range."""
    for limb in range(len(limbs) - 1):
        over = np.floor(limbs[limb] / _LIMB)
        limbs[limb] -= over * _LIMB
        limbs[limb + 1] += over


def _limb_count(number: int) -> int:
    """Limbs for numbers up to this."""
    return max(1, -(-number.bit_length() // _LIMB_BITS))


def _limbs_of_numbers(numbers: list[int], max_number: int) -> Limbs:
    """Numbers as columns of as many limbs as the largest possible needs."""
    width = _limb_count(max_number) * _LIMB_BYTES
    data = b"".join(number.to_bytes(width, "little") for number in numbers)
    rows = np.frombuffer(data, dtype="<u2").reshape(len(numbers), -1)
    return np.ascontiguousarray(rows.T, dtype=np.float64)
