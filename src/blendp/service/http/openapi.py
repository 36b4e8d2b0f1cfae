"""The OpenAPI document, made from the table of endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from blendp._version import __version__
from blendp.service.http.endpoints import Endpoint
from blendp.wire.campaign import CAMPAIGN_PATTERN
from blendp.wire.files import READABLE
from blendp.wire.media_types import PROBLEM_TYPE
from blendp.wire.problems import PROBLEMS, ProblemDocument

Anything = dict[str, Any]
"""An object of any form, as this document is."""

_ALWAYS = ("rate-limited", "internal", "busy", "head-too-large", "misdirected")
_WITH_BODY = ("malformed", "over-size", "unsupported-media-type", "request-timeout")
_WITH_TOKEN = ("unauthorised",)
_REFERENCE = "#/components/schemas/{name}"

_PARAMETERS = {
    "campaign": {"type": "string", "pattern": CAMPAIGN_PATTERN, "example": "trends-2026-11"},
    "report": {"type": "string", "pattern": "^[0-9a-f]{32}$", "description": "16 random bytes, hexadecimal"},
    "asset": {"type": "string", "pattern": "^[a-z]+-[0-9a-f]{12}\\.(css|js|svg)$", "description": "As pages name it"},
    "file": {"type": "string", "enum": list(READABLE)},
}


def openapi(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The document that describes these endpoints."""
    bodies = [schema for endpoint in endpoints for schema in endpoint.accepts.values() if schema is not None]
    forms = [endpoint.form for endpoint in endpoints if endpoint.form not in (None, Anything)]
    references, components = msgspec.json.schema_components([*bodies, *forms, ProblemDocument], ref_template=_REFERENCE)
    of_body = dict(zip([*bodies, *forms, ProblemDocument], references, strict=True))
    paths: dict[str, Any] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, of_body)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "blendp collector",
            "version": __version__,
            "description": "Campaigns, opt-in records, clients' reports and releases.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(endpoint: Endpoint, of_body: dict[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{endpoint.method.lower()}_{endpoint.path.strip('/').replace('/', '_').translate(_NO_BRACES)}",
        "summary": endpoint.summary,
        "responses": {**_successes(endpoint, of_body), **_refusals(endpoint)},
    }
    names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _PARAMETERS[name]} for name in names
    ]
    parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in endpoint.query.items()]
    if parameters:
        operation["parameters"] = parameters
    if endpoint.accepts:
        content = {
            kind: {"schema": {"type": "string", "format": "binary"} if schema is None else of_body[schema]}
            for kind, schema in endpoint.accepts.items()
        }
        operation["requestBody"] = {"required": True, "content": content}
    if endpoint.needs_token:
        operation["security"] = [{"token": []}]
        operation["x-blendp-access"] = endpoint.access
    return operation


_NO_BRACES = str.maketrans("", "", "{}.")


def _successes(endpoint: Endpoint, of_form: dict[Any, Any]) -> dict[str, Any]:
    kind = endpoint.answer_type.partition(";")[0]
    schema = {"type": "string"} if endpoint.form is None else of_form.get(endpoint.form, {"type": "object"})
    return {
        str(status): {"description": meaning, **({} if status == 304 else {"content": {kind: {"schema": schema}}})}
        for status, meaning in sorted(endpoint.gives.items())
    }


def _refusals(endpoint: Endpoint) -> dict[str, Any]:
    slugs = [*endpoint.refuses, *_ALWAYS, *(_WITH_BODY if endpoint.accepts else ())]
    if endpoint.needs_token:
        slugs += [*_WITH_TOKEN, *(("forbidden",) if endpoint.access != "enrolment" else ())]
    by_status: dict[int, list[str]] = {}
    for slug in dict.fromkeys(slugs):
        by_status.setdefault(PROBLEMS[slug].status, []).append(slug)
    content = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    refusals: dict[str, Any] = {}
    for status, names in sorted(by_status.items()):
        meaning = "; ".join(f"{slug}: {PROBLEMS[slug].title}" for slug in names)
        refusals[str(status)] = {"description": meaning, "content": content}
        if PROBLEMS[names[0]].retryable:
            schema = {"type": "integer", "minimum": 1}
            seconds = {"schema": schema, "required": True, "description": "Seconds to wait"}
            refusals[str(status)]["headers"] = {"Retry-After": seconds}
    return refusals
