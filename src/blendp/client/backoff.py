"""When to try again.

    delay = retry_after + u min(max_delay, 5 s 2^(n-1))

where:
    n            is the number of attempts so far,
    u            is uniform on [0, 1), so that devices that failed together do not come back together,
    retry_after  is what the collector asked for, 0 if nothing,
    max_delay    is an hour; six of them if the collector said that it is too late, which its clock may be wrong about.
"""

from __future__ import annotations

import datetime
import re

FIRST = 5.0
MAX_DELAY = 3600.0
MAX_DELAY_IF_LATE = 6 * 3600.0
MAX_WAIT = 14 * 86_400.0

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DATE = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), ([0-9]{2}) "
    rf"({'|'.join(_MONTHS)}) ([0-9]{{4}}) ([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}}) GMT"
)


def delay(attempts: int, u: float, retry_after: float = 0.0, max_delay: float = MAX_DELAY) -> float:
    """Seconds until the next attempt."""
    return retry_after + u * min(max_delay, FIRST * 2.0 ** min(attempts - 1, 30))


def retry_after(header: str | None, now: float) -> float:
    """Seconds that a Retry-After header asks for, in seconds or as a date (IMF-fixdate); 0 if it is neither."""
    if header is None:
        return 0.0
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(min(int(text[:12]), MAX_WAIT))
    match = _DATE.fullmatch(text)
    if match is None:
        return 0.0
    day, month, *rest = match.groups()
    year, hour, minute, second = map(int, rest)
    try:
        moment = datetime.datetime(year, _MONTHS.index(month) + 1, int(day), hour, minute, second, tzinfo=datetime.UTC)
    except ValueError:
        return 0.0
    return min(max(0.0, moment.timestamp() - now), MAX_WAIT)
