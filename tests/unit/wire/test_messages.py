"""Every message: what is written is read again, and nothing else is read."""

import json
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Annotated, Any, get_args, get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from blendp import wire
from blendp.canonical import canonical_json
from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.wire.deletions import Deleted, DeletionRequest
from blendp.wire.head_list import ListDocument
from blendp.wire.index import Campaigns
from blendp.wire.messages import Message, _known
from blendp.wire.opt_in import OptInRecords, record_bytes
from blendp.wire.problems import PROBLEMS, ProblemDocument, slug_of

texts = st.text(max_size=20)
WRONG: dict[Any, Any] = {dict: {}, float: 1.5, None: [[[]]]}
"""Values that no member may have, but those of one type."""

PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    int: st.integers(0, 10_000),
    float: st.floats(0, 1),
    bool: st.booleans(),
    type(None): st.none(),
    UnsetType: st.just(UNSET),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type that a member of a message may have."""
    of = get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if get_origin(kind) is Annotated:
        return values(of[0])
    if get_origin(kind) is list:
        return st.lists(values(of[0]), max_size=3)
    if get_origin(kind) is dict:
        return st.dictionaries(*map(values, of), max_size=3)
    if of:
        return st.one_of(*map(values, of))
    return st.builds(kind, **{member.name: values(member.type) for member in msgspec.structs.fields(kind)})


def messages_of(kind: type[Message] = Message) -> Iterator[type[Message]]:
    """Every message that is derived from another."""
    for one in kind.__subclasses__():
        yield one
        yield from messages_of(one)


for module in pkgutil.iter_modules(wire.__path__):
    import_module(f"{wire.__name__}.{module.name}")
MESSAGES = {kind: values(kind) for kind in sorted(messages_of(), key=lambda kind: kind.__name__)}
messages = pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)


def test_every_message_is_of_the_room() -> None:
    assert len(MESSAGES) > 30
    assert {kind.__module__.rpartition(".")[0] for kind in MESSAGES} == {"blendp.wire"}


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
    for member in msgspec.structs.fields(kind):
        name = member.encode_name
        kinds = (member.type, get_origin(member.type), *get_args(member.type))
        for other in [value for of, value in WRONG.items() if of is None or of not in kinds]:
            with pytest.raises(ParameterError):
                kind.from_bytes(canonical_json({**value, name: other}))
        if member.required:
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
    assert slug_of({"type": "urn:blendp:problem:of-a-later-version"}) == "of-a-later-version"
    for other in ({}, {"type": None}, {"type": "about:blank"}, {"type": "late"}, {"type": "urn:blendp:problem:Late"}):
        assert slug_of(other) is None


@messages
@settings(max_examples=15)
@given(st.data())
def test_answers_of_a_later_version_are_read(kind: type[Message], data: st.DataObject) -> None:
    message = data.draw(MESSAGES[kind])
    body = msgspec.json.encode(_later(message))
    assert kind.of_answer(body) == message
    with pytest.raises(ParameterError):
        kind.from_bytes(body)


def _later(value: Any) -> Any:
    """What a message might be some day: every object has members that nobody knows yet."""
    if isinstance(value, list):
        return [_later(one) for one in value]
    if not isinstance(value, Message):
        return value
    members = {one.encode_name: getattr(value, one.name) for one in msgspec.structs.fields(type(value))}
    return {"later": [1], **{name: _later(one) for name, one in members.items() if one is not UNSET}}


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


def test_a_list_travels_in_its_canonical_bytes() -> None:
    body = HeadList.of_records([("a", "u"), ("a", "v"), ("b", "ü")]).to_bytes()
    assert ListDocument.from_bytes(body).to_bytes() == body


def test_names_in_json_are_looked_at() -> None:
    line = {"campaign": "c", "title": "t", "state": "s", "more": 1}
    assert _known(Campaigns, {"campaigns": [line]}) == {
        "campaigns": [{k: line[k] for k in ("campaign", "title", "state")}]
    }


def test_what_is_not_read_is_not_repeated() -> None:
    with pytest.raises(ParameterError) as caught:
        OptInRecords.from_bytes(b'{"records": [{"query": "secret wish"}')
    assert "secret" not in str(caught.value)
