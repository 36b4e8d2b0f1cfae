"""What a method asks of a log, and who in it opts in."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.mechanisms import Holdings

OptIn = float | NDArray[np.bool_] | None
"""The share of users who opt in, a mark for every user, or None for the log's own marks."""


class DrawnContributions(Protocol):
    """What every person contributes, and the texts behind it."""

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""

    @property
    def opt_in(self) -> NDArray[np.bool_] | None:
        """Who opts in, if the log says so."""

    @property
    def distinct_records(self) -> int:
        """Record ids are below this; asking for holdings may raise it."""

    @property
    def records(self) -> NDArray[np.int64]:
        """A row of record ids for every person, in random order; -1 for people without any."""

    def holdings(self, who: NDArray[np.int64], key: int) -> Holdings:
        """Every different record of these people, given by their rows in ``records``; the key draws which are kept."""

    def texts(self, ids: NDArray[np.int64]) -> list[Record]:
        """What these records say."""

    def locate(self, head_list: HeadList) -> NDArray[np.int64]:
        """The cell of every record, and last that of no record."""


class Log(Protocol):
    """A log that an engine answers for, without showing rows."""

    def draw(self, per_user: int, key: int, *, reproducible: bool = False, holdings: bool = True) -> DrawnContributions:
        """So many records of every person, drawn fairly by the key; reproducibly, by nothing but their content.

        Without ``holdings`` nobody's holdings can be asked for later.
        """


def require_log(log: object) -> None:
    """Raise unless this can be drawn from."""
    if not hasattr(log, "draw"):
        raise ParameterError(
            "log", type(log).__name__, "a log", "Open one with blendp.open_log, or blendp.log_of_table."
        )


def who_opts_in(marks: NDArray[np.bool_] | None, opt_in: OptIn) -> float | NDArray[np.bool_]:
    """What was asked for, or the log's own marks, which nothing overrides: they are what people said."""
    if marks is not None and opt_in is not None:
        raise ParameterError(
            "opt_in", opt_in, "left out where the log has an opt-in column", "The column says who opts in."
        )
    chosen = marks if opt_in is None else opt_in
    if chosen is None:
        raise ParameterError(
            "opt_in", None, "a share, or marks", "Say who opts in: opt_in=0.05, or name a column when reading the log."
        )
    return chosen
