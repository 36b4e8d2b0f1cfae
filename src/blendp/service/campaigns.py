"""Campaigns as the service's processes see them: found by name, their documents, their state."""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import dataclass, field, replace

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from blendp.headlist import HeadList
from blendp.reports import ListScheme
from blendp.service.audit import ITSELF, latest
from blendp.service.private_files import PrivateFiles
from blendp.service.refusal import Refused
from blendp.service.store.schema import campaign, document, signature
from blendp.service.store.store import Store
from blendp.wire.campaign import Manifest, Terms
from blendp.wire.envelope import Envelope, Signature
from blendp.wire.index import CampaignLine
from blendp.wire.lifecycle import Export
from blendp.wire.media_types import INDEX_TYPE, MANIFEST_TYPE, RELEASE_TYPE, TERMS_TYPE
from blendp.wire.reports import PSEUDONYM_BYTES, Binding
from blendp.wire.text_forms import require_day

INDEX_DESCRIPTOR = "index-descriptor"
SIGNED = {"terms": TERMS_TYPE, "manifest": MANIFEST_TYPE, "release": RELEASE_TYPE, INDEX_DESCRIPTOR: INDEX_TYPE}
"""The kinds of documents that are signed, and their media types."""


@dataclass(frozen=True)
class FoundCampaign:
    """A campaign of the store."""

    number: int
    name: str
    state: str
    revision: int


@dataclass(frozen=True)
class Reporting:
    """All that is needed to judge reports of a campaign whose list is public; none of it ever changes."""

    number: int
    terms: Terms
    binding: Binding
    scheme: ListScheme
    pseudonym_key: bytes = field(repr=False)
    until: datetime.date


def keyed(pseudonym: bytes, key: bytes) -> bytes:
    """What the store knows of a pseudonym: worthless without the key, which is destroyed at the release."""
    return hashlib.blake2b(pseudonym, digest_size=PSEUDONYM_BYTES, key=key).digest()


def opt_in_key(name: str) -> str:
    """The file of the key that opt-in records are encrypted with; destroyed when the list is published."""
    return f"campaign-{name}.opt-in.key"


def pseudonym_key(name: str) -> str:
    """The file of the key that pseudonyms are hashed with; destroyed at the release."""
    return f"campaign-{name}.pseudonym.key"


def require_key(files: PrivateFiles, name: str) -> bytes:
    """The key of a campaign that needs it still; without, people are asked to come back."""
    key = files.get(name)
    if key is None:
        raise Refused("busy", "A key of this campaign is missing: its operator must put it back.", retry_after=600)
    return key


def find(connection: Connection, name: str, store: Store | None = None) -> FoundCampaign:
    """The campaign of this name, held for this transaction if a store is given; deleted ones are not found."""
    query = sa.select(campaign).where(campaign.c.name == name, campaign.c.state != "deleted")
    row = connection.execute(query if store is None else store.locked(query)).one_or_none()
    if row is None:
        raise Refused("not-found", _why_not(connection, name))
    return FoundCampaign(row.number, row.name, row.state, row.revision)


def _why_not(connection: Connection, name: str) -> str:
    """What everybody may know of a campaign that is not there: of one that is deleted when, and by whom."""
    deletion = latest(connection, name, "delete")
    if deletion is None:
        return f"There is no campaign {name!r}."
    day = deletion.time[:10]
    if deletion.actor != ITSELF.kind:
        return f"The campaign {name!r} was deleted by its operator on {day}."
    return f"The campaign {name!r} was deleted on {day}, as its terms say: {deletion.detail}."


def being_made(current: FoundCampaign) -> Refused:
    """Come back later: what is being made may fail, and then the campaign goes on as before."""
    what = "list" if current.state == "listing" else "result"
    return Refused("busy", f"The {what} of campaign {current.name!r} is being made: try again.", retry_after=30)


def set_state(connection: Connection, number: int, state: str) -> None:
    """Move a campaign on."""
    connection.execute(campaign.update().where(campaign.c.number == number).values(state=state))


def begin(connection: Connection, current: FoundCampaign, state: str) -> FoundCampaign:
    """Move a campaign on to a state in which something is made, so that whoever made it before can tell."""
    begun = replace(current, state=state, revision=current.revision + 1)
    values = {"state": begun.state, "revision": begun.revision}
    connection.execute(campaign.update().where(campaign.c.number == current.number).values(**values))
    return begun


