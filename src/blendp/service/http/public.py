"""What everybody may read and send: documents, reports, deletion requests, opt-in records."""

from __future__ import annotations

from typing import Any

from sqlalchemy.engine import Connection
from starlette.responses import Response

from blendp.errors import ParameterError
from blendp.reports import QUESTIONS
from blendp.service.campaigns import FoundCampaign, Reporting, envelope, find, overview, payload
from blendp.service.collector import CollectorService
from blendp.service.http.answers import IMMUTABLE, REVALIDATED, answer, problem
from blendp.service.http.documents import Document, sent
from blendp.service.http.endpoints import ENROLMENT, PUBLIC, Call, Endpoint, in_thread
from blendp.service.refusal import Refused
from blendp.wire import addresses
from blendp.wire.deletions import Deleted, DeletionRequest
from blendp.wire.envelope import SignedDocument
from blendp.wire.head_list import ListDocument
from blendp.wire.health import Live, Ready
from blendp.wire.index import Campaigns, Keys, SigningKeyOfDays
from blendp.wire.install import DELETION_KEY_BYTES
from blendp.wire.media_types import BATCH_TYPE, ENVELOPE_TYPE, JSON_TYPE, LIST_TYPE, OPT_IN_TYPE, REPORT_TYPE
from blendp.wire.opt_in import OptInRecords
from blendp.wire.problems import PROBLEMS
from blendp.wire.reports import (
    ACCEPTED,
    DUPLICATE,
    JsonReport,
    Upload,
    UploadOutcome,
    UploadOutcomes,
    read_batch,
    read_report,
)
from blendp.wire.search_index import IndexDocument

STATUS_OF = {ACCEPTED: 201, DUPLICATE: 200}

_DOCUMENT = {200: "Done", 304: "It is the one that If-None-Match names"}
_OF_REPORTS = ("not-found", "wrong-state", "late", "wrong-list", "wrong-scheme", "malformed", "storage-full")


_BYTES_OF_A_UNIT = 1024
"""A body that cannot be read costs as many reports as it has of these."""


async def live(_call: Call) -> Response:
    """The process answers."""
    return answer(Live(True))


async def ready(call: Call) -> Response:
    """The store can be written, too."""
    if not call.collector.intake.alive:
        raise Refused("busy", "Reports are not taken in any more (stopped).", retry_after=5, reason="stopped")
    await call.collector.readiness.require()
    return answer(Ready(True))


async def keys(call: Call) -> Response:
    """All signing keys, and how each vouches for the next."""
    known = await in_thread(call.collector.keys.known)
    days = [SigningKeyOfDays(key.public, key.since, key.until) for key in known]
    return answer(Keys(days, [key.statement.message for key in known if key.statement]))


async def campaigns(call: Call) -> Response:
    """Every campaign."""
    return answer(Campaigns(await in_thread(overview, call.collector.store)))


async def signed_document(call: Call) -> Response:
    """The terms, the manifest, the release or the descriptor of its index, with all signatures."""
    kind = call.request.url.path.rpartition("/")[2]

    def read(collector: CollectorService) -> Document:
        with collector.store.reading() as connection:
            return call.shelf.same(envelope(connection, find(connection, call.campaign), kind).to_bytes())

    document = await in_thread(read, call.collector)
    return sent(document, call.request, ENVELOPE_TYPE, REVALIDATED)


async def head_list(call: Call) -> Response:
    """The list, in its canonical bytes."""

    return sent(await _unsigned(call, "list"), call.request, LIST_TYPE, IMMUTABLE)


async def search_index(call: Call) -> Response:
    """The offline index of the release, in its canonical bytes."""
    return sent(await _unsigned(call, "index"), call.request, JSON_TYPE, IMMUTABLE)


async def _unsigned(call: Call, kind: str) -> Document:
    """A document that another one names by its hash, and that never changes."""

    def read(collector: CollectorService) -> Document:
        with collector.store.reading() as connection:
            campaign = find(connection, call.campaign)
            return call.shelf.get((kind, campaign.number), lambda: _bytes_of(connection, campaign, kind))

    return await in_thread(read, call.collector)


def _bytes_of(connection: Connection, campaign: FoundCampaign, kind: str) -> bytes:
    body = payload(connection, campaign.number, kind)
    if body is None:
        raise Refused("not-found", f"The campaign {campaign.name!r} has no {kind}: it is in state {campaign.state}.")
    return body


async def put_report(call: Call) -> Response:
    """Take in one report."""
    reporting = await _reporting(call)
    upload = _read(call, reporting, lambda: read_report(call.request.path_params["report"], call.body))
    (outcome,) = await call.collector.receive(reporting, upload)
    if outcome == "impossible":
        ((_, _, question, data),) = upload.rows
        return problem(Refused(outcome, reporting.scheme.expectation(QUESTIONS[question], data)))
    if outcome not in STATUS_OF:
        return problem(Refused(outcome, PROBLEMS[outcome].title + "."))
    return answer(UploadOutcome(outcome), STATUS_OF[outcome])


