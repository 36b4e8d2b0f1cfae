"""Values of the command line read without the library of types that Typer loads for the first of them.

Loading it takes longer than reading a small log. What is written in the plainest way is read here; everything else is
left to Typer. What is no number is refused in our own words.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from typer import BadParameter

_MAX_SHOWN = 40
_INT = re.compile(r"[+-]?[0-9]{1,18}")
_FLOAT = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?")


class NotPlainError(Exception):
    """A value that Typer has to read."""


class LightParam:
    """Stands where Typer keeps what reads a parameter's values."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value of a parameter, from the command line or by default."""
        descriptor = param.type_descriptor
        info, several = descriptor.parameter_info, param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        try:
            if not (info.parser is info.min is info.max is None):
                raise NotPlainError
            return plain_list(value, descriptor.annotation) if several else plain_value(value, descriptor.annotation)
        except NotPlainError:
            return _by_typer(value, descriptor, param, ctx)


def _by_typer(value: Any, descriptor: Any, param: Any, ctx: Any) -> Any:
    """A value as Typer reads it; what is no number is refused in our own words."""
    kind, info = descriptor.annotation, descriptor.parameter_info
    number = {int: "a whole number", float: "a number"}.get(kind) if isinstance(value, str) else None
    refusal = BadParameter(f"it must be {number}, got {str(value)[:_MAX_SHOWN]!r}.", ctx=ctx, param=param)
    if number and info.parser is None and not _may_be_number(value):
        raise refusal
    from typer import _coercion

    try:
        return _coercion.build_runtime_param(descriptor).coerce(value, param=param, ctx=ctx)
    except BadParameter:
        if number and info.parser is info.min is info.max is None:
            raise refusal from None
        raise


def _may_be_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def lighten(param: Any) -> None:
    """Let a parameter's plain values be read here, if Typer has what they are read by where it is looked for."""
    if getattr(param, "_runtime_param", param) is None and hasattr(param, "type_descriptor"):
        param._runtime_param = LightParam()


def plain_list(values: Any, kind: Any) -> list[Any]:
    """Several values, each of the type that the list is of."""
    element = {"list[str]": str, "list[pathlib.Path]": Path}.get(str(kind))
    if element is None or not isinstance(values, list | tuple):
        raise NotPlainError
    return [plain_value(value, element) for value in values]


def plain_value(value: Any, kind: Any) -> Any:
    """One value of a type."""
    if type(value) is kind and kind in (str, int, float, bool):
        return value
    if isinstance(value, Path) and kind is Path:
        value = str(value)
    if not isinstance(value, str):
        raise NotPlainError
    if kind is int and _INT.fullmatch(value):
        return int(value)
    if kind is float and _FLOAT.fullmatch(value):
        return float(value)
    if kind is Path and (not os.path.lexists(value) or os.access(value, os.R_OK)):
        return Path(value)
    raise NotPlainError
