"""The blendp method on small logs: who reaches which mechanism with which budget, its options, and its edge cases."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from blendp.engines import EmbeddedLog
from blendp.errors import ParameterError
from blendp.logs import log_of_table
from blendp.mechanisms import AsymmetricList, DiscreteLaplace, FilteredUnion, SubsetSelection, TwoStage
from blendp.mechanisms.filtered_union import TwoScaleCounts, share_sums
from blendp.mechanisms.filtered_union.two_scale import SHARE_GRID
from blendp.methods import Outcome, Parameters, Release, people, run, simulate
from blendp.methods.groups import draw_groups
from blendp.methods.objectives import list_shares
from blendp.privacy import Budget
from blendp.randomness import Random, SimulationRandom
from tests.support import KnownKey
from tests.unit.methods.test_published import marks, small_log
from tests.unit.methods.test_wiring import USERS, OwnRecords


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """What reaches the mechanisms during a run, each with its first argument; and every random source."""
    kept: dict[str, list[Any]] = {"random": []}

    def spy(owner: type, name: str, label: str) -> None:
        original = getattr(owner, name)

        def watched(self: Any, *arguments: Any) -> Any:
            kept["random"].append(arguments[-1])
            kept.setdefault(label, []).append((self, arguments[0]))
            return original(self, *arguments)

        monkeypatch.setattr(owner, name, watched)

    spy(AsymmetricList, "draw", "list")
    spy(AsymmetricList, "draw_queries", "queries")
    spy(AsymmetricList, "draw_wildcards", "wildcards")
    spy(FilteredUnion, "draw", "union")
    spy(TwoScaleCounts, "noisy", "union counts")
    spy(DiscreteLaplace, "draw", "laplace")
    spy(SubsetSelection, "supports", "subsets")
    spy(TwoStage, "draw", "two-stage")

    def groups(*arguments: Any) -> Any:
        kept["random"].append(arguments[-1])
        kept["groups"] = [draw_groups(*arguments)]
        return kept["groups"][0]

    monkeypatch.setattr(people, "draw_groups", groups)
    return kept


def counted(log: OwnRecords, who: NDArray[np.int64], per_user: int = 1) -> NDArray[np.int64]:
    return np.bincount(log.sample(per_user, 0)[who].ravel(), minlength=log.distinct_records)


def only_stream(seen: dict[str, list[Any]], random: Random) -> bool:
    return all(used is random for used in seen["random"])


def test_each_group_reaches_its_own_mechanism_with_the_whole_budget(seen: dict[str, list[Any]]) -> None:
    log, random, parameters = OwnRecords(), KnownKey(1), Parameters(epsilon=2, delta=1e-4, size=None, query_share=0.4)
    release = run(log, parameters, opt_in=0.4, random=random)
    assert isinstance(release, Release)
    groups = seen["groups"][0]
    assert len(groups.estimate) == 0
    assert np.array_equal(np.sort(np.concatenate([groups.head_list, groups.client])), np.arange(USERS))

    # the list, its totals and the wildcards come from the opt-in users alone, by one mechanism of the whole budget but
    # for the noisy mean
    ((list_maker, counts),) = seen["list"]
    assert list_maker.budget == parameters.list_budget
    assert np.array_equal(counts, counted(log, groups.head_list))
    ((same_maker, wild),) = seen["wildcards"]
    assert same_maker is list_maker
    assert wild.tolist() == [0] * release.candidates  # no two URLs of one query in this log
    ((asked_maker, of_queries),) = seen["queries"]
    assert asked_maker is list_maker
    assert np.array_equal(of_queries, counts)  # every record has a query of its own
    spent = list_maker.list_noise.falling + list_maker.list_noise.rising + list_maker.wildcard_noise.rising
    assert spent == list_maker.noise.falling + list_maker.noise.rising
    assert float(spent + parameters.mean_epsilon) == pytest.approx(2)
    assert release.guarantee.threshold == list_maker.min_total

    # every client answers one of the two questions with the whole epsilon, against the released list
    (queries, rows), (cells, own) = seen["subsets"]
    assert (queries.epsilon, cells.epsilon) == (2, 2)
    assert (queries.items, cells.items) == (release.head_list.queries + 1, release.head_list.cells)
    assert len(rows) + len(own) == len(groups.client) == release.client.users
    assert 0.3 < len(rows) / len(groups.client) < 0.5
    located = log.locate(release.head_list)[log.sample(1, 0)[groups.client, 0]]
    assert np.array_equal(
        np.sort(np.concatenate([rows, release.head_list.query_of_cell[own]])),
        np.sort(release.head_list.query_of_cell[located]),
    )
    assert release.query_reporters == 0.4
    assert release.query_reports == len(rows)
    assert release.arms_fit
    assert release.guarantee.client_epsilon_exact <= 2
    assert release.guarantee.client_epsilon_exact == pytest.approx(2, rel=1e-9)
    assert release.guarantee.client_delta == 0
    assert "subset selection" in release.guarantee.client_mechanism

    # nothing else is drawn, and all of it comes from the one stream
    assert not {"union", "two-stage"} & set(seen)
    assert [noise.rate for noise, _ in seen["laplace"]] == [parameters.mean_epsilon / 20]
    assert only_stream(seen, random)


def test_the_clients_cannot_change_the_list(seen: dict[str, list[Any]]) -> None:
    """Two logs that differ in the clients' records only: the same list and counts, and the same share asked for
    queries, which depends on what is released of the opt-in users.
    """

    class Others(OwnRecords):
        def sample(self, per_user: int, key: int) -> NDArray[np.int64]:
            ids = super().sample(per_user, key)
            ids[1_000:] = 7
            return ids

    opted = np.arange(USERS) < 1_000
    outcomes = [run(log, Parameters(), opt_in=opted, random=KnownKey(3)) for log in (OwnRecords(), Others())]
    assert outcomes[0].head_list == outcomes[1].head_list
    assert outcomes[0].query_reporters == outcomes[1].query_reporters
    assert np.array_equal(outcomes[0].opt_in.cells.probability, outcomes[1].opt_in.cells.probability)
    assert not np.array_equal(outcomes[0].client.cells.probability, outcomes[1].client.cells.probability)
    assert np.array_equal(seen["list"][0][1], seen["list"][1][1])


def test_the_cross_check_is_drawn_from_the_stream_too() -> None:
    log = small_log()
    first, second, other = (
        simulate(log, Parameters(), opt_in=0.2, random=SimulationRandom(seed)) for seed in (4, 4, 5)
    )
    assert first.check is not None
    assert second.check is not None
    assert other.check is not None
    assert first.check.p_value == second.check.p_value
    assert np.array_equal(first.cells.low, second.cells.low)
    assert first.check.p_value != other.check.p_value


def test_a_run_finds_what_is_popular() -> None:
    release = run(small_log(), Parameters(size=None), opt_in=0.2, random=KnownKey(1))
    assert {entry.query for entry in release.head_list.entries} == {f"q{i}" for i in range(5)}
    for row in release.records()[:5]:
        assert row.probability == pytest.approx(0.15, abs=0.05)
        assert row.low < row.probability < row.high
        assert row.url == f"http://{row.query}"
        assert 0 < row.weight_opt_in < 1
    assert sum(row.probability for row in release.records()) == pytest.approx(1)
    assert sum(row.probability for row in release.trends()) == pytest.approx(1)
    assert release.identity_gap < 1e-12
    assert release.check is not None
    assert 0 < (release.check.p_value or 0) <= 1
    assert [said.share for said in release.influence] == [0.001, 0.01, 0.05]
    assert all(0 < said.capped < 1.2 * said.clients for said in release.influence)


def test_published_queries_are_the_sums_of_their_published_records() -> None:
    for project in (True, False):
        outcome = simulate(small_log(), Parameters(project=project), opt_in=0.2, random=SimulationRandom(2))
        sums = np.bincount(outcome.head_list.query_of_cell, weights=outcome.cell_probability)
        assert np.abs(sums - outcome.query_probability).max() < 1e-12
        assert (outcome.cell_probability >= 0).all() or not project


def test_a_one_level_log_asks_everybody_for_the_record(seen: dict[str, list[Any]]) -> None:
    random = SimulationRandom(1)
    outcome = simulate(small_log(levels=1), Parameters(), opt_in=0.2, random=random)
    assert outcome.head_list.levels == 1
    assert outcome.query_reporters == 0
    (_, rows), (cells, own) = seen["subsets"]
    assert (len(rows), len(own)) == (0, outcome.groups.client)
    assert cells.items == 6
    assert "wildcards" not in seen
    ((list_maker, _),) = seen["list"]
    assert list_maker.wildcard_noise is None
    assert float(list_maker.noise.falling + list_maker.noise.rising) == pytest.approx(4 * 0.98)
    assert [row.url for row in outcome.records()] == [None] * 6
    assert [row.query for row in outcome.records()] == [row.query for row in outcome.trends()]
    assert np.array_equal(outcome.cell_probability, outcome.query_probability)
    assert only_stream(seen, random)


def test_many_records_take_the_filtered_union(seen: dict[str, list[Any]]) -> None:
    log, random = OwnRecords(), KnownKey(2)
    parameters = Parameters(opt_in_records="many", objective="long-list", size=None)
    release = run(log, parameters, opt_in=0.4, random=random)
    ((union, holdings),) = seen["union"]
    ((counts, sums),) = seen["union counts"]
    assert counts is union.counts
    cells = log.locate(release.head_list)[holdings.record]
    np.testing.assert_equal(sums, share_sums(holdings, cells, release.head_list.query_of_cell))
    assert union.budget == release.parameters.budget == Budget(4, 1e-5)
    assert (union.filter_share, union.list_share) == list_shares("long-list")
    assert holdings.people == len(seen["groups"][0].head_list) == release.groups.opt_in
    assert not {"list", "wildcards", "laplace"} & set(seen)
    assert release.guarantee.list_mechanism == union.description
    both = counts.clipped_noise.variance + counts.excess_noise.variance
    assert release.guarantee.noise_deviation == pytest.approx(math.sqrt(both) / SHARE_GRID)
    assert "q2000" in {entry.query for entry in release.head_list.entries}
    assert only_stream(seen, random)


@pytest.mark.parametrize("popular", [False, True])
def test_a_noisy_mean_decides_where_nothing_is_told(seen: dict[str, list[Any]], popular: bool) -> None:
    """Of the opt-in people's different records, 20 of a person at most, for 2 % of epsilon; the list has the rest."""
    rows = range(300 * 60)
    names = [f"q{i // 300 % (60 if popular else 2)}" for i in rows]
    table = pa.table({"user": [f"{i % 300}" for i in rows], "query": names})
    random = KnownKey(2)
    release = run(log_of_table(table), Parameters(size=None), opt_in=0.4, random=random)
    noise, number = seen["laplace"][0]
    assert (noise.rate, number) == ((Fraction(4) - Fraction(4 * 0.98)) / 20, 1)
    ((maker, _),) = seen["union" if popular else "list"]
    assert maker.budget == Budget(4 * 0.98, 1e-5)
    assert "after a noisy mean number of different records a person (ε = 0.08)" in release.guarantee.list_mechanism
    assert release.guarantee.epsilon == 4
    assert only_stream(seen, random)


