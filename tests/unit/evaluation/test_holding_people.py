"""People drawn with all their records: what they hold, what is drawn of it, and the same results as on logs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from blendp.errors import ParameterError
from blendp.evaluation.drawn_people import RecordLaw
from blendp.evaluation.holding_people import OptInHoldings, SyntheticPeople, holdings_of, rows_of
from blendp.evaluation.law_records import LawRecords
from blendp.logs import log_of_table
from blendp.logs.synthetic import Population, law, population
from blendp.mechanisms.filtered_union.holdings import MAX_DIFFERENT
from blendp.methods import GroupSizes, Parameters, Simulation, simulate, simulate_people
from blendp.randomness import SimulationRandom

OWNER, RECORD = np.array([0, 0, 0, 2, 2, 3]), np.array([5, 5, 7, 1, 0, 5])


def test_holdings_count_what_people_have() -> None:
    holdings = holdings_of(OWNER, RECORD, 5, np.random.default_rng(1))
    rows = zip(holdings.owner.tolist(), holdings.record.tolist(), holdings.occurrences.tolist(), strict=True)
    assert list(rows) == [(0, 5, 2), (0, 7, 1), (2, 0, 1), (2, 1, 1), (3, 5, 1)]
    assert holdings.kept.all()
    assert holdings.totals.tolist() == [3, 0, 2, 1, 0]


def test_a_person_keeps_so_many_different_records_and_each_as_likely() -> None:
    owner, record = np.repeat([0, 1], [MAX_DIFFERENT + 25, 10]), np.append(np.arange(MAX_DIFFERENT + 25), np.arange(10))
    runs = [holdings_of(owner, record, 2, np.random.default_rng(seed)) for seed in range(400)]
    assert {int(run.kept[: MAX_DIFFERENT + 25].sum()) for run in runs} == {MAX_DIFFERENT}
    assert all(run.kept[MAX_DIFFERENT + 25 :].all() for run in runs)
    often = np.sum([run.kept[: MAX_DIFFERENT + 25] for run in runs], axis=0)
    assert stats.chisquare(often).pvalue > 1e-4


@pytest.mark.statistical
def test_rows_are_uniform_choices_repeated_in_turn() -> None:
    """Of three occurrences two different ones; of two or one both in turn; of none the wildcard."""
    generator = np.random.default_rng(2)
    seen = [rows_of(OWNER, RECORD, 5, 2, generator) for _ in range(3_000)]
    assert {tuple(rows[1]) for rows in seen} == {(-1, -1)} == {tuple(rows[4]) for rows in seen}
    assert {tuple(rows[3]) for rows in seen} == {(5, 5)}
    for person, law_of in ((0, {(5, 5): 1 / 3, (5, 7): 1 / 3, (7, 5): 1 / 3}), (2, {(0, 1): 1 / 2, (1, 0): 1 / 2})):
        counts = Counter(tuple(rows[person].tolist()) for rows in seen)
        assert set(counts) == set(law_of)
        assert stats.chisquare([counts[pair] for pair in law_of], [3_000 * p for p in law_of.values()]).pvalue > 1e-4
    (once,) = {tuple(np.sort(rows_of(OWNER, RECORD, 5, 4, generator)[2]).tolist()) for _ in range(50)}
    assert once == (0, 0, 1, 1)


def drawn(people: int = 4_000, mean: float = 5.0) -> OptInHoldings:
    source = SyntheticPeople(Population("aol", people, mean, habits=True))
    return source.draw(people, 0.25, SimulationRandom(3))


def test_groups_rows_and_holdings_fit_each_other() -> None:
    parameters = Parameters(method="published", opt_in_records=4, head_list_share=0.9)
    people = drawn().ask(parameters, SimulationRandom(4))
    assert people.sizes == GroupSizes(900, 100, 3_000)
    assert people.list_records().shape == (900, 4)
    holdings = people.holdings()
    assert holdings.people == 900
    assert people.record_counts().tolist() == holdings.totals.tolist()
    pairs = set(zip(holdings.owner.tolist(), holdings.record.tolist(), strict=True))
    rows = people.list_records().tolist()
    assert {(person, record) for person, row in enumerate(rows) for record in row} <= pairs
    assert drawn().ask(Parameters(), SimulationRandom(4)).sizes.estimate == 0
    assert (people.levels, people.distinct_records) == (2, people.drawn.law.log.distinct_records)


def test_cells_are_those_of_the_rows() -> None:
    parameters = Parameters(method="published", opt_in_records=4, head_list_share=0.9)
    random = SimulationRandom(4)
    people = drawn().ask(parameters, random)
    head_list = simulate_people(people, parameters, random).head_list
    first = people.texts(people.occurrences[:1].ravel())
    assert people.list_cells(head_list)[0].tolist() == [head_list.cell_of(*text) for text in first]
    assert people.list_cells(head_list).shape == (900, 4)
    assert people.estimate_cells(head_list).shape == (100, 4)


@pytest.mark.parametrize(("people", "opt_in", "named"), [(0, 0.1, "people"), (10, 1.0, "opt_in")])
def test_impossible_groups_are_refused(people: int, opt_in: float, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        SyntheticPeople(population("aol", 10)).draw(people, opt_in, SimulationRandom(1))


def test_clients_report_about_one_record() -> None:
    with pytest.raises(ParameterError, match="client_records"):
        drawn(100).ask(Parameters(method="published", client_records=2), SimulationRandom(1))
    holdings = holdings_of(OWNER, RECORD, 5, np.random.default_rng(1))
    with pytest.raises(ParameterError, match="clients"):
        OptInHoldings(RecordLaw(LawRecords.of_ranks(law("aol"), OWNER)), holdings, -1)


def figures(outcome: Simulation) -> tuple[float, ...]:
    google = [entry.query for entry in outcome.head_list.entries].index("google")
    return (
        outcome.candidates,
        float(outcome.query_probability[google]),
        float(outcome.opt_in.queries.probability[google]),
        float(outcome.client.queries.probability[google]),
    )


def at_once(people: Population, parameters: Parameters, seed: int) -> tuple[float, ...]:
    random = SimulationRandom(seed)
    asked = SyntheticPeople(people).draw(people.users, 0.5, random).ask(parameters, random)
    return figures(simulate_people(asked, parameters, random))


@pytest.mark.statistical
def test_results_are_those_of_logs() -> None:
    """Length of the list and estimates of a popular query have the same law on logs of the same population."""
    ways = [Parameters(opt_in_records=records, epsilon=3.0, size=12) for records in (1, "many")]
    users, runs = 6_000, 25
    logs = [log_of_table(Population("aol", users, 5.0, seed, habits=True).table()) for seed in range(runs)]
    for way in ways:
        on_logs = [
            figures(simulate(log, way, opt_in=0.5, random=SimulationRandom(seed))) for seed, log in enumerate(logs)
        ]
        people = Population("aol", users, 5.0, habits=True)
        drawn_anew = [at_once(people, way, 1_000 + seed) for seed in range(runs)]
        for one, other in zip(np.transpose(on_logs), np.transpose(drawn_anew), strict=True):
            assert stats.ttest_ind(one, other, equal_var=False).pvalue > 0.002 / 16  # so many are asked
            assert stats.ks_2samp(one, other).pvalue > 0.002 / 16
    fewer = Population("aol", users, 1.5, habits=True)
    lengths = [at_once(fewer, ways[1], 2_000 + seed)[0] for seed in range(runs)]
    assert stats.ttest_ind([one[0] for one in on_logs], lengths, equal_var=False).pvalue < 1e-6
