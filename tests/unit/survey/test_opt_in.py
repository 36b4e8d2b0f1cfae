"""The opt-in group: noise that keeps the budget, frequencies, what is learnt, and bounds that hold the truth."""

import math
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from blendp.answers import Answers, Attribute, Questionnaire
from blendp.arrays import Array
from blendp.errors import ParameterError
from blendp.privacy import Budget
from blendp.privacy.gaussian import gaussian_delta, gaussian_mu
from blendp.randomness import SimulationRandom
from blendp.survey import (
    BoundedTable,
    Misfit,
    NoisyTables,
    Perturbation,
    Tree,
    learn_pairs,
    learn_table,
    learn_tree,
    udldp_loss,
)
from blendp.survey.models.bounded_table import Bounds
from tests.support import KnownKey
from tests.unit.survey import brute_force
from tests.unit.survey.brute_force import RandomTree
from tests.unit.survey.test_guarantee import true_losses, xor


def answers_of(codes: NDArray[np.int64], sizes: tuple[int, ...]) -> Answers:
    questions = tuple(Attribute(f"q{j}", tuple(f"v{v}" for v in range(m))) for j, m in enumerate(sizes))
    return Answers(Questionnaire(questions), codes.astype(np.int32))


def drawn(joint: Array, people: int, generator: np.random.Generator) -> Answers:
    cells = generator.choice(joint.size, people, p=joint.ravel())
    return answers_of(np.stack(np.unravel_index(cells, joint.shape), axis=1), joint.shape)


def stacked(answers: Answers, axes: tuple[tuple[int, ...], ...]) -> Array:
    """All tables one after the other, counted person by person."""
    tables = []
    for each in axes:
        table = np.zeros([answers.sizes[j] for j in each])
        for row in answers.codes.tolist():
            table[tuple(row[j] for j in each)] += 1
        tables.append(table.ravel())
    return np.concatenate(tables)


def delta_of(mu: float, epsilon: float) -> float:
    """Of two normal laws of distance mu, by Balle and Wang's formula."""
    tail = stats.norm.sf
    return float(tail(epsilon / mu - mu / 2) - math.exp(epsilon) * tail(epsilon / mu + mu / 2))


@pytest.mark.parametrize("kind", ["single", "pairs", "all"])
@pytest.mark.parametrize("sizes", [(2, 2), (2, 3, 4), (2,) * 6])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1.0, 1e-5), (4.0, 1e-8)])
def test_the_noise_keeps_the_budget_for_a_person_who_changes_every_answer(
    sizes: tuple[int, ...], epsilon: float, delta: float, kind: str
) -> None:
    """And not with a thousandth less noise."""
    codes = np.zeros((9, len(sizes)), dtype=np.int64)
    other = codes.copy()
    other[4] = 1
    first, second = answers_of(codes, sizes), answers_of(other, sizes)
    tables = NoisyTables.draw(first, Budget(epsilon, delta), SimulationRandom(1), kind)
    assert tables.axes == axes_of(kind, len(sizes))
    moved = stacked(first, tables.axes) - stacked(second, tables.axes)
    assert len(moved) == sum(map(np.size, tables.counts))
    if kind == "pairs":
        assert float(np.linalg.norm(moved)) == pytest.approx(math.sqrt(len(sizes) * (len(sizes) - 1)))
    sigmas = np.concatenate(
        [np.full(table.size, float(sigma)) for table, sigma in zip(tables.counts, tables.sigmas, strict=True)]
    )
    mu = float(np.linalg.norm(moved / sigmas))
    assert mu == pytest.approx(gaussian_mu(epsilon, delta), rel=1e-4)
    assert gaussian_delta(mu, epsilon) <= delta
    assert delta_of(mu, epsilon) <= delta
    assert delta_of(mu / 0.999, epsilon) > delta


def axes_of(kind: str, attributes: int) -> tuple[tuple[int, ...], ...]:
    single: list[tuple[int, ...]] = [(j,) for j in range(attributes)]
    if kind == "pairs":
        return tuple(combinations(range(attributes), 2))
    return tuple(single) if kind == "single" else (*single, tuple(range(attributes)))


