"""A person's device: asks for consent, keeps the ledger, randomises once, sends, forgets and explains.

What is drawn becomes real in one step, in which it is written down with its cost and with the bytes to be sent, before
anything is sent; after that nothing is ever drawn again for the campaign. It is drawn and encoded before that step,
which thus is short: a draw that the step finds overtaken by another process, or that a crash cuts off, is thrown away,
and neither the collector nor anybody else has seen it. The records themselves are never written down, but for those
that an opt-in person agreed to send, until they have arrived.
"""

from __future__ import annotations

import datetime
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from blendp.client.collector import Campaign, Collector, Listing, Offer
from blendp.client.consent import Consent
from blendp.client.explanation import Explanation, explain
from blendp.client.http import Http
from blendp.client.ledger import CAP, YEARLY, Ledger, LedgerEntry
from blendp.client.outbox import DELETIONS, NEEDS, Outbox, Summary
from blendp.client.personal import campaign_records, enrolment_body, participates
from blendp.client.refusals import EquivocationError, RefusedError
from blendp.client.store import DeviceStore, Item, Participation, Server
from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.privacy import Budget
from blendp.randomness import ReleaseRandom, require_release
from blendp.reports import QUESTION_NUMBER
from blendp.wire import Manifest, Terms, UploadedReport, addresses
from blendp.wire.addresses import of_campaign, of_report
from blendp.wire.deletions import DeletionRequest
from blendp.wire.install import ENROLMENT_NONCE_BYTES, ENROLMENT_TOKEN, deletion_key, pseudonym
from blendp.wire.keys import Trust
from blendp.wire.media_types import JSON_TYPE, OPT_IN_TYPE, REPORT_TYPE
from blendp.wire.reports import ID_BYTES, write_report
from blendp.wire.text_forms import require_day

_SYSTEM = secrets.SystemRandom()

_Seen = TypeVar("_Seen", bound=Offer)


