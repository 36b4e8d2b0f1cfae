"""Reports that are added up, as a split and as a tally; sums of another list or another kind are refused."""

import numpy as np
import pytest

from blendp.errors import ParameterError
from blendp.estimate import Split, Tally
from blendp.headlist import HeadList
from blendp.privacy import Budget
from blendp.randomness import SimulationRandom
from blendp.reports import ReportSums, report_scheme

LIST = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1"), ("c", "1")])
OTHER = HeadList.of_records([("a", "1"), ("a", "3"), ("b", "1"), ("c", "1")])
ONE = np.array([[2, 2, 5]])


def sums(randomiser: str, clients: int = 60, each: int = 1) -> ReportSums:
    scheme = report_scheme(LIST, randomiser, Budget(4, 0.0), 0.4, each)
    cells = SimulationRandom(1).below(LIST.cells, clients * each).reshape(clients, each)
    return scheme.draw(cells, SimulationRandom(2))


@pytest.mark.parametrize("randomiser", ["split", "apart"])
def test_a_split_has_both_arms_of_the_sums(randomiser: str) -> None:
    added = sums(randomiser)
    split = Split.of_sums(added, LIST)
    for arm, question, items in ((split.queries, "query", 4), (split.cells, "record", 8)):
        assert arm.users == added.reports[question]
        assert arm.supports.tolist() == added.supports[question].tolist()
        assert arm.randomiser.items == items
    assert split.users == 60
    assert np.array_equal(split.query_of_cell, LIST.query_of_cell)


def test_a_tally_has_the_shares_of_reports_and_of_their_products() -> None:
    single = sums("two-stage")
    tally = Tally.of_sums(single, LIST)
    assert tally.cell.tolist() == (single.supports["cell"] / 60).tolist()
    assert (tally.users, tally.per_user) == (60, 1)
    several = sums("two-stage", each=3)
    assert several.repeats is not None
    tally = Tally.of_sums(several, LIST)
    assert (tally.users, tally.per_user) == (60, 3)
    assert tally.cell == pytest.approx(several.supports["cell"] / 180)
    assert tally.query == pytest.approx(np.bincount(LIST.query_of_cell, weights=several.supports["cell"]) / 180)
    assert tally.cell_square == pytest.approx(several.repeats.cell_squares / (60 * 9))
    assert tally.query_square == pytest.approx(several.repeats.query_squares / (60 * 9))
    assert tally.cross == pytest.approx(several.repeats.products / (60 * 9))


def test_a_tally_of_one_client_and_of_none() -> None:
    nobody = Tally.of_sums(sums("two-stage", 0, 3), LIST)
    assert (nobody.users, nobody.cell.tolist()) == (0, [0] * LIST.cells)
    for one in (Tally.of_sums(sums("two-stage", 1, 3), LIST), Tally.of_reports(ONE, LIST.cells_per_query)):
        assert (one.users, one.per_user) == (1, 3)
        assert one.cell.sum() == pytest.approx(1)
        assert one.cell_square == pytest.approx(one.cell**2)


def test_sums_of_another_list_or_another_kind_are_refused() -> None:
    for make, fitting, other, remedy in (
        (Split, "split", "two-stage", "A Tally is made"),
        (Tally, "two-stage", "split", "A Split is made"),
    ):
        with pytest.raises(ParameterError, match="about this list"):
            make.of_sums(sums(fitting), OTHER)
        with pytest.raises(ParameterError, match=remedy):
            make.of_sums(sums(other), LIST)
