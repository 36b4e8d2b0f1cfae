"""Clients and whole surveys: what is sent, unbiased frequencies, stated errors, intervals, refusals and cautions."""

import math
from dataclasses import replace
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray

from blendp.answers import Answers, Attribute, Questionnaire
from blendp.arrays import Array
from blendp.errors import ParameterError, RandomnessError
from blendp.lots import Lots
from blendp.randomness import ReleaseRandom, SimulationRandom
from blendp.survey import (
    AnyLaw,
    BoundedPairs,
    BoundedTable,
    Design,
    Joint,
    Model,
    Promise,
    SurveyParameters,
    SurveyRelease,
    SurveySimulation,
    Tree,
    client_level,
    collect,
    design,
    respond,
    run_survey,
    simulate_survey,
)
from blendp.survey.clients import collect_counted
from blendp.survey.synthetic import draw_answers
from tests.support import KnownKey, goodness
from tests.unit.survey import brute_force
from tests.unit.survey.brute_force import RandomTree
from tests.unit.survey.test_opt_in import answers_of, drawn

SIZES = (2, 3, 4)


def law(sizes: tuple[int, ...] = SIZES, seed: int = 1) -> RandomTree:
    return RandomTree.draw(sizes, np.random.default_rng(seed), 3.0)


def margins(joint: Array) -> list[Array]:
    return [np.moveaxis(joint, j, 0).reshape(size, -1).sum(axis=1) for j, size in enumerate(joint.shape)]


@cache
def designs(sizes: tuple[int, ...], clients: int, epsilon: float) -> dict[str, Design]:
    """One of every kind: with groups, with subsets, with everything together, and with invented answers."""
    tree = law(sizes)
    model, promise = Tree.of_tables(sizes, tree.tables), Promise(epsilon)
    return {
        "groups": design(model, clients, promise, group=2),
        "together": design(model, clients, promise, method="cbp"),
        "split": design(AnyLaw(sizes), clients, promise, method="split"),
        "sample": design(AnyLaw(sizes), clients, promise, method="sample"),
        "rsfd": design(model, clients, promise, method="rsfd"),
    }


@pytest.mark.parametrize("kind", ["groups", "together", "split", "sample", "rsfd"])
def test_reports_name_as_many_values_as_there_are_clients_to_name_them(kind: str) -> None:
    chosen = designs(SIZES, 500, 1.0)[kind]
    people = drawn(law().joint(), 500, np.random.default_rng(1))
    supports = collect(chosen, people.codes, SimulationRandom(1))
    assert [len(each) for each in supports] == list(SIZES)
    assert sum(group.clients for group in chosen.groups) == 500
    for group in chosen.groups:
        for attribute, randomiser in zip(group.attributes, group.randomisers, strict=True):
            named = 1 if chosen.hidden is not None else randomiser.size
            assert supports[attribute].sum() == group.clients * named
            assert supports[attribute].min() >= 0
    level = client_level(chosen, supports)
    ends = np.cumsum((0, *SIZES))
    for start, end in pairwise(ends):
        assert level.probability[start:end].sum() == pytest.approx(1)


def test_a_design_is_for_its_number_of_clients() -> None:
    chosen = designs(SIZES, 500, 1.0)["sample"]
    people = drawn(law().joint(), 499, np.random.default_rng(1))
    with pytest.raises(ParameterError, match=r"codes = 499 .* 500 records"):
        collect(chosen, people.codes, SimulationRandom(1))