def test_people_may_be_held_out_of_the_list(seen: dict[str, list[Any]]) -> None:
    log, random = OwnRecords(), KnownKey(2)
    release = run(log, Parameters(head_list_share=0.6, size=None), opt_in=0.4, random=random)
    groups = seen["groups"][0]
    assert (release.groups.head_list, release.groups.estimate) == (480, 320)
    ((list_maker, counts),) = seen["list"]
    assert np.array_equal(counts, counted(log, groups.head_list))
    assert list_maker.wildcard_noise is None  # the whole epsilon for the list
    assert not {"wildcards", "union", "union counts"} & set(seen)
    # the others are counted with noise of their own whole epsilon
    noise, number = seen["laplace"][-1]
    assert noise == DiscreteLaplace.for_counts(4, 1)
    assert number == 2 * release.candidates + 1
    assert release.opt_in.users == 320
    popular = release.head_list.cell_of("q2000", "u2000")
    assert release.opt_in.cells.probability[popular] == pytest.approx(0.5, abs=0.15)
    assert release.guarantee.noise_deviation == pytest.approx(math.sqrt(noise.variance))
    assert only_stream(seen, random)


def test_a_share_that_holds_out_nobody_is_refused() -> None:
    with pytest.raises(ParameterError, match="head_list_share"):
        simulate(small_log(), Parameters(head_list_share=0.9999), opt_in=0.2, random=SimulationRandom(1))


