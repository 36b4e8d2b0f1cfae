"""What the demonstration tells: campaigns of three weeks that are released, and one that is open today.

    day of a campaign   0          1                    2 .. 5            6
                        opens      opt-in ends; list    reports           late ones; result

The open one began three days ago.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from blendp.errors import require_choice, require_count, require_number
from blendp.fleet.people import Record, invented_records
from blendp.logs.synthetic import NAMES
from blendp.wire import Terms

MIN_PEOPLE, USUAL_PEOPLE, MAX_PEOPLE = 4_000, 5_000, 50_000
"""Of one campaign: fewer make a list that devices refuse, more take minutes."""

RELEASED_WEEKS = 3
_OPT_IN_SHARE = 1 / 10
_UNUSED_SHARE = 0.05
_MIN_SHARE = 0.6
"""Of those who will come: the open campaign reaches it a few minutes after it is shown."""

_OPT_IN_DAY, _LAST_DAY, _GRACE_DAYS, _DAYS_OPEN = 1, 5, 3, 3
_SHARE_OF_DAY = (0.3, 0.25, 0.2, 0.15, 0.1)
"""Of the clients, who report on each day from the list's on."""


@dataclass(frozen=True)
class Story:
    """Who plays: so many people a campaign, like those of a population; the same seed gives the same people."""

    today: datetime.date
    people: int = USUAL_PEOPLE
    like: str = "aol"
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be shown."""
        remedy = f"{USUAL_PEOPLE} are shown in seconds."
        require_count("users", self.people, min_value=MIN_PEOPLE, remedy=remedy)
        require_number("users", self.people, max_value=MAX_PEOPLE, legal=f"at most {MAX_PEOPLE:,}", remedy=remedy)
        require_choice("name", self.like, NAMES)
        require_count("seed", self.seed, min_value=0, remedy="Any whole number from 0 names a population.")

    @cached_property
    def released(self) -> tuple[StagedCampaign, ...]:
        """The campaigns that are over, the oldest first."""
        return tuple(self._week(week) for week in range(RELEASED_WEEKS))

    @cached_property
    def live(self) -> StagedCampaign:
        """The campaign that is open."""
        return self._week(RELEASED_WEEKS)

    def _week(self, week: int) -> StagedCampaign:
        opens = self.today - datetime.timedelta(days=_DAYS_OPEN + 7 * (RELEASED_WEEKS - week))
        return StagedCampaign(opens, tuple(invented_records(self.people, self.seed, like=self.like, week=week)))


@dataclass(frozen=True)
class StagedCampaign:
    """One week's campaign: when it opens, and what everybody holds."""

    opens: datetime.date
    records: tuple[Record, ...]

    @property
    def name(self) -> str:
        """Its name in addresses."""
        return f"searches-{self.opens:%G}-w{self.week:02}"

    @property
    def week(self) -> int:
        """The number of the week in its year."""
        return self.opens.isocalendar().week

    @property
    def opt_in(self) -> tuple[Record, ...]:
        """What those hold who opt in."""
        return self.records[: self._opt_in_people]

    @property
    def clients(self) -> tuple[Record, ...]:
        """What everybody else holds."""
        return self.records[self._opt_in_people :]

    @property
    def tokens(self) -> int:
        """How many people are asked to opt in: some never do."""
        return self._opt_in_people + round(_UNUSED_SHARE * self._opt_in_people)

    @property
    def list_day(self) -> datetime.date:
        """When the list is published."""
        return self._day(_OPT_IN_DAY)

    @property
    def late_day(self) -> datetime.date:
        """The first day on which a report is late."""
        return self._day(_LAST_DAY + 1)

    @cached_property
    def reports(self) -> dict[datetime.date, tuple[Record, ...]]:
        """The clients by the day on which they report."""
        ends = [round(share * len(self.clients)) for share in accumulate(_SHARE_OF_DAY)]
        days = [self._day(_OPT_IN_DAY + number) for number in range(len(ends))]
        return {day: self.clients[start:end] for day, start, end in zip(days, [0, *ends], ends, strict=False)}

    @property
    def terms(self) -> Terms:
        """What the campaign asks and promises."""
        return Terms(
            campaign=self.name,
            title=f"Popular searches, week {self.week}",
            organisation="Example Search",
            purpose="A page of popular searches, and a search box that works offline",
            contact="privacy@example.org",
            opens=self.opens.isoformat(),
            opt_in_until=self.list_day.isoformat(),
            reports_until=self._day(_LAST_DAY).isoformat(),
            grace_days=_GRACE_DAYS,
            opt_in_records=1,
            records_per_person=1.0,
            min_opt_in=round(_MIN_SHARE * self._opt_in_people),
            min_clients=round(_MIN_SHARE * len(self.clients)),
            expected_clients=len(self.clients),
        )

    @property
    def _opt_in_people(self) -> int:
        return round(_OPT_IN_SHARE * len(self.records))

    def _day(self, number: int) -> datetime.date:
        return self.opens + datetime.timedelta(days=number)
