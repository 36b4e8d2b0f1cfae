"""Clients that are not as they should be: each is refused for a reason, but for liars, who keep to the rules.

A misfit sends a body that is made of a report that was accepted before and of a new one. A liar's report is one that
an honest device could have sent: of several draws it sends one that names what the liar wants to be popular.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from blendp.canonical import sha256
from blendp.fleet.fleet import Fleet
from blendp.fleet.people import Record
from blendp.randomness import ReleaseRandom
from blendp.reports import SCHEME_BYTES, ListScheme, Report
from blendp.wire import UploadedReport
from blendp.wire.reports import DUPLICATE, Binding, write_report

_MAX_DRAWS = 64


@dataclass(frozen=True)
class _Material:
    """What a misfit has: what reports are bound to, one that was accepted, and one that nobody has seen."""

    binding: Binding
    accepted: UploadedReport
    new: UploadedReport


def _cut(have: _Material) -> tuple[bytes, bytes]:
    return have.new.report_id, write_report(have.binding, have.new)[:-1]


def _bound_to(have: _Material, manifest: str = "", scheme: str = "") -> tuple[bytes, bytes]:
    binding = Binding(manifest or have.binding.manifest, scheme or have.binding.scheme)
    return have.new.report_id, write_report(binding, have.new)


def _uploaded(have: _Material, report: UploadedReport) -> tuple[bytes, bytes]:
    return report.report_id, write_report(have.binding, report)


MISFITS: Mapping[str, Callable[[_Material], tuple[bytes, bytes]]] = MappingProxyType(
    {
        DUPLICATE: lambda have: _uploaded(have, have.accepted),
        "conflict": lambda have: _uploaded(
            have, replace(have.accepted, question=have.new.question, data=have.new.data)
        ),
        "over-quota": lambda have: _uploaded(have, replace(have.new, pseudonym=have.accepted.pseudonym)),
        "impossible": lambda have: _uploaded(have, replace(have.new, data=have.new.data + b"\0")),
        "malformed": _cut,
        "wrong-list": lambda have: _bound_to(have, manifest=sha256(b"the manifest of another campaign")),
        "wrong-scheme": lambda have: _bound_to(have, scheme="0" * (2 * SCHEME_BYTES)),
    }
)
"""What a misfit's upload is refused for (a duplicate is not even that), and how it is made: id and body."""


def misbehave(fleet: Fleet, reason: str, accepted: UploadedReport, record: Record) -> str:
    """Send the upload of a misfit who holds a record; the outcome."""
    new = fleet.uploaded(fleet.randomised(record))
    while (new.question, new.data) == (accepted.question, accepted.data):
        new = fleet.uploaded(fleet.randomised(record))
    return fleet.send_bytes(*MISFITS[reason](_Material(fleet.binding, accepted, new)))


def lie(scheme: ListScheme, random: ReleaseRandom) -> Report:
    """A report by somebody who wants the last record of the list to look popular, and draws until one names it."""
    target = int(scheme.head_list.record_cells[-1])
    query, url = scheme.head_list.labels[target]
    for _ in range(_MAX_DRAWS):
        report = scheme.randomise([(query or "", url)], random)
        if target in scheme.likelihoods(report)[0].cells:
            break
    return report
