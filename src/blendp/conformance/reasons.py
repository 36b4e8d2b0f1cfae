"""Why something is refused, in a word that is the same in every language."""

from __future__ import annotations

from blendp.client.refusals import NetworkError, RefusedError
from blendp.errors import ParameterError
from blendp.wire.envelope import SignatureError


def reason_of(error: Exception) -> str | None:
    """Why a call refused its input, for programs; None if the error is no refusal."""
    if isinstance(error, RefusedError):
        return error.reason
    if isinstance(error, SignatureError):
        return "signature"
    if isinstance(error, NetworkError):
        return "network"
    return error.parameter if isinstance(error, ParameterError) else None
