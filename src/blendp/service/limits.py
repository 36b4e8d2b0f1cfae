"""How much one peer may ask for: buckets that fill with time, kept in memory alone and forgotten when it is short."""

from __future__ import annotations

import time
from collections.abc import Callable

_MOST_PEERS = 10_000


class RateLimit:
    """So many requests a second for every peer, after a burst; a rate of 0 limits nothing."""

    def __init__(self, rate: float, burst: float, now: Callable[[], float] = time.monotonic) -> None:
        """All buckets full."""
        self._rate, self._burst, self._now = rate, burst, now
        self._buckets: dict[str, tuple[float, float]] = {}

    def allow(self, peer: str, cost: float = 1.0) -> bool:
        """Take from the peer's bucket, if it holds enough."""
        if not self._rate:
            return True
        now = self._now()
        level, since = self._buckets.get(peer, (self._burst, now))
        level = min(self._burst, level + (now - since) * self._rate)
        allowed = level >= cost
        if peer not in self._buckets and len(self._buckets) >= _MOST_PEERS:
            del self._buckets[next(iter(self._buckets))]
        self._buckets[peer] = (level - cost if allowed else level, now)
        return allowed

    def empty(self, peer: str) -> bool:
        """Whether the peer's bucket is empty; takes nothing."""
        return not self.allow(peer, 0.0) or (self._rate > 0 and self._buckets[peer][0] < 1)