class Device:
    """One install. It may be opened again and again, also by several processes at once."""

    def __init__(
        self,
        folder: Path | str,
        collector: Collector | None = None,
        *,
        cap: Budget = CAP,
        yearly: Budget = YEARLY,
        http: Http | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = _SYSTEM.random,
        random: ReleaseRandom | None = None,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        """Open the device in this folder, or make one; only then do the caps, for life and for a year, count.

        The collector is needed to look at campaigns and to take part; all else works without. Reports are drawn with
        ``random``; the install secret, ids and nonces come from ``entropy``.
        """
        self.folder = Path(folder)
        self._collector = collector
        self._clock, self._sleep = clock, sleep
        self._random = ReleaseRandom() if random is None else random
        require_release(self._random)
        self._entropy = entropy
        self._http = http or (collector.http if collector is not None else Http())
        self._store = DeviceStore(self.folder, cap, yearly, entropy)
        self._outbox = Outbox(self._store, self._http, clock, jitter)

    def __enter__(self) -> Self:
        """The device itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the device's file and connections."""
        self._store.close()
        self._http.close()

    def __repr__(self) -> str:
        """Which device, and nothing of its secrets."""
        return f"Device({str(self.folder)!r})"

    @property
    def consent(self) -> Consent:
        """What the person agreed to."""
        return self._store.consent

    def set_consent(self, consent: Consent) -> Summary:
        """Write down what the person agrees to; what it no longer covers is dropped or asked to be deleted."""
        with self._store.whole():
            self._store.set_consent(consent)
            for done in self._store.participations():
                if not consent.covers(NEEDS["report" if done.group == "client" else "opt-in"]):
                    self._withdraw(done, "consent withdrawn")
        return self._outbox.send(DELETIONS)

    @property
    def ledger(self) -> Ledger:
        """What the person has spent, and the caps."""
        self._store.count_days(self._today)
        return self._store.ledger

    def lower_cap(self, cap: Budget | None = None, *, yearly: Budget | None = None) -> None:
        """Lower the cap for life, or that for a year; they can never be raised again."""
        self._store.set_caps(cap, yearly)

    def server(self, url: str | None = None, campaign: str | None = None) -> Server | None:
        """A collector that this device has visited: this one, that of a campaign, or the last."""
        return self._store.server(url or (self._store.server_of(campaign) if campaign else None))

    @property
    def items(self) -> tuple[Item, ...]:
        """Everything that was ever queued, exactly as it is or was sent, and its fate."""
        return self._store.items()

    def participation(self, campaign: str) -> Participation | None:
        """What this device did in a campaign; None if nothing."""
        return self._store.participation(campaign)

    def evidence(self, campaign: str) -> tuple[tuple[str, bytes], ...]:
        """The contradicting envelopes of a campaign, if its collector was caught, and where each came from."""
        return self._store.evidence(campaign)

    def terms(self, campaign: str) -> Offer:
        """The verified terms of a campaign. They may be looked at before consent: people decide by them."""
        collector = self._visit(campaign)
        return self._kept(collector, lambda known: collector.terms(campaign, self._today, known))

    def look(self, campaign: str) -> Campaign:
        """A verified campaign that asks clients. It may be looked at before consent: people decide by it."""
        collector = self._visit(campaign)
        return self._kept(collector, lambda known: collector.look(campaign, self._today, known))

    def campaigns(self) -> tuple[Listing, ...]:
        """The latest campaigns of the collector, with their verified terms. They may be listed before consent."""
        collector = self._chosen()
        server = self._store.server(collector.url)
        return tuple(
            self._remembered(collector, listing)
            for listing in collector.campaigns(self._today, None if server is None else server.trust)
        )

    def _remembered(self, collector: Collector, listing: Listing) -> Listing:
        """A listed campaign, remembered unless it contradicts what was seen before."""
        offer = listing.offer
        if offer is None:
            return listing
        try:
            self._visit(listing.campaign)
            self._kept(collector, lambda _: offer)
        except RefusedError as error:
            return replace(listing, offer=None, problem=str(error))
        return listing

    def take_part(self, campaign: str, records: Sequence[Record]) -> Participation:
        """Draw whether to take part, and the report, once: later calls give back what was drawn, and draw nothing.

        The records decide what the report says, never whether there is one: those that the campaign cannot use are as
        if not there, and without any the report is that of somebody who holds <*,*>.
        """
        before = self._done_before(campaign, "client")
        if before is not None:
            return before
        self._require_consent(Consent.LOCAL)
        seen = self.look(campaign)
        terms = seen.terms
        if self._today > require_day("reports_until", terms.reports_until):
            raise ParameterError("campaign", campaign, f"reported to until {terms.reports_until}", "It is too late.")
        entry = self._entry(campaign, "client", terms.client_budget)
        binding, done = seen.manifest.binding(seen.head_list), self._drawn(seen, campaign_records(records, terms))
        with self._store.whole():
            before = self._done_before(campaign, "client")
            if before is not None:
                return before
            self._visit(campaign)
            self._require_consent(Consent.LOCAL)
            self._store.ledger.spending(entry)
            if not done.silent:
                self._store.spend(entry)
                report = self._report(done)
                body = write_report(binding, report)
                self._outbox.add(done, "report", "PUT", of_report(campaign, report.report_id), REPORT_TYPE, body)
            self._store.add_participation(done)
        return done

    def enrol(self, campaign: str, token: str, records: Sequence[Record]) -> Participation:
        """Queue at most ``terms.opt_in_records`` of the records, drawn at random, for the campaign's curator, once.

        Records that the campaign cannot use are as if not there; a person without any enrols with an empty list.
        """
        before = self._done_before(campaign, "opt-in")
        if before is not None:
            return before
        self._require_consent(Consent.OPT_IN)
        _require_token(token)
        collector = self._visit(campaign)
        offer = self._kept(collector, lambda known: collector.terms(campaign, self._today, known))
        terms = offer.terms
        collector.policy.require_terms(terms)
        if not require_day("opens", terms.opens) <= self._today <= require_day("opt_in_until", terms.opt_in_until):
            legal = f"open to opt-in people, from {terms.opens} to {terms.opt_in_until}"
            raise ParameterError("campaign", campaign, legal, f"Today is {self._day}.")
        body = self._enrolment(terms, campaign_records(records, terms))
        entry = self._entry(campaign, "opt-in", terms.budget)
        with self._store.whole():
            before = self._done_before(campaign, "opt-in")
            if before is not None:
                return before
            self._visit(campaign)
            self._require_consent(Consent.OPT_IN)
            self._store.spend(entry)
            done = Participation(campaign, "opt-in", self._day, offer.server, token=token)
            self._store.add_participation(done)
            self._outbox.add(done, "opt-in", "PUT", of_campaign(addresses.OPT_IN, campaign), OPT_IN_TYPE, body)
        return done

    def usable(self, campaign: str, records: Sequence[Record]) -> int:
        """How many of the records a campaign that was looked at can use; for the person alone, nothing is sent."""
        terms = self._store.terms(campaign)
        if terms is None:
            raise ParameterError("campaign", campaign, "one that this device has looked at", "Look at it first.")
        return len(campaign_records(records, terms))

    def send(self, *, wait: bool = False, patience: float = 3600.0) -> Summary:
        """Try what is due; with ``wait`` go on until nothing waits, or nothing is due within ``patience`` seconds."""
        give_up = self._clock() + patience
        summary = self._outbox.send()
        while wait and summary.next_due is not None and summary.next_due <= give_up:
            self._sleep(max(0.0, summary.next_due - self._clock()))
            summary = self._outbox.send().after(summary)
        return summary

    def forget(self, campaign: str) -> Summary:
        """Drop what was not sent, and ask the collector to delete what was; what it cost stays in the ledger."""
        with self._store.whole():
            done = self._store.participation(campaign)
            if done is None:
                legal = "one that this device took part in"
                raise ParameterError("campaign", campaign, legal, "There is nothing to forget.")
            self._withdraw(done, "forgotten")
        return self._outbox.send(DELETIONS)

    def explain(self, campaign: str) -> Explanation:
        """What this device's report to a campaign tells about its owner."""
        done, documents = self._store.participation(campaign), self._store.documents(campaign)
        if done is None or done.report_id is None or documents is None:
            why = "This device made none."
            if done is not None and done.silent:
                why = "This device was not drawn, and its silence tells nothing: chance decided, not your records."
            elif done is not None:
                why = "Opt-in records are not randomised on the device; show tells what waits to be sent."
            raise ParameterError("campaign", campaign, "one with a randomised report", why)
        manifest, head_list = Manifest.from_bytes(documents[0]), HeadList.from_bytes(documents[1])
        return explain(self._report(done), manifest, head_list)

    @property
    def _today(self) -> datetime.date:
        return datetime.datetime.fromtimestamp(self._clock(), datetime.UTC).date()

    @property
    def _day(self) -> str:
        return self._today.isoformat()

    def _visit(self, campaign: str) -> Collector:
        """The collector, unless it was caught lying about this campaign."""
        if self._store.evidence(campaign):
            raise RefusedError(
                "equivocation", f"The collector of {campaign} signed two different versions of it: never again."
            )
        return self._chosen()

    def _chosen(self) -> Collector:
        if self._collector is None:
            raise ParameterError("collector", None, "given", "Say where the campaign is run.")
        return self._collector

    def _kept(self, collector: Collector, fetch: Callable[[Trust | None], _Seen]) -> _Seen:
        """What was fetched, remembered; if it contradicts what was seen before or by others, the proof is."""
        server = self._store.server(collector.url)
        try:
            seen = fetch(None if server is None else server.trust)
            self._store.remember(seen, tuple(collector.witnesses))
        except EquivocationError as error:
            with self._store.whole():
                self._store.accuse(error)
                self._outbox.drop(error.campaign, "equivocation")
            raise
        return seen

    def _done_before(self, campaign: str, group: str) -> Participation | None:
        """What was done in this campaign before; raises if it was done in the other group."""
        before = self._store.participation(campaign)
        if before is not None and before.group != group:
            raise ParameterError(
                "campaign", campaign, f"new to this device's {before.group} side", "Nobody is in both groups."
            )
        return before

    def _require_consent(self, needed: Consent) -> None:
        given = self._store.consent
        if not given.covers(needed):
            legal = " or ".join(consent.value for consent in Consent if consent.covers(needed))
            raise ParameterError("consent", given.value, legal, "The person has to agree first; nothing was done.")

    def _entry(self, campaign: str, group: str, budget: Budget) -> LedgerEntry:
        return LedgerEntry(campaign, group, budget, self._day, self._store.count_days(self._today))

    def _drawn(self, seen: Campaign, records: Sequence[Record]) -> Participation:
        """Whether this device takes part, which no record has a say in, and its report if it does; not yet real."""
        done = Participation(seen.terms.campaign, "client", self._day, seen.server)
        if not participates(seen.terms, self._random):
            return done
        question, data = self._randomised(records, seen)
        return replace(done, report_id=self._entropy(ID_BYTES), question=question, data=data)

    def _enrolment(self, terms: Terms, records: Sequence[Record]) -> bytes:
        """What an opt-in person sends; not yet real."""
        return enrolment_body(terms, records, self._entropy(ENROLMENT_NONCE_BYTES), self._random)

    def _randomised(self, records: Sequence[Record], seen: Campaign) -> tuple[int, bytes]:
        """The one report: the number of its question, and its bytes."""
        report = seen.manifest.scheme(seen.head_list).randomise(records, self._random)
        return QUESTION_NUMBER[report.question], report.data

    def _report(self, done: Participation) -> UploadedReport:
        """A participation's report as it travels."""
        if done.report_id is None or done.question is None or done.data is None:
            raise ParameterError("campaign", done.campaign, "one with a report", "This device made none.")
        key = deletion_key(self._store.secret, done.campaign)
        return UploadedReport(done.report_id, pseudonym(key), done.question, done.data)

    def _withdraw(self, done: Participation, reason: str) -> None:
        """Drop what was not sent; ask for the deletion of what may have arrived, unless that was done."""
        arrived = self._outbox.drop(done.campaign, reason)
        if self._outbox.asked_to_delete(done.campaign):
            return
        if not arrived:
            self._store.wipe_token(done.campaign)
        elif done.group == "opt-in":
            self._outbox.add(
                done, "opt-in-deletion", "DELETE", of_campaign(addresses.OPT_IN, done.campaign), None, None
            )
        else:
            body = DeletionRequest.of(deletion_key(self._store.secret, done.campaign)).to_bytes()
            address = of_campaign(addresses.DELETIONS, done.campaign)
            self._outbox.add(done, "deletion", "POST", address, JSON_TYPE, body)


def _require_token(token: str) -> None:
    """Raise unless this can be an enrolment token; never shows it."""
    if ENROLMENT_TOKEN.fullmatch(token) is None:
        legal = "an enrolment token: blendp-in- and 64 hexadecimal digits"
        raise ParameterError("token", "(hidden)", legal, "Copy it whole.")