@settings(max_examples=60)
@given(sizes=st.lists(st.integers(2, 4), min_size=2, max_size=5).map(tuple), people=st.integers(1, 6), data=st.data())
def test_no_person_moves_a_table_further(sizes: tuple[int, ...], people: int, data: st.DataObject) -> None:
    def one() -> list[int]:
        return [data.draw(st.integers(0, m - 1)) for m in sizes]

    rows = np.array([one() for _ in range(people)])
    changed = rows.copy()
    changed[data.draw(st.integers(0, people - 1))] = one()
    pairs = axes_of("pairs", len(sizes))
    for axes, max_cells in [(pairs, len(pairs)), *(((each,), 1) for each in axes_of("all", len(sizes)))]:
        moved = stacked(answers_of(rows, sizes), axes) - stacked(answers_of(changed, sizes), axes)
        assert np.linalg.norm(moved) <= math.sqrt(2 * max_cells) + 1e-12


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["single", "pairs", "all"])
def test_the_noise_is_drawn_with_the_stated_deviation(kind: str) -> None:
    """With enough draws to tell it from a fifth less and a quarter more; rounding adds 1/12."""
    sizes, random = (2, 3, 4), KnownKey(2)
    people = answers_of(np.arange(60)[:, None] % np.array(sizes), sizes)
    noise = []
    for _ in range(80):
        tables = NoisyTables.draw(people, Budget(1.0, 1e-5), random, kind)
        noise.append(np.concatenate([table.ravel() for table in tables.counts]) - stacked(people, tables.axes))
    sigmas = [np.full(table.size, float(sigma)) for table, sigma in zip(tables.counts, tables.sigmas, strict=True)]
    deviation, matrix = np.concatenate(sigmas), np.array(noise)

    def chance(scale: float) -> float:
        statistic = (matrix**2 / ((scale * deviation) ** 2 + 1 / 12)).sum()
        return float(2 * min(stats.chi2.sf(statistic, matrix.size), stats.chi2.cdf(statistic, matrix.size)))

    assert chance(1.0) > 1e-4
    assert chance(0.8) < 1e-9
    assert chance(1.25) < 1e-9
    assert abs((matrix / deviation).mean()) < 4.5 / math.sqrt(matrix.size)
    correlations = np.asarray(np.corrcoef(matrix.T))[np.triu_indices(matrix.shape[1], 1)]
    assert np.abs(correlations).max() < 5.5 / math.sqrt(len(matrix))


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["single", "pairs", "all"])
def test_margins_are_unbiased_with_the_stated_variance(kind: str) -> None:
    sizes, random, runs = (4, 5, 6), KnownKey(3), 600
    people = answers_of(np.arange(90)[:, None] ** 2 % np.array(sizes), sizes)
    draws = [NoisyTables.draw(people, Budget(2.0, 1e-4), random, kind) for _ in range(runs)]
    for j, size in enumerate(sizes):
        counts = np.array([tables.margins[j].counts for tables in draws])
        variance = draws[0].margins[j].deviation ** 2
        precision = 0.0
        for axes, sigma in zip(draws[0].axes, draws[0].sigmas, strict=True):
            if j in axes:
                precision += 1 / (math.prod(sizes[k] for k in axes if k != j) * (float(sigma) ** 2 + 1 / 12))
        assert variance == pytest.approx(1 / precision, rel=1e-9)
        truth = [int((people.codes[:, j] == v).sum()) for v in range(size)]
        assert np.abs(counts.mean(axis=0) - truth).max() < 4.5 * math.sqrt(variance / runs)
        assert (counts.var(axis=0) / variance).mean() == pytest.approx(1, abs=4.5 * math.sqrt(2 / (runs * size)))
        assert draws[0].frequencies[j] == pytest.approx(counts[0] / 90)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["single", "pairs", "all"])
def test_the_variances_of_the_level_hold_over_people_who_are_drawn(kind: str) -> None:
    """Both parts count: neither noise alone nor drawing alone would do."""
    generator, random, runs, people = np.random.default_rng(4), KnownKey(4), 600, 400
    joint = RandomTree.draw((4, 5), generator, 5.0).joint()
    truth = np.concatenate([joint.sum(axis=1), joint.sum(axis=0)])
    levels = [
        NoisyTables.draw(drawn(joint, people, generator), Budget(1.0, 1e-3), random, kind).level() for _ in range(runs)
    ]
    estimates = np.array([level.probability for level in levels])
    stated = levels[0].floor + truth * (1 - truth) / people
    assert np.abs((estimates.mean(axis=0) - truth) / np.sqrt(stated / runs)).max() < 4.5
    ratio = estimates.var(axis=0) / stated
    assert np.abs(ratio - 1).max() < 4.5 * math.sqrt(2 / runs)
    assert np.mean([level.variance for level in levels], axis=0) == pytest.approx(stated, rel=0.03)
    for part in (levels[0].floor, truth * (1 - truth) / people):
        assert np.abs(estimates.var(axis=0) / part - 1).max() > 9 * math.sqrt(2 / runs)


