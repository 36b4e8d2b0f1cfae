"""What operators may do, each with a token of the right scope."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from starlette.responses import Response

from blendp.canonical import sha256
from blendp.errors import ParameterError
from blendp.methods import Release
from blendp.render.release.checks import release_checks
from blendp.service.audit import MAX_ENTRIES, Actor, AuditFilter, holder_of
from blendp.service.board.cautions import cautions_of_list
from blendp.service.board.side_work import PLAN, plan_request
from blendp.service.campaigns import export
from blendp.service.clock import reading
from blendp.service.http.answers import answer
from blendp.service.http.aside import done_aside
from blendp.service.http.endpoints import Call, Endpoint, in_thread
from blendp.service.http.questions import POPULATION, asked, decoded, population
from blendp.service.journal import tell
from blendp.service.tokens import operator_id
from blendp.wire import addresses
from blendp.wire.audit import AuditTrail
from blendp.wire.campaign import CAMPAIGN_PATTERN, NewTerms, read_new_terms, require_campaign_id
from blendp.wire.checks import Checks, Released
from blendp.wire.clock import ClockConfirmation, ClockReading
from blendp.wire.deletions import Deleted
from blendp.wire.enrolments import EnrolmentRequest, EnrolmentTokens
from blendp.wire.forecast import CampaignPlan, ForecastAnswer
from blendp.wire.lifecycle import Created, Export, ListPublished
from blendp.wire.media_types import JSON_TYPE, METRICS_TYPE
from blendp.wire.status import Status
from blendp.wire.text_forms import require_day
from blendp.wire.tokens import TOKEN_ID_PATTERN

_NAME, _TOKEN_ID = re.compile("^[a-z-]{1,32}$"), re.compile(TOKEN_ID_PATTERN)
_MAX_NUMBER = 2_147_483_647
_AUDIT_QUERY: dict[str, dict[str, Any]] = {
    "campaign": {"type": "string", "pattern": CAMPAIGN_PATTERN},
    "act": {"type": "string", "pattern": _NAME.pattern, "description": "Such as publish"},
    "outcome": {"type": "string", "pattern": _NAME.pattern, "description": "done, refused, or a problem's last part"},
    "token": {"type": "string", "pattern": TOKEN_ID_PATTERN, "description": "The token's id"},
    "since": {"type": "string", "format": "date", "description": "From this day on"},
    "until": {"type": "string", "format": "date", "description": "To this day, included"},
    "before": {"type": "integer", "minimum": 1, "maximum": _MAX_NUMBER, "description": "Entries before this one"},
    "max_entries": {"type": "integer", "minimum": 1, "maximum": MAX_ENTRIES, "default": 100},
}

T = TypeVar("T")


async def create(call: Call) -> Response:
    """Fix the terms of a new campaign."""
    fields = decoded(call, read_new_terms)
    terms = await _acted(call, "create", _possible_name(fields["campaign"]), call.collector.lifecycle.create, fields)
    tell("campaign created", campaign=terms.campaign)
    return answer(Created.of(terms), 201)


async def enrol(call: Call) -> Response:
    """New enrolment tokens."""
    count = decoded(call, EnrolmentRequest.from_bytes).count
    tokens = await _acted(call, "enrol", call.campaign, call.collector.opt_in.enrol, call.campaign, count)
    tell("enrolment tokens made", campaign=call.campaign, count=count)
    return answer(EnrolmentTokens(tokens), 201)


async def publish(call: Call) -> Response:
    """Make and publish the list."""
    manifest = await _acted(call, "publish", call.campaign, call.collector.lifecycle.publish, call.campaign)
    tell("list published", campaign=call.campaign, manifest=manifest.sha256, records=manifest.records)
    cautions = cautions_of_list(manifest.records, manifest.opt_in_people, manifest.terms.levels)
    return answer(ListPublished.of(manifest, cautions))


async def forecast(call: Call) -> Response:
    """What the list would probably hold."""
    like, collector = population(call), call.collector
    terms, people = await in_thread(collector.opt_in.before_the_list, call.campaign)
    request = plan_request(terms.to_bytes(), people, max(people, terms.min_opt_in), terms.expected_clients, like)
    return answer(CampaignPlan.from_bytes(await done_aside(call, PLAN, request)).list_forecast)


async def release(call: Call) -> Response:
    """Compute and publish the result."""
    document, result = await _acted(call, "release", call.campaign, call.collector.lifecycle.release, call.campaign)
    await in_thread(call.collector.book.forget_closed)
    released = Released.of(release_checks(result), sha256(document))
    tell(
        "released",
        campaign=call.campaign,
        release=released.release_sha256,
        clients=released.clients,
        cautions=len(released.cautions),
    )
    return answer(released)


async def preview(call: Call) -> Response:
    """Show the checks of the result as it would be; sign, keep and close nothing."""

    def show(name: str, by: Actor) -> Release:
        _, result = call.collector.lifecycle.preview(name)
        call.collector.trail.note_now(by, "preview", name)
        return result

    result = await _acted(call, "preview", call.campaign, show, call.campaign)
    tell("result previewed", campaign=call.campaign, clients=result.groups.client)
    return answer(release_checks(result))


async def delete(call: Call) -> Response:
    """Delete a campaign."""
    await _acted(call, "delete", call.campaign, call.collector.lifecycle.delete, call.campaign)
    await in_thread(call.collector.book.forget_closed)
    call.collector.side_work.forget()
    tell("campaign deleted", campaign=call.campaign)
    return answer(Deleted(True))


async def show_status(call: Call) -> Response:
    """How a campaign stands."""
    return answer(await in_thread(call.collector.board.status, call.campaign))


async def show_export(call: Call) -> Response:
    """The signed documents of a released campaign."""
    return answer(await in_thread(export, call.collector.store, call.campaign))


async def metrics(call: Call) -> Response:
    """Numbers for Prometheus."""
    return answer(await in_thread(call.collector.numbers), media_type=METRICS_TYPE)


async def show_audit(call: Call) -> Response:
    """Operators' acts."""
    return answer(AuditTrail(await in_thread(call.collector.trail.entries, *_asked(call))))


