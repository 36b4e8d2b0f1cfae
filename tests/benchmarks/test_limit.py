"""The best channel and its certificate, beside brute force on a few items, and what is known of alike ones."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks import best_channel as programme
from benchmarks.best_channel import NORMAL, Groups, Task, best_channel, exact_counts, power_law, type_information
from benchmarks.limit import HEAD, alone, limit
from blendp.arrays import Array
from blendp.evaluation.drawn_people import RecordLaw
from blendp.logs import log_of_table
from blendp.logs.synthetic import law, population

CLIENTS, OPT_IN = 20_000, 1_000


def law_of(items: int, seed: int) -> Array:
    """A few listed items and a wildcard."""
    listed = np.random.default_rng(seed).uniform(0.01, 0.12, items - 1)
    return np.append(listed, 1 - listed.sum())


def all_sets(items: int) -> Array:
    """Every set of items, a row each."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=items)))


def plain_error(p: Array, epsilon: float, sets: Array, weights: Array) -> float:
    """The L1 of a channel, straight from its likelihoods: the information of all k numbers, that sum to 1."""
    likelihoods = np.where(sets > 0, math.exp(epsilon), 1.0) * weights[:, None]
    chances = likelihoods @ p
    used = chances > 0
    information = (likelihoods[used].T / chances[used]) @ likelihoods[used] * CLIENTS + np.diag(OPT_IN / p)
    inverse = np.linalg.inv(information)
    ones = np.ones(len(p))
    covariance = inverse - np.outer(inverse @ ones, inverse @ ones) / (ones @ inverse @ ones)
    total = p[:-1].sum()
    turns = np.column_stack((np.eye(len(p) - 1) / total - p[:-1, None] / total**2, np.zeros(len(p) - 1)))
    return NORMAL * float(np.sqrt(np.einsum("ij,jk,ik->i", turns, covariance, turns)).sum())


