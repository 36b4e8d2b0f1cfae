"""A campaign's way: create, publish the list, release the result, delete; and new signing keys on the way.

Publishing and releasing take two transactions each. The first closes the door, so that what is computed from stays as
it is; the second keeps the result and deletes what it came from, both or neither. A process that dies in between has
shown nothing to anybody, and the same command goes on. What is drawn when the list is made is drawn for good: an
unlucky list is published like any other, since drawing again would spend the promise twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from blendp.errors import ParameterError
from blendp.estimate import Arm, Split, Tally
from blendp.mechanisms import SubsetSelection
from blendp.methods import Listed, Parameters, Release, conclude, make_list
from blendp.randomness import ReleaseRandom
from blendp.report import release_card, rows_for_json
from blendp.service.audit import LOCAL, Actor, Trail
from blendp.service.campaigns import SIGNED, Found, find, opt_in_key, payload, pseudonym_key, set_state, terms_of
from blendp.service.clock import Clock, in_doubt, past, reading
from blendp.service.keyring import KeyRing, KnownKey
from blendp.service.opt_in import OptIn
from blendp.service.private_files import PrivateFiles
from blendp.service.refusal import Refused
from blendp.service.store.reports import close_door, count_reports, read_reports
from blendp.service.store.schema import campaign, document, enrolment, intake, report, signature
from blendp.service.store.store import Store
from blendp.wire.campaign import Manifest, Terms
from blendp.wire.canonical import canonical, require_day
from blendp.wire.reports import QUESTION_NUMBER, ReportForms, data_matrix

RELEASE_FORMAT = "blendp/release/1"

_ROUNDS = 10
_PATIENCE, _PAUSE_SECONDS = 20, 0.05


@dataclass(frozen=True)
class Lifecycle:
    """The verbs of operators."""

    store: Store
    files: PrivateFiles
    keys: KeyRing
    opt_in: OptIn
    clock: Clock
    random: Callable[[], ReleaseRandom] = ReleaseRandom
    """Gives the noise of a list, and of a release; cryptographic, whoever gives it."""

    def create(self, fields: Mapping[str, Any], by: Actor = LOCAL) -> Terms:
        """Fix and sign the terms of a new campaign."""
        unknown = sorted(set(fields) - set(Terms.__dataclass_fields__))
        if unknown:
            raise ParameterError(unknown[0], fields[unknown[0]], "left out", "The terms know no such name.")
        try:
            terms = Terms(**fields)
        except TypeError as error:
            raise ParameterError(
                "terms", sorted(fields), "complete", f"{error}.".replace("Terms.__init__()", "")
            ) from None
        parameters_of(terms)
        if past(self.clock, require_day("opt_in_until", terms.opt_in_until)):
            raise ParameterError("opt_in_until", terms.opt_in_until, "today or later", "Give people time.")
        with self.store.writing() as connection:
            insert = campaign.insert().values(name=terms.campaign, state="opt-in", revision=0)
            try:
                number = connection.execute(insert.returning(campaign.c.number)).scalar_one()
            except IntegrityError:
                raise Refused("conflict", f"There is, or was, a campaign {terms.campaign!r}: name another.") from None
            for name in (opt_in_key(terms.campaign), pseudonym_key(terms.campaign)):
                self.files.new(name)
            self._keep_signed(connection, number, "terms", terms.to_bytes())
            self._note(connection, by, "create", terms.campaign)
        return terms

    def publish(self, name: str, by: Actor = LOCAL) -> Manifest:
        """Make the list of the opt-in people's records, sign it, and delete the records."""
        for _ in range(_ROUNDS):
            with self.store.writing() as connection:
                found = find(connection, name, self.store)
                _require_state(found, ("opt-in", "listing"), "published")
                terms = terms_of(connection, found.number)
                people = self.opt_in.people(connection, found.number)
                enough = people >= terms.minimum_opt_in
                set_state(connection, found.number, "listing" if enough else "opt-in")
            if not enough:
                raise _too_few(terms.minimum_opt_in - people, "opt-in people", people, terms.minimum_opt_in)
            with self.store.reading() as connection:
                if not self._unchanged(connection, found, "listing", held=False):
                    continue
                log = self.opt_in.log(connection, found, terms)
            marks = np.ones(people, dtype=np.bool_)
            listed = make_list(log, parameters_of(terms), opt_in=marks, random=self.random())
            manifest = self._manifest(terms, listed)
            with self.store.writing() as connection:
                if self._unchanged(connection, found, "listing"):
                    self._keep_signed(connection, found.number, "manifest", manifest.to_bytes())
                    self._keep(connection, found.number, "list", listed.head_list.to_bytes())
                    self._keep(connection, found.number, "listed", listed.to_bytes())
                    connection.execute(
                        enrolment.update().where(enrolment.c.campaign == found.number).values(sealed=None)
                    )
                    set_state(connection, found.number, "reporting")
                    self._note(connection, by, "publish", name)
                    break
        else:
            raise _too_often()
        self.files.destroy(opt_in_key(name))
        self._forget()
        return manifest

    def release(self, name: str, by: Actor = LOCAL) -> tuple[bytes, Release]:
        """Compute the result from the reports, sign it, and delete reports and pseudonyms."""
        for _ in range(_ROUNDS):
            with self.store.writing() as connection:
                close_door(connection, find(connection, name).number)
                found = find(connection, name, self.store)
                _require_state(found, ("reporting", "closing"), "released")
                terms = terms_of(connection, found.number)
                clients = count_reports(connection, found.number)
                enough = clients >= terms.minimum_clients
                set_state(connection, found.number, "closing" if enough else "reporting")
            if not enough:
                raise _too_few(terms.minimum_clients - clients, "clients", clients, terms.minimum_clients)
            with self.store.reading() as connection:
                if not self._unchanged(connection, found, "closing", held=False):
                    continue
                manifest = Manifest.from_bytes(payload(connection, found.number, "manifest") or b"")
                listed = Listed.from_bytes(payload(connection, found.number, "listed") or b"")
                reports = counted(connection, found.number, manifest.terms, listed)
            share = manifest.query_share if listed.parameters.reports_split else None
            release = conclude(listed, reports, query_share=share, random=self.random())
            document_bytes = self._release_document(manifest, release)
            with self.store.writing() as connection:
                if self._unchanged(connection, found, "closing"):
                    self._keep_signed(connection, found.number, "release", document_bytes)
                    _delete(connection, found.number, (report, enrolment))
                    set_state(connection, found.number, "released")
                    self._note(connection, by, "release", name)
                    break
        else:
            raise _too_often()
        self.files.destroy(pseudonym_key(name))
        self._forget()
        return document_bytes, release

    def delete(self, name: str, by: Actor = LOCAL, *, states: Collection[str] | None = None, why: str = "") -> None:
        """Delete everything of a campaign but its name; only in some states, if they are given."""
        with self.store.writing() as connection:
            close_door(connection, find(connection, name).number)
            found = find(connection, name, self.store)
            if states is not None:
                _require_state(found, states, "deleted")
            _delete(connection, found.number, (report, enrolment, intake, signature, document))
            set_state(connection, found.number, "deleted")
            self._note(connection, by, "delete", name, why)
        for key in (opt_in_key(name), pseudonym_key(name)):
            self.files.destroy(key)
        self._forget()

    def rotate_keys(self, overlap_days: int, by: Actor = LOCAL) -> KnownKey:
        """A new signing key, which signs every document there is, too; not while the day is in doubt."""
        if not (now := reading(self.clock)).sure:
            raise in_doubt(now)
        with self.store.writing() as connection:
            known, key = self.keys.rotate(connection, overlap_days)
            connection.execute(signature.delete().where(signature.c.key.not_in(self.keys.good(connection))))
            held = sa.select(document).where(document.c.kind.in_(SIGNED))
            for row in connection.execute(held).all():
                made = key.sign(SIGNED[row.kind], bytes(row.payload))
                where = {"campaign": row.campaign, "kind": row.kind}
                connection.execute(signature.insert().values(**where, key=made.key, value=made.value))
            self._note(connection, by, "rotate-key", None, f"the new key is {known.id}")
        return known

    def destroy_keys(self) -> None:
        """Destroy the keys of campaigns past the need for them, which a process that died left behind."""
        with self.store.reading() as connection:
            rows = connection.execute(sa.select(campaign.c.name, campaign.c.state)).all()
        for name, state in rows:
            if state not in ("opt-in", "listing"):
                self.files.destroy(opt_in_key(name))
            if state in ("released", "deleted"):
                self.files.destroy(pseudonym_key(name))

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
        )

    def _release_document(self, manifest: Manifest, release: Release) -> bytes:
        """The result, its card, and what it is bound to."""
        return canonical(
            {
                "format": RELEASE_FORMAT,
                "campaign": manifest.terms.campaign,
                "manifest_sha256": manifest.sha256,
                "released": self.clock().isoformat(),
                "card": release_card(release),
                "estimates": rows_for_json(release.records()),
                "trends": rows_for_json(release.trends()),
            }
        )

    def _unchanged(self, connection: Connection, before: Found, state: str, *, held: bool = True) -> bool:
        """Whether the campaign is as it was; if held, nobody can change it before this transaction ends."""
        now = find(connection, before.name, self.store if held else None)
        if now.state != state:
            raise Refused("wrong-state", f"The campaign {before.name!r} is {now.state} by now: look at its status.")
        return now.revision == before.revision

    def _keep_signed(self, connection: Connection, number: int, kind: str, data: bytes) -> None:
        self._keep(connection, number, kind, data)
        made = self.keys.sign(connection, SIGNED[kind], data)
        rows = [{"campaign": number, "kind": kind, "key": one.key, "value": one.value} for one in made]
        connection.execute(signature.insert(), rows)

    @staticmethod
    def _keep(connection: Connection, number: int, kind: str, data: bytes) -> None:
        connection.execute(document.insert().values(campaign=number, kind=kind, payload=data))


