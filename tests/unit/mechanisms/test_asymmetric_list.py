"""The list with totals and wildcards: the exact delta of the whole release, its law, and its price in random words."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from blendp.errors import ParameterError, RandomnessError
from blendp.mechanisms import ThresholdList
from blendp.mechanisms.asymmetric_laplace import AsymmetricLaplace
from blendp.mechanisms.asymmetric_list import AsymmetricList
from blendp.mechanisms.asymmetric_list.asymmetric_list import _least_total
from blendp.mechanisms.asymmetric_list.geometric_gap import GeometricGap
from blendp.mechanisms.asymmetric_list.shares import best_shares
from blendp.privacy import Budget
from blendp.randomness import Random, ReleaseRandom, SimulationRandom
from tests.support import KnownKey, Script, goodness
from tests.unit.mechanisms.exact_law import CountingRandom, LawOfDraw

Counts = NDArray[np.int64]
"""A row for every database, a column for every record."""


def on_window(noise: AsymmetricLaplace, counts: Counts, lowest: Counts, width: int) -> NDArray[np.float64]:
    """P(count + noise = v) for lowest <= v < lowest + width, a row for every count, with both tails lumped at the ends.

    Where both neighbours' counts lie within the window, their tails have one ratio throughout: lumping loses nothing.
    """
    x = (lowest - counts)[:, None] + np.arange(width)
    law = noise.probability(x)
    law[:, 0] = 1 - noise.at_least(x[:, 0] + 1)
    law[:, -1] = noise.at_least(x[:, -1])
    return law


def product_law(factors: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The law of independent outcomes, row by row."""
    return reduce(lambda law, factor: (law[:, :, None] * factor[:, None, :]).reshape(len(law), -1), factors)


def total_probability(mechanism: AsymmetricList, counts: Counts | int, totals: Counts | int) -> Any:
    """P(listed with this total) = P(X' = t - N) P(V <= t - T), for t >= T."""
    counts, beyond = np.asarray(counts), np.asarray(totals) - mechanism.min_total
    slow, fast = mechanism.list_noise.rising, mechanism.noise.rising
    kept = 1 - GeometricGap(slow, fast).at_least(beyond + 1) if slow < fast else 1.0
    return np.where((counts > 0) & (beyond >= 0), mechanism.noise.probability(totals - counts) * kept, 0)


def totals_of_records(mechanism: AsymmetricList, counts: Counts, width: int) -> NDArray[np.float64]:
    """P(unlisted), P(listed with total T), ..., T + width - 1, and P(listed with more), a row for every count."""
    inner = total_probability(mechanism, counts[:, None], mechanism.min_total + np.arange(width))
    listed = mechanism.listing_probability(counts)
    return np.column_stack([1 - listed, inner, listed - inner.sum(axis=1)])


def totals_of_queries(mechanism: AsymmetricList, rests: Counts, width: int) -> NDArray[np.float64]:
    """The same for queries of which no record is listed, by how many people have them."""
    noise, least = mechanism.wildcard_noise, mechanism.min_rest
    assert noise is not None
    assert least is not None
    occurs = rests[:, None] > 0
    inner = np.where(occurs, noise.probability(least + np.arange(width) - rests[:, None]), 0)
    more = np.where(occurs, noise.at_least(least + width - rests[:, None]), 0)
    return np.column_stack([1 - inner.sum(axis=1) - more[:, 0], inner, more])


