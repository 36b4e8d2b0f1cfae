"""Reports, added up: sums alone, so that a report that is deleted afterwards can be taken away again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

from blendp.canonical import canonical_json
from blendp.errors import ParameterError, require_count
from blendp.reports.question import Question

Counts = NDArray[np.int64]

_REMEDY = "Add up the reports that were made against one list, anew."


@dataclass(frozen=True, eq=False)
class Repeats:
    """How alike the reports of one client are, where each sends several: sums over clients.

    where:
        n_cell, n_query  are how many of a client's reports name the cell, any cell of the query.
    """

    cell_squares: Counts
    """The sum of n_cell^2, for every cell."""

    query_squares: Counts
    """The sum of n_query^2, for every query."""

    products: Counts
    """The sum of n_cell n_query of the cell's query, for every cell."""

    @classmethod
    def of(cls, reports: NDArray[np.int64], query_of_cell: NDArray[np.int64]) -> Self:
        """From a row of reported cells for every client."""
        users, per_user = reports.shape
        cells, queries = len(query_of_cell), int(query_of_cell[-1]) + 1
        client = np.repeat(np.arange(users, dtype=np.int64), per_user)
        pair, times = np.unique(client * cells + reports.ravel(), return_counts=True)
        client, cell = np.divmod(pair, cells)
        of_query, which = np.unique(client * queries + query_of_cell[cell], return_inverse=True)
        of_query_times = np.bincount(which, weights=times, minlength=len(of_query))
        return cls(
            _added(cell, times**2, cells),
            _added(of_query % queries, of_query_times**2, queries),
            _added(cell, times * of_query_times[which], cells),
        )

    def plus(self, other: Repeats, sign: int = 1) -> Repeats:
        """Those of both, or with sign -1 of these without the others."""
        names = [each.name for each in fields(self)]
        return Repeats(*(getattr(self, name) + sign * getattr(other, name) for name in names))


@dataclass(frozen=True, eq=False)
class ReportSums:
    """How many reports there are about each question of one list, and how many of them name each item.

    where:
        questions  are what was asked: their answers tell epsilon and the length of the list,
        reports    is how many reports there are, by question,
        supports   is how many of them name each item, by question,
        per_user   is how many reports every client sent; ``repeats`` says how alike they are if it is not one.
    """

    list_sha256: str
    questions: Mapping[str, Question]
    reports: Mapping[str, int]
    supports: Mapping[str, Counts] = field(repr=False)
    per_user: int = 1
    repeats: Repeats | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse sums that no set of reports has, and freeze them."""
        require_count("per_user", self.per_user, min_value=1, remedy="Every client sends the same number of reports.")
        if (self.repeats is None) != (self.per_user == 1):
            raise ParameterError("repeats", self.per_user, "given if, and only if, clients send several", _REMEDY)
        if not set(self.questions) == set(self.reports) == set(self.supports):
            raise ParameterError("reports", sorted(self.reports), f"about {sorted(self.questions)}", _REMEDY)
        for name, question in self.questions.items():
            reports, supports = self.reports[name], self.supports[name]
            fine = reports >= 0 and supports.shape == (question.items,) and supports.min() >= 0
            if not fine or supports.max() > reports or not question.adds_up(supports, reports):
                legal = f"{question.size} items in each of {reports} reports about the {name}"
                raise ParameterError("supports", int(supports.sum()), legal, _REMEDY)
            supports.setflags(write=False)
        if self.report_count % self.per_user:
            raise ParameterError("reports", self.report_count, f"{self.per_user} of each client", _REMEDY)

    @classmethod
    def nothing(cls, list_sha256: str, questions: Mapping[str, Question]) -> ReportSums:
        """Nothing counted yet."""
        supports = {name: np.zeros(question.items, dtype=np.int64) for name, question in questions.items()}
        return cls(list_sha256, questions, dict.fromkeys(questions, 0), supports)

    @property
    def report_count(self) -> int:
        """How many reports are counted."""
        return sum(self.reports.values())

    @property
    def users(self) -> int:
        """How many clients sent them."""
        return self.report_count // self.per_user

    def add(self, other: ReportSums) -> ReportSums:
        """These and the others, which were made against the same list."""
        return self._joined(other, 1)

    def take_away(self, other: ReportSums) -> ReportSums:
        """Undo :meth:`add`: what is left without the others, which must have been counted."""
        return self._joined(other, -1)

    def _joined(self, other: ReportSums, sign: int) -> ReportSums:
        self.require(other.list_sha256, other.questions)
        if self.per_user != other.per_user:
            raise ParameterError("per_user", other.per_user, f"{self.per_user}, as in these sums", _REMEDY)
        repeats = None
        if self.repeats is not None and other.repeats is not None:
            repeats = self.repeats.plus(other.repeats, sign)
        return ReportSums(
            self.list_sha256,
            self.questions,
            {name: reports + sign * other.reports[name] for name, reports in self.reports.items()},
            {name: supports + sign * other.supports[name] for name, supports in self.supports.items()},
            self.per_user,
            repeats,
        )

    def require(self, list_sha256: str, questions: Mapping[str, Question]) -> None:
        """Raise unless these are reports about this list, with its epsilon."""
        if self.list_sha256 != list_sha256:
            legal = f"about this list ({list_sha256})"
            raise ParameterError("reports", f"about the list {self.list_sha256}", legal, _REMEDY)
        if dict(self.questions) != dict(questions):
            asked = ", ".join(f"{question.size} of {question.items} by {name}" for name, question in questions.items())
            legal = f"about this list with its epsilon and randomiser ({asked})"
            raise ParameterError("reports", f"about {sorted(self.questions)}", legal, _REMEDY)

    def to_bytes(self) -> bytes:
        """The sums, in one spelling: whatever order the reports came in."""
        parts = {name: [self.reports[name], self.supports[name].tolist()] for name in self.questions}
        value: dict[str, object] = {"list_sha256": self.list_sha256, "per_user": self.per_user, "sums": parts}
        if self.repeats is not None:
            value["repeats"] = {each.name: getattr(self.repeats, each.name).tolist() for each in fields(self.repeats)}
        return canonical_json(value)


def _added(index: Counts, weights: NDArray[np.generic], length: int) -> Counts:
    return np.rint(np.bincount(index, weights=weights, minlength=length)).astype(np.int64)
