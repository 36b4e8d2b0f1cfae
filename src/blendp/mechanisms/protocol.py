"""What every mechanism is: one value that can release, be simulated, and answer what it costs.

The three kinds of them say more: noise on counts, local randomisers (frequency oracles among them), and partition
selection. Each folder beside this file satisfies :class:`Mechanism` and one of the three; one suite of tests
(tests/unit/mechanisms/test_conformance.py) holds all of them to what is said here.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
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


@runtime_checkable
class FrequencyOracle(LocalRandomiser, Protocol):
    """A local randomiser that names items of a list; the last item, *, is all that is not listed.

    What clients report, how it is counted and what is made of it depend on these alone, not on which oracle it is.
    """

    @property
    def items(self) -> int:
        """k, how many items there are, * among them."""

    @property
    def size(self) -> int:
        """w, how many items a report names (but for one that names * alone, where there is such)."""

    @property
    def name(self) -> str:
        """What it is called."""

    def naming(self, items: str) -> str:
        """What a report names, in words; ``items`` is what they are called."""

    @property
    def coins(self) -> tuple[int, ...]:
        """Every coin that a report is drawn with, over 2^53."""

    @property
    def subsets(self) -> int:
        """How many different reports there are."""

    @property
    def limit(self) -> str:
        """That number, in the form of a formula."""

    @property
    def report_bytes(self) -> int:
        """How many bytes every report takes."""

    @property
    def gain(self) -> float:
        """By how much one report raises n times the estimate of a listed item, at most: the reach of a liar."""

    def encode(self, subset: Sequence[int]) -> bytes:
        """The bytes that name these items."""

    def decode(self, data: bytes) -> tuple[int, ...]:
        """The items that these bytes name."""

    def supports(self, own_items: ArrayLike, random: Random, /) -> Ids:
        """How many of the reports contain each item, one report for every held item."""

    def supports_of_counts(self, counts: ArrayLike, generator: np.random.Generator, /) -> Ids:
        """The same for so many holders of each item, all at once: for experiments only."""

    def supports_of_reports(self, data: NDArray[np.uint8], /) -> Ids:
        """How many of many encoded reports, a row of bytes each, contain each item."""

    def adds_up(self, supports: Ids, reports: int) -> bool:
        """Whether so many reports can have these supports."""

    def estimate(self, supports: ArrayLike, users: int) -> Array:
        """The frequency of every item, without bias."""

    def variance(self, frequency: ArrayLike, users: int, rest: ArrayLike = ...) -> Array:
        """The variance of the estimate of a listed item of this frequency, where ``rest`` is the frequency of *."""

    def rest_variance(self, rest: ArrayLike, users: int) -> Array:
        """The variance of the estimate of *, where ``rest`` is its frequency."""

    def likelihoods(self, subset: Sequence[int]) -> tuple[tuple[str, Ids, Fraction], ...]:
        """How likely a report that names these items is, for groups of items: a word for the group, the items, and
        the exact probability. The words are ``named``, ``unnamed``, ``unlisted`` (*) and ``listed`` (all but *).
        """

    def ratio(self) -> Fraction:
        """The largest ratio of two probabilities of one report, exactly."""


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
