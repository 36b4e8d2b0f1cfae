"""The client stage keeps its ratio to a bare randomised response measured in the same run."""

from benchmarks.client_stage import GOAL, measure


def test_the_client_stage_costs_at_most_three_bare_responses() -> None:
    for queries in (38, 380):
        row = measure(queries, clients=300_000, repeats=25)
        assert row["ratio"] < GOAL, row
