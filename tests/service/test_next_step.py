"""What an operator is told to do next, state by state."""

from __future__ import annotations

from typing import Any

import pytest

from blendp.service.board.next_step import next_step
from blendp.wire.audit import AuditEntry
from blendp.wire.clock import ClockReading
from blendp.wire.pace import Pace
from blendp.wire.status import ByItself, ClientProgress, NextStep, OptInProgress

SURE = ClockReading("2026-11-16", "2026-11-16", None)
FAILED = AuditEntry(
    7, "2026-11-16T00:01:00Z", "itself", None, None, "publish", "c1", "storage-full", "The disk is full."
)


def pace(outlook: str, full_days: int = 2) -> Pace:
    """With this outlook."""
    return Pace(outlook, 1.5, full_days, 0, None, None, "That is the pace.")


def step(
    state: str,
    outlook: str = "on-course",
    *,
    full_days: int = 2,
    unused: int = 1000,
    records: int | None = 10,
    levels: int = 2,
    clock: ClockReading = SURE,
    last: AuditEntry | None = None,
) -> NextStep:
    """What to do about a campaign of which ten people are missing, unless its outlook says otherwise."""
    missing = 0 if outlook == "reached" else 10
    group: dict[str, Any] = {"minimum": 50, "missing": missing, "until": "2026-11-20", "pace": pace(outlook, full_days)}
    due = {"opt-in": "publish", "reporting": "release"}.get(state)
    return next_step(
        state,
        clock,
        None if due is None else ByItself(due, "2026-11-27", due, last),
        OptInProgress(people=50 - missing, enrolments=1050, unused=unused, **group),
        ClientProgress(reports=50 - missing, expected=100, **group),
        records,
        levels,
    )


@pytest.mark.parametrize(
    ("shown", "act", "urgent", "phrase"),
    [
        (step("opt-in", unused=4), "enrol", False, "at least 6 more tokens"),
        (step("opt-in", "not-open", unused=9), "enrol", False, "at least 1 more token "),
        (step("opt-in"), None, False, "Wait. That is the pace."),
        (step("opt-in", "too-late"), "enrol", True, "Remind people"),
        (step("opt-in", "nothing"), "enrol", True, "Remind people"),
        (step("opt-in", "nothing", full_days=0), "enrol", False, "Remind people"),
        (step("opt-in", "reached"), "publish", False, "Look at the forecast of the list, then publish it."),
        (step("opt-in", "closed"), None, True, "10 people are missing, and nobody can be added: everything is deleted"),
        (step("listing"), None, False, "the list is being made"),
        (step("reporting"), None, False, "Wait. That is the pace."),
        (step("reporting", "too-late"), None, True, "more devices are asked"),
        (step("reporting", "reached"), "release", False, "Preview the result"),
        (step("reporting", "closed"), None, True, "everything is deleted"),
        (step("reporting", records=0), None, True, "The list is empty"),
        (
            step("reporting", records=0),
            None,
            True,
            "more opt-in people, one level (queries alone), or a larger epsilon.",
        ),
        (step("reporting", records=0, levels=1), None, True, "with more opt-in people or a larger epsilon."),
        (step("closing"), None, False, "Wait: reports are being counted"),
        (step("signing"), None, False, "Wait: the result is being signed"),
        (step("released"), "export", False, "export it"),
        (step("opt-in", last=FAILED), "publish", True, "cannot publish by itself (storage-full): The disk is full."),
    ],
)
def test_the_next_step(shown: NextStep, act: str | None, urgent: bool, phrase: str) -> None:
    assert (shown.act, shown.urgent) == (act, urgent)
    assert phrase in shown.sentence


def test_a_doubt_about_the_day_comes_first_while_days_matter() -> None:
    doubt = ClockReading("2026-11-16", "2027-11-16", "the clock jumped")
    assert step("opt-in", last=FAILED, clock=doubt).act == "accept-clock"
    assert step("released", clock=doubt).act == "export"
