"""Every message: what is written is read again, and nothing else is read."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blendp.canonical import canonical_json
from blendp.errors import ParameterError
from blendp.wire.deletions import Deleted, DeletionRequest
from blendp.wire.enrolments import EnrolmentRequest, EnrolmentTokens
from blendp.wire.index import CampaignLine, Campaigns, EnvelopeSignature, Keys, SignedDocument, SigningKeyOfDays
from blendp.wire.messages import Message, _known
from blendp.wire.opt_in import OptInRecord, OptInRecords, record_bytes
from blendp.wire.problems import PROBLEMS, ProblemDocument, slug_of
from blendp.wire.reports import JsonReport, UploadOutcome, UploadOutcomes

texts = st.text(max_size=20)
hashes = st.binary(min_size=32, max_size=32).map(bytes.hex)
signed = st.builds(SignedDocument, texts, texts, st.lists(st.builds(EnvelopeSignature, texts, texts), max_size=2))
lines = st.builds(CampaignLine, texts, texts, texts)
days = st.builds(SigningKeyOfDays, hashes, texts, st.none() | texts)

MESSAGES: dict[type[Message], st.SearchStrategy[Message]] = {
    OptInRecord: st.builds(OptInRecord, texts, st.none() | texts),
    OptInRecords: st.builds(OptInRecords, hashes, texts, st.lists(st.builds(OptInRecord, texts, texts), max_size=3)),
    DeletionRequest: st.builds(DeletionRequest, hashes),
    Deleted: st.builds(Deleted, st.booleans()),
    EnrolmentRequest: st.builds(EnrolmentRequest, st.integers(1, 10_000)),
    EnrolmentTokens: st.builds(EnrolmentTokens, st.lists(texts, max_size=3)),
    SignedDocument: signed,
    Campaigns: st.builds(Campaigns, st.lists(lines, max_size=3)),
    Keys: st.builds(Keys, st.lists(days, max_size=2), st.lists(signed, max_size=2)),
    JsonReport: st.builds(JsonReport, hashes, texts, texts, texts),
    UploadOutcome: st.builds(UploadOutcome, texts),
    UploadOutcomes: st.builds(UploadOutcomes, st.lists(texts, max_size=3)),
    ProblemDocument: st.builds(ProblemDocument, texts, texts, st.integers(400, 599), texts),
}
messages = pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)


def test_every_message_is_tested() -> None:
    within = {EnvelopeSignature, CampaignLine, SigningKeyOfDays}
    of_wire = {one for one in Message.__subclasses__() if one.__module__.startswith("blendp.wire.")}
    assert of_wire == set(MESSAGES) | within


@messages
@settings(max_examples=25)
@given(st.data())
def test_what_is_written_is_read_again(kind: type[Message], data: st.DataObject) -> None:
    message = data.draw(MESSAGES[kind])
    body = message.to_bytes()
    assert kind.from_bytes(body) == message
    assert canonical_json(json.loads(body)) == body


@messages
@settings(max_examples=15)
@given(st.data())
def test_other_members_and_types_are_refused(kind: type[Message], data: st.DataObject) -> None:
    value: dict[str, Any] = json.loads(data.draw(MESSAGES[kind]).to_bytes())
    with pytest.raises(ParameterError):
        kind.from_bytes(canonical_json({**value, "more": 1}))
    required = [name for name in value if name not in ("url", "missing", "reason")]
    for name in required:
        others: list[Any] = [{}, [[]], 1.5]
        for other in others:
            with pytest.raises(ParameterError):
                kind.from_bytes(canonical_json({**value, name: other}))
        with pytest.raises(ParameterError):
            kind.from_bytes(canonical_json({one: value[one] for one in value if one != name}))


@messages
@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"7", b"{}", b"\xff", b"[" * 100_000, b'{"a":' * 50_000])
def test_what_is_no_message_is_refused(kind: type[Message], body: bytes) -> None:
    with pytest.raises(ParameterError):
        kind.from_bytes(body)


@pytest.mark.parametrize("text", ["", "ab" * 15, "ab" * 17, "AB" * 16, "zz" * 16, "ab" * 15 + "a ", " " + "ab" * 16])
def test_nonces_have_one_spelling(text: str) -> None:
    assert OptInRecords("", "ab" * 16, []).nonce_bytes == b"\xab" * 16
    with pytest.raises(ParameterError):
        OptInRecords("", text, []).nonce_bytes  # noqa: B018


@pytest.mark.parametrize("text", ["", "ab" * 31, "ab" * 33, "AB" * 32, "zz" * 32, "ab" * 32 + "\n"])
def test_deletion_keys_have_one_spelling(text: str) -> None:
    assert DeletionRequest.of(b"\xab" * 32).key == b"\xab" * 32
    with pytest.raises(ParameterError):
        DeletionRequest(text).key  # noqa: B018


def test_vectors() -> None:
    """As devices have sent them."""
    assert DeletionRequest.of(bytes(32)).to_bytes() == b'{"deletion_key":"' + b"00" * 32 + b'"}'
    records = OptInRecords.of("ab" * 32, bytes(16), [("q", "ü"), ("q", None)])
    listed = '[{"query":"q","url":"ü"},{"query":"q","url":null}]'
    assert records.to_bytes() == f'{{"nonce":"{"00" * 16}","records":{listed},"terms":"{"ab" * 32}"}}'.encode()


@given(st.lists(st.tuples(texts, st.none() | texts), max_size=4))
def test_room_of_records(records: list[tuple[str, str | None]]) -> None:
    """What is left of a body is counted record by record."""
    empty = len(OptInRecords.of("ab" * 32, bytes(16), []).to_bytes())
    full = len(OptInRecords.of("ab" * 32, bytes(16), records).to_bytes())
    assert full == empty + sum(map(record_bytes, records)) - bool(records)


def test_problems_are_known_by_their_type() -> None:
    for slug, problem in PROBLEMS.items():
        document = ProblemDocument(problem.type, problem.title, problem.status, "Because.")
        assert slug_of(json.loads(document.to_bytes())) == slug
    for other in ({}, {"type": None}, {"type": "about:blank"}, {"type": "urn:blendp:problem:none"}):
        assert slug_of(other) is None


ANSWERS: list[tuple[Message, dict[str, Any]]] = [
    (Deleted(True), {"deleted": True, "later": [1]}),
    (UploadOutcome("accepted"), {"outcome": "accepted", "later": {"deleted": 1}}),
    (
        Campaigns([CampaignLine("c1", "t", "opt-in")]),
        {"campaigns": [{"campaign": "c1", "title": "t", "state": "opt-in", "later": None}], "next": "x"},
    ),
    (
        Keys([SigningKeyOfDays("ab" * 32, "2026-11-01", None)], []),
        {"keys": [{"key": "ab" * 32, "since": "2026-11-01", "until": None, "by": 1}], "statements": []},
    ),
]


@pytest.mark.parametrize(("message", "later"), ANSWERS, ids=lambda one: type(one).__name__)
def test_answers_of_a_later_version_are_read(message: Message, later: dict[str, Any]) -> None:
    data = json.dumps(later).encode()
    assert type(message).of_answer(data) == message
    with pytest.raises(ParameterError):
        type(message).from_bytes(data)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"deleted": 1}', b"\xff", b"[" * 100_000, b'{"deleted": true'])
def test_answers_of_another_form_are_refused(data: bytes) -> None:
    with pytest.raises(ParameterError, match="body"):
        Deleted.of_answer(data)


def test_a_large_answer_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a type has for members is looked up once, not for every object of an answer."""
    looked_up = []
    fields = msgspec.structs.fields

    def counted(kind: Any) -> Any:
        looked_up.append(kind)
        return fields(kind)

    monkeypatch.setattr(msgspec.structs, "fields", counted)
    with pytest.raises(ParameterError, match="body"):
        Campaigns.of_answer(b'{"campaigns": [' + b"{}," * 5000 + b"{}]}")
    assert len(looked_up) <= 2


def test_names_in_json_are_looked_at() -> None:
    line = {"campaign": "c", "title": "t", "state": "s", "more": 1}
    assert _known(Campaigns, {"campaigns": [line]}) == {
        "campaigns": [{k: line[k] for k in ("campaign", "title", "state")}]
    }


def test_what_is_not_read_is_not_repeated() -> None:
    with pytest.raises(ParameterError) as caught:
        OptInRecords.from_bytes(b'{"records": [{"query": "secret wish"}')
    assert "secret" not in str(caught.value)
