"""The demonstration's stage: an operator and a fleet play the story on a real collector, day by day, then live."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from blendp.fleet.collector_process import CollectorProcess
from blendp.fleet.crowd import OVER, Crowd
from blendp.fleet.fleet import Fleet, FleetError
from blendp.fleet.people import Record
from blendp.fleet.story import StagedCampaign, Story
from blendp.service.operator_client import OperatorClient

_LATE_PEOPLE = 12
_LIVE_SECONDS = 1200
_MIN_PAUSE, _MAX_PAUSE = 0.02, 0.5
_PATIENCE_SECONDS, _LOOK_SECONDS = 60.0, 0.05


def scenes(story: Story) -> int:
    """How often something new begins when a story is played."""
    return 3 * len(story.released) + 2


@dataclass(frozen=True)
class Stage:
    """Where a story is played."""

    collector: CollectorProcess
    operator: OperatorClient
    begin: Callable[[str], None] = lambda _scene: None
    """Told what is being played."""

    def play(self, story: Story) -> LiveCampaign:
        """Everything up to today; then the campaign that is open, with those who have not reported yet."""
        for campaign in story.released:
            self._list(campaign)
            self._report(campaign, campaign.reports)
            self._release(campaign)
        live = story.live
        self._list(live)
        self._report(live, [day for day in live.reports if day < story.today])
        self.collector.put_to(None)
        left = [record for day, records in live.reports.items() if day >= story.today for record in records]
        return LiveCampaign(self.collector.url, live.name, tuple(left))

    def _list(self, campaign: StagedCampaign) -> None:
        """From the terms to the list."""
        self.begin(f"week {campaign.week}: {len(campaign.opt_in):,} people opt in")
        self.collector.put_to(campaign.opens)
        self.operator.create(campaign.terms)
        tokens = self.operator.enrol(campaign.name, campaign.tokens)
        with Fleet(self.collector.url, campaign.name) as fleet:
            fleet.opt_in(tokens[: len(campaign.opt_in)], campaign.opt_in)
        self.collector.put_to(campaign.list_day)
        self.operator.publish(campaign.name)

    def _report(self, campaign: StagedCampaign, days: Iterable[datetime.date]) -> None:
        """What clients send on these days."""
        self.begin(f"week {campaign.week}: {len(campaign.clients):,} clients report")
        with Fleet(self.collector.url, campaign.name) as fleet:
            crowd = Crowd(fleet)
            for day in days:
                self.collector.put_to(day)
                crowd.come_all(campaign.reports[day])

    def _release(self, campaign: StagedCampaign) -> None:
        """A few come too late; then the result."""
        self.begin(f"week {campaign.week}: the result")
        self.collector.put_to(campaign.late_day)
        with Fleet(self.collector.url, campaign.name) as fleet:
            crowd = Crowd(fleet)
            outcomes = {crowd.come(record) for record in campaign.clients[-_LATE_PEOPLE:]}
        if outcomes != {"late"}:
            raise FleetError(f"Reports should have been late and were {', '.join(sorted(outcomes))}.")
        self._wait_until_counted(campaign.name)
        self.operator.release(campaign.name)

    def _wait_until_counted(self, name: str) -> None:
        """Refusals are counted within a second, on the day that it is then."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while self.operator.status(name).intake.get("late", 0) < _LATE_PEOPLE:
            if time.monotonic() > until:
                raise FleetError(f"The reports that came too late to {name} are not counted.")
            time.sleep(_LOOK_SECONDS)


@dataclass(frozen=True)
class LiveCampaign:
    """A campaign that is open, and what those hold who come to it now."""

    url: str
    name: str
    waiting: tuple[Record, ...]

    @property
    def pause(self) -> float:
        """Seconds from one to the next, so that they take about twenty minutes."""
        return min(_MAX_PAUSE, max(_MIN_PAUSE, _LIVE_SECONDS / len(self.waiting)))

    def visits(self) -> Iterator[str]:
        """One after another, the outcome of each; ends early if the campaign does."""
        with Fleet(self.url, self.name) as fleet:
            crowd = Crowd(fleet)
            for record in self.waiting:
                outcome = crowd.come(record)
                if outcome in OVER:
                    return
                yield outcome