def spread(chosen: Design, populations: list[NDArray[np.int32]], random: ReleaseRandom) -> Array:
    return np.array([client_level(chosen, collect(chosen, codes, random)).probability for codes in populations])


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["groups", "together", "split", "sample", "rsfd"])
def test_estimates_of_a_fixed_population_are_unbiased_with_the_stated_variance(kind: str) -> None:
    """Who is asked what is drawn, too: for groups the variance of drawn populations would be too large."""
    runs, clients = 500, 240
    chosen = designs(SIZES, clients, 3.0)[kind]
    people = drawn(law().joint(), clients, np.random.default_rng(2))
    truth = people.frequencies()
    estimates = spread(chosen, [people.codes] * runs, KnownKey(2))
    stated = np.concatenate(chosen.variances(truth, among=clients))
    error = np.abs(estimates.mean(axis=0) - np.concatenate(truth)) / np.sqrt(stated / runs)
    assert error.max() < 4.5
    tolerance = 4.5 * math.sqrt(2 / (runs * len(SIZES)))
    assert (estimates.var(axis=0) / stated).mean() == pytest.approx(1, abs=tolerance)
    assert np.abs(estimates.var(axis=0) / stated - 1).max() < 5.5 * math.sqrt(2 / runs)
    assert chosen.mean_squared_error(truth, among=clients) == pytest.approx(
        np.mean([each.mean() for each in chosen.variances(truth, among=clients)])
    )
    drawing = np.concatenate(chosen.variances(truth))
    if kind in ("groups", "sample"):
        assert (estimates.var(axis=0) / drawing).mean() < 1 - tolerance
        without = stated - np.concatenate([f * (1 - f) for f in truth]) * _sampling(chosen, clients)
        assert (estimates.var(axis=0) / without).mean() > 1 + tolerance


def _sampling(chosen: Design, among: int) -> Array:
    """1/n - 1/N for every value."""
    variances = np.zeros(len(chosen.sizes))
    for group in chosen.groups:
        variances[list(group.attributes)] = 1 / group.clients - 1 / among
    return np.repeat(variances, chosen.sizes)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["groups", "together", "split", "sample", "rsfd"])
def test_estimates_of_populations_that_are_drawn_spread_as_stated(kind: str) -> None:
    runs, clients, generator = 500, 240, np.random.default_rng(3)
    chosen, joint = designs(SIZES, clients, 3.0)[kind], law().joint()
    estimates = spread(chosen, [drawn(joint, clients, generator).codes for _ in range(runs)], KnownKey(3))
    truth = margins(joint)
    stated = np.concatenate(chosen.variances(truth))
    assert (np.abs(estimates.mean(axis=0) - np.concatenate(truth)) / np.sqrt(stated / runs)).max() < 4.5
    tolerance = 4.5 * math.sqrt(2 / (runs * len(SIZES)))
    assert (estimates.var(axis=0) / stated).mean() == pytest.approx(1, abs=tolerance)
    assert np.abs(estimates.var(axis=0) / stated - 1).max() < 5.5 * math.sqrt(2 / runs)


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["sample", "split"])
def test_whole_simulations_are_unbiased_with_the_variances_of_their_designs(method: str) -> None:
    runs, people = 300, drawn(law((2, 3)).joint(), 200, np.random.default_rng(4))
    random, parameters = SimulationRandom(4), SurveyParameters(epsilon=2.0, method=method)
    outcomes = [simulate_survey(people, parameters, opt_in=0, random=random) for _ in range(runs)]
    estimates = np.array([outcome.client.probability for outcome in outcomes])
    truth = people.frequencies()
    stated = np.concatenate(outcomes[0].design.variances(truth, among=200))
    assert (np.abs(estimates.mean(axis=0) - np.concatenate(truth)) / np.sqrt(stated / runs)).max() < 4.5
    assert (estimates.var(axis=0) / stated).mean() == pytest.approx(1, abs=4.5 * math.sqrt(1 / runs))
    assert outcomes[0].blended.probability == pytest.approx(outcomes[0].client.probability)
    assert (outcomes[0].blended.weight_opt_in == 0).all()


@pytest.mark.statistical
@pytest.mark.parametrize(("method", "opt_in"), [("sample", 0), ("split", 0.3), ("sample", 0.3)])
def test_intervals_hold_the_truth_nineteen_times_out_of_twenty(method: str, opt_in: float) -> None:
    generator, random, joint = np.random.default_rng(5), SimulationRandom(5), law((4, 5)).joint()
    truth, covered, half = np.concatenate(margins(joint)), [], []
    for _ in range(150):
        outcome = simulate_survey(
            drawn(joint, 1000, generator),
            SurveyParameters(epsilon=2.0, delta=1e-4, method=method),
            opt_in=opt_in,
            random=random,
        )
        assert (outcome.blended.weight_opt_in > 0).all() == (opt_in > 0)
        covered.append((outcome.blended.low <= truth) & (truth <= outcome.blended.high))
        half.append(np.abs(outcome.blended.probability - truth) <= (outcome.blended.high - outcome.blended.low) / 4)
    assert np.mean(covered) == pytest.approx(0.95, abs=0.03)
    assert np.mean(half) < 0.8


