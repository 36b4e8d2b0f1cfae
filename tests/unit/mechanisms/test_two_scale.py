"""Counts on two scales: how far one person moves them, what they add up, and their noise."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from blendp.errors import ParameterError
from blendp.mechanisms import Holdings, RoundedGaussian
from blendp.mechanisms.filtered_union import CountsOfShares, TwoScaleCounts
from blendp.mechanisms.filtered_union.two_scale import CLIP, SHARE_GRID
from blendp.randomness import SimulationRandom
from tests.support import KnownKey, goodness
from tests.unit.mechanisms.filtered_law import NOISES, silenced

COUNTS = TwoScaleCounts(Fraction(2, 5))
QUIET = silenced(COUNTS)
Person = dict[int, int]
"""How often a person has each record."""


def holding(people: Sequence[Person]) -> Holdings:
    rows = [(i, record, times) for i, person in enumerate(people) for record, times in sorted(person.items())]
    owner, record, times = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Holdings(len(people), owner.copy(), record.copy(), times.copy(), np.zeros(len(rows), dtype=bool))


def counted(people: Sequence[Person], cells: NDArray[np.int64], queries: NDArray[np.int64]) -> CountsOfShares:
    rows = holding(people)
    return QUIET.draw(rows, cells[rows.record], queries, SimulationRandom(0))


@st.composite
def lists(draw: st.DrawFn, records: int = 8) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cell of every record, and the query of every cell; the last of both stand for all that is not listed."""
    cells = draw(st.integers(1, 6))
    queries = sorted(draw(st.lists(st.integers(0, 3), min_size=cells - 1, max_size=cells - 1)))
    cell = draw(st.lists(st.integers(0, cells - 1), min_size=records, max_size=records))
    return np.array(cell), np.array([*queries, 4])


PERSON = st.dictionaries(st.integers(0, 7), st.one_of(st.integers(1, 30), st.integers(1, 1 << 46)), max_size=8)


