"""The whole method on small logs: what it gives, its edge cases, and its types."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from blendp.engines import EmbeddedLog
from blendp.errors import ParameterError, RandomnessError
from blendp.logs import Columns, log_of_table
from blendp.logs.synthetic import population
from blendp.methods import Parameters, Release, Simulation, run, simulate
from blendp.randomness import SimulationRandom
from tests.support import KnownKey

PUBLISHED = Parameters(method="published")


@cache
def small_log(users: int = 4_000, levels: int = 2) -> EmbeddedLog:
    """Five popular records, and one of its own for every fourth user."""
    names = [f"q{i % 5}" if i % 4 else f"own {i}" for i in range(users)]
    columns = {"user": [f"u{i}" for i in range(users)], "query": names}
    if levels == 2:
        columns["url"] = ["http://" + name.replace(" ", ".") for name in names]
    return log_of_table(pa.table(columns))


@pytest.fixture(scope="module")
def aol() -> EmbeddedLog:
    return log_of_table(population("aol", users=60_000, records_per_user=3, seed=5).table())


def test_a_run_finds_what_is_popular() -> None:
    release = run(small_log(), Parameters(method="published", size=None), opt_in=0.2, random=KnownKey(1))
    assert isinstance(release, Release)
    assert {entry.query for entry in release.head_list.entries} == {f"q{i}" for i in range(5)}
    for row in release.records()[:5]:
        assert row.probability == pytest.approx(0.15, abs=0.05)
        assert row.low < row.probability < row.high
        assert row.url == f"http://{row.query}"
    assert release.records()[-1].query is None
    assert sum(row.probability for row in release.records()) == pytest.approx(1)
    assert sum(row.probability for row in release.trends()) == pytest.approx(1)
    assert release.identity_gap < 1e-12
    assert "q0" in str(release)


def test_the_same_seed_gives_the_same_simulation() -> None:
    log = small_log()
    first, second, other = (simulate(log, opt_in=0.2, random=SimulationRandom(s)) for s in (4, 4, 5))
    assert isinstance(first, Simulation)
    assert np.array_equal(first.cell_probability, second.cell_probability)
    assert not np.array_equal(first.cell_probability, other.cell_probability)


def test_a_release_refuses_simulated_randomness() -> None:
    with pytest.raises(RandomnessError):
        run(small_log(), opt_in=0.2, random=SimulationRandom(1))  # type: ignore[arg-type]


@pytest.mark.parametrize(("opt_in_records", "client_records"), [(1, 1), (2, 1), (1, 3), (3, 2)])
@pytest.mark.parametrize("variance", ["mended", "journal", "conference"])
@pytest.mark.parametrize("wildcard", ["shared", "figure-4"])
def test_every_m_and_every_option_runs_and_keeps_the_identity(
    aol: EmbeddedLog, opt_in_records: int, client_records: int, variance: str, wildcard: str
) -> None:
    parameters = Parameters(
        method="published",
        opt_in_records=opt_in_records,
        client_records=client_records,
        variance=variance,
        wildcard=wildcard,
        size=8,
    )
    outcome = simulate(aol, parameters, opt_in=0.3, random=SimulationRandom(1))
    assert outcome.head_list.records == 8
    assert outcome.identity_gap < 1e-12
    assert np.isfinite(outcome.cell_probability).all()
    if variance == "mended":
        assert np.isfinite(outcome.cells.std_error).all()
        assert ((outcome.cells.weight_opt_in >= 0) & (outcome.cells.weight_opt_in <= 1)).all()
    assert outcome.client.users == 42_000
    if wildcard == "figure-4":
        stars = np.setdiff1d(np.arange(outcome.head_list.cells - 1), outcome.head_list.record_cells)
        assert (outcome.cells.weight_opt_in[stars] == 0).all()


def test_trimming_by_query_counts_queries(aol: EmbeddedLog) -> None:
    outcome = simulate(
        aol, Parameters(method="published", size=4, trim_unit="query"), opt_in=0.3, random=SimulationRandom(1)
    )
    assert outcome.head_list.queries == 4


def test_an_empty_head_list_is_a_result() -> None:
    outcome = simulate(
        small_log(200), Parameters(method="published", delta=1e-12), opt_in=0.05, random=SimulationRandom(1)
    )
    assert outcome.head_list.records == 0
    assert [(row.query, row.probability) for row in outcome.records()] == [(None, 1.0)]
    assert outcome.trends()[0].std_error == 0
    assert outcome.guarantee.client_epsilon_exact == 0


def test_a_one_level_log_gives_trends() -> None:
    outcome = simulate(small_log(levels=1), PUBLISHED, opt_in=0.2, random=SimulationRandom(1))
    assert outcome.head_list.levels == 1
    assert [row.url for row in outcome.records()] == [None] * 6
    assert {row.query for row in outcome.trends()} == {"q0", "q1", "q2", "q3", "q4", None}
    assert [row.query for row in outcome.records()] == [row.query for row in outcome.trends()]
    assert outcome.guarantee.client_epsilon_exact == pytest.approx(4, abs=1e-3)
    assert "e^4, plus at most 5e-06" in outcome.guarantee.statement


def marks(log: EmbeddedLog, opted: int) -> np.ndarray:
    return np.arange(log.users) < opted


def test_nobody_left_to_estimate_for_the_opt_in_group() -> None:
    """f_O so large that T is empty: the clients have all the weight."""
    outcome = simulate(
        small_log(), Parameters(method="published", head_list_share=0.9999), opt_in=0.2, random=SimulationRandom(1)
    )
    assert outcome.groups.estimate == 0
    assert (outcome.cells.weight_opt_in == 0).all()
    assert np.isfinite(outcome.cells.std_error).all()


def test_one_opt_in_user_who_estimates_knows_no_error() -> None:
    outcome = simulate(
        small_log(), Parameters(method="published", head_list_share=0.9985), opt_in=0.2, random=SimulationRandom(1)
    )
    assert outcome.groups.estimate == 1
    assert (outcome.cells.weight_opt_in == 0).all()


def test_no_client() -> None:
    log = small_log()
    outcome = simulate(log, PUBLISHED, opt_in=marks(log, log.users), random=SimulationRandom(1))
    assert outcome.groups.client == 0
    assert (outcome.cells.weight_opt_in == 1).all()
    assert np.isfinite(outcome.cells.std_error).all()
    assert outcome.identity_gap == 0


def test_one_client() -> None:
    log = small_log()
    outcome = simulate(log, PUBLISHED, opt_in=marks(log, log.users - 1), random=SimulationRandom(1))
    assert outcome.groups.client == 1
    assert (outcome.cells.weight_opt_in == 1).all()


def test_no_opt_in_user_gives_an_empty_list() -> None:
    log = small_log()
    outcome = simulate(log, PUBLISHED, opt_in=marks(log, 0), random=SimulationRandom(1))
    assert outcome.head_list.records == 0
    assert outcome.query_probability.tolist() == [1.0]


def test_a_listed_query_that_no_estimating_opt_in_user_holds() -> None:
    """T has two people at most; the estimates of what they do not hold are noise around 0, with its error."""
    outcome = simulate(
        small_log(), Parameters(method="published", head_list_share=0.9972), opt_in=0.2, random=SimulationRandom(3)
    )
    assert outcome.groups.estimate == 2
    assert np.isfinite(outcome.cells.probability).all()
    assert outcome.cells.weight_opt_in.max() < 0.05


def test_somebody_has_to_opt_in() -> None:
    with pytest.raises(ParameterError, match="opt_in"):
        simulate(small_log(), random=SimulationRandom(1))


def test_cautions_name_what_a_reader_should_know() -> None:
    log = small_log(200)
    careful = simulate(small_log(), Parameters(method="published", delta=1e-6), opt_in=0.2, random=SimulationRandom(1))
    assert careful.cautions == []
    careless = Parameters(method="published", delta=1e-2, epsilon=12, variance="journal")
    cautions = " ".join(simulate(log, careless, opt_in=0.2, random=SimulationRandom(1)).cautions)
    for phrase in ("δ = 0.01 is not below one over the 200 people", "epsilon = 12", "journal formulas"):
        assert phrase in cautions
    nobody = simulate(log, PUBLISHED, opt_in=marks(log, 0), random=SimulationRandom(1))
    assert nobody.cautions == ["No record passed the threshold: nobody opted in."]


def test_what_is_no_log_and_what_is_no_seeded_randomness_is_refused() -> None:
    with pytest.raises(ParameterError, match="open_log"):
        run("log.csv", opt_in=0.2)  # type: ignore[arg-type]
    with pytest.raises(RandomnessError, match="not for experiments"):
        simulate(small_log(), opt_in=0.2, random=KnownKey(1))  # type: ignore[arg-type]


def test_the_logs_own_marks_are_used_and_not_overridden() -> None:
    table = pa.table(
        {"user": ["a", "b", "c"] * 20, "query": ["x"] * 60, "url": ["y"] * 60, "staff": ["yes", "no", "yes"] * 20}
    )
    log = log_of_table(table, columns=Columns(opt_in="staff"))
    outcome = simulate(log, random=SimulationRandom(1))
    assert (outcome.groups.opt_in, outcome.groups.client) == (2, 1)
    with pytest.raises(ParameterError, match="opt-in column"):
        simulate(log, opt_in=0.5, random=SimulationRandom(1))


def test_control_characters_do_not_reach_the_terminal() -> None:
    table = pa.table({"user": [str(i) for i in range(500)], "query": ["\x1b[31mred"] * 500, "url": ["u"] * 500})
    printed = str(simulate(log_of_table(table), opt_in=0.5, random=SimulationRandom(1)))
    assert "\\x1b[31mred" in printed
    assert "\x1b" not in printed


def test_outcomes_are_compared_by_identity() -> None:
    log = small_log()
    first, second = (simulate(log, opt_in=0.2, random=SimulationRandom(4)) for _ in range(2))
    assert first == first
    assert first != second
    assert len({first, second}) == 2
