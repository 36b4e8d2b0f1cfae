"""Which day it is. The service knows no finer time of anything that people send."""

from __future__ import annotations

import datetime
from collections.abc import Callable

Clock = Callable[[], datetime.date]
"""Tells the day, in UTC."""


def utc_today() -> datetime.date:
    """The day by the system's clock."""
    return datetime.datetime.now(datetime.UTC).date()