@given(PERSON, PERSON, lists())
def test_two_people_are_apart_as_the_noise_assumes(
    one: Person, other: Person, listed: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> None:
    """In exact arithmetic, and all together at most mu^2 when measured in the noise."""
    a, b = (counted([person], *listed) for person in (one, other))
    for each in (a, b):
        assert (each.clipped >= 0).all()
        assert (each.excess >= 0).all()
        assert int((each.clipped**2).sum()) <= CLIP**2
        assert int((each.excess**2).sum()) <= (SHARE_GRID - CLIP) ** 2
        assert 0 <= each.cell_dispersion <= SHARE_GRID
        assert 0 <= each.query_dispersion <= SHARE_GRID
    squares = (
        int(((a.clipped - b.clipped) ** 2).sum()) / COUNTS.clipped_noise.sigma**2,
        int(((a.excess - b.excess) ** 2).sum()) / COUNTS.excess_noise.sigma**2,
        (a.cell_dispersion - b.cell_dispersion) ** 2 / COUNTS.dispersion_noise.sigma**2,
        (a.query_dispersion - b.query_dispersion) ** 2 / COUNTS.dispersion_noise.sigma**2,
    )
    assert sum(squares) <= COUNTS.mu_squared


def test_the_bound_is_reached() -> None:
    """All in one cell against all in another for the sums, against nothing for the dispersions."""
    cells, queries = np.array([0, 1, 2]), np.array([0, 1, 2])
    one, other, nothing = (counted([person], cells, queries) for person in ({0: 3}, {1: 5}, {2: 1}))
    assert int(((one.clipped - other.clipped) ** 2).sum()) == 2 * CLIP**2
    assert int(((one.excess - other.excess) ** 2).sum()) == 2 * (SHARE_GRID - CLIP) ** 2
    assert one.cell_dispersion - nothing.cell_dispersion == SHARE_GRID
    assert one.query_dispersion - nothing.query_dispersion == SHARE_GRID


def test_many_small_shares_that_all_round_up_are_cut_all_the_same() -> None:
    """1,500 cells with 1/1500 of the occurrences each, rounded up to 1/1024."""
    records = 1_500
    counts = counted([dict.fromkeys(range(records), 1)], np.arange(records), np.append(np.arange(records), records))
    assert (counts.clipped == 1).all()
    assert (counts.excess == 0).all()
    assert counts.cell_dispersion == records // SHARE_GRID
    one_query = np.append(np.zeros(records, dtype=np.int64), 1)
    assert counted([dict.fromkeys(range(records), 1)], np.arange(records), one_query).query_dispersion == SHARE_GRID


@given(st.lists(PERSON, max_size=6), lists())
def test_sums_are_those_of_a_loop(people: list[Person], listed: tuple[NDArray[np.int64], NDArray[np.int64]]) -> None:
    cell_of, queries = listed
    cells = len(queries)
    clipped, excess, dispersions = [0] * (cells - 1), [0] * (cells - 1), [0, 0]
    for person in people:
        total = sum(person.values())
        for scale, last in ((0, cells - 1), (1, 4)):
            shares: dict[int, int] = {}
            for record, times in person.items():
                part = int(cell_of[record]) if scale == 0 else int(queries[cell_of[record]])
                shares[part] = shares.get(part, 0) + times
            y = {j: math.floor(Fraction(SHARE_GRID * n, total) + Fraction(1, 2)) for j, n in shares.items() if j < last}
            square = sum(v * v for v in y.values())
            dispersions[scale] += min(SHARE_GRID, square // SHARE_GRID)
            if scale == 0:
                for j, v in y.items():
                    z = math.isqrt(v * v * CLIP**2 // square) if square > CLIP**2 else v
                    clipped[j] += z
                    excess[j] += v - z
    counts = counted(people, cell_of, queries)
    assert counts.clipped.tolist() == clipped
    assert abs(counts.excess - np.array(excess, dtype=np.int64)).sum() <= len(people) * cells
    if len(people) == 1 and sum(x * x for x in excess) <= (SHARE_GRID - CLIP) ** 2:
        assert counts.excess.tolist() == excess
    assert [counts.cell_dispersion, counts.query_dispersion] == dispersions


@given(st.fractions(Fraction(1, 1000), 100))
def test_the_budget_adds_up(mu_squared: Fraction) -> None:
    counts = TwoScaleCounts(mu_squared)
    lengths = (CLIP, SHARE_GRID - CLIP, SHARE_GRID)
    spent = sum(2 * length**2 / getattr(counts, name).sigma ** 2 for name, length in zip(NOISES, lengths, strict=True))
    assert Fraction(999, 1000) * mu_squared < spent <= mu_squared


@pytest.mark.statistical
def test_sums_have_the_noise_they_claim_and_no_other() -> None:
    cells, repeats = 20_000, 300
    queries = np.append(np.zeros(cells, dtype=np.int64), 1)
    people: list[Person] = [{0: 1, 1: 1}, {1: 1}, {}]
    counts, random = TwoScaleCounts(Fraction(2000)), KnownKey(4)  # little noise, so that its law has few values
    rows = holding(people)
    drawn, truth = counts.draw(rows, rows.record, queries, random), counted(people, np.arange(cells + 1), queries)
    for name, noise in (("clipped", counts.clipped_noise), ("excess", counts.excess_noise)):
        errors = getattr(drawn, name) - getattr(truth, name)
        reach = math.ceil(5 * noise.sigma)
        values = np.bincount(np.clip(errors, -reach, reach) + reach, minlength=2 * reach + 1)
        for factor, fits in ((1, True), (Fraction(7, 10), False), (Fraction(13, 10), False)):
            law = RoundedGaussian(noise.sigma * factor)
            inner, tail = law.probability(np.arange(1 - reach, reach)), law.at_least(reach)
            assert (goodness(values, np.concatenate([[tail], inner, [tail]])) > 1e-4) == fits
    assert abs(np.corrcoef(drawn.clipped - truth.clipped, drawn.excess - truth.excess)[0, 1]) < 4.5 / math.sqrt(cells)
    few = np.array([0, 1])
    errors = np.array(
        [COUNTS.draw(rows, np.zeros_like(rows.record), few, random)[2:] for _ in range(repeats)]
    ) - 2 * np.array([SHARE_GRID, SHARE_GRID])
    sigma = float(COUNTS.dispersion_noise.sigma)
    assert stats.kstest(errors.ravel(), "norm", (0, sigma)).pvalue > 1e-4
    for wrong in (0.7, 1.3):
        assert stats.kstest(errors.ravel(), "norm", (0, wrong * sigma)).pvalue < 1e-4
    assert abs(np.corrcoef(errors.T)[0, 1]) < 4.5 / math.sqrt(repeats)


def test_an_empty_list_has_dispersions_alone() -> None:
    clipped, excess, of_cells, of_queries = counted([{0: 2}, {}], np.zeros(1, dtype=np.int64), np.array([0]))
    assert len(clipped) == len(excess) == of_cells == of_queries == 0
    nobody = counted([], np.zeros(1, dtype=np.int64), np.array([0, 1]))
    assert nobody.clipped.tolist() == [0]


@pytest.mark.parametrize("cells", [[0, 3], [-1, 0], [0], [[0, 1]]])
def test_cells_out_of_range_are_refused(cells: object) -> None:
    rows = holding([{0: 1}, {1: 2}])
    with pytest.raises(ParameterError, match="cell_of_row"):
        COUNTS.draw(rows, np.array(cells), np.arange(3), SimulationRandom(0))


@pytest.mark.parametrize("queries", [[0, 1, 1], [2, 1, 0], [-1, 0, 1]])
def test_queries_that_are_not_a_lists_are_refused(queries: list[int]) -> None:
    rows = holding([{0: 1}, {1: 2}])
    with pytest.raises(ParameterError, match="query_of_cell"):
        COUNTS.draw(rows, rows.record, np.array(queries), SimulationRandom(0))


@pytest.mark.parametrize("budget", [Fraction(0), Fraction(-1)])
def test_no_budget_no_counts(budget: Fraction) -> None:
    with pytest.raises(ParameterError, match="mu_squared"):
        TwoScaleCounts(budget)