async def show_clock(call: Call) -> Response:
    """The day, and the doubt about it."""
    return answer(reading(call.collector.clock).message)


async def accept_clock(call: Call) -> Response:
    """An operator says that the system's clock is right."""
    day = require_day("day", decoded(call, ClockConfirmation.from_bytes).day)
    await _acted(call, "accept-clock", None, call.collector.accept_clock, day)
    tell("the clock was confirmed", day=day.isoformat())
    return answer(reading(call.collector.clock).message)


async def _acted(call: Call, act: str, campaign: str | None, verb: Callable[..., T], *arguments: Any) -> T:
    """What an operator's act gives; it is noted with the token that allowed it, refused or not."""
    by = _actor(call)

    def work() -> T:
        with call.collector.trail.refusals(by, act, campaign):
            return verb(*arguments, by)

    return await in_thread(work)


def _possible_name(name: str) -> str | None:
    """The name, if a campaign can have it."""
    try:
        require_campaign_id(name)
    except ParameterError:
        return None
    return name


def _actor(call: Call) -> Actor:
    """Whose token the guard has found to be good."""
    return holder_of(operator_id(call.request.headers["authorization"].partition(" ")[2]))


def _asked(call: Call) -> tuple[AuditFilter, int]:
    """Which entries of the audit trail, and how many."""
    values = asked(call, _AUDIT_QUERY)
    if "campaign" in values:
        require_campaign_id(values["campaign"])
    chosen = AuditFilter(
        campaign=values.get("campaign"),
        act=_matching(values, "act", _NAME, "a name such as publish"),
        outcome=_matching(values, "outcome", _NAME, "done, refused, or a problem's name"),
        token=_matching(values, "token", _TOKEN_ID, "12 hexadecimal digits"),
        since=require_day("since", values["since"]) if "since" in values else None,
        until=require_day("until", values["until"]) if "until" in values else None,
        before=_whole(values["before"], "before", _MAX_NUMBER) if "before" in values else None,
    )
    return chosen, _whole(values.get("max_entries", "100"), "max_entries", MAX_ENTRIES)


