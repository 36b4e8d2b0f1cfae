"""Random sources and statistics that several tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from blendp.randomness import Random, ReleaseRandom
from blendp.randomness.random import COIN_BITS

WHO: dict[str, Any] = {
    "organisation": "Example Search",
    "purpose": "A list of popular searches",
    "contact": "privacy@example.org",
}
"""Who asks in campaigns of tests, what for, and how to reach them."""

WHO_OPTIONS = tuple(word for name, text in WHO.items() for word in (f"--{name}", text))

SHORT_LIVED = "spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Spark's configuration for a Java that lives for seconds: it compiles quickly, not well."""


class KnownKey(ReleaseRandom):
    """The released stream under a key that the test chooses, so that a test never flickers."""

    def __init__(self, key: int) -> None:
        self.key_bytes = key.to_bytes(32, "big")
        super().__init__()

    def _fresh_key(self) -> bytes:
        return self.key_bytes


class Script(Random):
    """Gives the words of a script, then words from a known key."""

    def __init__(self, script: Sequence[int]) -> None:
        self.script = list(script)
        self.rest = KnownKey(1)

    def words(self, count: int) -> NDArray[np.uint64]:
        head, self.script = self.script[:count], self.script[count:]
        return np.concatenate([np.array(head, dtype=np.uint64), self.rest.words(count - len(head))])


class Branch(Random):
    """Follows one path of decisions through a randomiser and keeps its exact probability."""

    def __init__(self, path: Sequence[int]) -> None:
        self.path = list(path)
        self.taken: list[tuple[int, int]] = []
        self.probability = Fraction(1)

    def words(self, count: int) -> NDArray[np.uint64]:
        raise AssertionError(f"a randomiser must decide by coins and below only, not by {count} words")

    def _decide(self, weights: Sequence[Fraction]) -> int:
        depth = len(self.taken)
        possible = [i for i, weight in enumerate(weights) if weight]
        choice = self.path[depth] if depth < len(self.path) else 0
        self.taken.append((choice, len(possible)))
        self.probability *= weights[possible[choice]]
        return possible[choice]

    def coins(self, numerators: ArrayLike, count: int) -> NDArray[np.bool_]:
        if count == 0:
            return np.zeros(0, dtype=bool)
        assert count == 1
        heads = Fraction(int(np.asarray(numerators).ravel()[0]), 1 << COIN_BITS)
        return np.array([self._decide([1 - heads, heads]) == 1])

    def below(self, bounds: ArrayLike, count: int) -> NDArray[np.int64]:
        if count == 0:
            return np.zeros(0, dtype=np.int64)
        assert count == 1
        bound = int(np.asarray(bounds).ravel()[0])
        return np.array([self._decide([Fraction(1, bound)] * bound)])


def branches(draw: Callable[[Random], int]) -> Iterator[tuple[int, Fraction]]:
    """Every outcome of ``draw`` with its exact probability, one for each path of decisions."""
    path: list[int] = []
    while True:
        branch = Branch(path)
        outcome = draw(branch)
        yield outcome, branch.probability
        steps = branch.taken
        while steps and steps[-1][0] + 1 == steps[-1][1]:
            steps.pop()
        if not steps:
            return
        path = [choice for choice, _ in steps]
        path[-1] += 1


def goodness(counts: NDArray[np.int64], law: NDArray[np.float64]) -> float:
    """The p-value of a G-test of counts against a law, after pooling the cells of fewer than 8 expected."""
    expected = law * counts.sum()
    rare = expected < 8
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1e-9:
        assert observed[-1] == 0, "an impossible cell was drawn"
        observed, expected = observed[:-1], expected[:-1]
    if len(observed) == 1:
        return 1.0
    return float(stats.power_divergence(observed, expected * (observed.sum() / expected.sum()), lambda_=0).pvalue)
