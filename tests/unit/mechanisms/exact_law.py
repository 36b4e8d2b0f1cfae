"""The exact law of what a mechanism draws, found from the outside: which words give which outcome, all 2^64 of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from blendp.randomness import Random, SimulationRandom

LAST = (1 << 64) - 1
ANCHORS = (
    0,
    1,
    1 << 32,
    1 << 56,
    1 << 61,
    1 << 62,
    1 << 63,
    3 << 62,
    LAST - (1 << 56),
    LAST - (1 << 32),
    LAST - 1,
    LAST,
)
"""Words that are looked at first; the very first and last are often on an edge."""

_WORD = Fraction(1, 1 << 64)
_NEGLIGIBLE = 16 * _WORD
_SOON = 8


class MoreWordsError(Exception):
    """The draw asks for more words than it was given."""


class GivenWords(Random):
    """Gives these words and no others; or after them the last word, so many times."""

    def __init__(self, given: tuple[int, ...], more: int = 0) -> None:
        self.given = given + (LAST,) * more
        self.asked = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self.asked += count
        if self.asked > len(self.given):
            raise MoreWordsError
        return np.array(self.given[self.asked - count : self.asked], dtype=np.uint64)


class CountingRandom(SimulationRandom):
    """Counts the random words that are asked for."""

    drawn = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self.drawn += count
        return super().words(count)


@dataclass
class LawOfDraw:
    """The law of a draw that asks for one word at a time and splits the words of each step into runs.

    A run is found by bisection: where both ends of a stretch do the same, all of it does, as noise falls when its word
    rises and a coin has two sides. Words on an edge, of which there are few, are left undecided.
    """

    draw: Callable[[Random], Hashable]
    foreseeing: bool = False
    """Draws that go on do the same if they ask for as many words; where noise of different steps is added up, only if
    they also end alike when the last word follows, which brings the least noise.
    """

    probability: dict[Hashable, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    undecided: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Follow every path."""
        self._follow((), Fraction(1))

    def _follow(self, path: tuple[int, ...], weight: Fraction) -> None:
        ended, outcome = self._result(path)
        if ended:
            self.probability[outcome] += weight
        elif weight <= _NEGLIGIBLE:
            self.undecided += weight
        else:
            for first, last in self._runs(path):
                self._follow((*path, (first + last) // 2), weight * _WORD * (last - first + 1))

    def _result(self, path: tuple[int, ...]) -> tuple[bool, Hashable]:
        """Whether the draw ends after these words, and its outcome; or how many it asks for, and how it would end."""
        source = GivenWords(path)
        try:
            return True, self.draw(source)
        except MoreWordsError:
            return False, (source.asked, self._ending(path) if self.foreseeing else None)

    def _ending(self, path: tuple[int, ...]) -> Hashable:
        """How the draw ends if the last word follows; None if it does not end soon."""
        try:
            return self.draw(GivenWords(path, _SOON))
        except MoreWordsError:
            return None

    def _runs(self, path: tuple[int, ...]) -> list[tuple[int, int]]:
        """Stretches of the next word that do the same."""
        anchors = [(word, self._result((*path, word))) for word in ANCHORS]
        waiting, runs = [(*low, *high) for low, high in pairwise(anchors)], []
        while waiting:
            low, at_low, high, at_high = waiting.pop()
            if at_low == at_high:
                runs.append((low, high))
            elif high - low == 1:
                runs += [(low, low), (high, high)]
            else:
                middle = (low + high) // 2
                at_middle = self._result((*path, middle))
                waiting += [(low, at_low, middle, at_middle), (middle, at_middle, high, at_high)]
        return _joined(runs)


def _joined(runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches that share an end are one; in order, none twice."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(runs):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined
