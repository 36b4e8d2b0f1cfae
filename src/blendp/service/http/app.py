"""The ASGI application: addresses to endpoints, and everything else to a problem document."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from blendp.service.collector import Collector
from blendp.service.http import operator, public
from blendp.service.http.answers import answer, problem
from blendp.service.http.endpoints import PUBLIC, Call, Endpoint, Guard, in_thread
from blendp.service.http.openapi import openapi
from blendp.service.http.shapes import Anything
from blendp.service.refusal import Refused

_HOUSEKEEPING_SECONDS = 60
_OPENAPI_PATH = "/v1/openapi.json"
_UNKNOWN = {
    404: ("not-found", "There is nothing at this address."),
    405: ("method-not-allowed", "This address does not know the method."),
}
_PREFLIGHT = {"access-control-allow-headers": "authorization, content-type", "access-control-max-age": "86400"}


async def _describe(_call: Call) -> Response:
    return answer(openapi(ENDPOINTS))


ENDPOINTS: tuple[Endpoint, ...] = (
    *public.ENDPOINTS,
    *operator.ENDPOINTS,
    Endpoint("GET", _OPENAPI_PATH, PUBLIC, _describe, "This document", Anything),
)
"""All addresses there are."""


def make_app(open_collector: Callable[[], Collector]) -> Starlette:
    """The application; the collector is opened when it starts, and closed when it stops."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        collector = await in_thread(open_collector)
        collector.intake.start()
        app.state.guard = Guard(collector)
        housekeeping = asyncio.create_task(_keep_house(collector))
        try:
            yield
        finally:
            housekeeping.cancel()
            await in_thread(collector.intake.stop)
            await in_thread(collector.close)

    app = Starlette(routes=_routes(), lifespan=lifespan, exception_handlers={HTTPException: _unknown})
    app.router.redirect_slashes = False
    return app


async def _keep_house(collector: Collector) -> None:
    """Every minute, have the store overwrite what was deleted on request."""
    while True:
        await asyncio.sleep(_HOUSEKEEPING_SECONDS)
        await in_thread(collector.keep_house)


def _routes() -> list[Route]:
    by_path: dict[str, dict[str, Endpoint]] = defaultdict(dict)
    for endpoint in ENDPOINTS:
        by_path[endpoint.path][endpoint.method] = endpoint
    return [
        Route(path, partial(_dispatch, methods), methods=[*methods, "OPTIONS"]) for path, methods in by_path.items()
    ]


async def _dispatch(methods: dict[str, Endpoint], request: Request) -> Response:
    guard: Guard = request.app.state.guard
    if request.method == "OPTIONS":
        response = _preflight(methods)
        guard.secure(response)
        return response
    method = "GET" if request.method == "HEAD" else request.method
    return await guard.serve(methods[method], request)


def _preflight(methods: dict[str, Endpoint]) -> Response:
    """Which methods pages of other origins may use: those that need no operator."""
    allowed = sorted(method for method, endpoint in methods.items() if endpoint.cross_origin)
    known = {*methods, "OPTIONS", *(("HEAD",) if "GET" in methods else ())}
    headers = {"allow": ", ".join(sorted(known))}
    if allowed:
        headers |= {"access-control-allow-origin": "*", "access-control-allow-methods": ", ".join(allowed)}
        headers |= _PREFLIGHT
    return answer(b"", 204, headers=headers)


async def _unknown(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    slug, detail = _UNKNOWN.get(status, ("malformed", "The request is not as the documentation says."))
    response = problem(Refused(slug, detail))
    if status == 405 and isinstance(error, HTTPException):
        response.headers["allow"] = ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
    guard: Guard = request.app.state.guard
    guard.secure(response)
    return response
