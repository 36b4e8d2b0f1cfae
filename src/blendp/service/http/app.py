"""The ASGI application: addresses to endpoints, and everything else to a problem document."""

from __future__ import annotations

import asyncio
import gc
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from blendp.service.collector import CollectorService
from blendp.service.door import DOOR, Door
from blendp.service.http import console, operator, pages, public
from blendp.service.http.answers import answer, problem
from blendp.service.http.answers import send as send_answer
from blendp.service.http.endpoints import PUBLIC, Call, Endpoint, RequestGuard, in_thread
from blendp.service.http.openapi import Anything, openapi
from blendp.service.journal import tell_failure
from blendp.service.refusal import Refused
from blendp.wire import addresses

_HOUSEKEEPING_SECONDS = 60
_PREFLIGHT = {"access-control-allow-headers": "authorization, content-type", "access-control-max-age": "86400"}


async def _describe(_call: Call) -> Response:
    return answer(_description())


@cache
def _description() -> bytes:
    return msgspec.json.encode(openapi(ENDPOINTS))


ENDPOINTS: tuple[Endpoint, ...] = (
    *public.ENDPOINTS,
    *operator.ENDPOINTS,
    *console.ENDPOINTS,
    *pages.ENDPOINTS,
    Endpoint("GET", addresses.OPENAPI, PUBLIC, _describe, "This document", Anything),
)
"""All addresses there are."""


def make_app(open_collector: Callable[[], CollectorService]) -> Starlette:
    """The application; the collector is opened when it starts, and closed when it stops."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
        collector = await in_thread(open_collector)
        await in_thread(pages.web_files)
        await in_thread(collector.tidy)
        collector.intake.start()
        guard = app.state.guard = RequestGuard(collector)
        door = Door(collector.settings, collector.metrics.refused_connection, guard.charge)
        gc.collect()
        gc.freeze()  # what is there by now stays: no later collection need look at it
        works = (collector.keep_house, collector.meet_deadlines)
        chores = [asyncio.create_task(door.watch()), *(asyncio.create_task(_every_minute(work)) for work in works)]
        try:
            yield {DOOR: door}
        finally:
            for chore in chores:
                chore.cancel()
            door.tell_refusals()
            await in_thread(collector.intake.stop)
            await in_thread(collector.close)

    app = _App(routes=_routes(), lifespan=lifespan)
    app.router.redirect_slashes = False
    app.router.default = _Address({})
    return app


class _App(Starlette):
    """Without the layers that make answers of exceptions: the guard does, and every report would pay for them."""

    def build_middleware_stack(self) -> ASGIApp:
        """The router alone."""
        return self.router


async def _every_minute(work: Callable[[], None]) -> None:
    """Keep house, or meet deadlines; what fails is told and done again a minute later."""
    while True:
        await asyncio.sleep(_HOUSEKEEPING_SECONDS)
        try:
            await in_thread(work)
        except Exception as error:  # nobody else would notice that it is not done any more
            tell_failure("housekeeping failed", error)


def _routes() -> list[Route]:
    """Those of reports come first, since they are tried in order."""
    by_path: dict[str, dict[str, Endpoint]] = defaultdict(dict)
    for endpoint in ENDPOINTS:
        by_path[endpoint.path][endpoint.method] = endpoint
    paths = sorted(by_path, key=lambda path: path not in (addresses.REPORT, addresses.REPORTS))
    return [Route(path, _Address(by_path[path])) for path in paths]


class _Address:
    """All methods of an address; none where there is nothing."""

    def __init__(self, methods: dict[str, Endpoint]) -> None:
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        response = await self._response(Request(scope, receive))
        await send_answer(response, scope, send)

    async def _response(self, request: Request) -> Response:
        guard: RequestGuard = request.app.state.guard
        method = request.method
        endpoint = self._methods.get("GET" if method == "HEAD" else method)
        if endpoint is not None:
            return await guard.serve(endpoint, request)
        return guard.turn_away(request, partial(self._without_endpoint, method))

    def _without_endpoint(self, method: str) -> Response:
        if not self._methods:
            return problem(Refused("not-found", "There is nothing at this address."))
        if method == "OPTIONS":
            return _preflight(self._methods)
        response = problem(Refused("method-not-allowed", "This address does not know the method."))
        response.headers["allow"] = _known(self._methods)
        return response


def _known(methods: dict[str, Endpoint]) -> str:
    return ", ".join(sorted({*methods, "OPTIONS", *(("HEAD",) if "GET" in methods else ())}))


def _preflight(methods: dict[str, Endpoint]) -> Response:
    """Which methods pages of other origins may use: those that need no operator."""
    allowed = sorted(method for method, endpoint in methods.items() if endpoint.cross_origin)
    headers = {"allow": _known(methods)}
    if allowed:
        headers |= {"access-control-allow-origin": "*", "access-control-allow-methods": ", ".join(allowed)}
        headers |= _PREFLIGHT
    return answer(b"", 204, headers=headers)
