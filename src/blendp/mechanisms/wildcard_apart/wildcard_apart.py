"""Wildcard-apart reports: "nothing listed", or a set of listed items. See PROOF.md beside this file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blendp.errors import ParameterError, require_count
from blendp.mechanisms.exact import exact_power, floor_bits
from blendp.mechanisms.subset_selection import SubsetSelection
from blendp.privacy import Budget
from blendp.randomness import Random, ReleaseRandom, require_release
from blendp.randomness.random import COIN_BITS

MIN_EPSILON = 2.0**-40
"""Coins of 53 bits can show no less in a list of any length."""

_MAX_ITEMS = 1_000_000
_MAX_CELLS = 1 << 20
_WHOLE = 1 << COIN_BITS
_PEOPLE_PER_HOLDER = 10
_SURELY = 1 - Fraction(1, 10**45)
_DROP = "It was made with another epsilon or list, or is damaged: drop it."


@dataclass(frozen=True)
class WildcardApart:
    """A frequency oracle of the local model for k items, of which the last, *, is everything that is not listed.

    A report is {*} alone, or a set S of exactly w of the other L = k - 1 items:

        P({*} | *) = a                           P({*} | j) = c
        P(S | *)   = (1 - a)/C(L, w)             P(S | j)   = (1 - c) p/C(L-1, w-1)      j in S
                                                 P(S | j)   = (1 - c) (1 - p)/C(L-1, w)  j not in S

        a = w e^epsilon/(w e^epsilon + L),   c = w/(w e^epsilon + L),   p = w e^epsilon/(w e^epsilon + L - w)

    where:
        j  is a listed item, one of 0 .. L-1,
        a  is rounded down to a multiple of 2^-53, c up, and p down (it is that of subset selection among L items),
        w  is the number from 1 to L - 1 that makes the contrasts of listed items sharpest where a tenth of the people
           hold any: the one with the smallest
           (w + L x)(10 L x + w (1 - x))/(w (L - w)), x = e^-epsilon rounded down to a multiple of 2^-53, and the
           smaller of two that are equal; ``width`` if that is given.

    It is pure epsilon-LDP. With k = 2 it is randomised response. With k = 1 the report is {*} always: it tells nothing.
    """

    epsilon: float
    """From 2^-40 to 50, for the whole report."""

    items: int
    """k, the length of the list and its wildcard, from 1 to 1 000 000."""

    width: int | None = None
    """w, from 1 to k - 2 (1 with k = 2), if it is not to be chosen."""

    size: int = field(init=False)
    """w, the number of items in every report but {*}."""

    own_coin: int = field(init=False)
    """a 2^53, a whole number: P({*} | *)."""

    other_coin: int = field(init=False)
    """c 2^53, a whole number: P({*} | j) for every listed j."""

    def __post_init__(self) -> None:
        """Choose the size and compute the coins."""
        Budget(self.epsilon)
        if self.epsilon < MIN_EPSILON:
            raise ParameterError("epsilon", self.epsilon, "at least 2^-40", "Coins of 53 bits cannot show less.")
        require_count("items", self.items, min_value=1, remedy="Give the length of the list.")
        if self.items > _MAX_ITEMS:
            raise ParameterError("items", self.items, f"at most {_MAX_ITEMS}", "Shorten the list.")
        size = self._chosen_size()
        object.__setattr__(self, "size", size)
        if self.items == 1:
            self._settle(_WHOLE, 0)
            return
        own, other = _coins(self.epsilon, self.listed, size)
        self._settle(own, other)
        if own <= other or self.ratio() > exact_power(self.epsilon) * _SURELY:
            raise ParameterError("epsilon", self.epsilon, "larger for so narrow reports", "Leave out width.")

    def _chosen_size(self) -> int:
        if self.width is None:
            return _best_size(self.epsilon, self.listed)
        require_count("width", self.width, min_value=1, remedy="It is the number of items in a report.")
        if self.width > max(1, self.listed - 1):
            raise ParameterError(
                "width", self.width, f"below the {self.listed} listed items", "Name fewer in a report."
            )
        return self.width

    def _settle(self, own: int, other: int) -> None:
        object.__setattr__(self, "own_coin", own)
        object.__setattr__(self, "other_coin", other)

    @property
    def listed(self) -> int:
        """L = k - 1, the number of listed items."""
        return self.items - 1

    @cached_property
    def among(self) -> SubsetSelection:
        """How the listed items are told apart in a report that is not {*}; there is none with k = 1."""
        return SubsetSelection(self.epsilon, self.listed, self.size if self.listed > 1 else None)

    @property
    def _own(self) -> Fraction:
        return Fraction(self.own_coin, _WHOLE)

    @property
    def _other(self) -> Fraction:
        return Fraction(self.other_coin, _WHOLE)

    @property
    def _hit(self) -> Fraction:
        return Fraction(self.among.coin, _WHOLE)

    @property
    def _stray(self) -> Fraction:
        """q, the probability that a set names one other item than the listed one that is held."""
        return (self.size - self._hit) / (self.listed - 1) if self.listed > 1 else Fraction(0)

    @property
    def coins(self) -> tuple[int, ...]:
        """Those of {*}, for who holds * and for who does not, and that of a set, over 2^53."""
        return self.own_coin, self.other_coin, self.among.coin if self.listed else 0

    @cached_property
    def subsets(self) -> int:
        """C(L, w) + 1, the number of different reports."""
        return self._sets + 1

    @property
    def limit(self) -> str:
        """The same as a formula."""
        return f"C({self.listed}, {self.size}) + 1"

    @property
    def _sets(self) -> int:
        return self.among.subsets if self.listed else 0

    @property
    def report_bits(self) -> int:
        """ceil(log2(C(L, w) + 1)), the bits that tell one report from all others."""
        return (self.subsets - 1).bit_length()

    @property
    def report_bytes(self) -> int:
        """The bytes of a report as :meth:`encode` writes it, at least 1."""
        return max(1, (self.report_bits + 7) // 8)

    def release(self, own_items: ArrayLike, random: ReleaseRandom) -> NDArray[np.bool_]:
        """One report for every held item, to be sent from devices: row i tells which items are in report i."""
        require_release(random)
        return self.draw(own_items, random)

    def draw(self, own_items: ArrayLike, random: Random) -> NDArray[np.bool_]:
        """One report for every held item: row i tells which items are in report i."""
        alone, named = self._asked_further(own_items, random)
        reports = np.zeros((len(alone), self.items), dtype=np.bool_)
        reports[:, -1] = alone
        if self.listed:
            reports[~alone, :-1] = self.among.draw(named, random)
        return reports

    def supports(self, own_items: ArrayLike, random: Random) -> NDArray[np.int64]:
        """How many of the reports contain each item, one report for every held item.

        It is ``draw(own_items, random).sum(axis=0)``, draw for draw, in less memory.
        """
        alone, named = self._asked_further(own_items, random)
        listed = self.among.supports(named, random) if self.listed else np.empty(0, dtype=np.int64)
        return np.append(listed, np.count_nonzero(alone))

    def _asked_further(self, own_items: ArrayLike, random: Random) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Who reports {*}; and for everybody else the listed item that they report about, by chance if they hold *."""
        own = self._checked(own_items)
        last = own == self.listed
        alone = random.coins(np.where(last, np.uint64(self.own_coin), np.uint64(self.other_coin)), len(own))
        named = own[~alone]
        without = np.flatnonzero(named == self.listed)
        if len(without):
            named[without] = random.below(self.listed, len(without))
        return alone, named

    def _checked(self, own_items: ArrayLike) -> NDArray[np.int64]:
        """The held items as an array."""
        own = np.asarray(own_items)
        if not own.size:
            own = own.astype(np.int64)
        fine = own.ndim == 1 and np.issubdtype(own.dtype, np.integer)
        if not fine or (own.size and not 0 <= int(own.min()) <= int(own.max()) < self.items):
            raise ParameterError(
                "own_items",
                own,
                f"a list of items from 0 to {self.items - 1}",
                "Give each person's position on the list.",
            )
        return own.astype(np.int64, copy=False)

    def supports_of_counts(self, counts: ArrayLike, generator: np.random.Generator) -> NDArray[np.int64]:
        """The supports of ``counts[x]`` people that hold item x, in a time that does not grow with their number.

        For experiments only, never for data that is released: the generator is not cryptographic and computes with
        floats. The law is that of :meth:`supports`: binomials of those who report {*}; the others who hold * spread
        over the listed items at random, and all of them report among these.
        """
        holders = np.asarray(counts)
        fine = holders.shape == (self.items,) and np.issubdtype(holders.dtype, np.integer) and holders.min() >= 0
        if not fine:
            raise ParameterError(
                "counts", holders, f"{self.items} whole numbers of at least 0", "Give how many people hold each item."
            )
        chances = np.full(self.items, self.other_coin / _WHOLE)
        chances[-1] = self.own_coin / _WHOLE
        alone = generator.binomial(holders, chances)
        named = (holders - alone)[:-1]
        if self.listed:
            without = int(holders[-1] - alone[-1])
            named = named + generator.multinomial(without, np.full(self.listed, 1 / self.listed))
            named = self.among.supports_of_counts(named, generator)
        return np.append(named, alone.sum())

    @cached_property
    def _scores(self) -> tuple[float, float, float, float]:
        """What one report adds to n times the estimate of a listed item: named, not named in a set, {*}; and to that
        of *: 1/(a - c).
        """
        a, c, w, L = self._own, self._other, self.size, self.listed
        if not L:
            return 0.0, 0.0, 0.0, 1.0
        share = Fraction(w, L)
        steep = 1 / ((1 - c) * (self._hit - self._stray))
        named, unnamed, alone = a / (L * (a - c)), a / (L * (a - c)), (a - 1) / (L * (a - c))
        if L > 1:
            named, unnamed = named + steep * (1 - share), unnamed - steep * share
        return float(named), float(unnamed), float(alone), float(1 / (a - c))

    @property
    def gain(self) -> float:
        """By how much one report raises n times the estimate of a listed item, at most."""
        return self._scores[0]

    def estimate(self, supports: ArrayLike, users: int) -> NDArray[np.float64]:
        """The frequency of every item, without bias (it may fall below 0 or above 1):

            *:  r = (s/n - c)/(a - c)
            j:  (s_j/n - (w/L)(1 - s/n))/((1 - c)(p - q)) + (1 - r)/L

        where:
            s    is how many of the n reports (``users``) are {*},
            s_j  is how many of them contain j,
            q    is (w - p)/(L - 1), the probability that a set names one other item than that which is held.
        """
        _require_users(users)
        shares = np.asarray(supports, dtype=np.float64) / users
        if not self.listed:
            return shares
        named, unnamed, alone, steep = self._scores
        of_listed, rest = shares[..., :-1], shares[..., -1:]
        listed = named * of_listed + alone * rest + unnamed * (1 - of_listed - rest)
        return np.concatenate([listed, steep * (rest - float(self._other))], axis=-1)

    def variance(self, frequency: ArrayLike, users: int, rest: ArrayLike = 0.0) -> NDArray[np.float64]:
        """The variance of the estimate of a listed item of this frequency, for people drawn from a population:

            [P x^2 + P* y^2 + (1 - P - P*) z^2 - f^2]/n

            P  = (1 - c) [f p + (1 - r - f) q] + r (1 - a) w/L,    P* = a r + c (1 - r)

        where:
            f        is the item's frequency in the population, r that of * (``rest``),
            n        is the number of reports (``users``),
            x, y, z  are what one report adds to n times the estimate: if it names the item, is {*}, or does neither.
        """
        _require_users(users)
        f, r = np.asarray(frequency, dtype=np.float64), np.asarray(rest, dtype=np.float64)
        if not self.listed:
            return np.zeros(np.broadcast_shapes(f.shape, r.shape))
        x, z, y, _ = self._scores
        named, alone = self._chance_named(f, r), self._chance_alone(r)
        return np.asarray((named * x**2 + alone * y**2 + (1 - named - alone) * z**2 - f**2) / users)

    def rest_variance(self, rest: ArrayLike, users: int) -> NDArray[np.float64]:
        """The variance of the estimate of * for people drawn from a population where its frequency is ``rest``:

        P* (1 - P*)/(n (a - c)^2),    P* as in :meth:`variance`
        """
        _require_users(users)
        alone = self._chance_alone(np.asarray(rest, dtype=np.float64))
        return np.asarray(alone * (1 - alone) * self._scores[3] ** 2 / users)

    def _chance_named(self, f: NDArray[np.float64], r: NDArray[np.float64]) -> NDArray[np.float64]:
        a, c, p, q = (float(x) for x in (self._own, self._other, self._hit, self._stray))
        return np.asarray((1 - c) * (f * p + (1 - r - f) * q) + r * (1 - a) * self.size / self.listed)

    def _chance_alone(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(float(self._own) * r + float(self._other) * (1 - r))

    def adds_up(self, supports: NDArray[np.int64], reports: int) -> bool:
        """Whether so many reports can have these supports: each that is not {*} has w listed items."""
        sets = reports - int(supports[-1])
        return int(supports[:-1].sum()) == self.size * sets if self.listed else not sets

    def likelihoods(self, subset: Sequence[int]) -> tuple[tuple[str, NDArray[np.int64], Fraction], ...]:
        """How likely a report that names these items is, for whoever holds one of them, another listed one, or *."""
        own, other, inside, outside, unlisted = self.cell_probabilities()
        named = np.zeros(self.items, dtype=np.bool_)
        named[list(subset)] = True
        rest = np.array([self.listed])
        if named[-1]:
            return ("unlisted", rest, own), ("listed", np.flatnonzero(~named), other)
        unnamed = np.flatnonzero(~named[:-1])
        return ("named", np.flatnonzero(named), inside), ("unnamed", unnamed, outside), ("unlisted", rest, unlisted)

    def cell_probabilities(self) -> tuple[Fraction, Fraction, Fraction, Fraction, Fraction]:
        """The exact probabilities of one report: of {*}, holding * and holding a listed item; and of one set, holding
        an item that is in it, a listed one that is not, and *. 0 for what there is not.
        """
        a, c, L, w = self._own, self._other, self.listed, self.size
        if not L:
            return a, Fraction(0), Fraction(0), Fraction(0), Fraction(0)
        inside, outside = self.among.cell_probabilities()
        return a, c, (1 - c) * inside, (1 - c) * outside, (1 - a) / math.comb(L, w)

    def all_subsets(self) -> NDArray[np.bool_]:
        """Every report, a row each, by ascending rank: row i is the report that :meth:`decode` reads from i."""
        if self.items * self.subsets > _MAX_CELLS:
            raise ParameterError(
                "items",
                self.items,
                f"so small that items x different reports is at most {_MAX_CELLS}",
                "Use cell_probabilities: a channel of any size has only these five numbers.",
            )
        rows = np.zeros((self.subsets, self.items), dtype=np.bool_)
        rows[-1, -1] = True
        if self.listed:
            rows[:-1, :-1] = self.among.all_subsets()
        return rows

    def channel(self) -> NDArray[np.float64]:
        """The matrix of P(report | item): a row for every item, a column for every row of :meth:`all_subsets`."""
        own, other, inside, outside, unlisted = map(float, self.cell_probabilities())
        rows = self.all_subsets().T
        matrix = np.where(rows, inside, outside)
        matrix[-1], matrix[:, -1] = unlisted, other
        matrix[-1, -1] = own
        return matrix

    def ratio(self) -> Fraction:
        """The largest ratio of two probabilities of one report, exactly; those of a set are taken C(L, w) times."""
        a, c, L, w = self._own, self._other, self.listed, self.size
        if not L:
            return Fraction(1)
        inside, unlisted = (1 - c) * self._hit * Fraction(L, w), 1 - a
        outside = (1 - c) * (1 - self._hit) * Fraction(L, L - w) if w < L else Fraction(0)
        likely = [each for each in (inside, outside, unlisted) if each]
        return max(a / c, max(likely) / min(likely))

    def loss(self) -> float:
        """The exact pure epsilon of one report: the logarithm of :meth:`ratio`; only that is rounded, never above
        epsilon.
        """
        return min(float(self.epsilon), math.log1p(self.ratio() - 1))

    def delta_at(self, epsilon: float) -> float:
        """The exact delta of one report at this epsilon: the largest hockey-stick divergence of two rows of the
        channel. Reports are alike in three kinds for a pair of items: {*}, sets with the listed one of the two, and
        sets without; for two listed items, sets with the one and without the other count alone.
        """
        if not self.listed:
            return 0.0
        power, a, c = exact_power(epsilon), self._own, self._other
        share = Fraction(self.size, self.listed)
        of_rest = (a, (1 - a) * share, (1 - a) * (1 - share))
        of_listed = (c, (1 - c) * self._hit, (1 - c) * (1 - self._hit))
        worst = max(_beyond(of_rest, of_listed, power), _beyond(of_listed, of_rest, power))
        return max(float(worst), float(1 - c) * self.among.delta_at(epsilon))

    @property
    def name(self) -> str:
        """What it is called."""
        return "wildcard apart"

    def naming(self, items: str) -> str:
        """What a report names, in words."""
        return f"* alone or {self.size} of {self.listed} listed {items}"

    @property
    def description(self) -> str:
        """In words."""
        return f"{self.name}: {self.naming('items')}"

    def encode(self, subset: Sequence[int]) -> bytes:
        """A report in ``report_bytes`` bytes, the most significant first: the rank of a set among all C(L, w), as
        subset selection ranks it; C(L, w) for {*}.
        """
        if list(subset) == [self.listed]:
            return self._sets.to_bytes(self.report_bytes, "big")
        if not self.listed:
            raise ParameterError("subset", subset, "item 0 alone", "Encode a report that this randomiser drew.")
        return self.among.encode(subset).rjust(self.report_bytes, b"\0")

    def decode(self, data: bytes) -> tuple[int, ...]:
        """The items of an encoded report, in ascending order."""
        if len(data) != self.report_bytes:
            raise ParameterError("report", f"{len(data)} bytes", f"{self.report_bytes} bytes long", _DROP)
        rank = int.from_bytes(data, "big")
        if rank >= self.subsets:
            raise self._impossible(data)
        if rank == self._sets:
            return (self.listed,)
        return self.among.decode(rank.to_bytes(self.among.report_bytes, "big"))

    def possible(self, data: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which of many encoded reports, a row of ``report_bytes`` bytes each, have a rank of at most C(L, w)."""
        if data.ndim != 2 or data.dtype != np.uint8 or data.shape[1] != self.report_bytes:
            raise ParameterError(
                "reports", f"{data.dtype} array of shape {data.shape}", f"rows of {self.report_bytes} bytes", _DROP
            )
        last = self._last
        first_other = (data != last).argmax(axis=1)
        return np.asarray(data[np.arange(len(data)), first_other] <= last[first_other])

    def supports_of_reports(self, data: NDArray[np.uint8]) -> NDArray[np.int64]:
        """How many of many encoded reports, a row of ``report_bytes`` bytes each, contain each item."""
        fine = self.possible(data)
        if not fine.all():
            raise self._impossible(data[fine.argmin()].tobytes())
        alone = (data == self._last).all(axis=1)
        listed = np.empty(0, dtype=np.int64)
        if self.listed:
            listed = self.among.supports_of_reports(data[~alone][:, self.report_bytes - self.among.report_bytes :])
        return np.append(listed, np.count_nonzero(alone))

    @property
    def _last(self) -> NDArray[np.uint8]:
        """The bytes of {*}."""
        return np.frombuffer(self._sets.to_bytes(self.report_bytes, "big"), dtype=np.uint8)

    def _impossible(self, data: bytes) -> ParameterError:
        return ParameterError("report", data.hex(), f"a rank of at most C({self.listed}, {self.size})", _DROP)

    def __str__(self) -> str:
        """For people."""
        return (
            f"wildcard apart (ε = {self.epsilon:g}): * alone, with probability {self.own_coin / _WHOLE:.4g} if it is "
            f"held and {self.other_coin / _WHOLE:.4g} if not, or {self.size} of {self.listed} listed items; "
            f"{self.report_bytes} {'byte' if self.report_bytes == 1 else 'bytes'} a report"
        )


def _beyond(one: tuple[Fraction, ...], other: tuple[Fraction, ...], power: Fraction) -> Fraction:
    """The hockey-stick divergence of two laws: the sum of what the one has beyond the other times e^epsilon."""
    return sum((max(Fraction(0), p - power * q) for p, q in zip(one, other, strict=True)), Fraction(0))


def _coins(epsilon: float, listed: int, size: int) -> tuple[int, int]:
    """The numerators over 2^53 of a = w e^epsilon/(w e^epsilon + L), rounded down, and of c = w/(w e^epsilon + L),
    rounded up.
    """

    def odds() -> Decimal:
        return size * Decimal(epsilon).exp(getcontext())

    return (
        floor_bits(lambda: odds() / (odds() + listed), COIN_BITS),
        floor_bits(lambda: size / (odds() + listed), COIN_BITS) + 1,
    )


def _best_size(epsilon: float, listed: int) -> int:
    """The w with the smallest (w + L x)(10 L x + w (1 - x))/(w (L - w)), which falls, then rises; in whole numbers."""
    x = floor_bits(lambda: Decimal(-epsilon).exp(getcontext()), COIN_BITS)

    def product(size: int) -> int:
        return (size * _WHOLE + listed * x) * (_PEOPLE_PER_HOLDER * listed * x + size * (_WHOLE - x))

    def rises_after(size: int) -> bool:
        after = size + 1
        return product(size) * after * (listed - after) <= product(after) * size * (listed - size)

    low, high = 1, max(1, listed - 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if rises_after(middle) else (middle + 1, high)
    return low


def _require_users(users: int) -> None:
    require_count("users", users, min_value=1, remedy="Give the number of reports.")
