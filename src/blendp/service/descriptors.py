"""File descriptors: every connection takes one, and systems give processes few unless they ask."""

from __future__ import annotations

import sys

_ENOUGH = 1 << 17
_FEW = 1024
_OWN_SHARE, _OWN_MOST = 4, 256
"""What is kept for the store, the log and the like: a quarter of the descriptors, at most so many."""


def raise_descriptor_limit() -> None:
    """Ask for as many as this process may have; processes that it starts have as many."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def descriptors() -> int:
    """How many this process may spend on connections."""
    limit = _limit()
    return max(1, limit - min(limit // _OWN_SHARE, _OWN_MOST))


def _limit() -> int:
    if sys.platform == "win32":
        return _FEW
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _ENOUGH if soft == resource.RLIM_INFINITY else soft
