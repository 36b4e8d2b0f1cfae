"""How a list differs from the one before, record by record."""

from __future__ import annotations

from typing import Annotated

from blendp.wire.messages import Count, Message, documented

MAX_CHANGES = 2_000
"""Records of each kind that are told by name."""


class ListedRecord(Message):
    """A record of a list; ``url`` is null where a query is listed without any, as in a campaign of one level."""

    query: str | None
    url: str | None


_Records = Annotated[list[ListedRecord], documented(maxItems=MAX_CHANGES)]


class ListChanges(Message):
    """What came onto the list and what went; ``previous`` is null, and all is new, if there was no list before."""

    previous: str | None
    added: _Records
    removed: _Records
    kept: Count
    left_out: Count
    """How many added and removed records are not told by name."""
