"""CBP: the epsilons of a group, as strong as the promise allows and never stronger."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.survey import AnyLaw, Clusters, Design, Joint, Model, Promise, Tree, design
from blendp.survey.choose import Chooser
from blendp.survey.errors_of_reports import ReportErrors
from tests.unit.survey import brute_force
from tests.unit.survey.brute_force import RandomTree
from tests.unit.survey.test_guarantee import boxes_around

ROUNDING = 1e-9


def chooser(model: Model, epsilon: float, record: float | None = None, single: bool = True) -> Chooser:
    errors = ReportErrors(model.sizes)
    return Chooser(model, Promise(epsilon, record), errors, np.full(len(model.sizes), single))


def everything(model: Model) -> NDArray[np.bool_]:
    return np.full((1, len(model.sizes)), True)


def worst(joint: Array, epsilons: Array, single: bool = True) -> float:
    """What these reports reveal, summed over all records and reports; not single: by the subsets that are sent."""
    channels = []
    for epsilon, m in zip(epsilons.tolist(), joint.shape, strict=True):
        width = 1 if single or not epsilon else brute_force.best_width(epsilon, m)
        channels.append(brute_force.subset_channel(epsilon, m, width))
    return max(brute_force.losses(joint, channels))


def error(epsilons: Array, sizes: tuple[int, ...]) -> float:
    """The sum of the noise of k-ary randomised response and of drawing people with equally frequent values."""
    total = 0.0
    for epsilon, m in zip(epsilons.tolist(), sizes, strict=True):
        if epsilon:
            p = np.exp(epsilon) / (np.exp(epsilon) + m - 1)
            q = (1 - p) / (m - 1)
            total += (p * (1 - p) + (m - 1) * q * (1 - q)) / (m * (p - q) ** 2) + (1 - 1 / m) / m
    return total


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("attributes", [1, 2, 4, 7])
def test_independent_attributes_get_the_full_epsilon_each(epsilon: float, attributes: int) -> None:
    models: list[Model] = [
        Joint.independent(*([0.3, 0.7] for _ in range(attributes))),
        Tree.equicorrelated(attributes, 0.0),
        Tree((2,) * attributes, ()),
    ]
    for model in models:
        epsilons = chooser(model, epsilon).alike(everything(model))[0]
        assert epsilons == pytest.approx(np.full(attributes, epsilon), abs=1e-6)
        assert epsilons.max() <= epsilon


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("attributes", [1, 2, 4, 7])
def test_identical_attributes_share_epsilon(epsilon: float, attributes: int) -> None:
    same = np.zeros((2,) * attributes)
    same[(0,) * attributes], same[(1,) * attributes] = 0.4, 0.6
    for model in (Joint(same), Tree.equicorrelated(attributes, 1.0), AnyLaw((2,) * attributes)):
        epsilons = chooser(model, epsilon).alike(everything(model))[0]
        assert epsilons == pytest.approx(np.full(attributes, epsilon / attributes), abs=1e-6)
        assert epsilons.sum() <= epsilon


@pytest.mark.parametrize(
    ("correlation", "epsilon"), [(0.0, 1.0), (0.09, 0.80), (0.36, 0.49), (0.81, 0.29), (1.0, 0.25)]
)
def test_four_equicorrelated_attributes_get_the_epsilons_of_the_specification(
    correlation: float, epsilon: float
) -> None:
    for model in (Tree.equicorrelated(4, correlation), Joint(brute_force.equicorrelated(4, correlation))):
        assert chooser(model, 1.0).alike(everything(model))[0] == pytest.approx(np.full(4, epsilon), abs=0.005)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("correlation", [0.04, 0.25, 0.64])
@pytest.mark.parametrize(("attributes", "values"), [(2, 2), (4, 2), (3, 3), (2, 4)])
def test_equicorrelated_attributes_keep_the_promise_and_use_all_of_it(
    epsilon: float, correlation: float, attributes: int, values: int
) -> None:
    joint = brute_force.equicorrelated(attributes, correlation, values)
    for model in (Tree.equicorrelated(attributes, correlation, values), Joint(joint)):
        choice = chooser(model, epsilon)
        alike = choice.alike(everything(model))[0]
        sharp = choice.sharpened(alike)
        for epsilons in (alike, sharp, choice.tailored(alike)):
            assert worst(joint, epsilons) <= epsilon
        assert (sharp >= alike).all()
        assert worst(joint, sharp) == pytest.approx(epsilon, abs=1e-4)
        assert len(set(alike.tolist())) == 1


@settings(max_examples=16)
@given(
    sizes=st.sampled_from([(2, 2), (3, 2), (2, 2, 2), (2, 3, 2), (3, 4), (2, 2, 2, 2)]),
    epsilon=st.sampled_from([0.2, 1.0, 2.5]),
    kind=st.sampled_from(["table", "tree", "cluster"]),
    single=st.booleans(),
    seed=st.integers(0, 1 << 32),
)
def test_every_choice_keeps_the_promise(
    sizes: tuple[int, ...], epsilon: float, kind: str, single: bool, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    tree = RandomTree.draw(sizes, generator, float(generator.choice([0.3, 1.0, 5.0])))
    joint = brute_force.random_joint(sizes, generator) if kind == "table" else tree.joint()
    models: dict[str, Model] = {
        "table": Joint(joint),
        "tree": Tree.of_tables(sizes, tree.tables),
        "cluster": Clusters(((tuple(range(len(sizes))), Joint(joint)),)),
    }
    choice = chooser(models[kind], epsilon, single=single)
    mask = generator.random(len(sizes)) < 0.8
    mask[int(generator.integers(len(sizes)))] = True
    alike = choice.alike(mask[None])[0]
    tailored = choice.tailored(alike)
    assert ((alike > 0) == mask).all()
    assert ((tailored > 0) == mask).all()
    assert choice.error(tailored[None])[0] <= choice.error(alike[None])[0] * (1 + 1e-12)
    for epsilons in (alike, tailored, choice.sharpened(alike), choice.sharpened(tailored)):
        assert worst(joint, epsilons, single) <= epsilon
        assert epsilons.max() <= epsilon
    if single:
        assert error(tailored, sizes) <= error(alike, sizes) * (1 + 1e-9)


def test_tailoring_pays_where_attributes_differ() -> None:
    """A tight pair and a stranger: the pair shares epsilon, the stranger may have all of it."""
    joint = np.multiply.outer(Joint.of_pair(0.5, 0.5, 0.95).probabilities, np.array([0.5, 0.5]))
    choice = chooser(Joint(joint), 1.0)
    alike = choice.alike(everything(choice.model))[0]
    tailored = choice.tailored(alike)
    assert tailored[2] == pytest.approx(1.0, abs=1e-6)
    assert error(tailored, (2, 2, 2)) < 0.9 * error(alike, (2, 2, 2))
    assert worst(joint, tailored) <= 1.0


def test_tailoring_is_near_the_best_of_a_fine_grid() -> None:
    joint = brute_force.random_joint((2, 3), np.random.default_rng(2))
    choice = chooser(Joint(joint), 1.0)
    tailored = choice.tailored(choice.alike(everything(choice.model))[0])
    grid = np.linspace(0.02, 1.0, 50)
    rows = np.array([(a, b) for a in grid for b in grid])
    kept = choice.model.losses(rows, np.full(2, True)).max(axis=1) <= 1
    best = min(error(row, (2, 3)) for row in rows[kept])
    assert error(tailored, (2, 3)) <= best * 1.01


@pytest.mark.parametrize("record", [1.0, 1.3, 2.0])
def test_the_record_is_never_told_more_than_its_cap(record: float) -> None:
    models: list[Model] = [Tree.equicorrelated(4, 0.1), Joint(brute_force.equicorrelated(3, 0.1)), Tree((2, 3, 2), ())]
    for model in models:
        chosen = chooser(model, 1.0, record)
        alike = chosen.alike(everything(model))[0]
        for epsilons in (
            alike,
            chosen.tailored(alike),
            chosen.sharpened(alike),
            chosen.sharpened(chosen.tailored(alike)),
        ):
            assert epsilons.sum() <= record
            assert epsilons.sum() == pytest.approx(record, abs=1e-4)
        for method in ("cbps", "cbp", "rsfd", "split", "sample") if record == 1.3 else ("rsfd",):
            assert design(model, 1000, Promise(1.0, record), method=method).losses.record <= record


def recomputed(design: Design, joint: Array) -> float:
    """The largest loss over groups, from the channels that the randomisers themselves state."""
    largest = 0.0
    for group in design.groups:
        channels = [brute_force.single_channel(0, m) for m in joint.shape]
        for attribute, randomiser in zip(group.attributes, group.randomisers, strict=True):
            channels[attribute] = randomiser.channel().tolist()
        largest = max(largest, *brute_force.losses(joint, channels))
    return largest


@pytest.mark.parametrize("method", ["cbps", "cbp", "split", "sample"])
@pytest.mark.parametrize("per_attribute", [True, False])
@pytest.mark.parametrize(
    ("epsilon", "sizes", "spread"),
    [(0.5, (3, 2, 4), 3.0), (1.0, (2, 2, 2), 0.3), (1.0, (2, 3), 3.0), (3.0, (2,) * 4, 3.0)],
)
def test_every_design_keeps_the_promise_by_the_channels_of_its_randomisers(
    method: str, per_attribute: bool, epsilon: float, sizes: tuple[int, ...], spread: float
) -> None:
    generator = np.random.default_rng(3)
    tree, joint = RandomTree.draw(sizes, generator, spread), brute_force.random_joint(sizes, generator)
    cases: list[tuple[Model, Array]] = [
        (Joint(joint), joint),
        (Tree.of_tables(sizes, tree.tables), tree.joint()),
        (AnyLaw(sizes), joint),
    ]
    for model, law in cases:
        chosen = design(model, 1000, Promise(epsilon), method=method, per_attribute=per_attribute)
        truth = recomputed(chosen, law)
        assert truth <= epsilon * (1 + 1e-14)
        assert truth <= chosen.losses.worst + ROUNDING
        assert chosen.losses.worst <= epsilon
        assert chosen.clients == 1000
        assert sorted(a for group in chosen.groups for a in group.attributes) == list(range(len(sizes)))
        if chosen.losses.kind == "exact" and not isinstance(model, AnyLaw):
            assert truth == pytest.approx(chosen.losses.worst, abs=1e-7)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("sizes", [(2, 2), (3, 2, 2), (2, 4, 3)])
def test_the_inner_epsilon_of_hidden_sampling_keeps_the_promise_and_uses_all_of_it(
    epsilon: float, sizes: tuple[int, ...]
) -> None:
    generator = np.random.default_rng(4)
    for spread in (0.3, 3.0):
        tree, joint = RandomTree.draw(sizes, generator, spread), brute_force.random_joint(sizes, generator)
        cases: list[tuple[Model, Array]] = [
            (Joint(joint), joint),
            (Tree.of_tables(sizes, tree.tables), tree.joint()),
            (Tree.equicorrelated(len(sizes), 0.3, 3), brute_force.equicorrelated(len(sizes), 0.3, 3)),
        ]
        for model, law in cases:
            chosen = design(model, 1000, Promise(epsilon), method="rsfd")
            assert chosen.hidden is not None
            assert chosen.losses.kind == "exact"
            truth = brute_force.hidden_losses(law, chosen.hidden.inner)
            assert max(truth) <= epsilon
            assert chosen.losses.by_attribute == pytest.approx(truth, abs=1e-7)
            assert chosen.hidden.inner == 12 or max(truth) == pytest.approx(epsilon, abs=1e-6)
            assert chosen.losses.record == pytest.approx(chosen.hidden.inner, abs=1e-6)


def test_hidden_sampling_of_bounded_laws_keeps_the_promise_for_all_of_them() -> None:
    generator = np.random.default_rng(5)
    base = RandomTree.draw((2, 3, 2), generator)
    inside = [base, *(base.shaken(0.2, generator) for _ in range(5))]
    chosen = design(boxes_around(inside), 1000, Promise(1.0), method="rsfd")
    assert chosen.hidden is not None
    assert chosen.losses.kind == "at most"
    for tree in inside:
        truth = brute_force.hidden_losses(tree.joint(), chosen.hidden.inner)
        assert (np.array(truth) <= np.array(chosen.losses.by_attribute) + ROUNDING).all()
        assert max(truth) <= 1.0


def test_hidden_sampling_without_a_model_is_that_of_the_record() -> None:
    chosen = design(AnyLaw((2, 3)), 100, Promise(1.0), method="rsfd")
    assert chosen.hidden is not None
    assert chosen.hidden.inner == pytest.approx(1.0, abs=1e-8)
    assert chosen.losses.record <= 1.0


@pytest.mark.parametrize("model", [Clusters((((0,), Joint(np.full(2, 0.5))), ((1,), Joint(np.full(2, 0.5)))))])
def test_what_hidden_sampling_reveals_of_clusters_is_called_exact_only_if_it_is(model: Model) -> None:
    chosen = design(model, 100, Promise(1.0), method="rsfd")
    assert chosen.hidden is not None
    truth = max(brute_force.hidden_losses(np.full((2, 2), 0.25), chosen.hidden.inner))
    assert chosen.losses.kind != "exact" or chosen.losses.worst == pytest.approx(truth, abs=1e-7)


@pytest.mark.parametrize("method", ["sample", "cbps", "split"])
def test_attributes_of_twenty_values_can_be_asked_about_under_a_table(method: str) -> None:
    chosen = design(Joint(np.full((20, 2), 1 / 40)), 1000, Promise(1.0), method=method)
    assert chosen.losses.worst <= 1.0
