"""CBPS: which attributes one client reports together, and how many clients each group of attributes gets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import ArrayLike, NDArray

from blendp.arrays import Array
from blendp.errors import ParameterError, require_count
from blendp.survey.choose import Chooser

Partition = tuple[tuple[int, ...], ...]

_ALL = 8
_MOVES = 12


def allocate(clients: int, errors: ArrayLike) -> tuple[int, ...]:
    """How many clients report each group, so that the sum of all errors is least.

        N_i = N sqrt(f_i) / sum_l sqrt(f_l),    giving  sum_i f_i/N_i = (sum_i sqrt(f_i))^2/N

    where:
        f_i  is the sum of the errors that one client of group i leaves (``errors``),
        N    is the number of clients; shares are rounded by largest remainder, every group getting at least one.

    Then single clients move as long as that lowers the sum: each term falls ever more slowly with its N_i, so where no
    move helps, no other whole numbers do better.
    """
    f = np.asarray(errors, dtype=np.float64)
    f = np.maximum(f, 1e-12 * f.max()) if f.max() > 0 else np.ones(len(f))
    require_count("clients", clients, min_value=len(f), remedy="Every group needs a client: ask more, or group less.")
    ideal = clients * np.sqrt(f) / np.sqrt(f).sum()
    sizes = np.maximum(np.floor(ideal).astype(np.int64), 1)
    spare = clients - int(sizes.sum())
    sizes[np.argsort(sizes - ideal, kind="stable")[: max(spare, 0)]] += 1
    while True:
        excess = int(sizes.sum()) - clients
        gain = f / (sizes * (sizes + 1.0))
        with np.errstate(divide="ignore"):
            cost = np.where(sizes > 1, f / (sizes * (sizes - 1.0)), np.inf)
        if not excess and gain.max() <= cost.min() * (1 + 1e-12):
            return tuple(sizes.tolist())
        sizes[cost.argmin()] -= 1
        if not excess:
            sizes[gain.argmax()] += 1


def assign(identifiers: NDArray[np.uint8], key: bytes, sizes: Sequence[int]) -> NDArray[np.int64]:
    """The group of every client, by a keyed hash of a random identifier: never by data.

        rank of AES_key(identifier) among all clients: the first sizes[0] are in group 0, the next sizes[1] in 1, ...

    where:
        identifiers  are 16 bytes each, a row for every client, all different,
        key          are 16 bytes, public and drawn afresh for every survey, after the identifiers are fixed.
    """
    rows = np.ascontiguousarray(identifiers, dtype=np.uint8)
    if rows.ndim != 2 or rows.shape[1] != 16 or len(rows) != sum(sizes):
        raise ParameterError(
            "identifiers", rows.shape, f"{sum(sizes)} rows of 16 bytes", "Give one identifier for every client."
        )
    cipher = Cipher(algorithms.AES128(key), modes.ECB()).encryptor()
    hashed = np.frombuffer(cipher.update(rows.tobytes()), dtype=">u8").reshape(-1, 2)
    groups = np.empty(len(rows), dtype=np.int64)
    groups[np.lexsort((hashed[:, 1], hashed[:, 0]))] = np.repeat(np.arange(len(sizes)), sizes)
    return groups


def numbered(clients: int) -> NDArray[np.uint8]:
    """The identifiers 0, 1, 2, ... for clients who have none of their own."""
    rows = np.zeros((clients, 2), dtype=">u8")
    rows[:, 1] = np.arange(clients)
    return rows.view(np.uint8).reshape(clients, 16)


class Grouping:
    """Searches for the groups with the least sum of errors at the best allocation, (sum_g sqrt(f_g))^2."""

    def __init__(self, chooser: Chooser) -> None:
        """Groups are judged with one epsilon for all their attributes."""
        self._chooser = chooser
        self._attributes = len(chooser.errors.sizes)
        self._roots: dict[tuple[int, ...], float] = {}

    def fixed(self, size: int) -> Partition:
        """Groups of this size (the last ones may be one smaller), weakly correlated attributes together."""
        start = self._spread_out(-(-self._attributes // size))
        return self._improved(start, room=size, groups=len(start))

    def best(self) -> Partition:
        """Groups of any sizes; one attribute a client is among those that are compared.

        All partitions of up to 8 attributes are compared; of more, those that merging, balanced groups and moves reach.
        """
        if self._attributes <= _ALL:
            return self._best_of_all()
        starts = {self._joined()} | {self._spread_out(groups) for groups in range(1, self._attributes)}
        self._know(group for partition in starts for group in partition)
        return self._improved(min(sorted(starts), key=self._cost), room=self._attributes)

    def _best_of_all(self) -> Partition:
        """For ever larger sets: the best group of its first attribute, and the best partition of the rest."""
        everybody = tuple(range(self._attributes))
        groups = [group for size in everybody for group in combinations(everybody, size + 1)]
        self._know(groups)
        best: dict[tuple[int, ...], tuple[float, Partition]] = {(): (0.0, ())}
        for members in groups:
            first, others = members[0], members[1:]
            candidates = []
            for size in range(len(others) + 1):
                for joined in combinations(others, size):
                    cost, partition = best[tuple(j for j in others if j not in joined)]
                    group = (first, *joined)
                    candidates.append((cost + self._roots[group], (group, *partition)))
            best[members] = min(candidates)
        return tuple(sorted(best[everybody][1]))

    def _cost(self, partition: Partition) -> float:
        return sum(self._roots[group] for group in partition)

    def _know(self, groups: Iterable[tuple[int, ...]]) -> None:
        """Find the error of all these groups at once."""
        unknown = sorted({group for group in groups if group not in self._roots and group})
        if unknown:
            masks = np.zeros((len(unknown), self._attributes), dtype=np.bool_)
            for row, group in enumerate(unknown):
                masks[row, list(group)] = True
            errors = self._chooser.error(self._chooser.alike(masks, roughly=True))
            self._roots |= dict(zip(unknown, np.sqrt(errors).tolist(), strict=True))
        self._roots[()] = 0.0

    def _joined(self) -> Partition:
        """From one attribute a client, join the two groups that gain most, as long as that helps."""
        parts: list[tuple[int, ...]] = [(j,) for j in range(self._attributes)]
        while len(parts) > 1:
            pairs = [(a, b) for a in range(len(parts)) for b in range(a)]
            self._know([*parts, *(_union(parts[a], parts[b]) for a, b in pairs)])
            gains = [
                self._roots[parts[a]] + self._roots[parts[b]] - self._roots[_union(parts[a], parts[b])]
                for a, b in pairs
            ]
            best = int(np.argmax(gains))
            if gains[best] <= 0:
                break
            a, b = pairs[best]
            parts = [part for index, part in enumerate(parts) if index not in (a, b)] + [_union(parts[a], parts[b])]
        return tuple(sorted(parts))

    def _spread_out(self, groups: int) -> Partition:
        """So many groups of about one size; attributes go where they are least correlated with those already there."""
        strength = self._strength()
        room = -(-self._attributes // groups)
        parts: list[list[int]] = [[] for _ in range(groups)]
        for attribute in np.argsort(-strength.sum(axis=1), kind="stable").tolist():
            free = [part for part in parts if len(part) < room]
            part = min(free, key=lambda part: (sum(strength[attribute, other] for other in part), len(part)))
            part.append(attribute)
        return tuple(sorted(tuple(sorted(part)) for part in parts if part))

    def _strength(self) -> Array:
        """How much reporting two attributes together costs: their joint error above that of apart."""
        pairs = [(a, b) for b in range(self._attributes) for a in range(b)]
        self._know([*pairs, *((j,) for j in range(self._attributes))])
        strength = np.zeros((self._attributes, self._attributes))
        for a, b in pairs:
            apart = self._roots[(a,)] ** 2 + self._roots[(b,)] ** 2
            strength[a, b] = strength[b, a] = self._roots[a, b] ** 2 / apart - 1
        return strength

    def _improved(self, partition: Partition, room: int, groups: int | None = None) -> Partition:
        """Move or swap single attributes as long as that helps."""
        self._know(partition)
        for _ in range(_MOVES):
            tries = [
                each for each in _neighbours(partition) if max(map(len, each)) <= room and groups in (None, len(each))
            ]
            if not tries:
                break
            self._know(group for each in tries for group in each)
            better = min(tries, key=self._cost)
            if self._cost(better) >= self._cost(partition) * (1 - 1e-6):
                break
            partition = better
        return partition


def _union(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(first + second))


def _neighbours(partition: Partition) -> list[Partition]:
    """All partitions in which one attribute is elsewhere, or two have changed places."""
    partitions = set()
    for source in partition:
        for attribute in source:
            left = tuple(each for each in source if each != attribute)
            for target in (*partition, ()):
                if target == source:
                    continue
                rest = [group for group in partition if group not in (source, target)]
                partitions.add(_ordered([*rest, left, _union(target, (attribute,))]))
                for other in target:
                    kept = tuple(each for each in target if each != other)
                    partitions.add(_ordered([*rest, _union(left, (other,)), _union(kept, (attribute,))]))
    partitions.discard(partition)
    return sorted(partitions)


def _ordered(groups: Iterable[tuple[int, ...]]) -> Partition:
    return tuple(sorted(group for group in groups if group))