@pytest.mark.parametrize("randomiser", ["two-stage", "two-stage-tight"])
def test_the_published_randomisers_can_be_chosen(seen: dict[str, list[Any]], randomiser: str) -> None:
    random, parameters = SimulationRandom(1), Parameters(randomiser=randomiser, query_share=0.7)
    outcome = simulate(small_log(), parameters, opt_in=0.2, random=random)
    ((used, cells),) = seen["two-stage"]
    assert used.tight == (randomiser == "two-stage-tight")
    assert used.budget.epsilon == 4
    assert used.budget.delta == (0 if used.tight else 1e-5)
    assert used.query_share == 0.7
    assert len(cells) == outcome.groups.client
    assert "subsets" not in seen
    assert (outcome.check, outcome.influence, outcome.query_reporters) == (None, (), None)
    assert outcome.guarantee.client_epsilon_exact <= 4
    assert outcome.guarantee.client_delta == 0
    if used.tight:
        assert outcome.guarantee.client_epsilon_exact == pytest.approx(4, rel=1e-9)
    assert outcome.identity_gap < 1e-12
    listed = outcome.head_list.record_cells
    assert outcome.cell_probability[listed] == pytest.approx(np.full(5, 0.15), abs=0.05)
    assert only_stream(seen, random)


def sane(outcome: Outcome) -> None:
    assert np.isfinite(outcome.cell_probability).all()
    assert np.isfinite(outcome.cells.std_error).all()
    assert (outcome.cells.low <= outcome.cells.high).all()
    assert ((outcome.cells.weight_opt_in >= 0) & (outcome.cells.weight_opt_in <= 1)).all()
    assert outcome.cell_probability.sum() == pytest.approx(1)
    assert outcome.identity_gap < 1e-12
    assert str(outcome)
    assert outcome.guarantee.statement


