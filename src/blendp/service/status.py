"""How a campaign stands, in public numbers: for operators' eyes and programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from blendp.canonical import sha256
from blendp.headlist import HeadList
from blendp.service.audit import ITSELF, latest
from blendp.service.campaigns import INDEX_DESCRIPTOR, FoundCampaign, envelope, find, list_of, payload, terms_of
from blendp.service.clock import Clock, reading
from blendp.service.deadlines import DELETE, PUBLISH, RELEASE, CampaignDeadline, deadline_of
from blendp.service.opt_in import OptIn
from blendp.service.refusal import Refused
from blendp.service.store.reports import count_reports
from blendp.service.store.schema import campaign, document, intake
from blendp.service.store.store import Store
from blendp.wire.audit import AuditEntry
from blendp.wire.campaign import Manifest
from blendp.wire.index import CampaignLine
from blendp.wire.lifecycle import Export
from blendp.wire.status import (
    BudgetStatus,
    ByItself,
    Churn,
    ClientProgress,
    DayOfIntake,
    DocumentHashes,
    ListStatus,
    OptInProgress,
    Status,
)

_DOCUMENTS = ("terms", "manifest", "release")


def overview(store: Store) -> list[CampaignLine]:
    """Every campaign that there is: name, title, state."""
    query = sa.select(campaign.c.number, campaign.c.name, campaign.c.state).where(campaign.c.state != "deleted")
    with store.reading() as connection:
        rows = connection.execute(query.order_by(campaign.c.number)).all()
        titles = {row.number: terms_of(connection, row.number).title for row in rows}
    return [CampaignLine(row.name, titles[row.number], row.state) for row in rows]


def status(store: Store, clock: Clock, name: str) -> Status:
    """Progress to the minimums, intake by reason, the list and its churn, what was promised and to how many."""
    with store.reading() as connection:
        current = find(connection, name)
        terms = terms_of(connection, current.number)
        documents = {kind: payload(connection, current.number, kind) for kind in _DOCUMENTS}
        people, clients, tokens = _group_sizes(connection, current, documents)
        fates = connection.execute(
            sa.select(intake.c.day, intake.c.outcome, sa.func.sum(intake.c.count))
            .where(intake.c.campaign == current.number)
            .group_by(intake.c.day, intake.c.outcome)
            .order_by(intake.c.day, intake.c.outcome)
        ).all()
        list_status = _list(connection, current)
        deadline = deadline_of(current.state, terms)
        attempt = latest(connection, name, actor=ITSELF.kind)
    totals: Counter[str] = Counter()
    now = reading(clock)
    for _, outcome, count in fates:
        totals[outcome] += int(count)
    missing = {PUBLISH: terms.min_opt_in - people, RELEASE: terms.min_clients - clients}
    return Status(
        campaign=name,
        title=terms.title,
        state=current.state,
        today=now.day.isoformat(),
        clock=now.message,
        by_itself=None if deadline is None else _by_itself(deadline, missing[deadline.act] > 0, attempt),
        opt_in=OptInProgress(
            people=people,
            minimum=terms.min_opt_in,
            missing=max(0, missing[PUBLISH]),
            until=terms.opt_in_until,
            enrolments=tokens.total(),
            unused=tokens["unused"],
        ),
        clients=ClientProgress(
            reports=clients,
            minimum=terms.min_clients,
            missing=max(0, missing[RELEASE]),
            until=terms.reports_until,
            expected=terms.expected_clients,
        ),
        intake=dict(sorted(totals.items())),
        intake_by_day=[DayOfIntake(day, outcome, int(count)) for day, outcome, count in fates],
        head_list=list_status,
        budget=BudgetStatus(
            epsilon=terms.epsilon,
            delta=terms.delta,
            opt_in_spent=documents["manifest"] is not None,
            clients_spent=totals["accepted"],
        ),
        documents=DocumentHashes(**{kind: None if data is None else sha256(data) for kind, data in documents.items()}),
    )


def _by_itself(deadline: CampaignDeadline, too_few: bool, attempt: AuditEntry | None) -> ByItself:
    """What happens to the campaign if its operator does nothing, and what has happened by itself so far."""
    return ByItself(deadline.act, deadline.last.isoformat(), DELETE if too_few else deadline.act, attempt)


def export(store: Store, name: str) -> Export:
    """All signed documents of a released campaign, and its list."""
    with store.reading() as connection:
        current = find(connection, name)
        if current.state != "released":
            raise Refused("wrong-state", f"The campaign {name!r} is {current.state}: there is nothing to export yet.")
        signed = {kind: envelope(connection, current, kind).message for kind in _DOCUMENTS}
        head_list = payload(connection, current.number, "list") or b""
        has_index = payload(connection, current.number, INDEX_DESCRIPTOR) is not None
        descriptor = envelope(connection, current, INDEX_DESCRIPTOR).message if has_index else None
    return Export(**signed, head_list=head_list.decode("utf-8"), index_descriptor=descriptor)


def _group_sizes(
    connection: Connection, current: FoundCampaign, documents: Mapping[str, bytes | None]
) -> tuple[int, int, Counter[str]]:
    """Opt-in people, clients, and tokens by state; from the documents once the people's own rows are gone."""
    tokens = Counter(OptIn.counts(connection, current.number))
    manifest, released = documents["manifest"], documents["release"]
    people = tokens["used"] if manifest is None else Manifest.from_bytes(manifest).opt_in_people
    if released is not None:
        return people, int(json.loads(released)["card"]["users"]["client"]), tokens
    return people, count_reports(connection, current.number), tokens


def _list(connection: Connection, current: FoundCampaign) -> ListStatus | None:
    """The list, and how it differs from that of the campaign before."""
    head_list = list_of(connection, current.number)
    if head_list is None:
        return None
    before = connection.execute(
        sa.select(campaign.c.number, campaign.c.name)
        .join(document, sa.and_(document.c.campaign == campaign.c.number, document.c.kind == "list"))
        .where(campaign.c.number < current.number)
        .order_by(campaign.c.number.desc())
        .limit(1)
    ).one_or_none()
    churn = None
    if before is not None:
        old, new = _records(list_of(connection, before.number)), _records(head_list)
        churn = Churn(before.name, added=len(new - old), removed=len(old - new), kept=len(new & old))
    return ListStatus(head_list.sha256, head_list.records, head_list.queries, churn)


def _records(head_list: HeadList | None) -> set[tuple[str | None, str | None]]:
    if head_list is None:
        return set()
    return {head_list.labels[cell] for cell in head_list.record_cells}