def divergences(
    mechanism: AsymmetricList,
    queries: tuple[int, ...],
    first: Counts,
    second: Counts,
    epsilon: float,
    *,
    never: tuple[int, ...] = (),
    in_rest_all_the_same: bool = False,
) -> NDArray[np.float64]:
    """delta(epsilon) of the whole release between neighbours, exactly, a row each: both directions, the worse.

    An output tells of every record whether it is listed, with its total where the databases differ; of every query with
    a listed record its rest; of every other query whether it is listed, with its total where the databases differ.
    Outcomes with one ratio of probabilities are lumped. Records in ``never`` cannot be listed: they have no URL.
    ``in_rest_all_the_same`` is a fault: people whose record is listed are counted in the rest, too.
    """
    width = max(0, int(max(first.max(), second.max())) * len(queries) - mechanism.min_total) + 3
    divergence, mass = np.zeros((2, len(first))), np.zeros((2, len(first)))
    for listed in product(*((False,) if i in never else (False, True) for i in range(len(queries)))):
        sides = []
        for counts in (first, second):
            factors = [np.ones((len(counts), 1))]
            for i, is_listed in enumerate(listed):
                if i in never:
                    continue
                of_record = totals_of_records(mechanism, counts[:, i], width)
                if is_listed and (first[:, i] != second[:, i]).any():
                    factors.append(of_record[:, 1:])
                else:
                    factors.append(1 - of_record[:, :1] if is_listed else of_record[:, :1])
            rest_noise = mechanism.wildcard_noise
            for query in sorted(set(queries)) if rest_noise is not None else []:
                assert rest_noise is not None
                own = [i for i, q in enumerate(queries) if q == query and (in_rest_all_the_same or not listed[i])]
                rests = [database[:, own].sum(axis=1) for database in (counts, first, second)]
                if any(listed[i] for i, q in enumerate(queries) if q == query):
                    factors.append(on_window(rest_noise, rests[0], np.minimum(*rests[1:]) - 1, 4))
                    continue
                of_query = totals_of_queries(mechanism, rests[0], width)
                differ = (rests[1] != rests[2]).any()
                factors.append(of_query if differ else np.column_stack([of_query[:, 0], 1 - of_query[:, 0]]))
            sides.append(product_law(factors))
        for i, (p, q) in enumerate((sides, sides[::-1])):
            divergence[i] += np.maximum(p - math.exp(epsilon) * q, 0).sum(axis=1)
            mass[i] += p.sum(axis=1)
    np.testing.assert_allclose(mass, 1, atol=1e-9)
    return np.asarray(divergence.max(axis=0))


NEIGHBOURS: tuple[tuple[tuple[int, ...], int | None, tuple[int, ...]], ...] = (
    ((0, 0, 0), 1, ()),
    ((0, 0, 1), 1, ()),
    ((0, 0, 1), 2, ()),
    ((0, 0, 1, 1), 2, ()),
    ((0, 1), 1, ()),
    ((0, 1, 2), 2, ()),
    ((0, 0, 1), None, ()),
    ((0, 0), 1, (0,)),
    ((0, 1, 1), 1, (0, 2)),
    ((0, 0, 1), None, (0,)),
)
"""The queries of some records, into which of them record 0 of one person turns (None: no record), and which of them
have no URL."""


def worst_delta(mechanism: AsymmetricList, epsilon: float, *, in_rest_all_the_same: bool = False) -> float:
    """The worst over neighbours: one person's record replaced by another, over all counts of the others' records."""
    T, worst = mechanism.min_total, 0.0
    for queries, into, never in NEIGHBOURS:
        some = (0, 1, 2, T - 1, T, T + 1) if len(queries) < 3 else (0, 1, T - 1, T)
        others = np.array(list(product(some, repeat=len(queries))), dtype=np.int64)
        before, after = others.copy(), others.copy()
        before[:, 0] += 1
        if into is not None:
            after[:, into] += 1
        deltas = divergences(
            mechanism, queries, before, after, epsilon, never=never, in_rest_all_the_same=in_rest_all_the_same
        )
        worst = max(worst, float(deltas.max()))
    return worst