@pytest.mark.parametrize("randomiser", ["split", "two-stage", "two-stage-tight"])
def test_nobody_opted_in(randomiser: str) -> None:
    log = small_log()
    outcome = simulate(log, Parameters(randomiser=randomiser), opt_in=marks(log, 0), random=SimulationRandom(1))
    assert outcome.head_list.records == 0
    assert outcome.query_probability.tolist() == [1.0]
    assert outcome.guarantee.client_epsilon_exact == 0
    assert outcome.cautions == ["No record passed the threshold: nobody opted in."]
    if randomiser == "split":
        assert outcome.check is not None
        assert outcome.check.p_value is None
        assert {said.clients for said in outcome.influence} == {0.0}


@pytest.mark.parametrize("randomiser", ["split", "two-stage", "two-stage-tight"])
@pytest.mark.parametrize("clients", [0, 1, 2, 3, 9, 15])
def test_few_or_no_clients(randomiser: str, clients: int) -> None:
    log = small_log()
    parameters = Parameters(randomiser=randomiser)
    outcome = simulate(log, parameters, opt_in=marks(log, log.users - clients), random=SimulationRandom(1))
    assert outcome.groups.client == clients
    sane(outcome)
    assert outcome.cells.weight_opt_in[:-1].min() > 0.9
    if not clients:
        assert (outcome.cells.weight_opt_in == 1).all()


