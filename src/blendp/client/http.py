"""Requests that tell nothing about who sends them: no cookies, no redirects, one fixed User-Agent, small answers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from blendp.client.refusals import NetworkError, RefusedError
from blendp.errors import ParameterError
from blendp.wire.problems import PREFIX, PROBLEMS

if TYPE_CHECKING:
    import httpx

USER_AGENT = "blendp"
MOST_BYTES = 1 << 20
MOST_LIST_BYTES = 32 << 20

_TIMEOUT = 20.0
_LONGEST = 300.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """By lower-case names."""

    body: bytes

    def json(self) -> Any:
        """The body's value; None if it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def refused(self) -> bool:
        """Whether a collector itself refused: with a problem that it knows. Anything else may be a proxy's page."""
        return 400 <= self.status < 500 and self.problem in PROBLEMS

    @property
    def problem(self) -> str:
        """Why a request was refused: a known problem type, or the status."""
        value = self.json()
        told = str(value.get("type")).removeprefix(PREFIX) if isinstance(value, dict) else ""
        return told if told in PROBLEMS else f"http-{self.status}"


class Http:
    """Sends requests, each of which could be anybody's.

    The environment's proxies and passwords (.netrc) are not used, nor is an answer believed that is compressed: its
    length could not be bounded.
    """

    def __init__(
        self, transport: httpx.BaseTransport | None = None, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Over the network, or over another transport in tests."""
        self._transport, self._monotonic = transport, monotonic
        self._held: httpx.Client | None = None

    @property
    def _client(self) -> httpx.Client:
        if self._held is None:
            import httpx  # takes a moment to load, which only those who send have to wait for

            self._held = httpx.Client(
                transport=self._transport,
                timeout=_TIMEOUT,
                follow_redirects=False,
                trust_env=False,
                headers={"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "identity"},
            )
        return self._held

    def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        media_type: str | None = None,
        token: str | None = None,
        most: int = MOST_BYTES,
    ) -> Answer:
        """The answer to one request; raises :class:`NetworkError` if there is none."""
        headers = {"Content-Type": media_type} if media_type else {}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        client, start = self._client, self._monotonic()
        client.cookies.clear()
        try:
            with client.stream(method, url, content=body, headers=headers) as response:
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise RefusedError("document", f"{url} sent a compressed answer, which was not asked for.")
                held = bytearray()
                for chunk in response.iter_bytes():
                    held += chunk
                    if len(held) > most:
                        raise RefusedError("document", f"{url} sent more than {most} bytes: nothing of it is used.")
                    if self._monotonic() - start > _LONGEST:
                        raise NetworkError(f"{url} took longer than {_LONGEST:g} seconds to answer: try again later.")
                return Answer(response.status_code, dict(response.headers), bytes(held))
        except _failures() as error:
            raise NetworkError(f"{url} cannot be reached ({type(error).__name__}): try again later.") from None

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        if self._held is not None:
            self._held.close()
            self._held = None


def _failures() -> tuple[type[Exception], ...]:
    import httpx

    return httpx.TransportError, httpx.InvalidURL, httpx.StreamError


def server_url(parameter: str, url: str, *, allow_http: bool = False) -> str:
    """The address of a collector without a slash at the end; refuses what would leak or mislead."""
    remedy = "For instance https://collector.example.org."
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ParameterError(parameter, url, "an address", remedy) from None
    if not host or parts.username or parts.password or parts.query or parts.fragment or not url.isprintable():
        raise ParameterError(parameter, url, "https://host[:port][/path]", remedy)
    if parts.scheme != "https" and not (parts.scheme == "http" and (allow_http or host in _LOOPBACK)):
        raise ParameterError(parameter, url, "https", "Plain http is for this machine alone, unless it is allowed.")
    return url.rstrip("/")
