"""Which day it is. The service knows no finer time of anything that people send.

A system's clock can be wrong: then days that were not yet over seem past, reports are turned away as late, records
are deleted and keys destroyed before their time. So the day is taken together with the doubt about it, and whatever
cannot be undone asks :func:`past`, which answers only if there is none.
"""

from __future__ import annotations

import abc
import datetime
import time
from collections.abc import Callable
from dataclasses import dataclass

from blendp.service.refusal import Refused
from blendp.wire.clock import ClockReading

Clock = Callable[[], datetime.date]
"""Tells the day, in UTC."""

Stopwatch = Callable[[], float]
"""Tells how many seconds passed since some moment; nobody sets it."""

_RETRY_SECONDS = 600


def utc_today() -> datetime.date:
    """The day by the system's clock."""
    return datetime.datetime.now(datetime.UTC).date()


def utc_second() -> str:
    """The moment by the system's clock, to the second: for operators' acts alone."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_passed() -> float:
    """Seconds that passed, also while the machine slept, where the system can tell."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(frozen=True)
class Reading:
    """What the clocks say.

    where:
        day     is the day that the service goes by: it never goes back, and follows no jump,
        system  is the day by the system's clock; another than ``day`` only if there is doubt,
        doubt   is why the two differ and what ends it, in a sentence; None if there is none.
    """

    day: datetime.date
    system: datetime.date
    doubt: str | None = None

    @property
    def sure(self) -> bool:
        """Whether something may be done today that cannot be undone."""
        return self.doubt is None

    @property
    def message(self) -> ClockReading:
        """As operators are told."""
        return ClockReading(self.day.isoformat(), self.system.isoformat(), self.doubt)


class DoubtingClock(abc.ABC):
    """A clock that can be in doubt."""

    @abc.abstractmethod
    def reading(self) -> Reading:
        """The day, and the doubt about it."""

    def __call__(self) -> datetime.date:
        """The day that the service goes by."""
        return self.reading().day


def reading(clock: Clock) -> Reading:
    """What a clock says; one that knows no doubt is taken at its word."""
    if isinstance(clock, DoubtingClock):
        return clock.reading()
    day = clock()
    return Reading(day, day)


def past(clock: Clock, last: datetime.date) -> bool:
    """Whether a last day is over; raises :class:`Refused`, which asks to come back, where that is in doubt."""
    now = reading(clock)
    if now.sure or (now.day > last) == (now.system > last):
        return now.day > last
    raise in_doubt(now)


def in_doubt(now: Reading) -> Refused:
    """The refusal to do what the doubt about the day forbids."""
    sentence = f"The collector's clock is in doubt ({now.day} or {now.system}): try again."
    return Refused("busy", sentence, retry_after=_RETRY_SECONDS)
