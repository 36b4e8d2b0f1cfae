"""A report scheme: what may be asked, how it is randomised, and which bytes are possible.

It also says how bytes are counted, how likely each report is, and what it costs. A scheme is a pure function of public
values: of signed terms and a list, or of a survey's design. A device in another language implements exactly this.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError
from blendp.randomness import Random, ReleaseRandom, require_release
from blendp.reports.question import Question
from blendp.reports.report import Report
from blendp.reports.sums import ReportSums

Holding = TypeVar("Holding", contravariant=True)
"""What a person has: their records, or their answers to a survey."""

_OTHER = "It is of another campaign."
_SHOWN = 40


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Cells for which a report is equally likely.

    where:
        description  says which cells they are,
        cells        are their numbers,
        probability  is that of this very report, for whoever holds one of them.
    """

    description: str
    cells: NDArray[np.int64]
    probability: Fraction


class ReportScheme(ABC, Generic[Holding]):
    """How people report about one list, or in one survey: a local randomiser, bound to what it is about."""

    @property
    @abstractmethod
    def list_sha256(self) -> str:
        """The name of what is reported about."""

    @property
    @abstractmethod
    def questions(self) -> Mapping[str, Question]:
        """What may be asked, by name."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many different things a person can hold, as far as reports tell them apart."""

    @abstractmethod
    def chance(self, question: str) -> Fraction:
        """The probability that a person is asked this; 0 where it never is."""

    @abstractmethod
    def asked(self, random: Random) -> str:
        """Draw what a person is asked, which none of their data has a say in."""

    @abstractmethod
    def answer(self, question: str, holding: Holding, random: ReleaseRandom) -> bytes:
        """The randomised answer of whoever holds this: one draw, to be kept."""

    @abstractmethod
    def likelihoods(self, report: Report) -> tuple[Likelihood, ...]:
        """How likely this very report was, for every cell: groups of cells, the likeliest first."""

    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest ratio of two probabilities of one report, exactly: what any report changes anybody's odds by."""

    @abstractmethod
    def delta(self) -> float:
        """The exact delta at the promised epsilon; 0 if the scheme is pure epsilon-LDP."""

    def loss(self) -> float:
        """The exact pure epsilon of one report: the logarithm of :meth:`ratio`."""
        return math.log1p(self.ratio() - 1)

    def randomise(self, holding: Holding, random: ReleaseRandom) -> Report:
        """The one report of whoever holds this. Call it once, keep the result, and resend that."""
        require_release(random)
        question = self.asked(random)
        return Report(self.list_sha256, question, self.answer(question, holding, random))

    @property
    def report_bytes(self) -> int:
        """How many bytes the largest report takes."""
        return max(question.report_bytes for question in self.questions.values())

    @cached_property
    def _asked(self) -> frozenset[str]:
        return frozenset(name for name in self.questions if self.chance(name))

    def possible(self, question: str, data: bytes) -> bool:
        """Whether a device can have made these bytes, in answer to this question: one that is asked at all."""
        return question in self._asked and self.questions[question].possible(data)

    def expectation(self, question: str, data: bytes) -> str:
        """What a possible answer to a question looks like, beside what these bytes are: for whoever writes a client."""
        if question not in self._asked:
            asked = " or ".join(name for name in self.questions if name in self._asked)
            return f"Reports of this campaign answer {asked}, not {question}."
        expected = self.questions[question].expectation
        return f"{expected}. These are {len(data)} bytes: {data[:_SHOWN].hex()}{'...' * (len(data) > _SHOWN)}."

    def require(self, report: Report) -> None:
        """Raise unless this is a possible report about this very list, to a question that is asked."""
        if report.list_sha256 != self.list_sha256:
            raise ParameterError("list_sha256", report.list_sha256, self.list_sha256, "Keep reports of lists apart.")
        question = self._question(report.question)
        if not self.chance(report.question):
            about = f"a report about the {report.question}"
            raise ParameterError("report", about, "about a question that is asked", _OTHER)
        question.require(report.data)

    def count(self, reports: Iterable[Report]) -> ReportSums:
        """Add reports up; each must be possible, and about this very list."""
        data: defaultdict[str, list[bytes]] = defaultdict(list)
        for report in reports:
            if report.list_sha256 != self.list_sha256:
                self.require(report)
            data[report.question].append(report.data)
        return self.count_data(data)

    def count_data(self, data: Mapping[str, Sequence[bytes]]) -> ReportSums:
        """Add up the bytes of many reports about this list, by question, all of a question at once."""
        for name in data:
            self._question(name)
        reports = {name: len(data.get(name, ())) for name in self.questions}
        supports = {
            name: question.count(data[name]) if reports[name] else np.zeros(question.items, dtype=np.int64)
            for name, question in self.questions.items()
        }
        return ReportSums(self.list_sha256, self.questions, reports, supports)

    def nothing(self) -> ReportSums:
        """The sums of no reports."""
        return ReportSums.nothing(self.list_sha256, self.questions)

    def _question(self, name: str) -> Question:
        known = self.questions.get(name)
        if known is None:
            raise ParameterError("question", name, "one of " + ", ".join(self.questions), _OTHER)
        return known


def likeliest_first(groups: Iterable[Likelihood]) -> tuple[Likelihood, ...]:
    """The groups that have cells, the likeliest first."""
    return tuple(sorted((group for group in groups if len(group.cells)), key=lambda group: -group.probability))


def worst_ratio(rows: Iterable[Iterable[Fraction]]) -> Fraction:
    """The largest ratio of two probabilities within a row; what cannot happen to anybody is left out."""
    possible = [[probability for probability in row if probability] for row in rows]
    return max(max(row) / min(row) for row in possible)