def _matching(values: Mapping[str, str], name: str, pattern: re.Pattern[str], legal: str) -> str | None:
    value = values.get(name)
    if value is not None and not pattern.fullmatch(value):
        raise ParameterError(name, value[:80], legal, "Leave it out to see all.")
    return value


def _whole(text: str, name: str, max_value: int) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > len(str(max_value)) or not 1 <= int(text) <= max_value:
        raise ParameterError(name, text, f"a whole number from 1 to {max_value}", "Write it in decimal digits.")
    return int(text)


ENDPOINTS = (
    Endpoint(
        "POST",
        addresses.CAMPAIGNS,
        "manage",
        create,
        "Create a campaign: fix and sign its terms",
        Created,
        accepts={JSON_TYPE: NewTerms},
        gives={201: "Created"},
        refuses=("malformed", "conflict", "invalid-parameter", "storage-full"),
    ),
    Endpoint(
        "POST",
        addresses.ENROLMENTS,
        "manage",
        enrol,
        "Make one-time tokens for opt-in people; they are shown this once",
        EnrolmentTokens,
        accepts={JSON_TYPE: EnrolmentRequest},
        gives={201: "The tokens"},
        refuses=("not-found", "malformed", "late", "wrong-state", "invalid-parameter", "storage-full"),
    ),
    Endpoint(
        "POST",
        addresses.PUBLISH,
        "manage",
        publish,
        "Make the head list of the opt-in records, publish it, and delete the records",
        ListPublished,
        refuses=("not-found", "wrong-state", "too-few", "storage-full"),
    ),
    Endpoint(
        "GET",
        addresses.FORECAST,
        "manage",
        forecast,
        "What the list would probably hold, from the number of opt-in people and the terms alone",
        ForecastAnswer,
        refuses=("not-found", "wrong-state", "invalid-parameter"),
        query=POPULATION,
    ),
    Endpoint(
        "POST",
        addresses.RELEASE,
        "release",
        release,
        "Compute the result from the reports, publish it, and delete reports and pseudonyms",
        Released,
        refuses=("not-found", "wrong-state", "too-few", "storage-full"),
    ),
    Endpoint(
        "GET",
        addresses.PREVIEW,
        "release",
        preview,
        "The checks of the result as it would be: groups, agreement, lying clients, cautions; nothing changes",
        Checks,
        refuses=("not-found", "wrong-state", "too-few"),
    ),
    Endpoint(
        "DELETE",
        addresses.CAMPAIGN,
        "manage",
        delete,
        "Delete everything of a campaign but its name",
        Deleted,
        refuses=("not-found", "storage-full"),
    ),
    Endpoint(
        "GET",
        addresses.STATUS,
        "read",
        show_status,
        "How a campaign stands: minimums, intake by reason, list churn, budget",
        Status,
        refuses=("not-found",),
    ),
    Endpoint(
        "GET",
        addresses.EXPORT,
        "read",
        show_export,
        "All signed documents of a released campaign",
        Export,
        refuses=("not-found", "wrong-state"),
    ),
    Endpoint(
        "GET",
        addresses.AUDIT,
        "read",
        show_audit,
        "The audit trail: operators' acts, the latest first",
        AuditTrail,
        refuses=("invalid-parameter", "not-found"),
        query=_AUDIT_QUERY,
    ),
    Endpoint(
        "GET",
        addresses.CLOCK,
        "read",
        show_clock,
        "The day that the collector goes by, and whether it is in doubt",
        ClockReading,
    ),
    Endpoint(
        "POST",
        addresses.CLOCK,
        "manage",
        accept_clock,
        "Confirm that the system's clock is right: name the day that it says",
        ClockReading,
        accepts={JSON_TYPE: ClockConfirmation},
        refuses=("conflict", "invalid-parameter", "storage-full"),
    ),
    Endpoint("GET", addresses.METRICS, "read", metrics, "Numbers for Prometheus", answer_type=METRICS_TYPE),
)
