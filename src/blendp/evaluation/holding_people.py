"""Opt-in people drawn with all their records, and clients known by the law alone: for experiments.

The truth is a law, as in :mod:`blendp.evaluation.drawn_people`: the probability that a uniformly drawn record of a
uniformly drawn person is r. The same drawn people can be asked in every way, so ways are compared on the same people.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from blendp.arrays import Ids, ranks_in_groups
from blendp.errors import ParameterError, require_count, require_number
from blendp.evaluation.drawn_people import RecordLaw, generator_of
from blendp.evaluation.law_records import LawRecords
from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.logs.synthetic import Population, law
from blendp.mechanisms.filtered_union import HeldRecords, ShareSums
from blendp.mechanisms.filtered_union.holdings import MAX_DIFFERENT, Holdings
from blendp.methods import GroupSizes, Parameters
from blendp.methods.people import counts_of, sums_of_holdings
from blendp.randomness import Random, SimulationRandom
from blendp.reports import ListScheme, ReportSums


@dataclass(frozen=True, eq=False)
class OptInHoldings:
    """The opt-in people of one experiment, with all their records, how many clients there are, and everybody's law."""

    law: RecordLaw
    holdings: Holdings
    clients: int

    def __post_init__(self) -> None:
        """Refuse a negative number of clients."""
        require_count("clients", self.clients, min_value=0, remedy="Count the people outside the opt-in group.")

    def ask(self, parameters: Parameters, random: SimulationRandom) -> HoldingPeople:
        """These people as a method sees them: as many of each one's records, drawn anew, as the parameters ask for."""
        if parameters.client_records != 1:
            raise ParameterError(
                "client_records", parameters.client_records, "1 for people drawn from a law", "Use evaluate on a log."
            )
        people, each = self.holdings, self.holdings.occurrences
        occurrences = rows_of(
            np.repeat(people.owner, each),
            np.repeat(people.record, each),
            people.people,
            parameters.max_opt_in_records,
            random.generator,
        )
        return HoldingPeople(self, round(parameters.list_makers * people.people), occurrences)


@dataclass(frozen=True, eq=False)
class HoldingPeople:
    """People as a method sees them (see :class:`~blendp.methods.People`). The first ones make the list.

    where:
        occurrences  has a row of record ids for every opt-in person: a uniformly random choice of their occurrences,
                     -1 for those without any.
    """

    drawn: OptInHoldings
    list_makers: int
    occurrences: Ids = field(repr=False)

    @property
    def sizes(self) -> GroupSizes:
        """How many are in each group."""
        opting = self.drawn.holdings.people
        return GroupSizes(self.list_makers, opting - self.list_makers, self.drawn.clients)

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""
        return self.drawn.law.log.levels

    @property
    def distinct_records(self) -> int:
        """Record ids are below this."""
        return self.drawn.law.log.distinct_records

    def list_records(self) -> Ids:
        """The records of the opt-in users who make the list; -1 for none."""
        return self.occurrences[: self.list_makers]

    def holdings(self) -> Holdings:
        """Every different record of the opt-in users who make the list, and how often they have it."""
        every = self.drawn.holdings
        if self.list_makers == every.people:
            return every
        end = int(every.start[self.list_makers])
        return Holdings(
            self.list_makers, every.owner[:end], every.record[:end], every.occurrences[:end], every.kept[:end]
        )

    def texts(self, ids: Ids) -> list[Record]:
        """What these records say."""
        return self.drawn.law.texts(ids)

    def locate(self, head_list: HeadList) -> Ids:
        """The cell of every record, and last that of no record."""
        return self.drawn.law.locate(head_list)

    def list_counts(self) -> Iterable[Ids]:
        """How often each record occurs among those of the opt-in users who make the list."""
        return counts_of(self.list_records(), self.distinct_records)

    def query_counts(self) -> Iterable[Ids]:
        """The same of their queries."""
        return counts_of(self.drawn.law.queries(self.list_records()), len(self.drawn.law.truth.query))

    def query_texts(self, ids: Ids) -> list[str]:
        """What these queries say."""
        return self.drawn.law.query_texts(ids)

    def share_sums(self, holdings: HeldRecords, head_list: HeadList) -> ShareSums:
        """The shares of what people hold in the cells of a list, added up."""
        return sums_of_holdings(holdings, self.locate(head_list), head_list)

    def list_cells(self, head_list: HeadList) -> Ids:
        """The cells of the opt-in users who make the list."""
        return self.locate(head_list)[self.occurrences[: self.list_makers]]

    def estimate_cells(self, head_list: HeadList) -> Ids:
        """The cells of the other opt-in users."""
        return self.locate(head_list)[self.occurrences[self.list_makers :]]

    def reports(self, scheme: ListScheme, random: Random) -> ReportSums:
        """The clients' reports: the law of their sums."""
        return scheme.draw_from_law(self.drawn.clients, self.drawn.law.cells(scheme.head_list), generator_of(random))


class PeopleSource(Protocol):
    """Where people with many records come from."""

    def draw(self, people: int, opt_in: float, random: SimulationRandom) -> OptInHoldings:
        """As many people as said, drawn anew, of whom a share opts in."""


@dataclass(frozen=True)
class SyntheticPeople:
    """People of a synthetic population, drawn as numbers; their truth is its law."""

    population: Population

    def draw(self, people: int, opt_in: float, random: SimulationRandom) -> OptInHoldings:
        """As many people as said, drawn anew, of whom a share opts in."""
        opting, clients = groups(people, opt_in)
        generator = random.generator
        counts, ranks, places = self.population.draw(generator, opting)
        records = LawRecords.of_ranks(law(self.population.name), ranks)
        owner = np.repeat(np.arange(opting), counts)
        holdings = holdings_of(owner, records.ids(ranks, places), opting, generator)
        return OptInHoldings(RecordLaw(records), holdings, clients)


def groups(people: int, opt_in: float) -> tuple[int, int]:
    """How many of so many people opt in, and how many are clients."""
    require_count("people", people, min_value=1, remedy="Ask for at least one person.")
    require_number(
        "opt_in", opt_in, above=0, below=1, legal="above 0 and below 1", remedy="0.05 means that 5 % opt in."
    )
    opting = round(opt_in * people)
    return opting, people - opting


def holdings_of(owner: Ids, record: Ids, people: int, generator: np.random.Generator) -> Holdings:
    """What so many people hold, from a row for every occurrence: whose it is, and which record."""
    width = int(record.max(initial=0)) + 1
    pairs, times = np.unique(owner * width + record, return_counts=True)
    owner, record = np.divmod(pairs, width)
    kept = np.ones(len(pairs), dtype=bool)
    many = np.flatnonzero(np.bincount(owner, minlength=people)[owner] > MAX_DIFFERENT)
    order, turn = ranks_in_groups(generator.random(len(many)), owner[many])
    kept[many[order]] = turn < MAX_DIFFERENT
    return Holdings(people, owner, record, times.astype(np.int64), kept)


def rows_of(owner: Ids, record: Ids, people: int, per_user: int, generator: np.random.Generator) -> Ids:
    """So many of each person's rows, chosen at random; of a person with fewer all, repeated in turn; -1 for none."""
    order, _ = ranks_in_groups(generator.random(len(owner)), owner)
    counts = np.bincount(owner, minlength=people)
    somebody = np.flatnonzero(counts)
    first = (np.cumsum(counts) - counts)[somebody]
    chosen = np.full((people, per_user), -1, dtype=np.int64)
    chosen[somebody] = record[order][first[:, None] + np.arange(per_user) % counts[somebody, None]]
    return chosen
