"""Clients' reports as they travel: one JSON report, or a compact batch of many.

report (PUT under its id):    {"data", "manifest", "pseudonym", "question", "scheme"}
batch:                        "blR1" manifest scheme section ...
    section                   question:u8 width:u16 count:u32 then count times id:16 pseudonym:16 data:width

where:
    id         is 16 random bytes, drawn by the device; a retry has the same,
    pseudonym  is 16 bytes that stand for the install in this campaign alone,
    question   is query, record or cell; 0, 1, 2 in a batch,
    data       is the randomised report, in the bytes that its scheme gives it (:mod:`blendp.reports`),
    manifest   is the SHA-256 of the manifest,
    scheme     is the identity of the campaign's report scheme, which only a client that draws as it says computes.

Bytes are lower-case hexadecimal digits in JSON; numbers of a batch are big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from blendp.errors import ParameterError
from blendp.reports import QUESTION_NUMBER, QUESTIONS, SCHEME_BYTES
from blendp.wire.messages import Hash, Message, documented
from blendp.wire.problems import PROBLEMS
from blendp.wire.text_forms import of_hex

ID_BYTES = PSEUDONYM_BYTES = 16
HASH_BYTES = 32
MAX_REPORTS = 10_000
"""How many reports a batch may have."""

_MAGIC = b"blR1"
_SECTION = struct.Struct(">BHI")
_REMEDY = "Send it as the documentation says."


class JsonReport(Message):
    """A report under its own address."""

    manifest: Hash
    pseudonym: Annotated[str, documented(pattern="^[0-9a-f]{32}$")]
    question: Annotated[str, documented(enum=list(QUESTIONS))]
    data: Annotated[str, documented(pattern="^([0-9a-f]{2})*$")]
    scheme: Annotated[str, documented(pattern=f"^[0-9a-f]{{{2 * SCHEME_BYTES}}}$")]


ACCEPTED, DUPLICATE = OUTCOMES = ("accepted", "duplicate")
"""What becomes of a report that is not refused: it is kept, or was there byte for byte."""

Fate = Annotated[
    str, documented(enum=[*OUTCOMES, *PROBLEMS], description="accepted, duplicate, or the last part of a problem type")
]


class UploadOutcome(Message):
    """What became of what was sent."""

    outcome: Annotated[str, documented(enum=list(OUTCOMES))]


class UploadOutcomes(Message):
    """What became of every report, in the order of the body."""

    outcomes: Annotated[list[Fate], documented(minItems=1)]


@dataclass(frozen=True, slots=True)
class UploadedReport:
    """A report as a device sends it; whether it is possible, only its scheme can tell (:mod:`blendp.reports`)."""

    report_id: bytes
    pseudonym: bytes
    question: int
    data: bytes

    def __post_init__(self) -> None:
        """Refuse ids that are none."""
        if len(self.report_id) != ID_BYTES or len(self.pseudonym) != PSEUDONYM_BYTES:
            raise ParameterError("report", self.report_id.hex(), "an id and a pseudonym of 16 bytes", _REMEDY)
        if not 0 <= self.question < len(QUESTIONS):
            raise ParameterError("question", self.question, "0, 1 or 2", _REMEDY)


@dataclass(frozen=True, slots=True)
class Binding:
    """What reports are bound to, in hexadecimal digits: the hash of a manifest, and the identity of its scheme."""

    manifest: str
    scheme: str

    def __post_init__(self) -> None:
        """Refuse what is neither."""
        of_hex(self.manifest, "manifest", HASH_BYTES)
        of_hex(self.scheme, "scheme", SCHEME_BYTES)


Rows = list[tuple[bytes, bytes, int, bytes]]
"""Reports as a store takes them: id, pseudonym, question, data."""


@dataclass(frozen=True)
class Upload:
    """What a body says: what its reports are bound to, and the reports in the order of the body."""

    binding: Binding
    rows: Rows


def read_report(report_id: str, body: bytes) -> Upload:
    """A JSON report that was put under its id."""
    report = JsonReport.from_bytes(body)
    row = (
        of_hex(report_id, "report id", ID_BYTES),
        of_hex(report.pseudonym, "pseudonym", PSEUDONYM_BYTES),
        _number(report.question),
        of_hex(report.data, "data"),
    )
    return Upload(Binding(report.manifest, report.scheme), [row])


def read_batch(body: bytes) -> Upload:
    """A batch, cut without looking at single reports."""
    start = len(_MAGIC) + HASH_BYTES + SCHEME_BYTES
    if body[: len(_MAGIC)] != _MAGIC or len(body) < start:
        legal = f"{_MAGIC!r}, a manifest's hash, a scheme's identity and sections"
        raise ParameterError("batch", body[:8], legal, _REMEDY)
    rows: Rows = []
    at, left = start, MAX_REPORTS
    while at < len(body):
        if len(body) - at < _SECTION.size:
            raise ParameterError("batch", f"{len(body)} bytes", "whole sections", _REMEDY)
        question, width, count = _SECTION.unpack_from(body, at)
        at += _SECTION.size
        end = at + count * (ID_BYTES + PSEUDONYM_BYTES + width)
        if question >= len(QUESTIONS) or not width or not count or end > len(body):
            numbers = f"question {question}, width {width}, count {count} in {len(body)} bytes"
            raise ParameterError("section", numbers, "a known question, a width, a count and their bytes", _REMEDY)
        left -= count
        _require_few(MAX_REPORTS - left)
        kind = np.dtype([("id", "V16"), ("pseudonym", "V16"), ("question", "u1"), ("data", f"V{width}")])
        sent = np.dtype([("id", "V16"), ("pseudonym", "V16"), ("data", f"V{width}")])
        section = np.empty(count, dtype=kind)
        read = np.frombuffer(body, dtype=sent, count=count, offset=at)
        for name in ("id", "pseudonym", "data"):
            section[name] = read[name]
        section["question"] = question
        rows += section.tolist()
        at = end
    _require_few(len(rows))
    manifest, scheme = body[len(_MAGIC) : start - SCHEME_BYTES], body[start - SCHEME_BYTES : start]
    return Upload(Binding(manifest.hex(), scheme.hex()), rows)


def write_report(binding: Binding, report: UploadedReport) -> bytes:
    """The JSON body of a report; its id goes into the address."""
    question, data = QUESTIONS[report.question], report.data.hex()
    return JsonReport(binding.manifest, report.pseudonym.hex(), question, data, binding.scheme).to_bytes()


def write_batch(binding: Binding, reports: Sequence[UploadedReport]) -> bytes:
    """A batch, a section for each run of reports of one question and width."""
    parts = [_MAGIC, bytes.fromhex(binding.manifest), bytes.fromhex(binding.scheme)]
    start = 0
    for end in range(1, len(reports) + 1):
        first = reports[start]
        if end < len(reports) and _kind(reports[end]) == _kind(first):
            continue
        parts.append(_SECTION.pack(first.question, len(first.data), end - start))
        parts += [report.report_id + report.pseudonym + report.data for report in reports[start:end]]
        start = end
    return b"".join(parts)


def _kind(report: UploadedReport) -> tuple[int, int]:
    return report.question, len(report.data)


def _number(question: str) -> int:
    number = QUESTION_NUMBER.get(question)
    if number is None:
        raise ParameterError("question", question[:40], "one of " + ", ".join(QUESTIONS), _REMEDY)
    return number


def _require_few(count: int) -> None:
    if not 0 < count <= MAX_REPORTS:
        raise ParameterError("reports", count, f"1 to {MAX_REPORTS} in a batch", "Send them in several batches.")
