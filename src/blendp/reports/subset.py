"""The blendp method's reports: a set of items with the whole epsilon, about the query or about the record.

    P(report | cell) = P(question) P(S | item)

where:
    S     is the set of items that the report names,
    item  is the cell, or its query if that is the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from blendp.errors import require_choice, require_number
from blendp.headlist import HeadList
from blendp.mechanisms import FrequencyOracle, SubsetSelection, WildcardApart
from blendp.privacy import Budget
from blendp.randomness import Random
from blendp.randomness.random import COIN_BITS
from blendp.reports.list_scheme import ListScheme
from blendp.reports.names import ORACLES
from blendp.reports.question import Question
from blendp.reports.report import Report
from blendp.reports.scheme import Likelihood, likeliest_first
from blendp.reports.sums import ReportSums

_NOUNS = {"query": ("query", "queries"), "record": ("record", "records")}


@lru_cache(maxsize=16)
def subset_randomiser(epsilon: float, items: int, width: int | None = None) -> SubsetSelection:
    """Subset selection among so many items, derived once."""
    return SubsetSelection(epsilon, items, width)


@lru_cache(maxsize=16)
def apart_randomiser(epsilon: float, items: int) -> WildcardApart:
    """Wildcard apart among so many items, derived once."""
    return WildcardApart(epsilon, items)


def frequency_oracle(oracle: str, epsilon: float, items: int) -> FrequencyOracle:
    """One of :data:`ORACLES` among so many items."""
    require_choice("randomiser", oracle, ORACLES)
    return subset_randomiser(epsilon, items) if oracle == "split" else apart_randomiser(epsilon, items)


def subset_randomisers(epsilon: float, head_list: HeadList) -> tuple[SubsetSelection, SubsetSelection]:
    """How clients report the queries of a list, and its cells, by subset selection."""
    return subset_randomiser(epsilon, head_list.queries + 1), subset_randomiser(epsilon, head_list.cells)


def frequency_oracles(oracle: str, epsilon: float, head_list: HeadList) -> tuple[FrequencyOracle, FrequencyOracle]:
    """How clients report the queries of a list, and its cells."""
    queries, cells = head_list.queries + 1, head_list.cells
    return frequency_oracle(oracle, epsilon, queries), frequency_oracle(oracle, epsilon, cells)


def subset_questions(epsilon: float, head_list: HeadList, oracle: str = "split") -> Mapping[str, Question]:
    """What the blendp method asks about a list."""
    return _questions(oracle, epsilon, head_list.queries + 1, head_list.cells)


@lru_cache(maxsize=16)
def _questions(oracle: str, epsilon: float, queries: int, cells: int) -> Mapping[str, Question]:
    items = {"query": queries, "record": cells}
    return MappingProxyType(
        {name: Question(name, (frequency_oracle(oracle, epsilon, n),)) for name, n in items.items()}
    )


@dataclass(frozen=True)
class SubsetScheme(ListScheme):
    """One report with the whole epsilon: with probability ``query_share`` about the query, else about the record.

    Both are answered by ``oracle``, one of :data:`ORACLES`.
    """

    head_list: HeadList
    epsilon: float
    query_share: float
    oracle: str = "split"

    def __post_init__(self) -> None:
        """Refuse what no randomiser takes."""
        Budget(self.epsilon)
        require_number(
            "query_share",
            self.query_share,
            min_value=0,
            max_value=1,
            legal="from 0 to 1",
            remedy="Take the campaign's value.",
        )
        self.questions  # noqa: B018

    @cached_property
    def questions(self) -> Mapping[str, Question]:
        """The query of a record, and the record."""
        return subset_questions(self.epsilon, self.head_list, self.oracle)

    @cached_property
    def randomisers(self) -> Mapping[str, FrequencyOracle]:
        """What answers each question."""
        both = frequency_oracles(self.oracle, self.epsilon, self.head_list)
        return dict(zip(("query", "record"), both, strict=True))

    @property
    def _coin(self) -> int:
        return round(self.query_share * (1 << COIN_BITS))

    def chance(self, question: str) -> Fraction:
        """The query's share, rounded to a multiple of 2^-53; the record's is the rest."""
        share = Fraction(self._coin, 1 << COIN_BITS)
        return {"query": share, "record": 1 - share}.get(question, Fraction(0))

    def asked(self, random: Random) -> str:
        """Draw whether a person is asked for the query or for the record."""
        return "query" if bool(random.coins(self._coin, 1)[0]) else "record"

    def encoded(self, question: str, cell: int, random: Random) -> bytes:
        """The rank of a subset that may hold the cell's item."""
        randomiser = self.randomisers[question]
        item = int(self.head_list.query_of_cell[cell]) if question == "query" else cell
        return randomiser.encode(np.flatnonzero(randomiser.draw([item], random)[0]).tolist())

    def numbers(self) -> Iterator[str]:
        """For each question its name, its chance, k, w and the coins; chance and coins over 2^53."""
        for name, randomiser in self.randomisers.items():
            chance = int(self.chance(name) * (1 << COIN_BITS))
            yield " ".join(map(str, (name, chance, randomiser.items, randomiser.size, *randomiser.coins)))

    def _item_of_cell(self, question: str) -> NDArray[np.int64]:
        return self.head_list.query_of_cell if question == "query" else np.arange(self.head_list.cells)

    def likelihoods(self, report: Report) -> tuple[Likelihood, ...]:
        """Two or three numbers: for cells whose item the report names, for others, and for <*,*> where it is apart."""
        self.require(report)
        randomiser, chance = self.randomisers[report.question], self.chance(report.question)
        item_of_cell = self._item_of_cell(report.question)
        one, several = _NOUNS[report.question]
        which = {
            "named": f"one of the {several} that it names",
            "unnamed": f"a {one} that it does not name",
            "unlisted": "no listed query",
            "listed": "a listed query",
        }
        return likeliest_first(
            Likelihood(which[word], np.flatnonzero(np.isin(item_of_cell, items)), chance * probability)
            for word, items, probability in randomiser.likelihoods(randomiser.decode(report.data))
        )

    def ratio(self) -> Fraction:
        """That of the question with the larger one, of those that are asked."""
        return max(randomiser.ratio() for name, randomiser in self.randomisers.items() if self.chance(name))

    def loss(self) -> float:
        """The exact pure epsilon, never above epsilon itself."""
        return max(randomiser.loss() for name, randomiser in self.randomisers.items() if self.chance(name))

    def delta(self) -> float:
        """It is pure epsilon-LDP."""
        return 0.0

    def draw(self, cells: NDArray[np.int64], random: Random) -> ReportSums:
        """The sums of what people send who hold these cells."""
        own = cells[:, 0]
        of_query = random.coins(self._coin, len(own))
        items = {"query": self.head_list.query_of_cell[own[of_query]], "record": own[~of_query]}
        supports = {name: self.randomisers[name].supports(some, random) for name, some in items.items()}
        reports = {name: len(some) for name, some in items.items()}
        return ReportSums(self.list_sha256, self.questions, reports, supports)

    def draw_from_law(self, clients: int, law: NDArray[np.float64], generator: np.random.Generator) -> ReportSums:
        """The law of the sums, in a time that does not grow with the clients."""
        of_query = int(generator.binomial(clients, self.query_share))
        reports = {"query": of_query, "record": clients - of_query}
        laws = {"query": np.bincount(self.head_list.query_of_cell, weights=law).astype(np.float64), "record": law}
        holders = {name: generator.multinomial(reports[name], laws[name]) for name in laws}
        supports = {name: self.randomisers[name].supports_of_counts(some, generator) for name, some in holders.items()}
        return ReportSums(self.list_sha256, self.questions, reports, supports)
