"""The list of several records a person: sensitivities, the exact delta of list and counts, and the draws."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from blendp.errors import ParameterError, RandomnessError
from blendp.mechanisms.rounded_gaussian import RoundedGaussian
from blendp.mechanisms.set_union import WeightedUnion
from blendp.mechanisms.set_union.weighted_union import GRID
from blendp.privacy import Budget
from blendp.privacy.gaussian import gaussian_delta
from blendp.randomness import Random, SimulationRandom
from tests.support import KnownKey, goodness
from tests.unit.privacy import exact_normal

CASES = [(4.0, 1e-5, 1), (4.0, 1e-5, 2), (1.0, 1e-3, 3), (0.3, 1e-2, 3), (8.0, 1e-6, 3), (2.0, 0.2, 2)]


@pytest.mark.parametrize(("m", "share"), [(1, 7.97), (2, 5.64), (5, 3.56), (10, 2.54), (20, 1.82)])
def test_threshold_as_a_share_of_the_people(m: int, share: float) -> None:
    union = WeightedUnion(Budget(4, 1e-5), m, list_share=1)
    assert union.min_total / (GRID * math.sqrt(m)) == pytest.approx(share, rel=0.01)


@settings(max_examples=30)
@given(epsilon=st.floats(0.3, 50), power=st.floats(-12, -1.5), m=st.integers(1, 60), share=st.floats(0.05, 1))
def test_the_promise_adds_up(epsilon: float, power: float, m: int, share: float) -> None:
    """beta and the deviations, computed again in another way and in exact fractions."""
    delta = 10**power
    union = WeightedUnion(Budget(epsilon, delta), m, share)
    assert union.delta_threshold + union.delta_gaussian <= delta
    assert union.delta_gaussian >= gaussian_delta(union.mu, epsilon)
    of_list = 2 * Fraction(GRID) ** 2 / union.list_noise.sigma**2
    assert of_list <= Fraction(share) * Fraction(union.mu) ** 2
    if share < 1:
        sigma = union.count_noise.sigma
        of_counts = 2 * Fraction(m) ** 2 / sigma**2
        assert of_list + of_counts <= Fraction(union.mu) ** 2
        assert float(of_list + of_counts) > union.mu**2 * 0.999
        assert union.dispersion_noise.sigma**2 >= 2 * m**2 * sigma**2


@pytest.mark.parametrize(("epsilon", "delta", "m"), [*CASES, (4.0, 1e-5, 20)])
def test_one_persons_own_records_are_listed_with_probability_beta_at_most(epsilon: float, delta: float, m: int) -> None:
    union = WeightedUnion(Budget(epsilon, delta), m)
    worst = Fraction(0)
    for d in range(1, m + 1):
        weight = math.isqrt(GRID * GRID // d)
        z = (union.min_total - weight - Fraction(1, 2)) / union.list_noise.sigma
        listed = Fraction(math.ceil(exact_normal.upper_tail(z) * 2**200), 2**200)
        worst = max(worst, 1 - (1 - listed) ** d)
    assert worst <= Fraction(union.delta_threshold)
    assert float(worst) == pytest.approx(union.delta_threshold, rel=1e-10)


def test_squared_weights_add_up_to_the_grid_at_most() -> None:
    union = WeightedUnion(Budget(4, 1e-5), 1000)
    d = np.arange(1, 1001)
    w = union.weights(d)
    assert (d * w**2 <= GRID**2).all()
    assert (d * (w + 1) ** 2 > GRID**2).all()
    assert int(union.weights(np.array([0]))[0]) == 0


@st.composite
def people(draw: st.DrawFn) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """m, the query of every cell, and the cells of two people."""
    m = draw(st.integers(1, 8))
    cells = draw(st.integers(1, 6))
    queries = sorted(draw(st.lists(st.integers(0, 3), min_size=cells - 1, max_size=cells - 1)))
    row = st.lists(st.integers(-1, cells - 1), min_size=m, max_size=m)
    return m, np.array([*queries, 4]), np.array([draw(row), draw(row)])


class Silent(RoundedGaussian):
    """No noise."""

    def draw(self, count: int, random: Random) -> NDArray[np.int64]:  # noqa: ARG002
        return np.zeros(count, dtype=np.int64)


@cache
def silenced(m: int) -> WeightedUnion:
    """Without noise on what is counted."""
    union = WeightedUnion(Budget(4, 1e-5), m)
    for name in ("count_noise", "dispersion_noise"):
        union.__dict__[name] = Silent(getattr(union, name).sigma)
    return union


@given(people())
def test_two_people_are_at_most_sqrt_2_m_apart(case: tuple[int, NDArray[np.int64], NDArray[np.int64]]) -> None:
    """|c - c'|^2 + (s - s')^2/(2 m^2) + (t - t')^2/(2 m^2) <= 2 m^2, on what the code counts."""
    m, queries, rows = case
    union = silenced(m)
    one, two = (union.draw_counts(row[None, :], queries, len(queries), SimulationRandom(0)) for row in rows)
    counts = int(((one.counts - two.counts) ** 2).sum())
    dispersions = (one.cell_dispersion - two.cell_dispersion) ** 2 + (one.query_dispersion - two.query_dispersion) ** 2
    assert 2 * m**2 * counts + dispersions <= 4 * m**4
    for person in (one, two):
        assert 0 <= person.cell_dispersion <= person.query_dispersion <= m**2


@pytest.mark.parametrize("m", [1, 3])
def test_the_bound_is_reached_twice(m: int) -> None:
    """All in one cell against all in another, and against nothing."""
    union = silenced(m)
    rows = np.array([[0] * m, [1] * m, [-1] * m])
    for other in (1, 2):
        one, two = (union.draw_counts(rows[[i]], np.array([0, 1, 2]), 3, SimulationRandom(0)) for i in (0, other))
        counts = int(((one.counts - two.counts) ** 2).sum())
        s = (one.cell_dispersion - two.cell_dispersion) ** 2 + (one.query_dispersion - two.query_dispersion) ** 2
        assert 2 * m**2 * counts + s == 4 * m**4


def list_divergence(
    union: WeightedUnion, before: NDArray[np.int64], after: NDArray[np.int64], epsilon: float
) -> NDArray[np.float64]:
    """delta(epsilon) between the lists of two neighbours, exactly: a row of totals of the records each."""
    p, q = union.listing_probability(before), union.listing_probability(after)
    total = np.zeros(len(before))
    for listed in product((False, True), repeat=before.shape[1]):
        a = np.where(listed, p, 1 - p).prod(axis=1)
        b = np.where(listed, q, 1 - q).prod(axis=1)
        total += np.maximum(a - math.exp(epsilon) * b, 0)
    return total


def replacements(union: WeightedUnion, universe: int = 3) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The weights of one person on all records, before and after, for all sets of at most m of them."""
    sets = [s for d in range(min(union.records_per_user, universe) + 1) for s in combinations(range(universe), d)]
    rows = []
    for chosen in sets:
        row = np.zeros(universe, dtype=np.int64)
        row[list(chosen)] = int(union.weights(np.array(len(chosen))))
        rows.append(row)
    return product(rows, rows)


def worst_list(union: WeightedUnion) -> float:
    """The largest delta of the list over all replacements and others' totals, unique records among them."""
    rho = union.min_total
    others = [0, 128, rho - 300, rho - 100, rho, rho + 300]
    base = np.array(list(product(others, repeat=3)), dtype=np.int64)
    base = base[(base >= 0).all(axis=1)]
    epsilon = union.budget.epsilon
    return max(float(list_divergence(union, base + a, base + b, epsilon).max()) for a, b in replacements(union))


@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize(("epsilon", "delta", "m"), CASES)
def test_exact_delta_of_the_list_by_enumeration(epsilon: float, delta: float, m: int, share: float) -> None:
    union = WeightedUnion(Budget(epsilon, delta), m, share)
    worst = worst_list(union)
    assert worst <= delta
    assert worst > 0.3 * union.delta_threshold, "an enumeration that finds no loss has looked in the wrong place"


def test_twenty_unique_records_against_twenty_others() -> None:
    union = WeightedUnion(Budget(4, 1e-5), 20)
    p = float(union.listing_probability(int(union.weights(np.array(20)))))
    silent = (1 - p) ** 20
    loss = (1 - silent) + max(0.0, silent - math.exp(4) * silent)
    assert 0.99 * union.delta_threshold < loss <= union.delta_threshold


def test_a_lower_threshold_would_break_the_promise() -> None:
    """The enumeration has power: a threshold 15 % below spends more than delta."""
    for epsilon, delta, m in CASES[:3]:
        union = WeightedUnion(Budget(epsilon, delta), m, 1)
        object.__setattr__(union, "min_total", math.floor(0.85 * union.min_total))
        assert worst_list(union) > delta


Law = NDArray[np.float64]


def noisy(noise: RoundedGaussian, value: int) -> Law:
    """The law of value + X on a fixed range; what falls outside goes to its ends."""
    reach = math.ceil(7 * noise.sigma)
    x = np.arange(-reach, reach + 1) - value
    law = noise.probability(x)
    law[0], law[-1] = noise.at_least(1 - x[0]), noise.at_least(x[-1])
    return np.asarray(law)


def joint_divergence(
    union: WeightedUnion, others: NDArray[np.int64], before: NDArray[np.int64], after: NDArray[np.int64]
) -> float:
    """delta(epsilon) of list, counts and dispersions together, by enumeration of everything that can be released.

    ``others`` are the totals of everybody else for records with a query each; ``before`` and ``after`` are how many of
    one person's m occurrences are each record. Records that are not listed fall into <*,*>, as in a one-level list.
    """
    epsilon, records = union.budget.epsilon, len(others)
    weights = [np.where(c > 0, int(union.weights(np.array((c > 0).sum()))), 0) for c in (before, after)]
    p, q = (union.listing_probability(others + w) for w in weights)
    loss = 0.0
    for listed in product((False, True), repeat=records):
        mask = np.array(listed)
        outputs = []
        for chance, counts in ((p, before), (q, after)):
            laws = [noisy(union.count_noise, int(c)) for c in counts[mask]]
            laws += [noisy(union.dispersion_noise, int((counts[mask] ** 2).sum()))] * 2
            outputs.append((float(np.where(mask, chance, 1 - chance).prod()), laws))
        (a, first), (b, second) = outputs
        changed = [i for i in range(len(first)) if not np.array_equal(first[i], second[i])]
        one = a * reduce(np.multiply.outer, [first[i] for i in changed], np.ones(()))
        two = b * reduce(np.multiply.outer, [second[i] for i in changed], np.ones(()))
        loss += float(np.maximum(one - math.exp(epsilon) * two, 0).sum())
    return loss


def joint_cases(union: WeightedUnion) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """One record against none, one against another, unique or held by others."""
    m, rho = union.records_per_user, union.min_total
    for total in (0, rho - 256, rho, rho + 3000):
        for before, after in (([m], [0]), ([0], [m])):
            yield np.array([total]), np.array(before), np.array(after)
    for totals in ((0, 0), (0, rho), (rho, 0), (rho - 128, rho - 128), (rho + 3000, rho + 3000)):
        yield np.array(totals), np.array([m, 0]), np.array([0, m])


@pytest.mark.parametrize("share", [0.5, 0.05])
@pytest.mark.parametrize(("epsilon", "delta", "m"), [(4.0, 1e-5, 1), (1.0, 1e-2, 1), (8.0, 1e-6, 2)])
def test_exact_delta_of_list_and_counts_by_enumeration(epsilon: float, delta: float, m: int, share: float) -> None:
    union = WeightedUnion(Budget(epsilon, delta), m, share)
    worst = max(joint_divergence(union, *case) for case in joint_cases(union))
    assert worst <= delta
    if share < 0.1:
        assert worst > 0.2 * delta, "an enumeration that finds no loss has looked in the wrong place"


@pytest.mark.parametrize("names", [("count_noise", "dispersion_noise"), ("dispersion_noise",)])
def test_less_noise_would_break_the_promise(names: tuple[str, ...]) -> None:
    """A fifth less on all that is counted, or half on the dispersions alone."""
    union = WeightedUnion(Budget(4, 1e-5), 1, 0.05)
    for name in names:
        factor = Fraction(4, 5) if len(names) > 1 else Fraction(1, 2)
        union.__dict__[name] = RoundedGaussian(getattr(union, name).sigma * factor)
    assert max(joint_divergence(union, *case) for case in joint_cases(union)) > 1e-5


@given(st.data())
def test_totals_are_those_of_a_loop(data: st.DataObject) -> None:
    m, distinct = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6))
    row = st.lists(st.integers(-1, distinct - 1), min_size=m, max_size=m)
    rows = data.draw(st.lists(row, max_size=8))
    expected = [0] * distinct
    for each in rows:
        own = set(each) - {-1}
        for record in own:
            expected[record] += math.floor(math.sqrt(GRID**2 / len(own)))
    union = silenced(m)
    assert union.totals(np.array(rows, dtype=np.int64).reshape(-1, m), distinct).tolist() == expected


