"""A forecast of a list, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blendp.methods.objectives import top_named
from blendp.wire.forecast import UNLIKELY, ListForecast

if TYPE_CHECKING:
    from blendp.evaluation.planner import Plan

_TELL = "unless they are told otherwise (--min-records)"


def forecast_words(forecast: ListForecast) -> str:
    """What the list will probably hold, and how sure that is."""
    people = f"{forecast.people:,} opt-in {'person' if forecast.people == 1 else 'people'}"
    sentence = (
        f"{people} like those of {forecast.like}{_each(forecast)} make a list of about {_number(forecast.expected)} "
        f"records, {_span(forecast)} in {100 * forecast.range:.0f} % of cases; fewer than {forecast.min_records}, "
        f"which devices refuse, in {_chance(forecast.below)}."
    )
    if forecast.with_one_record is None:
        return sentence
    return (
        f"{sentence} Nobody has said how many records they have: with one each, the list has about "
        f"{_number(forecast.with_one_record)}."
    )


def is_risky(forecast: ListForecast) -> bool:
    """Whether the chance of a list that is too short is more than may be taken."""
    return forecast.below > UNLIKELY


def forecast_caution(forecast: ListForecast) -> str | None:
    """Why not to make this list now, and what to do instead; None if it will probably be long enough."""
    if not is_risky(forecast):
        return None
    if not forecast.too_short:
        return (
            f"In {_chance(forecast.below)} of cases the list has fewer than {forecast.min_records} records, and "
            f"devices refuse such a list {_TELL}. {_remedy(forecast)}"
        )
    return (
        f"The list will probably be too short, if records are spread like those of {forecast.like}{_each(forecast)}: "
        f"about {_number(forecast.expected)}, and devices refuse fewer than {forecast.min_records} {_TELL}. The opt-in "
        f"people's epsilon would be spent on a list that hardly anybody reports about. {_remedy(forecast)}"
    )


def error_words(plan: Plan) -> str:
    """The error on the true top, and how well the most popular record will be known, where one is listed."""
    error = plan.errors[0]
    return (
        f"the {top_named(plan.parameters.size)} will be about {plan.scores.top_error:.2g} (0 is perfect, 1 an empty "
        f"list), and the most popular record, held by {100 * error.probability:.2g} % of the people, will be known to "
        f"about ± {100 * error.std_error:.2g} percentage points."
    )


def _remedy(forecast: ListForecast) -> str:
    if forecast.people_needed is None:
        return "No number of people is enough: create another campaign that keeps more records (--size)."
    return (
        f"Wait until about {forecast.people_needed:,} people have opted in, or create another campaign with one level "
        f"(queries alone) or a larger epsilon."
    )


def _each(forecast: ListForecast) -> str:
    many = forecast.records_per_person
    return "" if many is None else f", with {many:g} records each on average,"


def _span(forecast: ListForecast) -> str:
    return f"{forecast.low:,}" if forecast.low == forecast.high else f"{forecast.low:,} to {forecast.high:,}"


def _number(value: float) -> str:
    return f"{value:,.1f}" if value < 10 else f"{value:,.0f}"


def _chance(chance: float) -> str:
    percent = 100 * chance
    if percent < 1:
        return "less than 1 %"
    return "more than 99 %" if percent > 99 else f"{percent:.0f} %"
