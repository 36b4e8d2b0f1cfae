"""What an operator should do next, in a sentence: the first thing that needs somebody, or what to wait for."""

from __future__ import annotations

from blendp.service.board.cautions import helps_a_list
from blendp.spelling import counted
from blendp.wire.clock import ClockReading
from blendp.wire.status import ByItself, ClientProgress, NextStep, OptInProgress

_WAIT = {
    "listing": "Wait: the list is being made.",
    "closing": "Wait: reports are being counted for the result.",
    "signing": "Wait: the result is being signed.",
}
_WARY = ("too-late", "nothing")


def next_step(
    state: str,
    clock: ClockReading,
    by_itself: ByItself | None,
    opt_in: OptInProgress,
    clients: ClientProgress,
    records: int | None,
    levels: int,
) -> NextStep:
    """What to do about a campaign; ``records`` is how long its list is, None before there is one."""
    if clock.doubt is not None and state != "released":
        return NextStep(f"Look at the clock and confirm the day: {clock.doubt}.", "accept-clock", urgent=True)
    if by_itself is not None and (tried := by_itself.last) is not None and tried.outcome != "done":
        sentence = f"The collector cannot {tried.act} by itself ({tried.outcome}): {tried.detail}"
        return NextStep(sentence, by_itself.act, urgent=True)
    if state == "released":
        return NextStep("The result is public: export it, and look at the cross-check.", "export", urgent=False)
    if state in _WAIT or by_itself is None:
        return NextStep(_WAIT.get(state, "Nothing is left to do."), None, urgent=False)
    if state == "opt-in":
        return _of_opt_in(opt_in, by_itself)
    return _of_reports(clients, by_itself, records, levels)


def _of_opt_in(group: OptInProgress, due: ByItself) -> NextStep:
    outlook = group.pace.outlook
    if outlook == "closed":
        return _too_few(group.missing, due)
    if outlook == "reached":
        return NextStep("Look at the forecast of the list, then publish it.", "publish", urgent=False)
    if group.unused < group.missing:
        more = counted(group.missing - group.unused, "more token", "more tokens")
        return NextStep(f"Make at least {more} and hand them out: each lets one person opt in.", "enrol", urgent=False)
    return _waiting(group, "Remind people who have a token, or hand out more.", "enrol")


def _of_reports(group: ClientProgress, due: ByItself, records: int | None, levels: int) -> NextStep:
    if not records:
        sentence = f"The list is empty, so no device reports. Create another campaign: with {helps_a_list(levels)}."
        return NextStep(sentence, None, urgent=True)
    if group.pace.outlook == "closed":
        return _too_few(group.missing, due)
    if group.pace.outlook == "reached":
        sentence = f"Preview the result and release it, or wait until {group.until} for more reports."
        return NextStep(sentence, "release", urgent=False)
    return _waiting(group, "See that more devices are asked to take part.", None)


def _waiting(group: OptInProgress | ClientProgress, remedy: str, act: str | None) -> NextStep:
    pace = group.pace
    if pace.outlook not in _WARY:
        return NextStep(f"Wait. {pace.sentence}", None, urgent=False)
    return NextStep(f"{remedy} {pace.sentence}", act, urgent=pace.outlook == "too-late" or pace.full_days > 0)


def _too_few(missing: int, due: ByItself) -> NextStep:
    lacking = counted(missing, "person is", "people are")
    sentence = f"{lacking} missing, and nobody can be added: everything is deleted by itself after {due.after}."
    return NextStep(sentence, None, urgent=True)
