"""The result of a survey: both groups' frequencies, their blend, and what everybody was promised."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from blendp.answers import Questionnaire
from blendp.arrays import Array
from blendp.estimate import Blend, Level, project_on_simplex
from blendp.privacy.delta import delta_beside_people
from blendp.shown import Shown
from blendp.survey.designs import Design
from blendp.survey.models.any_law import AnyLaw
from blendp.survey.models.base import Model
from blendp.survey.models.bounded_pairs import BoundedPairs
from blendp.survey.models.bounded_table import BoundedTable
from blendp.survey.models.tree import Tree
from blendp.survey.opt_in import Misfit, NoisyTables
from blendp.survey.parameters import SurveyParameters
from blendp.texts import printable

VALUES_FROM = {False: "questionnaire", True: "data (not protected)"}
"""Where the text of a value comes from, by whether the possible answers were read from the answers."""

_USELESS = 0.25
"""A standard error beyond which a frequency says nothing."""


@dataclass(frozen=True)
class AnswerRow:
    """One line of the table of frequencies; ``value_from`` is one of :data:`VALUES_FROM`."""

    attribute: str
    value: str
    frequency: float
    std_error: float
    low: float
    high: float
    weight_opt_in: float
    value_from: str


@dataclass(frozen=True, eq=False, repr=False)
class SurveyOutcome(Shown):
    """What a survey gives. Nothing in it needs the answers any more; a :class:`SurveyRelease` may be published."""

    parameters: SurveyParameters
    questionnaire: Questionnaire
    inferred: bool
    """Whether the possible answers were read from the answers themselves."""

    only_complete: bool
    """Whether people who left an answer out were left out."""

    design: Design
    model: Model
    misfit: Misfit | None
    """How well a learnt tree fits; None if no tree was learnt."""

    tables: NoisyTables | None
    """What the opt-in group released; None if nobody opted in."""

    opt_in: Level
    client: Level
    blended: Blend

    @property
    def opt_in_people(self) -> int:
        """How many opted in."""
        return 0 if self.tables is None else self.tables.people

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the values of every attribute start in the levels, and the end."""
        return np.cumsum([0, *self.questionnaire.sizes])

    @cached_property
    def frequency(self) -> Array:
        """The published frequency of every value: the blend, on the simplex of its attribute unless told otherwise.

        An attribute about which nothing is known stays unknown.
        """
        if not self.parameters.project:
            return self.blended.probability
        parts = [self.blended.probability[slice(*ends)] for ends in zip(self.starts, self.starts[1:], strict=False)]
        return np.concatenate([project_on_simplex(part) if np.isfinite(part).all() else part for part in parts])

    @property
    def last_step(self) -> str:
        """What was done to the frequencies before they were published, in words."""
        if not self.parameters.project:
            return "Frequencies are published as estimated: an attribute's need not sum to 100 %."
        return (
            "An attribute's frequencies are moved to the nearest ones that sum to 100 %; intervals are not, and are "
            "about the estimate before."
        )

    def frequencies(self) -> dict[str, Array]:
        """The published frequencies by attribute."""
        ends = zip(self.starts, self.starts[1:], strict=False)
        return {name: self.frequency[slice(*pair)] for name, pair in zip(self.questionnaire.names, ends, strict=True)}

    def rows(self) -> list[AnswerRow]:
        """Every value of every attribute, in the order of the questionnaire."""
        labels = [(attribute.name, value) for attribute in self.questionnaire.attributes for value in attribute.values]
        shown = (
            self.frequency,
            self.blended.std_error,
            self.blended.low,
            self.blended.high,
            self.blended.weight_opt_in,
        )
        sources = [VALUES_FROM[self.inferred]] * len(labels)
        columns = zip(*(values.tolist() for values in shown), sources, strict=True)
        return [AnswerRow(*label, *facts) for label, facts in zip(labels, columns, strict=True)]

    @property
    def keeps_without_model(self) -> bool:
        """Whether clients' whole records are protected as well as any attribute is promised to be."""
        return self.design.losses.record <= self.parameters.epsilon * (1 + 1e-9)

    @property
    def model_words(self) -> str:
        """What the promise to clients rests on."""
        if isinstance(self.model, AnyLaw) or self.keeps_without_model:
            return "no model: the promise holds whatever the correlations are"
        learnt = f"learnt from {self.opt_in_people:,} opt-in people, which bounds the truth with probability"
        if isinstance(self.model, BoundedTable | BoundedPairs):
            what = "a table" if isinstance(self.model, BoundedTable) else "tables of pairs"
            return f"{what} {learnt} {self.parameters.confidence:g} if clients answer like them"
        if self.misfit is None:
            bounded = isinstance(self.model, Tree) and not self.model.known
            return "a model that was given" + (", of bounds that may have been learnt" if bounded else "")
        return f"a tree {learnt} {self.parameters.confidence:g} if clients answer like them and the tree is right"

    @property
    def exceptions(self) -> list[str]:
        """What is published and no promise covers: told by how answers were read, never by the answers."""
        read_from_data = (
            "the possible answers, which were read from the answers themselves: an answer that only one person gave "
            "is published as it is"
        )
        left_out = (
            "how many people are counted, and who: people who left an answer out were left out, so that it shows in "
            "these numbers"
        )
        return [read_from_data] * self.inferred + [left_out] * self.only_complete

    @property
    def statement(self) -> str:
        """Both promises, for people, and what they do not cover."""
        return " ".join([self._promises, *(f"NOT PROTECTED: {exception}." for exception in self.exceptions)])

    @property
    def promised(self) -> str:
        """What each group is promised, in a few words."""
        clients = f"ε = {self.parameters.epsilon:g} to clients"
        clients += "" if self.keeps_without_model else " about each attribute, by the model"
        return f"{self.parameters.budget} to opt-in people, {clients}" if self.opt_in_people else clients

    @property
    def _promises(self) -> str:
        losses, epsilon, delta = self.design.losses, self.parameters.epsilon, self.parameters.budget.delta
        if self.keeps_without_model:
            client = (
                f"Whatever a client's answers are, and however they hang together, the probability of the reports "
                f"changes by a factor of at most e^{losses.record:.4g}: plain local differential privacy of the record."
            )
        else:
            client = (
                f"About any single attribute, a client's reports reveal at most e^{epsilon:g} (as a likelihood "
                f"ratio) IF answers follow the model ({self.model_words}). Without the model only "
                f"e^{losses.record:.4g} holds, for the whole record."
            )
        if not self.opt_in_people:
            return client
        but = " (but what is named as not protected below)" if self.exceptions else ""
        return (
            f"Opt-in people trust the curator: whatever one of them answers, the probability of anything published"
            f"{but} changes by a factor of at most e^{epsilon:g}, plus at most {delta:g}. {client}"
        )

    @property
    def people(self) -> int:
        """How many people were asked."""
        return self.opt_in_people + self.design.clients

    @property
    def how_delta(self) -> str:
        """How delta compares with the number of people, in words."""
        return delta_beside_people(self.parameters.budget.delta, self.people)

    @cached_property
    def disagreement(self) -> tuple[float, int] | None:
        """The largest |z| between the two groups' frequencies and where it is; None with one group only."""
        if not self.opt_in_people:
            return None
        with np.errstate(invalid="ignore"):
            z = np.abs(self.opt_in.probability - self.client.probability)
            z = z / np.sqrt(self.opt_in.variance + np.maximum(self.client.variance, self.client.floor))
        return float(np.nanmax(z)), int(np.nanargmax(z))

    @property
    def cautions(self) -> list[str]:
        """What a reader of this outcome should be warned of."""
        epsilon, losses = self.parameters.epsilon, self.design.losses
        cautions = []
        if not self.keeps_without_model:
            cautions.append(
                f"The promise of epsilon = {epsilon:g} about each attribute rests on the model; whatever the "
                f"correlations are, only {losses.record:.4g} holds for the record (--record-epsilon, in Python "
                f"record_epsilon, limits it)."
            )
        if self.opt_in_people and self.parameters.budget.delta * self.people >= 1:
            cautions.append(f"{self.how_delta}: choose a smaller one for a release about real people.")
        if epsilon > 10:
            cautions.append(f"epsilon = {epsilon:g} promises next to nothing: a factor of {math.exp(epsilon):.1g}.")
        widest = float(np.nanmax(np.where(np.isfinite(self.blended.std_error), self.blended.std_error, np.inf)))
        if widest > _USELESS:
            cautions.append("Errors are as large as the frequencies themselves: ask more people, or fewer questions.")
        remedies = ["give a questionnaire"] * self.inferred
        remedies += ['count missing answers as an answer of its own (--missing value, in Python missing="value")']
        cautions += [
            f"Not protected: {exception}. To protect it, {remedy}."
            for exception, remedy in zip(self.exceptions, remedies, strict=False)
        ]
        if self.misfit is not None and not self.misfit.fits:
            names = " and ".join(self.questionnaire.names[attribute] for attribute in self.misfit.pair or ())
            why = (
                f"{names} differ from it for {100 * self.misfit.share:.1f} % of people"
                if names
                else "pairs contradict it"
            )
            then = "it is not used" if isinstance(self.model, AnyLaw) else "the promise by the model does not hold"
            cautions.append(f"The tree does not fit: {why}, so {then}.")
        check = self.disagreement
        if check is not None and check[0] > NormalDist().inv_cdf(1 - 0.005 / len(self.frequency)):
            row = self.rows()[check[1]]
            cautions.append(
                f"The two groups disagree about {row.attribute} = {row.value} ({check[0]:.1f} standard errors): opt-in "
                f"people may be of another kind, and then no model learnt from them holds for clients."
            )
        return cautions

    def _brief(self) -> str:
        people = f"{self.opt_in_people:,} opt-in, {self.design.clients:,} clients"
        return f"{self.questionnaire}, {self.parameters.method}, {self.promised}, {people}"

    def __str__(self) -> str:
        """The design and the frequencies."""
        people = f"{self.opt_in_people:,} opt-in, {self.design.clients:,} clients"
        lines = [f"{self.parameters.method} survey, ε = {self.parameters.epsilon:g}: {people}", str(self.design.losses)]
        lines += [
            f"  {row.frequency:8.4f} ± {row.std_error:.4f}  {printable(row.attribute)} = {printable(row.value)}"
            for row in self.rows()[:20]
        ]
        return "\n".join(lines)


class SurveyRelease(SurveyOutcome):
    """An outcome drawn with cryptographic randomness: it may be published."""


class SurveySimulation(SurveyOutcome):
    """An outcome drawn with seeded randomness: an experiment."""

    def _brief(self) -> str:
        return f"not private, {super()._brief()}"