def strong_tree() -> RandomTree:
    """0 - 2 - 1 and 2 - 3, each neighbour the same with probability .85."""
    near = np.array([[0.85, 0.15], [0.15, 0.85]])
    return RandomTree((2,) * 4, [2, 0, 1, 3], {0: 2, 1: 2, 3: 2}, np.array([0.5, 0.5]), {0: near, 1: near, 3: near})


def test_the_true_tree_is_learnt_from_strong_data() -> None:
    generator = np.random.default_rng(5)
    for seed in range(10):
        tables = NoisyTables.draw(
            drawn(strong_tree().joint(), 5000, generator), Budget(1.0, 1e-6), SimulationRandom(seed), "pairs"
        )
        tree, misfit = learn_tree(tables, 0.99)
        assert {(edge.first, edge.second) for edge in tree.edges} == {(0, 2), (1, 2), (2, 3)}
        assert misfit.share < 0.01
        assert not tree.known


def apart(learnt: Tree, truth: dict[tuple[int, int], Array]) -> float:
    """How far the true conditional probabilities are from the middle of their boxes, at most, in half widths."""
    worst = 0.0
    for edge in learnt.edges:
        for i, j in ((edge.first, edge.second), (edge.second, edge.first)):
            box = edge.toward(i)
            worst = max(worst, float((np.abs(2 * truth[i, j] - box.low - box.high) / (box.high - box.low)).max()))
    return worst


def conditionals(joint: Array) -> dict[tuple[int, int], Array]:
    return {(i, j): brute_force.pair(joint, i, j) for i, j in permutations(range(joint.ndim), 2)}


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("epsilon", "delta", "shrunk"), [(10.0, 1e-2, 0.5), (1.0, 1e-5, 0.25)], ids=["drawing", "noise"]
)
def test_boxes_hold_the_truth_as_often_as_promised(epsilon: float, delta: float, shrunk: float) -> None:
    """Whether drawing people or noise decides; narrower boxes do not."""
    generator, random, joint = np.random.default_rng(6), KnownKey(6), strong_tree().joint()
    truth, reached = conditionals(joint), []
    for _ in range(150):
        tables = NoisyTables.draw(drawn(joint, 1500, generator), Budget(epsilon, delta), random, "pairs")
        reached.append(apart(learn_tree(tables, 0.5)[0], truth))
    assert np.mean(np.array(reached) <= 1) >= 0.5 + 3 * 0.041
    assert np.mean(np.array(reached) <= shrunk) < 0.5 - 3 * 0.041


@pytest.mark.statistical
def test_boxes_of_many_values_hold_the_truth_too() -> None:
    generator, random = np.random.default_rng(7), KnownKey(7)
    joint = RandomTree.draw((2, 3, 4), generator, 3.0).joint()
    truth, reached = conditionals(joint), []
    for _ in range(100):
        tables = NoisyTables.draw(drawn(joint, 3000, generator), Budget(2.0, 1e-4), random, "pairs")
        reached.append(apart(learn_tree(tables, 0.5)[0], truth))
    assert np.mean(np.array(reached) <= 1) >= 0.5 + 3 * 0.05


def test_more_confidence_gives_wider_boxes() -> None:
    tables = NoisyTables.draw(
        drawn(strong_tree().joint(), 4000, np.random.default_rng(8)), Budget(1.0, 1e-6), SimulationRandom(8), "pairs"
    )
    trees = [learn_tree(tables, confidence)[0] for confidence in (0.5, 0.9, 0.999)]
    for less, more in pairwise(trees):
        for a, b in zip(less.edges, more.edges, strict=True):
            for end in (a.first, a.second):
                assert (b.toward(end).low <= a.toward(end).low).all()
                assert (b.toward(end).high >= a.toward(end).high).all()


