"""Errors a person can act on.

Every error of blendp is also a builtin one (``ValueError``, ``TypeError``, ``FileExistsError``) and says in one
sentence what is wrong and what to do. A :class:`ParameterError` carries the parameter and its value for programs.
"""

from __future__ import annotations

import math
from json import JSONDecodeError
from typing import Any

_MAX_SHOWN = 200
"""Characters of a value that a message shows."""

_BEGINNING = 40
"""Bytes of a document that an error keeps for programs."""


class ParameterError(ValueError):
    """A parameter outside its legal range."""

    def __init__(self, parameter: str, value: object, legal: str, remedy: str) -> None:
        """Say which parameter, its value, the legal range, and what to do."""
        self.parameter = parameter
        self.value = _plain(value)
        self.legal = legal
        self.remedy = remedy
        super().__init__(f"{parameter} = {_shown(self.value)} is not allowed: it must be {legal}. {remedy}")


class DocumentError(ParameterError):
    """A document that cannot be read as what it should be: the message says where it breaks, and quotes nothing."""

    def __init__(self, parameter: str, data: bytes, legal: str, remedy: str, cause: Exception | None = None) -> None:
        """Say which document, what it should be, where it breaks if that is known, and what to do."""
        super().__init__(parameter, data[:_BEGINNING], legal, remedy)
        self.where_broken = _where_broken(cause)
        self.args = (self.sentence(f"The {parameter}"),)

    def sentence(self, subject: str, remedy: str | None = None) -> str:
        """The message about a document of this name."""
        return f"{subject} is not {self.legal}{self.where_broken}. {self.remedy if remedy is None else remedy}"


def _where_broken(cause: Exception | None) -> str:
    """Where a document breaks, in the words of those who see it in an editor."""
    if isinstance(cause, JSONDecodeError):
        return f": line {cause.lineno}, column {cause.colno} is wrong, or what stands before it"
    if isinstance(cause, UnicodeDecodeError):
        return f": byte {cause.start + 1} is no UTF-8"
    return ": it is nested too deeply" if isinstance(cause, RecursionError) else ""


def _plain(value: Any) -> Any:
    """The value without NumPy's types, also within lists, tuples and dictionaries."""
    if isinstance(value, (list, tuple)):
        parts = [_plain(part) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {_plain(key): _plain(part) for key, part in value.items()}
    return value.tolist() if type(value).__module__ == "numpy" and hasattr(value, "tolist") else value


def _shown(value: object) -> str:
    """The value as Python writes it, bytes as the text that they are, its middle left out where it is long.

    What Python writes on several lines is a table or the like: it may hold people's rows, so that its type will do.
    """
    text = repr(value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value)
    if "\n" in text:
        return repr(type(value).__name__)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 40]}…{text[-39:]}"


class LogError(ValueError):
    """A log that cannot be read, or has too many broken rows."""

    def __init__(self, message: str = "") -> None:
        """Say what is wrong, in a sentence that begins like one, also where what it is about has no name."""
        unnamed = message.startswith(("the table ", "the log of "))
        super().__init__(message[0].upper() + message[1:] if unnamed else message)


class EngineError(RuntimeError):
    """An engine that cannot start, or fails at its work."""


class OutputExistsError(FileExistsError):
    """An output that would overwrite an earlier result."""


class RandomnessError(TypeError):
    """Simulation randomness where released randomness is due."""


def require_number(
    parameter: str,
    value: Any,
    *,
    above: float = -math.inf,
    below: float = math.inf,
    min_value: float = -math.inf,
    max_value: float = math.inf,
    legal: str,
    remedy: str,
) -> None:
    """Raise :class:`ParameterError` unless ``value`` is a finite number within all the bounds given."""
    try:
        fine = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number beyond all fractions
        fine = False
    if not fine or not (above < value < below and min_value <= value <= max_value):
        if type(value).__module__ == "numpy" and isinstance(_plain(value), int | float):
            remedy = "It is not a number of Python's own: convert it with float()."
        raise ParameterError(parameter, value, legal, remedy)


def require_count(parameter: str, value: Any, *, min_value: int, remedy: str) -> None:
    """Raise :class:`ParameterError` unless ``value`` is a whole number of at least ``min_value``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < min_value:
        if type(value).__module__ == "numpy" and isinstance(_plain(value), int) and value >= min_value:
            remedy = "It is not a number of Python's own: convert it with int()."
        raise ParameterError(parameter, value, f"a whole number of at least {min_value}", remedy)


def require_choice(parameter: str, value: Any, choices: tuple[str, ...], remedy: str = "") -> None:
    """Raise :class:`ParameterError` unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise ParameterError(parameter, value, "one of " + ", ".join(choices), remedy or "Pick one of these.")
