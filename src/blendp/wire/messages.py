"""What all messages have in common: a message is defined once, and its JSON form and its schema follow from that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from types import UnionType
from typing import Annotated, Any, Self, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, UnsetType

from blendp.canonical import canonical_json
from blendp.errors import ParameterError

HASH_PATTERN = "^[0-9a-f]{64}$"
MAX_BODY_BYTES = 1 << 20
"""What a collector takes in one body, unless its operator says otherwise; opt-in records beyond it are not sent."""


def documented(**schema: Any) -> Meta:
    """What a value must be, for the schema alone: whoever takes the message says in its own words what is wrong."""
    return Meta(extra_json_schema=schema)


Hash = Annotated[str, documented(pattern=HASH_PATTERN, description="SHA-256, hexadecimal")]
Day = Annotated[str, documented(format="date", description="A day of UTC")]
Count = Annotated[int, documented(minimum=0)]
Share = Annotated[float, documented(minimum=0, maximum=1)]


class Message(msgspec.Struct, forbid_unknown_fields=True):
    """An object with exactly these members, in JSON."""

    def to_bytes(self) -> bytes:
        """The JSON body."""
        return canonical_json(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        value: dict[str, Any] = msgspec.to_builtins(self)
        return value

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """From a JSON body; refuses other members, and values of other types."""
        try:
            return msgspec.json.decode(data, type=cls)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise _unreadable(data, error) from error

    @classmethod
    def of_answer(cls, data: bytes) -> Self:
        """From a collector's answer: members that are not known are passed over, as later versions may add some."""
        try:
            return msgspec.convert(_known(cls, msgspec.json.decode(data)), type=cls)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise _unreadable(data, error) from error


def _unreadable(data: bytes, error: Exception) -> ParameterError:
    return ParameterError("body", f"{len(data)} bytes", "as the documentation says", f"{error}.")


def _known(kind: Any, value: Any) -> Any:
    """A JSON value without the members that messages of this type do not have."""
    if isinstance(value, list):
        of = _item_type(kind)
        return value if of is None else [_known(of, one) for one in value]
    members = _members(kind) if isinstance(value, dict) else None
    return value if members is None else {name: _known(members[name], value[name]) for name in members if name in value}


@cache
def _item_type(kind: Any) -> Any:
    """The type of the messages in a list of this type; None where there are none."""
    bare = _bare(kind)
    (of,) = get_args(bare) if get_origin(bare) is list else (None,)
    return of if isinstance(of, type) and issubclass(of, Message) else None


@cache
def _members(kind: Any) -> dict[str, Any] | None:
    """The members of a message of this type, by their names in JSON; None if it is no message."""
    bare = _bare(kind)
    if not (isinstance(bare, type) and issubclass(bare, Message)):
        return None
    return {member.encode_name: member.type for member in msgspec.structs.fields(bare)}


def _bare(kind: Any) -> Any:
    """A type without its bounds; of an optional one, what it is if it is there."""
    if get_origin(kind) is Annotated or get_origin(kind) in (Union, UnionType):
        return _bare(get_args(kind)[0])
    return kind


@dataclass(frozen=True)
class FieldForm:
    """One field of a dataclass that travels.

    where:
        kind     is its type, without bounds,
        meta     has its bounds and what it means,
        default  is MISSING where it must be given.
    """

    name: str
    kind: Any
    meta: Meta
    default: Any

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON Schema, the type left aside."""
        bare = self.kind if not isinstance(self.kind, UnionType) else get_args(self.kind)[0]
        schema = {**msgspec.json.schema(Annotated[bare, self.meta])}
        del schema["type"]
        return schema if self.default is MISSING else {**schema, "default": self.default}


def field_forms(cls: type) -> dict[str, FieldForm]:
    """The fields of a dataclass whose types are annotated with bounds, by name."""
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: FieldForm(field.name, *_split(hints[field.name]), field.default) for field in fields(cls)}


def _split(hint: Any) -> tuple[Any, Meta]:
    """A type without its bounds, and the bounds; those of an optional type stand within."""
    if get_origin(hint) in (Union, UnionType):
        parts = [_split(part) if part is not type(None) else (None, None) for part in get_args(hint)]
        kind: Any = parts[0][0]
        for other, _ in parts[1:]:
            kind = kind | other
        return kind, next(meta for _, meta in parts if meta is not None)
    bare, meta = get_args(hint)
    return bare, meta


def json_form(cls: type, name: str, doc: str) -> type[msgspec.Struct]:
    """The JSON object from which a dataclass is made anew: what has a default may be left out."""
    members: list[Any] = []
    for form in field_forms(cls).values():
        shown = Meta(extra_json_schema=form.schema)
        if form.default is MISSING:
            members.append((form.name, Annotated[form.kind, shown]))
        else:
            members.append((form.name, Annotated[form.kind | UnsetType, shown], UNSET))
    struct = msgspec.defstruct(name, members, forbid_unknown_fields=True, module=cls.__module__)
    struct.__doc__ = doc
    return struct


def exact_fields(cls: type, value: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Values for exactly the fields of a dataclass, the format left aside."""
    given = {name: item for name, item in value.items() if name != "format"}
    names = {field.name for field in fields(cls)}
    if set(given) != names:
        wrong = sorted(set(given) ^ names)
        raise ParameterError(what, wrong[0], "complete, with no other names", "It needs another version of blendp.")
    return given
