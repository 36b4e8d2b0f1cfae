"""Who is in which part of a survey: people draw lots by their place in the table, never by their answers.

    lot = first 60 bits of AES_key(place)

where:
    place  is the number of the person's row, from 0,
    key    are 128 random bits, drawn anew for every survey.

The people with the lowest lots are the first part, those with the next ones the second, and so on. A lot can be worked
out again whenever a row is read, on any machine, so nothing has to be remembered of people, and nobody's part depends
on what anybody answered. (Two people share a lot with a probability below 10^-3 among ten million; only if they stand
on both sides of a border of two parts does a part get one person more than it should.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from blendp.arrays import Bools, Ids
from blendp.errors import ParameterError

LOT_BITS = 60
MAX_LOT = 1 << LOT_BITS
"""Lots are below this."""

BIN_BITS = 20
"""So many leading bits of a lot name its bin; borders of parts are found bin by bin."""

BIN_SHIFT = LOT_BITS - BIN_BITS
_AT_ONCE = 1 << 20
_MAX_CELLS = 1 << 27

Axes = tuple[int, ...]
"""The attributes of a table of counts."""


class Words(Protocol):
    """A source of random words."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """So many independent uniform words."""


@dataclass(frozen=True)
class Part:
    """The people with lots from ``low`` to ``high`` (excluded); if it counts, those who opt in or not by the table."""

    low: int = 0
    high: int = MAX_LOT
    opt_in: bool | None = None

    def holds(self, lots: Ids, opt_in: Bools | None) -> Bools:
        """Who is in it, of people with these lots."""
        inside: Bools = (lots >= self.low) & (lots < self.high)
        if self.opt_in is None:
            return inside
        assert opt_in is not None
        return inside & (opt_in if self.opt_in else ~opt_in)


@dataclass(frozen=True)
class Lots:
    """Everybody's lot under one key."""

    key: bytes = field(repr=False)

    @classmethod
    def draw(cls, random: Words) -> Lots:
        """Lots under a fresh key."""
        return cls(random.words(2).tobytes())

    def of(self, start: int, stop: int) -> Ids:
        """The lots of the people from this place to that one (excluded)."""
        places = np.zeros((stop - start, 2), dtype=">u8")
        places[:, 1] = np.arange(start, stop)
        cipher = Cipher(algorithms.AES128(self.key), modes.ECB()).encryptor()
        hashed = np.frombuffer(cipher.update(places.tobytes()), dtype=">u8")[::2]
        return (hashed >> np.uint64(64 - LOT_BITS)).astype(np.int64)

    def borders(self, people: int, ranks: Sequence[int]) -> list[int]:
        """For each rank the lot below which so many of the people are."""
        return find_borders(people, ranks, lambda: (self.of(*ends) for ends in blocks(people)))


def blocks(people: int, length: int = _AT_ONCE) -> Iterator[tuple[int, int]]:
    """Where blocks of people start and end."""
    return ((start, min(start + length, people)) for start in range(0, people, length))


def find_borders(people: int, ranks: Sequence[int], sweep: Callable[[], Iterator[Ids]]) -> list[int]:
    """For each rank the lot below which so many of ``people`` are; ``sweep`` goes through all lots, each time anew."""
    if people <= _AT_ONCE:
        return _borders_inside(ranks, np.array([0]), np.concatenate([*sweep(), np.empty(0, dtype=np.int64)]), people)
    bins = np.zeros(1 << BIN_BITS, dtype=np.int64)
    for lots in sweep():
        bins += np.bincount(lots >> BIN_SHIFT, minlength=len(bins))
    return borders_by_bin(
        ranks, bins, lambda chosen: np.concatenate([lots[np.isin(lots >> BIN_SHIFT, chosen)] for lots in sweep()])
    )


def borders_by_bin(ranks: Sequence[int], bins: Ids, lots_in: Callable[[Ids], Ids]) -> list[int]:
    """The same, of how many lots every bin has, and a way to ask for the lots in some bins."""
    ends = np.cumsum(bins)
    wanted = [rank for rank in ranks if 0 < rank < ends[-1]]
    chosen = np.unique(np.searchsorted(ends, wanted, side="right"))
    before = ends[chosen] - bins[chosen]
    return _borders_inside(ranks, before, lots_in(chosen) if len(chosen) else np.empty(0, np.int64), int(ends[-1]))


def _borders_inside(ranks: Sequence[int], before: Ids, lots: Ids, people: int) -> list[int]:
    """``lots`` are those of some bins, ``before`` how many people are below each of these bins."""
    ordered = np.sort(lots)
    if len(before) == 1:
        starts = np.array([0])
    else:
        bin_of = ordered >> BIN_SHIFT
        starts = np.searchsorted(bin_of, np.unique(bin_of))
    borders = []
    for rank in ranks:
        if not 0 < rank < people:
            borders.append(0 if rank <= 0 else MAX_LOT)
            continue
        at = int(np.searchsorted(before, rank, side="right")) - 1
        borders.append(int(ordered[starts[at] + rank - int(before[at])]))
    return borders


@dataclass(frozen=True)
class Tables:
    """What is asked of a part: tables of how many gave each combination of answers to some questions."""

    part: Part
    axes: tuple[Axes, ...]


Block = tuple[int, NDArray[np.integer], Bools | None]
"""People who stand one after the other: the place of the first, their answers' codes, a row each, and who opts in."""


def count_tables(people: Iterator[Block], sizes: Sequence[int], lots: Lots, asked: Sequence[Tables]) -> list[list[Ids]]:
    """Go through people once and fill all tables that are asked for."""
    counted = [[np.zeros(shape_of(sizes, axes), dtype=np.int64) for axes in tables.axes] for tables in asked]
    for start, codes, opt_in in people:
        drawn = lots.of(start, start + len(codes))
        for tables, sums in zip(asked, counted, strict=True):
            some = np.flatnonzero(tables.part.holds(drawn, opt_in))
            columns = {j: codes[some, j] for j in sorted({j for axes in tables.axes for j in axes})}
            for number, axes in enumerate(tables.axes):
                sums[number] += count_cells([columns[j] for j in axes], sums[number].shape)
    return counted


def count_cells(columns: Sequence[NDArray[np.integer]], shape: tuple[int, ...]) -> Ids:
    """How many rows have each combination of codes."""
    if len(columns) == 1:
        return np.bincount(columns[0], minlength=shape[0])
    cell = columns[0].astype(np.int64)
    for column, size in zip(columns[1:], shape[1:], strict=True):
        cell *= size
        cell += column
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)


def shape_of(sizes: Sequence[int], axes: Axes) -> tuple[int, ...]:
    """How many values the attributes of a table have, if it is not too large."""
    shape = tuple(sizes[j] for j in axes)
    if np.prod(shape, dtype=np.float64) > _MAX_CELLS:
        raise ParameterError("axes", axes, f"questions with at most {_MAX_CELLS} combinations", "Count fewer at once.")
    return shape
