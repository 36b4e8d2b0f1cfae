"""Results that can be looked at in a notebook and taken along as tables.

What they look like is known to :mod:`blendp.render.notebook`, a room far above: it is called by its name when somebody
asks, so that mathematics needs no table, page or plot to compute with.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from blendp.errors import EngineError

_HOW = "blendp.render.notebook"


class Shown:
    """A result as a table, as a plot, and as notebooks show it."""

    __slots__ = ()

    def to_arrow(self, table: str | None = None) -> Any:
        """The table of this result as a ``pyarrow.Table``; a result with several has the main one unless named."""
        return import_module(_HOW).table_of(self, table)

    def to_pandas(self, table: str | None = None) -> Any:
        """The same as a ``pandas.DataFrame``; pandas has to be installed."""
        _require("pandas")
        return self.to_arrow(table).to_pandas()

    def to_polars(self, table: str | None = None) -> Any:
        """The same as a ``polars.DataFrame``; polars has to be installed."""
        return _require("polars").DataFrame(self.to_arrow(table))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The main table for any library that speaks Arrow's C stream."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def plot(self) -> Any:
        """What this result says as a ``matplotlib.figure.Figure``, which notebooks show."""
        return import_module(_HOW).figure_of(self)

    def _repr_html_(self) -> str:
        """The result as notebooks show it: numbers, plot and table, without scripts or anything from elsewhere."""
        return str(import_module(_HOW).html_of(self))

    def __repr__(self) -> str:
        """One line."""
        return f"<{type(self).__name__}: {self._brief()}>"

    def _brief(self) -> str:
        """The result in one line."""
        raise NotImplementedError


def _require(library: str) -> Any:
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:
            raise
        raise EngineError(f"{library} is not installed: install it with: pip install {library}.") from None
