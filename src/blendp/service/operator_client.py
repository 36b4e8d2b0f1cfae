"""What operators ask of a collector from elsewhere: over HTTP, with a token, every refusal as one exception."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlencode

import msgspec

from blendp.client.http import distrust, server_url, trusted_authorities
from blendp.errors import ParameterError
from blendp.wire import addresses
from blendp.wire.addresses import of_campaign
from blendp.wire.audit import AuditEntry, AuditTrail
from blendp.wire.campaign import Terms
from blendp.wire.checks import Checks, Released
from blendp.wire.clock import ClockConfirmation, ClockReading
from blendp.wire.deletions import Deleted
from blendp.wire.enrolments import EnrolmentRequest, EnrolmentTokens
from blendp.wire.envelope import Envelope, SignedDocument
from blendp.wire.forecast import ListForecast
from blendp.wire.index import Campaigns, Keys
from blendp.wire.lifecycle import Created, Export, ListPublished
from blendp.wire.media_types import JSON_TYPE
from blendp.wire.messages import Message
from blendp.wire.problems import slug_of
from blendp.wire.status import Status

if TYPE_CHECKING:
    import httpx

DEFAULT_SERVER = "http://127.0.0.1:8321"

_PLAIN = "Plain http is for this machine alone: an operator's token must not travel unencrypted."

_CONNECT_SECONDS, _ANSWER_SECONDS = 10.0, 900.0
"""Lists and results of large campaigns take a while to compute."""

_Answer = TypeVar("_Answer", bound=Message)


class OperatorError(Exception):
    """A request that the collector refused.

    where:
        status   is the HTTP status,
        slug     is the problem's name, or ``http-`` and the status if the answer tells none,
        detail   is the sentence for people,
        missing  is how many people are missing where there are too few.
    """

    def __init__(self, status: int, slug: str, detail: str, missing: int | None = None) -> None:
        """Say what was refused, and why."""
        self.status, self.slug, self.detail, self.missing = status, slug, detail, missing
        super().__init__(detail)


class OperatorClient:
    """A collector, as its operators reach it."""

    def __init__(self, server: str, token: str | None, *, transport: httpx.BaseTransport | None = None) -> None:
        """At this address, with this token, or none for what is public; over another transport in tests."""
        import httpx  # takes a moment to load, which only those who send have to wait for

        self._server = server_url("server", server, plain=_PLAIN)
        headers = {"Accept": JSON_TYPE}
        if token is not None:
            headers["Authorization"] = f"Bearer {_one_word(token)}"
        self._client = httpx.Client(
            transport=transport,
            verify=trusted_authorities(),
            timeout=httpx.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS),
            follow_redirects=False,
            trust_env=False,
            headers=headers,
        )

    def __enter__(self) -> Self:
        """The client itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close the connections."""
        self._client.close()

    def create(self, terms: Terms) -> Created:
        """Fix the terms of a new campaign."""
        return self._ask(Created, "POST", addresses.CAMPAIGNS, terms)

    def enrol(self, campaign: str, count: int) -> list[str]:
        """New one-time tokens, told this once."""
        address = of_campaign(addresses.ENROLMENTS, campaign)
        return self._ask(EnrolmentTokens, "POST", address, EnrolmentRequest(count)).tokens

    def publish(self, campaign: str) -> ListPublished:
        """Have the list made and published."""
        return self._ask(ListPublished, "POST", of_campaign(addresses.PUBLISH, campaign))

    def release(self, campaign: str) -> Released:
        """Have the result computed and published."""
        return self._ask(Released, "POST", of_campaign(addresses.RELEASE, campaign))

    def forecast(self, campaign: str, like: str) -> ListForecast:
        """What the list would probably hold, if it were made now of people like those of a population."""
        address = of_campaign(addresses.FORECAST, campaign)
        return self._ask(ListForecast, "GET", f"{address}?{urlencode({'like': like})}")

    def preview(self, campaign: str) -> Checks:
        """The checks of the result as it would be, if it were released now."""
        return self._ask(Checks, "GET", of_campaign(addresses.PREVIEW, campaign))

    def terms(self, campaign: str) -> Terms:
        """The terms of a campaign, as the collector tells them; they are signed, but not verified here."""
        document = self._ask(SignedDocument, "GET", of_campaign(addresses.TERMS, campaign))
        return Terms.from_bytes(Envelope.of_message(document).payload)

    def delete(self, campaign: str) -> Deleted:
        """Have everything of a campaign deleted but its name."""
        return self._ask(Deleted, "DELETE", of_campaign(addresses.CAMPAIGN, campaign))

    def status(self, campaign: str) -> Status:
        """How a campaign stands."""
        return self._ask(Status, "GET", of_campaign(addresses.STATUS, campaign))

    def export(self, campaign: str) -> Export:
        """The signed documents of a released campaign, and its list."""
        return self._ask(Export, "GET", of_campaign(addresses.EXPORT, campaign))

    def audit(self, campaign: str | None, *, before: int | None, max_entries: int) -> list[AuditEntry]:
        """The latest acts of operators, before one if its number is given."""
        query = {"campaign": campaign, "before": before, "max_entries": max_entries}
        asked = urlencode({name: value for name, value in query.items() if value is not None})
        return self._ask(AuditTrail, "GET", f"{addresses.AUDIT}?{asked}").entries

    def clock(self) -> ClockReading:
        """The day that the collector goes by, and the doubt about it."""
        return self._ask(ClockReading, "GET", addresses.CLOCK)

    def accept_clock(self, day: str) -> ClockReading:
        """Confirm that the system's clock is right: it must say this day."""
        return self._ask(ClockReading, "POST", addresses.CLOCK, ClockConfirmation(day))

    def campaigns(self) -> Campaigns:
        """All campaigns: name, title, state. Needs no token."""
        return self._ask(Campaigns, "GET", addresses.CAMPAIGNS)

    def keys(self) -> Keys:
        """The signing keys, and how each vouches for the next."""
        return self._ask(Keys, "GET", addresses.KEYS)

    def _ask(self, kind: type[_Answer], method: str, path: str, body: Message | Terms | None = None) -> _Answer:
        """The answer, of this kind."""
        import httpx

        try:
            response = self._client.request(method, self._server + path, **_sent(body))
        except (httpx.TransportError, httpx.InvalidURL) as error:
            if (why := distrust(error)) is not None:
                raise ConnectionError(f"{self._server} is not used: {why}.") from None
            raise ConnectionError(
                f"{self._server} cannot be reached ({str(error) or type(error).__name__}): "
                f"start the collector (blendp serve) or name another (--server)."
            ) from None
        strange = f"{self._server} answered {response.status_code} and not as a collector does: check --server."
        if response.is_success:
            try:
                return kind.of_answer(response.content)
            except ParameterError:
                raise ConnectionError(strange) from None
        value = _value(response)
        if value is None or "status" not in value:
            raise ConnectionError(strange)
        raise OperatorError(
            response.status_code,
            slug_of(value) or f"http-{response.status_code}",
            str(value.get("detail") or value.get("title")),
            value.get("missing"),
        )


def _sent(body: Message | Terms | None) -> dict[str, Any]:
    """A body as the HTTP client takes it."""
    return {} if body is None else {"content": msgspec.json.encode(body), "headers": {"Content-Type": JSON_TYPE}}


def _one_word(token: str) -> str:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ParameterError("token", "(not shown)", "one word", "Copy it whole; blendp token create makes one.")
    return token


def _value(response: httpx.Response) -> dict[str, Any] | None:
    """The object that was answered; None if it is none."""
    try:
        value = response.json()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
