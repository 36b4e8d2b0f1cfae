"""Whom and what a device believes."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from blendp.client import Collector, Device, EquivocationError, Http, NetworkError, Policy, RefusedError
from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.wire import Envelope, Signature, SigningKey, Terms
from blendp.wire.keys import KeyStatement
from blendp.wire.media_types import MANIFEST_TYPE, TERMS_TYPE
from tests.unit.client.fake_collector import CAMPAIGN, LIST, MIRROR, RECORDS, TERMS, URL, Clock, FakeCollector, problem

DAY = datetime.date(2026, 11, 6)
DOCUMENTS = f"{URL}/v1/campaigns/{CAMPAIGN}"


def refusal(fake: FakeCollector, **options: object) -> str:
    with pytest.raises(RefusedError) as raised:
        fake.collector(**options).look(CAMPAIGN, DAY)
    return raised.value.reason


def test_a_good_campaign_is_seen_whole() -> None:
    fake = FakeCollector()
    seen = fake.collector().look(CAMPAIGN, DAY)
    assert (seen.terms, seen.manifest, seen.head_list, seen.witnesses) == (TERMS, fake.manifest, LIST, 0)
    assert fake.collector(witnesses=[MIRROR]).look(CAMPAIGN, DAY).witnesses == 1


def test_requests_could_be_anybodys() -> None:
    fake = FakeCollector()
    seen: list[httpx.Headers] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers)
        response = fake._answer(request)
        response.headers["set-cookie"] = "you=1; Path=/"
        return response

    fake.collector(http=Http(httpx.MockTransport(answer))).look(CAMPAIGN, DAY)
    assert len(seen) == 5
    fresh = {"cache-control": "no-cache", "pragma": "no-cache"}
    for headers in seen:
        assert set(headers) == {"host", "user-agent", "accept", "accept-encoding", "connection"} | {*fresh}
        assert headers["user-agent"] == "blendp"
        assert {name: headers[name] for name in fresh} == fresh, "what browsers add to a request that is not cached"


@pytest.mark.parametrize("what", ["terms", "manifest"])
def test_documents_of_nobody_and_of_strangers_are_refused(what: str) -> None:
    fake, stranger = FakeCollector(), SigningKey.new()
    kind, data = {"terms": (TERMS_TYPE, fake.terms.to_bytes()), "manifest": (MANIFEST_TYPE, fake.manifest.to_bytes())}[
        what
    ]
    for keys in ((), (stranger,)):
        fake.served[f"{DOCUMENTS}/{what}"] = Envelope.sealed(kind, data, keys).to_bytes()
        assert refusal(fake) == "signature"
    forged = dataclasses.replace(stranger.sign(kind, data), key=fake.key.public.id)
    fake.served[f"{DOCUMENTS}/{what}"] = Envelope(kind, data, (forged,)).to_bytes()
    assert refusal(fake) == "signature"


def test_terms_are_not_taken_for_a_manifest() -> None:
    fake = FakeCollector()
    fake.served[f"{DOCUMENTS}/manifest"] = fake.served[f"{DOCUMENTS}/terms"]
    assert refusal(fake) == "signature"


@pytest.mark.parametrize("body", [b"", b"{}", b"[" * 100_000, b"\xff", b'{"payload":"e30="}'])
@pytest.mark.parametrize(("what", "reason"), [("terms", "document"), ("manifest", "document"), ("list", "list")])
def test_what_is_no_document_is_refused(what: str, reason: str, body: bytes) -> None:
    fake = FakeCollector()
    fake.served[f"{DOCUMENTS}/{what}"] = body
    assert refusal(fake) == reason


def test_a_campaign_of_another_name_is_refused() -> None:
    fake = FakeCollector(dataclasses.replace(TERMS, campaign="other"))
    fake.served[f"{DOCUMENTS}/terms"] = fake.served[f"{URL}/v1/campaigns/other/terms"]
    assert refusal(fake) == "terms"


def test_a_manifest_must_keep_the_terms() -> None:
    fake = FakeCollector()
    fake.manifest = dataclasses.replace(fake.manifest, terms=dataclasses.replace(TERMS, epsilon=4.5))
    fake.publish()
    assert refusal(fake) == "terms"


def _another_list(fake: FakeCollector) -> None:
    fake.head_list = HeadList.of_records([*((e.query, e.urls[0]) for e in LIST.entries[:-1]), ("z", "y")])
    fake.publish()


def _other_count(fake: FakeCollector) -> None:
    fake.change_manifest(records=13)


def _other_levels(fake: FakeCollector) -> None:
    fake.head_list = HeadList.of_records([(entry.query, None) for entry in LIST.entries], levels=1)
    fake.change_manifest(list_sha256=fake.head_list.sha256)


def _no_list(fake: FakeCollector) -> None:
    fake.served[f"{DOCUMENTS}/list"] = None


def _impossible_share(fake: FakeCollector) -> None:
    fake.terms = dataclasses.replace(TERMS, method="published")
    fake.change_manifest(terms=fake.terms, query_share=0.0)


@pytest.mark.parametrize("spoil", [_another_list, _other_count, _other_levels, _no_list, _impossible_share])
def test_a_list_that_contradicts_its_manifest_is_refused(spoil: Callable[[FakeCollector], None]) -> None:
    fake = FakeCollector()
    spoil(fake)
    assert refusal(fake) == "list"


def test_lists_and_groups_below_the_policy_are_refused() -> None:
    short = HeadList.of_records([(f"q{i}", "http://a.org") for i in range(9)])
    fake = FakeCollector(head_list=short)
    assert refusal(fake) == "policy"
    assert fake.collector(policy=Policy(min_records=9)).look(CAMPAIGN, DAY).head_list == short
    few = FakeCollector(dataclasses.replace(TERMS, min_opt_in=50), opt_in_people=99)
    assert refusal(few) == "policy"
    assert few.collector(policy=Policy(min_opt_in=99)).look(CAMPAIGN, DAY).manifest.opt_in_people == 99
    assert refusal(FakeCollector(), policy=Policy(max_epsilon=3.9)) == "policy"
    assert refusal(FakeCollector(), policy=Policy(max_records=11)) == "policy"
    FakeCollector().collector(policy=Policy(max_records=12)).look(CAMPAIGN, DAY)
    FakeCollector().collector(policy=Policy(max_epsilon=4)).look(CAMPAIGN, DAY)


def test_campaigns_are_listed_with_terms_that_are_believed() -> None:
    fake = FakeCollector()
    (listing,) = fake.collector().campaigns(DAY)
    assert (listing.campaign, listing.state, listing.problem) == (CAMPAIGN, "reporting", "")
    assert listing.offer is not None
    assert listing.offer.terms == TERMS
    forged = dataclasses.replace(TERMS, organisation="Somebody else")
    fake.served[f"{DOCUMENTS}/terms"] = Envelope.sealed(TERMS_TYPE, forged.to_bytes(), [SigningKey.new()]).to_bytes()
    (listing,) = fake.collector().campaigns(DAY)
    assert listing.offer is None
    assert "do not use it" in listing.problem


def test_a_long_list_of_campaigns_is_cut_to_the_latest() -> None:
    fake = FakeCollector()
    fake.overview = [{"campaign": f"c{i}", "title": "x", "state": "y" * 99} for i in range(60)]
    listed = fake.collector().campaigns(DAY)
    assert [one.campaign for one in listed] == [f"c{i}" for i in range(10, 60)]
    assert {len(one.state) for one in listed} == {20}


@pytest.mark.parametrize("overview", [[{}], [7], [{"campaign": "No Name", "state": "x"}]])
def test_a_list_of_campaigns_that_is_none_is_refused(overview: list[dict[str, str]]) -> None:
    fake = FakeCollector()
    fake.overview = overview
    with pytest.raises(RefusedError, match="list of campaigns"):
        fake.collector().campaigns(DAY)


def test_a_list_that_is_too_long_is_refused_before_it_is_fetched() -> None:
    fake = FakeCollector(records=20_001)
    assert refusal(fake) == "policy"
    assert not [request for request in fake.requests if request.url.path.endswith("/list")]


@pytest.mark.parametrize("values", [{"min_records": 0}, {"max_records": 9}, {"min_opt_in": 1.5}, {"max_epsilon": 0}])
def test_policies_that_are_none_are_refused(values: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        Policy(**values)  # type: ignore[arg-type]


def test_without_a_list_there_is_only_an_offer() -> None:
    fake = FakeCollector()
    fake.served[f"{DOCUMENTS}/manifest"] = None
    assert refusal(fake) == "not-published"
    assert fake.collector().terms(CAMPAIGN, DAY).terms == TERMS
    with pytest.raises(ParameterError, match="known to"):
        fake.collector().terms("unknown", DAY)


def test_keys_are_followed_while_they_overlap() -> None:
    fake, new = FakeCollector(), SigningKey.new()
    statement = KeyStatement(new.public.text, "2026-11-01", fake.key.public.id, "2026-11-20").sealed(fake.key, new)
    fake.keys_document["statements"] = [json.loads(statement.to_bytes())]
    fake.publish(new)
    seen = fake.collector().look(CAMPAIGN, DAY)
    assert {key for key, _ in seen.trust.keys} == {fake.key.public, new.public}
    fake.publish(fake.key)
    fake.collector().look(CAMPAIGN, DAY)
    with pytest.raises(RefusedError, match="No trusted key"):
        fake.collector().look(CAMPAIGN, datetime.date(2026, 11, 21))


def test_statements_of_strangers_lead_nowhere() -> None:
    fake, one, other = FakeCollector(), SigningKey.new(), SigningKey.new()
    statement = KeyStatement(other.public.text, "2026-11-01", fake.key.public.id, "2026-11-20").sealed(one, other)
    fake.keys_document["statements"] = [json.loads(statement.to_bytes())]
    fake.publish(other)
    assert refusal(fake) == "signature"


def test_keys_are_believed_on_first_use_only_if_asked_and_then_kept(tmp_path: Path) -> None:
    fake, clock = FakeCollector(), Clock()
    with pytest.raises(ParameterError, match="key"):
        fake.collector(keys=()).look(CAMPAIGN, DAY)
    first = fake.collector(keys=(), trust_on_first_use=True)
    with fake.device(tmp_path, clock, collector=first) as device:
        device.look(CAMPAIGN)
    attacker = SigningKey.new()
    fake.keys_document["keys"] = [{"key": attacker.public.text, "since": "2026-01-01", "until": None}]
    with fake.device(tmp_path, clock, collector=first) as device:
        device.look(CAMPAIGN)
        fake.publish(attacker)
        with pytest.raises(RefusedError, match="No trusted key"):
            device.look(CAMPAIGN)


@pytest.mark.parametrize("document", [{}, [], {"keys": [], "statements": None}, {"keys": [], "statements": [{}]}])
def test_a_keys_document_that_is_none_is_refused(document: object) -> None:
    fake = FakeCollector()
    fake.keys_document = document  # type: ignore[assignment]
    assert refusal(fake) == "document"


def test_expired_and_broken_named_keys_are_not_believed() -> None:
    fake = FakeCollector()
    fake.keys_document["keys"][0]["until"] = "2026-11-05"
    assert refusal(fake, keys=(), trust_on_first_use=True) == "signature"
    fake.keys_document["keys"] = [{"key": "ab"}]
    assert refusal(fake, keys=(), trust_on_first_use=True) == "document"


def test_documents_that_anybody_signed_are_not_believed_on_first_use() -> None:
    """Under the neutral point as a key, one signature is good for every document."""
    fake, key = FakeCollector(), b"\x01" + bytes(31)
    forged = (Signature(hashlib.sha256(key).hexdigest()[:16], key + bytes(32)),)
    documents = {"terms": (TERMS_TYPE, fake.terms.to_bytes()), "manifest": (MANIFEST_TYPE, fake.manifest.to_bytes())}
    for name, (kind, data) in documents.items():
        fake.served[f"{DOCUMENTS}/{name}"] = Envelope(kind, data, forged).to_bytes()
    fake.keys_document["keys"].append({"key": key.hex(), "since": "2026-01-01", "until": None})
    assert refusal(fake, keys=(), trust_on_first_use=True) == "document"
    assert refusal(fake) == "signature"


def equivocating(fake: FakeCollector) -> bytes:
    """Sign another manifest, and give back its envelope."""
    fake.change_manifest(query_share=0.25)
    envelope = fake.served[f"{DOCUMENTS}/manifest"]
    assert envelope is not None
    return envelope


def test_another_manifest_of_the_same_campaign_is_evidence_and_refused_for_ever(tmp_path: Path) -> None:
    fake, clock = FakeCollector(), Clock()
    first = fake.served[f"{DOCUMENTS}/manifest"]
    device = fake.device(tmp_path, clock)
    device.look(CAMPAIGN)
    device.take_part(CAMPAIGN, RECORDS)
    second = equivocating(fake)
    with pytest.raises(EquivocationError, match="two different versions"):
        device.look(CAMPAIGN)
    assert device.evidence(CAMPAIGN) == ((URL, first), (URL, second))
    (item,) = device.items
    assert (item.state, item.reason) == ("dropped", "equivocation")
    device.close()
    fake.change_manifest(query_share=0.5)
    with fake.device(tmp_path, clock) as again, pytest.raises(RefusedError, match="never again") as raised:
        again.look(CAMPAIGN)
    assert raised.value.reason == "equivocation"


def test_other_terms_of_the_same_campaign_are_evidence_too(tmp_path: Path) -> None:
    fake = FakeCollector()
    with fake.device(tmp_path, Clock()) as device:
        device.terms(CAMPAIGN)
        fake.terms = dataclasses.replace(TERMS, title="Something else")
        fake.change_manifest(terms=fake.terms)
        with pytest.raises(EquivocationError):
            device.look(CAMPAIGN)
        assert len(device.evidence(CAMPAIGN)) == 2


def test_what_a_witness_was_told_otherwise_is_evidence(tmp_path: Path) -> None:
    fake = FakeCollector()
    honest = fake.served[f"{DOCUMENTS}/manifest"]
    mirrored = equivocating(fake)
    fake.served[f"{DOCUMENTS}/manifest"] = honest
    with fake.device(tmp_path, Clock(), collector=fake.collector(witnesses=[MIRROR])) as device:
        with pytest.raises(EquivocationError):
            device.take_part(CAMPAIGN, RECORDS)
        assert device.evidence(CAMPAIGN) == ((URL, honest), (MIRROR, mirrored))
        assert device.participation(CAMPAIGN) is None
        assert not device.ledger.entries


def test_a_witness_that_was_told_nothing_or_tales_stops_but_proves_nothing(tmp_path: Path) -> None:
    fake, where = FakeCollector(), f"{MIRROR}/v1/campaigns/{CAMPAIGN}/manifest"
    good = fake.served[where]
    with fake.device(tmp_path, Clock(), collector=fake.collector(witnesses=[MIRROR])) as device:
        stranger = Envelope.sealed(MANIFEST_TYPE, b"{}", [SigningKey.new()]).to_bytes()
        for answer in (None, b"nonsense", stranger):
            fake.served[where] = answer
            with pytest.raises(RefusedError) as raised:
                device.look(CAMPAIGN)
            assert raised.value.reason == "witness"
        assert device.evidence(CAMPAIGN) == ()
        fake.served[where] = good
        assert device.look(CAMPAIGN).witnesses == 1


def test_new_signatures_of_the_same_manifest_are_fine(tmp_path: Path) -> None:
    fake, new = FakeCollector(), SigningKey.new()
    with fake.device(tmp_path, Clock()) as device:
        device.look(CAMPAIGN)
        fake.publish(new, fake.key)
        device.look(CAMPAIGN)


def test_forged_contradictions_accuse_nobody(tmp_path: Path) -> None:
    fake = FakeCollector()
    with fake.device(tmp_path, Clock()) as device:
        device.look(CAMPAIGN)
        good = fake.served[f"{DOCUMENTS}/manifest"]
        fake.manifest = dataclasses.replace(fake.manifest, query_share=0.1)
        fake.publish(SigningKey.new())
        with pytest.raises(RefusedError):
            device.look(CAMPAIGN)
        fake.manifest = dataclasses.replace(fake.manifest, query_share=0.5)
        fake.publish()
        assert good is not None
        device.look(CAMPAIGN)


def test_another_collector_with_a_campaign_of_the_same_name_is_refused_and_not_accused(tmp_path: Path) -> None:
    one, other = FakeCollector(), FakeCollector(dataclasses.replace(TERMS, title="Another"))
    with one.device(tmp_path, Clock()) as device:
        device.look(CAMPAIGN)
    elsewhere = "https://elsewhere.example"
    for url, body in list(other.served.items()):
        other.served[url.replace(URL, elsewhere)] = body
    stranger = Collector(elsewhere, keys=[other.key.public], http=other.http)
    with one.device(tmp_path, Clock(), collector=stranger) as device:
        with pytest.raises(RefusedError, match="runs another campaign"):
            device.look(CAMPAIGN)
        assert device.evidence(CAMPAIGN) == ()


def test_a_collector_that_borrows_the_key_of_another_gets_nobody_accused(tmp_path: Path) -> None:
    """It names the other's key among its own, which does not prove that one key signed both."""
    one, other = FakeCollector(), FakeCollector(dataclasses.replace(TERMS, title="Another"))
    with one.device(tmp_path, Clock()) as device:
        device.take_part(CAMPAIGN, RECORDS)
    elsewhere = "https://elsewhere.example"
    for url, body in list(other.served.items()):
        other.served[url.replace(URL, elsewhere)] = body
    other.keys_document["keys"] += one.keys_document["keys"]
    borrower = Collector(elsewhere, trust_on_first_use=True, http=other.http)
    with one.device(tmp_path, Clock(), collector=borrower) as device:
        with pytest.raises(RefusedError, match="runs another campaign"):
            device.look(CAMPAIGN)
        assert device.evidence(CAMPAIGN) == ()
        assert [item.state for item in device.items] == ["waiting"]


