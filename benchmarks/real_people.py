"""Real people with many records, drawn with replacement: a file with a line for each, the pages they looked at.

The file may be compressed (.gz); the Kosarak log of the FIMI repository is one. A page of fewer than three people
becomes another one in every copy of its people: else what is rare would become popular by copying alone.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from blendp.arrays import Array, Bools, Ids
from blendp.engines import Truth
from blendp.evaluation.drawn_people import RecordLaw
from blendp.evaluation.holding_people import OptInHoldings, groups, holdings_of
from blendp.headlist.head_list import Record
from blendp.randomness import SimulationRandom

FEW = 3
"""With fewer people a page is rare."""


@dataclass(frozen=True, eq=False)
class PageRecords:
    """Pages by number: first those of several people, with their probabilities, then everybody's own rare ones."""

    names: tuple[str, ...] = field(repr=False)
    probability: Array = field(repr=False)
    rare: int

    @property
    def levels(self) -> int:
        """A page is a query without a URL."""
        return 1

    @property
    def distinct_records(self) -> int:
        """How many there are."""
        return len(self.names) + self.rare

    def texts(self, ids: Ids) -> list[Record]:
        """The name of a page as in the file, and a number for what one copy of a person alone has."""
        common = len(self.names)
        return [(self.names[i] if i < common else f"rare {i - common}", None) for i in ids.tolist()]

    def truth(self) -> Truth:
        """The share of a page among the records of a uniformly drawn person; a rare one has none to speak of."""
        p = np.concatenate((self.probability, np.zeros(self.rare)))
        return Truth(p, np.arange(len(p)), p)


@dataclass(frozen=True, eq=False)
class RealPeople:
    """The people of a file: each one's pages in a row, one after the other."""

    start: Ids = field(repr=False)
    page: Ids = field(repr=False)
    names: tuple[str, ...] = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> RealPeople:
        """From a file with a line for each person, pages apart by spaces; empty lines are nobody."""
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("ascii")
        lines = [line for line in map(str.split, text.splitlines()) if line]
        names, page = np.unique(np.array([name for line in lines for name in line]), return_inverse=True)
        start = np.concatenate(([0], np.cumsum([len(line) for line in lines])))
        return cls(start.astype(np.int64), page.astype(np.int64), tuple(names.tolist()))

    @property
    def counts(self) -> Ids:
        """How many records each person has."""
        return np.diff(self.start)

    @cached_property
    def _common(self) -> Bools:
        owner = np.repeat(np.arange(len(self.counts)), self.counts)
        pairs = np.unique(owner * len(self.names) + self.page)
        return np.bincount(pairs % len(self.names), minlength=len(self.names)) >= FEW

    @cached_property
    def _probability(self) -> Array:
        shares = np.repeat(1 / self.counts, self.counts) / len(self.counts)
        return np.bincount(self.page, weights=shares, minlength=len(self.names)).astype(np.float64)

    def draw(self, people: int, opt_in: float, random: SimulationRandom) -> OptInHoldings:
        """As many people as said, drawn with replacement, of whom a share opts in."""
        opting, clients = groups(people, opt_in)
        generator = random.generator
        who = generator.integers(len(self.counts), size=opting)
        each = self.counts[who]
        owner = np.repeat(np.arange(opting), each)
        inside = np.arange(len(owner)) - np.repeat(np.cumsum(each) - each, each)
        page = self.page[np.repeat(self.start[who], each) + inside]
        common = self._common[page]
        numbers = np.cumsum(self._common) - 1
        pairs, rare = np.unique((owner * len(self.names) + page)[~common], return_inverse=True)
        record = numbers[page]
        record[~common] = np.count_nonzero(self._common) + rare
        names = tuple(name for name, several in zip(self.names, self._common.tolist(), strict=True) if several)
        records = PageRecords(names, self._probability[self._common], len(pairs))
        return OptInHoldings(RecordLaw(records), holdings_of(owner, record, opting, generator), clients)
