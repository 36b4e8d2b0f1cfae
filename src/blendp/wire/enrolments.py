"""One-time tokens by which opt-in people are let in: how many an operator asks for, and the answer."""

from __future__ import annotations

from typing import Annotated

from blendp.wire.messages import Message, documented

MAX_ENROLMENTS = 10_000
"""Tokens that are made at a time."""


class EnrolmentRequest(Message):
    """How many tokens are asked for."""

    count: Annotated[int, documented(minimum=1, maximum=MAX_ENROLMENTS)]


class EnrolmentTokens(Message):
    """New enrolment tokens, told this once."""

    tokens: Annotated[list[str], documented(minItems=1)]
