"""Why a request is refused: stable types (RFC 9457), each with its status, and whether trying again can help."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any

from msgspec import UNSET, UnsetType

from blendp.wire.messages import Message, documented

RETRYABLE = (408, 421, 425, 429, 431, 500, 502, 503, 504, 507)
"""Statuses after which the same bytes may be sent again; any other 4xx is final."""

PREFIX = "urn:blendp:problem:"
_TYPE = re.compile(PREFIX + "([a-z-]{1,40})")


@dataclass(frozen=True)
class Problem:
    """One reason to refuse."""

    slug: str
    status: int
    title: str

    @property
    def type(self) -> str:
        """The stable identifier that programs look at."""
        return PREFIX + self.slug

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in RETRYABLE


PROBLEMS = MappingProxyType(
    {
        problem.slug: problem
        for problem in (
            Problem("malformed", 400, "The request is not of the form that the documentation says"),
            Problem("unauthorised", 401, "No valid token was given"),
            Problem("forbidden", 403, "The token does not allow this"),
            Problem("not-found", 404, "There is no such thing"),
            Problem("method-not-allowed", 405, "This address does not know the method"),
            Problem("request-timeout", 408, "The request took too long to arrive"),
            Problem("wrong-state", 409, "The campaign is not in a state that allows this"),
            Problem("too-few", 409, "A group has fewer people than the campaign's minimum"),
            Problem("conflict", 409, "Another report or record set was accepted before under the same id or token"),
            Problem("over-quota", 409, "This install has reported already, or more is sent than the terms allow"),
            Problem("deleted", 410, "It was deleted on request"),
            Problem("late", 410, "The campaign takes no more of these"),
            Problem("over-size", 413, "The body is larger than allowed"),
            Problem("unsupported-media-type", 415, "The body's media type is not known"),
            Problem("misdirected", 421, "The request did not come through the proxy"),
            Problem("impossible", 422, "The randomiser cannot have made this report"),
            Problem("wrong-list", 422, "The report is bound to another manifest or list"),
            Problem("wrong-scheme", 422, "The client draws or encodes in another way than the campaign's scheme"),
            Problem("invalid-parameter", 422, "A parameter is outside its legal range"),
            Problem("rate-limited", 429, "Too many requests"),
            Problem("head-too-large", 431, "The head is larger than allowed"),
            Problem("internal", 500, "The service failed"),
            Problem("busy", 503, "The service is busy or its store cannot be reached"),
            Problem("storage-full", 507, "The store is full"),
        )
    }
)
"""What a collector may answer instead of what was asked for, by the last part of its type."""


class ProblemDocument(Message):
    """A refusal, as it travels (RFC 9457)."""

    type: Annotated[str, documented(enum=[problem.type for problem in PROBLEMS.values()])]
    title: str
    status: int
    detail: str
    missing: Annotated[int | UnsetType, documented(description="How many people are missing (too-few)")] = UNSET
    reason: Annotated[
        str | UnsetType,
        documented(
            enum=["storage-full", "read-only", "unreachable", "stopped"], description="Why the service is not ready"
        ),
    ] = UNSET


def slug_of(document: Mapping[str, Any]) -> str | None:
    """Which problem a document tells of, of this version or of a later one; None if of none, as a proxy's page does."""
    match = _TYPE.fullmatch(str(document.get("type")))
    return None if match is None else match[1]
