"""Numbers for Prometheus about campaigns: what is left to do, by when, and what became of reports.

They are read from the store when they are asked for, so all processes tell the same. Campaigns under way are told of,
and the few that were released last: the number of time series stays bounded, whatever was run before.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector as Source
from sqlalchemy.engine import Connection

from blendp.service.clock import Clock, Reading, reading
from blendp.service.deadlines import PUBLISH, RELEASE, DueCampaign, under_way
from blendp.service.refusal import Refused
from blendp.service.store.schema import campaign, enrolment, intake, report
from blendp.service.store.store import Store
from blendp.wire.text_forms import require_day

MAX_UNDER_WAY, MAX_RELEASED = 200, 10
"""How many campaigns are told of: the newest."""

_DEADLINES = {PUBLISH: ("opt_in_until", "records_kept_until"), RELEASE: ("reports_until", "reports_kept_until")}


def campaign_numbers(store: Store, clock: Clock) -> bytes:
    """All numbers in Prometheus' text format; those about the clock alone if the store is away."""
    families = [*_about_clock(reading(clock))]
    try:
        with store.reading() as connection:
            families += _about_campaigns(connection, clock())
    except Refused:
        families.append(GaugeMetricFamily("blendp_store_up", "Whether the store answers.", value=0))
    else:
        families.append(GaugeMetricFamily("blendp_store_up", "Whether the store answers.", value=1))
    registry = CollectorRegistry()
    registry.register(_Families(families))
    return generate_latest(registry)


class _Families(Source):
    """Families that are there already."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        """All of them."""
        yield from self._families


def _about_clock(now: Reading) -> Iterator[Metric]:
    yield GaugeMetricFamily("blendp_clock_sure", "0 while the day is in doubt.", value=float(now.sure))
    ahead = (now.system - now.day).days
    yield GaugeMetricFamily("blendp_clock_ahead_days", "The system's clock against the day gone by.", value=ahead)


def _about_campaigns(connection: Connection, today: datetime.date) -> Iterator[Metric]:
    known = [*under_way(connection)][-MAX_UNDER_WAY:]
    released = _released(connection)
    yield _states({one.name: one.state for one in known} | dict.fromkeys(released.values(), "released"))
    yield _days_left(known, today)
    yield _missing(connection, known)
    yield _reports(connection, {one.number: one.name for one in known} | released)


def _released(connection: Connection) -> dict[int, str]:
    query = sa.select(campaign.c.number, campaign.c.name).where(campaign.c.state == "released")
    rows = connection.execute(query.order_by(campaign.c.number.desc()).limit(MAX_RELEASED))
    return {row.number: row.name for row in rows}


def _states(states: dict[str, str]) -> Metric:
    family = GaugeMetricFamily("blendp_campaign_state", "1 for the state it is in.", labels=["campaign", "state"])
    for name, state in states.items():
        family.add_metric([name, state], 1)
    return family


def _days_left(known: list[DueCampaign], today: datetime.date) -> Metric:
    """Days until the last one, which is 0; negative afterwards."""
    description = "Days left until the last day of a deadline; negative after it."
    family = GaugeMetricFamily("blendp_campaign_days_left", description, labels=["campaign", "deadline"])
    for one in known:
        for name in _DEADLINES[one.deadline.act]:
            left = require_day(name, getattr(one.terms, name)) - today
            family.add_metric([one.name, name], left.days)
    return family


def _missing(connection: Connection, known: list[DueCampaign]) -> Metric:
    description = "People missing to the minimum of the group that is being asked."
    family = GaugeMetricFamily("blendp_campaign_missing_people", description, labels=["campaign", "group"])
    for one in known:
        if one.deadline.act == RELEASE:
            rows = sa.select(report.c.report_id).where(report.c.campaign == one.number, report.c.data.is_not(None))
            group, minimum = "clients", one.terms.min_clients
        else:
            rows = sa.select(enrolment.c.token).where(enrolment.c.campaign == one.number, enrolment.c.state == "used")
            group, minimum = "opt-in", one.terms.min_opt_in
        family.add_metric([one.name, group], minimum - _at_most(connection, rows, minimum))
    return family


def _at_most(connection: Connection, rows: sa.Select[Any], max_rows: int) -> int:
    """How many rows there are; counting ends where it is enough to know that there are so many."""
    return int(connection.execute(sa.select(sa.func.count()).select_from(rows.limit(max_rows).subquery())).scalar_one())


def _reports(connection: Connection, names: dict[int, str]) -> Metric:
    description = "Reports by what became of them: accepted, duplicate, or why they were refused."
    family = CounterMetricFamily("blendp_campaign_reports", description, labels=["campaign", "outcome"])
    query = (
        sa.select(intake.c.campaign, intake.c.outcome, sa.func.sum(intake.c.count))
        .where(intake.c.campaign.in_(names))
        .group_by(intake.c.campaign, intake.c.outcome)
    )
    totals: Counter[tuple[str, str]] = Counter()
    for number, outcome, count in connection.execute(query):
        totals[names[number], outcome] += int(count)
    for (name, outcome), count in sorted(totals.items()):
        family.add_metric([name, outcome], count)
    return family