@given(st.data())
def test_counts_are_those_of_a_loop(data: st.DataObject) -> None:
    m, cells = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6))
    queries = data.draw(st.lists(st.integers(0, 2), min_size=cells - 1, max_size=cells - 1))
    row = st.lists(st.integers(-1, cells - 1), min_size=m, max_size=m)
    rows = data.draw(st.lists(row, max_size=8))
    union = silenced(m)
    counts, of_cells, of_queries = union.draw_counts(
        np.array(rows, dtype=np.int64).reshape(-1, m), np.array([*queries, 3]), cells, SimulationRandom(0)
    )
    named = [[cell for cell in each if 0 <= cell < cells - 1] for each in rows]
    assert counts.tolist() == [sum(each.count(cell) for each in named) for cell in range(cells - 1)]
    assert of_cells == sum(each.count(cell) ** 2 for each in named for cell in set(each))
    asked = [[queries[cell] for cell in each] for each in named]
    assert of_queries == sum(each.count(query) ** 2 for each in asked for query in set(each))


@pytest.mark.statistical
@pytest.mark.parametrize("source", [KnownKey, SimulationRandom])
def test_records_are_listed_with_their_probability(source: Callable[[int], Random]) -> None:
    union = WeightedUnion(Budget(4, 1e-3), 3)
    rho, sigma = union.min_total, float(union.list_noise.sigma)
    kinds = np.array([0, *[max(1, round(rho + s * sigma)) for s in (-3, -2.5, -2, -1, -0.3, 0, 0.4, 1.5)], 10**6])
    each = 20_000
    totals = np.tile(kinds, each)
    listed = union.draw(totals, source(5))
    assert (np.diff(listed) > 0).all()
    hits = np.bincount(listed % len(kinds), minlength=len(kinds))
    p = union.listing_probability(kinds)
    assert hits[0] == 0
    assert hits[-1] == each
    z = (hits - each * p)[1:-1] / np.sqrt(each * p * (1 - p))[1:-1]
    assert np.abs(z).max() < 4.5
    wrong = union.list_noise.at_least(round(1.15 * rho) - kinds)
    assert np.abs((hits - each * wrong) / np.sqrt(each * wrong * (1 - wrong) + 1))[1:-1].max() > 20


