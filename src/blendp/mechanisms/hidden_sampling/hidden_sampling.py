"""Hidden sampling (RS+FD[GRR]): one attribute is answered, the others are invented. See PROOF.md beside this file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blendp.arrays import repeated_in_blocks
from blendp.errors import ParameterError, require_count, require_number
from blendp.mechanisms.exact import floor_bits
from blendp.privacy import Budget, pure_delta
from blendp.randomness import Random, ReleaseRandom, require_release
from blendp.randomness.random import COIN_BITS

_MAX_VALUES = 1_000_000
_MAX_CELLS = 1 << 20
_BLOCK = 1 << 15
_SLACK = 1e-9


@dataclass(frozen=True)
class HiddenSampling:
    """A frequency oracle of the local model for several attributes at once (RS+FD, random sampling plus fake data).

    One report about a record b of d attributes, attribute j with m_j values: a value for every attribute, with

        P(B' | b) = (prod_k 1/m_k) (1/d) sum_j t_j

        t_j = m_j p_j if b'_j = b_j, else m_j q_j
        p_j = e^inner/(e^inner + m_j - 1),    q_j = (1 - p_j)/(m_j - 1)

    where:
        p_j  is the probability that an answered attribute is answered truly, rounded down to a multiple of 2^-53,
        q_j  is the probability of any one other answer.

    The device draws one attribute, all equally likely, and answers it by k-ary randomised response; for every other
    attribute it sends a uniformly random value. Nobody learns which attribute was drawn.

    It is pure inner-LDP for the whole record. What it reveals of one attribute is less: :meth:`one_attribute_loss` if
    the other attributes are known or independent of it, :meth:`attribute_losses` for any law of the records.
    """

    inner: float
    """The epsilon of the answered attribute, in (0, 50]."""

    values: tuple[int, ...]
    """m_j for every attribute, from 2 to 1 000 000."""

    coins: tuple[int, ...] = field(init=False)
    """p_j 2^53 for every attribute, whole numbers."""

    def __post_init__(self) -> None:
        """Compute the coins."""
        require_number(
            "inner",
            self.inner,
            above=0,
            max_value=50,
            legal="a number above 0 and at most 50",
            remedy="Values from 0.5 to 4 are usual.",
        )
        values = tuple(self.values)
        if not values:
            raise ParameterError("values", self.values, "a list of at least 1 attribute", "Give m_j for each.")
        for count in values:
            require_count("values", count, min_value=2, remedy="Leave out attributes that are the same for all.")
            if count > _MAX_VALUES:
                raise ParameterError("values", count, f"at most {_MAX_VALUES}", "Group the values.")
        coin = {count: _coin(self.inner, count) for count in set(values)}
        if any(coin[count] * count <= 1 << COIN_BITS for count in coin):
            raise ParameterError(
                "inner",
                self.inner,
                f"at least about 2^-52 times the largest number of values, {max(coin)}",
                "Below that a coin of 53 bits tells nothing.",
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "coins", tuple(coin[count] for count in values))

    @classmethod
    def published(cls, epsilon: float, values: Sequence[int]) -> HiddenSampling:
        """With the published amplification

            inner = ln(d (e^epsilon - 1) + 1)

        where:
            epsilon  is the loss about one attribute if all have equally many values; the record's loss is inner.
        """
        Budget(epsilon)
        return cls(math.log1p(max(len(values), 1) * math.expm1(epsilon)), tuple(values))

    @cached_property
    def _truths(self) -> tuple[Fraction, ...]:
        """m_j p_j, the weight of a report that has the value of attribute j."""
        return tuple(Fraction(m * coin, 1 << COIN_BITS) for m, coin in zip(self.values, self.coins, strict=True))

    @cached_property
    def _others(self) -> tuple[Fraction, ...]:
        """m_j q_j, the weight of a report that has another value of attribute j."""
        return tuple((m - truth) / (m - 1) for m, truth in zip(self.values, self._truths, strict=True))

    @cached_property
    def hit(self) -> NDArray[np.float64]:
        """P(b'_j = b_j) = p_j/d + (1 - 1/d)/m_j for every attribute."""
        return self._marginal(self._truths)

    @cached_property
    def stray(self) -> NDArray[np.float64]:
        """P(b'_j = x) = q_j/d + (1 - 1/d)/m_j for every attribute, x any one other value."""
        return self._marginal(self._others)

    def _marginal(self, weights: tuple[Fraction, ...]) -> NDArray[np.float64]:
        d = len(self.values)
        return _fixed([(weight + d - 1) / (m * d) for weight, m in zip(weights, self.values, strict=True)])

    @cached_property
    def _contrast(self) -> NDArray[np.float64]:
        """hit - stray = (p_j - q_j)/d, without the cancellation of a float's."""
        weights = zip(self._truths, self._others, self.values, strict=True)
        return _fixed([(truth - other) / (m * len(self.values)) for truth, other, m in weights])

    def loss(self) -> float:
        """The exact pure epsilon of one report, over any two records:

            ln [sum_j m_j p_j / sum_j m_j q_j]

        where:
            p, q  are those of the coins, exact fractions; only the logarithm is rounded, never above inner.
        """
        return min(float(self.inner), math.log1p(sum(self._truths) / sum(self._others) - 1))

    def delta_at(self, epsilon: float) -> float:
        """The delta of any mechanism with this loss: 0 from it on, an upper bound below it."""
        return pure_delta(self.loss(), epsilon)

    @property
    def description(self) -> str:
        """In words."""
        return f"hidden sampling (RS+FD) of {len(self.values)} attributes"

    def one_attribute_loss(self) -> float:
        """The exact largest log-ratio of a report's probabilities for two records that differ in one attribute,

            ln max_i [1 + (m_i p_i - m_i q_i)/sum_j m_j q_j]

        where:
            p, q  are those of the coins, exact fractions; only the logarithm is rounded.
        """
        gap = max(truth - other for truth, other in zip(self._truths, self._others, strict=True))
        return min(self.loss(), math.log1p(gap / sum(self._others)))

    def attribute_losses(
        self, low: Mapping[tuple[int, int], ArrayLike], high: Mapping[tuple[int, int], ArrayLike]
    ) -> NDArray[np.float64]:
        """What a report tells about every attribute i, through the other attributes too: the largest

            ln P(B' | b_i = s)/P(B' | b_i = s') = ln sum_j g_j(b'_j | s) / sum_j g_j(b'_j | s')

            g_i(v | s) = m_i p_i if v = s, else m_i q_i
            g_j(v | s) = m_j q_j + (m_j p_j - m_j q_j) P(b_j = v | b_i = s)        j != i

        over values s != s' and reports B', where:
            low[i, j][s, x] <= P(b_j = x | b_i = s) <= high[i, j][s, x]  for all ordered pairs of attributes i != j.

        Exact, but for the rounding of floats, where low and high are equal, an upper bound otherwise. Only laws of
        pairs matter, whatever the joint law of the record.
        """
        return np.array([self._attribute_loss(i, low, high) for i in range(len(self.values))])

    def _attribute_loss(
        self, i: int, low: Mapping[tuple[int, int], ArrayLike], high: Mapping[tuple[int, int], ArrayLike]
    ) -> float:
        """Dinkelbach's iteration, one ratio for all pairs s, s': from 1 up, as long as a report has a larger one."""
        upper, lower = [], []
        for j in range(len(self.values)):
            if j != i:
                min_law, max_law = self._box(i, j, low, high)
                other, gap = float(self._others[j]), float(self._truths[j] - self._others[j])
                lower.append(other + gap * min_law)
                upper.append(other + gap * max_law)
        ratio = 1.0
        while (larger := self._larger_ratio(i, upper, lower, ratio)) > ratio:
            ratio = larger
        return min(self.loss(), math.log(ratio))

    def _larger_ratio(
        self, i: int, upper: list[NDArray[np.float64]], lower: list[NDArray[np.float64]], ratio: float
    ) -> float:
        """The largest ratio of the reports that maximise sum_j g_j(b'_j|s) - ratio g_j(b'_j|s'), one for each s, s'.

        As ratio >= 1 their value of attribute i is s.
        """
        m, best = self.values[i], 0.0
        length = max(1, _MAX_CELLS // (m * max(self.values)))
        for start in range(0, m, length):
            rows = np.arange(start, min(start + length, m))
            over = np.full((len(rows), m), float(self._truths[i]))
            under = np.full((len(rows), m), float(self._others[i]))
            for top, bottom in zip(upper, lower, strict=True):
                value = (top[rows, None, :] - ratio * bottom).argmax(axis=2)
                over += np.take_along_axis(top[rows], value, axis=1)
                under += bottom[np.arange(m), value]
            ratios = over / under
            ratios[np.arange(len(rows)), rows] = 0
            best = max(best, float(ratios.max()))
        return best

    def _box(
        self, i: int, j: int, low: Mapping[tuple[int, int], ArrayLike], high: Mapping[tuple[int, int], ArrayLike]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The bounds of the law of attribute j given attribute i, checked."""
        name = f"low and high [{i}, {j}]"
        if (i, j) not in low or (i, j) not in high:
            raise ParameterError(name, None, "given for all ordered pairs", "Give the bounds 0 and 1 if unknown.")
        min_law, max_law = (np.asarray(side[i, j], dtype=np.float64) for side in (low, high))
        shape = (self.values[i], self.values[j])
        if min_law.shape != shape or max_law.shape != shape:
            raise ParameterError(
                name, (min_law.shape, max_law.shape), f"of shape {shape}", "Give a row for every value of the first."
            )
        ordered = (min_law >= -_SLACK) & (min_law <= max_law) & (max_law <= 1 + _SLACK)
        if not ordered.all() or (min_law.sum(axis=1) > 1 + _SLACK).any() or (max_law.sum(axis=1) < 1 - _SLACK).any():
            raise ParameterError(
                name,
                (min_law, max_law),
                "bounds 0 <= low <= high <= 1 that leave room for rows with sum 1",
                "Give the law of the second attribute for every value of the first.",
            )
        return min_law.clip(0, 1), max_law.clip(0, 1)

    def release(self, codes: ArrayLike, random: ReleaseRandom) -> NDArray[np.int64]:
        """One report for every record, to be sent from devices."""
        require_release(random)
        return self.draw(codes, random)

    def draw(self, codes: ArrayLike, random: Random) -> NDArray[np.int64]:
        """One report for every record, a row each: ``codes`` and the reports have a column for every attribute."""
        records = self._records(codes)
        reports = np.empty(records.shape, dtype=np.int64)
        for block, drawn in self._blocks(records, random):
            reports[block] = drawn
        return reports

    def supports(self, codes: ArrayLike, random: Random) -> list[NDArray[np.int64]]:
        """How many of the reports have each value, for every attribute: one report for every record.

        The counts are those of ``draw(codes, random)``, draw for draw.
        """
        totals = [np.zeros(m, dtype=np.int64) for m in self.values]
        for _, drawn in self._blocks(self._records(codes), random):
            for j, m in enumerate(self.values):
                totals[j] += np.bincount(drawn[:, j], minlength=m)
        return totals

    def supports_of_counts(
        self, attribute: int, counts: NDArray[np.int64], others: int, random: Random
    ) -> NDArray[np.int64]:
        """How many reports have each value of one attribute.

        where:
            counts  are how many of the people who tell of this attribute have each value,
            others  is how many people tell of another attribute; their report of this one is invented.

        A report of an attribute depends on its own value and on whether it is told of alone, so these sums have the law
        of :meth:`supports` given who tells of what.
        """
        totals = np.zeros(self.values[attribute], dtype=np.int64)
        for own in repeated_in_blocks(np.arange(len(counts)), counts):
            reported = self._column(attribute, own, np.ones(len(own), dtype=bool), random)
            totals += np.bincount(reported, minlength=len(totals))
        for start in range(0, others, _BLOCK):
            invented = random.below(len(totals), min(_BLOCK, others - start))
            totals += np.bincount(invented, minlength=len(totals))
        return totals

    def _records(self, codes: ArrayLike) -> NDArray[np.int64]:
        """The records as an array, checked."""
        records = np.asarray(codes)
        d = len(self.values)
        if records.shape in ((0,), (0, d)):
            return np.empty((0, d), dtype=np.int64)
        fine = records.ndim == 2 and records.shape[1] == d and np.issubdtype(records.dtype, np.integer)
        if not fine or records.min() < 0 or (records.max(axis=0) >= np.array(self.values)).any():
            raise ParameterError(
                "codes",
                records,
                f"rows of {d} whole numbers, each from 0 to one less than its number of values",
                "Give each person's place on the list of each attribute's values.",
            )
        return records.astype(np.int64, copy=False)

    def _blocks(self, records: NDArray[np.int64], random: Random) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """Blocks of people, and their reports."""
        for start in range(0, len(records), _BLOCK):
            block = slice(start, min(start + _BLOCK, len(records)))
            answered = random.below(len(self.values), block.stop - start)
            columns = [self._column(j, own, answered == j, random) for j, own in enumerate(records[block].T)]
            yield block, np.stack(columns, axis=1)

    def _column(
        self, attribute: int, own: NDArray[np.int64], answered: NDArray[np.bool_], random: Random
    ) -> NDArray[np.int64]:
        """The reported values of one attribute."""
        m, reported = self.values[attribute], own.copy()
        invented, real = np.flatnonzero(~answered), np.flatnonzero(answered)
        reported[invented] = random.below(m, len(invented))
        false = real[~random.coins(self.coins[attribute], len(real))]
        other = random.below(m - 1, len(false))
        reported[false] = other + (other >= own[false])
        return reported

    def estimate(self, attribute: int, supports: ArrayLike, users: int) -> NDArray[np.float64]:
        """The frequency of values of one attribute, without bias (it may fall below 0 or above 1):

            (s/n - stray)/(hit - stray)

        where:
            s  is how many of the reports have the value,
            n  is the number of reports (``users``).
        """
        self._require(attribute, users)
        share = np.asarray(supports, dtype=np.float64) / users
        return np.asarray((share - self.stray[attribute]) / self._contrast[attribute])

    def variance(self, attribute: int, frequency: ArrayLike, users: int) -> NDArray[np.float64]:
        """The variance of the estimate of a value of this frequency, for people drawn from a population:

            c (1 - c)/(n (hit - stray)^2),    c = stray + f (hit - stray)

        where:
            f  is the value's frequency in the population,
            n  is the number of reports (``users``).
        """
        self._require(attribute, users)
        contrast = self._contrast[attribute]
        c = self.stray[attribute] + np.asarray(frequency, dtype=np.float64) * contrast
        return np.asarray(c * (1 - c) / (users * contrast**2))

    def _require(self, attribute: int, users: int) -> None:
        require_count("attribute", attribute, min_value=0, remedy="Count the attributes from 0.")
        if attribute >= len(self.values):
            raise ParameterError("attribute", attribute, f"below {len(self.values)}", "Count the attributes from 0.")
        require_count("users", users, min_value=1, remedy="Give the number of reports.")

    def channel(self) -> NDArray[np.float64]:
        """The matrix of P(report | record): rows and columns are all records, the last attribute changing fastest."""
        records = math.prod(self.values)
        if records**2 > _MAX_CELLS:
            raise ParameterError(
                "values",
                self.values,
                f"so few that records x reports is at most {_MAX_CELLS}",
                "Use loss, one_attribute_loss, hit and stray: they need no channel.",
            )
        weights = np.zeros((records, records))
        for codes, truth, other in zip(np.indices(self.values), self._truths, self._others, strict=True):
            code = codes.ravel()
            weights += np.where(code[:, None] == code, float(truth), float(other))
        return weights / (records * len(self.values))

    def __str__(self) -> str:
        """For people."""
        d = len(self.values)
        return (
            f"hidden sampling (ε = {self.loss():.4g} for the record, {self.one_attribute_loss():.4g} for one "
            f"attribute): {d} {'attribute' if d == 1 else 'attributes'}, one answered with ε = {self.inner:.4g}"
        )


def _fixed(numbers: list[Fraction]) -> NDArray[np.float64]:
    array = np.array([float(number) for number in numbers])
    array.setflags(write=False)
    return array


def _coin(inner: float, values: int) -> int:
    """The numerator over 2^53, rounded down, of p = e^inner/(e^inner + m - 1)."""

    def truth() -> Decimal:
        odds = Decimal(inner).exp(getcontext())
        return odds / (odds + values - 1)

    return floor_bits(truth, COIN_BITS)
