"""A head list as it travels: the form of the canonical bytes of :class:`blendp.headlist.HeadList`."""

from __future__ import annotations

from typing import Annotated

from blendp.headlist.head_list import FORMAT
from blendp.wire.messages import Message, documented


class ListedQuery(Message):
    """A query and the URLs listed for it."""

    query: str
    urls: list[str]


class ListDocument(Message):
    """A head list."""

    format: Annotated[str, documented(const=FORMAT)]
    levels: Annotated[int, documented(enum=[1, 2])]
    queries: list[ListedQuery]