@pytest.mark.statistical
def test_how_many_of_one_total_are_listed_is_binomial() -> None:
    union, random = WeightedUnion(Budget(4, 1e-3), 3), KnownKey(7)
    totals = np.full(40, union.min_total - round(1.7 * union.list_noise.sigma))
    p = float(union.listing_probability(int(totals[0])))
    sizes = np.bincount([len(union.draw(totals, random)) for _ in range(2_000)], minlength=41)
    assert goodness(sizes, stats.binom.pmf(np.arange(41), 40, p)) > 1e-4
    assert goodness(sizes, stats.binom.pmf(np.arange(41), 40, p * 0.7)) < 1e-15


@pytest.mark.statistical
def test_counts_have_the_noise_they_claim() -> None:
    union, random = WeightedUnion(Budget(4, 1e-5), 2), KnownKey(3)
    size = 30_000
    cells = np.array([[0, 1], [0, 0], [size, size], [-1, 5]])
    queries = np.append(np.zeros(size, dtype=np.int64), 1)
    truth = np.zeros(size, dtype=np.int64)
    truth[[0, 1, 5]] = 3, 1, 1
    drawn = union.draw_counts(cells, queries, size + 1, random)
    noise = drawn.counts - truth
    reach = math.ceil(5 * union.count_noise.sigma)
    counts = np.bincount(np.clip(noise, -reach, reach) + reach, minlength=2 * reach + 1)
    for factor, fits in ((1.0, True), (0.7, False), (1.3, False)):
        law = RoundedGaussian(union.count_noise.sigma * Fraction(factor))
        p = np.concatenate([[law.at_least(reach)], law.probability(np.arange(1 - reach, reach)), [law.at_least(reach)]])
        assert (goodness(counts, p) > 1e-4) == fits

    few = np.array([0, 1])
    repeats = [union.draw_counts(cells[:2] % 1, few, 2, random)[1:] for _ in range(400)]
    noise = np.array(repeats) - 8
    sigma = float(union.dispersion_noise.sigma)
    assert stats.kstest(noise.ravel(), "norm", (0, sigma)).pvalue > 1e-4
    assert stats.kstest(noise.ravel(), "norm", (0, 1.3 * sigma)).pvalue < 1e-4
    assert stats.kstest(noise.ravel(), "norm", (0, 0.7 * sigma)).pvalue < 1e-4
    assert abs(np.corrcoef(noise.T)[0, 1]) < 0.25


