"""Surveys in words and figures: the same for the terminal and for the pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blendp.answers import Questionnaire
from blendp.evaluation.surveys import SurveyPlan, SurveyTrial
from blendp.privacy.delta import delta_beside_people
from blendp.render.text import UNKNOWN
from blendp.survey import BoundedPairs, BoundedTable, Design, SurveyOutcome, Tree

NOT_PRIVATE = "Not private: computed from the raw answers without protection."

METHOD_WORDS = {
    "cbps": "groups of attributes, each reported by some of the clients",
    "cbp": "every client reports every attribute, as strongly as the model allows",
    "split": "every client reports every attribute, with an equal part of ε each",
    "sample": "every client reports one attribute, with all of ε",
    "rsfd": "every client reports one attribute, hidden among invented answers to the others",
}

_EXCESS = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class PlanView:
    """A plan, and what it rests on.

    where:
        like      says of whose answers,
        model     says where the model comes from: "assumed", "given" or "none" (learnt if somebody opts in),
        inferred  says whether the possible answers were read from the answers.
    """

    plan: SurveyPlan
    like: str
    model: str
    inferred: bool

    @property
    def epsilon(self) -> float:
        """What is promised."""
        return self.plan.best.parameters.epsilon

    @property
    def model_words(self) -> str:
        """What the losses under the model rest on."""
        if self.model == "assumed":
            return "the correlations that are assumed"
        if self.model == "given":
            return "the model that was given"
        if self.plan.opt_in_people:
            return f"what {self.plan.opt_in_people:,} opt-in people, drawn from the rows, would show"
        return "no model: what is promised holds whatever the correlations are"

    @property
    def cautions(self) -> list[str]:
        """What to be careful about."""
        chosen, losses = self.plan.best.parameters, self.plan.best.design.losses
        cautions = []
        if losses.record > chosen.epsilon * _EXCESS:
            cautions.append(
                f"With {chosen.method} the promise of ε = {chosen.epsilon:g} about each attribute rests on the model; "
                f"whatever the correlations are, only {losses.record:.4g} holds for the record (--record-epsilon "
                f"limits it)."
            )
        if self.plan.opt_in_people and chosen.budget.delta * self.plan.people >= 1:
            cautions.append(f"{delta_beside_people(chosen.budget.delta, self.plan.people)}: choose a smaller one.")
        return cautions

    @property
    def advice(self) -> list[str]:
        """What to know and to do next."""
        best, said = self.plan.best, []
        chosen = best.parameters
        if len(self.plan.methods) > 1:
            said.append(f"Take method {chosen.method}: its expected error is the smallest, {points(best.rmse)} points.")
        tables = chosen.tables(self.plan.questionnaire.sizes, self.plan.opt_in_people, None)
        if self.model == "none" and chosen.learn == "auto" and tables == "pairs" and chosen.method in ("cbps", "cbp"):
            said.append(
                f"With {self.plan.opt_in_people:,} opt-in people a tree is learnt; in surveys where their tables "
                f"contradict it nothing is, and clients report as with sample."
            )
        by_name = {planned.parameters.method: planned for planned in self.plan.methods}
        if (
            chosen.method == "sample"
            and "cbps" in by_name
            and by_name["cbps"].design.losses.record <= chosen.epsilon * _EXCESS
        ):
            said.append(
                "Groups of attributes gain nothing here: cbps spends opt-in accuracy on a model it does not use."
            )
        if self.plan.private:
            said.append("Check the plan on answers of your own: blendp survey evaluate DATA.")
        else:
            said.append("Measure what is predicted here: blendp survey evaluate with the same options.")
        return said

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        parameters = self.plan.best.parameters
        return {
            "private": self.plan.private,
            "like": self.like,
            "model": self.model_words,
            "epsilon": parameters.epsilon,
            "delta": parameters.delta,
            **self.plan.to_dict(),
        }


@dataclass(frozen=True, eq=False)
class Trials:
    """Several methods tried on the same people, and the truth about these. Not private."""

    questionnaire: Questionnaire
    truth: tuple[NDArray[np.float64], ...]
    people: int
    trials: tuple[SurveyTrial, ...]
    seed: int

    @property
    def best(self) -> SurveyTrial:
        """The method with the smallest error."""
        return min(self.trials, key=lambda trial: trial.rmse)

    @property
    def epsilon(self) -> float:
        """What is promised."""
        return self.best.parameters.epsilon

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        parameters = self.best.parameters
        return {
            "private": False,
            "people": self.people,
            "opt_in_people": self.best.example.opt_in_people,
            "epsilon": parameters.epsilon,
            "delta": parameters.delta,
            "seed": self.seed,
            "attributes": [{"name": a.name, "values": a.size} for a in self.questionnaire.attributes],
            "best": parameters.method,
            "methods": [
                {
                    **trial.to_dict(),
                    "worst_data_loss": trial.worst_data_loss,
                    "promise_kept_on_data": kept(trial),
                    "model": trial.example.model_words,
                }
                for trial in self.trials
            ],
        }


@dataclass(frozen=True)
class GroupLine:
    """One group of clients: what each of them reports, how strongly, and how many they are."""

    number: int
    reports: tuple[tuple[str, str], ...]
    clients: int
    share: float


def kept(trial: SurveyTrial) -> bool | None:
    """Whether the promise held if people answer like the rows; None if that is unknown."""
    loss = trial.worst_data_loss
    return None if loss is None else loss <= trial.parameters.epsilon * _EXCESS


def group_lines(design: Design, questionnaire: Questionnaire) -> list[GroupLine]:
    """Who reports what."""
    lines = []
    for number, group in enumerate(design.groups, 1):
        reports = []
        for index, epsilon, randomiser in zip(group.attributes, group.epsilons, group.randomisers, strict=True):
            size = f", sets of {randomiser.size}" if design.hidden is None and randomiser.size > 1 else ""
            reports.append((questionnaire.names[index], f"ε {epsilon:.3g}{size}"))
        lines.append(GroupLine(number, tuple(reports), group.clients, group.clients / design.clients))
    return lines


def loss(value: float | None, promise: float) -> str:
    """A loss, marked where it exceeds the promise."""
    if value is None:
        return UNKNOWN
    return f"{value:.3g} !" if value > promise * _EXCESS else f"{value:.3g}"


def points(value: float | None) -> str:
    """An error in percentage points of a frequency."""
    return "–" if value is None else f"{100 * value:.3g}"


def about(design: Design) -> str:
    """Whether losses under the model are exact, in words."""
    return "exact" if design.losses.kind == "exact" else "at most"


def learnt_tree(outcome: SurveyOutcome) -> Tree | None:
    """The tree that was learnt from the opt-in group, if one was."""
    return outcome.model if outcome.misfit is not None and isinstance(outcome.model, Tree) else None


def learnt_model(outcome: SurveyOutcome) -> bool:
    """Whether what clients are promised rests on something learnt."""
    return isinstance(outcome.model, BoundedTable | BoundedPairs) or learnt_tree(outcome) is not None
