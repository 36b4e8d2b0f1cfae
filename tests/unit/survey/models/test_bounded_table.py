"""Bounds from a noisy table of all attributes: they hold the truth, and losses from them hold the true loss."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from blendp.answers import Answers, Attribute, Questionnaire
from blendp.errors import ParameterError
from blendp.privacy import Budget
from blendp.randomness import SimulationRandom
from blendp.survey import BoundedTable, Joint, NoisyTables, Perturbation, Promise, design, learn_table, udldp_loss
from blendp.survey.models.base import margin_of
from blendp.survey.models.bounded_table import MAX_TOGETHER, Bounds


def entangled(sizes: tuple[int, ...], seed: int) -> Joint:
    """A law that is no tree."""
    weights = np.random.default_rng(seed).gamma(0.6, size=sizes) + 0.02
    return Joint(weights / weights.sum())


def people_of(joint: Joint, people: int, seed: int) -> Answers:
    drawn = np.random.default_rng(seed).choice(joint.probabilities.size, size=people, p=joint.probabilities.ravel())
    codes = np.stack(np.unravel_index(drawn, joint.sizes), axis=1)
    names = tuple(Attribute(f"q{j}", tuple(map(str, range(m)))) for j, m in enumerate(joint.sizes))
    return Answers(Questionnaire(names), codes.astype(np.int32))


def known(joint: Joint, people: int) -> BoundedTable:
    """A table of so many people without noise."""
    counts = np.round(joint.probabilities * people).astype(np.int64)
    margins = tuple(Bounds(margin_of(counts.astype(float), (j,)), 0.0, 0.0) for j in range(counts.ndim))
    return BoundedTable(counts, 1e-9, margins, 0.99)


def ones(joint: Joint) -> NDArray[np.bool_]:
    return np.ones(len(joint.sizes), dtype=bool)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 2, 4), (2, 3, 2, 2)])
def test_with_endless_people_and_no_noise_the_loss_is_exact(sizes: tuple[int, ...]) -> None:
    joint = entangled(sizes, 1)
    table = known(joint, 10**13)
    for seed in range(5):
        epsilons = np.random.default_rng(seed).uniform(0, 2, len(sizes)) * (np.arange(len(sizes)) != seed)
        exact = joint.exact_losses(epsilons, ones(joint))
        assert exact is not None
        np.testing.assert_allclose(table.losses(epsilons, ones(joint))[0], exact, atol=2e-4)


def test_it_sees_what_pairs_do_not_show() -> None:
    xor = np.zeros((2, 2, 2))
    for a in (0, 1):
        for b in (0, 1):
            xor[a ^ b, a, b] = 0.25
    losses = known(Joint(xor), 10**13).losses(np.full((1, 3), np.log(4)), np.ones(3, dtype=bool))
    np.testing.assert_allclose(losses, 2.1401, atol=1e-3)


def test_losses_grow_with_every_epsilon_and_stay_within_the_record() -> None:
    joint = entangled((2, 3, 2, 2), 3)
    random = SimulationRandom(1)
    tables = NoisyTables.draw(people_of(joint, 5000, 2), Budget(1, 1e-6), random, "all")
    table = learn_table(tables, 0.99)
    generator = np.random.default_rng(4)
    for _ in range(30):
        low = generator.uniform(0, 1, 4)
        high = low + generator.uniform(0, 1, 4) * (generator.random(4) < 0.5)
        first, second = table.losses(np.stack([low, high]), ones(joint))
        assert (first <= second + 1e-12).all()
        assert (second <= high.sum() + 1e-12).all()


def test_more_attributes_than_are_judged_together_cost_the_record() -> None:
    joint = entangled((2,) * (MAX_TOGETHER + 3), 5)
    table = known(joint, 10**6)
    epsilons = np.array([0.5] * (MAX_TOGETHER + 1) + [0.0, 0.0])
    losses = table.losses(epsilons, ones(joint))[0]
    np.testing.assert_allclose(losses[-2:], epsilons.sum())
    assert (losses[:-2] <= epsilons.sum()).all()


@pytest.mark.statistical
def test_all_bounds_hold_with_the_confidence_and_halved_ones_do_not() -> None:
    joint = entangled((2, 2, 3), 6)
    law = joint.probabilities
    surveys, covered, covered_by_half = 150, 0, 0
    for seed in range(surveys):
        tables = NoisyTables.draw(people_of(joint, 2000, seed), Budget(2, 1e-3), SimulationRandom(seed), "all")
        table = learn_table(tables, 0.5)
        whole, half = True, True
        for i in range(3):
            for size in (1, 2):
                for others in combinations([j for j in range(3) if j != i], size):
                    joined = margin_of(law, (i, *others))
                    truth = joined / joined.sum(axis=tuple(range(1, joined.ndim)), keepdims=True)
                    low, high = table._box(i, others)
                    middle, reach = (low + high) / 2, (high - low) / 2
                    whole &= bool((np.abs(truth - middle) <= reach).all())
                    half &= bool((np.abs(truth - middle) <= reach / 2).all())
        covered += whole
        covered_by_half += half
    assert covered >= 0.5 * surveys  # far more, as the bounds are added up and rounded to the safe side
    assert covered_by_half < 0.5 * surveys


@pytest.mark.statistical
def test_designs_keep_the_promise_under_the_true_law_without_any_shape() -> None:
    joint = entangled((2, 2, 2, 2), 7)
    for seed in range(6):
        tables = NoisyTables.draw(people_of(joint, 20_000, seed), Budget(1, 1e-6), SimulationRandom(seed), "all")
        chosen = design(learn_table(tables, 0.99), 10_000, Promise(1.0), frequencies=tables.frequencies)
        for group in chosen.groups:
            epsilons = np.zeros(4)
            epsilons[list(group.attributes)] = group.epsilons
            assert udldp_loss(joint, Perturbation(tuple(epsilons), joint.sizes)).worst <= 1


def test_tables_of_the_wrong_kind_are_refused() -> None:
    tables = NoisyTables.draw(people_of(entangled((2, 2), 1), 100, 1), Budget(1, 1e-6), SimulationRandom(1), "pairs")
    with pytest.raises(ParameterError, match="one of all attributes"):
        learn_table(tables, 0.99)