@pytest.mark.parametrize(
    ("epsilon", "delta", "wildcards", "falling", "wildcard"),
    [
        (1.0, 1e-5, True, None, 0.12),
        (2.0, 1e-5, True, 0.5, 0.3),
        (4.0, 1e-5, True, None, 0.1),
        (4.0, 1e-2, True, 0.3, 0.2),
        (2.0, 1e-3, True, 0.85, 0.1),
        (4.0, 1e-7, False, None, 0.1),
        (1.0, 1e-4, False, 0.5, 0.1),
    ],
)
def test_exact_delta_by_enumeration(
    epsilon: float, delta: float, wildcards: bool, falling: float | None, wildcard: float
) -> None:
    mechanism = AsymmetricList(Budget(epsilon, delta), wildcards, falling, wildcard)
    worst = worst_delta(mechanism, epsilon)
    assert worst <= delta * (1 + 1e-9)
    stray = mechanism.delta_at(epsilon)
    assert worst == pytest.approx(stray, rel=1e-9), "the loss is that of a lone record of a lone query, no more"
    assert worst_delta(mechanism, epsilon - 0.05) > 2 * delta, "epsilon is used up"


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_lower_least_totals_would_break_the_promise(epsilon: float) -> None:
    """The enumeration has power: thresholds one below spend more than delta."""
    lone, nobody = np.array([[1]]), np.array([[0]])
    assert divergences(AsymmetricList(Budget(epsilon, 1e-5)), (0,), lone, nobody, epsilon)[0] <= 1e-5
    for name in ("min_total", "min_rest"):
        mechanism = AsymmetricList(Budget(epsilon, 1e-5))
        object.__setattr__(mechanism, name, getattr(mechanism, name) - 1)
        assert divergences(mechanism, (0,), lone, nobody, epsilon)[0] > 1e-5


def test_people_with_a_listed_record_must_be_in_no_rest() -> None:
    mechanism = AsymmetricList(Budget(2, 1e-5))
    assert worst_delta(mechanism, 2.0) <= 1e-5
    assert worst_delta(mechanism, 2.0, in_rest_all_the_same=True) > 1e-3


def test_the_noise_of_the_totals_alone_must_not_list() -> None:
    """Without V a record would be listed by noise of a rising rate that its people have not paid for."""
    mechanism = AsymmetricList(Budget(2, 1e-5))
    object.__setattr__(mechanism, "list_noise", mechanism.noise)
    assert worst_delta(mechanism, 2.0) > 1e-4


@pytest.mark.parametrize("side", ["falling", "rising"])
def test_wildcards_that_are_not_paid_for_would_break_the_promise(side: str) -> None:
    """Wildcard noise on top of e_+ + e_- = epsilon, or one that falls faster than the list's own."""
    mechanism = AsymmetricList(Budget(2, 1e-5), wildcards=side == "falling")
    e_plus = mechanism.noise.falling
    f_plus, f_minus = (e_plus + Fraction(1, 5), Fraction(6, 25)) if side == "falling" else (e_plus, Fraction(1, 5))
    object.__setattr__(mechanism, "wildcard_noise", AsymmetricLaplace(f_plus, f_minus))
    object.__setattr__(mechanism, "min_rest", 40)
    assert worst_delta(mechanism, 2.0) > 1e-4


@given(
    epsilon=st.floats(0.05, 50), delta=st.floats(1e-30, 0.004), wildcards=st.booleans(), wildcard=st.floats(0.01, 0.8)
)
def test_rates_sum_to_epsilon_and_the_least_total_is_the_least(
    epsilon: float, delta: float, wildcards: bool, wildcard: float
) -> None:
    mechanism = AsymmetricList(Budget(epsilon, delta), wildcards, wildcard_share=wildcard)
    rates = [mechanism.list_noise.falling, mechanism.list_noise.rising]
    bits, one = 400, 1 << 400
    p = [Fraction(mechanism.list_noise.tail_bits(mechanism.min_total - 1, bits) + 1, one)]
    if mechanism.wildcard_noise and mechanism.min_rest is not None:
        assert mechanism.wildcard_noise.falling == mechanism.noise.falling == mechanism.list_noise.falling
        rates.append(mechanism.wildcard_noise.rising)
        p += [Fraction(mechanism.wildcard_noise.tail_bits(mechanism.min_rest - x, bits) + 1, one) for x in (1, 2)]
    assert sum(rates) == Fraction(epsilon)
    assert mechanism.noise.rising == Fraction(epsilon) - mechanism.noise.falling
    assert mechanism.list_noise.rising >= Fraction(epsilon) * (12 if wildcards else 18) / 100
    assert mechanism.min_total >= 2
    if wildcards:
        assert 1 - (1 - p[0]) * (1 - p[1]) < Fraction(delta)
        assert mechanism.min_rest == 2 or 1 - (1 - p[0]) * (1 - p[2]) > Fraction(delta)
    else:
        assert p[0] < Fraction(delta)


