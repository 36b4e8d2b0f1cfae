"""A campaign's way: create, publish the list, release the result, delete; and new signing keys on the way.

Publishing and releasing begin with a transaction that closes the door, so that what is computed from stays as it is,
and end with one that keeps the result and deletes what it came from, both or neither. (But for reports on the embedded
database, and those that a backup on PostgreSQL is reading: their key is destroyed, and they are deleted afterwards, on
the embedded database in pieces, since there may be many millions.) In between everybody is asked to come back, since it
may fail: then, or if the process dies, the door is opened again, and nobody has seen anything.
Nobody can make it last: reports are counted once, those who want theirs deleted meanwhile are noted and taken away from
the sums, and only for the last step, which counts nothing, they are asked to come back as well.

What is drawn when the list is made is drawn for good: an unlucky list is published like any other, since drawing again
would spend the promise twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.methods import Listed, Release, conclude, make_list
from blendp.randomness import DerivedRandom, ReleaseRandom
from blendp.render.release.document import release_document
from blendp.reports import ListScheme
from blendp.search import build_index
from blendp.service.audit import LOCAL, Actor, Trail
from blendp.service.campaigns import (
    INDEX_DESCRIPTOR,
    SIGNED,
    FoundCampaign,
    begin,
    being_made,
    find,
    opt_in_key,
    payload,
    pseudonym_key,
    set_state,
    terms_of,
)
from blendp.service.clock import Clock, in_doubt, past, reading
from blendp.service.counting import ReportCount
from blendp.service.journal import tell_failure
from blendp.service.keyring import KeyRing, KnownKey
from blendp.service.never_list import NeverList
from blendp.service.new_terms import new_terms, parameters_of
from blendp.service.opt_in import OptIn, bytes_of_people, log_of_people
from blendp.service.private_files import PrivateFiles
from blendp.service.refusal import Refused
from blendp.service.store.partitions import empty_partition, make_partition
from blendp.service.store.reports import (
    carry_out_deletions,
    close_door,
    count_reports,
    delete_piece,
    has_rows,
    pending_reports,
    read_reports,
)
from blendp.service.store.schema import (
    campaign,
    document,
    enrolment,
    intake,
    opt_in_intake,
    pending_deletion,
    signature,
)
from blendp.service.store.store import Store
from blendp.wire.campaign import Manifest, Terms
from blendp.wire.search_index import IndexDescriptor
from blendp.wire.text_forms import require_day

_BEFORE = {"listing": "opt-in", "closing": "reporting", "signing": "reporting"}
"""States in which something is made, and where a campaign returns to if that fails."""

_KEPT_FOR_GOOD = (opt_in_intake, intake, signature, document)
"""What stays of a campaign unless it is deleted."""

_PATIENCE, _PAUSE_SECONDS = 20, 0.05
_DELETING_SECONDS = 2.0
"""How long whoever ends a campaign waits for its reports to be deleted."""


@dataclass(frozen=True)
class Lifecycle:
    """The verbs of operators."""

    store: Store
    files: PrivateFiles
    keys: KeyRing
    opt_in: OptIn
    clock: Clock
    random: Callable[..., ReleaseRandom] = DerivedRandom
    """Gives the noise of a list, and what a release draws, for a key of the campaign, a purpose and the data: the same
    for the same ones, so that no two draws are ever made for one set of records."""

    never_list: NeverList = NeverList()  # noqa: RUF009 - it is frozen
    """Texts that are left out of every list."""

    _previewing: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def draft(self, fields: Mapping[str, Any]) -> Terms:
        """The terms that :meth:`create` would sign today; refuses what it would refuse."""
        terms = self._new_terms(fields)
        with self.store.reading() as connection:
            names = sa.select(campaign.c.number).where(campaign.c.name == terms.campaign)
            if connection.execute(names).one_or_none() is not None:
                raise _name_taken(terms)
        return terms

    def _new_terms(self, fields: Mapping[str, Any]) -> Terms:
        terms = new_terms(fields)
        if past(self.clock, require_day("opt_in_until", terms.opt_in_until)):
            raise ParameterError("opt_in_until", terms.opt_in_until, "today or later", "Give people time.")
        return terms

    def create(self, fields: Mapping[str, Any], by: Actor = LOCAL) -> Terms:
        """Fix and sign the terms of a new campaign."""
        terms = self._new_terms(fields)
        with self.store.writing() as connection:
            insert = campaign.insert().values(name=terms.campaign, state="opt-in", revision=0)
            try:
                number = connection.execute(insert.returning(campaign.c.number)).scalar_one()
            except IntegrityError:
                raise _name_taken(terms) from None
            for name in (opt_in_key(terms.campaign), pseudonym_key(terms.campaign)):
                self.files.new(name)
            make_partition(connection, number)
            self._keep_signed(connection, number, "terms", terms.to_bytes())
            self._note(connection, by, "create", terms.campaign)
        return terms

    def publish(self, name: str, by: Actor = LOCAL) -> Manifest:
        """Make the list of the opt-in people's records, sign it, and delete the records."""
        with self._turn(name):
            current = self._begin_list(name)
            try:
                manifest = self._publish(current, by)
            except BaseException:
                self._reopen(current)
                raise
        self._destroy(opt_in_key(name))
        self._forget()
        return manifest

    def release(self, name: str, by: Actor = LOCAL) -> tuple[bytes, Release]:
        """Compute the result from the reports, sign it, and delete reports and pseudonyms."""
        with self._turn(name):
            current = self._begin_result(name)
            try:
                document_bytes, release = self._release(current, by)
            except BaseException:
                self._reopen(current)
                raise
        self._destroy(pseudonym_key(name))
        self._forget_reports()
        return document_bytes, release

    def preview(self, name: str) -> tuple[bytes, Release]:
        """What :meth:`release` would sign if the reports stayed as they are; nothing is closed, kept or deleted.

        One at a time: it counts all reports, and others need the processor too.
        """
        if not self._previewing.acquire(blocking=False):
            raise Refused("busy", "Another preview is being computed: try again.", retry_after=30)
        try:
            return self._preview(name)
        finally:
            self._previewing.release()

    def _preview(self, name: str) -> tuple[bytes, Release]:
        with self.store.reading() as connection:
            current = find(connection, name)
            _require_state(current, ("reporting", "closing", "signing"), "released")
        count = self._counted(current)
        if current.state != "reporting":  # else what is noted now may be the deletion of a report that was not counted
            with self.store.reading() as connection:
                count.take_away(pending_reports(connection, current.number))
        manifest, release = self._computed(current, count)
        return self._release_document(manifest, release), release

    def reopen_abandoned(self, wait_seconds: float = 0.0) -> None:
        """Let campaigns go on as before whose list or result was being made by a process that died."""
        with self.store.reading() as connection:
            query = sa.select(campaign).where(campaign.c.state.in_(_BEFORE))
            rows = connection.execute(query).all()
        for row in rows:
            with self.store.turn(row.number, wait_seconds) as ours:
                if ours:
                    self._reopen(FoundCampaign(row.number, row.name, row.state, row.revision))

    @contextmanager
    def _turn(self, name: str) -> Iterator[None]:
        """Nobody else makes a list or result of this campaign meanwhile; a process that dies leaves its turn."""
        with self.store.reading() as connection:
            current = find(connection, name)
        with self.store.turn(current.number) as ours:
            if not ours:
                raise being_made(current)
            yield

    def _begin_list(self, name: str) -> FoundCampaign:
        """Let nobody come or go before the list is made; refused if there are too few people."""
        with self.store.writing() as connection:
            current = find(connection, name, self.store)
            _require_state(current, ("opt-in", "listing"), "published")
            minimum = terms_of(connection, current.number).min_opt_in
            people = self.opt_in.people(connection, current.number)
            if people >= minimum:
                return begin(connection, current, "listing")
            set_state(connection, current.number, "opt-in")
        raise _too_few("opt-in people", people, minimum)

    def _publish(self, current: FoundCampaign, by: Actor) -> Manifest:
        with self.store.reading() as connection:
            terms = terms_of(connection, current.number)
            people = self.opt_in.gathered(connection, current)
        random = self.random(self.opt_in.noise_key(current.name), "list", terms.to_bytes(), bytes_of_people(people))
        marks = np.ones(len(people), dtype=np.bool_)
        whole = make_list(log_of_people(people, terms), parameters_of(terms), opt_in=marks, random=random)
        listed = whole.without(self.never_list.texts(terms.normalise)).settled()
        left_out = whole.candidates - listed.candidates
        manifest = self._manifest(terms, listed)
        with self.store.writing() as connection:
            self._require_same(connection, current)
            self._keep_signed(connection, current.number, "manifest", manifest.to_bytes())
            self._keep(connection, current.number, "list", listed.head_list.to_bytes())
            self._keep(connection, current.number, "listed", listed.to_bytes())
            connection.execute(enrolment.update().where(enrolment.c.campaign == current.number).values(sealed=None))
            set_state(connection, current.number, "reporting")
            detail = f"records left out because they are never listed: {left_out}" if left_out else ""
            self._note(connection, by, "publish", current.name, detail)
        return manifest

    def _begin_result(self, name: str) -> FoundCampaign:
        """Take no reports before the result is computed; refused, and nothing closed, if there are too few."""
        with self.store.reading() as connection:
            current = find(connection, name)
            _require_state(current, ("reporting", "closing", "signing"), "released")
            minimum = terms_of(connection, current.number).min_clients
            clients = count_reports(connection, current.number)
        if clients < minimum and current.state == "reporting":
            raise _too_few("clients", clients, minimum)
        with self.store.writing() as connection:
            close_door(connection, current.number)
            current = find(connection, name, self.store)
            _require_state(current, ("reporting", "closing", "signing"), "released")
            carry_out_deletions(connection, current.number)
            return begin(connection, current, "closing")

    def _release(self, current: FoundCampaign, by: Actor) -> tuple[bytes, Release]:
        """Count once, while deletions are noted; then take those away and sign, while they are asked to come back."""
        count = self._counted(current)
        with self.store.writing() as connection:
            self._require_same(connection, current)
            set_state(connection, current.number, "signing")
            deleted = pending_reports(connection, current.number)
        count.take_away(deleted)
        manifest, release = self._computed(current, count)
        document_bytes = self._release_document(manifest, release)
        index = _index_of(current.name, document_bytes)
        with self.store.writing() as connection:
            self._require_same(connection, replace(current, state="signing"))
            self._keep_signed(connection, current.number, "release", document_bytes)
            if index is not None:
                descriptor = IndexDescriptor.of(current.name, document_bytes, index)
                self._keep(connection, current.number, "index", index)
                self._keep_signed(connection, current.number, INDEX_DESCRIPTOR, descriptor.to_bytes())
            _delete(connection, current.number, (pending_deletion, enrolment))
            set_state(connection, current.number, "released")
            self._note(connection, by, "release", current.name)
            empty_partition(connection, current.number)
        return document_bytes, release

    def _counted(self, current: FoundCampaign) -> ReportCount:
        """All reports, added up, in no transaction that others would wait for."""
        with self.store.reading() as connection:
            count = ReportCount(self._scheme(connection, current))
        for some in read_reports(self.store, current.number):
            count.add(some)
        return count

    @staticmethod
    def _scheme(connection: Connection, current: FoundCampaign) -> ListScheme:
        """How the campaign's clients report."""
        manifest = Manifest.from_bytes(payload(connection, current.number, "manifest") or b"")
        return manifest.scheme(HeadList.from_bytes(payload(connection, current.number, "list") or b""))

    @staticmethod
    def _listed(connection: Connection, current: FoundCampaign) -> Listed:
        return Listed.from_bytes(payload(connection, current.number, "listed") or b"")

    def _computed(self, current: FoundCampaign, count: ReportCount) -> tuple[Manifest, Release]:
        """The result of these reports, and the manifest that they are bound to; nothing is kept."""
        with self.store.reading() as connection:
            manifest = Manifest.from_bytes(payload(connection, current.number, "manifest") or b"")
            listed = self._listed(connection, current)
        if count.users < manifest.terms.min_clients:
            raise _too_few("clients", count.users, manifest.terms.min_clients)
        share = manifest.query_share if listed.parameters.reports_split else None
        random = self._release_random(current.name, listed, count)
        return manifest, conclude(listed, count.reports, query_share=share, random=random)

    def _release_random(self, name: str, listed: Listed, count: ReportCount) -> ReleaseRandom:
        """What a release draws from, which protects nobody: list and reports are protected by noise of their own. So a
        campaign whose key was lost can be released, though not previewed to the last digit."""
        key = self.files.get(pseudonym_key(name))
        return ReleaseRandom() if key is None else self.random(key, "release", listed.to_bytes(), count.to_bytes())

    def _reopen(self, before: FoundCampaign) -> None:
        """Let a campaign go on as before, if nobody else has moved it on; a store that fails is asked again later."""
        with suppress(Refused), self.store.writing() as connection:
            now = find(connection, before.name, self.store)
            if now.state in _BEFORE and now.revision == before.revision:
                if carry_out_deletions(connection, now.number):
                    self.store.note_deletion()
                set_state(connection, now.number, _BEFORE[now.state])

    def delete(self, name: str, by: Actor = LOCAL, *, states: Collection[str] | None = None, why: str = "") -> None:
        """Delete everything of a campaign but its name; only in some states, if they are given."""
        with self.store.writing() as connection:
            close_door(connection, find(connection, name).number)
            current = find(connection, name, self.store)
            if states is not None:
                _require_state(current, states, "deleted")
            _delete(connection, current.number, (pending_deletion, enrolment, *_KEPT_FOR_GOOD))
            set_state(connection, current.number, "deleted")
            self._note(connection, by, "delete", name, why)
            empty_partition(connection, current.number)
        for key in (opt_in_key(name), pseudonym_key(name)):
            self._destroy(key)
        self._forget_reports()

    def rotate_keys(self, overlap_days: int, by: Actor = LOCAL) -> KnownKey:
        """A new signing key, which signs every document there is, too; not while the day is in doubt."""
        if not (now := reading(self.clock)).sure:
            raise in_doubt(now)
        with self.store.writing() as connection:
            known, key = self.keys.rotate(connection, overlap_days)
            connection.execute(signature.delete().where(signature.c.key.not_in(self.keys.good(connection))))
            signed = sa.select(document).where(document.c.kind.in_(SIGNED))
            for row in connection.execute(signed).all():
                own = key.sign(SIGNED[row.kind], bytes(row.payload))
                where = {"campaign": row.campaign, "kind": row.kind}
                connection.execute(signature.insert().values(**where, key=own.key, value=own.value))
            self._note(connection, by, "rotate-key", None, f"the new key is {known.id}")
        return known

    def destroy_keys(self) -> None:
        """Destroy the keys of campaigns past the need for them, which a process that died left behind."""
        with self.store.reading() as connection:
            rows = connection.execute(sa.select(campaign.c.name, campaign.c.state)).all()
        for name, state in rows:
            if state not in ("opt-in", "listing"):
                self._destroy(opt_in_key(name))
            if state in ("released", "deleted"):
                self._destroy(pseudonym_key(name))

    def _destroy(self, key: str) -> None:
        """Destroy a key, or tell that it could not be: the service tries again every minute."""
        try:
            self.files.destroy(key)
        except OSError as error:
            tell_failure("a key could not be destroyed", error, key=key)

    def delete_reports(self, seconds: float) -> bool:
        """Delete the reports of campaigns that are over, for so many seconds; whether none are left.

        On the embedded database that is done in pieces, between which everybody else has as much time as a piece took;
        on PostgreSQL at once, unless somebody reads them.
        """
        with self.store.reading() as connection:
            query = sa.select(campaign.c.number).where(campaign.c.state.in_(("released", "deleted")))
            over = [number for number in connection.execute(query).scalars() if has_rows(connection, number)]
        until = time.monotonic() + seconds
        left = [number for number in over if not self._delete_reports_of(number, until)]
        return not left

    def _delete_reports_of(self, number: int, until: float) -> bool:
        if not self.store.embedded:
            return self._empty(number)
        last: bytes | None = b""
        while last is not None:
            begun = time.monotonic()
            if begun >= until:
                return False
            with self.store.writing() as connection:
                last = delete_piece(connection, number, last)
            self.store.note_deletion()
            if last is not None:
                time.sleep(time.monotonic() - begun)
        return True

    def _empty(self, number: int) -> bool:
        with self.store.writing() as connection:
            return empty_partition(connection, number)

    def _forget_reports(self) -> None:
        """Delete the reports of a campaign that is over, now if they are few; the service goes on every minute."""
        with suppress(Refused):
            self.delete_reports(_DELETING_SECONDS)
        self._forget()

    def _note(self, connection: Connection, by: Actor, act: str, name: str | None, detail: str = "") -> None:
        Trail(self.store).note(connection, by, act, name, detail=detail)

    def _forget(self) -> None:
        """Have the store overwrite what was deleted, soon if not at once: the service tries again every minute."""
        self.store.note_deletion()
        for _ in range(_PATIENCE):
            if self.store.forget_deleted():
                return
            time.sleep(_PAUSE_SECONDS)

    def _manifest(self, terms: Terms, listed: Listed) -> Manifest:
        return Manifest(
            terms=terms,
            list_sha256=listed.head_list.sha256,
            records=listed.head_list.records,
            opt_in_people=listed.sizes(0).opt_in,
            query_share=query_share(terms, listed),
            published=self.clock().isoformat(),
            randomiser="apart" if listed.randomiser == "apart" else "",
        )

    def _release_document(self, manifest: Manifest, release: Release) -> bytes:
        """The result, its card, and what it is bound to."""
        return release_document(
            release,
            campaign=manifest.terms.campaign,
            manifest_sha256=manifest.sha256,
            released=self.clock().isoformat(),
        )

    def _require_same(self, connection: Connection, begun: FoundCampaign) -> None:
        """Raise unless the campaign is as it was when this was begun; it stays so until this transaction ends."""
        now = find(connection, begun.name, self.store)
        if now != begun:
            raise Refused("wrong-state", f"The campaign {begun.name!r} is {now.state} by now: look at its status.")

    def _keep_signed(self, connection: Connection, number: int, kind: str, data: bytes) -> None:
        self._keep(connection, number, kind, data)
        signatures = self.keys.sign(connection, SIGNED[kind], data)
        rows = [{"campaign": number, "kind": kind, "key": one.key, "value": one.value} for one in signatures]
        connection.execute(signature.insert(), rows)

    @staticmethod
    def _keep(connection: Connection, number: int, kind: str, data: bytes) -> None:
        connection.execute(document.insert().values(campaign=number, kind=kind, payload=data))


