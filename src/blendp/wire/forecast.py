"""What a list will probably hold, as operators are told before they have it made."""

from __future__ import annotations

from blendp.wire.messages import Count, Message, Share


class ListForecast(Message):
    """What a list will probably hold; ``people_needed`` is null if no number of people is enough."""

    people: Count
    like: str
    """The population whose records are assumed."""

    expected: float
    """The mean number of records."""

    low: Count
    high: Count
    range: Share
    """How probable it is that the number is from ``low`` to ``high``."""

    min_records: Count
    below: Share
    """The chance of fewer records than are wanted."""

    too_short: bool
    """Whether there are fewer more often than not, or on average."""

    people_needed: Count | None
    """The least number of people with which that chance may be taken."""
