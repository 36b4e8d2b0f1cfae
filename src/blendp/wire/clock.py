"""The day that a collector goes by, and an operator's word that it is right."""

from __future__ import annotations

from blendp.wire.messages import Day, Message


class ClockConfirmation(Message):
    """Which day it is, says an operator."""

    day: Day


class ClockReading(Message):
    """The day that the collector goes by, that of the system's clock, and why they differ."""

    day: Day
    system: Day
    doubt: str | None
