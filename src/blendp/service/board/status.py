"""How campaigns stand, in public numbers: for operators' eyes and programs."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field

import sqlalchemy as sa

from blendp.service.board.next_step import next_step
from blendp.service.board.standing import Standing, Standings
from blendp.service.campaigns import FoundCampaign, find
from blendp.service.clock import Clock, reading
from blendp.service.store.schema import campaign
from blendp.service.store.store import Store
from blendp.wire.clock import ClockReading
from blendp.wire.status import BudgetStatus, CampaignsOverview, CampaignSummary, DayOfPeople, NextStep, Status

MAX_SUMMARIES = 200
"""Campaigns that are summed up at a time: the newest."""


@dataclass(frozen=True)
class StatusBoard:
    """What operators see of all campaigns; made to be looked at often."""

    store: Store
    clock: Clock
    standings: Standings = field(default_factory=Standings)

    def status(self, name: str) -> Status:
        """Progress to the minimums, intake by reason, the list and its churn, what was promised and to how many."""
        with self.store.reading() as connection:
            standing = self.standings.of(connection, find(connection, name))
        now = reading(self.clock)
        summary = _summary(standing, now.day, now.message)
        return Status(
            campaign=name,
            title=summary.title,
            state=summary.state,
            today=now.day.isoformat(),
            clock=now.message,
            opens=summary.opens,
            published=summary.published,
            released=summary.released,
            by_itself=summary.by_itself,
            next_step=summary.next_step,
            opt_in=summary.opt_in,
            opt_in_by_day=[DayOfPeople(day, people) for day, people in standing.people_by_day.items()],
            clients=summary.clients,
            intake=dict(sorted(standing.totals.items())),
            intake_by_day=standing.fates,
            head_list=standing.head_list,
            budget=BudgetStatus(
                epsilon=standing.terms.epsilon,
                delta=standing.terms.delta,
                opt_in_spent=standing.manifest is not None,
                clients_spent=standing.totals["accepted"],
            ),
            documents=standing.hashes,
        )

    def summaries(self) -> CampaignsOverview:
        """The newest campaigns, each in short."""
        query = sa.select(campaign).where(campaign.c.state != "deleted").order_by(campaign.c.number.desc())
        now = reading(self.clock)
        with self.store.reading() as connection:
            rows = connection.execute(query.limit(MAX_SUMMARIES)).all()
            total = connection.execute(sa.select(sa.func.count()).select_from(query.subquery())).scalar_one()

            def summary(current: FoundCampaign) -> CampaignSummary:
                def read() -> CampaignSummary:
                    return _summary(self.standings.of(connection, current), now.day, now.message)

                key = ("summary", current.number, now.day)
                return self.standings.remember(key, read) if current.state == "released" else read()

            lines = [summary(FoundCampaign(row.number, row.name, row.state, row.revision)) for row in rows]
        return CampaignsOverview(now.day.isoformat(), now.message, lines, left_out=total - len(rows))


def _summary(standing: Standing, today: datetime.date, clock: ClockReading) -> CampaignSummary:
    opt_in, clients = standing.opt_in(today), standing.clients(today)
    by_itself, head_list = standing.by_itself, standing.head_list
    records = None if head_list is None else head_list.records
    step: NextStep = next_step(standing.state, clock, by_itself, opt_in, clients, records, standing.terms.levels)
    return CampaignSummary(
        campaign=standing.current.name,
        title=standing.terms.title,
        state=standing.state,
        opens=standing.terms.opens,
        published=standing.published,
        released=standing.released,
        by_itself=by_itself,
        opt_in=opt_in,
        clients=clients,
        next_step=step,
    )