def test_the_least_total_is_decided_on_the_edge() -> None:
    """A delta one unit in the last place on either side of P(X >= 6)."""
    noise = AsymmetricLaplace(Fraction(1), Fraction(1, 2))
    exact = Fraction(noise.tail_bits(6, 300), 1 << 300)
    near = float(exact)
    over = near if Fraction(near) > exact else math.nextafter(near, 1)
    for delta, total in ((over, 7), (math.nextafter(over, 0), 8)):
        assert _least_total(noise, delta) == total


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (2.0, 1e-7), (4.0, 1e-5), (6.0, 1e-3)])
def test_the_automatic_share_is_the_best_of_all_thousandths(epsilon: float, delta: float) -> None:
    n = np.arange(1, 2000)
    rests = Fraction(AsymmetricList.wildcard_share)

    def named(falling: Fraction) -> float:
        mechanism = AsymmetricList(Budget(epsilon, delta), falling_share=float(falling))
        assert mechanism.wildcard_noise is not None
        assert mechanism.min_rest is not None
        of_queries = mechanism.wildcard_noise.at_least(mechanism.min_rest - n)
        return float(n**-2.2 @ (mechanism.listing_probability(n) + of_queries / 2))

    chosen = best_shares(epsilon, delta, rests).falling
    assert AsymmetricList(Budget(epsilon, delta)).noise.falling == Fraction(epsilon) * chosen
    assert named(chosen) >= max(named(Fraction(j, 1000)) for j in range(100, 761, 4)) * (1 - 2e-3)


def test_the_automatic_share_is_always_the_same() -> None:
    for epsilon in (0.001, 0.1, 1.0, 4.0):
        mechanism = AsymmetricList(Budget(epsilon, 1e-6))
        best_shares.cache_clear()
        assert AsymmetricList(Budget(epsilon, 1e-6)) == mechanism
        assert mechanism.list_noise.rising >= Fraction(epsilon) * 12 / 100


def test_it_lists_more_than_half_of_the_budget_on_either_side_would() -> None:
    n = np.arange(1, 2000)
    for epsilon in (1.0, 4.0):
        ours = AsymmetricList(Budget(epsilon, 1e-5)).listing_probability(n)
        even = ThresholdList(Budget(epsilon, 1e-5)).listing_probability(n)
        assert n**-2.2 @ ours > 1.2 * (n**-2.2 @ even)


def scaled(mechanism: AsymmetricList, falling: float = 1, rising: float = 1, listing: float = 1) -> AsymmetricList:
    """The same with other rates: e_+, that of the totals below 0, and that of listing below 0."""
    changed, fall = replace(mechanism), mechanism.noise.falling * Fraction(falling)
    for name, factor in (("noise", rising), ("list_noise", listing)):
        noise = AsymmetricLaplace(fall, getattr(mechanism, name).rising * Fraction(factor))
        object.__setattr__(changed, name, noise)
    return changed


