"""What waits to be sent: kept until it arrived, was refused or grew too old, and sent in the same bytes every time.

What a report cost stays spent, so nothing is given up because of one clock. A collector that says it is too late is
asked again while this device's clock does not say so too; and what this device's clock says is too old is dropped only
if it still says so a day later.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection
from dataclasses import dataclass

from blendp.client.backoff import MAX_DELAY, MAX_DELAY_IF_LATE, MAX_WAIT, delay, retry_after
from blendp.client.consent import Consent
from blendp.client.http import Http, HttpAnswer
from blendp.client.refusals import NetworkError, RefusedError
from blendp.client.store import DeviceStore, Item, Participation
from blendp.errors import ParameterError
from blendp.wire.deletions import Deleted
from blendp.wire.problems import RETRYABLE
from blendp.wire.reports import OUTCOMES, UploadOutcome
from blendp.wire.text_forms import require_day

MAX_ITEMS = 500
"""How many reports wait at most; the oldest are dropped. Deletion requests wait as long as they must."""

DELETIONS = ("deletion", "opt-in-deletion")
NEEDS = {"report": Consent.LOCAL, "opt-in": Consent.OPT_IN}
"""What the person must have agreed to for each kind; deletion needs no consent."""

_BY_THE_CLOCK = ("late", "wrong-state")
"""Refusals that hang on the collector's clock: final only when this device's clock is past the last day as well."""

_LAST_DAY = {"report": "reports_until", "opt-in": "opt_in_until"}
_DAY = 86_400.0


@dataclass(frozen=True)
class Summary:
    """What became of what was tried, and what still waits.

    where:
        next_due  is when the next attempt is due, in seconds of the clock; None if nothing waits.
    """

    sent: int
    refused: int
    dropped: int
    waiting: int
    next_due: float | None

    def after(self, earlier: Summary) -> Summary:
        """With what became of things in an earlier round."""
        sent, refused, dropped = (
            self.sent + earlier.sent,
            self.refused + earlier.refused,
            self.dropped + earlier.dropped,
        )
        return Summary(sent, refused, dropped, self.waiting, self.next_due)


class Outbox:
    """The queue of one device."""

    def __init__(self, store: DeviceStore, http: Http, clock: Callable[[], float], jitter: Callable[[], float]) -> None:
        """A queue in this store."""
        self._store, self._http, self._clock, self._jitter = store, http, clock, jitter

    def add(
        self, done: Participation, kind: str, method: str, address: str, media_type: str | None, body: bytes | None
    ) -> None:
        """Queue a request to the participation's collector; beyond the quota the oldest report is dropped."""
        now, url = self._clock(), done.server + address
        with self._store.whole():
            self._store.add_item(
                Item(0, done.campaign, kind, method, url, media_type, body, now, now, 0, "waiting", "", now)
            )
            waiting = [item for item in self._waiting() if item.kind in NEEDS]
            for item in waiting[: max(0, len(waiting) - MAX_ITEMS)]:
                self._store.settle(item, "dropped", "quota")

    def drop(self, campaign: str, reason: str) -> bool:
        """Drop what was not yet sent of a campaign; whether something of it may have arrived."""
        with self._store.whole():
            items = [item for item in self._store.items() if item.campaign == campaign and item.kind in NEEDS]
            for item in items:
                if item.state == "waiting":
                    self._store.settle(item, "dropped", reason)
        return any(item.attempts for item in items)

    def asked_to_delete(self, campaign: str) -> bool:
        """Whether a deletion request of a campaign waits or was heard."""
        items = (item for item in self._store.items() if item.campaign == campaign and item.kind in DELETIONS)
        return any(item.state in ("waiting", "sent") for item in items)

    def send(self, kinds: Collection[str] = (*NEEDS, *DELETIONS)) -> Summary:
        """Try what is due."""
        before = {item.id for item in self._waiting()}
        now = self._clock()
        for item in self._waiting():
            if item.kind in NEEDS:
                self._drop_if_old(item, now)
        for item in self._waiting():
            if item.kind in kinds and (item.due <= now or item.tried > now):
                self._try(item)
        fates = [item.state for item in self._store.items() if item.id in before]
        waiting = [item.due for item in self._waiting() if item.kind in kinds]
        counts = {state: fates.count(state) for state in ("sent", "refused", "dropped")}
        return Summary(**counts, waiting=len(waiting), next_due=min(waiting, default=None))

    def _drop_if_old(self, item: Item, now: float) -> None:
        """Drop what is too old, if it was already found to be a day ago: a clock may be wrong for a while."""
        end = self._end(item)
        if now <= max(item.created + MAX_WAIT, 0.0 if end is None else end + _DAY):
            if item.overdue is not None:
                self._store.set_overdue(item, None)
        elif item.overdue is None:
            self._store.set_overdue(item, now)
        elif now > item.overdue + _DAY:
            self._store.settle(item, "dropped", "too old")

    def _end(self, item: Item) -> float | None:
        """The end of the last day, by this device's clock, on which the campaign takes such items."""
        terms = self._store.terms(item.campaign)
        if terms is None or item.kind not in _LAST_DAY:
            return None
        name = _LAST_DAY[item.kind]
        day = require_day(name, getattr(terms, name))
        return datetime.datetime.combine(day, datetime.time(), datetime.UTC).timestamp() + _DAY

    def _in_time(self, item: Item) -> bool:
        """Whether the last day on which the campaign takes such items is not over by this device's clock."""
        end = self._end(item)
        return end is not None and self._clock() < end

    def _waiting(self) -> list[Item]:
        return [item for item in self._store.items() if item.state == "waiting"]

    def _try(self, item: Item) -> None:
        """Send an item once. That it is tried is written down first: an answer may get lost, a report may not."""
        now = self._clock()
        with self._store.whole():
            if item.kind in NEEDS and not self._store.consent.covers(NEEDS[item.kind]):
                if any(waiting.id == item.id for waiting in self._waiting()):
                    self._store.settle(item, "dropped", "consent withdrawn")
                return
            if not self._store.attempt(item, now, now + delay(item.attempts + 1, self._jitter())):
                return
        done = self._store.participation(item.campaign)
        token = done.token if done is not None and item.kind in ("opt-in", "opt-in-deletion") else None
        try:
            answer = self._http.request(item.method, item.url, body=item.body, media_type=item.media_type, token=token)
        except (NetworkError, RefusedError):
            self._store.postpone(item, None, "network")
            return
        verdict = verdict_on(answer, item.kind, self._in_time(item))
        if verdict.state != "waiting":
            self._store.settle(item, verdict.state, verdict.reason)
            return
        heard = self._clock()
        asked = retry_after(answer.headers.get("retry-after"), heard)
        max_delay = MAX_DELAY_IF_LATE if verdict.too_early else MAX_DELAY
        self._store.postpone(item, heard + delay(item.attempts + 1, self._jitter(), asked, max_delay), verdict.reason)


