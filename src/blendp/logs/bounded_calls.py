"""Calls in a filter that one row could make fail, or take for ever: they need a constant, or are written otherwise.

The database matches most patterns with several ``%`` by trying all ways, so that one long text could keep everybody
waiting. Its regular expressions take time in proportion to the text: patterns become such, but for those of ``LIKE``
without ``_``, which it looks for piece by piece.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

_PATTERNS = {
    "~~": "LIKE",
    "!~~": "NOT LIKE",
    "~~*": "ILIKE",
    "!~~*": "NOT ILIKE",
    "like_escape": "LIKE",
    "not_like_escape": "NOT LIKE",
    "ilike_escape": "ILIKE",
    "not_ilike_escape": "NOT ILIKE",
}
"""What the database calls the matching of patterns, and what people do."""

_ONE_CONSTANT = {
    **dict.fromkeys(("~~~", "format", "printf"), ()),
    **dict.fromkeys(("timezone", "date_part", "datepart", "date_diff", "datediff", "date_sub", "datesub"), (0,)),
    "time_bucket": (0,),
    **dict.fromkeys(("lpad", "rpad", "bitstring", "list_resize", "array_resize", "array_length"), (1,)),
    **dict.fromkeys(("regexp_matches", "regexp_full_match", "regexp_extract", "regexp_extract_all"), (1,)),
    **dict.fromkeys(("string_split_regex", "str_split_regex", "regexp_split_to_array"), (1,)),
    **dict.fromkeys(("replace", "regexp_replace"), (2,)),
    **dict.fromkeys(("levenshtein", "editdist3", "damerau_levenshtein"), (0, 1)),
}
"""Functions by which one row could stop a run, or everybody wait, and the arguments of which one must be a constant."""


def unbounded(call: Mapping[str, Any]) -> str | None:
    """What a function is called that a row could make fail, or take for ever; None if it is none."""
    name, arguments = call["function_name"], call["children"]
    if name in _PATTERNS:
        return None if all(_is_constant(one) for one in arguments[1:]) else _PATTERNS[name]
    positions = _ONE_CONSTANT.get(name)
    if positions is None or any(at < len(arguments) and _is_constant(arguments[at]) for at in positions):
        return None
    return "GLOB" if name == "~~~" else str(name)


def write_pattern_out(call: dict[str, Any], connection: duckdb.DuckDBPyConnection) -> None:
    """Make the matching of a pattern, constant by now, that of a regular expression; other calls stay as they are."""
    said = _PATTERNS.get(call["function_name"])
    texts = [argument.get("value", {}).get("value") for argument in call["children"][1:]]
    if said is None or not all(isinstance(text, str) for text in texts):
        return
    pattern, escape = (*texts, "")[:2]
    any_case = said.endswith("ILIKE")
    if not (any_case or escape or "_" in pattern):
        return
    if any_case:
        ((pattern, escape),) = connection.execute("SELECT lower(?), lower(?)", [pattern, escape]).fetchall()
    expression = _expression(pattern, escape)
    if expression is None:
        return
    text, constant = call["children"][:2]
    if any_case:
        text = {**call, "function_name": "lower", "is_operator": False, "children": [text]}
    constants = [{**constant, "value": {**constant["value"], "value": one}} for one in (expression, "s")]
    matches = {**call, "function_name": "regexp_full_match", "is_operator": False, "children": [text, *constants]}
    if said.startswith("NOT"):
        common = {name: call[name] for name in ("alias", "query_location")}
        matches = {"class": "OPERATOR", "type": "OPERATOR_NOT", **common, "children": [matches]}
    call.clear()
    call.update(matches)


def _expression(pattern: str, escape: str) -> str | None:
    """The regular expression of a pattern; None if the database is to say what is wrong with it."""
    if len(escape) > 1:
        return None
    parts: list[str] = []
    signs = iter(pattern)
    for sign in signs:
        if escape and sign == escape:
            if (sign := next(signs, "")) == "":
                return None
        elif sign in "%_":
            parts.append(".*" if sign == "%" else ".")
            continue
        parts.append(f"\\x{{{ord(sign):x}}}")
    return "".join(parts)


def _is_constant(argument: Mapping[str, Any]) -> bool:
    return bool(argument["class"] == "CONSTANT")
