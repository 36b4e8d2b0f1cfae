"""Sorted texts: which of them begin with what is typed, and how far it leads into each in spite of typing errors.

Lengths and distances are counted in code points. Neighbours share their beginnings, and so the work on them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, takewhile


def forgiven(length: int) -> int:
    """How many typing errors are forgiven in so many code points."""
    return 0 if length < 3 else 1 if length < 6 else 2


@dataclass(frozen=True)
class Lexicon:
    """Texts in ascending order; one may stand there several times."""

    texts: Sequence[str]

    @cached_property
    def _shared(self) -> list[int]:
        """How many code points each text shares with the one before it."""
        return [_shared_start(one, other) for one, other in pairwise(("", *self.texts))]

    def beginning(self, start: str) -> range:
        """The numbers of the texts that begin with another one."""
        low = bisect_left(self.texts, start)
        high = bisect_left(self.texts, True, low, key=lambda text: not text.startswith(start))
        return range(low, high)

    def reached(self, typed: str) -> list[int]:
        """The numbers of the texts that the whole typed text leads to."""
        return [number for number, reach in enumerate(self.reaches(typed)) if reach == len(typed)]

    def reaches(self, typed: str) -> list[int]:
        """How far the typed text leads into every text.

        The reach is the largest i for which typed[:i] is at most forgiven(i) edits away from a beginning of the text.
        An edit leaves out, puts in or replaces a code point, or exchanges two neighbours (optimal string alignment):

            d(i, j) = min(d(i-1, j) + 1, d(i, j-1) + 1, d(i-1, j-1) + [typed_i != text_j],
                          d(i-2, j-2) + 1 if typed_{i-1} typed_i = text_j text_{j-1})

        Row j has d(0, j), ..., d(n, j), of which only |i - j| <= forgiven(n) can matter. Texts that share j code points
        share the rows up to j. Where a row has nothing within the bound, no later row has.
        """
        size = len(typed)
        bound = forgiven(size)
        allowed = [forgiven(i) for i in range(size + 1)]
        rows = [[min(i, bound + 1) for i in range(size + 1)]]
        reach = [0]
        results = []
        is_over = False
        for text, shared in zip(self.texts, self._shared, strict=True):
            if not is_over or shared < len(rows) - 1:
                del rows[shared + 1 :], reach[shared + 1 :]
                is_over = False
            while not is_over and len(rows) <= len(text):
                row = _next_row(rows, typed, text, bound)
                rows.append(row)
                reach.append(max([reach[-1], *(i for i, distance in enumerate(row) if distance <= allowed[i])]))
                is_over = reach[-1] == size or min(row) > bound
            results.append(reach[-1])
        return results


def _next_row(rows: Sequence[Sequence[int]], typed: str, text: str, bound: int) -> list[int]:
    """The distances of one code point more of the text; ``bound + 1`` stands for all that are larger."""
    depth = len(rows)
    before = rows[-1]
    row = [bound + 1] * (len(typed) + 1)
    if depth <= bound:
        row[0] = depth
    for i in range(max(1, depth - bound), min(len(typed), depth + bound) + 1):
        is_same = typed[i - 1] == text[depth - 1]
        distance = min(before[i - 1] + (not is_same), before[i] + 1, row[i - 1] + 1)
        if i > 1 and depth > 1 and typed[i - 1] == text[depth - 2] and typed[i - 2] == text[depth - 1]:
            distance = min(distance, rows[-2][i - 2] + 1)
        row[i] = min(distance, bound + 1)
    return row


def _shared_start(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
