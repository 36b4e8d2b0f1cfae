"""Requests that tell nothing about who sends them: no cookies, no redirects, one fixed User-Agent, small answers."""

from __future__ import annotations

import json
import os
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from blendp.client.refusals import NetworkError, RefusedError
from blendp.errors import ParameterError
from blendp.wire.problems import slug_of

if TYPE_CHECKING:
    import httpx

    from blendp.client.deadline import Deadline

USER_AGENT = "blendp"
MAX_BYTES = 1 << 20
MAX_LIST_BYTES = 32 << 20

_TIMEOUT = 20.0
_MAX_SECONDS = 300.0
"""Seconds that a request takes at most, from connecting to the last byte of the answer."""

_FRESH = {"Cache-Control": "no-cache", "Pragma": "no-cache"}
"""No copy of a proxy's is wanted. Browsers add both to what they do not cache, so clients look alike with them."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PLAIN = "Plain http is for this machine alone, unless it is allowed (--allow-http)."

AUTHORITY = "BLENDP_CA"
"""The environment variable that names the certificates, in PEM form, of authorities to trust beside the known ones."""

_OTHER_FAULTS = ("certificate has expired", "certificate is not yet valid", "Hostname mismatch", "IP address mismatch")


@dataclass(frozen=True)
class HttpAnswer:
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
        """Whether a collector itself refused, with a problem of its own. Anything else may be a proxy's page."""
        return 400 <= self.status < 500 and self._slug is not None

    @property
    def problem(self) -> str:
        """Why a request was refused: the collector's problem, or the status."""
        return self._slug or f"http-{self.status}"

    @property
    def _slug(self) -> str | None:
        value = self.json()
        return slug_of(value) if isinstance(value, dict) else None


class Http:
    """Sends requests, each of which could be anybody's.

    The environment's proxies and passwords (.netrc) are not used, but for an authority that BLENDP_CA names; nor is an
    answer believed that is compressed: its length could not be bounded.
    """

    def __init__(
        self, transport: httpx.BaseTransport | None = None, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Over the network, or over another transport in tests."""
        self._transport, self._monotonic = transport, monotonic
        self._opened: httpx.Client | None = None
        self._deadline: Deadline | None = None

    @property
    def _client(self) -> httpx.Client:
        if self._opened is None:
            import httpx  # takes a moment to load, which only those who send have to wait for

            from blendp.client.deadline import BoundedTransport, Deadline

            self._deadline = Deadline(self._monotonic)
            self._opened = httpx.Client(
                transport=self._transport or BoundedTransport(self._deadline, trusted_authorities()),
                timeout=_TIMEOUT,
                follow_redirects=False,
                trust_env=False,
                headers={"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "identity"},
            )
        return self._opened

    def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        media_type: str | None = None,
        token: str | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> HttpAnswer:
        """The answer to one request; raises :class:`NetworkError` if there is none."""
        headers = dict(_FRESH) if method == "GET" else {}
        if media_type:
            headers["Content-Type"] = media_type
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        client, end = self._client, self._monotonic() + _MAX_SECONDS
        client.cookies.clear()
        if self._deadline is not None:
            self._deadline.end_at(end)
        try:
            with client.stream(method, url, content=body, headers=headers) as response:
                if response.headers.get("content-encoding", "identity") != "identity":
                    raise RefusedError("document", f"{url} sent a compressed answer, which was not asked for.")
                received = bytearray()
                for chunk in response.iter_bytes():
                    received += chunk
                    if len(received) > max_bytes:
                        raise RefusedError(
                            "document", f"{url} sent more than {max_bytes} bytes: nothing of it is used."
                        )
                    if self._monotonic() > end:
                        raise _too_slow(url)
                return HttpAnswer(response.status_code, dict(response.headers), bytes(received))
        except _failures() as error:
            if (why := distrust(error)) is not None:
                raise NetworkError(f"{url} is not used: {why}.") from None
            if self._deadline is not None and self._transport is None and self._deadline.remaining <= 0:
                raise _too_slow(url) from None
            raise NetworkError(f"{url} cannot be reached ({type(error).__name__}): try again later.") from None

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None


def _too_slow(url: str) -> NetworkError:
    return NetworkError(f"{url} took longer than {_MAX_SECONDS:g} seconds to answer: try again later.")


def _failures() -> tuple[type[Exception], ...]:
    import httpx

    return httpx.TransportError, httpx.InvalidURL, httpx.StreamError


def trusted_authorities() -> ssl.SSLContext:
    """Whose certificates are believed: the usual authorities', and those in the file that BLENDP_CA names."""
    import httpx

    context = httpx.create_ssl_context(trust_env=False)
    file = os.environ.get(AUTHORITY)
    if not file:
        return context
    try:
        context.load_verify_locations(file)
    except OSError as error:
        reason = "It holds none" if isinstance(error, ssl.SSLError) else error.strerror or str(error)
        raise ParameterError(AUTHORITY, file, "a file of certificates in PEM form", f"{reason}.") from None
    return context


def distrust(error: BaseException | None) -> str | None:
    """Why a certificate was not believed, and what to do; None if a request failed for another reason."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    if error is None:
        return None
    why = error.verify_message
    remedy = f"name the authority's PEM file in {AUTHORITY}"
    if why.startswith(_OTHER_FAULTS):
        remedy = "check its address and its certificate"
    return f"its certificate is not trusted by this machine ({why.rstrip('.')}): {remedy}"


def server_url(parameter: str, url: str, *, allow_http: bool = False, plain: str = _PLAIN) -> str:
    """The address of a collector without a slash at the end; refuses what would leak or mislead."""
    remedy = "For instance https://collector.example.org."
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ParameterError(parameter, url, "an address", remedy) from None
    if not host or not url.isprintable() or any(sign in url for sign in "?#@"):
        raise ParameterError(parameter, url, "https://host[:port][/path]", remedy)
    if parts.scheme != "https" and not (parts.scheme == "http" and (allow_http or host in _LOOPBACK)):
        raise ParameterError(parameter, url, "https", plain)
    return url.rstrip("/")
