"""An endpoint as a value, and the guard around it: rate, token, body, refusals, numbers."""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from anyio import to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from blendp.errors import ParameterError
from blendp.service.collector import CollectorService
from blendp.service.http.answers import problem
from blendp.service.http.documents import Shelf
from blendp.service.journal import tell_failure
from blendp.service.limits import RateLimit, Shares
from blendp.service.peers import UNKNOWN, peer_of
from blendp.service.refusal import Refused
from blendp.service.tokens import enrolment_hash
from blendp.wire.campaign import require_campaign_id
from blendp.wire.media_types import JSON_TYPE

PUBLIC, PAGE, ENROLMENT = "public", "page", "enrolment"
"""Who may call: everybody; everybody, but no page of another origin; holders of an enrolment token (the handler looks
at it); else the name of a scope."""

OPERATOR = "operator"
"""Who else has tokens."""

_FAILURES = (0.2, 10.0)
"""Wrong tokens of each of the two kinds that a peer may try a second, after a burst."""

_MAX_PROVED = 10_000
"""Enrolment tokens that are remembered as right."""

_BURST_SECONDS = 10
_SMALL_BODY = 1 << 16
_BODIES_ON_THEIR_WAY = 1 << 27
"""Bytes of bodies that are larger and not yet whole; those of one peer may have an eighth."""

_METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS")

