"""How many reports a campaign has, without counting them each time somebody looks.

A count reads the whole table. So that of a large campaign is kept for a while, the longer the larger it is, and what
was accepted since is added to it: reports that were deleted since are still in the number. The time that counting
takes is so a small part of all time, however many ask. Small campaigns are counted always.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from sqlalchemy.engine import Connection

from blendp.service.clock import Stopwatch
from blendp.service.store.reports import count_reports

ALWAYS_COUNTED = 20_000
"""A campaign of fewer reports is counted in a few milliseconds."""

_REPORTS_A_SECOND = 20_000
"""A count is kept for one second for each of these."""

_MAX_CAMPAIGNS = 256


@dataclass(frozen=True)
class KnownTotal:
    """A count: so many reports were there when so many had been accepted."""

    reports: int
    accepted: int
    at: float


@dataclass
class ReportTotals:
    """The counts that this process remembers."""

    stopwatch: Stopwatch = time.monotonic
    _known: dict[int, KnownTotal] = field(default_factory=dict, repr=False)
    _counting: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def reports(self, connection: Connection, campaign: int, accepted: int) -> int:
        """How many reports are kept; ``accepted`` is how many were taken, as the same transaction sees it."""
        known = self._fresh(campaign)
        if known is None:
            with self._counting:
                known = self._fresh(campaign) or self._count(connection, campaign, accepted)
        return max(0, known.reports + accepted - known.accepted)

    def _fresh(self, campaign: int) -> KnownTotal | None:
        known = self._known.get(campaign)
        if known is None or known.reports < ALWAYS_COUNTED:
            return None
        return known if self.stopwatch() - known.at < known.reports / _REPORTS_A_SECOND else None

    def _count(self, connection: Connection, campaign: int, accepted: int) -> KnownTotal:
        known = KnownTotal(count_reports(connection, campaign), accepted, self.stopwatch())
        if len(self._known) >= _MAX_CAMPAIGNS:
            self._known.clear()
        self._known[campaign] = known
        return known
