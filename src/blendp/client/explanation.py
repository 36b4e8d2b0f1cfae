"""What one report tells about the person who sent it: its exact probability for everything they may hold.

    blendp     P(report | cell) = P(question) P(S | item),    subset selection's two numbers
    published  P(report | cell),                              the two-stage randomiser's three numbers

where:
    S     is the set of items that the report names,
    item  is the cell, or its query if that is the question.

Whether a device takes part at all is drawn without a look at its records, and records that cannot be used are as if
not there (:mod:`blendp.client.personal`), so it is left out: it changes no ratio.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError, require_number
from blendp.headlist import HeadList
from blendp.headlist.head_list import Label
from blendp.mechanisms import SubsetSelection, TwoStage
from blendp.privacy import Budget
from blendp.randomness.random import COIN_BITS
from blendp.wire import Manifest, Terms, UploadedReport
from blendp.wire.reports import QUESTIONS

_DIGITS = 100
_PRIOR = Fraction(1, 100)


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Cells for which the report is equally likely.

    where:
        words        say which cells they are,
        cells        are their numbers on the list,
        probability  is that of this very report, for whoever holds one of them.
    """

    words: str
    cells: NDArray[np.int64]
    probability: Fraction


@dataclass(frozen=True, eq=False)
class Explanation:
    """How likely this very report was, whatever its sender holds; the likeliest cells first."""

    question: str
    budget: Budget
    head_list: HeadList
    likelihoods: tuple[Likelihood, ...]

    @property
    def probabilities(self) -> tuple[Fraction, ...]:
        """The exact probability of this report for every cell of the list."""
        found = [Fraction(0)] * self.head_list.cells
        for likelihood in self.likelihoods:
            for cell in likelihood.cells.tolist():
                found[cell] = likelihood.probability
        return tuple(found)

    @property
    def ratio(self) -> Fraction:
        """The largest probability over the smallest: the most that the report changes anybody's odds."""
        numbers = [likelihood.probability for likelihood in self.likelihoods]
        return max(numbers) / min(numbers)

    @property
    def within_epsilon(self) -> bool:
        """Whether the ratio is at most e^epsilon, exactly; delta allows the published method's to be larger."""
        return self.ratio <= _exponential(self.budget.epsilon) * (1 - Fraction(1, 10 ** (_DIGITS - 1)))

    def posterior(self, prior: float | Fraction) -> Fraction:
        """The most that an observer can believe after the report of what they believed with ``prior`` before."""
        return posterior(prior, self.ratio)

    @property
    def named(self) -> tuple[Label, ...]:
        """What the report makes likelier, as it stands on the list; None is the wildcard."""
        labels = self.head_list.labels
        return tuple(labels[cell] for cell in self.likelihoods[0].cells.tolist()) if len(self.likelihoods) > 1 else ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same in words for the person who sent it."""
        first = f"This report is an answer about {_ASKED[self.question]}, drawn at random on your device."
        if len(self.likelihoods) == 1:
            return first, "Everybody sends the same one, so it tells nothing about you."
        odds = " ".join(
            f"Who holds {one.words} ({len(one.cells)} of the {self.head_list.cells} possibilities) sends exactly this "
            f"report with a probability of {float(one.probability):.4g}."
            for one in self.likelihoods
        )
        ratio = float(self.ratio)
        most = f"So no possibility is more than {ratio:.4g} times as likely to have made it as another; " + (
            f"the promise is at most e^{self.budget.epsilon:g}." if self.within_epsilon else self._beyond
        )
        return first, odds, most, _belief(self.ratio, "this report")

    @property
    def _beyond(self) -> str:
        return f"the promise is e^{self.budget.epsilon:g}, but for a probability of {self.budget.delta:g} (delta)."


@dataclass(frozen=True)
class Odds:
    """What taking part can tell others at most, for people who have not decided yet.

    where:
        budget  is what is promised,
        ratio   is the largest of all reports that a device may send about this list; None while there is no list.
    """

    budget: Budget
    ratio: Fraction | None = None

    @property
    def promised(self) -> Fraction:
        """The largest ratio that the promise allows, delta aside: e^epsilon."""
        return _exponential(self.budget.epsilon)

    def posterior(self, prior: float | Fraction) -> Fraction:
        """The most that an observer can believe after a report of what they believed with ``prior`` before."""
        return posterior(prior, self.promised if self.ratio is None else self.ratio)

    @property
    def sentence(self) -> str:
        """The same in words."""
        if self.ratio is not None:
            return _belief(self.ratio, "your report")
        return _belief(self.promised, "your part in this") + _slack(self.budget)


def promised_odds(terms: Terms) -> Odds:
    """What a client's report can tell at most by the terms alone."""
    return Odds(terms.client_budget)


