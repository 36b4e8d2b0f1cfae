"""Deadlines: what a campaign's terms say happens by itself, done by the service.

Raw records are kept until the last day to opt in and some days of grace, reports until the last day to report and as
many. A campaign that no operator has moved on by then is moved on here, in the operator's words: its list is published
or its result released if enough people are there, and if not it is deleted. Each step is the one that an operator's
command takes, so a process that dies in the middle leaves what a command leaves, and the next one goes on.

Nothing is done on a day that is in doubt. What fails is told and tried again, ever more rarely.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from blendp.service.audit import ITSELF, Trail, latest
from blendp.service.clock import Clock, Stopwatch, reading
from blendp.service.journal import tell, tell_failure, warn
from blendp.service.lifecycle import Lifecycle
from blendp.service.refusal import Refused
from blendp.service.store.schema import campaign, document
from blendp.service.store.store import Store
from blendp.wire.campaign import Terms
from blendp.wire.text_forms import require_day

PUBLISH, RELEASE, DELETE = "publish", "release", "delete"

_STATES = {PUBLISH: ("opt-in", "listing"), RELEASE: ("reporting", "closing", "signing")}
_FIRST_WAIT_SECONDS, _MAX_WAIT_SECONDS = 60.0, 3600.0

Observer = Callable[[str, str], None]
"""Told an act and its outcome."""


@dataclass(frozen=True)
class CampaignDeadline:
    """What happens to a campaign by itself.

    where:
        act   is publish or release,
        last  is the last day on which operators can do it themselves: it happens on the day after.
    """

    act: str
    last: datetime.date

    @property
    def states(self) -> tuple[str, ...]:
        """The states in which it is still to be done."""
        return _STATES[self.act]


UNREADABLE_DAYS = 7
"""How long records whose key is missing wait for it after their last day; then the campaign is deleted."""


def deadline_of(state: str, terms: Terms) -> CampaignDeadline | None:
    """What happens next by itself to a campaign of these terms; None if it is over."""
    if state in _STATES[PUBLISH]:
        return CampaignDeadline(PUBLISH, require_day("records_kept_until", terms.records_kept_until))
    if state in _STATES[RELEASE]:
        return CampaignDeadline(RELEASE, require_day("reports_kept_until", terms.reports_kept_until))
    return None


@dataclass(frozen=True)
class DueCampaign:
    """A campaign that is neither released nor deleted, and what happens to it by itself."""

    number: int
    name: str
    state: str
    terms: Terms
    deadline: CampaignDeadline


def under_way(connection: Connection) -> Iterator[DueCampaign]:
    """Every campaign that is neither released nor deleted, the newest last."""
    states = [state for some in _STATES.values() for state in some]
    query = (
        sa.select(campaign.c.number, campaign.c.name, campaign.c.state, document.c.payload)
        .join(document, sa.and_(document.c.campaign == campaign.c.number, document.c.kind == "terms"))
        .where(campaign.c.state.in_(states))
        .order_by(campaign.c.number)
    )
    for number, name, state, payload in connection.execute(query).all():
        terms = Terms.from_bytes(bytes(payload))
        if (deadline := deadline_of(state, terms)) is not None:
            yield DueCampaign(number, name, state, terms, deadline)


@dataclass
class Deadlines:
    """The deadlines of all campaigns, met by one process at a time."""

    store: Store
    lifecycle: Lifecycle
    clock: Clock
    observe: Observer = lambda _act, _outcome: None
    stopwatch: Stopwatch = time.monotonic
    _waits: dict[str, tuple[float, float]] = field(default_factory=dict, repr=False)
    """Campaigns whose deadline could not be met: how long to wait since when."""

    def meet(self) -> None:
        """Do what is due."""
        now = reading(self.clock)
        if not now.sure:
            return
        with self.store.alone() as alone:
            for one in self._due(now.day) if alone else ():
                self._meet(one.name, one.deadline)

    def _due(self, today: datetime.date) -> list[DueCampaign]:
        with self.store.reading() as connection:
            due = [one for one in under_way(connection) if today > one.deadline.last]
        self._waits = {one.name: self._waits[one.name] for one in due if one.name in self._waits}
        return due

    def _meet(self, name: str, deadline: CampaignDeadline) -> None:
        wait, since = self._waits.get(name, (0.0, 0.0))
        if wait and self.stopwatch() - since < wait:
            return
        try:
            act = self._act(name, deadline)
        except Exception as error:  # whatever it is, other campaigns have deadlines too
            self._fail(name, deadline, error, min(_MAX_WAIT_SECONDS, max(_FIRST_WAIT_SECONDS, 2 * wait)))
            return
        self._waits.pop(name, None)
        self.observe(act, "done")
        tell("a deadline was met", campaign=name, act=act, last_day=deadline.last.isoformat())

    def _act(self, name: str, deadline: CampaignDeadline) -> str:
        """Publish or release; delete if there are too few people. Which of them it was."""
        try:
            verb: Callable[..., Any] = getattr(self.lifecycle, deadline.act)
            verb(name, ITSELF)
        except Refused as refused:
            if refused.problem.slug == "too-few":
                why = f"{refused.detail.rstrip('.')} after {deadline.last}, the last day of grace"
            elif self._is_lost(name, deadline):
                why = f"The key of its records was not put back within {UNREADABLE_DAYS} days after {deadline.last}"
            else:
                raise
            self.lifecycle.delete(name, ITSELF, states=deadline.states, why=why)
            return DELETE
        return deadline.act

    def _is_lost(self, name: str, deadline: CampaignDeadline) -> bool:
        """Whether records that should be gone cannot be read, and there was time to put their key back."""
        late = reading(self.clock).day - deadline.last
        unreadable = deadline.act == PUBLISH and not self.lifecycle.opt_in.is_readable(name)
        return unreadable and late.days > UNREADABLE_DAYS

    def _fail(self, name: str, deadline: CampaignDeadline, error: Exception, wait: float) -> None:
        """Tell what went wrong, unless somebody else has done it meanwhile."""
        with suppress(Refused):
            if self._is_over(name, deadline):
                return
        self._waits[name] = (wait, self.stopwatch())
        outcome = error.problem.slug if isinstance(error, Refused) else "internal"
        self.observe(deadline.act, outcome)
        members = {"campaign": name, "act": deadline.act, "last_day": deadline.last.isoformat()}
        if isinstance(error, Refused):
            warn("a deadline could not be met", **members, problem=outcome, again_after_seconds=wait)
        else:
            tell_failure("a deadline could not be met", error, **members, again_after_seconds=wait)
        with suppress(Refused):
            self._note_failure(name, deadline, outcome, getattr(error, "detail", type(error).__name__))

    def _is_over(self, name: str, deadline: CampaignDeadline) -> bool:
        with self.store.reading() as connection:
            state = connection.execute(sa.select(campaign.c.state).where(campaign.c.name == name)).scalar_one()
        return state not in deadline.states

    def _note_failure(self, name: str, deadline: CampaignDeadline, outcome: str, detail: str) -> None:
        """Note a failure in the audit trail, once: the same again adds nothing."""
        with self.store.writing() as connection:
            before = latest(connection, name, actor=ITSELF.kind)
            if before is None or (before.act, before.outcome) != (deadline.act, outcome):
                Trail(self.store).note(connection, ITSELF, deadline.act, name, outcome=outcome, detail=detail)
