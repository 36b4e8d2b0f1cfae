"""The figures of the paper: their people, their experiments, what is shown of them, and the ladder."""

import math
import warnings
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
    sweeps,
)
from blendp.evaluation.figures.ladder import BOUND, RUNGS, counted_by_all
from blendp.evaluation.figures.peers import MEASURES, read_peers
from blendp.evaluation.figures.populations import SyntheticRecords
from blendp.evaluation.figures.printed import COLUMNS, FIGURE_9, STATED, Stated
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


def test_what_is_not_finite_has_no_mean_and_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in ([math.inf, 1.0], [math.inf, -math.inf], [math.nan, 2.0]):
            mean = Mean.of(values)
            assert math.isnan(mean.value)
            assert math.isnan(mean.error)


def test_a_log_that_is_too_small_is_shown_with_words_for_what_is_missing() -> None:
    """Eight queries, too few people for any of them to be listed: the truth is known all the same."""
    users = [str(user) for user in range(200)]
    queries = [f"q{user % 8}" for user in range(200)]
    people = FigurePopulation.of_log(log_of_table(pa.table({"user": users, "query": queries, "url": queries})), 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (nine,) = make_figures(["9"], Laboratory({"log": people}, 3), SMALL)
    (table,) = nine.tables
    assert "nan" not in " ".join(text for row in table.rows for text in row)
    first = next(row for row in table.rows if row[0] == "q0")
    assert first[2:] == ("0.1250", *["not listed"] * 6)
    assert "no run listed the query" in table.caption
    assert not nine.sentence.startswith("Nine")
    truth = nine.grid[0][0].lines[0]
    assert [mean.value for mean in truth.means] == [0.125] * 8


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
    for one, other in (("13", "15"), ("14", "16")):
        assert figures[one].points[0].about is figures[other].points[0].about
        assert figures[one].points[0].means["l1"] is figures[other].points[0].means["l1"]


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
            published, blendp, random = panel.lines[:3]
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


def test_the_printed_table_stands_beside_ours(figures: dict[str, Figure]) -> None:
    """All six columns of figure 9, in the data, in the table and in the picture."""
    figure = figures["9"]
    assert len(FIGURE_9) == 10
    for point in (point for point in figure.points if point.about["query"] in FIGURE_9):
        printed = [point.means[f"{name}_printed"].value for name in COLUMNS]
        assert printed == list(FIGURE_9[point.about["query"]])
    (table,) = figure.tables
    rows = {row[0]: row for row in table.rows if row[1] == "as printed"}
    assert rows["www.google.com"][2:7] == ("0.0034", "0.0004", "0.0004", "0.0032", "0.0098")
    assert rows["estimates out of order"][3:7] == ("1", "2", "1", "3")
    panel = figure.grid[0][0]
    lines = {line.look: line for line in panel.lines}
    assert [mean.value for mean in lines["printed blended"].means] == [FIGURE_9[query][1] for query in panel.rows]
    assert {"printed truth", "printed opt-in", "printed client", "printed sum"} <= set(lines)


def test_printed_numbers_are_only_of_the_paper_s_queries() -> None:
    rows = [(str(user), f"q{user % 12}", "u") for user in range(600)]
    log = log_of_table(
        pa.table(
            {name: list(column) for name, column in zip(("user", "query", "url"), zip(*rows, strict=True), strict=True)}
        )
    )
    people = FigurePopulation.of_log(log, 600)
    nine, twelve = make_figures(["9", "12"], Laboratory({"log": people}, 1), SMALL)
    assert not any(name.endswith("_printed") for point in nine.points for name in point.means)
    assert not any(row[1] == "as printed" for row in nine.tables[0].rows)
    assert twelve.tables == ()
    assert not any(line.look.startswith("printed") for panel in twelve.grid[0] for line in panel.lines)


@pytest.mark.parametrize("bound", STATED, ids=lambda bound: f"{bound.figure}-{bound.population}-{bound.sense}")
def test_stated_bounds_stand_beside_what_they_are_about(bound: Stated, figures: dict[str, Figure]) -> None:
    """In the data of just the points that they concern, as a line, and in the table with how many points hold."""
    figure = figures[bound.figure]
    column = f"{bound.measures[0]}_printed_{bound.sense}"
    marked = [point for point in figure.points if column in point.means and bound.concerns(point)]
    for point in figure.points:
        if column in point.means:
            assert any(each.concerns(point) for each in STATED if each.figure == bound.figure)
            assert point.means[column].value in {each.value for each in STATED if each.figure == bound.figure}
    for method in ("published", "blendp"):
        own = [point for point in marked if point.about["method"] == method]
        values = [point.means[bound.measures[0]].value for point in own]
        row = next(row for row in figure.tables[0].rows if row[0] == bound.sentence)
        cell = row[4 + ("published", "blendp").index(method)]
        better = {
            "above": lambda v: v > bound.value,
            "min": lambda v: v >= bound.value,
            "below": lambda v: v < bound.value,
        }
        assert cell.startswith(
            f"{sum(map(better[bound.sense], values))} of {len(values)}: " if own else "no such point"
        )
    title = {"aol": "AOL", "yandex": "Yandex"}[bound.population]
    panels = [panel for row in figure.grid for panel in row if panel.title.startswith(title)]
    lines = [line for panel in panels for line in panel.lines if line.label == bound.label]
    assert all(mean.value == bound.value for line in lines for mean in line.means)
    assert bool(lines) == any(bound.low <= at <= bound.high for at in getattr(SMALL, bound.knob))


def test_what_peers_found_is_drawn_beside_ours_on_as_many_people(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = replace(read_peers(), users=USERS)
    monkeypatch.setattr(sweeps, "read_peers", lambda: peers)
    (figure,) = make_figures(["12"], laboratory(runs=1), SMALL)
    measured = [point for point in figure.points if "texts" in point.about]
    assert {point.about["method"] for point in measured} == {"PEM", "TreeHist"}
    for point in measured:
        about = point.about
        own = [
            run
            for run in peers.runs
            if (run["protocol"], run["texts"], run["epsilon"]) == (about["method"], about["texts"], about["epsilon"])
        ]
        assert len(own) == about["runs"]
        for name in MEASURES:
            assert point.means[name].value == pytest.approx(sum(run[name] for run in own) / len(own))
    for panel, texts in zip(figure.grid[-1], ("known", "unknown"), strict=True):
        lines = {line.label: line for line in panel.lines}
        for method in ("PEM", "TreeHist"):
            drawn = [point for point in measured if (point.about["method"], point.about["texts"]) == (method, texts)]
            assert lines[method].means == tuple(point.means["ndcg"] for point in drawn)
            chance = [mean.value for mean in lines[f"{method}'s list in random order"].means]
            assert chance == [point.means["ndcg_random"].value for point in drawn]
        assert panel.lines[0].label == "blendp, 20 % opt in"
    cells = [cell for row in figure.tables[-1].rows for cell in row[2:]]
    assert len(cells) == len(measured)
    for point in measured:
        shown = f"({point.means['ndcg_random'].value:.3f}), {point.means['hits'].value:g} of 10"
        assert any(cell.startswith(f"{point.means['ndcg'].value:.3f}") and cell.endswith(shown) for cell in cells)
    assert peers.command in figure.tables[-1].caption


def test_peers_are_not_drawn_beside_other_people(figures: dict[str, Figure]) -> None:
    assert len(figures["12"].grid) == 1
    assert not any("texts" in point.about for point in figures["12"].points)


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
