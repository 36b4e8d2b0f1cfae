"""The number of a set among all sets of its size, so that a report takes no more bytes than it must.

With C(n, w) below 2^64 a set c_1 < ... < c_w of 0 .. n-1 has the rank of the combinatorial number system,

    rank = C(c_1, 1) + C(c_2, 2) + ... + C(c_w, w).

With more sets the items are cut in the middle, into the first floor(n/2) and the others, and

    rank = sum over i before j of C(a, w - i) C(b, i)  +  (rank of the first part) C(b, j)  +  (rank of the second)

where:
    a, b  are the lengths of the two parts,
    j     is how many of the w items are in the second part, which is counted from 0 again;
          the likeliest number comes first: m, m + 1, m - 1, m + 2, m - 2 ... with m = floor(w b/n).

Each part is ranked in the same way. So the long numbers are halved before they are searched: no walk through all items
with a number as long as the report.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from blendp.errors import ParameterError

WORD = 1 << 64
"""Sets of which there are fewer are ranked by the combinatorial number system."""

_NEAR = 100


def halves(items: int) -> tuple[int, int]:
    """The lengths of the two parts."""
    return items // 2, items - items // 2


def shares(items: int, size: int, likeliest: int) -> Iterator[tuple[int, int]]:
    """How many of ``size`` items may be in the second part, in the order of the ranks, and how many sets have so many.

    ``likeliest`` is how many sets the first of these numbers has.
    """
    first, second = halves(items)
    low, high = max(0, size - first), min(size, second)
    up = down = size * second // items
    more = fewer = likeliest
    yield up, likeliest
    while up < high or down > low:
        if up < high:
            more = more * (size - up) // (first - size + up + 1) * (second - up) // (up + 1)
            up += 1
            yield up, more
        if down > low:
            fewer = fewer * (first - size + down) // (size - down + 1) * down // (second - down + 1)
            down -= 1
            yield down, fewer


@dataclass(frozen=True)
class Ranks:
    """Ranks sets, and finds the set of a rank; remembers the last C(n, w) of every n, as the next is near it."""

    _last: dict[int, tuple[int, int]] = field(default_factory=dict, repr=False)

    def binomial(self, items: int, size: int) -> int:
        """C(items, size)."""
        at, value = self._last.get(items, (size, 0))
        if at == size and value:
            return value
        if not value or abs(at - size) > _NEAR:
            at, value = size, math.comb(items, size)
        while at < size:
            value = value * (items - at) // (at + 1)
            at += 1
        while at > size:
            value = value * at // (items - at + 1)
            at -= 1
        self._last[items] = (size, value)
        return value

    def shares(self, items: int, size: int) -> Iterator[tuple[int, int]]:
        """:func:`shares`, from its first number."""
        first, second = halves(items)
        likely = size * second // items
        return shares(items, size, self.binomial(first, size - likely) * self.binomial(second, likely))

    def rank(self, chosen: Sequence[int], items: int) -> int:
        """The rank of a set in ascending order."""
        return self._rank(chosen, 0, items, self.binomial(items, len(chosen)))

    def _rank(self, chosen: Sequence[int], start: int, items: int, sets: int) -> int:
        """The rank of the items from ``start`` on, counted from there; ``sets`` is C(items, how many they are)."""
        if sets < WORD:
            return sum(map(math.comb, [item - start for item in chosen], count(1)))
        first, second = halves(items)
        cut = bisect_left(chosen, start + first)
        behind = len(chosen) - cut
        before = 0
        for number, share in self.shares(items, len(chosen)):
            if number == behind:
                break
            before += share
        seconds = self.binomial(second, behind)
        rank = self._rank(chosen[:cut], start, first, self.binomial(first, cut))
        return before + rank * seconds + self._rank(chosen[cut:], start + first, second, seconds)

    def members(self, rank: int, items: int, size: int) -> list[int]:
        """The set of a rank below C(items, size), in ascending order."""
        chosen: list[int] = []
        self._unrank(rank, 0, items, size, self.binomial(items, size), chosen)
        return chosen

    def _unrank(self, rank: int, start: int, items: int, size: int, sets: int, chosen: list[int]) -> None:
        """Add the items from ``start`` on that have this rank."""
        if sets < WORD:
            chosen += _walked(rank, start, items, size, sets)
            return
        first, second = halves(items)
        behind, rank = self._share(rank, items, size)
        seconds = self.binomial(second, behind)
        front, back = divmod(rank, seconds)
        self._unrank(front, start, first, size - behind, self.binomial(first, size - behind), chosen)
        self._unrank(back, start + first, second, behind, seconds, chosen)

    def _share(self, rank: int, items: int, size: int) -> tuple[int, int]:
        """How many items of the set of a rank are in the second part, and its rank among the sets with so many."""
        for behind, share in self.shares(items, size):
            if rank < share:
                return behind, rank
            rank -= share
        raise ParameterError("rank", rank, f"below C({items}, {size})", "Drop the report.")


def _walked(rank: int, start: int, items: int, size: int, sets: int) -> list[int]:
    """The set of a rank of the combinatorial number system: from the last item down."""
    chosen: list[int] = []
    left, below = size, sets
    for item in range(items - 1, -1, -1) if size else ():
        # below is C(item + 1, left); make it C(item, left), the number of sets whose next item is smaller
        without = below * (item + 1 - left) // (item + 1)
        if rank >= without:
            chosen.append(start + item)
            rank -= without
            below -= without
            left -= 1
            if not left:
                break
        else:
            below = without
    return chosen[::-1]