def query_share(terms: Terms, listed: Listed) -> float:
    """blendp: the share of the clients who report the query, best for those expected. published: f_C."""
    if not listed.parameters.reports_split:
        return listed.parameters.client_query_share
    return listed.query_share_for(terms.expected_clients)


def _require_state(current: FoundCampaign, states: Collection[str], verb: str) -> None:
    if current.state not in states:
        again = " again: its result is there (export)" if current.state == "released" == verb else ""
        raise Refused(
            "wrong-state", f"The campaign {current.name!r} is {current.state}, so it cannot be {verb}{again}."
        )


def _index_of(name: str, release: bytes) -> bytes | None:
    """The index of a release; None, which is told, where its texts are too long for one: the release comes first."""
    try:
        return build_index(release)
    except ParameterError as error:
        tell_failure("a release has no index", error, campaign=name)
        return None


def _name_taken(terms: Terms) -> Refused:
    return Refused("conflict", f"There is, or was, a campaign {terms.campaign!r}: name another.")


def _too_few(who: str, there: int, min_people: int) -> Refused:
    missing = min_people - there
    return Refused("too-few", f"{missing} more {who} are needed: {there} of {min_people} are there.", missing=missing)


def _delete(connection: Connection, number: int, tables: Collection[sa.Table]) -> None:
    for table in tables:
        connection.execute(table.delete().where(table.c.campaign == number))
