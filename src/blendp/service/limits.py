"""How much one peer may ask for: buckets that fill with time, kept in memory alone and forgotten when it is short."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable

_MAX_PEERS = 10_000
_MAX_WAIT = 3600
_PEER_SHARE = 8


class RateLimit:
    """So many units a second for every peer, after a burst; a rate of 0 limits nothing.

    Whoever has one unit left may ask for something that costs more, and is in debt afterwards: so a large request is
    possible, and paid for by waiting. Of too many peers to remember, those who were silent longest are forgotten.
    """

    def __init__(self, rate: float, burst: float, now: Callable[[], float] = time.monotonic) -> None:
        """All buckets full."""
        self._rate, self._burst, self._now = rate, burst, now
        self._buckets: dict[str, tuple[float, float]] = {}

    def allow(self, peer: str, cost: float = 1.0) -> bool:
        """Take from the peer's bucket, if a unit is left in it."""
        if not self._rate:
            return True
        now = self._now()
        level = self._level(peer, now)
        allowed = level >= 1
        self._keep(peer, level - cost if allowed else level, now)
        return allowed

    def charge(self, peer: str, cost: float) -> None:
        """Take from the peer's bucket, whatever is in it; a debt is at most what it takes a peer an hour to pay."""
        if self._rate and cost > 0:
            now = self._now()
            self._keep(peer, max(self._level(peer, now) - cost, -_MAX_WAIT * self._rate), now)

    def empty(self, peer: str) -> bool:
        """Whether no unit is left in the peer's bucket; takes nothing."""
        return self._rate > 0 and self._level(peer, self._now()) < 1

    def wait(self, peer: str) -> int:
        """Whole seconds until a unit is there again, at least 1."""
        if not self._rate:
            return 1
        return max(1, math.ceil((1 - self._level(peer, self._now())) / self._rate))

    def __len__(self) -> int:
        """How many peers are remembered."""
        return len(self._buckets)

    def _level(self, peer: str, now: float) -> float:
        level, since = self._buckets.get(peer, (self._burst, now))
        return min(self._burst, level + (now - since) * self._rate)

    def _keep(self, peer: str, level: float, now: float) -> None:
        """The last to come is last in the dictionary."""
        if self._buckets.pop(peer, None) is None and len(self._buckets) >= _MAX_PEERS:
            del self._buckets[next(iter(self._buckets))]
        self._buckets[peer] = (level, now)


class Shares:
    """Something that there is so much of at a time: each peer may have an eighth of it."""

    def __init__(self, capacity: int) -> None:
        """Nobody has any."""
        self._capacity = capacity
        self._all = 0
        self._of_peer: Counter[str] = Counter()

    def take(self, peer: str, amount: int) -> bool:
        """Have so much more of it, if there is as much for this peer."""
        if self._all + amount > self._capacity or self._of_peer[peer] + amount > self._capacity // _PEER_SHARE:
            return False
        self._all += amount
        self._of_peer[peer] += amount
        return True

    def give_back(self, peer: str, amount: int) -> None:
        """Have so much less."""
        self._all -= amount
        self._of_peer[peer] -= amount
        if not self._of_peer[peer]:
            del self._of_peer[peer]
