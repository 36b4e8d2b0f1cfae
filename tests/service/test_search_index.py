"""The offline index comes with the release, in one step; it is signed anew, served, exported and deleted like it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from blendp.canonical import sha256
from blendp.cli.campaign.documents import Documents
from blendp.errors import ParameterError
from blendp.search import SearchIndex, build_index
from blendp.service import lifecycle as lifecycle_module
from blendp.service.backup import make_backup, restore_backup
from blendp.service.campaigns import export, find, overview, payload
from blendp.service.collector import CollectorService
from blendp.service.keyring import KeyRing
from blendp.service.refusal import Refused
from blendp.service.settings import Settings
from blendp.wire import Envelope, Signature, VerifyKey
from blendp.wire.envelope import SignatureError
from blendp.wire.media_types import INDEX_TYPE
from blendp.wire.search_index import IndexDescriptor
from tests.service.helpers import DAY, keep_rows, on, open_collector, published_campaign, with_client

ADDRESSES = ("/v1/campaigns/c1/index", "/v1/campaigns/c1/index-descriptor")


def ready(tmp_path: Path) -> CollectorService:
    """A collector whose campaign can be released."""
    collector = open_collector(tmp_path)
    published = published_campaign(collector)
    rows = [(one.report_id, one.pseudonym, one.question, one.data) for one in published.make(4)]
    with collector.store.writing() as connection:
        keep_rows(connection, find(connection, "c1").number, rows)
    return collector


def kept(collector: CollectorService, kind: str) -> bytes | None:
    with collector.store.reading() as connection:
        return payload(connection, find(connection, "c1").number, kind)


def trusted(collector: CollectorService) -> tuple[VerifyKey, ...]:
    return tuple(VerifyKey.of_text(known.public) for known in collector.keys.known())


def test_the_index_comes_with_the_release(tmp_path: Path) -> None:
    collector = ready(tmp_path)

    async def talk(client: httpx.AsyncClient) -> None:
        for address in ADDRESSES:
            before = await client.get(address)
            assert before.status_code == 404
            assert "reporting" in before.json()["detail"]
        release, _ = collector.lifecycle.release("c1")
        index, signed = [await client.get(address) for address in ADDRESSES]
        assert index.content == build_index(release)
        assert index.headers["content-type"] == "application/json"
        assert index.headers["cache-control"] == "public, max-age=86400, immutable"
        assert index.headers["access-control-allow-origin"] == "*"
        assert (await client.get(ADDRESSES[0], headers={"if-none-match": index.headers["etag"]})).status_code == 304
        descriptor = Envelope.from_bytes(signed.content).verified(INDEX_TYPE, trusted(collector))
        assert IndexDescriptor.from_bytes(descriptor) == IndexDescriptor.of("c1", release, index.content)
        read = SearchIndex.from_bytes(index.content)
        assert (read.campaign, read.released, read.release_sha256) == ("c1", DAY.isoformat(), sha256(release))
        assert read.search("q").results[0].match == "prefix"
        collector.lifecycle.delete("c1")
        for address in ADDRESSES:
            assert (await client.get(address)).status_code == 404

    with_client(collector, talk)


def test_both_or_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release whose descriptor cannot be signed has not happened."""
    collector = ready(tmp_path)
    sign = KeyRing.sign

    def fail(keys: KeyRing, connection: Any, media_type: str, data: bytes) -> list[Signature]:
        if media_type == INDEX_TYPE:
            raise Refused("busy", "The key is away.")
        return sign(keys, connection, media_type, data)

    monkeypatch.setattr(KeyRing, "sign", fail)
    with pytest.raises(Refused, match="away"):
        collector.lifecycle.release("c1")
    assert [line.state for line in overview(collector.store)] == ["reporting"]
    assert [kept(collector, kind) for kind in ("release", "index", "index-descriptor")] == [None] * 3
    monkeypatch.undo()
    release, _ = collector.lifecycle.release("c1")
    assert kept(collector, "index") == build_index(release)
    collector.close()


def test_a_new_key_signs_the_descriptor_too(tmp_path: Path) -> None:
    collector = ready(tmp_path)
    collector.lifecycle.release("c1")
    collector.lifecycle.rotate_keys(30)
    old, new = trusted(collector)
    for key in (old, new):
        documents = Documents.of_export(export(collector.store, "c1"))
        documents.verify((key,))
        assert documents.index("c1") == kept(collector, "index")
    collector.close()


def test_an_index_that_is_not_of_the_release_is_not_exported(tmp_path: Path) -> None:
    collector = ready(tmp_path)
    collector.lifecycle.release("c1")
    good = Documents.of_export(export(collector.store, "c1"))
    collector.close()
    assert good.index_descriptor is not None
    signed = good.index_descriptor
    wrong: Sequence[bytes] = (
        IndexDescriptor.of("c2", good.release.payload, build_index(good.release.payload)).to_bytes(),
        IndexDescriptor.of("c1", b"another", build_index(good.release.payload)).to_bytes(),
        IndexDescriptor.of("c1", good.release.payload, b"another").to_bytes(),
        signed.payload + b"\n",
    )
    for data in wrong:
        forged = Envelope(signed.media_type, data, signed.signatures)
        documents = Documents(good.terms, good.manifest, good.release, good.head_list, forged)
        with pytest.raises(SignatureError, match="index"):
            documents.index("c1")
        with pytest.raises(SignatureError):
            documents.verify(())


def test_a_release_comes_before_its_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts too long for an index must not keep a result from people."""

    def refuse(_release: bytes) -> bytes:
        raise ParameterError("release", "an index of 40000000 bytes", "of at most 8388608", "List less.")

    collector = ready(tmp_path)
    monkeypatch.setattr(lifecycle_module, "build_index", refuse)
    collector.lifecycle.release("c1")
    assert kept(collector, "release") is not None
    assert kept(collector, "index") is None
    assert Documents.of_export(export(collector.store, "c1")).index("c1") is None

    async def talk(client: httpx.AsyncClient) -> None:
        assert [(await client.get(address)).status_code for address in ADDRESSES] == [404, 404]

    with_client(collector, talk)


def test_a_backup_has_it(tmp_path: Path) -> None:
    collector = ready(tmp_path)
    release, _ = collector.lifecycle.release("c1")
    collector.close()
    _, key = make_backup(collector.settings, tmp_path / "backup.tar", with_keys=True, clock=on())
    settings = Settings(tmp_path / "restored")
    restore_backup(tmp_path / "backup.tar", settings, overwrite=False, key=key)
    restored = CollectorService.open(settings, on())
    assert kept(restored, "index") == build_index(release)
    Documents.of_export(export(restored.store, "c1")).verify(trusted(collector))
    restored.close()
