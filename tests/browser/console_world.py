"""A collector with a history: campaigns in every state, people who came on many days, and reports that were refused."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blendp.service.campaigns import find
from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
from blendp.service.store.schema import intake
from tests.browser.collectors import PEOPLE_OF, Record, day, library_terms, report, take_part

AUTUMN, WINTER, SPRING, READY, EMPTY, GONE = "autumn", "winter", "spring", "ready", "nobody-agrees", "gone"
PUBLISHED = "queries-alone"
"""A campaign of the published method, about queries alone."""

NEW_RECORDS: dict[Record, int] = {
    ("snow report", "https://sky.example/snow"): 24,
    ("gift ideas", "https://shop.example/gifts"): 21,
    ("=cmd|' /C calc'!A0", "https://evil.example/=1+1"): 16,
}
"""What is new in winter; the last would be a formula in a spreadsheet."""

WINTER_PEOPLE = {record: count for record, count in PEOPLE_OF.items() if record[0] != "bicycle repair"} | NEW_RECORDS
STRANGERS: dict[Record, int] = {
    (f"only I search this, {number}", f"https://{number}.example"): 1 for number in range(100)
}
REFUSED = {"duplicate": 41, "wrong-list": 17, "impossible": 9, "malformed": 5, "over-quota": 3}


class MovingDay:
    """A clock that is set by hand: so many days from today."""

    offset = 0

    def __call__(self) -> datetime.date:
        return datetime.date.fromisoformat(day(self.offset))


class World:
    """A collector that is being filled."""

    def __init__(self, folder: Path) -> None:
        """Empty."""
        self.clock = MovingDay()
        self.collector = CollectorService.open(Settings(folder / "data"), self.clock)

    def create(
        self, name: str, title: str, opens: int, opt_in_until: int, reports_until: int, people: int, **more: Any
    ) -> None:
        """A campaign whose days are counted from today."""
        self.clock.offset = opens
        days = {"opens": day(opens), "opt_in_until": day(opt_in_until), "reports_until": day(reports_until)}
        terms = {"title": title, "min_opt_in": people, "expected_clients": 2_000, **days, **more}
        self.collector.lifecycle.create(library_terms(name, **terms))

    def opt_in(self, name: str, people: Mapping[Record, int], days: range, tokens: int = 0) -> None:
        """People send their records, about as many on each of these days; so many more have a token."""
        self.clock.offset = days[0]
        take_part(self.collector, name, people, days, tokens)
        self.clock.offset = days[-1]

    def publish(self, name: str, offset: int) -> None:
        """The list, on this day."""
        self.clock.offset = offset
        self.collector.lifecycle.publish(name)

    def report(self, name: str, people: Mapping[Record, int], times: int, days: range) -> None:
        """Clients report, so many for each opt-in person; others are refused."""
        report_on(self.collector, name, people, times, days)
        for outcome, total in REFUSED.items():
            count(self.collector, name, outcome, total, days)

    def release(self, name: str, offset: int) -> None:
        """The result, on this day."""
        self.clock.offset = offset
        self.collector.lifecycle.release(name)


def report_on(
    collector: CollectorService, name: str, people: Mapping[Record, int], times: int, days: range = range(1)
) -> None:
    """Clients report, so many for each opt-in person, about as many on each of these days."""
    total = report(collector, name, people, times)
    with collector.store.writing() as connection:
        number = find(connection, name).number
        connection.execute(intake.delete().where(intake.c.campaign == number))
    count(collector, name, "accepted", total, days)


def count(collector: CollectorService, name: str, outcome: str, total: int, days: range = range(1)) -> None:
    """So many reports had this outcome, about as many on each of these days."""
    number = collector.book.reporting(name).number
    with collector.store.writing() as connection:
        for i, offset in enumerate(days):
            row = {"campaign": number, "day": day(offset), "outcome": outcome, "slot": 0}
            of_day = total * (i + 1) // len(days) - total * i // len(days)
            connection.execute(intake.insert().values(**row, count=of_day))


def make_world(folder: Path) -> dict[str, str]:
    """Campaigns in every state; gives operators' tokens by what they may do."""
    world = World(folder)
    people = sum(PEOPLE_OF.values())
    queries: dict[Record, int] = {(query, None): 30 for query, _ in PEOPLE_OF}
    world.create(PUBLISHED, "Queries of last year", -160, -150, -130, 100, levels=1, method="published")
    world.opt_in(PUBLISHED, queries, range(-160, -155))
    world.publish(PUBLISHED, -149)
    world.report(PUBLISHED, queries, 2, range(-149, -140))
    world.release(PUBLISHED, -129)
    world.create(EMPTY, "What only one person searches", -90, -80, 12, len(STRANGERS), delta=1e-12)
    world.opt_in(EMPTY, STRANGERS, range(-90, -85))
    world.publish(EMPTY, -79)
    world.create(AUTUMN, "Popular searches of the city library, autumn", -70, -58, -34, people)
    world.opt_in(AUTUMN, PEOPLE_OF, range(-70, -59))
    world.publish(AUTUMN, -57)
    world.report(AUTUMN, PEOPLE_OF, 4, range(-57, -34))
    world.release(AUTUMN, -33)
    world.create(GONE, "A campaign that nobody wanted", -40, -30, -10, people)
    world.collector.lifecycle.delete(GONE)
    world.create(WINTER, "Popular searches of the city library, winter", -18, -7, 14, people)
    world.opt_in(WINTER, WINTER_PEOPLE, range(-18, -7))
    world.publish(WINTER, -6)
    world.report(WINTER, WINTER_PEOPLE, 3, range(-6, 1))
    world.create(SPRING, "Popular searches of the city library, spring", -4, 10, 40, people)
    world.opt_in(SPRING, {("news", "https://news.example"): 60}, range(-4, 1), tokens=40)
    world.create(READY, "Popular searches of the branch libraries", -3, 10, 40, 100)
    world.opt_in(READY, PEOPLE_OF, range(-3, 1))
    world.clock.offset = 0
    tokens = {
        "look": world.collector.tokens.create("Front desk", ["read"]),
        "manage": world.collector.tokens.create("Head librarian", ["read", "manage"]),
        "all": world.collector.tokens.create("Head librarian", ["read", "manage", "release"]),
        "blind": world.collector.tokens.create("Print shop", ["release"]),
    }
    world.collector.close()
    return tokens
