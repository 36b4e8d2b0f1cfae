"""What shares of the clients promise: each error by matrices, one share at a time."""

import numpy as np
import pytest

from blendp.estimate import Posterior
from blendp.headlist import HeadList
from blendp.methods.query_share import predicted_errors
from blendp.reports import frequency_oracle
from tests.unit.estimate.test_split import by_matrix

LIST = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1")])
ROWS, CLIENTS = LIST.query_of_cell[:-1], 5_000


@pytest.mark.parametrize("oracle", ["split", "apart"])
def test_errors_are_those_of_least_squares(oracle: str) -> None:
    """Of nobody, of few and of most clients who report the query; records without the <q,*>, and all queries."""
    mean, deviation = np.array([0.1, 0.05, 0.02, 0.2, 0.03]), np.array([0.02, 0.01, 0.006, 0.03, 0.01])
    grid = mean[:, None] + deviation[:, None] * np.linspace(-4, 4, 400)
    posterior = Posterior(400, grid, -((grid - mean[:, None]) ** 2) / (2 * deviation[:, None] ** 2))
    queries, cells = (frequency_oracle(oracle, 2.0, items) for items in (3, 6))
    shares = [0.0, 0.1, 0.8]
    errors = predicted_errors(shares, posterior, queries, cells, LIST, CLIENTS)
    sums, rest = np.array([mean[:3].sum(), mean[3:].sum()]), 1 - mean.sum()
    for share, of_queries, of_records in zip(shares, *errors, strict=True):
        v = cells.variance(mean, round((1 - share) * CLIENTS), rest)
        v_y = queries.variance(sums, round(share * CLIENTS), rest) if share else np.full(2, 1e9)
        _, covariance = by_matrix(mean, 1 / (1 / posterior.variance + 1 / v), sums, v_y, ROWS)
        members = (np.arange(2)[:, None] == ROWS).astype(np.float64)
        assert of_queries == pytest.approx(np.sqrt(np.diag(members @ covariance @ members.T)).sum(), rel=1e-6)
        assert of_records == pytest.approx(np.sqrt(np.diag(covariance))[LIST.record_cells].sum(), rel=1e-6)
