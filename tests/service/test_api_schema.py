"""The OpenAPI document is true: Schemathesis makes requests from it and holds every answer against it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events, from_schema
from starlette.applications import Starlette

from blendp.errors import ParameterError
from blendp.service.board import side_work
from blendp.service.board.side_work import SideWork
from blendp.service.http import endpoints, make_app
from blendp.service.http.app import ENDPOINTS
from blendp.service.http.endpoints import RequestGuard
from blendp.service.http.openapi import openapi
from blendp.service.refusal import Refused
from blendp.wire.media_types import BATCH_TYPE
from tests.service.helpers import keep_rows, open_collector, published_campaign, terms_of

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
    "ignored_auth",
)
EXAMPLES = 6
schemathesis.serializer.alias(BATCH_TYPE, "application/octet-stream")
_FROM_ANSWERS = {"responses": False}
"""Answers hold random keys and hashes; what is sent must not depend on them."""


class AtOnce(SideWork):
    """Does slow work here, without a process for each example."""

    async def _run(self, kind: str, request: bytes) -> bytes:
        try:
            return side_work._WORK[kind](request)
        except ParameterError as error:
            raise Refused("invalid-parameter", str(error)) from error


@asynccontextmanager
async def _nothing(_app: Starlette) -> AsyncIterator[None]:
    yield


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Starlette, str, str]]:
    """The application over campaigns in several states, an operator's token, and an enrolment token."""
    monkeypatch.setattr(endpoints, "_FAILURES", (0.0, 0.0))
    collector = replace(open_collector(tmp_path), side_work=AtOnce())
    operator = collector.tokens.create("schema")
    published_campaign(collector, "reporting")
    done = published_campaign(collector, "released", min_clients=1)
    collector.lifecycle.create(terms_of("open"))
    (enrolment,) = collector.opt_in.enrol("open", 1)
    collector.lifecycle.create(terms_of("victim"))
    app = make_app(lambda: collector)
    app.router.lifespan_context = _nothing
    app.state.guard = RequestGuard(collector)
    collector.intake.start()
    with collector.store.writing() as connection:
        number = collector.book.reporting("released").number
        keep_rows(connection, number, [(r.report_id, r.pseudonym, r.question, r.data) for r in done.make(3)])
    collector.lifecycle.release("released")
    yield app, operator, enrolment
    collector.intake.stop()
    collector.close()


def document() -> dict[str, Any]:
    """The document, with the names of campaigns that there are."""
    schema = openapi(ENDPOINTS)
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "campaign":
                    deletes = (method, path) == ("delete", "/v1/campaigns/{campaign}")
                    known = ["victim"] if deletes else ["reporting", "released", "open"]
                    parameter["schema"] = {"type": "string", "enum": [*known, "unknown"]}
    return schema


def configured(token: str | None) -> SchemathesisConfig:
    """All phases, few examples, the same ones in every run."""
    return SchemathesisConfig.from_dict(
        {
            "seed": 1,
            "request-timeout": 120,
            **({"auth": {"openapi": {"token": {"bearer": token}}}} if token else {}),
            "continue-on-failure": True,
            "generation": {"deterministic": True, "max-examples": EXAMPLES, "database": "none", "no-shrink": True},
            "phases": {
                "examples": {"extra-data-sources": _FROM_ANSWERS},
                "coverage": {"extra-data-sources": _FROM_ANSWERS},
                "fuzzing": {"extra-data-sources": _FROM_ANSWERS, "error-feedback": {"enabled": False}},
                "stateful": {"max-steps": 4},
            },
            "checks": {
                "enabled": False,
                **{name: {"enabled": True} for name in CHECKS},
                "negative_data_rejection": {"enabled": True, "expected-statuses": ["4xx"]},
            },
        }
    )


def failures(app: Starlette, token: str | None, paths: str) -> tuple[list[str], Counter[tuple[str, int]]]:
    """What Schemathesis finds, and how many answers it had of every operation and status."""
    schema = schemathesis.openapi.from_dict(document(), config=configured(token)).include(path_regex=paths)
    schema.app = app
    problems: list[str] = []
    calls: Counter[tuple[str, int]] = Counter()
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            for case_id, nodes in event.recorder.checks.items():
                label = event.recorder.cases[case_id].value.operation.label
                answer = event.recorder.interactions[case_id].response
                calls[label, answer.status_code if answer else 0] += 1
                problems += [
                    f"{label}: {node.name}: {node.failure_info.failure}: {node.failure_info.code_sample}"
                    for node in nodes
                    if node.status == Status.FAILURE and node.failure_info is not None
                ]
        elif isinstance(event, events.NonFatalError | events.FatalError):
            problems.append(repr(event))
    return sorted(set(problems)), calls


@pytest.mark.parametrize(("who", "paths"), [("operator", "."), ("nobody", "."), ("enrolled", "/opt-in$")])
def test_every_answer_is_as_the_document_says(served: tuple[Starlette, str, str], who: str, paths: str) -> None:
    app, operator, enrolment = served
    problems, calls = failures(app, {"operator": operator, "enrolled": enrolment}.get(who), paths)
    assert not problems, "\n\n".join(problems)
    asked = {f"{one.method} {one.path}" for one in ENDPOINTS if re.search(paths, one.path)}
    assert {label for label, _ in calls} == asked
    assert calls["PUT /v1/campaigns/{campaign}/opt-in", 401]
    assert bool(calls["GET /v1/campaigns/{campaign}/status", 200]) == (who == "operator")
    assert bool(calls["DELETE /v1/campaigns/{campaign}/opt-in", 200]) == (who == "enrolled")


def test_the_document_is_served_as_it_is_made(served: tuple[Starlette, str, str]) -> None:
    served_schema = schemathesis.openapi.from_asgi("/v1/openapi.json", served[0]).raw_schema
    assert served_schema == openapi(ENDPOINTS)
    told_of = {(method.upper(), path) for path, operations in served_schema["paths"].items() for method in operations}
    assert told_of == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}


def test_operations_have_names_of_their_own() -> None:
    operations = [one for some in openapi(ENDPOINTS)["paths"].values() for one in some.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)


def test_every_operation_tells_its_refusals() -> None:
    for path, operations in openapi(ENDPOINTS)["paths"].items():
        for method, operation in operations.items():
            statuses = set(operation["responses"])
            assert {"429", "500", "503"} <= statuses, (method, path)
            assert ("401" in statuses) == ("security" in operation)
            assert {"400", "408", "413", "415"} <= statuses or "requestBody" not in operation
            assert "404" in statuses or "{" not in path
