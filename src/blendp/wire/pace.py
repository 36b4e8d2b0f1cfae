"""When a group will be large enough, if people go on coming as they do."""

from __future__ import annotations

from typing import Annotated

from blendp.wire.messages import Count, Day, Message, documented

OUTLOOKS = ("reached", "on-course", "too-late", "nothing", "not-open", "closed")


class Pace(Message):
    """How fast a group comes, and the day on which its minimum is reached at this pace.

    reached    the minimum is there,
    on-course  it is reached on the day ``reached``,
    too-late   it would be reached after the last day on which the group can send,
    nothing    nobody came in the days that were looked at,
    not-open   the group cannot send yet,
    closed     the group cannot send any more, and the minimum is not there.
    """

    outlook: Annotated[str, documented(enum=list(OUTLOOKS))]
    per_day: float
    """The mean of the full days that were looked at; today is counted in where that raises it, as it is not over."""

    full_days: Count
    today: Count
    """How many came today so far."""

    reached: Day | None
    """Null unless the outlook is on-course."""

    by_deadline: Count | None
    """How many there would be at the end of the last day; null while the group cannot send."""

    sentence: str
