"""The figures of the paper: their people, their experiments, what is shown of them, and the ladder."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from blendp.errors import ParameterError
from blendp.evaluation.figures import (
    AOL,
    FULL,
    QUICK,
    RECIPES,
    YANDEX,
    Experiment,
    Figure,
    FigurePopulation,
    Grid,
    Laboratory,
    Line,
    Mean,
    count_steps,
    make_figures,
    recipes,
    settings_of,
)
from blendp.evaluation.figures.ladder import BOUND, RUNGS, counted_by_all
from blendp.evaluation.figures.populations import SyntheticRecords
from blendp.logs import log_of_table
from blendp.logs.synthetic import population

SMALL = Grid(opt_in=(0.05, 0.2), tiny=(0.01, 0.1), epsilon=(2.0, 5.0, 6.0), query_share=(0.3, 0.85))
USERS = 20_000


def laboratory(runs: int = 2, seed: int = 5) -> Laboratory:
    settings = [replace(AOL, opt_in=0.2), replace(YANDEX, opt_in=0.2)]
    people = {setting.name: FigurePopulation.synthetic(setting, USERS, 0) for setting in settings}
    return Laboratory(people, runs, seed)


@pytest.fixture(scope="module")
def figures() -> dict[str, Figure]:
    return {figure.name: figure for figure in make_figures((), laboratory(), SMALL)}


@pytest.mark.parametrize("name", ["aol", "yandex"])
def test_the_people_are_those_that_simulate_makes(name: str) -> None:
    """Number for number, over more than one block."""
    records = SyntheticRecords(name, 140_000, seed=3)
    log = log_of_table(population(name, 140_000, seed=3).table())
    mine, theirs = records.truth(), log.truth()
    assert records.distinct_records == log.distinct_records
    assert np.sort(mine.query) == pytest.approx(np.sort(theirs.query), abs=1e-15)
    top, order = mine.head(100), theirs.head(100)
    assert mine.record[top] == pytest.approx(theirs.record[order], abs=1e-15)
    assert set(records.texts(top[:20])) == set(log.texts(order[:20]))


def test_settings_are_the_paper_s() -> None:
    assert (AOL.delta, AOL.opt_in, AOL.size) == (1e-5, 0.05, 50)
    assert (YANDEX.delta, YANDEX.opt_in, YANDEX.size) == (1e-7, 0.03, 500)
    for setting in (AOL, YANDEX):
        parameters = setting.parameters("published")
        assert (parameters.epsilon, parameters.list_makers, parameters.client_query_share) == (4.0, 0.95, 0.85)
    assert set(QUICK.opt_in) < set(FULL.opt_in)
    assert set(QUICK.epsilon) < set(FULL.epsilon)
    assert set(QUICK.query_share) < set(FULL.query_share)


def test_a_log_takes_the_place_of_both_data_sets() -> None:
    log = log_of_table(pa.table({"user": ["1", "2"], "query": ["a", "b"], "url": ["x", "y"]}))
    small, large = FigurePopulation.of_log(log, 2), FigurePopulation.of_log(log, 2_000_000)
    assert (small.setting.delta, large.setting.delta) == (AOL.delta, YANDEX.delta)
    for recipe in RECIPES.values():
        assert settings_of(recipe, [small.setting]) == [small.setting]
    assert settings_of(RECIPES["17"], [AOL, YANDEX]) == [YANDEX]


def test_figures_are_named_by_their_numbers() -> None:
    assert list(RECIPES) == ["9", "10", "12", "13", "14", "15", "16", "17", "18", "19", "ladder"]
    assert [recipe.name for recipe in recipes(["ladder", "9"])] == ["9", "ladder"]
    with pytest.raises(ParameterError, match="figure = '11'"):
        recipes(["11"])


def test_means_have_standard_errors() -> None:
    mean = Mean.of([1.0, 2.0, 4.0])
    assert mean.value == pytest.approx(7 / 3)
    assert mean.error == pytest.approx(math.sqrt(((4 / 3) ** 2 + (1 / 3) ** 2 + (5 / 3) ** 2) / 2 / 3))
    assert math.isnan(Mean.of([1.0]).error)
    assert math.isnan(Mean.of([]).value)


def test_every_step_is_announced_once() -> None:
    steps: list[str] = []
    lab = laboratory(runs=1)
    lab = Laboratory(lab.populations, 1, 5, steps.append)
    names = ["9", "10", "12", "14", "16", "ladder"]
    make_figures(names, lab, SMALL)
    assert len(steps) == count_steps(names, [people.setting for people in lab.populations.values()], SMALL)


def test_a_figure_does_not_depend_on_what_else_is_made(figures: dict[str, Figure]) -> None:
    (alone,) = make_figures(["12"], laboratory(), SMALL)
    assert alone == figures["12"]
    (other,) = make_figures(["12"], laboratory(seed=6), SMALL)
    assert other.points[0].means["l1"] != alone.points[0].means["l1"]


def test_figures_share_their_experiments(figures: dict[str, Figure]) -> None:
    assert figures["13"].points[0] is figures["15"].points[0]
    assert figures["14"].points[0] is figures["16"].points[0]


def test_both_methods_stand_side_by_side(figures: dict[str, Figure]) -> None:
    for name, figure in figures.items():
        assert {point.about["method"] for point in figure.points} == {"published", "blendp"}, name
        assert figure.sentence.endswith(".")
        for row in figure.grid:
            assert 1 <= len(row) <= 3


def test_data_tell_parameters_seeds_and_runs(figures: dict[str, Figure]) -> None:
    for figure in figures.values():
        for point in figure.points:
            assert {"population", "users", "opt_in", "epsilon", "delta", "size", "runs", "seed"} <= set(point.about)
            assert point.about["runs"] == 2


def test_the_opt_in_group_does_not_feel_the_split_of_the_clients_budget(figures: dict[str, Figure]) -> None:
    for row in figures["10"].grid:
        for panel in row:
            (opt_in,) = (line for line in panel.lines if line.look == "opt-in")
            assert len(set(opt_in.means)) == 1
            (client,) = (line for line in panel.lines if line.look == "client")
            assert len(set(client.means)) == 2


def test_lists_that_stay_short_are_in_the_data_but_not_drawn(figures: dict[str, Figure]) -> None:
    lines = [line for row in figures["13"].grid[:2] for panel in row for line in panel.lines]
    shown = [not math.isnan(mean.value) for line in lines for mean in line.means]
    assert any(shown)
    assert not all(shown)
    assert all(math.isfinite(point.means["l1"].value) for point in figures["13"].points)
    short = [point for point in figures["13"].points if point.means["reached"].value < 0.5]
    assert all(point.means["records"].value < point.about["size"] for point in short)


def test_the_random_order_scores_less(figures: dict[str, Figure]) -> None:
    for row in figures["12"].grid:
        for panel in row:
            published, blendp, random = panel.lines
            assert random.look == "random"
            assert all(chance.value < mean.value for chance, mean in zip(random.means, blendp.means, strict=True))
            assert all(chance.value < mean.value for chance, mean in zip(random.means, published.means, strict=True))


def test_the_clients_urls_add_up_to_their_queries(figures: dict[str, Figure]) -> None:
    """Column 6 of the printed figure 9 differs from column 5; it cannot."""
    listed = [point for point in figures["9"].points if "truth" in point.means]
    assert len(listed) > 10
    for point in listed:
        assert point.means["client_sum"].value == pytest.approx(point.means["client"].value, abs=1e-12)
        assert 0 <= point.means["weight_opt_in"].value <= 1
    assert listed[0].about["query"] is None
    assert listed[1].about["query"] == "google"


def test_every_line_has_a_mean_for_every_place() -> None:
    with pytest.raises(ParameterError, match="means"):
        Line("x", "0", (1.0, 2.0), (Mean(1.0, 0.1),))


def test_rungs_that_make_the_list_alike_have_the_same_lists(figures: dict[str, Figure]) -> None:
    points = figures["ladder"].points
    assert len(points) == 2 * 2 * (len(RUNGS) + 1)
    for start in range(0, len(points), len(RUNGS) + 1):
        rungs = points[start : start + len(RUNGS) + 1]
        assert [point.about["step"] for point in rungs] == [*(name for name, _ in RUNGS), BOUND]
        assert len({point.means["candidates"] for point in rungs[2:]}) == 1
        assert len({point.about["seed"] for point in rungs}) == 1
        for below, above in pairwise(rungs):
            step = above.means["l1"].value - below.means["l1"].value
            assert above.means["l1_step"].value == pytest.approx(step, abs=1e-12)


def test_full_trust_counts_everybody_without_bias() -> None:
    lab = laboratory(runs=1)
    setting = lab.populations["aol"].setting
    (played,) = lab.play(Experiment("aol", 0.2, setting.parameters("blendp")))
    counted = np.array([counted_by_all(played, 4.0) for _ in range(400)])
    assert counted.sum(axis=1) == pytest.approx(1.0)
    truth = played.head.cells
    spread = np.sqrt((truth * (1 - truth) / USERS + 0.43 / USERS**2) / 400)
    large = truth > 1e-3
    assert np.all(np.abs(counted.mean(axis=0) - truth)[large] < 4.5 * spread[large])
    ratio = counted.std(axis=0)[large] / (20 * spread[large])
    assert 0.85 < ratio.min() <= ratio.max() < 1.15


@pytest.mark.parametrize(("runs", "seed", "named"), [(0, 0, "runs"), (1, -1, "seed")])
def test_impossible_laboratories_are_refused(runs: int, seed: int, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        Laboratory({}, runs, seed)


def test_a_population_has_people_for_both_groups() -> None:
    with pytest.raises(ParameterError, match="users"):
        FigurePopulation.synthetic(AOL, 1, 0)