def exact_odds(manifest: Manifest, head_list: HeadList) -> Odds:
    """What a client's report about this list can tell at most, whichever it will be: the worst of all explanations."""
    manifest.require_list(head_list)
    terms, share = manifest.terms, manifest.query_share or 0.0
    if terms.method == "published":
        rows = set(TwoStage(terms.client_budget, head_list.cells_per_query, share).cell_probabilities())
    else:
        asked = round(share * (1 << COIN_BITS))
        sizes = [head_list.queries + 1] * (asked > 0) + [head_list.cells] * (asked < 1 << COIN_BITS)
        rows = {(*SubsetSelection(terms.epsilon, items).cell_probabilities(), Fraction(0)) for items in sizes}
    possible = [[probability for probability in row if probability] for row in rows]
    return Odds(terms.client_budget, max(max(row) / min(row) for row in possible))


def opt_in_sentence(terms: Terms) -> str:
    """What an opt-in person's records can tell whom."""
    seen = "The curator sees the records that you send. For everybody else: "
    return seen + _belief(_exponential(terms.epsilon), "what is published") + _slack(terms.budget)


def posterior(prior: float | Fraction, ratio: Fraction) -> Fraction:
    """The most that somebody can believe who believed something with ``prior`` before:

        pi r/(pi r + 1 - pi)

    where:
        pi  is the prior probability,
        r   is the ratio of the probabilities of what was seen, whether it is true or not.
    """
    require_number("prior", float(prior), min_value=0, max_value=1, legal="from 0 to 1", remedy="It is a probability.")
    pi = Fraction(prior)
    return pi * ratio / (pi * ratio + 1 - pi)


def explain(report: UploadedReport, manifest: Manifest, head_list: HeadList) -> Explanation:
    """What this report, made under this manifest against this list, tells about its sender."""
    manifest.require_list(head_list)
    terms, question = manifest.terms, QUESTIONS[report.question]
    if (question == "cell") != (terms.method == "published"):
        raise ParameterError("question", question, f"one of the {terms.method} method", "It is of another campaign.")
    found = _cell(report, manifest, head_list) if question == "cell" else _subset(report, manifest, head_list)
    held = tuple(sorted((one for one in found if len(one.cells)), key=lambda one: -one.probability))
    return Explanation(question, terms.client_budget, head_list, held)


def _subset(report: UploadedReport, manifest: Manifest, head_list: HeadList) -> list[Likelihood]:
    about_query = QUESTIONS[report.question] == "query"
    randomiser = SubsetSelection(manifest.terms.epsilon, head_list.queries + 1 if about_query else head_list.cells)
    items = head_list.query_of_cell if about_query else np.arange(head_list.cells)
    inside = np.isin(items, np.array(randomiser.decode(report.data)))
    share = Fraction(round((manifest.query_share or 0.0) * (1 << COIN_BITS)), 1 << COIN_BITS)
    asked = share if about_query else 1 - share
    if not asked:
        told = f"a report about the {QUESTIONS[report.question]}"
        raise ParameterError("report", told, "about a question that is asked", "It is of another campaign.")
    own, other = randomiser.cell_probabilities()
    one, several = ("query", "queries") if about_query else ("record", "records")
    return [
        Likelihood(f"one of the {several} that it names", np.flatnonzero(inside), asked * own),
        Likelihood(f"a {one} that it does not name", np.flatnonzero(~inside), asked * other),
    ]


def _cell(report: UploadedReport, manifest: Manifest, head_list: HeadList) -> list[Likelihood]:
    cell = int.from_bytes(report.data, "big")
    if cell >= head_list.cells:
        raise ParameterError("report", cell, f"a cell below {head_list.cells}", "It is of another campaign.")
    randomiser = TwoStage(manifest.terms.client_budget, head_list.cells_per_query, manifest.query_share or 0.0)
    row = int(head_list.query_of_cell[cell])
    own, sibling, stranger = randomiser.cell_probabilities()[row]
    same = head_list.query_of_cell == row
    itself = np.arange(head_list.cells) == cell
    return [
        Likelihood("the record that it names", np.flatnonzero(itself), own),
        Likelihood("another URL of the query that it names", np.flatnonzero(same & ~itself), sibling),
        Likelihood("another query", np.flatnonzero(~same), stranger),
    ]


def _belief(ratio: Fraction, what: str) -> str:
    return (
        f"If somebody thought something about you was true with a probability of {_percent(_PRIOR)}, {what} "
        f"can bring them to {_percent(posterior(_PRIOR, ratio))} at most; it never proves anything."
    )


def _slack(budget: Budget) -> str:
    return f" All that up to a slack of δ = {budget.delta:g}." if budget.delta else ""


def _exponential(epsilon: float) -> Fraction:
    return Fraction(Context(prec=_DIGITS).exp(Decimal(epsilon)))


def _percent(probability: Fraction) -> str:
    return f"{float(100 * probability):.3g} %"


_ASKED = {"query": "the query of one of your records", "record": "one of your records", "cell": "one of your records"}
