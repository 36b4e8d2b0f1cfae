"""The forecast of a list, as the campaign commands show it."""

from __future__ import annotations

from typing import Annotated, Any

from blendp.cli.console import errors
from blendp.cli.options import method
from blendp.evaluation.planner import ListForecast
from blendp.logs.synthetic import NAMES
from blendp.render.plan.forecast import forecast_caution

LIKE = "aol"

Like = Annotated[str, method(help=f"Whose records the forecast assumes: {' or '.join(NAMES)}.")]


def read_forecast(answer: dict[str, Any]) -> ListForecast:
    """The forecast that a collector told."""
    return ListForecast(**{name: answer[name] for name in ListForecast.__dataclass_fields__})


def warn_of_forecast(forecast: ListForecast) -> None:
    """Say that a list may be too short; loudly, if it probably is."""
    caution = forecast_caution(forecast)
    if caution is not None:
        style = "bold red" if forecast.too_short else "yellow"
        errors.print(f"Forecast: {caution}", style=style, markup=False, highlight=False, soft_wrap=True)
