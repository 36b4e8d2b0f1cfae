"""What people hold: every different record of each of them, and how often."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Protocol, Self

import numpy as np

from blendp.arrays import Bools, Ids
from blendp.errors import ParameterError, require_count
from blendp.mechanisms.filtered_union.bounded import bounded

MAX_DIFFERENT = 100
"""How many different records of a person may weigh in the list."""

MAX_OCCURRENCES = 1 << 50
"""How many occurrences all people may have together: shares are computed in 64 bits."""

GRID = 512
"""G: the length of a person's weights in L2."""


class HeldRecords(Protocol):
    """What people hold, wherever it lies, as the list's two rounds ask for it: exact sums, before any noise.

    Records that occur in a kept row have positions from 0 on.
    """

    @property
    def people(self) -> int:
        """How many they are, those without any record included: a public number."""

    def different_up_to(self, bound: int) -> int:
        """How many different records people have, so many at most of each, all people together."""

    def filter_totals(self) -> Iterator[Ids]:
        """V of round 1 for every record that occurs, in blocks: the sum over holders of floor(G/sqrt(d)).

        where:
            d  is how many kept rows the holder has.
        """

    def list_totals(self, passing: Ids, emphasis: Ids) -> Ids:
        """W of round 2 for the records at these positions, all of which pass: the sum over holders of floor(G c/|c|).

        where:
            c    is the record's emphasis, from 1 to 64,
            |c|  is the root of the sum of squares over the holder's own records that pass.
        """

    def named(self, positions: Ids) -> Ids:
        """The numbers of the records at these positions."""


@dataclass(frozen=True, eq=False)
class Holdings:
    """The records of ``people`` people, a row for every different record of a person.

    where:
        people       is how many they are, those without any record included: a public number,
        owner        is whose row it is, from 0 to people - 1, ascending,
        record       is the id of the record, from 0 on; no record of a person has two rows,
        occurrences  is how often this person has it, at least once, and 2^50 times at most all rows together; all rows
                     count in the person's shares,
        kept         marks the rows that may weigh in the list: at most :data:`MAX_DIFFERENT` of a person, a uniformly
                     random choice of their different records, whatever others hold, if they have more.
    """

    people: int
    owner: Ids = field(repr=False)
    record: Ids = field(repr=False)
    occurrences: Ids = field(repr=False)
    kept: Bools = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse rows that are not as said, and freeze them."""
        require_count("people", self.people, min_value=0, remedy="Count everybody, also those without a record.")
        for name, kind in (("owner", "int64"), ("record", "int64"), ("occurrences", "int64"), ("kept", "bool")):
            rows = getattr(self, name)
            if not isinstance(rows, np.ndarray) or rows.dtype != kind or rows.shape != np.shape(self.owner)[:1]:
                shape = f"{rows.dtype} array of shape {rows.shape}" if isinstance(rows, np.ndarray) else type(rows)
                raise ParameterError(name, shape, f"a column of {kind}, as long as owner", "Give each row all four.")
        if len(self.owner):
            self._refuse_wrong_rows()
        for rows in (self.owner, self.record, self.occurrences, self.kept):
            rows.setflags(write=False)

    def _refuse_wrong_rows(self) -> None:
        _require("owner", int(self.owner[0]), self.owner[0] >= 0, "0 or more", "Number people from 0.")
        last = int(self.owner[-1])
        _require("owner", last, last < self.people, f"below people = {self.people}", "Count everybody.")
        step = np.diff(self.owner)
        _require("owner", "a lower one after a higher", bool(np.all(step >= 0)), "ascending", "Sort the rows by owner.")
        low = int(self.record.min())
        _require("record", low, low >= 0, "0 or more", "Leave people without records without rows.")
        few = int(self.occurrences.min())
        _require("occurrences", few, few >= 1, "1 or more", "Leave out what a person does not have.")
        every = float(self.occurrences.sum(dtype=np.float64))
        _require("occurrences", every, every <= MAX_OCCURRENCES, "2^50 or fewer of all", "Count rows of a real log.")
        if not np.all((step > 0) | (np.diff(self.record) > 0)):
            order = np.lexsort((self.record, self.owner))
            again = (step == 0) & (np.diff(self.record[order]) == 0)
            _require(
                "record", "twice the same of one person", not again.any(), "different", "Add up their occurrences."
            )
        most = int(np.bincount(self.owner[self.kept], minlength=1).max())
        _require("kept", most, most <= MAX_DIFFERENT, f"at most {MAX_DIFFERENT} rows of a person", "Choose fewer.")

    @classmethod
    def one_each(cls, records: Ids) -> Self:
        """One record of each person, given by its id; -1 for people without any."""
        owner = np.flatnonzero(records >= 0)
        once = np.ones(len(owner), dtype=np.int64)
        return cls(len(records), owner, records[owner], once, once.astype(bool))

    @cached_property
    def start(self) -> Ids:
        """Where each person's rows start, and last where all end: those of i are rows start[i] to start[i + 1] - 1."""
        return np.searchsorted(self.owner, np.arange(self.people + 1))

    def different_up_to(self, bound: int) -> int:
        """How many different records people have, so many at most of each, all people together."""
        return int(np.minimum(self.different, bound).sum())

    @cached_property
    def _kept_rows(self) -> tuple[Ids, Ids, Ids]:
        """Owner and position of every kept row, and the numbers of the records at the positions."""
        occurring, row = np.unique(self.record[self.kept], return_inverse=True)
        return self.owner[self.kept], row, occurring

    def named(self, positions: Ids) -> Ids:
        """The numbers of the records at these positions: those that occur, ascending."""
        return self._kept_rows[2][positions]

    def filter_totals(self) -> Iterator[Ids]:
        """V of round 1 for every record that occurs, in one block."""
        owner, row, occurring = self._kept_rows
        different = np.bincount(owner, minlength=self.people)
        yield added(row, filter_weights()[different[owner]], len(occurring))

    def list_totals(self, passing: Ids, emphasis: Ids) -> Ids:
        """W of round 2 for the records at these positions, all of which pass."""
        owner, row, occurring = self._kept_rows
        of_record = np.zeros(len(occurring), dtype=np.int64)
        of_record[passing] = emphasis
        weighty = of_record[row] > 0
        weights = bounded(owner[weighty], of_record[row[weighty]], GRID, grow=True)
        return added(row[weighty], weights, len(occurring))[passing]

    @property
    def different(self) -> Ids:
        """How many different records each person has."""
        return np.diff(self.start)

    @cached_property
    def totals(self) -> Ids:
        """How many occurrences each person has, of all their records."""
        added = np.concatenate([[0], np.cumsum(self.occurrences)])
        return np.diff(added[self.start])


@lru_cache(maxsize=1)
def filter_weights() -> Ids:
    """floor(G/sqrt(d)) for d = 0, ..., 100; 0 for 0."""
    return np.array([0] + [math.isqrt(GRID**2 // d) for d in range(1, MAX_DIFFERENT + 1)], dtype=np.int64)


def added(row: Ids, weights: Ids, rows: int) -> Ids:
    """The sum of the weights of every row: sums of doubles that are whole numbers, exact up to 2^53."""
    return np.bincount(row, weights=weights, minlength=rows).astype(np.int64)


def _require(name: str, value: object, fine: bool, legal: str, remedy: str) -> None:
    if not fine:
        raise ParameterError(name, value, legal, remedy)