@pytest.mark.statistical
@pytest.mark.parametrize("source", [KnownKey, SimulationRandom])
@pytest.mark.parametrize("missing", [4, 1, 0, -2])
def test_a_drawn_record_has_the_law_of_its_noisy_total(source: Callable[[int], Random], missing: int) -> None:
    """Whether it is listed and with which total, together; and no law of another scale, or of another gap."""
    mechanism = AsymmetricList(Budget(1, 1e-2), falling_share=0.5, wildcard_share=0.38)
    count, size, reach = mechanism.min_total - missing, 2_000_000 if missing > 0 else 400_000, 30
    assert count > 0
    indices, totals = mechanism.draw(np.full(size, count), source(7))
    assert (np.diff(indices) > 0).all()
    cells = np.bincount(np.minimum(totals - mechanism.min_total, reach) + 1, minlength=reach + 2)
    cells[0] = size - len(indices)

    def fit(law: AsymmetricList) -> float:
        return goodness(cells, np.maximum(totals_of_records(law, np.array([count]), reach)[0], 0))

    assert fit(mechanism) > 1e-4
    for wrong in (0.7, 1.3):
        for rate in ("falling", "rising", "listing"):
            assert fit(scaled(mechanism, **{rate: wrong})) < 1e-9
    without_gap = replace(mechanism)
    object.__setattr__(without_gap, "noise", mechanism.list_noise)
    assert fit(without_gap) < 1e-9


@pytest.mark.statistical
@pytest.mark.parametrize("missing", [3, 0])
def test_another_gap_in_the_draw_is_seen(missing: int) -> None:
    """V where it should be V* and the reverse, or a gap that is a third too small, do not have the law."""
    mechanism = AsymmetricList(Budget(1, 1e-2), falling_share=0.5, wildcard_share=0.38)
    name, other = ("gap_below", mechanism.gap) if missing else ("gap", mechanism.gap_below)
    right = getattr(mechanism, name)
    count, size, reach = mechanism.min_total - missing, 400_000, 30
    law = totals_of_records(mechanism, np.array([count]), reach)[0]
    for wrong in (None, other, GeometricGap(right.slow * Fraction(4, 3), right.fast * Fraction(4, 3))):
        faulty = replace(mechanism)
        faulty.__dict__[name] = wrong
        indices, totals = faulty.draw(np.full(size, count), KnownKey(8))
        cells = np.bincount(np.minimum(totals - mechanism.min_total, reach) + 1, minlength=reach + 2)
        cells[0] = size - len(indices)
        assert goodness(cells, law) < 1e-9


@pytest.mark.parametrize("missing", [2, 1, 0, -3])
def test_every_word_leads_to_the_law_of_a_query(missing: int) -> None:
    """Below T', at it and above: whether a query is listed by its rest and with which total, over all words."""
    mechanism = AsymmetricList(Budget(5.0, 1e-2), falling_share=0.5)
    assert mechanism.wildcard_noise is not None
    assert mechanism.min_rest is not None
    count, least = mechanism.min_rest - missing, mechanism.min_rest
    law = LawOfDraw(lambda random: first_total(mechanism.draw_queries(np.array([count]), random)))
    assert law.undecided < Fraction(1, 1 << 50)
    noise = mechanism.wildcard_noise
    assert float(law.probability.pop(None)) == pytest.approx(1 - float(noise.at_least(least - count)), abs=1e-13)
    for total, probability in law.probability.items():
        assert isinstance(total, int)
        assert total >= least
        assert float(probability) == pytest.approx(float(noise.probability(total - count)), abs=1e-13)


def first_total(drawn: tuple[Counts, Counts]) -> int | None:
    """The total of the only item, if it is listed."""
    return int(drawn[1][0]) if len(drawn[1]) else None


