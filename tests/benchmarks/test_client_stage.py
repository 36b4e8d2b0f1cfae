"""The client stage keeps its ratio to a bare randomised response measured in the same run."""

import pytest

from benchmarks.client_stage import GOAL, QUERIES, measure


@pytest.mark.parametrize("queries", QUERIES)
def test_the_client_stage_costs_at_most_three_bare_responses(queries: int) -> None:
    """The best of three tries, since other tests run beside it."""
    ratios = [measure(queries, clients=300_000, repeats=15)["ratio"] for _ in range(3)]
    assert min(ratios) < GOAL
