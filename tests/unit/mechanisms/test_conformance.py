"""One suite for every mechanism: the law that it draws, what it costs, its randomness, what it refuses, its proof.

A new folder beside the others needs an entry here: :func:`test_every_folder_has_an_entry` finds folders on disk.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import blendp.mechanisms
from blendp.errors import ParameterError, RandomnessError
from blendp.mechanisms import (
    AsymmetricLaplace,
    AsymmetricList,
    DiscreteLaplace,
    FilteredUnion,
    HiddenSampling,
    Holdings,
    LocalRandomiser,
    Mechanism,
    NoiseLaw,
    RoundedGaussian,
    SubsetSelection,
    ThresholdList,
    TwoStage,
    WildcardApart,
)
from blendp.mechanisms.filtered_union.holdings import GRID
from blendp.mechanisms.protocol import SelectionByTotal
from blendp.privacy import Budget, hockey_stick, worst_log_ratio
from blendp.randomness import Random, SimulationRandom
from tests.support import KnownKey, branches
from tests.unit.mechanisms import test_asymmetric_list, test_threshold
from tests.unit.mechanisms.exact_law import CountingRandom, LawOfDraw
from tests.unit.mechanisms.filtered_law import Others, Rule, divergence

Law = dict[Hashable, float]
Refused = tuple[str, Callable[[], object]]

FOLDERS = Path(blendp.mechanisms.__file__).parent
ROUNDING = 1e-13
"""Stated laws and losses are floats; what is drawn is known to 2^-50."""


@dataclass(frozen=True)
class Entry(ABC):
    """What the suite has to know of one mechanism."""

    folder: str
    refused: tuple[Refused, ...]
    """The parameter that is at fault, and how it is given."""

    max_words: float
    """Random words for each draw at most, on average over many."""

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism[Any, Any]:
        """One that is small enough to be looked at from all sides."""

    @property
    @abstractmethod
    def promised(self) -> Budget:
        """What it promises; a delta of 0 for pure differential privacy."""

    @property
    @abstractmethod
    def many(self) -> tuple[Any, int]:
        """Data for many draws, and how many draws they are."""

    @abstractmethod
    def laws(self) -> Iterator[tuple[Law, Law]]:
        """The stated and the drawn law, for everything that decides it."""

    @abstractmethod
    def exact_loss(self) -> float:
        """The largest log-ratio of the stated law over neighbours; infinite if an output is possible for one only."""

    @abstractmethod
    def exact_delta(self, epsilon: float) -> float:
        """The largest hockey-stick divergence of the stated law over neighbours."""


@dataclass(frozen=True)
class Noise(Entry):
    """Noise on a count that one person moves by 1; the law of a draw is the number of first words that lead to it."""

    law: NoiseLaw
    epsilon: float
    delta: float = 0.0

    @property
    def mechanism(self) -> NoiseLaw:
        return self.law

    @property
    def promised(self) -> Budget:
        return Budget(self.epsilon, self.delta)

    @property
    def many(self) -> tuple[int, int]:
        return 10_000, 10_000

    def _values(self) -> NDArray[np.int64]:
        reach = math.ceil(9 * math.sqrt(self.law.variance)) + 60
        return np.arange(-reach, reach + 1)

    def laws(self) -> Iterator[tuple[Law, Law]]:
        values = self._values()
        stated: Law = dict(zip(values.tolist(), self.law.probability(values).tolist(), strict=True))
        for count in (1, 4):  # few draws and many may go different ways
            yield stated, drawn_law(partial(first_of, self.law, count))

    def exact_loss(self) -> float:
        if not self.promised.delta:
            return worst_log_ratio(self._shifted(60))
        return math.inf

    def exact_delta(self, epsilon: float) -> float:
        one, other = self._shifted(len(self._values()) // 2)
        return max(hockey_stick(one, other, epsilon), hockey_stick(other, one, epsilon))

    def _shifted(self, reach: int) -> NDArray[np.float64]:
        """The law of a count of 0 and of a count of 1, tails lumped at the ends."""
        values = np.arange(-reach, reach + 2)
        rows = []
        for count in (0, 1):
            row = self.law.probability(values - count)
            row[0], row[-1] = 1 - self.law.at_least(values[0] + 1 - count), self.law.at_least(values[-1] - count)
            rows.append(row)
        return np.array(rows)


def first_of(law: NoiseLaw, count: int, random: Random) -> int:
    """The first of so many draws, whose other words are a fixed one."""
    return int(law.draw(count, Padded(random) if count > 1 else random)[0])


class Padded(Random):
    """The first word of the first request comes from another source, what else is asked with it is fixed."""

    def __init__(self, source: Random) -> None:
        self.source = source
        self.started = False

    def words(self, count: int) -> NDArray[np.uint64]:
        if self.started:
            return self.source.words(count)
        self.started = True
        return np.concatenate([self.source.words(1), np.full(count - 1, 1 << 63 | 12345, dtype=np.uint64)])


@dataclass(frozen=True)
class Local(Entry):
    """A randomiser of devices; its law is followed through every decision, with fractions."""

    randomiser: LocalRandomiser
    budget: Budget
    inputs: tuple[Any, ...]
    """All that a person can hold, in the order of the channel's rows."""

    column: Callable[[Any], int]
    """Where a report stands in the channel."""

    @property
    def mechanism(self) -> LocalRandomiser:
        return self.randomiser

    @property
    def promised(self) -> Budget:
        return self.budget

    @property
    def many(self) -> tuple[NDArray[np.int64], int]:
        return np.array(self.inputs * 1_000), 1_000 * len(self.inputs)

    def laws(self) -> Iterator[tuple[Law, Law]]:
        for row, own in zip(self.randomiser.channel(), self.inputs, strict=True):
            drawn: dict[Hashable, Fraction] = dict.fromkeys(range(len(row)), Fraction(0))
            for report, probability in branches(partial(self._report, own)):
                drawn[report] += probability
            assert sum(drawn.values()) == 1
            yield dict(enumerate(row.tolist())), {report: float(p) for report, p in drawn.items()}

    def _report(self, own: Any, random: Random) -> int:
        return self.column(self.randomiser.draw(np.array([own]), random)[0])

    def exact_loss(self) -> float:
        return worst_log_ratio(self.randomiser.channel())

    def exact_delta(self, epsilon: float) -> float:
        return max(hockey_stick(one, other, epsilon) for one, other in permutations(self.randomiser.channel(), 2))