@pytest.mark.statistical
@pytest.mark.parametrize("missing", [4, 1, 0, -2])
def test_a_drawn_query_has_the_law_of_its_noisy_rest(missing: int) -> None:
    mechanism = AsymmetricList(Budget(1, 1e-2))
    assert mechanism.min_rest is not None
    count, size, reach = mechanism.min_rest - missing, 100_000, 30
    assert count > 0
    indices, totals = mechanism.draw_queries(np.full(size, count), KnownKey(7))
    assert (np.diff(indices) > 0).all()
    cells = np.bincount(np.minimum(totals - mechanism.min_rest, reach) + 1, minlength=reach + 2)
    cells[0] = size - len(indices)
    assert goodness(cells, totals_of_queries(mechanism, np.array([count]), reach)[0]) > 1e-4
    other = replace(mechanism)
    object.__setattr__(other, "wildcard_noise", mechanism.noise)
    assert goodness(cells, totals_of_queries(other, np.array([count]), reach)[0]) < 1e-20
    assert len(mechanism.draw_queries(np.zeros(50, dtype=np.int64), KnownKey(7))[0]) == 0


@pytest.mark.statistical
def test_every_record_is_listed_with_its_probability_and_its_own_total() -> None:
    mechanism, random = AsymmetricList(Budget(4, 1e-2)), KnownKey(5)
    T = mechanism.min_total
    counts = np.array([1, T - 1, T - 1, T, T - 1, 1, 0, 500, T + 1, T - 1])
    listed, repeats = np.zeros(len(counts), dtype=np.int64), 4_000
    for _ in range(repeats):
        indices, totals = mechanism.draw(counts, random)
        listed[indices] += 1
        assert (np.diff(indices) > 0).all()
        assert totals.min() >= T
        assert abs(totals[indices == 7][0] - 500) < 60
    p = mechanism.listing_probability(counts)
    assert listed[6] == 0
    assert listed[7] == repeats
    free = (p > 0) & (p < 0.9999)
    z = (listed - repeats * p)[free] / np.sqrt(repeats * p * (1 - p))[free]
    assert np.abs(z).max() < 4.5


@pytest.mark.statistical
def test_wildcards_carry_their_own_noise() -> None:
    mechanism = AsymmetricList(Budget(4, 1e-5), wildcard_share=0.3)
    assert mechanism.wildcard_noise is not None
    counts = np.arange(50_000) % 7
    noise = mechanism.draw_wildcards(counts, KnownKey(2)) - counts
    reach, zero = 20, np.zeros(1, dtype=np.int64)
    cells = np.bincount(np.clip(noise, -reach, reach) + reach, minlength=2 * reach + 1)
    assert goodness(cells, on_window(mechanism.wildcard_noise, zero, zero - reach, 2 * reach + 1)[0]) > 1e-4
    assert goodness(cells, on_window(mechanism.noise, zero, zero - reach, 2 * reach + 1)[0]) < 1e-20


def test_noise_does_not_cost_a_draw_per_rare_record() -> None:
    random = CountingRandom(1)
    rare, popular = 1_000_000, 60
    counts = np.concatenate([np.ones(rare, dtype=np.int64), np.full(popular, 60)])
    listed, totals = AsymmetricList(Budget(4, 1e-5)).draw(counts, random)
    assert random.drawn < rare / 25
    assert set(range(rare, rare + popular)) <= set(listed.tolist())
    assert len(listed) == len(totals) < popular + 40


def test_a_survivor_on_the_edge_is_settled_by_further_bits() -> None:
    mechanism = AsymmetricList(Budget(4, 1e-5))
    T, last = mechanism.min_total, (1 << 64) - 1
    edge = mechanism.list_noise.tail_bits(2, 64)
    zeros = 64 - edge.bit_length()
    following = mechanism.list_noise.tail_bits(2, 128) & last
    heads = [1 << 63] * zeros  # one coin each: its bit survives
    beyond, more = mechanism._beyond.bits(3, 64), mechanism._beyond.bits(3, 128) & last
    start = [*heads, edge << zeros]
    subset, no_gap = [5], [last]
    assert mechanism.draw(np.array([T - 2]), Script([*start, following + 1]))[0].tolist() == []
    for word, goes_beyond in ((more - 1, 3), (more + 1, 2)):
        indices, totals = mechanism.draw(
            np.array([T - 2]), Script([*start, following - 1, *subset, beyond, word, *no_gap])
        )
        assert indices.tolist() == [0]
        assert totals.tolist() == [T + goes_beyond]