@pytest.mark.statistical
def test_a_client_sends_possible_reports_with_the_probabilities_of_the_channel() -> None:
    """All attributes of a group together, so that they are independent of each other."""
    chosen, record = designs(SIZES, 500, 1.0)["groups"], (1, 2, 3)
    group = next(number for number, each in enumerate(chosen.groups) if len(each.attributes) == 2)
    asked, random = chosen.groups[group], KnownKey(6)
    subsets = [[tuple(np.flatnonzero(row).tolist()) for row in each.all_subsets()] for each in asked.randomisers]
    rows = [each.channel()[record[a]] for a, each in zip(asked.attributes, asked.randomisers, strict=True)]
    chances = np.multiply.outer(rows[0], rows[1]).ravel()
    number_of = {report: number for number, report in enumerate(product(*subsets))}
    counts = np.zeros(len(number_of), dtype=np.int64)
    for _ in range(4000):
        counts[number_of[respond(chosen, group, record, random)]] += 1
    assert goodness(counts, chances) > 1e-4
    for scale in (0.7, 1.4):
        others = [
            brute_force.subset_channel(scale * e, m, each.size)[record[a]]
            for a, e, m, each in zip(asked.attributes, asked.epsilons, asked.sizes, asked.randomisers, strict=True)
        ]
        order = [[sorted(every).index(subset) for subset in every] for every in subsets]
        wrong = np.multiply.outer(np.array(others[0])[order[0]], np.array(others[1])[order[1]]).ravel()
        assert goodness(counts, wrong) < 1e-6


@pytest.mark.statistical
def test_a_client_of_hidden_sampling_sends_a_value_for_every_attribute() -> None:
    chosen, record, random = designs(SIZES, 500, 1.0)["rsfd"], (1, 2, 3), KnownKey(7)
    assert chosen.hidden is not None
    counts = np.zeros(math.prod(SIZES), dtype=np.int64)
    for _ in range(2500):
        report = respond(chosen, 0, record, random)
        counts[np.ravel_multi_index(tuple(value for (value,) in report), SIZES)] += 1
    assert goodness(counts, chosen.hidden.channel()[np.ravel_multi_index(record, SIZES)]) > 1e-4
    assert goodness(counts, chosen.hidden.channel()[np.ravel_multi_index((0, 0, 0), SIZES)]) < 1e-6


def test_impossible_records_are_refused_and_only_cryptographic_randomness_is_sent() -> None:
    chosen = designs(SIZES, 500, 1.0)["sample"]
    for record in ((1, 2), (1, 2, 4), (-1, 0, 0), (0, 0, 0, 0)):
        with pytest.raises(ParameterError, match=r"record = .* one value for each of 3 attributes"):
            respond(chosen, 0, record, ReleaseRandom())
    with pytest.raises(RandomnessError, match="SimulationRandom is not for released data"):
        respond(chosen, 0, (0, 0, 0), SimulationRandom(1))  # type: ignore[arg-type]


def people_of(count: int = 400, seed: int = 8, sizes: tuple[int, ...] = (2, 3)) -> Answers:
    return drawn(law(sizes).joint(), count, np.random.default_rng(seed))


SAMPLE = SurveyParameters(method="sample")


def test_releases_and_experiments_take_their_own_randomness() -> None:
    people = people_of()
    with pytest.raises(RandomnessError, match="SimulationRandom is not for released data"):
        run_survey(people, SAMPLE, opt_in=0, random=SimulationRandom(1))  # type: ignore[arg-type]
    with pytest.raises(RandomnessError, match="ReleaseRandom is not for experiments"):
        simulate_survey(people, SAMPLE, opt_in=0, random=ReleaseRandom())  # type: ignore[arg-type]
    assert type(run_survey(people, SAMPLE, opt_in=0)) is SurveyRelease
    assert type(simulate_survey(people, SAMPLE, opt_in=0, random=SimulationRandom(1))) is SurveySimulation


