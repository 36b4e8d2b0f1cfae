"""A collector as a device sees it: fetched, verified, and compared with what others were told."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from blendp.client.http import MAX_BYTES, MAX_LIST_BYTES, Http, server_url
from blendp.client.policy import Policy
from blendp.client.refusals import EquivocationError, NetworkError, RefusedError
from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.wire import Envelope, Manifest, Terms, VerifyKey, addresses
from blendp.wire.addresses import of_campaign
from blendp.wire.campaign import require_campaign_id
from blendp.wire.envelope import SignatureError
from blendp.wire.index import Campaigns, Keys
from blendp.wire.keys import Trust
from blendp.wire.media_types import MANIFEST_TYPE, TERMS_TYPE
from blendp.wire.problems import RETRYABLE
from blendp.wire.text_forms import require_day

MAX_LISTED = 50
"""How many campaigns of a collector are listed: the latest."""

_MAX_KEYS = 1000
_MAX_STATE = 20


@dataclass(frozen=True)
class Offer:
    """The verified terms of a campaign, and the keys that are believed for them."""

    server: str
    trust: Trust = field(repr=False)
    terms: Terms
    terms_envelope: bytes = field(repr=False)


@dataclass(frozen=True)
class Campaign(Offer):
    """A verified campaign that asks clients: its terms, its manifest and its list.

    where:
        witnesses  is how many others were told the same; 0 means that nobody was asked.
    """

    manifest: Manifest
    manifest_envelope: bytes = field(repr=False)
    head_list: HeadList = field(repr=False)
    witnesses: int


@dataclass(frozen=True)
class Listing:
    """A campaign as its collector lists it.

    where:
        state    is the collector's word, which it does not sign,
        offer    is the verified terms; None if they are not believed, and
        problem  says why.
    """

    campaign: str
    state: str
    offer: Offer | None
    problem: str = ""


@dataclass(frozen=True)
class Collector:
    """Where a campaign is run, whose signatures count, and who else is asked what it says."""

    url: str
    keys: Sequence[VerifyKey] = ()
    """Keys known from elsewhere; later keys are followed from these."""

    witnesses: Sequence[str] = ()
    """Other addresses that serve the same manifests, such as mirrors."""

    policy: Policy = field(default_factory=Policy)
    trust_on_first_use: bool = False
    """Believe the keys that the collector itself names, if none are known."""

    allow_http: bool = False
    """Whether addresses other than this machine's may do without encryption."""

    http: Http = field(default_factory=Http, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse addresses that are none."""
        object.__setattr__(self, "url", server_url("server", self.url, allow_http=self.allow_http))
        witnesses = tuple(server_url("witness", url, allow_http=self.allow_http) for url in self.witnesses)
        object.__setattr__(self, "witnesses", witnesses)
        object.__setattr__(self, "keys", tuple(self.keys))

    def terms(self, campaign: str, day: datetime.date, known: Trust | None = None) -> Offer:
        """The terms of a campaign; ``known`` are keys that an earlier visit led to."""
        require_campaign_id(campaign)
        return self._offer(campaign, day, self._trust(day, known))

    def campaigns(self, day: datetime.date, known: Trust | None = None) -> tuple[Listing, ...]:
        """The latest campaigns of this collector, each with its verified terms.

        The terms of all of them are fetched, so nobody learns which one is meant.
        """
        trust = self._trust(day, known)
        return tuple(self._listing(name, state, day, trust) for name, state in self._overview()[-MAX_LISTED:])

    def _listing(self, campaign: str, state: str, day: datetime.date, trust: Trust) -> Listing:
        try:
            return Listing(campaign, state, self._offer(campaign, day, trust))
        except (RefusedError, ParameterError) as error:
            return Listing(campaign, state, None, str(error))

    def _overview(self) -> list[tuple[str, str]]:
        """Names and states, as the collector tells them."""
        data = self._fetch(self.url, addresses.CAMPAIGNS)
        listed = []
        with _refusing(f"the list of campaigns of {self.url}"):
            for line in Campaigns.of_answer(data or b"").campaigns:
                require_campaign_id(line.campaign)
                listed.append((line.campaign, line.state[:_MAX_STATE]))
        return listed

    def _offer(self, campaign: str, day: datetime.date, trust: Trust) -> Offer:
        data = self._fetch(self.url, of_campaign(addresses.TERMS, campaign))
        if data is None:
            raise ParameterError("campaign", campaign, f"known to {self.url}", "Check its name.")
        with _refusing(f"the terms of {campaign}"):
            terms = Terms.from_bytes(Envelope.from_bytes(data).verified(TERMS_TYPE, trust.on(day)))
        if terms.campaign != campaign:
            raise RefusedError("terms", f"{self.url} sent the terms of {terms.campaign} for {campaign}.")
        return Offer(self.url, trust, terms, data)

    def look(self, campaign: str, day: datetime.date, known: Trust | None = None) -> Campaign:
        """A campaign that asks clients, verified as far as a device can."""
        offer = self.terms(campaign, day, known)
        data = self._fetch(self.url, of_campaign(addresses.MANIFEST, campaign))
        if data is None:
            raise RefusedError("not-published", f"{campaign} has no list yet: clients are asked once there is one.")
        with _refusing(f"the manifest of {campaign}"):
            payload = Envelope.from_bytes(data).verified(MANIFEST_TYPE, offer.trust.on(day))
            manifest = Manifest.from_bytes(payload)
        if manifest.terms != offer.terms:
            raise RefusedError("terms", f"The manifest of {campaign} does not keep the terms that were signed before.")
        if self._fetch(self.url, of_campaign(addresses.RELEASE, campaign), MAX_LIST_BYTES) is not None:
            raise RefusedError("released", f"{campaign} is released: it asks nobody any more.")
        witnesses = self._ask_witnesses(campaign, data, payload, offer.trust.on(day))
        self.policy.require_manifest(manifest)
        return Campaign(
            offer.server,
            offer.trust,
            offer.terms,
            offer.terms_envelope,
            manifest,
            data,
            self._head_list(campaign, manifest),
            witnesses,
        )

    def _head_list(self, campaign: str, manifest: Manifest) -> HeadList:
        data = self._fetch(self.url, of_campaign(addresses.LIST, campaign), MAX_LIST_BYTES)
        if data is None:
            raise RefusedError("list", f"{self.url} has a manifest of {campaign}, but no list.")
        with _refusing(f"the list of {campaign}", "list"):
            head_list = HeadList.from_bytes(data)
            manifest.scheme(head_list)
        return head_list

    def _trust(self, day: datetime.date, known: Trust | None) -> Trust:
        """The keys that are believed: known ones, pinned ones, or those of the first visit, and what follows them."""
        index = self._keys_document()
        known_keys = {key for key, _ in known.keys} if known is not None else set()
        if known is not None and known_keys.issuperset(self.keys):
            start = known
        elif self.keys:
            start = Trust.of(*self.keys)
        elif self.trust_on_first_use:
            start = _named(index, day)
        else:
            raise ParameterError("key", None, "given", f"Ask the people behind {self.url} for their public key.")
        statements = []
        for statement in index.statements[:_MAX_KEYS]:
            with _refusing("a key statement"):
                statements.append(Envelope.of_message(statement))
        return start.following(statements)

    def _keys_document(self) -> Keys:
        data = self._fetch(self.url, addresses.KEYS)
        try:
            return Keys.of_answer(data or b"")
        except ParameterError:
            sentence = f"{self.url} does not say which keys it signs with: is it a collector?"
            raise RefusedError("document", sentence) from None

    def _ask_witnesses(self, campaign: str, data: bytes, payload: bytes, trusted: Sequence[VerifyKey]) -> int:
        """How many witnesses were told the same; raises if one was told something else, or nothing."""
        for witness in self.witnesses:
            other = self._fetch(witness, of_campaign(addresses.MANIFEST, campaign))
            if other is None:
                raise RefusedError("witness", f"{witness} knows no manifest of {campaign}: try again later.")
            with _refusing(f"what {witness} says of {campaign}", "witness"):
                envelope = Envelope.from_bytes(other)
            if envelope.payload == payload:
                continue
            try:
                theirs = Manifest.from_bytes(envelope.verified(MANIFEST_TYPE, trusted))
            except (SignatureError, ParameterError):
                raise RefusedError("witness", f"{witness} was told another manifest of {campaign}.") from None
            if theirs.terms.campaign != campaign:
                raise RefusedError("witness", f"{witness} shows the manifest of {theirs.terms.campaign}.")
            raise EquivocationError(campaign, "manifest", ((self.url, data), (witness, other)))
        return len(self.witnesses)

    def _fetch(self, server: str, path: str, max_bytes: int = MAX_BYTES) -> bytes | None:
        """The body at this address; None if there is no such thing."""
        answer = self.http.request("GET", server + path, max_bytes=max_bytes)
        if answer.status == 200:
            return answer.body
        if answer.status == 404:
            return None
        if answer.status in RETRYABLE:
            raise NetworkError(f"{server} cannot answer now ({answer.problem}): try again later.")
        raise RefusedError("document", f"{server}{path} was answered with {answer.problem}.")


def _named(index: Keys, day: datetime.date) -> Trust:
    """The keys that a collector says it signs with today."""
    keys = []
    with _refusing("the list of keys"):
        for item in index.keys[:_MAX_KEYS]:
            if item.until is None or day <= require_day("until", item.until):
                keys.append(VerifyKey.of_text(item.key))
    return Trust.of(*keys)


@contextmanager
def _refusing(what: str, reason: str = "document") -> Iterator[None]:
    """Turn whatever is wrong with a document into a refusal."""
    try:
        yield
    except SignatureError as error:
        raise RefusedError("signature", f"{_capital(what)}: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RefusedError(reason, f"{_capital(what)} is not as it should be: {error}") from error


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
