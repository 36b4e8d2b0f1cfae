"""The day on which a group is large enough, if people go on coming as they do.

    per day = the mean of the last full days, at most seven, on which the group could send
    left    = what is missing, less what today still brings at this pace
    reached = today + ceil(left/per day)

Today is not over: it is counted in where it raises the mean, and never lowers it. On a group's first day what came so
far is all that is known. Days are those of UTC, and nothing finer is known of anybody.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from blendp.spelling import counted
from blendp.wire.pace import Pace

MAX_FULL_DAYS = 7


@dataclass(frozen=True)
class Arrivals:
    """A group that is being asked.

    where:
        by_day   has how many came on each day,
        there    is how many there are now; fewer than came if some had theirs deleted,
        minimum  is how many there must be,
        first    is the first day on which the group can send, None if it is not known yet,
        last     is the last one,
        ended    is whether the group can send no more, whatever the day.
    """

    by_day: Mapping[datetime.date, int]
    there: int
    minimum: int
    first: datetime.date | None
    last: datetime.date
    ended: bool = False

    def pace(self, today: datetime.date) -> Pace:
        """The outlook at the end of this day's morning, noon or night: only the day matters."""
        if self.there >= self.minimum:
            return self._pace("reached", today, "The minimum is reached.")
        if self.ended or today > self.last:
            missing = counted(self.minimum - self.there, "is", "are")
            return self._pace("closed", today, f"Nobody can be added any more: {missing} missing.")
        if self.first is None or today < self.first:
            when = "once the list is public" if self.first is None else f"on {self.first}"
            return self._pace("not-open", today, f"It begins {when}.")
        return self._open(today)

    def _open(self, today: datetime.date) -> Pace:
        rate, so_far = self._rate(today), self._so_far(today)
        if not rate:
            sentence = "Nobody came in the last days." if self.there else "Nobody has come yet."
            return self._pace("nothing", today, sentence, self.there)
        still_today = max(Fraction(0), rate - so_far)
        days_left = (self.last - today).days
        expected = self.there + math.floor(still_today + rate * days_left)
        days = max(0, math.ceil((self.minimum - self.there - still_today) / rate))
        if days > days_left:
            sentence = f"At {_number(rate)} a day there are {expected:,} of {self.minimum:,} by {self.last}: too few."
            return self._pace("too-late", today, sentence, expected)
        reached = today + datetime.timedelta(days=days)
        when = "today" if days == 0 else f"on {reached}"
        sentence = f"At {_number(rate)} a day the minimum is reached {when}."
        return self._pace("on-course", today, sentence, expected, reached)

    def _pace(
        self,
        outlook: str,
        today: datetime.date,
        sentence: str,
        by_deadline: int | None = None,
        reached: datetime.date | None = None,
    ) -> Pace:
        return Pace(
            outlook=outlook,
            per_day=float(self._rate(today)),
            full_days=len(self._full_days(today)),
            today=self._so_far(today),
            reached=None if reached is None else reached.isoformat(),
            by_deadline=by_deadline,
            sentence=sentence,
        )

    def _rate(self, today: datetime.date) -> Fraction:
        days, so_far = self._full_days(today), self._so_far(today)
        came = sum(self.by_day.get(day, 0) for day in days)
        with_today = Fraction(came + so_far, len(days) + 1)
        return max(with_today, Fraction(came, len(days))) if days else with_today

    def _so_far(self, today: datetime.date) -> int:
        return self.by_day.get(today, 0)

    def _full_days(self, today: datetime.date) -> list[datetime.date]:
        """The last days before today on which the group could send, and arrivals were counted."""
        first = self._counted_since(today)
        days = (today - datetime.timedelta(days=number) for number in range(1, MAX_FULL_DAYS + 1))
        return [day for day in days if first is not None and first <= day <= self.last]

    def _counted_since(self, today: datetime.date) -> datetime.date | None:
        """Where more are there than were counted, people came before days were counted: those days tell nothing."""
        if self.first is None or sum(self.by_day.values()) >= self.there:
            return self.first
        return max(self.first, min(self.by_day, default=today))


def _number(rate: Fraction) -> str:
    return f"{float(rate):,.1f}".removesuffix(".0") if rate < 100 else f"{float(rate):,.0f}"
