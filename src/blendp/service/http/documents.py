"""Documents that many read at a time: one object of bytes for all of them, and a name by which to ask for a new one."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from weakref import WeakValueDictionary

from starlette.requests import Request
from starlette.responses import Response

from blendp.canonical import sha256
from blendp.service.http.answers import answer, not_modified

_TAG = re.compile(r'(?:W/)?("[^"]*")')


@dataclass(frozen=True, eq=False)
class Document:
    """Bytes, and their SHA-256 as an entity tag."""

    body: bytes
    tag: str

    @classmethod
    def of(cls, body: bytes) -> Document:
        """With the tag of these bytes."""
        return cls(body, f'"{sha256(body)}"')


class Shelf:
    """The documents that somebody is reading; what nobody reads is not kept, so what is deleted is gone."""

    def __init__(self) -> None:
        """Empty."""
        self._documents: WeakValueDictionary[Hashable, Document] = WeakValueDictionary()

    def get(self, name: Hashable, read: Callable[[], bytes]) -> Document:
        """The document of this name, which never changes; read if nobody else is reading it."""
        document = self._documents.get(name)
        return self._documents.setdefault(name, Document.of(read())) if document is None else document

    def same(self, body: bytes) -> Document:
        """The document that has these bytes, which may change: shared among all who got the same."""
        document = Document.of(body)
        return self._documents.setdefault(document.tag, document)


def sent(
    document: Document,
    request: Request,
    media_type: str,
    cache_control: str,
    more_headers: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    """The document; only its name, if the asker has it."""
    headers = {"etag": document.tag, "cache-control": cache_control, **more_headers}
    if _has(request, document.tag):
        return not_modified(headers)
    response = answer(document.body, media_type=media_type, headers=headers)
    response.document = document  # type: ignore[attr-defined]  # on the shelf for as long as it is being sent
    return response


def _has(request: Request, tag: str) -> bool:
    """Whether one of the asker's tags is this one; weak ones count, as for every question about what is newer."""
    asked = ", ".join(request.headers.getlist("if-none-match"))
    return asked.strip() == "*" or tag in _TAG.findall(asked)
