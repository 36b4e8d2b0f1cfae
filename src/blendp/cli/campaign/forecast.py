"""The forecast of a list, as the campaign commands show it."""

from __future__ import annotations

from typing import Annotated

from blendp.cli.console import errors
from blendp.cli.panels import method
from blendp.logs.synthetic import NAMES
from blendp.render.plan.forecast import forecast_caution
from blendp.wire.forecast import ListForecast

LIKE = "aol"

Like = Annotated[str, method(help=f"Whose records the forecast assumes: {' or '.join(NAMES)}.")]


def warn_of_forecast(forecast: ListForecast) -> None:
    """Say that a list may be too short; loudly, if it probably is."""
    caution = forecast_caution(forecast)
    if caution is not None:
        style = "bold red" if forecast.too_short else "yellow"
        errors.print(f"Forecast: {caution}", style=style, markup=False, highlight=False, soft_wrap=True)
