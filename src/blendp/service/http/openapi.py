"""The OpenAPI document, made from the table of endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from blendp._version import __version__
from blendp.normalise import RULES
from blendp.reports import QUESTIONS
from blendp.service.http.endpoints import PUBLIC, Endpoint
from blendp.service.http.shapes import Anything
from blendp.service.opt_in import MAX_ENROLMENTS
from blendp.wire.campaign import CAMPAIGN_PATTERN, MAX_GRACE_DAYS, METHODS, MIN_GRACE_DAYS
from blendp.wire.media_types import PROBLEM_TYPE
from blendp.wire.problems import PROBLEMS

_ALWAYS = ("rate-limited", "internal", "busy", "head-too-large", "misdirected")
_WITH_BODY = ("malformed", "over-size", "unsupported-media-type", "request-timeout")
_WITH_TOKEN = ("unauthorised",)
_REFERENCE = "#/components/schemas/{name}"

_PARAMETERS = {
    "campaign": {"type": "string", "pattern": CAMPAIGN_PATTERN, "example": "trends-2026-11"},
    "report": {"type": "string", "pattern": "^[0-9a-f]{32}$", "description": "16 random bytes, hexadecimal"},
}
_HASH, _DAY = {"pattern": "^[0-9a-f]{64}$"}, {"format": "date"}
_TEXT = {"minLength": 1, "maxLength": 200}
_PEOPLE = {"minimum": 1, "maximum": 1_000_000_000}
_PRECISE: dict[str, dict[str, dict[str, Any]]] = {
    "JsonReport": {
        "manifest": _HASH,
        "pseudonym": {"pattern": "^[0-9a-f]{32}$"},
        "question": {"enum": list(QUESTIONS)},
        "data": {"pattern": "^([0-9a-f]{2})*$"},
    },
    "JsonDeletion": {"deletion_key": _HASH},
    "JsonRecords": {"terms": _HASH, "nonce": {"pattern": "^[0-9a-f]{32}$"}},
    "JsonDay": {"day": _DAY},
    "JsonCount": {"count": {"minimum": 1, "maximum": MAX_ENROLMENTS}},
    "JsonTerms": {
        "campaign": _PARAMETERS["campaign"],
        "title": _TEXT,
        "organisation": _TEXT,
        "purpose": {"minLength": 1, "maxLength": 1000},
        "contact": _TEXT,
        "opens": _DAY,
        "opt_in_until": _DAY,
        "reports_until": _DAY,
        "grace_days": {"minimum": MIN_GRACE_DAYS, "maximum": MAX_GRACE_DAYS},
        "method": {"enum": list(METHODS)},
        "epsilon": {"exclusiveMinimum": 0, "maximum": 50},
        "delta": {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "levels": {"enum": [1, 2]},
        "normalise": {"enum": list(RULES)},
        "size": {"description": "null keeps all records that pass"},
        "opt_in_records": _PEOPLE,
        "min_opt_in": _PEOPLE,
        "min_clients": _PEOPLE,
        "expected_clients": _PEOPLE,
        "participation": {"exclusiveMinimum": 0, "maximum": 1},
    },
}
"""What bodies are held to besides their types."""

_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "additionalProperties": False,
    "properties": {
        "type": {"type": "string", "enum": [problem.type for problem in PROBLEMS.values()]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "missing": {"type": "integer", "description": "How many people are missing (too-few)"},
        "reason": {
            "type": "string",
            "enum": ["storage-full", "read-only", "unreachable", "stopped"],
            "description": "Why the service is not ready",
        },
    },
}


def openapi(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The document that describes these endpoints."""
    bodies = [schema for endpoint in endpoints for schema in endpoint.accepts.values() if schema is not None]
    forms = [endpoint.form for endpoint in endpoints if endpoint.form not in (None, Anything)]
    references, components = msgspec.json.schema_components([*bodies, *forms], ref_template=_REFERENCE)
    of_body = dict(zip([*bodies, *forms], references, strict=True))
    for name, properties in _PRECISE.items():
        for member, told in properties.items():
            components[name]["properties"][member] |= told
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
        "components": {
            "schemas": {**components, "Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
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
    if endpoint.access != PUBLIC:
        operation["security"] = [{"token": []}]
        operation["x-blendp-access"] = endpoint.access
    return operation


_NO_BRACES = str.maketrans("", "", "{}.")


def _successes(endpoint: Endpoint, of_form: dict[Any, Any]) -> dict[str, Any]:
    kind = endpoint.answer_type.partition(";")[0]
    schema = {"type": "string"} if endpoint.form is None else of_form.get(endpoint.form, {"type": "object"})
    return {
        str(status): {"description": told, **({} if status == 304 else {"content": {kind: {"schema": schema}}})}
        for status, told in sorted(endpoint.gives.items())
    }


def _refusals(endpoint: Endpoint) -> dict[str, Any]:
    slugs = [*endpoint.refuses, *_ALWAYS, *(_WITH_BODY if endpoint.accepts else ())]
    if endpoint.access != PUBLIC:
        slugs += [*_WITH_TOKEN, *(("forbidden",) if endpoint.access != "enrolment" else ())]
    by_status: dict[int, list[str]] = {}
    for slug in dict.fromkeys(slugs):
        by_status.setdefault(PROBLEMS[slug].status, []).append(slug)
    content = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    refusals: dict[str, Any] = {}
    for status, names in sorted(by_status.items()):
        told = "; ".join(f"{slug}: {PROBLEMS[slug].title}" for slug in names)
        refusals[str(status)] = {"description": told, "content": content}
        if PROBLEMS[names[0]].retryable:
            schema = {"type": "integer", "minimum": 1}
            told_seconds = {"schema": schema, "required": True, "description": "Seconds to wait"}
            refusals[str(status)]["headers"] = {"Retry-After": told_seconds}
    return refusals
