"""Adding reports up: sums alone, so that a report that is deleted afterwards can be taken away again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from blendp.canonical import canonical_json
from blendp.estimate import Arm, Split, Tally
from blendp.mechanisms import SubsetSelection
from blendp.methods import Listed
from blendp.wire.campaign import Terms
from blendp.wire.reports import QUESTION_NUMBER, ReportForms, data_matrix

Sums = NDArray[np.int64]


class ReportCount:
    """The reports of a campaign, added up without looking at single ones."""

    def __init__(self, terms: Terms, listed: Listed) -> None:
        """Nothing counted yet."""
        head_list = listed.head_list
        self._head_list = head_list
        self._width = {number: form.width for number, form in ReportForms.of(terms, head_list).forms.items()}
        self._subsets: dict[int, SubsetSelection] = {}
        if terms.method == "published":
            self._sums = {QUESTION_NUMBER["cell"]: np.zeros(head_list.cells, dtype=np.int64)}
        else:
            items = {"query": head_list.queries + 1, "record": head_list.cells}
            self._subsets = {QUESTION_NUMBER[name]: SubsetSelection(terms.epsilon, n) for name, n in items.items()}
            self._sums = {number: np.zeros(subset.items, dtype=np.int64) for number, subset in self._subsets.items()}
        self._users = dict.fromkeys(self._sums, 0)

    @property
    def users(self) -> int:
        """How many reports are counted."""
        return sum(self._users.values())

    def add(self, reports: Iterable[tuple[int, bytes]]) -> None:
        """Count reports: question and data of each."""
        for question, some in _by_question(reports).items():
            self._sums[question] += self._summed(question, some)
            self._users[question] += len(some)

    def take_away(self, reports: Iterable[tuple[int, bytes]]) -> None:
        """Undo :meth:`add` for reports that were counted."""
        for question, some in _by_question(reports).items():
            self._sums[question] -= self._summed(question, some)
            self._users[question] -= len(some)

    @property
    def reports(self) -> Split | Tally:
        """The sums, as the library's methods take them."""
        if not self._subsets:
            (cells,) = self._sums.values()
            return Tally.of_counts(cells.copy(), self._head_list.cells_per_query)
        queries, cells_arm = (
            Arm(subset, self._users[question], self._sums[question].copy())
            for question, subset in self._subsets.items()
        )
        return Split(queries, cells_arm, self._head_list.query_of_cell)

    def to_bytes(self) -> bytes:
        """The sums, in one spelling: whatever order the reports came in."""
        parts = [(question, self._users[question], sums.tolist()) for question, sums in sorted(self._sums.items())]
        return canonical_json({"sums": parts})

    def _summed(self, question: int, some: list[bytes]) -> Sums:
        data = data_matrix(some, self._width[question])
        if subset := self._subsets.get(question):
            return subset.supports_of_reports(data)
        cells = data.astype(np.int64) @ (256 ** np.arange(data.shape[1] - 1, -1, -1, dtype=np.int64))
        return np.bincount(cells, minlength=self._head_list.cells)


def _by_question(reports: Iterable[tuple[int, bytes]]) -> dict[int, list[bytes]]:
    parts: dict[int, list[bytes]] = defaultdict(list)
    for question, data in reports:
        parts[question].append(data)
    return parts
