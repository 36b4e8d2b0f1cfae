"""The published method's reports: a cell of the list by the two-stage randomiser, or by its tight version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError, require_count
from blendp.headlist import HeadList
from blendp.mechanisms import TwoStage
from blendp.privacy import Budget
from blendp.randomness import Random
from blendp.randomness.random import COIN_BITS
from blendp.reports.list_scheme import ListScheme
from blendp.reports.names import PUBLISHED_QUERY_SHARE
from blendp.reports.question import Question, SingleItem
from blendp.reports.report import Report
from blendp.reports.scheme import Likelihood, likeliest_first, worst_ratio
from blendp.reports.sums import Repeats, ReportSums


def two_stage_randomiser(
    budget: Budget, cells_per_query: NDArray[np.int64], query_share: float, tight: bool = False
) -> TwoStage:
    """The randomiser of one report about a list with so many cells for each query."""
    return TwoStage(budget, cells_per_query, query_share, tight)


def cell_questions(head_list: HeadList) -> dict[str, Question]:
    """What the published method asks about a list."""
    return {"cell": Question("cell", (SingleItem(head_list.cells),))}


@dataclass(frozen=True)
class TwoStageScheme(ListScheme):
    """Reports that each name one cell.

    where:
        budget            is what all reports of one client may cost together,
        query_share       is f_C, the share of a report's budget that protects the query,
        tight             is whether the URL stage is raised until the whole epsilon is spent; delta is 0 then,
        records_per_user  is how many reports a client sends, each with an equal part of the budget.
    """

    head_list: HeadList
    budget: Budget
    query_share: float = PUBLISHED_QUERY_SHARE
    tight: bool = False
    records_per_user: int = 1

    def __post_init__(self) -> None:
        """Refuse what no randomiser takes."""
        require_count("records_per_user", self.records_per_user, min_value=1, remedy="1 is the published choice.")
        self.randomiser  # noqa: B018

    @cached_property
    def report_budget(self) -> Budget:
        """What one report may cost."""
        share = self.budget.share(1 / self.records_per_user)
        return Budget(share.epsilon, 0.0) if self.tight else share

    @cached_property
    def randomiser(self) -> TwoStage:
        """What makes one report."""
        return two_stage_randomiser(self.report_budget, self.head_list.cells_per_query, self.query_share, self.tight)

    @cached_property
    def questions(self) -> Mapping[str, Question]:
        """The cell of a record."""
        return cell_questions(self.head_list)

    def chance(self, question: str) -> Fraction:
        """Everybody is asked for the cell."""
        return Fraction(int(question == "cell"))

    def asked(self, random: Random) -> str:  # noqa: ARG002
        """Everybody is asked for the cell."""
        return "cell"

    def encoded(self, question: str, cell: int, random: Random) -> bytes:
        """The number of the reported cell."""
        return self.questions[question].encode([self.randomiser.draw([cell], random).tolist()])

    def numbers(self) -> Iterator[str]:
        """The number of cells and the query's coin, then the URL's coin for every query; coins over 2^53."""
        yield f"cell {1 << COIN_BITS} {self.cells} 1 {self.randomiser.query_coin}"
        yield " ".join(["urls", *map(str, self.randomiser.url_coins.tolist())])

    def likelihoods(self, report: Report) -> tuple[Likelihood, ...]:
        """Three numbers: for the cell that the report names, for other cells of its query, and for other queries."""
        self.require(report)
        ((cell,),) = self.questions["cell"].decode(report.data)
        row = int(self.head_list.query_of_cell[cell])
        own, sibling, stranger = self.randomiser.cell_probabilities()[row]
        same = self.head_list.query_of_cell == row
        itself = np.arange(self.head_list.cells) == cell
        return likeliest_first(
            [
                Likelihood("the record that it names", np.flatnonzero(itself), own),
                Likelihood("another URL of the query that it names", np.flatnonzero(same & ~itself), sibling),
                Likelihood("another query", np.flatnonzero(~same), stranger),
            ]
        )

    def ratio(self) -> Fraction:
        """That of one report."""
        return worst_ratio(set(self.randomiser.cell_probabilities()))

    def delta(self) -> float:
        """The exact delta of one report at its part of epsilon."""
        return self.randomiser.delta_at(self.report_budget.epsilon)

    def draw(self, cells: NDArray[np.int64], random: Random) -> ReportSums:
        """The sums of what people send who hold these cells, a row for each."""
        return self.sums_of_cells(self.randomiser.draw(cells.ravel(), random).reshape(cells.shape))

    def draw_from_law(self, clients: int, law: NDArray[np.float64], generator: np.random.Generator) -> ReportSums:
        """Multinomials over the randomiser's channel; for one report of each client."""
        self._require_single()
        holders = generator.multinomial(clients, law)
        reported = generator.multinomial(holders, self.randomiser.channel()).sum(axis=0)
        return ReportSums(self.list_sha256, self.questions, {"cell": clients}, {"cell": reported})

    def count_clients(self, clients: Iterable[Sequence[Report]]) -> ReportSums:
        """Add up the reports of whole clients, ``records_per_user`` of each."""
        rows = [tuple(reports) for reports in clients]
        for reports in rows:
            if len(reports) != self.records_per_user:
                legal = f"{self.records_per_user} of every client"
                raise ParameterError("reports", len(reports), legal, "Count whole clients alone.")
            for report in reports:
                self.require(report)
        cells = self.questions["cell"].numbers([report.data for reports in rows for report in reports])
        return self.sums_of_cells(cells.reshape(-1, self.records_per_user))

    def sums_of_cells(self, reported: NDArray[np.int64]) -> ReportSums:
        """The sums of reported cells: a row for every client, a column for every report."""
        users, per_user = reported.shape
        supports = np.bincount(reported.ravel(), minlength=self.cells)
        repeats = Repeats.of(reported, self.head_list.query_of_cell) if per_user > 1 else None
        sums = {"cell": supports}
        return ReportSums(self.list_sha256, self.questions, {"cell": users * per_user}, sums, per_user, repeats)
