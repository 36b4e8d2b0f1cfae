"""A survey's reports: each client of a group reports all of the group's attributes, bound to the whole design.

    P(report | record) = P(group) prod_j P(S_j | b_j)                         each attribute by subset selection
    P(report | record) = (prod_k 1/m_k) (1/d) sum_j t_j                       rsfd: see HiddenSampling

where:
    S_j  is the set of values that the report names of attribute j, of which the record has b_j.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import repeated_in_blocks
from blendp.canonical import canonical_json, sha256
from blendp.errors import ParameterError
from blendp.lots import blocks
from blendp.mechanisms import HiddenSampling, SubsetSelection
from blendp.randomness import Random, ReleaseRandom
from blendp.randomness.random import COIN_BITS
from blendp.reports import Likelihood, Question, Report, ReportScheme, ReportSums, SingleItem
from blendp.reports.scheme import likeliest_first
from blendp.survey.designs import Design, Group
from blendp.survey.grouping import assign, numbered

FORMAT = "blendp/survey-design/1"

_MAX_CELLS = 1 << 20


def question_of(group: int) -> str:
    """The name of the question that a group of clients answers."""
    return f"group-{group}"


@dataclass(frozen=True, eq=False)
class SurveyScheme(ReportScheme[Sequence[int]]):
    """How the clients of a survey report; what a person holds is a value of every attribute, counted from 0."""

    design: Design

    @cached_property
    def list_sha256(self) -> str:
        """The name of the design: SHA-256 of all that clients are told of it."""
        design = self.design
        groups = [
            {
                "attributes": group.attributes,
                "epsilons": group.epsilons,
                "sizes": group.sizes,
                "widths": group.widths,
                "clients": group.clients,
            }
            for group in design.groups
        ]
        inner = None if design.hidden is None else design.hidden.inner
        value = {"format": FORMAT, "method": design.method, "sizes": design.sizes, "groups": groups, "inner": inner}
        return sha256(canonical_json(value))

    @cached_property
    def questions(self) -> Mapping[str, Question]:
        """One for each group of attributes."""
        return {
            question_of(number): Question(
                question_of(number),
                group.randomisers if self.design.hidden is None else tuple(map(SingleItem, group.sizes)),
            )
            for number, group in enumerate(self.design.groups)
        }

    @property
    def cells(self) -> int:
        """How many different records there are."""
        return math.prod(self.design.sizes)

    def _group(self, question: str) -> Group:
        return self.design.groups[list(self.questions).index(self._question(question).name)]

    def chance(self, question: str) -> Fraction:
        """The group's share of the clients."""
        if question not in self.questions:
            return Fraction(0)
        return Fraction(self._group(question).clients, self.design.clients)

    def asked(self, random: Random) -> str:
        """Draw the group of a client."""
        numbers = [group.clients for group in self.design.groups]
        unit = math.gcd(*numbers)
        ends = list(accumulate(number // unit for number in numbers))
        return question_of(bisect_right(ends, int(random.below(ends[-1], 1)[0])))

    def answer(self, question: str, holding: Sequence[int], random: ReleaseRandom) -> bytes:
        """The randomised answers of a client of a group with these true values."""
        codes, group = self._codes(holding), self._group(question)
        if self.design.hidden is not None:
            chosen = [[int(value)] for value in self.design.hidden.release(codes[None], random)[0]]
        else:
            parts = zip(group.attributes, group.randomisers, strict=True)
            chosen = [np.flatnonzero(one.release(codes[[j]], random)[0]).tolist() for j, one in parts]
        return self.questions[question].encode(chosen)

    def _codes(self, record: Sequence[int]) -> NDArray[np.int64]:
        codes, sizes = np.asarray(record), self.design.sizes
        fine = codes.shape == (len(sizes),) and all(0 <= v < m for v, m in zip(codes, sizes, strict=True))
        if not fine:
            raise ParameterError(
                "record", list(record), f"one value for each of {len(sizes)} attributes", "Count values from 0."
            )
        return codes

    def likelihoods(self, report: Report) -> tuple[Likelihood, ...]:
        """A number for every choice of attributes whose value the report names; records count as cells."""
        self.require(report)
        if self.cells > _MAX_CELLS:
            raise ParameterError(
                "report", f"about {self.cells} records", f"at most {_MAX_CELLS}", "Take ratio, which needs no records."
            )
        group, chosen = self._group(report.question), self.questions[report.question].decode(report.data)
        codes = np.indices(self.design.sizes).reshape(len(self.design.sizes), -1)
        named = np.stack([np.isin(codes[j], items) for j, items in zip(group.attributes, chosen, strict=True)])
        patterns, which = np.unique(named, axis=1, return_inverse=True)
        return likeliest_first(
            Likelihood(
                _description(group, pattern),
                np.flatnonzero(which.ravel() == number),
                self.chance(report.question) * self._probability(group, pattern),
            )
            for number, pattern in enumerate(patterns.T)
        )

    def _probability(self, group: Group, named: NDArray[np.bool_]) -> Fraction:
        """That of one report of the group's clients, for records that have the named values of these attributes."""
        if self.design.hidden is not None:
            truths, others = _weights(self.design.hidden)
            total = sum((truths if inside else others)[j] for j, inside in enumerate(named))
            return Fraction(total) / (len(named) * math.prod(self.design.sizes))
        parts = zip(_pairs(group), named, strict=True)
        return math.prod((own if inside else other for (own, other), inside in parts), start=Fraction(1))

    def ratio(self) -> Fraction:
        """That of the group with the largest one."""
        if self.design.hidden is not None:
            truths, others = _weights(self.design.hidden)
            return Fraction(sum(truths)) / sum(others)
        return max(
            math.prod((own / other for own, other in _pairs(group)), start=Fraction(1)) for group in self.design.groups
        )

    def loss(self) -> float:
        """The exact pure epsilon of the whole record, as the design says it."""
        return self.design.losses.record

    def delta(self) -> float:
        """It is pure epsilon-LDP."""
        return 0.0

    def draw(self, codes: NDArray[np.int32], random: Random) -> ReportSums:
        """The sums of what these clients send: a row of true values for each.

        A keyed hash of the row's number, under a fresh key, decides who is in which group; each has as many clients as
        the design says.
        """
        design = self.design
        if len(codes) != design.clients:
            raise ParameterError("codes", len(codes), f"{design.clients} records, the design's clients", "Design anew.")
        reports = {question_of(number): group.clients for number, group in enumerate(design.groups)}
        if design.hidden is not None:
            supports = {question_of(0): np.concatenate(design.hidden.supports(codes, random))}
            return ReportSums(self.list_sha256, self.questions, reports, supports)
        key = random.words(2).tobytes()
        of_client = assign(numbered(len(codes)), key, [group.clients for group in design.groups])
        supports = {}
        for number, group in enumerate(design.groups):
            rows = np.flatnonzero(of_client == number)
            parts = zip(group.attributes, group.randomisers, strict=True)
            counts = [randomiser.supports(codes[rows, attribute], random) for attribute, randomiser in parts]
            supports[question_of(number)] = np.concatenate(counts)
        return ReportSums(self.list_sha256, self.questions, reports, supports)

    def parts(self, random: Random) -> list[tuple[int, tuple[int, ...]]]:
        """How many clients tell something of which attributes: a part of the clients for each group.

        With ``rsfd`` every client tells of one attribute, drawn here; so there is a part for each attribute.
        """
        design = self.design
        if design.hidden is None:
            return [(group.clients, group.attributes) for group in design.groups]
        numbers = np.zeros(len(design.sizes), dtype=np.int64)
        for start, stop in blocks(design.clients):
            numbers += np.bincount(random.below(len(numbers), stop - start), minlength=len(numbers))
        return [(number, (attribute,)) for attribute, number in enumerate(numbers.tolist())]

    def draw_counted(self, value_counts: Sequence[Sequence[NDArray[np.int64]]], random: Random) -> ReportSums:
        """The sums of what clients send, of how many in each of the :meth:`parts` have each value of its attributes.

        A client's report of an attribute depends on the client's own value of it alone, and reports are independent. So
        their sums have the law that :meth:`draw` gives them, whoever the clients with these values are.
        """
        design = self.design
        reports = {question_of(number): group.clients for number, group in enumerate(design.groups)}
        if design.hidden is not None:
            counts = [
                design.hidden.supports_of_counts(attribute, own, design.clients - int(own.sum()), random)
                for attribute, (own,) in enumerate(value_counts)
            ]
            return ReportSums(self.list_sha256, self.questions, reports, {question_of(0): np.concatenate(counts)})
        supports = {
            question_of(number): np.concatenate(
                [_supports(one, own, random) for one, own in zip(group.randomisers, owned, strict=True)]
            )
            for number, (group, owned) in enumerate(zip(design.groups, value_counts, strict=True))
        }
        return ReportSums(self.list_sha256, self.questions, reports, supports)

    def by_attribute(self, sums: ReportSums) -> list[NDArray[np.int64]]:
        """How many reports name each value of every attribute."""
        sums.require(self.list_sha256, self.questions)
        supports = [np.zeros(size, dtype=np.int64) for size in self.design.sizes]
        for number, group in enumerate(self.design.groups):
            counts = np.split(sums.supports[question_of(number)], list(accumulate(group.sizes))[:-1])
            for attribute, some in zip(group.attributes, counts, strict=True):
                supports[attribute] = some
        return supports


def _supports(randomiser: SubsetSelection, counts: NDArray[np.int64], random: Random) -> NDArray[np.int64]:
    """How many reports name each value, if so many clients have each: every client's report is drawn."""
    supports = np.zeros(len(counts), dtype=np.int64)
    for own in repeated_in_blocks(np.arange(len(counts)), counts):
        supports += randomiser.supports(own, random)
    return supports


def _pairs(group: Group) -> list[tuple[Fraction, Fraction]]:
    """For every attribute, the probabilities of a set of values that holds the true one, and of one that does not."""
    return [randomiser.cell_probabilities() for randomiser in group.randomisers]


def _weights(hidden: HiddenSampling) -> tuple[list[Fraction], list[Fraction]]:
    """m_j p_j and m_j q_j of every attribute, exactly."""
    truths = [Fraction(m * coin, 1 << COIN_BITS) for m, coin in zip(hidden.values, hidden.coins, strict=True)]
    return truths, [(m - truth) / (m - 1) for m, truth in zip(hidden.values, truths, strict=True)]


def _description(group: Group, named: NDArray[np.bool_]) -> str:
    attributes = [str(1 + attribute) for attribute, inside in zip(group.attributes, named, strict=True) if inside]
    if not attributes:
        return "no value that it names"
    return f"a value that it names of attribute {' and '.join(attributes)}, and of no other"