def brute_force(p: Array, epsilon: float) -> float:
    """The least L1 of all channels, by a general optimiser over the weights of all sets."""
    sets = all_sets(len(p))[1:-1]
    rows = np.where(sets > 0, math.exp(epsilon), 1.0)
    start = np.full(len(sets), 1 / rows.mean() / len(sets))
    rule = {"type": "eq", "fun": lambda w: rows.T @ w - 1, "jac": lambda _: rows.T}
    answer = minimize(
        lambda w: 100 * plain_error(p, epsilon, sets, np.maximum(w, 0)),
        start,
        method="SLSQP",
        bounds=[(0, 1)] * len(sets),
        constraints=[rule],
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert np.abs(rows.T @ answer.x - 1).max() < 1e-6
    return float(answer.fun) / 100


@pytest.mark.parametrize(("items", "epsilon"), [(3, 0.5), (3, 4.0), (4, 1.0), (5, 2.0), (5, 4.0)])
def test_brute_force_finds_no_better_channel(items: int, epsilon: float) -> None:
    p = law_of(items, 7 * items)
    solution = best_channel(Task(p, epsilon, CLIENTS, exact_counts(p, OPT_IN)), groups=items)
    least = brute_force(p, epsilon)
    assert solution.bound <= least * (1 + 1e-6)
    assert solution.value == pytest.approx(least, rel=1e-3)
    assert 0 <= solution.gap < 1e-3 * solution.value


def test_the_channel_is_a_channel_and_has_the_value() -> None:
    p = law_of(5, 3)
    solution = best_channel(Task(p, 2.0, CLIENTS, exact_counts(p, OPT_IN)), groups=5)
    sets = solution.types[:, solution.groups.of_item].astype(np.float64)
    rows = np.where(sets > 0, math.exp(2.0), 1.0)
    assert solution.weights.min() > 0
    assert rows.T @ solution.weights == pytest.approx(np.ones(5))
    assert plain_error(p, 2.0, sets, solution.weights) == pytest.approx(solution.value, rel=1e-9)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_items_of_a_group_need_not_be_alike(epsilon: float) -> None:
    p = law_of(9, 5)
    task = Task(p, epsilon, CLIENTS, exact_counts(p, OPT_IN))
    rough, fine = best_channel(task, groups=4), best_channel(task, groups=9)
    assert rough.bound <= fine.value
    assert fine.bound <= rough.value
    assert 0 <= fine.gap < 2e-3 * fine.value
    assert 0 <= rough.gap < 0.05 * rough.value


@pytest.mark.parametrize(("items", "epsilon"), [(6, 1.0), (12, 2.0), (30, 4.0)])
def test_alike_items_have_subset_selection(items: int, epsilon: float) -> None:
    nobody = 1e-9
    p = np.append(np.full(items, (1 - nobody) / items), nobody)
    solution = best_channel(Task(p, epsilon, CLIENTS, exact_counts(p, 1)), groups=2)
    odds = math.exp(epsilon)
    variances = []
    for size in range(1, items):
        own = size * odds / (size * odds + items - size)
        other = (own * (size - 1) + (1 - own) * size) / (items - 1)
        share = size / items
        variances.append(share * (1 - share) / (CLIENTS * (own - other) ** 2))
    known = NORMAL * items * math.sqrt(min(variances))
    assert solution.value == pytest.approx(known, rel=2e-3)
    assert solution.bound == pytest.approx(known, rel=2e-3)


def test_the_search_finds_the_largest_rate_of_all_sets() -> None:
    items, epsilon = 9, 1.5
    p = law_of(items, 1)
    task = Task(p, epsilon, CLIENTS, exact_counts(p, OPT_IN))
    generator = np.random.default_rng(2)
    for _ in range(5):
        root = generator.normal(size=(items, items))
        root -= root.mean(axis=0)  # like every slope, it gives 0 for a constant
        slope, y = root @ root.T, generator.normal(size=items)
        rows = 1 + math.expm1(epsilon) * all_sets(items)
        chances = rows @ p
        rates = (((rows @ slope) * rows).sum(axis=1) / chances - rows @ y) / chances
        gains = programme._Gains(task, Groups.similar(p, 4), slope, y)
        least = float(np.quantile(rates, 0.98))
        sets, those, reached = gains.sets_above(least)
        assert reached == least
        assert len(sets) == np.count_nonzero(rates > least)
        assert those.max() == pytest.approx(rates.max())


def test_too_many_types_raise_what_is_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    p = law_of(9, 1)
    task = Task(p, 1.0, CLIENTS, exact_counts(p, OPT_IN))
    complete = best_channel(task, groups=4)
    monkeypatch.setattr(programme, "MANY_TYPES", 3)
    hurried = best_channel(task, groups=4)
    assert hurried.value == complete.value
    assert hurried.bound <= complete.bound * (1 + 1e-9)


def test_the_information_of_a_type_is_not_overstated() -> None:
    p = law_of(7, 4)
    task = Task(p, 2.0, CLIENTS, exact_counts(p, OPT_IN))
    groups = Groups(np.array([0, 0, 0, 1, 1, 1, 2]))
    for kind in ([2, 1, 0], [1, 2, 1], [3, 0, 0], [0, 0, 1]):
        sets = np.array([s for s in all_sets(7) if list(groups.sums(s).astype(int)) == kind])
        rows = 1 + task.rise * sets
        lifts = rows[:, :-1] - rows[:, -1:]
        exact = (lifts.T / (rows @ p)) @ lifts / len(sets)
        stated = type_information(task, groups, np.array([kind]))[0]
        spread = np.linalg.eigvalsh(exact - stated)
        assert spread.min() > -1e-9 * np.abs(exact).max()
        assert np.abs(exact - stated).max() < 0.05 * np.abs(exact).max()


def test_more_knowledge_lowers_the_bound_and_no_channel_asks_each_query_of_everybody() -> None:
    p = law_of(9, 6)
    counts = exact_counts(p, OPT_IN)
    plain = best_channel(Task(p, 2.0, CLIENTS, counts), groups=9)
    knowing = best_channel(Task(p, 2.0, CLIENTS, counts + power_law(p, 2.0)), groups=9)
    assert knowing.value < plain.bound
    assert alone(p, 2.0, OPT_IN, CLIENTS) < plain.bound


def test_each_query_alone_at_aol_size() -> None:
    aol = law("aol")
    ranks, _, _ = aol.top_records(50)
    listed = aol.query_probabilities[np.unique(ranks) - 1]
    p = np.append(listed, 1 - listed.sum())
    assert alone(p, 4.0, 25_969, 493_402) == pytest.approx(0.0514, abs=5e-5)


def test_a_short_run_has_every_figure() -> None:
    people = 60_000
    small = RecordLaw(log_of_table(population("aol", people, seed=3).table()))
    shown = limit(small, 4.0, users=people, share=0.05, repeat=3, seed=3, groups=5)
    assert str(shown).count(" | ") == len(HEAD) - 1
    assert len(shown.errors) == 3
    assert shown.exact.bound <= shown.exact.value  # so few groups leave a gap; what each query alone allows lies in it
    assert shown.alone < shown.exact.value
    assert shown.prior.value < shown.exact.value < shown.counts
