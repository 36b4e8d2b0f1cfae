"""Where a campaign stands, as one transaction sees it; what never changes is read once a process."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from blendp.canonical import sha256
from blendp.headlist import HeadList
from blendp.service.audit import ITSELF, latest
from blendp.service.board.list_changes import churn, list_before
from blendp.service.board.pace import Arrivals
from blendp.service.board.report_totals import ReportTotals
from blendp.service.campaigns import FoundCampaign, list_of, payload, terms_of
from blendp.service.deadlines import DELETE, PUBLISH, RELEASE, deadline_of
from blendp.service.opt_in import OptIn
from blendp.service.store.schema import intake
from blendp.wire.audit import AuditEntry
from blendp.wire.campaign import Manifest, Terms
from blendp.wire.reports import ACCEPTED
from blendp.wire.status import ByItself, Churn, ClientProgress, DayOfIntake, DocumentHashes, ListStatus, OptInProgress
from blendp.wire.text_forms import require_day

_MAX_REMEMBERED = 512

T = TypeVar("T")


@dataclass(frozen=True)
class ReleaseFacts:
    """What is looked up in a release, which may be large, and never changes."""

    sha256: str
    released: str
    clients: int


@dataclass(frozen=True)
class Standing:
    """All that is known of a campaign, without a person in it.

    where:
        tokens   has how many enrolment tokens are in each state,
        people   is how many opted in, and ``people_by_day`` on which days,
        reports  is how many are kept, and ``fates`` has what became of all that came, by day,
        attempt  is the last thing that the collector did, or tried to do, by itself.
    """

    current: FoundCampaign
    terms: Terms
    manifest: Manifest | None
    release: ReleaseFacts | None
    hashes: DocumentHashes
    tokens: Counter[str]
    people: int
    people_by_day: dict[str, int]
    reports: int
    fates: list[DayOfIntake]
    head_list: ListStatus | None
    attempt: AuditEntry | None

    @property
    def state(self) -> str:
        """The state it is in."""
        return self.current.state

    @property
    def totals(self) -> Counter[str]:
        """What became of all reports."""
        totals: Counter[str] = Counter()
        for fate in self.fates:
            totals[fate.outcome] += fate.count
        return totals

    @property
    def published(self) -> str | None:
        """The day on which the list was published."""
        return None if self.manifest is None else self.manifest.published

    @property
    def released(self) -> str | None:
        """The day on which the result was."""
        return None if self.release is None else self.release.released

    def opt_in(self, today: datetime.date) -> OptInProgress:
        """How far the opt-in group is."""
        terms = self.terms
        arrivals = Arrivals(
            by_day=_days(self.people_by_day),
            there=self.people,
            minimum=terms.min_opt_in,
            first=require_day("opens", terms.opens),
            last=require_day("opt_in_until", terms.opt_in_until),
            ended=self.manifest is not None,
        )
        return OptInProgress(
            people=self.people,
            minimum=terms.min_opt_in,
            missing=max(0, terms.min_opt_in - self.people),
            until=terms.opt_in_until,
            enrolments=self.tokens.total(),
            unused=self.tokens["unused"],
            pace=arrivals.pace(today),
        )

    def clients(self, today: datetime.date) -> ClientProgress:
        """How far the clients are."""
        terms = self.terms
        arrivals = Arrivals(
            by_day=_days({fate.day: fate.count for fate in self.fates if fate.outcome == ACCEPTED}),
            there=self.reports,
            minimum=terms.min_clients,
            first=None if self.published is None else require_day("published", self.published),
            last=require_day("reports_until", terms.reports_until),
            ended=self.release is not None,
        )
        return ClientProgress(
            reports=self.reports,
            minimum=terms.min_clients,
            missing=max(0, terms.min_clients - self.reports),
            until=terms.reports_until,
            expected=terms.expected_clients,
            pace=arrivals.pace(today),
        )

    @property
    def by_itself(self) -> ByItself | None:
        """What happens if the operator does nothing; None if nothing is left to happen."""
        deadline = deadline_of(self.state, self.terms)
        if deadline is None:
            return None
        missing = {PUBLISH: self.terms.min_opt_in - self.people, RELEASE: self.terms.min_clients - self.reports}
        would_be = DELETE if missing[deadline.act] > 0 else deadline.act
        return ByItself(deadline.act, deadline.last.isoformat(), would_be, self.attempt)


@dataclass(frozen=True)
class Standings:
    """Reads where campaigns stand, and remembers what cannot change."""

    totals: ReportTotals = field(default_factory=ReportTotals)
    _remembered: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def of(self, connection: Connection, current: FoundCampaign) -> Standing:
        """Where a campaign stands now."""
        number = current.number
        terms = self.remember(("terms", number), lambda: terms_of(connection, number))
        manifest = self.remember(("manifest", number), lambda: _manifest(connection, number))
        release = self._release(connection, current)
        tokens = Counter(OptIn.counts(connection, number))
        fates = _fates(connection, number)
        accepted = sum(fate.count for fate in fates if fate.outcome == ACCEPTED)
        return Standing(
            current=current,
            terms=terms,
            manifest=manifest,
            release=release,
            hashes=self.remember(
                ("hashes", number, manifest is None, release), lambda: _hashes(terms, manifest, release)
            ),
            tokens=tokens,
            people=tokens["used"] if manifest is None else manifest.opt_in_people,
            people_by_day=OptIn.by_day(connection, number),
            reports=self.totals.reports(connection, number, accepted) if release is None else release.clients,
            fates=fates,
            head_list=None if manifest is None else self._list(connection, current),
            attempt=latest(connection, current.name, actor=ITSELF.kind),
        )

    def remember(self, key: Hashable, read: Callable[[], T]) -> T:
        """What is remembered under a key, read if it is not; only for what never changes once it is there."""
        value = self._remembered.get(key)
        if value is None:
            if len(self._remembered) >= _MAX_REMEMBERED:
                self._remembered.clear()
            value = read()
            if value is not None:
                self._remembered[key] = value
        return cast("T", value)

    def _release(self, connection: Connection, current: FoundCampaign) -> ReleaseFacts | None:
        if current.state != "released":
            return None

        def read() -> ReleaseFacts:
            data = payload(connection, current.number, "release") or b""
            document = json.loads(data)
            return ReleaseFacts(sha256(data), document["released"], int(document["card"]["users"]["client"]))

        return self.remember(("release", current.number), read)

    def _list(self, connection: Connection, current: FoundCampaign) -> ListStatus:
        """The list, and how it differs from that of the campaign before."""
        before = list_before(connection, current.number)

        def read() -> ListStatus:
            head_list = cast("HeadList", list_of(connection, current.number))
            changes: Churn | None = None if before is None else churn(connection, head_list, before)
            return ListStatus(head_list.sha256, head_list.records, head_list.queries, changes)

        return self.remember(("list", current.number, before), read)


def _manifest(connection: Connection, number: int) -> Manifest | None:
    data = payload(connection, number, "manifest")
    return None if data is None else Manifest.from_bytes(data)


def _hashes(terms: Terms, manifest: Manifest | None, release: ReleaseFacts | None) -> DocumentHashes:
    return DocumentHashes(
        terms=terms.sha256,
        manifest=None if manifest is None else manifest.sha256,
        release=None if release is None else release.sha256,
    )


def _fates(connection: Connection, number: int) -> list[DayOfIntake]:
    columns = intake.c
    rows = connection.execute(
        sa.select(columns.day, columns.outcome, sa.func.sum(columns.count))
        .where(columns.campaign == number)
        .group_by(columns.day, columns.outcome)
        .order_by(columns.day, columns.outcome)
    )
    return [DayOfIntake(day, outcome, int(count)) for day, outcome, count in rows]


def _days(counts: dict[str, int]) -> dict[datetime.date, int]:
    return {require_day("day", day): count for day, count in counts.items()}