def payload(connection: Connection, number: int, kind: str) -> bytes | None:
    """The bytes of a campaign's document, if it has one of this kind."""
    query = sa.select(document.c.payload).where(document.c.campaign == number, document.c.kind == kind)
    data = connection.execute(query).scalar_one_or_none()
    return None if data is None else bytes(data)


def envelope(connection: Connection, current: FoundCampaign, kind: str) -> Envelope:
    """A signed document of a campaign."""
    data = payload(connection, current.number, kind)
    if data is None:
        raise Refused("not-found", f"The campaign {current.name!r} has no {kind} yet: it is in state {current.state}.")
    query = sa.select(signature).where(signature.c.campaign == current.number, signature.c.kind == kind)
    rows = connection.execute(query.order_by(signature.c.key)).all()
    return Envelope(SIGNED[kind], data, tuple(Signature(row.key, bytes(row.value)) for row in rows))


def terms_of(connection: Connection, number: int) -> Terms:
    """A campaign's terms."""
    return Terms.from_bytes(payload(connection, number, "terms") or b"")


def list_of(connection: Connection, number: int) -> HeadList | None:
    """A campaign's list, once it is published."""
    data = payload(connection, number, "list")
    return None if data is None else HeadList.from_bytes(data)


def overview(store: Store) -> list[CampaignLine]:
    """Every campaign that there is: name, title, state."""
    query = sa.select(campaign.c.number, campaign.c.name, campaign.c.state).where(campaign.c.state != "deleted")
    with store.reading() as connection:
        rows = connection.execute(query.order_by(campaign.c.number)).all()
        titles = {row.number: terms_of(connection, row.number).title for row in rows}
    return [CampaignLine(row.name, titles[row.number], row.state) for row in rows]


def export(store: Store, name: str) -> Export:
    """All signed documents of a released campaign, and its list."""
    with store.reading() as connection:
        current = find(connection, name)
        if current.state != "released":
            raise Refused("wrong-state", f"The campaign {name!r} is {current.state}: there is nothing to export yet.")
        signed = {kind: envelope(connection, current, kind).message for kind in ("terms", "manifest", "release")}
        head_list = payload(connection, current.number, "list") or b""
        has_index = payload(connection, current.number, INDEX_DESCRIPTOR) is not None
        descriptor = envelope(connection, current, INDEX_DESCRIPTOR).message if has_index else None
    return Export(**signed, head_list=head_list.decode("utf-8"), index_descriptor=descriptor)


@dataclass(frozen=True)
class Book:
    """The campaigns that take reports, looked up once a process."""

    store: Store
    files: PrivateFiles
    _open: dict[str, Reporting] = field(default_factory=dict, repr=False)

    def known(self, name: str) -> Reporting | None:
        """A campaign that was looked up before."""
        return self._open.get(name)

    def forget_closed(self) -> None:
        """Forget the campaigns that take no more reports: their keys shall be in no memory, either."""
        known = set(self._open)
        if known:
            with self.store.reading() as connection:
                query = sa.select(campaign.c.name).where(campaign.c.state == "reporting")
                known -= set(connection.execute(query).scalars())
        for name in known:
            self._open.pop(name, None)

    def reporting(self, name: str) -> Reporting:
        """The campaign of this name, whose list is public; raises :class:`Refused` before and after."""
        if name in self._open:
            return self._open[name]
        with self.store.reading() as connection:
            current = find(connection, name)
            if current.state == "released":
                raise Refused("late", f"The campaign {name!r} takes no more reports.")
            if current.state in ("closing", "signing"):
                raise being_made(current)
            manifest_bytes = payload(connection, current.number, "manifest")
            head_list = list_of(connection, current.number)
        if manifest_bytes is None or head_list is None:
            raise Refused("wrong-state", f"The list of campaign {name!r} is not published yet.")
        key = require_key(self.files, pseudonym_key(name))
        manifest = Manifest.from_bytes(manifest_bytes)
        binding, scheme = manifest.binding(head_list), manifest.scheme(head_list)
        until = require_day("reports_until", manifest.terms.reports_until)
        self._open[name] = Reporting(current.number, manifest.terms, binding, scheme, key, until)
        return self._open[name]
