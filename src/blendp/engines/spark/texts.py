"""Normalising texts where they lie: on executors.

Texts that every rule leaves as they are, which most are, are told by SQL. The others go through the rule's Python
(:mod:`blendp.normalise`), which is sent along: an executor needs Python of the driver's version, and no package.
Python is not started where no text needs it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from blendp.normalise import PLAIN_URL, PLAIN_USER, normalise_query, normalise_url, normalise_user

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ASCII = r"[\x00-\x7f]*"
_SPACED = r"[ !-@\[-~]+"  # no repeated group: Java follows one by calls within calls, which long texts exhaust

USER, QUERY, URL, RECORDS = "blendp_user", "blendp_query", "blendp_url", "blendp_records"
"""The functions in SQL: of a text each, and of a list of records."""

_LIST = "array<struct<number: bigint, query: string, url: string>>"
Drawn = tuple[int, str, str | None]


def is_plain_user(text: str) -> str:
    """SQL for whether normalising leaves a user id as it is."""
    return _matches(text, PLAIN_USER)


def is_plain_record(rule: str, levels: int, query: str, url: str) -> str:
    """SQL for whether normalising leaves query and URL as they are."""
    if rule == "none":
        plain = [_matches(query, _ASCII), _matches(url, _ASCII)]
    else:
        spaced = f"contains({query}, '  ') OR startswith({query}, ' ') OR endswith({query}, ' ')"
        plain = [f"{_matches(query, _SPACED)} AND NOT ({spaced})", _matches(url, PLAIN_URL)]
    return " AND ".join(plain[:levels])


def register(session: SparkSession, rule: str) -> None:
    """Let SQL of this session call these functions."""
    from pyspark.sql.functions import udf

    _send_along()
    context = session.sparkContext
    own = sys.executable if (context.master or "").startswith("local") else context.pythonExec
    context.pythonExec = context.getConf().get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or own
    functions = {name: _of_text(function) for name, function in _functions(rule).items()}
    for name, function in functions.items():
        session.udf.register(name, udf(function, "string", useArrow=False))
    session.udf.register(RECORDS, udf(_of_records(functions[QUERY], functions[URL]), _LIST, useArrow=False))


def _functions(rule: str) -> dict[str, Callable[[str], str]]:
    if rule == "none":
        return {USER: normalise_user, QUERY: _composed, URL: _composed}
    return {USER: normalise_user, QUERY: normalise_query, URL: normalise_url}


def _composed(text: str) -> str:
    return normalize("NFC", text)


def _of_text(function: Callable[[str], str]) -> Callable[[str | None], str | None]:
    """The function for columns, in which NULL stays."""

    def of_text(text: str | None) -> str | None:
        return None if text is None else function(text)

    return of_text


def _of_records(
    query: Callable[[str | None], str | None], url: Callable[[str | None], str | None]
) -> Callable[[list[Drawn]], list[Any]]:
    """The function of a list of records."""

    def of_records(drawn: list[Drawn]) -> list[Any]:
        return [(number, query(query_text), url(url_text)) for number, query_text, url_text in drawn]

    return of_records


@cache
def _send_along() -> None:
    """Executors have no blendp: what they run is sent by value."""
    from pyspark.cloudpickle import register_pickle_by_value

    for module in (__name__, normalise_user.__module__):
        register_pickle_by_value(sys.modules[module])  # type: ignore[no-untyped-call]


def _matches(text: str, pattern: str) -> str:
    """SQL for whether all of a text matches: Java's ``$`` would let a last newline pass."""
    quoted = pattern.replace('"', r"\x22").replace("'", r"\x27")
    return rf"({text} RLIKE r'\A(?:{quoted})\z')"
