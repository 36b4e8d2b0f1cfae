"""What operators may do, each with a token of the right scope."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

from blendp.service.http import shapes
from blendp.service.http.answers import answer
from blendp.service.http.endpoints import Call, Endpoint, in_thread
from blendp.service.journal import tell
from blendp.service.metrics import METRICS_TYPE
from blendp.service.refusal import Refused
from blendp.service.status import export, status
from blendp.wire.canonical import sha256

_JSON = "application/json"
_CAMPAIGN = "/v1/campaigns/{campaign}"


class JsonCount(msgspec.Struct, forbid_unknown_fields=True):
    """How many."""

    count: int


class JsonTerms(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The terms of a new campaign; what is left out is as usual."""

    campaign: str
    title: str
    organisation: str
    purpose: str
    contact: str
    opens: str
    opt_in_until: str
    reports_until: str
    grace_days: int | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    epsilon: float | msgspec.UnsetType = msgspec.UNSET
    delta: float | msgspec.UnsetType = msgspec.UNSET
    levels: int | msgspec.UnsetType = msgspec.UNSET
    normalise: str | msgspec.UnsetType = msgspec.UNSET
    size: int | msgspec.UnsetType | None = msgspec.UNSET
    opt_in_records: int | msgspec.UnsetType = msgspec.UNSET
    minimum_opt_in: int | msgspec.UnsetType = msgspec.UNSET
    minimum_clients: int | msgspec.UnsetType = msgspec.UNSET
    expected_clients: int | msgspec.UnsetType = msgspec.UNSET
    participation: float | msgspec.UnsetType = msgspec.UNSET


async def create(call: Call) -> Response:
    """Fix the terms of a new campaign."""
    terms = await in_thread(call.collector.lifecycle.create, msgspec.to_builtins(_decoded(call, JsonTerms)))
    tell("campaign created", campaign=terms.campaign)
    return answer({"campaign": terms.campaign, "terms_sha256": terms.sha256}, 201)


async def enrol(call: Call) -> Response:
    """New enrolment tokens."""
    count = _decoded(call, JsonCount).count
    tokens = await in_thread(call.collector.opt_in.enrol, call.campaign, count)
    tell("enrolment tokens made", campaign=call.campaign, count=count)
    return answer({"tokens": tokens}, 201)


async def publish(call: Call) -> Response:
    """Make and publish the list."""
    manifest = await in_thread(call.collector.lifecycle.publish, call.campaign)
    tell("list published", campaign=call.campaign, manifest=manifest.sha256, records=manifest.records)
    return answer(
        {
            "manifest_sha256": manifest.sha256,
            "list_sha256": manifest.list_sha256,
            "records": manifest.records,
            "opt_in_people": manifest.opt_in_people,
            "query_share": manifest.query_share,
        }
    )


async def release(call: Call) -> Response:
    """Compute and publish the result."""
    document, made = await in_thread(call.collector.lifecycle.release, call.campaign)
    await in_thread(call.collector.book.forget_closed)
    tell("released", campaign=call.campaign, release=sha256(document), clients=made.groups.client)
    return answer({"release_sha256": sha256(document), "clients": made.groups.client, "cautions": made.cautions})


async def delete(call: Call) -> Response:
    """Delete a campaign."""
    await in_thread(call.collector.lifecycle.delete, call.campaign)
    await in_thread(call.collector.book.forget_closed)
    tell("campaign deleted", campaign=call.campaign)
    return answer({"deleted": True})


async def show_status(call: Call) -> Response:
    """How a campaign stands."""
    return answer(await in_thread(status, call.collector.store, call.collector.clock, call.campaign))


async def show_export(call: Call) -> Response:
    """The signed documents of a released campaign."""
    return answer(await in_thread(export, call.collector.store, call.campaign))


async def metrics(call: Call) -> Response:
    """Numbers for Prometheus."""
    return answer(await in_thread(call.collector.metrics.exposition), media_type=METRICS_TYPE)


def _decoded(call: Call, kind: Any) -> Any:
    try:
        return msgspec.json.decode(call.body, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Refused("malformed", f"The body is not as the documentation says: {error}.") from error


ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/campaigns",
        "manage",
        create,
        "Create a campaign: fix and sign its terms",
        shapes.Created,
        accepts={_JSON: JsonTerms},
        gives={201: "Created"},
        refuses=("malformed", "conflict", "invalid-parameter", "storage-full"),
    ),
    Endpoint(
        "POST",
        f"{_CAMPAIGN}/enrolments",
        "manage",
        enrol,
        "Make one-time tokens for opt-in people; they are shown this once",
        shapes.Tokens,
        accepts={_JSON: JsonCount},
        gives={201: "The tokens"},
        refuses=("not-found", "malformed", "late", "wrong-state", "invalid-parameter", "storage-full"),
    ),
    Endpoint(
        "POST",
        f"{_CAMPAIGN}/publish",
        "manage",
        publish,
        "Make the head list of the opt-in records, publish it, and delete the records",
        shapes.ListPublished,
        refuses=("not-found", "wrong-state", "too-few", "storage-full"),
    ),
    Endpoint(
        "POST",
        f"{_CAMPAIGN}/release",
        "release",
        release,
        "Compute the result from the reports, publish it, and delete reports and pseudonyms",
        shapes.Released,
        refuses=("not-found", "wrong-state", "too-few", "storage-full"),
    ),
    Endpoint(
        "DELETE",
        _CAMPAIGN,
        "manage",
        delete,
        "Delete everything of a campaign but its name",
        shapes.Deleted,
        refuses=("not-found", "storage-full"),
    ),
    Endpoint(
        "GET",
        f"{_CAMPAIGN}/status",
        "read",
        show_status,
        "How a campaign stands: minimums, intake by reason, list churn, budget",
        shapes.Status,
        refuses=("not-found",),
    ),
    Endpoint(
        "GET",
        f"{_CAMPAIGN}/export",
        "read",
        show_export,
        "All signed documents of a released campaign",
        shapes.Export,
        refuses=("not-found", "wrong-state"),
    ),
    Endpoint("GET", "/metrics", "read", metrics, "Numbers for Prometheus", answer_type=METRICS_TYPE),
)
