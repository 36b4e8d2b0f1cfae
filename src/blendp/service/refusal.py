"""Saying no: which problem, in words for a person, with what a program needs to go on."""

from __future__ import annotations

from typing import Any

from blendp.wire.problems import PROBLEMS, Problem


class Refused(Exception):  # noqa: N818 - a refusal is an answer, not a failure
    """A request that is not granted."""

    def __init__(self, slug: str, detail: str, *, retry_after: int | None = None, **members: Any) -> None:
        """Which problem, the sentence, when to come back, and further members of the problem document."""
        self.problem: Problem = PROBLEMS[slug]
        self.detail = detail
        self.retry_after = retry_after
        self.members = members
        super().__init__(detail)