def test_a_tree_fits_what_is_one_and_no_loop() -> None:
    """Three attributes with one hidden cause are as much a triangle as can be."""
    generator = np.random.default_rng(9)
    for seed, (joint, fits) in enumerate(
        [
            (strong_tree().joint(), True),
            (brute_force.equicorrelated(3, 0.5), False),
            (brute_force.equicorrelated(4, 0.4), False),
        ]
    ):
        tables = NoisyTables.draw(drawn(joint, 50_000, generator), Budget(1.0, 1e-6), SimulationRandom(seed), "pairs")
        misfit = learn_tree(tables, 0.99)[1]
        assert misfit.share < 0.003 if fits else misfit.share > 0.03
        assert fits or misfit.pair is not None


def test_the_misfit_of_a_triangle_is_the_distance_of_its_missing_side() -> None:
    joint = brute_force.equicorrelated(3, 0.5)
    tables = NoisyTables.draw(
        drawn(joint, 400_000, np.random.default_rng(10)), Budget(4.0, 1e-3), SimulationRandom(1), "pairs"
    )
    # of two attributes, 3/8 + 3/8 agree at correlation .5, 5/16 + 5/16 at .25, which the path gives
    assert learn_tree(tables, 0.99)[1].share == pytest.approx(0.125, abs=0.01)


def test_tables_of_pairs_cannot_show_an_exclusive_or() -> None:
    """A limit of the method, not a promise: every two of the three attributes are independent."""
    tables = NoisyTables.draw(
        drawn(xor(), 50_000, np.random.default_rng(11)), Budget(1.0, 1e-6), SimulationRandom(1), "pairs"
    )
    assert learn_tree(tables, 0.99)[1].share < 0.003


def test_without_tables_of_pairs_nothing_is_learnt() -> None:
    one = drawn(np.array([0.3, 0.7]), 50, np.random.default_rng(12))
    tables = NoisyTables.draw(one, Budget(1.0, 1e-6), SimulationRandom(1), "pairs")
    tree, misfit = learn_tree(tables, 0.9)
    assert tree.edges == ()
    assert misfit == Misfit(0.0, None)
    two = NoisyTables.draw(
        drawn(np.full((2, 2), 0.25), 50, np.random.default_rng(12)), Budget(1.0, 1e-6), SimulationRandom(1), "single"
    )
    with pytest.raises(ParameterError, match=r"tables = 'single' .* tables of pairs"):
        learn_tree(two, 0.9)
    with pytest.raises(ParameterError, match=r"tables = 'single' .* one of all attributes"):
        learn_table(two, 0.9)


@pytest.mark.parametrize("confidence", [0.0, 0.4, 1.0, -1.0, math.nan])
def test_impossible_confidences_are_refused(confidence: float) -> None:
    one = drawn(np.array([0.3, 0.7]), 50, np.random.default_rng(12))
    with pytest.raises(ParameterError, match="confidence"):
        learn_tree(NoisyTables.draw(one, Budget(1.0, 1e-6), SimulationRandom(1), "pairs"), confidence)


def test_nobody_has_no_tables() -> None:
    nobody = answers_of(np.empty((0, 2), dtype=np.int64), (2, 2))
    with pytest.raises(ParameterError, match="opt-in people = 0"):
        NoisyTables.draw(nobody, Budget(1.0, 1e-6), SimulationRandom(1), "pairs")


def test_a_tree_is_learnt_from_one_person_without_a_warning() -> None:
    one = answers_of(np.zeros((1, 3), dtype=np.int64), (2, 2, 2))
    for seed in range(20):
        tables = NoisyTables.draw(one, Budget(0.1, 1e-6), SimulationRandom(seed), "pairs")
        assert math.isfinite(learn_tree(tables, 0.9)[1].share)


def test_impossible_kinds_of_tables_are_refused() -> None:
    one = drawn(np.array([0.3, 0.7]), 50, np.random.default_rng(12))
    with pytest.raises(ParameterError, match=r"kind = 'triples' .* one of single, pairs, all"):
        NoisyTables.draw(one, Budget(1.0, 1e-6), SimulationRandom(1), "triples")


