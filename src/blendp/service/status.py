"""How a campaign stands, in public numbers: for operators' eyes and programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from blendp.canonical import sha256
from blendp.headlist import HeadList
from blendp.service.audit import ITSELF, AuditEntry, latest
from blendp.service.campaigns import SIGNED, FoundCampaign, envelope, find, list_of, payload, terms_of
from blendp.service.clock import Clock, reading
from blendp.service.deadlines import DELETE, PUBLISH, RELEASE, CampaignDeadline, deadline_of
from blendp.service.opt_in import OptIn
from blendp.service.refusal import Refused
from blendp.service.store.reports import count_reports
from blendp.service.store.schema import campaign, document, intake
from blendp.service.store.store import Store
from blendp.wire.campaign import Manifest


def overview(store: Store) -> list[dict[str, str]]:
    """Every campaign that there is: name, title, state."""
    query = sa.select(campaign.c.number, campaign.c.name, campaign.c.state).where(campaign.c.state != "deleted")
    with store.reading() as connection:
        rows = connection.execute(query.order_by(campaign.c.number)).all()
        titles = {row.number: terms_of(connection, row.number).title for row in rows}
    return [{"campaign": row.name, "title": titles[row.number], "state": row.state} for row in rows]


def status(store: Store, clock: Clock, name: str) -> dict[str, Any]:
    """Progress to the minimums, intake by reason, the list and its churn, what was promised and to how many."""
    with store.reading() as connection:
        current = find(connection, name)
        terms = terms_of(connection, current.number)
        documents = {kind: payload(connection, current.number, kind) for kind in SIGNED}
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
    return {
        "campaign": name,
        "title": terms.title,
        "state": current.state,
        "today": now.day.isoformat(),
        "clock": {"day": now.day.isoformat(), "system": now.system.isoformat(), "doubt": now.doubt},
        "by_itself": None if deadline is None else _by_itself(deadline, missing[deadline.act] > 0, attempt),
        "opt_in": {
            "people": people,
            "minimum": terms.min_opt_in,
            "missing": max(0, terms.min_opt_in - people),
            "until": terms.opt_in_until,
            "enrolments": tokens.total(),
            "unused": tokens["unused"],
        },
        "clients": {
            "reports": clients,
            "minimum": terms.min_clients,
            "missing": max(0, terms.min_clients - clients),
            "until": terms.reports_until,
            "expected": terms.expected_clients,
        },
        "intake": dict(sorted(totals.items())),
        "intake_by_day": [{"day": day, "outcome": outcome, "count": int(count)} for day, outcome, count in fates],
        "list": list_status,
        "budget": {
            "epsilon": terms.epsilon,
            "delta": terms.delta,
            "opt_in_spent": documents["manifest"] is not None,
            "clients_spent": totals["accepted"],
        },
        "documents": {kind: None if data is None else sha256(data) for kind, data in documents.items()},
    }


def _by_itself(deadline: CampaignDeadline, too_few: bool, attempt: AuditEntry | None) -> dict[str, Any]:
    """What happens to the campaign if its operator does nothing, and what has happened by itself so far."""
    return {
        "act": deadline.act,
        "after": deadline.last.isoformat(),
        "would_be": DELETE if too_few else deadline.act,
        "last": None if attempt is None else asdict(attempt),
    }


def export(store: Store, name: str) -> dict[str, Any]:
    """All signed documents of a released campaign, and its list."""
    with store.reading() as connection:
        current = find(connection, name)
        if current.state != "released":
            raise Refused("wrong-state", f"The campaign {name!r} is {current.state}: there is nothing to export yet.")
        signed = {kind: json.loads(envelope(connection, current, kind).to_bytes()) for kind in SIGNED}
        head_list = payload(connection, current.number, "list") or b""
    return {**signed, "list": head_list.decode("utf-8")}


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


def _list(connection: Connection, current: FoundCampaign) -> dict[str, Any] | None:
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
        differences = {"added": len(new - old), "removed": len(old - new), "kept": len(new & old)}
        churn = {"previous": before.name, **differences}
    numbers = {"sha256": head_list.sha256, "records": head_list.records, "queries": head_list.queries}
    return {**numbers, "churn": churn}


def _records(head_list: HeadList | None) -> set[tuple[str | None, str | None]]:
    if head_list is None:
        return set()
    return {head_list.labels[cell] for cell in head_list.record_cells}
