"""What one person sends: one value, whatever randomised it, wherever it is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from blendp.canonical import is_sha256
from blendp.errors import ParameterError

QUESTIONS = ("query", "record", "cell")
"""What a report about a list may answer: query and record in the blendp method, cell in the published one."""

QUESTION_NUMBER: Mapping[str, int] = MappingProxyType({name: number for number, name in enumerate(QUESTIONS)})
"""How questions are numbered where reports are kept or travel."""

_NAME = re.compile(r"[a-z0-9-]{1,64}")
_REMEDY = "Take a report as a scheme made it, unchanged."


@dataclass(frozen=True, slots=True)
class Report:
    """A randomised report. Retries resend it; they never draw again.

    where:
        list_sha256  is the name of what it is about: SHA-256 of the head list, or of a survey's design,
        question     is what it answers, drawn before the records are looked at, and public,
        data         is the randomised answer in its compact form, which only its :class:`ReportScheme` can read.
    """

    list_sha256: str
    question: str
    data: bytes

    def __post_init__(self) -> None:
        """Refuse what no scheme makes; whether it is possible, only the scheme can tell."""
        if not is_sha256(self.list_sha256):
            raise ParameterError("list_sha256", self.list_sha256, "64 lower-case hexadecimal digits", _REMEDY)
        question: object = self.question
        if not isinstance(question, str) or not _NAME.fullmatch(question):
            raise ParameterError("question", question, "a name of lower-case letters, digits and hyphens", _REMEDY)
        data: object = self.data
        if not isinstance(data, bytes) or not data:
            raise ParameterError("data", data, "at least one byte", _REMEDY)
