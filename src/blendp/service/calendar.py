"""The day by the system's clock, followed only as far as there is evidence that time passed.

The latest day that was believed is kept in the store. While a process runs, a stopwatch that nobody sets tells how far
the system's clock may have come since; when one starts, only the kept day is known. A clock that is elsewhere is in
doubt:

    a jump while the process runs  the stopwatch contradicts it, so it is never believed,
    far ahead at the start         the collector may have been off: believed after a day of steady running,
    behind the kept day            never believed; the kept day stays until the clock has come to it.

An operator can say at any time that the clock is right, to all processes at once, through the store.
"""

from __future__ import annotations

import datetime
import threading
from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from blendp.service.clock import Clock, DoubtingClock, Reading, Stopwatch, seconds_passed, utc_today
from blendp.service.journal import tell, warn
from blendp.service.store.schema import known_day
from blendp.service.store.store import Store
from blendp.wire.text_forms import require_day

TOLERANCE_DAYS = 2
"""How far the system's clock may be from where it must be: it may be set right by so much without being doubted."""

QUARANTINE_DAYS = 1
"""How long a collector that was off runs before it believes how long that was."""

_DAY_SECONDS = 86_400
_CONFIRM = "confirm the day with: blendp clock accept"
_ROW = 1
_UPSERT = """
    INSERT INTO known_day (number, day) VALUES (:number, :day)
    ON CONFLICT (number) DO UPDATE SET day = excluded.day
"""
_FORWARD = "WHERE known_day.day < excluded.day"


@dataclass(frozen=True)
class _Anchor:
    """A day, and what the stopwatch said then."""

    day: datetime.date
    seconds: float

    def after(self, seconds: float) -> datetime.date:
        """The day that has come at least by the time the stopwatch says this."""
        return self.day + datetime.timedelta(days=int((seconds - self.seconds) // _DAY_SECONDS))

    def fits(self, day: datetime.date, seconds: float) -> bool:
        """Whether the system's clock can say this day by then."""
        ahead = (day - self.after(seconds)).days
        return -TOLERANCE_DAYS <= ahead <= TOLERANCE_DAYS + 1


@dataclass
class Calendar(DoubtingClock):
    """A clock for the service: callable, and open about its doubts."""

    store: Store
    system: Clock = utc_today
    stopwatch: Stopwatch = seconds_passed
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _doubt_reported: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        """Compare the system's clock with the day that is kept."""
        seconds, system = self.stopwatch(), self.system()
        kept = self._kept()
        self._latest = self._known = system if kept is None else kept
        self._believed = _Anchor(self._latest, seconds)
        self._suspect: _Anchor | None = None
        self._patient = True
        """Whether a doubt came at the start, where nothing contradicts a clock that is ahead."""
        if self._believed.fits(system, seconds):
            self._believed = _Anchor(system, seconds)
        self.observe()

    def reading(self) -> Reading:
        """The day, and the doubt about it."""
        seconds, system = self.stopwatch(), self.system()
        with self._lock:
            return self._reading(system, seconds)

    def observe(self) -> Reading:
        """Keep the day if it is sure, end a doubt that has lasted long enough, hear what an operator confirmed.

        The service does so every minute; beginnings and ends of doubts are written into its log.
        """
        kept = self._kept()
        seconds, system = self.stopwatch(), self.system()
        with self._lock:
            if kept is not None:
                self._hear(kept, system, seconds)
            self._wait(system, seconds)
            now = self._reading(system, seconds)
        if now.sure and now.day != kept:
            self._keep(now.day)
        self._tell(now)
        return now

    @staticmethod
    def accept(day: datetime.date, connection: Connection) -> None:
        """Keep a day that an operator confirmed, also an earlier one; all processes hear of it when they observe."""
        _write(connection, day, "")

    def _begin(self, day: datetime.date, seconds: float) -> None:
        self._latest, self._believed, self._suspect = day, _Anchor(day, seconds), None

    def _hear(self, kept: datetime.date, system: datetime.date, seconds: float) -> None:
        """Another process, or an operator, believed a day that agrees with the system's clock.

        Processes keep later days only, so one that is earlier than before is an operator's word.
        """
        news = kept < self._known or not self._believed.fits(system, seconds)
        if news and _Anchor(kept, seconds).fits(system, seconds):
            self._begin(kept, seconds)
        self._known = kept
        self._latest = max(self._latest, min(kept, system))

    def _wait(self, system: datetime.date, seconds: float) -> None:
        """Believe a clock that was ahead at the start, and went on steadily since."""
        if self._believed.fits(system, seconds):
            self._suspect, self._patient = None, False
        elif self._suspect is None or not self._suspect.fits(system, seconds):
            self._suspect = _Anchor(system, seconds)
        elif self._ends_by_itself(system) and seconds - self._suspect.seconds >= QUARANTINE_DAYS * _DAY_SECONDS:
            self._begin(system, seconds)

    def _ends_by_itself(self, system: datetime.date) -> bool:
        return self._patient and system > self._latest

    def _reading(self, system: datetime.date, seconds: float) -> Reading:
        if self._believed.fits(system, seconds) and system >= self._latest - datetime.timedelta(days=TOLERANCE_DAYS):
            self._latest = max(self._latest, system)
            return Reading(self._latest, self._latest)
        day = max(self._latest, self._believed.after(seconds))
        return Reading(day, system, self._doubt(day, system, seconds))

    def _doubt(self, day: datetime.date, system: datetime.date, seconds: float) -> str:
        where = f"the clock went from {day} to {system}"
        if not self._ends_by_itself(system):
            return f"{where}; nothing is deleted or refused for good until it is set right, or {_CONFIRM} {system}"
        left = QUARANTINE_DAYS * _DAY_SECONDS - (seconds - self._suspect.seconds if self._suspect else 0.0)
        return (
            f"{where} while the collector was off; nothing is deleted or refused for good for another "
            f"{max(0, round(left / 3600))} hours, or {_CONFIRM} {system}"
        )

    def _kept(self) -> datetime.date | None:
        with self.store.reading() as connection:
            kept = connection.execute(sa.select(known_day.c.day)).scalar_one_or_none()
        return None if kept is None else require_day("known_day", kept)

    def _keep(self, day: datetime.date) -> None:
        with self.store.writing() as connection:
            _write(connection, day, _FORWARD)

    def _tell(self, now: Reading) -> None:
        if now.sure and self._doubt_reported:
            tell("the clock is right again", day=now.day.isoformat())
        elif not now.sure and not self._doubt_reported:
            warn("the clock is in doubt", day=now.day.isoformat(), system=now.system.isoformat(), doubt=now.doubt)
        self._doubt_reported = not now.sure


def _write(connection: Connection, day: datetime.date, condition: str) -> None:
    connection.execute(sa.text(f"{_UPSERT} {condition}"), {"number": _ROW, "day": day.isoformat()})