def test_an_experiment_repeats_from_its_seed() -> None:
    first, again, other = (
        simulate_survey(people_of(), SAMPLE, opt_in=0.2, random=SimulationRandom(seed)).frequency for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_people_opt_in_by_share_by_mark_or_not_at_all() -> None:
    people = people_of()
    nobody = simulate_survey(people, SAMPLE, opt_in=0, random=SimulationRandom(1))
    assert (nobody.opt_in_people, nobody.design.clients) == (0, 400)
    assert nobody.tables is None
    assert nobody.disagreement is None
    share = simulate_survey(people, SAMPLE, opt_in=0.25, random=SimulationRandom(1))
    assert (share.opt_in_people, share.design.clients) == (100, 300)
    marked = np.arange(400) % 5 == 0
    array = simulate_survey(people, SAMPLE, opt_in=marked, random=SimulationRandom(1))
    assert (array.opt_in_people, array.design.clients) == (80, 320)
    table = Answers(people.questionnaire, people.codes, marked)
    column = simulate_survey(table, SAMPLE, random=SimulationRandom(1))
    assert (column.opt_in_people, column.design.clients) == (80, 320)
    none = simulate_survey(people, SAMPLE, opt_in=np.zeros(400, dtype=bool), random=SimulationRandom(1))
    assert (none.opt_in_people, none.design.clients) == (0, 400)


def test_marked_people_are_counted_and_the_others_report() -> None:
    """With next to no noise the two groups show who is in which."""
    codes = np.repeat([[0, 0], [1, 2]], 200, axis=0)
    parameters = SurveyParameters(epsilon=10.0, delta=0.1, method="sample")
    marked = np.arange(400) < 200
    outcome = simulate_survey(answers_of(codes, (2, 3)), parameters, opt_in=marked, random=SimulationRandom(1))
    assert outcome.opt_in.probability == pytest.approx([1, 0, 1, 0, 0], abs=0.05)
    assert outcome.client.probability == pytest.approx([0, 1, 0, 0, 1], abs=0.03)


def test_impossible_shares_are_refused() -> None:
    people = people_of()
    with pytest.raises(ParameterError, match=r"opt_in = None .* 0 means that nobody opts in"):
        simulate_survey(people, SAMPLE, random=SimulationRandom(1))
    for share in (1.0, -0.1, 1.5, math.nan):
        with pytest.raises(ParameterError, match=r"opt_in = .* a share of at least 0 and below 1"):
            simulate_survey(people, SAMPLE, opt_in=share, random=SimulationRandom(1))
    with pytest.raises(ParameterError, match="somebody is a client"):
        simulate_survey(people, SAMPLE, opt_in=np.ones(400, dtype=bool), random=SimulationRandom(1))
    with pytest.raises(ParameterError, match="opt_in"):
        simulate_survey(people, SAMPLE, opt_in=np.ones(399, dtype=bool), random=SimulationRandom(1))


def test_a_model_of_another_questionnaire_is_refused() -> None:
    models: list[Model] = [Joint(np.full((3, 2), 1 / 6)), AnyLaw((2, 3, 2)), Tree.equicorrelated(2, 0.5)]
    for model in models:
        with pytest.raises(ParameterError, match=r"model = .* attributes of \(2, 3\) values. .* another questionnaire"):
            simulate_survey(people_of(), opt_in=0, model=model, random=SimulationRandom(1))


def test_without_an_opt_in_group_or_model_nothing_is_assumed() -> None:
    outcome = simulate_survey(people_of(), opt_in=0, random=SimulationRandom(1))
    assert isinstance(outcome.model, AnyLaw)
    assert outcome.design.losses.record <= 1.0
    assert "Whatever a client's answers are" in outcome.statement
    assert "Opt-in people" not in outcome.statement
    assert outcome.cautions == []


@pytest.mark.parametrize(
    ("parameters", "model"),
    [
        (SurveyParameters(learn="table"), BoundedTable),
        (SurveyParameters(learn="tree"), Tree),
        (SurveyParameters(method="rsfd"), BoundedPairs),
        (SurveyParameters(method="split"), AnyLaw),
        (SurveyParameters(method="sample"), AnyLaw),
    ],
)
def test_what_the_promise_rests_on_is_learnt_from_the_opt_in_group(parameters: SurveyParameters, model: type) -> None:
    outcome = simulate_survey(people_of(20_000), parameters, opt_in=0.5, random=SimulationRandom(1))
    assert isinstance(outcome.model, model)
    assert (outcome.misfit is not None) == (model is Tree)
    assert outcome.design.losses.worst <= parameters.epsilon
    assert "Opt-in people trust the curator" in outcome.statement
    assert ("IF answers follow the model" in outcome.statement) == (outcome.design.losses.record > 1)


@pytest.mark.parametrize(
    "parameters", [SurveyParameters(learn="table"), SurveyParameters(learn="tree"), SurveyParameters(method="cbp")]
)
def test_a_learnt_model_keeps_the_promise_under_the_true_law(parameters: SurveyParameters) -> None:
    """By the channels that the randomisers state, with the law that people were drawn from."""
    tree = law((2, 3), seed=3)
    people = drawn(tree.joint(), 60_000, np.random.default_rng(9))
    outcome = simulate_survey(people, parameters, opt_in=0.5, random=SimulationRandom(2))
    for group in outcome.design.groups:
        channels = [brute_force.single_channel(0, m) for m in (2, 3)]
        for attribute, randomiser in zip(group.attributes, group.randomisers, strict=True):
            channels[attribute] = randomiser.channel().tolist()
        truth = brute_force.losses(tree.joint(), channels)
        assert max(truth) <= parameters.epsilon * (1 + 1e-14)
        assert (np.array(truth) <= np.array(outcome.design.losses.by_attribute) + 1e-9).all()


def test_a_given_model_is_used_and_said() -> None:
    tree = law((2, 3))
    model = Tree.of_tables((2, 3), tree.tables)
    outcome = simulate_survey(people_of(), opt_in=0.2, model=model, random=SimulationRandom(1))
    assert outcome.model is model
    assert outcome.model_words == "a model that was given"
    assert outcome.tables is not None
    assert outcome.tables.axes == ((0,), (1,))


def test_cautions_appear_when_they_should() -> None:
    quiet = simulate_survey(people_of(), SAMPLE, opt_in=0.2, random=SimulationRandom(3))
    assert quiet.cautions == []
    independent = Joint.independent([0.5, 0.5], [0.3, 0.3, 0.4])
    rests = simulate_survey(people_of(), opt_in=0, model=independent, random=SimulationRandom(1))
    assert len(rests.cautions) == 1
    assert "epsilon = 1 about each attribute rests on the model" in rests.cautions[0]
    assert "only 2 holds for the record" in rests.cautions[0]
    capped = simulate_survey(
        people_of(), SurveyParameters(record_epsilon=1.0), opt_in=0, model=independent, random=SimulationRandom(1)
    )
    assert capped.cautions == []
    large = simulate_survey(
        people_of(), SurveyParameters(method="sample", delta=1e-2), opt_in=0.2, random=SimulationRandom(3)
    )
    assert any("δ = 0.01 is not below one over the 400 people" in caution for caution in large.cautions)
    weak = simulate_survey(
        people_of(), SurveyParameters(method="sample", epsilon=12), opt_in=0, random=SimulationRandom(1)
    )
    assert any("epsilon = 12 promises next to nothing" in caution for caution in weak.cautions)
    people = people_of()
    read = Answers(people.questionnaire, people.codes, inferred=True)
    inferred = simulate_survey(read, SAMPLE, opt_in=0, random=SimulationRandom(1))
    assert any("read from the answers themselves" in caution for caution in inferred.cautions)


def test_groups_that_differ_and_trees_that_do_not_fit_are_told() -> None:
    codes = np.repeat([[0, 0], [1, 2]], 2000, axis=0)
    marked = np.arange(4000) < 2000
    unlike = simulate_survey(answers_of(codes, (2, 3)), SAMPLE, opt_in=marked, random=SimulationRandom(1))
    assert any("The two groups disagree about q" in caution for caution in unlike.cautions)
    assert unlike.disagreement is not None
    assert unlike.disagreement[0] > 5
    values = np.where(marked, np.arange(4_000) % 2, 2)  # one value that clients alone have, two that they never have
    answers = answers_of(np.stack([np.zeros_like(values), values], axis=1), (2, 3))
    more = simulate_survey(answers, SAMPLE, opt_in=marked, random=SimulationRandom(1))
    z = more.client.probability - more.opt_in.probability
    z = z / np.sqrt(more.opt_in.variance + np.maximum(more.client.variance, more.client.floor))
    assert more.disagreement is not None
    assert more.disagreement[0] == pytest.approx(np.abs(z).max())
    assert more.disagreement[1] == np.abs(z).argmax()
    loop = drawn(brute_force.equicorrelated(3, 0.25), 100_000, np.random.default_rng(10))
    parameters = SurveyParameters(learn="tree", epsilon=2.0)
    outcome = simulate_survey(loop, parameters, opt_in=0.5, random=SimulationRandom(1))
    assert outcome.design.losses.record > 2
    assert any("The tree does not fit: q" in caution for caution in outcome.cautions)
    tree = drawn(law((2, 2, 2)).joint(), 100_000, np.random.default_rng(10))
    fits = simulate_survey(tree, parameters, opt_in=0.5, random=SimulationRandom(1))
    assert not any("The tree does not fit" in caution for caution in fits.cautions)


def test_an_attributes_frequencies_add_up_unless_told_not_to() -> None:
    people = people_of(60)
    default = SurveyParameters(method="sample", epsilon=0.5)
    variants = [replace(default, project=False), default]
    raw, projected = (simulate_survey(people, each, opt_in=0, random=SimulationRandom(2)) for each in variants)
    assert "need not sum to 100 %" in raw.last_step
    assert "nearest ones that sum to 100 %; intervals are not" in projected.last_step
    for of_estimate in ("std_error", "low", "high"):  # the last step moves no interval
        assert np.array_equal(getattr(raw.blended, of_estimate), getattr(projected.blended, of_estimate))
    assert raw.frequency.min() < 0
    assert np.array_equal(raw.frequency, raw.blended.probability)
    for name, size in zip(("q0", "q1"), (2, 3), strict=True):
        each = projected.frequencies()[name]
        assert len(each) == size
        assert each.min() >= 0
        assert each.sum() == pytest.approx(1)
    rows = raw.rows()
    assert [(row.attribute, row.value) for row in rows] == [
        ("q0", "v0"),
        ("q0", "v1"),
        *(("q1", f"v{v}") for v in range(3)),
    ]
    assert [row.frequency for row in rows] == raw.frequency.tolist()
    assert all(row.low < row.frequency < row.high for row in rows)
    assert "sample survey, ε = 0.5: 0 opt-in, 60 clients" in str(raw)


def test_progress_is_told() -> None:
    said: list[str] = []
    simulate_survey(people_of(), SAMPLE, opt_in=0.2, random=SimulationRandom(1), progress=said.append)
    assert said[0] == "drawing who opts in"
    assert said[-1] == "blending"


@pytest.mark.parametrize(
    ("parameters", "sizes", "people", "kind"),
    [
        (SurveyParameters(), (2,) * 8, 20_000, "all"),
        (SurveyParameters(), (2,) * 8, 2_000, "pairs"),
        (SurveyParameters(), (2,) * 8, 200, "single"),
        (SurveyParameters(), (2,) * 12, 20_000, "pairs"),
        (SurveyParameters(), (2, 500), 10**6, "single"),
        (SurveyParameters(), (2,), 10**6, "single"),
        (SurveyParameters(learn="tree"), (2,) * 8, 200, "pairs"),
        (SurveyParameters(learn="table"), (2,) * 8, 200, "all"),
        (SurveyParameters(method="cbp"), (2,) * 8, 20_000, "all"),
        (SurveyParameters(method="cbp"), (2,) * 9, 20_000, "pairs"),
        (SurveyParameters(method="rsfd", learn="table"), (2,) * 8, 20_000, "pairs"),
        (SurveyParameters(method="sample"), (2,) * 8, 20_000, "single"),
    ],
)
def test_what_the_opt_in_group_releases_follows_from_public_numbers(
    parameters: SurveyParameters, sizes: tuple[int, ...], people: int, kind: str
) -> None:
    parameters = parameters.fitted(people)
    assert parameters.tables(sizes, people, None) == kind
    assert parameters.tables(sizes, people, AnyLaw(sizes)) == "single"


def test_too_many_values_or_combinations_to_learn_from_are_told() -> None:
    with pytest.raises(ParameterError, match="at most 100 in a tree"):
        SurveyParameters(learn="tree").tables((2, 101), 1000, None)
    with pytest.raises(ParameterError, match="more than 65536 combinations"):
        SurveyParameters(learn="table").tables((2,) * 17, 1000, None)


def test_a_tree_that_does_not_fit_is_used_only_if_a_tree_is_asked_for() -> None:
    """Twelve attributes with one hidden cause: every pair is as strong as any other, which no tree has."""
    answers = draw_answers(Tree.equicorrelated(12, 0.5), 60_000, SimulationRandom(3))
    auto = simulate_survey(answers, SurveyParameters(), opt_in=0.5, random=SimulationRandom(4))
    assert auto.misfit is not None
    assert auto.misfit.share > 0.01
    assert isinstance(auto.model, AnyLaw)
    assert auto.design.losses.record <= 1
    assert any("so it is not used" in caution for caution in auto.cautions)
    parameters = SurveyParameters(learn="tree", per_attribute=False, group=2)
    asked = simulate_survey(answers, parameters, opt_in=0.5, random=SimulationRandom(4))
    assert isinstance(asked.model, Tree)
    assert any("does not hold" in caution for caution in asked.cautions)


def test_a_tree_that_bounds_of_pairs_refute_for_a_few_people_is_not_used() -> None:
    """One person in 250 answers against the others: too few to move any share, enough for the bounds."""
    generator = np.random.default_rng(5)
    people = 200_000
    rare = generator.random(people) < 0.004
    cause = generator.random(people) < 0.5
    codes = [rare, cause]
    for _ in range(8):
        copied = generator.random(people) < 0.65
        codes.append(
            np.where(rare, generator.random(people) < 0.95, np.where(copied, cause, generator.random(people) < 0.5))
        )
    answers = answers_of(np.stack(codes, axis=1).astype(np.int64), (2,) * 10)
    outcome = simulate_survey(answers, SurveyParameters(epsilon=2.0), opt_in=0.9, random=SimulationRandom(6))
    assert outcome.misfit is not None
    assert outcome.misfit.share < 0.01
    assert outcome.misfit.refuted
    assert isinstance(outcome.model, AnyLaw)


def test_answers_that_tell_what_may_be_answered_are_released_only_on_purpose() -> None:
    people = people_of()
    read = Answers(people.questionnaire, people.codes, inferred=True)
    with pytest.raises(ParameterError, match=r"answers_from_data = False .* an answer that only one person gave"):
        run_survey(read, SAMPLE, opt_in=0)
    release = run_survey(read, SAMPLE, opt_in=0, answers_from_data=True)
    assert "NOT PROTECTED: the possible answers" in release.statement
    assert {row.value_from for row in release.rows()} == {"data (not protected)"}
    plain = run_survey(people, SAMPLE, opt_in=0)
    assert (plain.exceptions, "NOT PROTECTED" in plain.statement) == ([], False)


def test_what_a_survey_prints_has_no_sign_that_acts_on_a_terminal() -> None:
    asked = Questionnaire((Attribute("a\u202e", ("no", "\x1b[31myes")),))
    printed = str(run_survey(Answers(asked, np.array([[0], [1]] * 50)), SAMPLE, opt_in=0))
    assert r"'a\u202e' = '\x1b[31myes'" in printed
    assert printed.replace("\n", "").isprintable()


def test_a_group_without_those_who_left_an_answer_out_is_told() -> None:
    people = people_of()
    complete = Answers(people.questionnaire, people.codes, only_complete=True)
    assert complete.take(np.arange(3)).only_complete
    release = run_survey(complete, SAMPLE, opt_in=0.2)
    assert "NOT PROTECTED: how many people are counted, and who" in release.statement


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["cbps", "rsfd"])
def test_reports_drawn_from_counts_have_the_law_of_clients_asked_one_by_one(method: str) -> None:
    """Means and variances of what reports name, of the same 60 people, either way."""
    people = people_of(60)
    chosen = design(AnyLaw(people.sizes), 60, Promise(2.0), method=method)
    generator = SimulationRandom(4)

    def from_counts() -> list[NDArray[np.int64]]:
        stream = generator.spawn()
        return collect_counted(chosen, people, Lots.draw(stream), 0, stream)

    one_by_one = np.array([np.concatenate(collect(chosen, people.codes, generator.spawn())) for _ in range(1500)])
    counted = np.array([np.concatenate(from_counts()) for _ in range(1500)])
    errors = np.sqrt((one_by_one.var(axis=0) + counted.var(axis=0)) / 1500)
    assert (np.abs(one_by_one.mean(axis=0) - counted.mean(axis=0)) < 4.5 * errors).all()
    assert counted.var(axis=0) == pytest.approx(one_by_one.var(axis=0), rel=0.2)