@pytest.mark.parametrize(
    ("epsilon", "delta", "options", "name"),
    [
        (4, 0, {}, "delta"),
        (0.01, 0.5, {}, "delta"),
        (1, 0.1, {"falling_share": 0.83}, "delta"),  # e_- = 0.05, and 1 - e^-0.05 = 0.0488
        (4, 1e-5, {"falling_share": 0.0}, "falling_share"),
        (4, 1e-5, {"falling_share": 0.95}, "falling_share"),
        (4, 1e-5, {"falling_share": math.nan}, "falling_share"),
        (4, 1e-5, {"wildcard_share": 0.0}, "wildcard_share"),
        (4, 1e-5, {"wildcard_share": 0.9}, "wildcard_share"),
        (1e-4, 1e-5, {}, "rising rate"),
    ],
)
def test_parameters_without_a_proof_are_refused(
    epsilon: float, delta: float, options: dict[str, float], name: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        AsymmetricList(Budget(epsilon, delta), **options)  # type: ignore[arg-type]
    assert caught.value.parameter == name


def test_the_condition_on_delta_is_needed() -> None:
    """Without it a record that only the other database has, unlisted, would cost more than e^(e_-)."""
    assert AsymmetricList(Budget(1, 0.048), falling_share=0.85, wildcard_share=0.1).min_total >= 2
    with pytest.raises(ParameterError, match=r"at most 0\.0487706"):
        AsymmetricList(Budget(1, 0.049), falling_share=0.85, wildcard_share=0.1)


def test_wildcards_need_their_share() -> None:
    bare = AsymmetricList(Budget(4, 1e-5), wildcards=False)
    assert bare.wildcard_noise is None
    assert bare.noise.falling + bare.noise.rising == 4
    assert bare.list_noise == bare.noise
    assert (bare.min_rest, bare.gap, bare.gap_below) == (None, None, None)
    with pytest.raises(ParameterError, match="wildcards"):
        bare.draw_wildcards(np.array([3]), SimulationRandom(0))
    with pytest.raises(ParameterError, match="wildcards"):
        bare.draw_queries(np.array([3]), SimulationRandom(0))


def test_released_lists_are_cryptographic() -> None:
    mechanism = AsymmetricList(Budget(4, 1e-5))
    indices, totals = mechanism.release(np.array([1000, 2000]), ReleaseRandom())
    assert indices.tolist() == [0, 1]
    assert np.abs(totals - [1000, 2000]).max() < 200
    assert len(mechanism.draw_wildcards(np.array([4, 5]), ReleaseRandom())) == 2
    with pytest.raises(RandomnessError):
        mechanism.release(np.array([1000]), SimulationRandom(0))  # type: ignore[arg-type]


def test_no_records_no_list() -> None:
    mechanism = AsymmetricList(Budget(4, 1e-5))
    for nothing in (np.zeros(0, dtype=np.int64), np.zeros(5, dtype=np.int64)):
        indices, totals = mechanism.draw(nothing, SimulationRandom(0))
        assert len(indices) == len(totals) == 0
    assert len(mechanism.draw_wildcards(np.zeros(0, dtype=np.int64), SimulationRandom(0))) == 0


def test_a_list_tells_what_it_is() -> None:
    assert str(AsymmetricList(Budget(4, 1e-5))) == (
        "list of totals from 5 on, (ε = 4, δ = 1e-05): noise falling 2.852, rising 0.668, "
        "queries by rests from 5 on, wildcards rising 0.48"
    )
    assert "wildcards" not in str(AsymmetricList(Budget(4, 1e-5), wildcards=False))
