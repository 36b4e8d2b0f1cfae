"""What the table of listed queries is computed from."""

import pytest

from benchmarks.listed_queries import measure
from blendp.evaluation.drawn_people import RecordLaw
from blendp.logs import log_of_table
from blendp.logs.synthetic import population
from blendp.methods import Parameters


def test_queries_are_told_apart_by_their_urls() -> None:
    law = RecordLaw(log_of_table(population("aol", 20_000, seed=3).table()))
    parameters = Parameters(epsilon=4, delta=1e-3, opt_in_records=1, size=None)
    lists = measure(law, 20_000, 0.2, parameters, 3, 1)
    records, queries, bare, true_queries = lists.numbers.mean(axis=0)
    assert 0 < bare < queries <= records + bare
    assert true_queries <= queries
    assert lists.total_noise == pytest.approx(parameters.list_maker(2).count_noise.variance ** 0.5)  # type: ignore[union-attr]
    assert str(lists).count("|") == 9