def test_one_client_who_is_asked_for_the_query() -> None:
    log = small_log()
    parameters = Parameters(query_share=0.999999)
    outcome = simulate(log, parameters, opt_in=marks(log, log.users - 1), random=SimulationRandom(1))
    assert np.isnan(outcome.client.cells.probability).all()
    sane(outcome)
    assert outcome.check is not None
    assert outcome.check.p_value is None


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 20.0, 50.0])
def test_what_everybody_has_is_certain_enough(epsilon: float) -> None:
    """Noise may lead a probability above 1, in the opt-in group and in what is expected of the clients."""
    table = pa.table({"user": [str(i) for i in range(400)], "query": ["q"] * 400, "url": ["u"] * 400})
    log = log_of_table(table)
    for seed in range(8):
        outcome = simulate(log, Parameters(epsilon=epsilon), opt_in=0.3, random=SimulationRandom(seed))
        sane(outcome)
        assert outcome.records()[0].probability > 0.8


def test_few_opt_in_users_and_very_many_clients() -> None:
    """A list of one record that a dozen opt-in users chose; 20 000 clients at a large epsilon know it to 1 %."""
    users = 20_000
    names = ["q" if i % 2 else f"own {i}" for i in range(users)]
    log = log_of_table(pa.table({"user": [str(i) for i in range(users)], "query": names, "url": names}))
    outcome = simulate(log, Parameters(epsilon=8), opt_in=marks(log, 60), random=SimulationRandom(1))
    sane(outcome)
    row = outcome.records()[0]
    assert row.query == "q"
    assert row.probability == pytest.approx(0.5, abs=0.015)
    assert 0.003 < row.std_error < 0.006
    assert row.low < 0.5 < row.high
    assert row.weight_opt_in < 0.05


@pytest.mark.parametrize(
    ("method", "option", "value"),
    [
        ("published", "randomiser", "two-stage"),
        ("published", "prior", "none"),
        ("published", "influence_cap", 2.0),
        ("published", "influence_cap", None),
        ("published", "objective", "trends"),
        ("published", "head_list_share", 1.0),
        ("blendp", "variance", "journal"),
        ("blendp", "wildcard", "figure-4"),
        ("blendp", "client_records", 2),
    ],
)
def test_options_of_the_other_method_are_refused_in_one_sentence(method: str, option: str, value: object) -> None:
    with pytest.raises(ParameterError) as caught:
        Parameters(method=method, **{option: value})  # type: ignore[arg-type]
    said = str(caught.value)
    assert caught.value.parameter == option
    assert option in said
    assert repr(value) in said
    assert "method" in said
    assert "\n" not in said
    assert said.count(".") <= 5
    # and they are fine with their own
    other = "published" if method == "blendp" else "blendp"
    assert Parameters(method=other, **{option: value}).method == other  # type: ignore[arg-type]


@pytest.mark.parametrize(("levels", "prior", "cap"), [(2, "none", None), (1, "none", 2.0), (2, "power-law", 1.0)])
def test_prior_and_cap_can_be_chosen(levels: int, prior: str, cap: float | None) -> None:
    log: EmbeddedLog = small_log(levels=levels)
    outcome = simulate(log, Parameters(prior=prior, influence_cap=cap), opt_in=0.2, random=SimulationRandom(1))
    sane(outcome)
    same = [said.capped == said.blended for said in outcome.influence]
    assert all(same) == (cap is None)


@pytest.mark.parametrize("unit", ["record", "query"])
def test_the_list_is_trimmed_by_what_is_released(unit: str) -> None:
    outcome = simulate(small_log(), Parameters(size=2, trim_unit=unit), opt_in=0.2, random=SimulationRandom(1))
    assert outcome.candidates == 5
    assert (outcome.head_list.records, outcome.head_list.queries) == (2, 2)
    sane(outcome)