def sure_table(joint: Array, people: int, confidence: float = 0.99) -> BoundedTable:
    """Of people who are exactly as the law says, with next to no noise."""
    sizes, counts = joint.shape, np.round(people * joint).astype(np.int64)
    margins = []
    for j in range(len(sizes)):
        sums = np.moveaxis(counts, j, 0).reshape(sizes[j], -1).sum(axis=1).astype(np.float64)
        margins.append(Bounds(sums, 0.1, 0.5))
    return BoundedTable(counts, 0.1, tuple(margins), confidence)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (2, 2, 2), (3, 2, 3), (2, 2, 2, 2)])
def test_a_table_bounds_the_truth_and_comes_near_it_with_many_people(sizes: tuple[int, ...]) -> None:
    generator = np.random.default_rng(13)
    for _ in range(6):
        joint = brute_force.random_joint(sizes, generator) * 0.9 + 0.1 / math.prod(sizes)
        epsilons = tuple(generator.uniform(0.2, 1.5, len(sizes)).tolist())
        truth = np.array(true_losses(joint, epsilons))
        for people, near in ((10_000, math.inf), (10**9, 0.05)):
            losses = udldp_loss(sure_table(joint, people), Perturbation(epsilons, sizes))
            assert losses.kind == "at most"
            assert (np.array(losses.by_attribute) >= truth - 1e-6).all()
            assert (np.array(losses.by_attribute) <= truth + near).all()
            assert losses.worst <= losses.record * (1 + 1e-12)


def test_a_table_sees_the_exclusive_or_that_a_tree_does_not() -> None:
    generator, perturbation = np.random.default_rng(14), Perturbation.of_truth([0.8] * 3)
    people = drawn(xor(), 200_000, generator)
    tables = {kind: NoisyTables.draw(people, Budget(1.0, 1e-6), KnownKey(14), kind) for kind in ("pairs", "all")}
    table = udldp_loss(learn_table(tables["all"], 0.99), perturbation)
    tree = udldp_loss(learn_tree(tables["pairs"], 0.99)[0], perturbation)
    truth = np.array(true_losses(xor(), perturbation.epsilons))
    assert (np.array(table.by_attribute) >= truth).all()
    assert (np.array(table.by_attribute) <= truth + 0.25).all()
    assert tree.worst < truth.min() - 0.4


def test_a_table_tells_nothing_about_more_than_eight_attributes_together() -> None:
    model = sure_table(np.full((2,) * 9, 2.0**-9), 10**9)
    assert udldp_loss(model, Perturbation((0.1,) * 9, (2,) * 9)).by_attribute == pytest.approx((0.9,) * 9)
    eight = udldp_loss(model, Perturbation((0.1,) * 8 + (0.0,), (2,) * 9)).by_attribute
    assert eight[:8] == pytest.approx((0.1,) * 8, abs=0.01)
    assert eight[8] == pytest.approx(0.8)


def test_bounds_of_pairs_are_those_of_the_tree_without_a_tree() -> None:
    codes = np.random.default_rng(1).integers(0, 2, (5000, 3))
    codes[:, 1] = np.where(np.random.default_rng(2).random(5000) < 0.8, codes[:, 0], codes[:, 1])
    tables = NoisyTables.draw(answers_of(codes, (2, 2, 2)), Budget(1, 1e-6), SimulationRandom(1), "pairs")
    tree, pairs = learn_tree(tables, 0.9)[0], learn_pairs(tables, 0.9)
    assert set(pairs.boxes) == {(i, j) for i in range(3) for j in range(3) if i != j}
    for edge in tree.edges:
        np.testing.assert_array_equal(pairs.boxes[edge.first, edge.second].low, edge.second_given_first.low)
        np.testing.assert_array_equal(pairs.boxes[edge.second, edge.first].high, edge.first_given_second.high)
    assert pairs.losses(np.array([0.3, 0.0, 0.4]), np.ones(3, dtype=bool))[0] == pytest.approx([0.7] * 3)


def test_a_table_bounds_reports_by_subsets_too_if_it_is_asked() -> None:
    joint = np.array([[0.22, 0.22, 0.03, 0.03], [0.03, 0.03, 0.22, 0.22]])
    truth = brute_force.losses(joint, [brute_force.single_channel(0, 2), brute_force.subset_channel(1.0, 4, 2)])
    losses = udldp_loss(sure_table(joint, 10**9), Perturbation((0.0, 1.0), (2, 4), single=False))
    assert losses.by_attribute[0] >= truth[0]
