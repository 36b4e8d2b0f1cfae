"""What a campaign's list will probably hold, from its terms and the number of its people; never from their records."""

from __future__ import annotations

from functools import lru_cache

from blendp.client import Policy
from blendp.errors import ParameterError
from blendp.evaluation.planner import Plan, assumed_law, forecast_list, plan
from blendp.render.plan.forecast import forecast_caution, forecast_words
from blendp.service.new_terms import parameters_of
from blendp.wire.campaign import Terms
from blendp.wire.forecast import ForecastAnswer, ListForecast

LIKE = "aol"
"""Whose records are assumed, if nobody says."""


@lru_cache(maxsize=256)
def forecast_of(terms: Terms, people: int, like: str = LIKE) -> ListForecast:
    """The forecast for so many opt-in people, against the shortest list that devices take part with by default."""
    return forecast_list(parameters_of(terms), terms.levels, people, like, Policy.min_records)


def planned(terms: Terms, people: int, clients: int, like: str = LIKE) -> Plan | None:
    """How close the result will be, with so many people of both groups.

    None where no plan tells: with several records of a person in the published method, or where no record is listed.
    """
    parameters = parameters_of(terms)
    law = assumed_law(parameters, like, terms.levels)
    try:
        expected = plan(law, people + clients, people / (people + clients), parameters)
    except ParameterError:
        return None
    return expected if expected.errors else None


def planned_at_least(terms: Terms, like: str = LIKE) -> Plan | None:
    """The same with the fewest opt-in people and the clients expected."""
    return planned(terms, terms.min_opt_in, terms.expected_clients, like)


def in_words(forecast: ListForecast) -> ForecastAnswer:
    """The forecast, with what is said about it."""
    return ForecastAnswer.of(forecast, forecast_words(forecast), forecast_caution(forecast))
