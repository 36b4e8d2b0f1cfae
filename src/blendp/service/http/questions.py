"""What operators ask with a request: parameters behind the question mark, and messages in bodies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from blendp.errors import ParameterError, require_choice
from blendp.logs.synthetic import NAMES
from blendp.service.board.forecast import LIKE
from blendp.service.http.endpoints import Call
from blendp.service.refusal import Refused

POPULATION: dict[str, dict[str, Any]] = {
    "like": {"type": "string", "enum": list(NAMES), "default": LIKE, "description": "Whose records are assumed"}
}

T = TypeVar("T")


def asked(call: Call, known: Collection[str]) -> Mapping[str, str]:
    """The parameters of a request, each once; refuses those that are not known."""
    values = call.request.query_params
    for name in values:
        if name not in known or len(values.getlist(name)) > 1:
            raise ParameterError(name[:80], values[name][:80], f"one of {', '.join(known)}, once", "Leave it out.")
    return values


def population(call: Call) -> str:
    """Whose records a forecast assumes."""
    like = asked(call, POPULATION).get("like", LIKE)
    require_choice("like", like[:80], NAMES)
    return like


def decoded(call: Call, read: Callable[[bytes], T]) -> T:
    """The message of a body; what is not even of its form is malformed, whatever its values."""
    try:
        return read(call.body)
    except ParameterError as error:
        raise Refused("malformed", f"The body is not as the documentation says: {error}") from error