def test_a_witness_that_shows_another_campaign_proves_nothing(tmp_path: Path) -> None:
    fake = FakeCollector()
    other = dataclasses.replace(fake.manifest, terms=dataclasses.replace(TERMS, campaign="another"))
    shown = Envelope.sealed(MANIFEST_TYPE, other.to_bytes(), [fake.key]).to_bytes()
    fake.served[f"{MIRROR}/v1/campaigns/{CAMPAIGN}/manifest"] = shown
    with fake.device(tmp_path, Clock(), collector=fake.collector(witnesses=[MIRROR])) as device:
        with pytest.raises(RefusedError, match="shows the manifest of another") as refused:
            device.look(CAMPAIGN)
        assert refused.value.reason == "witness"
        assert device.evidence(CAMPAIGN) == ()


def http(answer: Callable[[httpx.Request], httpx.Response]) -> Http:
    return Http(httpx.MockTransport(answer))


def test_failures_of_the_network_are_told_as_such() -> None:
    fake = FakeCollector()

    def unreachable(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout("no", request=request)

    for answer in (unreachable, lambda _: problem("busy", retry_after="3")):
        with pytest.raises(NetworkError, match="try again"):
            fake.collector(http=http(answer)).look(CAMPAIGN, DAY)


def test_redirects_large_and_compressed_answers_are_refused() -> None:
    fake = FakeCollector()
    moved = httpx.Response(302, headers={"location": "https://elsewhere.example"})
    large = httpx.Response(200, content=b" " * ((1 << 20) + 1))
    squeezed = httpx.Response(200, headers={"content-encoding": "gzip"}, stream=httpx.ByteStream(b"\x1f\x8b"))
    for response, message in ((moved, "http-302"), (large, "more than"), (squeezed, "compressed")):
        with pytest.raises(RefusedError, match=message):
            fake.collector(http=http(lambda _, response=response: response)).look(CAMPAIGN, DAY)  # type: ignore[misc]


def test_answers_that_drip_are_given_up() -> None:
    ticks = iter([0.0, 1.0, 301.0])

    class Drip(httpx.SyncByteStream):
        def __iter__(self):  # type: ignore[no-untyped-def]
            while True:
                yield b" "

    patient = Http(httpx.MockTransport(lambda _: httpx.Response(200, stream=Drip())), monotonic=lambda: next(ticks))
    with pytest.raises(NetworkError, match="longer than"):
        patient.request("GET", URL)


@pytest.mark.parametrize(
    "url",
    ["", "collector.example", "http://collector.example", "ftp://a.org", "https://u:p@a.org", "https://a.org?x=1",
     "https://a.org#x", "https://[", "https://a.org:port", "https://a.org/\n"],
)  # fmt: skip
def test_addresses_that_leak_or_mislead_are_refused(url: str) -> None:
    with pytest.raises(ParameterError, match="server"):
        Collector(url)
    with pytest.raises(ParameterError, match="witness"):
        Collector(URL, witnesses=[url])


def test_plain_http_is_for_this_machine_or_by_leave() -> None:
    assert Collector("http://localhost:8080/").url == "http://localhost:8080"
    assert Collector("http://collector:8080", allow_http=True).url == "http://collector:8080"


def test_a_device_without_a_collector_says_so(tmp_path: Path) -> None:
    with Device(tmp_path) as device, pytest.raises(ParameterError, match="collector"):
        device.look(CAMPAIGN)


def test_terms_with_other_fields_are_refused() -> None:
    fake = FakeCollector()
    data = Terms.to_bytes(TERMS).replace(b'"title"', b'"titel"')
    fake.served[f"{DOCUMENTS}/terms"] = Envelope.sealed(TERMS_TYPE, data, [fake.key]).to_bytes()
    assert refusal(fake) == "document"