_ANY_ORIGIN = ((b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", b"etag, retry-after"))

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """One request, as handlers see it."""

    collector: CollectorService
    request: Request
    body: bytes = field(default=b"", repr=False)
    media_type: str = ""
    token: str = field(default="", repr=False)
    charge: Callable[[float], None] = field(default=lambda _cost: None, repr=False)
    """Makes the peer pay for more than one request."""

    @property
    def shelf(self) -> Shelf:
        """The documents that are being read."""
        guard: RequestGuard = self.request.app.state.guard
        return guard.shelf

    @property
    def campaign(self) -> str:
        """The campaign that the address names; what can name none is never looked up."""
        name = str(self.request.path_params["campaign"])
        try:
            require_campaign_id(name)
        except ParameterError:
            raise Refused("not-found", "No campaign can have this name.") from None
        return name


Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True)
class Endpoint:
    """An address, who may call it, and what it takes and gives.

    where:
        query    has the parameters that may follow a question mark, and the schema of each,
        accepts  has the media types of the body, and the schema of each (None for bytes),
        gives    has the statuses of success, and what each means,
        form     is that of the answer (None where it is no JSON),
        always   is whether it is served however busy the service is,
        refuses  has the problems that may come instead, besides those that may always come.
    """

    method: str
    path: str
    access: str
    handler: Handler
    summary: str
    form: Any = None
    accepts: dict[str, Any] = field(default_factory=dict)
    gives: dict[int, str] = field(default_factory=lambda: {200: "Done"})
    refuses: tuple[str, ...] = ()
    answer_type: str = JSON_TYPE
    query: dict[str, dict[str, Any]] = field(default_factory=dict)
    always: bool = False

    @property
    def needs_token(self) -> bool:
        """Whether the caller has to show a token."""
        return self.access not in (PUBLIC, PAGE)

    @property
    def cross_origin(self) -> bool:
        """Whether pages of other origins may call: not with operators' powers, and no pages of ours."""
        return self.access in (PUBLIC, ENROLMENT)


async def in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """Work that waits for the database or computes, away from the event loop."""
    return await to_thread.run_sync(partial(work, *arguments))


class RequestGuard:
    """What every request passes before its handler, and every answer on the way back."""

    def __init__(self, collector: CollectorService) -> None:
        """With all buckets full."""
        self._collector = collector
        rate = collector.settings.rate
        self._rate = RateLimit(rate, max(1.0, _BURST_SECONDS * rate))
        self._failures = {kind: RateLimit(*_FAILURES) for kind in (ENROLMENT, OPERATOR)}
        self._proved: dict[bytes, None] = {}
        self._bodies = Shares(_BODIES_ON_THEIR_WAY)
        self._serving = 0
        self.charge = self._rate.charge
        self.shelf = Shelf()

    async def serve(self, endpoint: Endpoint, request: Request) -> Response:
        """The answer to a request, a problem document if need be."""
        started = time.perf_counter()
        response = await self._answer(endpoint, request)
        if endpoint.cross_origin:
            response.raw_headers.extend(_ANY_ORIGIN)
        self.secure(response)
        seconds = time.perf_counter() - started
        self._collector.metrics.request(endpoint.method, endpoint.path, response.status_code, seconds)
        return response

    def turn_away(self, request: Request, refuse: Callable[[], Response]) -> Response:
        """The answer where there is no endpoint; it costs as much as any."""
        try:
            self._require_rate(_peer(request))
            response = refuse()
        except Refused as refused:
            response = problem(refused)
        self.secure(response)
        method = request.method if request.method in _METHODS else "other"
        self._collector.metrics.request(method, "none", response.status_code, 0.0)
        return response

    def secure(self, response: Response) -> None:
        """Have browsers come back over TLS alone, where that is spoken."""
        if self._collector.settings.tls:
            response.headers["strict-transport-security"] = "max-age=63072000"

    async def _answer(self, endpoint: Endpoint, request: Request) -> Response:
        peer = _peer(request)
        try:
            self._require_rate(peer)
            token = await self._admitted(endpoint, request, peer) if endpoint.needs_token else ""
            body, media_type = await self._body(endpoint, request, peer)
            call = Call(self._collector, request, body, media_type, token, partial(self.charge, peer))
            response = await self._handled(endpoint, call)
            if token:
                self._remember(token)
            return response
        except Refused as refused:
            if refused.problem.slug == "unauthorised" and "authorization" in request.headers:
                self._failures[_kind(endpoint)].charge(peer, 1.0)
            return problem(refused)
        except ParameterError as error:
            slug = "malformed" if endpoint.access in (PUBLIC, ENROLMENT) else "invalid-parameter"
            return problem(Refused(slug, str(error)))
        except OSError as error:
            return problem(self._of_system(error, endpoint))
        except ClientDisconnect:
            return problem(Refused("malformed", "The body did not arrive whole."))
        except Exception as error:  # nothing of it may reach the web server's log
            tell_failure("request failed", error, route=endpoint.path)
            return problem(Refused("internal", "The service failed; operators find the failure in its log."))

    @staticmethod
    def _of_system(error: OSError, endpoint: Endpoint) -> Refused:
        """What a failure of the disk under the folder of keys means."""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return Refused("storage-full", "The store is full: nothing was kept; try again.", retry_after=60)
        tell_failure("request failed", error, route=endpoint.path)
        return Refused("internal", "The service failed; operators find the failure in its log.")

    async def _handled(self, endpoint: Endpoint, call: Call) -> Response:
        """What the handler says, if there is room for one more; those whose body is on its way take none."""
        if self._serving >= self._collector.settings.max_requests and not endpoint.always:
            raise Refused("busy", "More requests are served than may be: try again.", retry_after=2)
        self._serving += 1
        try:
            return await endpoint.handler(call)
        finally:
            self._serving -= 1

    def _require_rate(self, peer: str) -> None:
        if not self._rate.allow(peer):
            raise Refused("rate-limited", "Too many requests: try again.", retry_after=self._rate.wait(peer))

    async def _admitted(self, endpoint: Endpoint, request: Request, peer: str) -> str:
        """The token, if one is due; an operator's is looked at here."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            raise Refused("unauthorised", "Send a token: 'Authorization: Bearer ...'.")
        failures = self._failures[_kind(endpoint)]
        if failures.empty(peer) and not self._was_proved(endpoint, token):
            wait = max(10, failures.wait(peer))
            raise Refused("rate-limited", "Too many wrong tokens: try again later.", retry_after=wait)
        if endpoint.access == ENROLMENT:
            return token
        scopes = await in_thread(self._collector.tokens.scopes_of, token)
        if scopes is None:
            raise Refused("unauthorised", "This token is not valid: it was mistyped, or revoked.")
        if endpoint.access not in scopes:
            raise Refused("forbidden", f"This needs the scope {endpoint.access!r}; the token has {', '.join(scopes)}.")
        return ""

    def _was_proved(self, endpoint: Endpoint, token: str) -> bool:
        """Whether the token was right before: others' guesses are no reason not to look at it."""
        if endpoint.access == ENROLMENT:
            return enrolment_hash(token) in self._proved
        return self._collector.tokens.was_proved(token)

    def _remember(self, token: str) -> None:
        """An enrolment token was right."""
        digest = enrolment_hash(token)
        if digest is not None and digest not in self._proved:
            if len(self._proved) >= _MAX_PROVED:
                del self._proved[next(iter(self._proved))]
            self._proved[digest] = None

    async def _body(self, endpoint: Endpoint, request: Request, peer: str) -> tuple[bytes, str]:
        """The body, whole and not too large, and its media type."""
        if not endpoint.accepts:
            return b"", ""
        headers = dict(request.scope["headers"])
        media_type = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        if media_type not in endpoint.accepts:
            raise Refused("unsupported-media-type", f"Send {' or '.join(endpoint.accepts)}.")
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise Refused("unsupported-media-type", "Send the body without a content encoding.")
        max_bytes = self._collector.settings.max_body
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > max_bytes:
            raise Refused("over-size", f"A body may have {max_bytes} bytes: send less at a time.")
        if _is_there(request):
            return await self._whole(request, max_bytes, peer), media_type
        try:
            async with asyncio.timeout(self._collector.settings.body_seconds):
                return await self._whole(request, max_bytes, peer), media_type
        except TimeoutError:
            raise Refused("request-timeout", "The body took too long to arrive.", retry_after=5) from None

    async def _whole(self, request: Request, max_bytes: int, peer: str) -> bytes:
        """All parts of a body; much of what is not whole is counted, so that slow senders cannot fill the memory."""
        parts, size, counted = [], 0, 0
        try:
            while True:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > max_bytes:
                    raise Refused("over-size", f"A body may have {max_bytes} bytes: send less at a time.")
                if not message.get("more_body", False):
                    return b"".join(parts)
                if size - counted > _SMALL_BODY:
                    self._count_body(peer, size - counted)
                    counted = size
        finally:
            self._bodies.give_back(peer, counted)

    def _count_body(self, peer: str, size: int) -> None:
        if not self._bodies.take(peer, size):
            raise Refused("busy", "More large bodies are on their way than there is room for.", retry_after=2)


def _kind(endpoint: Endpoint) -> str:
    return ENROLMENT if endpoint.access == ENROLMENT else OPERATOR


def _peer(request: Request) -> str:
    """Who asks, as far as limits are concerned."""
    client = request.scope.get("client")
    return peer_of(client[0]) if client else UNKNOWN


def _is_there(request: Request) -> bool:
    """Whether the web server holds the whole body, as it does for most reports, so that no clock need run."""
    return getattr(getattr(request.receive, "__self__", None), "more_body", True) is False
