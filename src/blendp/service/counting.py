"""Adding reports up: sums alone, so that a report that is deleted afterwards can be taken away again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from blendp.reports import QUESTIONS, ListScheme, ReportSums


class ReportCount:
    """The reports of a campaign, added up without looking at single ones."""

    def __init__(self, scheme: ListScheme) -> None:
        """Nothing counted yet."""
        self._scheme = scheme
        self._sums = scheme.nothing()

    @property
    def users(self) -> int:
        """How many reports are counted."""
        return self._sums.users

    @property
    def reports(self) -> ReportSums:
        """The sums, as the library's methods take them."""
        return self._sums

    def add(self, reports: Iterable[tuple[int, bytes]]) -> None:
        """Count reports: question and data of each."""
        self._sums = self._sums.add(self._counted(reports))

    def take_away(self, reports: Iterable[tuple[int, bytes]]) -> None:
        """Undo :meth:`add` for reports that were counted."""
        self._sums = self._sums.take_away(self._counted(reports))

    def to_bytes(self) -> bytes:
        """The sums, in one spelling: whatever order the reports came in."""
        return self._sums.to_bytes()

    def _counted(self, reports: Iterable[tuple[int, bytes]]) -> ReportSums:
        data: defaultdict[int, list[bytes]] = defaultdict(list)
        for question, one in reports:
            data[question].append(one)
        return self._scheme.count_data({QUESTIONS[number]: some for number, some in data.items()})
