"""What a list will probably hold, as operators are told before they have it made."""

from __future__ import annotations

from typing import Self

import msgspec
from msgspec import structs

from blendp.wire.messages import Count, Message, Share

UNLIKELY = 0.05
"""The chance of a list that is too short which may be taken."""


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

    records_per_person: float | None
    """How many records a person is taken to have on average; null where one record of each counts."""

    with_one_record: float | None
    """The mean number of records if everybody has one, where nobody has said how many they have; null elsewhere."""


class ForecastAnswer(ListForecast):
    """A forecast in numbers and in a sentence; ``caution`` is why not to make this list now, null if nothing speaks
    against it."""

    sentence: str
    caution: str | None

    @classmethod
    def of(cls, forecast: ListForecast, sentence: str, caution: str | None) -> Self:
        """With what is said about it."""
        return cls(**structs.asdict(forecast), sentence=sentence, caution=caution)


MAX_RANKS = 50
"""Places of the list whose errors are told."""


class PlannedError(Message):
    """How well the record at one place of the list will be known, the places being by true probability."""

    rank: Count
    probability: Share
    std_error: float


class CampaignPlan(Message):
    """What the planner expects of a campaign, from its terms and the sizes of its groups alone."""

    people: Count
    """The opt-in people that the errors are planned for."""

    clients: Count
    like: str
    list_forecast: ForecastAnswer = msgspec.field(name="list")
    errors: list[PlannedError]
    """Empty where no plan tells: with several records of a person in the published method, or where no record is
    expected on the list."""

    top_error: float | None
    """The error on the true top M, what is missing counted as 0: 0 is perfect, 1 an empty list; null with no errors."""

    sentence: str | None
    """The error on the true top, and how well the most popular record will be known."""

    statement: str
    """How many records an opt-in person's device sends, and how the list is made of them."""


class DraftChecks(Message):
    """What an operator should look at before a campaign of these terms is created; nothing is kept."""

    terms: dict[str, str | float | None]
    """All of them, as a campaign is created with; what was left out is as usual."""

    cautions: list[str]
    forecast: ForecastAnswer
    """At the minimum of opt-in people."""

    sentence: str | None
    """How well the most popular record will be known, with the clients that are expected."""

    statements: list[str]
    """What happens by itself, and how many such campaigns devices have room for."""