def test_released_lists_take_released_randomness() -> None:
    union = WeightedUnion(Budget(4, 1e-5), 2)
    totals, cells, queries = np.array([0, 10**6]), np.array([[0, 1]]), np.array([0, 1])
    assert union.release(totals, KnownKey(1)).tolist() == [1]
    assert len(union.draw_counts(cells, queries, 2, KnownKey(1)).counts) == 1
    with pytest.raises(RandomnessError):
        union.release(totals, SimulationRandom(1))  # type: ignore[arg-type]


def test_a_record_that_does_not_occur_is_never_listed() -> None:
    """Even where noise alone would often pass."""
    union = WeightedUnion(Budget(4, 0.3), 1)
    assert float(union.list_noise.at_least(union.min_total)) > 0.05
    assert union.draw(np.tile([0, 10**5], 1000), KnownKey(1)).tolist() == list(range(1, 2000, 2))
    assert union.listing_probability(0) == 0


@pytest.mark.parametrize(("epsilon", "delta", "m"), [(3, 0.99, 2), (4, 0.99, 2), (3, 0.999, 5), (1, 0.6, 1)])
def test_nor_where_delta_promises_next_to_nothing(epsilon: float, delta: float, m: int) -> None:
    union = WeightedUnion(Budget(epsilon, delta), m)
    assert union.min_total >= 1
    assert len(union.draw(np.zeros(1000, dtype=np.int64), KnownKey(1))) == 0


