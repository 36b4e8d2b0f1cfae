"""What one report tells about the person who sent it: its exact probability for everything they may hold.

    P(report | cell),    as the campaign's scheme says it (:meth:`~blendp.reports.ReportScheme.likelihoods`)

Whether a device takes part at all is drawn without a look at its records, and records that cannot be used are as if
not there (:mod:`blendp.client.personal`), so it is left out: it changes no ratio.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

from blendp.errors import require_number
from blendp.headlist import HeadList
from blendp.headlist.head_list import Label
from blendp.privacy import Budget
from blendp.reports import QUESTIONS, Likelihood, Report
from blendp.wire import Manifest, Terms, UploadedReport

_DIGITS = 100
_PRIOR = Fraction(1, 100)


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
        by_cell = [Fraction(0)] * self.head_list.cells
        for likelihood in self.likelihoods:
            for cell in likelihood.cells.tolist():
                by_cell[cell] = likelihood.probability
        return tuple(by_cell)

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
            f"Who holds {one.description} ({len(one.cells)} of the {self.head_list.cells} possibilities) sends "
            f"exactly this report with a probability of {float(one.probability):.4g}."
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
    return Odds(manifest.terms.client_budget, manifest.scheme(head_list).ratio())


def records_asked(terms: Terms, whose: str = "your") -> str:
    """How many records an opt-in person's device sends."""
    number = "one" if terms.opt_in_records == 1 else f"at most {terms.opt_in_records:,}"
    return f"{number} of {whose} records, drawn at random"


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
    scheme, question = manifest.scheme(head_list), QUESTIONS[report.question]
    likelihoods = scheme.likelihoods(Report(scheme.list_sha256, question, report.data))
    return Explanation(question, manifest.terms.client_budget, head_list, likelihoods)


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
