"""Whether a collector is there, for those who watch over it."""

from __future__ import annotations

from blendp.wire.messages import Message


class Live(Message):
    """The process answers."""

    live: bool


class Ready(Message):
    """The store can be written."""

    ready: bool
