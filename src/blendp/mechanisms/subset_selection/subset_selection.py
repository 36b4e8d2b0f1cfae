"""Subset selection: the client names a set of items that may hold theirs. See PROOF.md beside this file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blendp.errors import ParameterError, require_count
from blendp.mechanisms.exact import exact_power, floor_bits
from blendp.mechanisms.subset_selection.counting import count_items
from blendp.mechanisms.subset_selection.ranks import Ranks
from blendp.privacy import Budget
from blendp.randomness import Random, ReleaseRandom, require_release
from blendp.randomness.random import COIN_BITS

_MAX_ITEMS = 1_000_000
_MAX_CELLS = 1 << 20
_MAX_PEOPLE = 1_000_000_000
_BLOCK = 1 << 13
_CACHE = 1 << 22
_FEW = 100
_DROP = "It was made with another epsilon or list, or is damaged: drop it."


@dataclass(frozen=True)
class SubsetSelection:
    """A frequency oracle of the local model. One report about one item of k: a set S of exactly w items, with

        P(S | x) = p / C(k-1, w-1)        x in S
        P(S | x) = (1 - p) / C(k-1, w)    x not in S

        p = w e^epsilon/(w e^epsilon + k - w),    q = [p (w - 1) + (1 - p) w]/(k - 1)

    where:
        p  is the probability that the held item is in the report, rounded down to a multiple of 2^-53 (``hit``),
        q  is the probability that any one other item is (``stray``),
        w  is floor or ceil of k/(e^epsilon + 1), from 1 to k - 1: whichever has the smaller ``noise`` q(1-q)/(p-q)^2;
           ``width`` if that is given.

    It is pure epsilon-LDP. With w = 1 it is k-ary randomised response. With k = 1 the report is {0} always: it tells
    nothing, and p = 1, q = 0.
    """

    epsilon: float
    """In (0, 50], for the whole report."""

    items: int
    """k, the length of the list, from 1 to 1 000 000."""

    width: int | None = None
    """w, from 1 to k - 1, if it is not to be chosen; 1 is k-ary randomised response."""

    size: int = field(init=False)
    """w, the number of items in every report."""

    coin: int = field(init=False)
    """p 2^53, a whole number."""

    def __post_init__(self) -> None:
        """Choose the size and compute the coin."""
        Budget(self.epsilon)
        require_count("items", self.items, min_value=1, remedy="Give the length of the list.")
        if self.items > _MAX_ITEMS:
            raise ParameterError("items", self.items, f"at most {_MAX_ITEMS}", "Shorten the list.")
        if self.items == 1:
            self._settle(1, 1 << COIN_BITS)
            return
        ideal = self.items / (math.exp(self.epsilon) + 1)
        sizes = {min(max(round_(ideal), 1), self.items - 1) for round_ in (math.floor, math.ceil)}
        if self.width is not None:
            require_count("width", self.width, min_value=1, remedy="It is the number of items in a report.")
            if self.width >= self.items:
                raise ParameterError("width", self.width, f"below the {self.items} items", "Name fewer in a report.")
            sizes = {self.width}
        coins = {size: _coin(self.epsilon, self.items, size) for size in sorted(sizes)}
        telling = [size for size, coin in coins.items() if coin * self.items > size << COIN_BITS]
        if not telling:
            raise ParameterError(
                "epsilon", self.epsilon, "at least about 1e-15", "Below that a coin of 53 bits tells nothing."
            )
        best = min(telling, key=lambda size: _noise(Fraction(coins[size], 1 << COIN_BITS), self.items, size))
        self._settle(best, coins[best])

    def _settle(self, size: int, coin: int) -> None:
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "coin", coin)

    @property
    def hit(self) -> float:
        """p, the probability that the held item is in the report."""
        return self.coin / (1 << COIN_BITS)

    @cached_property
    def stray(self) -> float:
        """q, the probability that one other item is in the report; 0 if there is no other."""
        return float((self.size - self._exact_hit) / (self.items - 1)) if self.items > 1 else 0.0

    @cached_property
    def noise(self) -> float:
        """q(1-q)/(p-q)^2: the number of reports times the variance of the estimate for an item that nobody holds."""
        return float(_noise(self._exact_hit, self.items, self.size)) if self.items > 1 else 0.0

    @property
    def _exact_hit(self) -> Fraction:
        return Fraction(self.coin, 1 << COIN_BITS)

    @cached_property
    def _contrast(self) -> float:
        """p - q = (p k - w)/(k - 1), without the cancellation of a float's."""
        if self.items == 1:
            return 1.0
        return float((self._exact_hit * self.items - self.size) / (self.items - 1))

    @cached_property
    def subsets(self) -> int:
        """C(k, w), the number of different reports."""
        return self._ranks.binomial(self.items, self.size)

    @property
    def limit(self) -> str:
        """The same as a formula."""
        return f"C({self.items}, {self.size})"

    @cached_property
    def _ranks(self) -> Ranks:
        return Ranks()

    @property
    def coins(self) -> tuple[int, ...]:
        """The one coin, over 2^53."""
        return (self.coin,)

    @property
    def gain(self) -> float:
        """(1 - q)/(p - q): by how much one report raises n times the estimate of an item that it names."""
        return (1 - self.stray) / self._contrast

    @property
    def report_bits(self) -> int:
        """ceil(log2 C(k, w)), the bits that tell one report from all others."""
        return (self.subsets - 1).bit_length()

    @property
    def report_bytes(self) -> int:
        """The bytes of a report as :meth:`encode` writes it, at least 1.

        ``SubsetSelection(epsilon, items).report_bytes`` is what a report costs for this epsilon and length of list.
        """
        return max(1, (self.report_bits + 7) // 8)

    def release(self, own_items: ArrayLike, random: ReleaseRandom) -> NDArray[np.bool_]:
        """One report for every held item, to be sent from devices: row i tells which items are in report i."""
        require_release(random)
        return self.draw(own_items, random)

    def draw(self, own_items: ArrayLike, random: Random) -> NDArray[np.bool_]:
        """One report for every held item: row i tells which items are in report i."""
        own = self._own(own_items)
        reports = np.zeros((len(own), self.items), dtype=np.bool_)
        for block, members in self._blocks(own, random):
            reports[np.arange(block.start, block.stop), members] = True
        return reports

    def supports(self, own_items: ArrayLike, random: Random) -> NDArray[np.int64]:
        """How many of the reports contain each item, one report for every held item.

        It is ``draw(own_items, random).sum(axis=0)``, draw for draw, but the reports are made and counted in blocks
        that fit the processor's cache.
        """
        totals = np.zeros(self.items, dtype=np.int64)
        for _, members in self._blocks(self._own(own_items), random):
            totals += np.bincount(members.ravel(), minlength=self.items)
        return totals

    def _own(self, own_items: ArrayLike) -> NDArray[np.int64]:
        """The held items as an array, checked."""
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

    def _blocks(self, own: NDArray[np.int64], random: Random) -> Iterator[tuple[slice, NDArray[np.unsignedinteger]]]:
        """Blocks of people, and the members of their reports."""
        length = _BLOCK if self.size <= _FEW else min(_BLOCK, max(1, _CACHE // self.items))
        for start in range(0, len(own), length):
            block = slice(start, min(start + length, len(own)))
            yield block, self._members(own[block], random)

    def _members(self, own: NDArray[np.int64], random: Random) -> NDArray[np.unsignedinteger]:
        """The w members of each report, one column for each held item.

        Everyone is first treated as a holder of the last item, whose strangers are 0 .. k-2; then the names of the held
        and the last item are swapped. Floyd's algorithm draws the strangers: the step for ``last`` adds a number drawn
        from 0 .. last, or ``last`` itself if that number is taken. Who reports the held item skips the first step.
        """
        people, last_item = len(own), self.items - 1
        members = np.empty((self.size, people), dtype=np.min_scalar_type(last_item))
        inside = random.coins(self.coin, people)
        members[0] = last_item
        outside = np.flatnonzero(~inside)
        if len(outside):
            members[0, outside] = random.below(self.items - self.size, len(outside))
        if self.size > _FEW:
            self._fill_from_matrix(members, random)
        else:
            for step in range(1, self.size):
                last = last_item - self.size + step
                members[step] = random.below(last + 1, people)
                taken = np.bitwise_or.reduce(members[:step] == members[step], axis=0)
                np.putmask(members[step], taken, last)
        np.putmask(members, members == own.astype(members.dtype), last_item)
        np.copyto(members[0], own, where=inside, casting="unsafe")
        return members

    def _fill_from_matrix(self, members: NDArray[np.unsignedinteger], random: Random) -> None:
        """Floyd's steps after the first, where looking a number up is faster than comparing it with all before."""
        people = members.shape[1]
        start = np.arange(people) * self.items
        taken = np.zeros(people * self.items, dtype=np.bool_)
        taken[start + members[0]] = True
        for step in range(1, self.size):
            last = self.items - 1 - self.size + step
            drawn = random.below(last + 1, people)
            drawn[taken.take(start + drawn)] = last
            taken[start + drawn] = True
            members[step] = drawn

    def supports_of_counts(self, counts: ArrayLike, generator: np.random.Generator) -> NDArray[np.int64]:
        """The supports of ``counts[x]`` people that hold item x, in a time that does not grow with their number.

        For experiments only, never for data that is released: the generator is not cryptographic and computes with
        floats. The law is that of :meth:`supports`. It walks through the list and keeps how many people have

            r slots left, own item ahead and in the report
            r slots left, own item ahead and not in it
            r slots left, own item behind

        where:
            r  is how many of the strangers still to come will be in the report: the next is with probability r / those.
        """
        holders = np.asarray(counts)
        fine = holders.shape == (self.items,) and np.issubdtype(holders.dtype, np.integer) and holders.min() >= 0
        if not fine or sum(holders.tolist()) >= _MAX_PEOPLE:
            raise ParameterError(
                "counts",
                holders,
                f"{self.items} whole numbers of at least 0, with a sum below {_MAX_PEOPLE}",
                "Give how many people hold each item.",
            )
        people = int(holders.sum())
        slots = np.arange(self.size + 1)
        state = np.zeros((3, self.size + 1), dtype=np.int64)
        state[0, self.size - 1] = generator.binomial(people, self.hit)
        state[1, self.size] = people - state[0, self.size - 1]
        totals = np.zeros(self.items, dtype=np.int64)
        nobody = np.zeros((2, self.size + 1), dtype=np.int64)
        for item, own in enumerate(holders.tolist()):
            ahead = self.items - 1 - item
            owners = nobody
            if own:
                owners = generator.multivariate_hypergeometric(state[:2].ravel(), own).reshape(2, -1)
                state[:2] -= owners
            strangers = np.array([[max(ahead, 1)], [max(ahead, 1)], [ahead + 1]])
            chosen = generator.binomial(state, np.minimum(slots / strangers, 1.0))
            totals[item] = owners[0].sum() + chosen.sum()
            state -= chosen
            state[:, :-1] += chosen[:, 1:]
            state[2] += owners.sum(axis=0)
        return totals

    def estimate(self, supports: ArrayLike, users: int) -> NDArray[np.float64]:
        """The frequency of every item, without bias (it may fall below 0 or above 1):

            (s/n - q)/(p - q)

        where:
            s  is how many of the reports contain the item,
            n  is the number of reports (``users``).
        """
        _require_users(users)
        return (np.asarray(supports, dtype=np.float64) / users - self.stray) / self._contrast

    def variance(self, frequency: ArrayLike, users: int, rest: ArrayLike = 0.0) -> NDArray[np.float64]:  # noqa: ARG002
        """The variance of the estimate of an item of this frequency, for people drawn from a population:

            [f p(1-p) + (1-f) q(1-q)]/(n (p-q)^2) + f(1-f)/n

        where:
            f  is the item's frequency in the population,
            n  is the number of reports (``users``).

        The last term is that of drawing the people; without it, it is the variance given who they are. What the others
        hold does not matter, nor does ``rest``.
        """
        _require_users(users)
        f = np.asarray(frequency, dtype=np.float64)
        own = self.hit * (1 - self.hit) / self._contrast**2
        return np.asarray((f * own + (1 - f) * self.noise + f * (1 - f)) / users)

    def rest_variance(self, rest: ArrayLike, users: int) -> NDArray[np.float64]:
        """That of the last item, which is as any other."""
        return self.variance(rest, users)

    def adds_up(self, supports: NDArray[np.int64], reports: int) -> bool:
        """Whether so many reports can have these supports: each has w items."""
        return int(supports.sum()) == self.size * reports

    def likelihoods(self, subset: Sequence[int]) -> tuple[tuple[str, NDArray[np.int64], Fraction], ...]:
        """How likely a report that names these items is, for whoever holds one of them and for all others."""
        inside, outside = self.cell_probabilities()
        named = np.zeros(self.items, dtype=np.bool_)
        named[list(subset)] = True
        return ("named", np.flatnonzero(named), inside), ("unnamed", np.flatnonzero(~named), outside)

    def ratio(self) -> Fraction:
        """The largest ratio of two probabilities of one report, exactly."""
        if self.items == 1:
            return Fraction(1)
        p = self._exact_hit
        return p * (self.items - self.size) / ((1 - p) * self.size)

    def cell_probabilities(self) -> tuple[Fraction, Fraction]:
        """The exact probabilities of one report: holding an item that is in it, and one that is not (0 if k = 1)."""
        p = self._exact_hit
        inside = p / math.comb(self.items - 1, self.size - 1)
        return inside, (1 - p) / math.comb(self.items - 1, self.size) if self.items > 1 else Fraction(0)

    def all_subsets(self) -> NDArray[np.bool_]:
        """Every report, a row each, by ascending rank: row i is the report that :meth:`decode` reads from i."""
        if self.items * self.subsets > _MAX_CELLS:
            raise ParameterError(
                "items",
                self.items,
                f"so small that items x different reports is at most {_MAX_CELLS}",
                "Use cell_probabilities: a channel of any size has only these two numbers.",
            )
        ordered = sorted(combinations(range(self.items), self.size), key=lambda subset: subset[::-1])
        rows = np.zeros((self.subsets, self.items), dtype=np.bool_)
        np.put_along_axis(rows, np.array(ordered), True, axis=1)
        return rows

    def channel(self) -> NDArray[np.float64]:
        """The matrix of P(report | item): a row for every item, a column for every row of :meth:`all_subsets`."""
        inside, outside = self.cell_probabilities()
        return np.where(self.all_subsets().T, float(inside), float(outside))

    def loss(self) -> float:
        """The exact pure epsilon of one report: the largest log-ratio of the probabilities of a report,

            ln [p (k - w)/((1 - p) w)]

        where:
            p  is that of the coin, an exact fraction; only the logarithm is rounded, never above epsilon.
        """
        return min(float(self.epsilon), math.log1p(self.ratio() - 1))

    def delta_at(self, epsilon: float) -> float:
        """The exact delta of one report at this epsilon,

            [p (k - w) - e^epsilon (1 - p) w]/(k - 1),    not below 0

        where:
            p  is that of the coin. Only reports with the one item and without the other differ.
        """
        if self.items == 1:
            return 0.0
        k, w, p = self.items, self.size, self._exact_hit
        return max(0.0, float((p * (k - w) - exact_power(epsilon) * (1 - p) * w) / (k - 1)))

    @property
    def name(self) -> str:
        """What it is called."""
        return "subset selection"

    def naming(self, items: str) -> str:
        """What a report names, in words."""
        return f"{self.size} of {self.items} {items}"

    @property
    def description(self) -> str:
        """In words."""
        return f"{self.name}: {self.naming('items')}"

    def encode(self, subset: Sequence[int]) -> bytes:
        """A report in ``report_bytes`` bytes: its rank among all C(k, w), the most significant byte first.

        The module ``ranks`` says which rank that is.
        """
        whole = all(issubclass(kind, (int, np.integer)) for kind in set(map(type, subset)))
        chosen = sorted(set(map(int, subset))) if whole else []
        if not len(subset) == len(chosen) == self.size or chosen[0] < 0 or chosen[-1] >= self.items:
            raise ParameterError(
                "subset",
                subset,
                f"{self.size} different items from 0 to {self.items - 1}",
                "Encode a report that this randomiser drew.",
            )
        return self._ranks.rank(chosen, self.items).to_bytes(self.report_bytes, "big")

    def decode(self, data: bytes) -> tuple[int, ...]:
        """The items of an encoded report, in ascending order."""
        if len(data) != self.report_bytes:
            raise ParameterError("report", f"{len(data)} bytes", f"{self.report_bytes} bytes long", _DROP)
        rank = int.from_bytes(data, "big")
        if rank >= self.subsets:
            raise self._impossible(data)
        return tuple(self._ranks.members(rank, self.items, self.size))

    def possible(self, data: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which of many encoded reports, a row of ``report_bytes`` bytes each, have a rank below C(k, w)."""
        if data.ndim != 2 or data.dtype != np.uint8 or data.shape[1] != self.report_bytes:
            raise ParameterError(
                "reports", f"{data.dtype} array of shape {data.shape}", f"rows of {self.report_bytes} bytes", _DROP
            )
        last = np.frombuffer((self.subsets - 1).to_bytes(self.report_bytes, "big"), dtype=np.uint8)
        first_other = (data != last).argmax(axis=1)
        return np.asarray(data[np.arange(len(data)), first_other] <= last[first_other])

    def supports_of_reports(self, data: NDArray[np.uint8]) -> NDArray[np.int64]:
        """How many of many encoded reports, a row of ``report_bytes`` bytes each, contain each item.

        It is what :meth:`decode` says of every row, added up, but all rows are decoded together.
        """
        fine = self.possible(data)
        if not fine.all():
            raise self._impossible(data[fine.argmin()].tobytes())
        return count_items(data, self.items, self.size)

    def _impossible(self, data: bytes) -> ParameterError:
        return ParameterError("report", data.hex(), f"a rank below C({self.items}, {self.size})", _DROP)

    def __str__(self) -> str:
        """For people."""
        return (
            f"subset selection (ε = {self.epsilon:g}): {self.size} of {self.items} items, "
            f"the held one with probability {self.hit:.4g}, any other with {self.stray:.4g}; "
            f"{self.report_bytes} {'byte' if self.report_bytes == 1 else 'bytes'} a report"
        )


def _noise(hit: Fraction, items: int, size: int) -> Fraction:
    """q(1-q)/(p-q)^2 = (w-p)(k-1-w+p)/(pk-w)^2."""
    return (size - hit) * (items - 1 - size + hit) / (hit * items - size) ** 2


def _coin(epsilon: float, items: int, size: int) -> int:
    """The numerator over 2^53, rounded down, of p = w e^epsilon/(w e^epsilon + k - w)."""

    def hit() -> Decimal:
        odds = size * Decimal(epsilon).exp(getcontext())
        return odds / (odds + items - size)

    return floor_bits(hit, COIN_BITS)


def _require_users(users: int) -> None:
    require_count("users", users, min_value=1, remedy="Give the number of reports.")