def parameters_of(terms: Terms) -> Parameters:
    """How the library's method is set by these terms; refuses terms for which nothing is proved."""
    return Parameters(
        epsilon=terms.epsilon,
        delta=terms.delta,
        method=terms.method,
        size=terms.size,
        opt_in_records=terms.opt_in_records,
    )


def query_share(terms: Terms, listed: Listed) -> float:
    """blendp: the share of the clients who report the query, best for those expected. published: f_C."""
    if not listed.parameters.reports_split:
        return listed.parameters.client_query_share
    return listed.query_share_for(terms.expected_clients)


def counted(connection: Connection, number: int, terms: Terms, listed: Listed) -> Split | Tally:
    """The reports of a campaign, added up without looking at single ones."""
    head_list = listed.head_list
    forms = ReportForms.of(terms, head_list).forms
    if terms.method == "published":
        cell = QUESTION_NUMBER["cell"]
        cells = np.zeros(head_list.cells, dtype=np.int64)
        for some in read_reports(connection, number, cell):
            digits = data_matrix(some, forms[cell].width)
            named = digits.astype(np.int64) @ (256 ** np.arange(forms[cell].width - 1, -1, -1, dtype=np.int64))
            cells += np.bincount(named, minlength=head_list.cells)
        return Tally.of_counts(cells, head_list.cells_per_query)
    items = {"query": head_list.queries + 1, "record": head_list.cells}
    arms = []
    for question, known in items.items():
        randomiser = SubsetSelection(terms.epsilon, known)
        supports, users = np.zeros(known, dtype=np.int64), 0
        for some in read_reports(connection, number, QUESTION_NUMBER[question]):
            supports += randomiser.supports_of_reports(data_matrix(some, randomiser.report_bytes))
            users += len(some)
        arms.append(Arm(randomiser, users, supports))
    return Split(arms[0], arms[1], head_list.query_of_cell)


def _require_state(found: Found, states: Collection[str], verb: str) -> None:
    if found.state not in states:
        raise Refused("wrong-state", f"The campaign {found.name!r} is {found.state}, so it cannot be {verb}.")


def _too_often() -> Refused:
    told = f"Deletion requests came in each of {_ROUNDS} times that it was computed: try again."
    return Refused("busy", told, retry_after=30)


def _too_few(missing: int, who: str, there: int, minimum: int) -> Refused:
    return Refused("too-few", f"{missing} more {who} are needed: {there} of {minimum} are there.", missing=missing)


def _delete(connection: Connection, number: int, tables: Collection[sa.Table]) -> None:
    for table in tables:
        connection.execute(table.delete().where(table.c.campaign == number))