@dataclass(frozen=True)
class Verdict:
    """What an answer means for what was sent.

    where:
        state      is sent, refused or waiting: then the same bytes are sent again,
        reason     is the outcome, the problem or the status,
        too_early  is whether the collector says that it is too late, or not yet time, while this device's clock says
                   that the campaign is open.
    """

    state: str
    reason: str
    too_early: bool = False


def verdict_on(answer: HttpAnswer, kind: str, in_time: bool) -> Verdict:
    """What an answer to an item of this kind means; ``in_time`` says whether the campaign's last day is not over."""
    outcome = _outcome(answer, kind)
    if outcome is not None:
        return Verdict("sent", outcome)
    too_early = answer.refused and in_time and answer.problem in _BY_THE_CLOCK
    final = answer.refused and answer.status not in RETRYABLE and not too_early
    return Verdict("refused" if final else "waiting", answer.problem, too_early)


def _outcome(answer: HttpAnswer, kind: str) -> str | None:
    """What a collector says of what it took; None if this is no collector's word, as a proxy's page is none."""
    if answer.status not in (200, 201):
        return None
    try:
        if kind in DELETIONS:
            return "deleted" if Deleted.of_answer(answer.body).deleted else "nothing to delete"
        outcome = UploadOutcome.of_answer(answer.body).outcome
    except ParameterError:
        return None
    return outcome if outcome in OUTCOMES else None