def test_no_records_no_list() -> None:
    union = WeightedUnion(Budget(4, 1e-5), 2)
    assert len(union.draw(np.zeros(0, dtype=np.int64), SimulationRandom(0))) == 0
    assert len(union.draw(np.zeros(5, dtype=np.int64), SimulationRandom(0))) == 0
    counts, _, _ = union.draw_counts(np.zeros((3, 2), dtype=np.int64), np.array([0]), 1, SimulationRandom(0))
    assert len(counts) == 0


@pytest.mark.parametrize(
    ("epsilon", "delta", "m", "share", "name"),
    [
        (4, 0, 1, 0.5, "delta"),
        (0.001, 0.9, 1, 0.5, "delta"),
        (4, 1e-5, 0, 0.5, "records per user"),
        (4, 1e-5, 10**6, 0.5, "records per user"),
        (4, 1e-5, True, 0.5, "records per user"),
        (4, 1e-5, 1, 0.0, "list share"),
        (4, 1e-5, 1, 1.5, "list share"),
        (0.001, 1e-5, 1, 0.5, "epsilon"),
    ],
)
def test_parameters_without_a_proof_are_refused(epsilon: float, delta: float, m: int, share: float, name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        WeightedUnion(Budget(epsilon, delta), m, share)
    assert caught.value.parameter == name


def test_a_list_that_takes_all_leaves_no_counts() -> None:
    with pytest.raises(ParameterError, match="list share"):
        _ = WeightedUnion(Budget(4, 1e-5), 2, 1).count_noise


def test_data_outside_the_promise_are_refused() -> None:
    union, random = WeightedUnion(Budget(4, 1e-5), 2), SimulationRandom(0)
    for rows in (
        np.zeros((2, 3), dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        np.array([[0, -2]]),
        np.array([[0, 9]]),
    ):
        with pytest.raises(ParameterError, match="records"):
            union.totals(rows, 9)
        with pytest.raises(ParameterError, match="cells"):
            union.draw_counts(rows, np.arange(9), 9, random)
    for queries in (np.arange(3), np.array([0, 1, 2, 2])):
        with pytest.raises(ParameterError, match="query_of_cell"):
            union.draw_counts(np.array([[0, 1]]), queries, 4, random)


def test_it_says_what_it_does() -> None:
    assert str(WeightedUnion(Budget(4, 1e-5), 20)) == (
        "(ε = 4, δ = 1e-05): 20 records of each person, listed from the weight of 11.44 people on"
    )