@dataclass(frozen=True)
class Selection(Entry):
    """Partition selection by totals; a record by itself decides the law, as records are listed independently."""

    selection: SelectionByTotal[Any]
    min_total: int
    worst: Callable[[Any, float], float]
    """The exact delta of the whole release at an epsilon, by enumeration over neighbours."""

    listed: Callable[[Any], Hashable]
    """What an output says of the only record: None if it is not listed."""

    total_law: Callable[[int, int], float] | None = None
    """P(a record of this count is listed with this total), where totals are released."""

    @property
    def mechanism(self) -> SelectionByTotal[Any]:
        return self.selection

    @property
    def promised(self) -> Budget:
        return self.selection.budget

    @property
    def many(self) -> tuple[NDArray[np.int64], int]:
        """Popular and rare records; the rare ones cost about two bits each."""
        return np.repeat([self.min_total + 5, 1], [100, 20_000]), 100

    def laws(self) -> Iterator[tuple[Law, Law]]:
        T = self.min_total
        for total in sorted({0, 1, T - 1, T, T + max(2, T // 4)}):
            chance = float(self.selection.listing_probability(total))
            drawn = drawn_law(partial(self._outcome, total), foreseeing=self.total_law is not None)
            stated: Law = {True: chance, False: 1 - chance}
            yield stated, {name: sum(p for x, p in drawn.items() if (x is not None) == name) for name in stated}
            if self.total_law is not None:
                yield {None: 1 - chance, **{x: self.total_law(total, x) for x in drawn if isinstance(x, int)}}, drawn

    def _outcome(self, total: int, random: Random) -> Hashable:
        return self.listed(self.selection.draw(np.array([total]), random))

    def exact_loss(self) -> float:
        """A record that nobody else holds cannot be listed without its holder."""
        return math.inf if float(self.selection.listing_probability(1)) > 0 else 0.0

    def exact_delta(self, epsilon: float) -> float:
        return self.worst(self.selection, epsilon)


@dataclass(frozen=True)
class Union(Entry):
    """Partition selection in two rounds; its law is that of a record whose holders have no other."""

    union: FilteredUnion

    @property
    def mechanism(self) -> FilteredUnion:
        return self.union

    @property
    def promised(self) -> Budget:
        return self.union.budget

    @property
    def many(self) -> tuple[Holdings, int]:
        """Popular and rare records, in two rounds; one in ten of the rare ones passes the first."""
        popular = math.ceil(self.union.min_people) + 5
        return Holdings.one_each(np.append(np.repeat(np.arange(100), popular), np.arange(100, 5_000))), 5_000

    @property
    def _steps(self) -> NDArray[np.int64]:
        """Noisy weights are told apart by these."""
        return self.union.min_total + np.round(np.arange(3) * float(self.union.list_noise.sigma)).astype(np.int64)

    def laws(self) -> Iterator[tuple[Law, Law]]:
        union = self.union
        passing, listing = union.passing_total // GRID, union.min_total // GRID
        for holders in (1, passing + 1, listing, listing + 2):
            total = holders * GRID
            passed = float(union.filter_noise.at_least(union.passing_total - total))
            reached = passed * np.append(union.list_noise.at_least(self._steps - total), 0)
            stated: Law = {None: 1 - reached[0], **dict(enumerate(-np.diff(reached)))}
            rows = Holdings.one_each(np.zeros(holders, dtype=np.int64))
            with pytest.MonkeyPatch.context() as patch:  # edges are asked for again and again
                patch.setattr(RoundedGaussian, "tail_bits", cache(RoundedGaussian.tail_bits))
                yield stated, drawn_law(partial(self._outcome, rows))

    def _outcome(self, rows: Holdings, random: Random) -> Hashable:
        totals = self.union.draw(rows, random).totals
        return int(np.searchsorted(self._steps, totals[0], side="right")) - 1 if len(totals) else None

    def exact_loss(self) -> float:
        """A record that nobody else holds cannot be listed without its holder."""
        return math.inf

    def exact_delta(self, epsilon: float) -> float:
        """One record comes or goes, of nobody else or of as many as are listed half of the time."""
        rule = dataclasses.replace(Rule.of(self.union), epsilon=epsilon)
        others: list[Others] = [{}, {((0,), 0): self.union.min_total // GRID}]
        return max(divergence(rule, each, (0,), ()) for each in others)


def drawn_law(draw: Callable[[Random], Hashable], *, foreseeing: bool = False) -> Law:
    """The law of what the code draws, but for words on an edge, which are a handful of 2^64."""
    law = LawOfDraw(draw, foreseeing)
    assert sum(law.probability.values()) + law.undecided == 1
    assert law.undecided < Fraction(1, 1 << 50)
    return {outcome: float(p) for outcome, p in law.probability.items()}


def worst_threshold(mechanism: ThresholdList, epsilon: float) -> float:
    """One person's record replaced by another, over all counts of the others."""
    others = np.array(list(product(range(2 * mechanism.min_total + 3), repeat=2)), dtype=np.int64)
    one, other = np.array([1, 0]), np.array([0, 1])
    return float(test_threshold.divergences(mechanism, others + one, others + other, epsilon).max())


def entries() -> list[Entry]:
    asymmetric = AsymmetricList(Budget(5.0, 1e-2), falling_share=0.5)
    threshold = ThresholdList(Budget(4.0, 1e-3))
    gaussian = RoundedGaussian(Fraction(3, 2))
    subset = SubsetSelection(0.5, 5)
    apart = WildcardApart(0.5, 6)
    hidden = HiddenSampling(1.2, (2, 3))
    records = tuple(product(range(2), range(3)))
    two_stage = TwoStage(Budget(1.5, 1e-3), np.array([2, 3, 1]))
    one = Fraction(1)
    return [
        Noise(
            "asymmetric_laplace",
            tuple(
                (name, partial(AsymmetricLaplace, falling, rising))
                for name, falling, rising in [
                    ("falling rate", Fraction(0), one),
                    ("falling rate", Fraction(-1), one),
                    ("rising rate", one, Fraction(1, 10**6)),
                    ("rising rate", one, Fraction(101)),
                ]
            ),
            1.01,
            AsymmetricLaplace(Fraction(5, 2), Fraction(3, 2)),
            2.5,
        ),
        Selection(
            "asymmetric_list",
            (
                ("delta", lambda: AsymmetricList(Budget(4))),
                ("delta", lambda: AsymmetricList(Budget(1, 0.3))),
                ("wildcard_share", lambda: AsymmetricList(Budget(4, 1e-5), wildcard_share=0.9)),
                ("falling_share", lambda: AsymmetricList(Budget(4, 1e-5), falling_share=0.95)),
                ("falling_share", lambda: AsymmetricList(Budget(4, 1e-5), falling_share=math.nan)),
            ),
            25,
            asymmetric,
            asymmetric.min_total,
            test_asymmetric_list.worst_delta,
            lambda output: int(output[1][0]) if len(output[0]) else None,
            partial(test_asymmetric_list.total_probability, asymmetric),
        ),
        Noise(
            "discrete_laplace",
            tuple(
                ("noise scale", partial(DiscreteLaplace, rate))
                for rate in (Fraction(0), Fraction(-1), Fraction(1, 10**6), Fraction(101))
            ),
            1.01,
            DiscreteLaplace(Fraction(7, 4)),
            1.75,
        ),
        Union(
            "filtered_union",
            (
                ("delta", lambda: FilteredUnion(Budget(4))),
                ("filter share", lambda: FilteredUnion(Budget(4, 1e-5), 0.0)),
                ("list share", lambda: FilteredUnion(Budget(4, 1e-5), 0.2, 1.1)),
                ("list share", lambda: FilteredUnion(Budget(4, 1e-5), 0.6, 0.4)),
                ("epsilon", lambda: FilteredUnion(Budget(1e-3, 1e-5))),
            ),
            1.5,
            FilteredUnion(Budget(4.0, 1e-3)),
        ),
        Local(
            "hidden_sampling",
            tuple(
                (name, partial(HiddenSampling, inner, values))
                for name, inner, values in [
                    ("inner", 0.0, (2, 2)),
                    ("inner", math.nan, (2, 2)),
                    ("inner", 51, (2, 2)),
                    ("inner", 1e-17, (2, 2)),
                    ("values", 1.0, ()),
                    ("values", 1.0, (2, 1)),
                    ("values", 1.0, (2, 1_000_001)),
                ]
            ),
            4,
            hidden,
            Budget(1.2),
            records,
            lambda report: records.index(tuple(report.tolist())),
        ),
        Noise(
            "rounded_gaussian",
            tuple(
                ("sigma", partial(RoundedGaussian, sigma))
                for sigma in (Fraction(0), Fraction(-1), Fraction(1, 17), Fraction(10**9 + 1))
            ),
            1.01,
            gaussian,
            2.0,
            gaussian.delta_at(2.0),
        ),
        Local(
            "subset_selection",
            tuple(
                (name, partial(SubsetSelection, epsilon, items, width))
                for name, epsilon, items, width in [
                    ("epsilon", 0.0, 5, None),
                    ("epsilon", math.inf, 5, None),
                    ("epsilon", 1e-17, 5, None),
                    ("items", 1.0, 0, None),
                    ("items", 1.0, 1_000_001, None),
                    ("width", 1.0, 5, 0),
                    ("width", 1.0, 5, 5),
                ]
            ),
            1 + 2 * 0.6,
            subset,
            Budget(0.5),
            tuple(range(5)),
            lambda report: int.from_bytes(subset.encode(np.flatnonzero(report).tolist()), "big"),
        ),
        Selection(
            "threshold",
            (
                ("delta", lambda: ThresholdList(Budget(4))),
                ("delta", lambda: ThresholdList(Budget(0.1, 0.9))),
                ("records per user", lambda: ThresholdList(Budget(4, 1e-5), 0)),
                ("records per user", lambda: ThresholdList(Budget(4, 1e-5), 1.5)),  # type: ignore[arg-type]
                ("noise scale", lambda: ThresholdList(Budget(1e-5, 1e-9))),
            ),
            25,
            threshold,
            threshold.min_total,
            worst_threshold,
            lambda output: True if len(output) else None,
        ),
        Local(
            "two_stage",
            (
                ("cells_per_query", lambda: TwoStage(Budget(1), np.array([], dtype=np.int64))),
                ("cells_per_query", lambda: TwoStage(Budget(1), np.array([2, 0]))),
                ("query_share", lambda: TwoStage(Budget(1), np.array([2, 1]), 0.0)),
                ("query_share", lambda: TwoStage(Budget(1), np.array([2, 1]), 1.0)),
                ("delta", lambda: TwoStage(Budget(1, 1e-5), np.array([2, 1]), tight=True)),
                ("epsilon", lambda: TwoStage(Budget(1e-16), np.array([3, 3]))),
            ),
            4,
            two_stage,
            Budget(1.5, 1e-3),
            tuple(range(6)),
            int,
        ),
        Local(
            "wildcard_apart",
            tuple(
                (name, partial(WildcardApart, epsilon, items, width))
                for name, epsilon, items, width in [
                    ("epsilon", 0.0, 5, None),
                    ("epsilon", math.inf, 5, None),
                    ("epsilon", 1e-13, 5, None),
                    ("items", 1.0, 0, None),
                    ("items", 1.0, 1_000_001, None),
                    ("width", 1.0, 5, 0),
                    ("width", 1.0, 5, 4),
                ]
            ),
            3,
            apart,
            Budget(0.5),
            tuple(range(6)),
            lambda report: int.from_bytes(apart.encode(np.flatnonzero(report).tolist()), "big"),
        ),
    ]


ENTRIES = entries()
every_mechanism = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.folder)


def test_every_folder_has_an_entry() -> None:
    folders = {path.name for path in FOLDERS.iterdir() if (path / "__init__.py").exists()}
    assert folders == {entry.folder for entry in ENTRIES}


@every_mechanism
def test_it_is_a_mechanism_of_its_folder_with_a_proof(entry: Entry) -> None:
    assert isinstance(entry.mechanism, Mechanism)
    assert type(entry.mechanism).__module__.startswith(f"blendp.mechanisms.{entry.folder}.")
    assert (FOLDERS / entry.folder / "PROOF.md").read_text(encoding="utf-8").startswith("# ")
    assert entry.mechanism.description.strip(" .") == entry.mechanism.description != ""


@every_mechanism
def test_the_code_draws_the_law_it_states(entry: Entry) -> None:
    looked_at = 0
    for stated, drawn in entry.laws():
        looked_at += 1
        assert sum(stated.values()) == pytest.approx(1, abs=1e-12)
        assert min(stated.values()) >= 0
        for outcome in stated.keys() | drawn.keys():
            assert drawn.get(outcome, 0.0) == pytest.approx(stated.get(outcome, 0.0), abs=ROUNDING)
    assert looked_at


class Lopsided(DiscreteLaplace):
    """Keeps one bit of its words: noise above 0 is always even."""

    def draw(self, count: int, random: Random) -> NDArray[np.int64]:
        noise = super().draw(count, random)
        return np.where(noise > 0, noise & ~1, noise)


def test_the_suite_sees_a_law_that_is_not_drawn() -> None:
    entry = next(entry for entry in ENTRIES if entry.folder == "discrete_laplace")
    assert isinstance(entry, Noise)
    with pytest.raises(AssertionError, match="Expected"):
        test_the_code_draws_the_law_it_states(dataclasses.replace(entry, law=Lopsided(Fraction(7, 4))))


@every_mechanism
def test_the_exact_loss_is_at_most_what_is_promised(entry: Entry) -> None:
    promised, mechanism = entry.promised, entry.mechanism
    assert entry.exact_loss() <= mechanism.loss() * (1 + ROUNDING)
    if promised.delta:
        assert mechanism.loss() == math.inf or mechanism.delta_at(mechanism.loss()) == 0
    else:
        assert mechanism.loss() <= promised.epsilon
        assert mechanism.loss() == pytest.approx(entry.exact_loss(), abs=1e-10)
    assert mechanism.delta_at(promised.epsilon) <= promised.delta
    assert entry.exact_delta(promised.epsilon) <= mechanism.delta_at(promised.epsilon) + ROUNDING
    if stated := mechanism.delta_at(promised.epsilon):
        assert entry.exact_delta(promised.epsilon) > 0.01 * stated, "an enumeration that finds no loss shows nothing"


@every_mechanism
def test_delta_falls_as_epsilon_rises_and_is_never_below_the_exact_one(entry: Entry) -> None:
    epsilons = [factor * entry.promised.epsilon for factor in (0.0, 0.25, 0.5, 0.9, 1.0, 1.5)]
    deltas = [entry.mechanism.delta_at(epsilon) for epsilon in epsilons]
    assert deltas == sorted(deltas, reverse=True)
    assert all(0 <= delta <= 1 for delta in deltas)
    if not isinstance(entry, Selection):  # whose exact delta is enumerated for the promised epsilon
        assert all(entry.exact_delta(e) <= delta + ROUNDING for e, delta in zip(epsilons, deltas, strict=True))


@every_mechanism
def test_random_words_are_bounded(entry: Entry) -> None:
    data, draws = entry.many
    for seed in range(3):
        random = CountingRandom(seed)
        entry.mechanism.draw(data, random)
        assert 0 < random.drawn <= entry.max_words * draws


@every_mechanism
def test_releases_refuse_simulation_randomness_and_draws_take_both(entry: Entry) -> None:
    data, _ = entry.many
    kept = np.copy(data)
    with pytest.raises(RandomnessError, match="not for released data"):
        entry.mechanism.release(data, SimulationRandom(1))  # type: ignore[arg-type]
    released = entry.mechanism.release(data, KnownKey(5))
    np.testing.assert_equal(released, entry.mechanism.draw(data, KnownKey(5)))
    simulated = entry.mechanism.draw(data, SimulationRandom(5))
    np.testing.assert_equal(simulated, entry.mechanism.draw(data, SimulationRandom(5)))
    assert not all(np.array_equal(a, b) for a, b in zip(parts(released), parts(simulated), strict=True))
    assert np.array_equal(data, kept)


def parts(output: Any) -> tuple[NDArray[Any], ...]:
    return output if isinstance(output, tuple) else (output,)


@every_mechanism
def test_bad_parameters_are_refused_by_name(entry: Entry) -> None:
    assert len(entry.refused) >= 4
    for name, make in entry.refused:
        with pytest.raises(ParameterError) as caught:
            make()
        assert caught.value.parameter == name


@every_mechanism
def test_it_is_frozen(entry: Entry) -> None:
    assert dataclasses.is_dataclass(entry.mechanism)
    for each in dataclasses.fields(entry.mechanism):
        value = getattr(entry.mechanism, each.name)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(entry.mechanism, each.name, value)
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable, each.name