async def post_reports(call: Call) -> Response:
    """Take in a batch of reports."""
    reporting = await _reporting(call)
    upload = _read(call, reporting, lambda: read_batch(call.body))
    call.charge(len(upload.rows) - 1)
    return answer(UploadOutcomes(await call.collector.receive(reporting, upload)))


async def post_deletion(call: Call) -> Response:
    """Delete the report of an install."""
    try:
        key = DeletionRequest.from_bytes(call.body).key
    except ParameterError as error:
        raise Refused("malformed", f"Send a deletion key of {2 * DELETION_KEY_BYTES} hexadecimal digits.") from error
    return answer(Deleted(await in_thread(call.collector.forget_report, call.campaign, key)))


async def put_opt_in(call: Call) -> Response:
    """Take in an opt-in person's records."""
    outcome = await in_thread(call.collector.opt_in.receive, call.campaign, call.token, call.body)
    return answer(UploadOutcome(outcome), STATUS_OF[outcome])


async def delete_opt_in(call: Call) -> Response:
    """Delete an opt-in person's records."""
    return answer(Deleted(await in_thread(call.collector.withdraw, call.campaign, call.token)))


async def _reporting(call: Call) -> Reporting:
    known = call.collector.book.known(call.campaign)
    return known if known is not None else await in_thread(call.collector.book.reporting, call.campaign)


def _read(call: Call, reporting: Reporting, read: Any) -> Upload:
    """The upload, if it is of the form of one; counted if not, and paid for by its size."""
    try:
        return read()  # type: ignore[no-any-return]
    except ParameterError:
        call.collector.intake.note(reporting.number, "malformed")
        call.charge(len(call.body) / _BYTES_OF_A_UNIT)
        raise


ENDPOINTS = (
    Endpoint("GET", addresses.LIVE, PUBLIC, live, "Whether the process answers", Live, always=True),
    Endpoint("GET", addresses.READY, PUBLIC, ready, "Whether what is sent can be kept: the store is written to", Ready),
    Endpoint("GET", addresses.KEYS, PUBLIC, keys, "The signing keys, and how each vouches for the next", Keys),
    Endpoint("GET", addresses.CAMPAIGNS, PUBLIC, campaigns, "All campaigns: name, title, state", Campaigns),
    *(
        Endpoint(
            "GET",
            address,
            PUBLIC,
            signed_document,
            f"The {address.rpartition('/')[2]}, signed (a DSSE envelope)",
            SignedDocument,
            gives=_DOCUMENT,
            refuses=("not-found",),
            answer_type=ENVELOPE_TYPE,
        )
        for address in (addresses.TERMS, addresses.MANIFEST, addresses.RELEASE, addresses.INDEX_DESCRIPTOR)
    ),
    Endpoint(
        "GET",
        addresses.LIST,
        PUBLIC,
        head_list,
        "The head list, whose SHA-256 the manifest names",
        ListDocument,
        gives=_DOCUMENT,
        refuses=("not-found",),
        answer_type=LIST_TYPE,
    ),
    Endpoint(
        "GET",
        addresses.INDEX,
        PUBLIC,
        search_index,
        "The offline index of the release, whose SHA-256 the index-descriptor names",
        IndexDocument,
        gives=_DOCUMENT,
        refuses=("not-found",),
    ),
    Endpoint(
        "PUT",
        addresses.REPORT,
        PUBLIC,
        put_report,
        "Send one report under its id; the same again is a success",
        UploadOutcome,
        accepts={REPORT_TYPE: JsonReport},
        gives={201: "Accepted: on the disk", 200: "Duplicate: it was there, byte for byte"},
        refuses=(*_OF_REPORTS, "conflict", "over-quota", "deleted", "impossible"),
    ),
    Endpoint(
        "POST",
        addresses.REPORTS,
        PUBLIC,
        post_reports,
        "Send many reports; the answer tells the outcome of each, in order",
        UploadOutcomes,
        accepts={BATCH_TYPE: None},
        gives={200: "The outcomes: accepted, duplicate, or the last part of a problem type"},
        refuses=_OF_REPORTS,
    ),
    Endpoint(
        "POST",
        addresses.DELETIONS,
        PUBLIC,
        post_deletion,
        "Have the report of the install that holds this key deleted",
        Deleted,
        accepts={JSON_TYPE: DeletionRequest},
        gives={200: "Whether a report was deleted; none is held after the release"},
        refuses=("not-found", "malformed", "storage-full"),
    ),
    Endpoint(
        "PUT",
        addresses.OPT_IN,
        ENROLMENT,
        put_opt_in,
        "Opt in with a one-time token: send records to the organisation, unrandomised",
        UploadOutcome,
        accepts={OPT_IN_TYPE: OptInRecords},
        gives={201: "Accepted: on the disk, encrypted", 200: "Duplicate: the nonce is that of what was accepted"},
        refuses=(*_OF_REPORTS, "conflict", "deleted", "over-quota"),
    ),
    Endpoint(
        "DELETE",
        addresses.OPT_IN,
        ENROLMENT,
        delete_opt_in,
        "Have an opt-in person's records deleted; the token is spent",
        Deleted,
        gives={200: "Whether records were deleted; none are held once the list is published"},
        refuses=("not-found", "storage-full"),
    ),
)
