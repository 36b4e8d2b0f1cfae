"""What every mechanism is: one value that can release, be simulated, and answer what it costs.

The three kinds of them say more: noise on counts, local randomisers (frequency oracles among them), and partition
selection. Each folder beside this file satisfies :class:`Mechanism` and one of the three; one suite of tests
(tests/unit/mechanisms/test_conformance.py) holds all of them to what is said here.
"""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blendp.arrays import Array, Ids
from blendp.privacy import Budget
from blendp.randomness import Random, ReleaseRandom

Data = TypeVar("Data", contravariant=True)
Output = TypeVar("Output", covariant=True)


@runtime_checkable
class Mechanism(Protocol[Data, Output]):
    """A randomised algorithm with a privacy guarantee, frozen and validated when it is made.

    Its promise is for neighbouring inputs (adjacency): those that differ in what one person contributes. How much
    that may be, the sensitivity, is said by each mechanism.
    """

    def release(self, data: Data, random: ReleaseRandom, /) -> Output:
        """What leaves the curator or a device; refuses randomness that is not cryptographic."""

    def draw(self, data: Data, random: Random, /) -> Output:
        """The same algorithm on any source of randomness: for experiments, and inside a release."""

    def loss(self) -> float:
        """The exact pure epsilon of one use: the largest log-ratio of an output's probabilities; infinite if a delta
        is needed.
        """

    def delta_at(self, epsilon: float) -> float:
        """A delta with which one use is (epsilon, delta)-differentially private (the privacy profile).

        Never below the smallest such delta; 1 where nothing is proved.
        """

    @property
    def description(self) -> str:
        """What it is, in the words of a guarantee."""


class NoiseLaw(Mechanism[int, Ids], Protocol):
    """Whole-number noise X that is added to counts; ``data`` is how many independent draws are wanted.

    Loss and delta are those of one count which one person moves by 1, up or down (sensitivity 1).
    """

    @property
    def variance(self) -> float:
        """The variance of X."""

    def probability(self, x: Ids | int, /) -> Array:
        """P(X = x)."""

    def at_least(self, x: Ids | int, /) -> Array:
        """P(X >= x)."""

    def tail_bits(self, x: int, bits: int) -> int:
        """floor(2^bits P(X >= x)), exactly, for x >= 1."""

    def description_per(self, records: int) -> str:
        """The law of X/records in words: of noise on people, each of whom has so many records."""


class LocalRandomiser(Mechanism[ArrayLike, NDArray[np.generic]], Protocol):
    """One report for each of many people, about what is theirs alone (local model); ``data`` has an entry a person.

    Any two things that a person may hold are neighbours.
    """

    def channel(self) -> Array:
        """The matrix of P(report | what is held): a row for everything that can be held, a column for every report."""


class PartitionSelection(Mechanism[Data, Output], Protocol[Data, Output]):
    """Which of the records that occur are listed (partition selection).

    It is private at user level: for the replacement of all records of one person.
    """

    @property
    def budget(self) -> Budget:
        """The promised (epsilon, delta)."""

    @property
    def records_per_user(self) -> int:
        """m: how many records each person contributes at most (contribution bounding)."""

    @property
    def min_people(self) -> float:
        """The threshold as a number of people, noise included."""


class SelectionByTotal(PartitionSelection[Ids, Output], Protocol[Output]):
    """Partition selection that looks at nothing but the total of every record, each by itself; ``data`` are these."""

    @property
    def count_noise(self) -> NoiseLaw:
        """The noise on the counts of listed records, of which each person has m."""

    def listing_probability(self, totals: Ids | int, /) -> Array:
        """The probability that a record with this total is listed; 0 for a record that does not occur."""
