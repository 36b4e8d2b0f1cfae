"""What the operators' console looks at, besides what commands do; nothing here changes anything."""

from __future__ import annotations

from dataclasses import asdict

import msgspec
from starlette.responses import Response

from blendp.service.board.cautions import cautions_of_terms, statements_of_terms
from blendp.service.board.list_changes import list_changes
from blendp.service.board.side_work import FILES, PLAN, files_request, plan_request
from blendp.service.campaigns import export, find
from blendp.service.collector import CollectorService
from blendp.service.http.answers import answer
from blendp.service.http.aside import done_aside
from blendp.service.http.endpoints import Call, Endpoint, in_thread
from blendp.service.http.questions import POPULATION, decoded, population
from blendp.service.refusal import Refused
from blendp.service.tokens import operator_id
from blendp.wire import addresses
from blendp.wire.campaign import NewTerms, Terms, read_new_terms
from blendp.wire.changes import ListChanges
from blendp.wire.envelope import Envelope
from blendp.wire.files import READABLE
from blendp.wire.forecast import CampaignPlan, DraftChecks
from blendp.wire.media_types import JSON_TYPE
from blendp.wire.reasons import REASONS, Reasons
from blendp.wire.status import CampaignsOverview
from blendp.wire.tokens import TokenHolder


async def token(call: Call) -> Response:
    """Whose token was shown, and what it allows."""
    shown = operator_id(call.request.headers["authorization"].partition(" ")[2])
    known = await in_thread(call.collector.tokens.named, shown)
    if known is None:
        raise Refused("unauthorised", "This token is not valid: it was mistyped, or revoked.")
    return answer(TokenHolder(known.id, known.name, list(known.scopes)))


async def overview(call: Call) -> Response:
    """All campaigns in short."""
    return answer(await in_thread(call.collector.board.summaries))


async def reasons(_call: Call) -> Response:
    """What the outcomes of reports mean."""
    return answer(Reasons(list(REASONS)))


async def draft(call: Call) -> Response:
    """Look at the terms of a campaign before it is created."""
    like = population(call)
    terms = await in_thread(call.collector.lifecycle.draft, decoded(call, read_new_terms))
    people, clients = terms.min_opt_in, terms.expected_clients
    request = plan_request(terms.to_bytes(), people, people, clients, like)
    planned = CampaignPlan.from_bytes(await done_aside(call, PLAN, request))
    return answer(
        DraftChecks(
            terms=asdict(terms),
            cautions=cautions_of_terms(terms),
            forecast=planned.list_forecast,
            sentence=planned.sentence,
            statements=statements_of_terms(terms),
        )
    )


async def plan(call: Call) -> Response:
    """What the planner expects of a campaign."""
    request = await in_thread(_plan_request, call.collector, call.campaign, population(call))
    return answer(await done_aside(call, PLAN, request))


def _plan_request(collector: CollectorService, name: str, like: str) -> bytes:
    """While people come, they are planned for in round numbers: so a plan is good for many looks."""
    with collector.store.reading() as connection:
        standing = collector.board.standings.of(connection, find(connection, name))
    terms = standing.terms
    people = rounded_down(standing.people) if standing.manifest is None else standing.people
    clients = terms.expected_clients if standing.release is None else standing.release.clients
    return plan_request(terms.to_bytes(), people, max(people, terms.min_opt_in), clients, like)


def rounded_down(count: int) -> int:
    """The count to two digits, not more than it is."""
    unit = int("1".ljust(len(str(count)) - 1, "0"))
    return count // unit * unit


async def changes(call: Call) -> Response:
    """How the list differs from the one before."""
    return answer(await in_thread(list_changes, call.collector.store, call.campaign))


async def file(call: Call) -> Response:
    """A file of a released campaign, as an export writes it."""
    name = str(call.request.path_params["file"])
    if name not in READABLE:
        raise Refused("not-found", f"An export has no such file: ask for {', '.join(READABLE)}.")
    request = await in_thread(_files_request, call.collector, call.campaign)
    files: dict[str, bytes] = msgspec.msgpack.decode(await done_aside(call, FILES, request))
    headers = {"content-disposition": f'attachment; filename="{call.campaign}-{name}"'}
    return answer(files[name], media_type=READABLE[name], headers=headers)


def _files_request(collector: CollectorService, name: str) -> bytes:
    exported = export(collector.store, name)
    terms, release = (Envelope.of_message(document).payload for document in (exported.terms, exported.release))
    return files_request(release, exported.head_list.encode("utf-8"), Terms.from_bytes(terms).title)


ENDPOINTS = (
    Endpoint("GET", addresses.TOKEN, "read", token, "Whose token this is, and what it allows", TokenHolder),
    Endpoint(
        "GET",
        addresses.OVERVIEW,
        "read",
        overview,
        "The newest campaigns in short: progress, pace, deadlines, what to do next",
        CampaignsOverview,
    ),
    Endpoint("GET", addresses.REASONS, "read", reasons, "What each outcome of a report means, and what to do", Reasons),
    Endpoint(
        "POST",
        addresses.DRAFTS,
        "manage",
        draft,
        "Check the terms of a campaign before it is created: cautions and forecast; nothing is kept",
        DraftChecks,
        accepts={JSON_TYPE: NewTerms},
        refuses=("malformed", "conflict", "invalid-parameter"),
        query=POPULATION,
    ),
    Endpoint(
        "GET",
        addresses.PLAN,
        "read",
        plan,
        "What the planner expects of list and errors, from the terms and the groups' sizes alone",
        CampaignPlan,
        refuses=("not-found", "invalid-parameter"),
        query=POPULATION,
    ),
    Endpoint(
        "GET",
        addresses.CHANGES,
        "read",
        changes,
        "Which records the list has and the list before has not, and the other way round",
        ListChanges,
        refuses=("not-found",),
    ),
    Endpoint(
        "GET",
        addresses.FILE,
        "read",
        file,
        "A file of a released campaign for readers, as an export writes it",
        refuses=("not-found", "wrong-state"),
        answer_type="*/*",
    ),
)
