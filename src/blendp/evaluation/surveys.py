"""What a survey would give: predicted before anybody is asked, and measured against the truth. Not private."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blendp.answers import Answers, Questionnaire
from blendp.arrays import Array
from blendp.errors import ParameterError, require_count, require_number
from blendp.mechanisms import HiddenSampling
from blendp.methods.progress import Progress, silent
from blendp.privacy import Budget
from blendp.randomness import SimulationRandom
from blendp.shown import Shown
from blendp.spelling import counted
from blendp.survey import (
    Design,
    Group,
    Losses,
    Model,
    NoisyTables,
    SurveyParameters,
    SurveySimulation,
    design,
    simulate_survey,
)
from blendp.survey.models.joint import MAX_REPORTS, loss_through
from blendp.survey.models.tree import Tree
from blendp.survey.run import law_for

_MAX_CELLS = 1 << 20


@dataclass(frozen=True, eq=False)
class PlannedMethod:
    """What a method is expected to give.

    where:
        design       is who would report what,
        client_rmse  is the expected error of a frequency from clients alone: the root of the mean square,
        rmse         is that of both groups blended; ``by_attribute`` is the same for each attribute.
    """

    parameters: SurveyParameters
    design: Design
    client_rmse: float
    rmse: float
    by_attribute: tuple[float, ...]

    def to_dict(self, questionnaire: Questionnaire) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "method": self.parameters.method,
            "rmse": self.rmse,
            "client_rmse": self.client_rmse,
            "rmse_by_attribute": dict(zip(questionnaire.names, self.by_attribute, strict=True)),
            **design_facts(self.design, questionnaire),
        }


@dataclass(frozen=True, eq=False, repr=False)
class SurveyPlan(Shown):
    """Several methods side by side for the same people."""

    questionnaire: Questionnaire
    people: int
    opt_in_people: int
    opt_in_rmse: float | None
    """The expected error of the opt-in group alone."""

    methods: tuple[PlannedMethod, ...]
    private: bool
    """Whether nothing in the plan comes from raw answers."""

    def _brief(self) -> str:
        best, people = self.best, f"{self.people:,} people, {self.opt_in_people:,} opt in"
        return f"{'' if self.private else 'not private, '}{people}: {best.parameters.method} errs by {best.rmse:.2g}"

    @property
    def best(self) -> PlannedMethod:
        """The method with the smallest expected error, the first of those that tie."""
        smallest = min(planned.rmse for planned in self.methods)
        return next(planned for planned in self.methods if planned.rmse <= smallest * (1 + 1e-6))

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "attributes": [{"name": a.name, "values": a.size} for a in self.questionnaire.attributes],
            "people": self.people,
            "opt_in_people": self.opt_in_people,
            "opt_in_rmse": self.opt_in_rmse,
            "best": self.best.parameters.method,
            "methods": [planned.to_dict(self.questionnaire) for planned in self.methods],
        }


@dataclass(frozen=True, eq=False, repr=False)
class SurveyTrial(Shown):
    """How a method did over repeated surveys of the same people.

    where:
        rmse         is the root of the mean squared error of the blended frequencies, over values, attributes and runs;
                     of the clients' and the opt-in group's own in ``client_rmse`` and ``opt_in_rmse``,
        predicted    is what the formulas said for the clients,
        coverage     is the share of intervals that held the truth,
        losses, record  are the largest losses by the model, and the largest epsilon of a record, over the runs,
        data_losses  is what the clients' reports told about each attribute if people answer exactly like these rows:
                     the largest over the runs; None where there are too many combinations to go through,
        example      is the first of the surveys.
    """

    parameters: SurveyParameters
    runs: int
    rmse: float
    client_rmse: float
    opt_in_rmse: float | None
    predicted: float
    coverage: float
    losses: tuple[float, ...]
    record: float
    data_losses: tuple[float | None, ...]
    example: SurveySimulation

    def _brief(self) -> str:
        return f"not private, {self.parameters.method} errs by {self.rmse:.2g}, {counted(self.runs, 'run')}"

    @property
    def worst_data_loss(self) -> float | None:
        """The largest loss under the rows' own law, if all are known."""
        known = [loss for loss in self.data_losses if loss is not None]
        return max(known) if len(known) == len(self.data_losses) else None

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "method": self.parameters.method,
            "runs": self.runs,
            "rmse": self.rmse,
            "client_rmse": self.client_rmse,
            "opt_in_rmse": self.opt_in_rmse,
            "client_rmse_predicted": self.predicted,
            "coverage": self.coverage,
            **design_facts(self.example.design, self.example.questionnaire),
            "loss_by_attribute": dict(zip(self.example.questionnaire.names, self.losses, strict=True)),
            "record_epsilon": self.record,
            "data_loss_by_attribute": dict(zip(self.example.questionnaire.names, self.data_losses, strict=True)),
        }


def design_facts(design: Design, questionnaire: Questionnaire) -> dict[str, Any]:
    """A design as plain values, for JSON."""
    names = questionnaire.names
    return {
        "loss_by_attribute": dict(zip(names, design.losses.by_attribute, strict=True)),
        "loss_kind": design.losses.kind,
        "record_epsilon": design.losses.record,
        "groups": [
            {
                "attributes": [names[attribute] for attribute in group.attributes],
                "epsilons": list(group.epsilons),
                "report_sizes": [randomiser.size for randomiser in group.randomisers],
                "clients": group.clients,
            }
            for group in design.groups
        ],
    }


def plan_survey(
    answers: Answers,
    methods: Sequence[SurveyParameters],
    *,
    people: int | None = None,
    opt_in: float = 0.0,
    model: Model | None = None,
    private: bool = False,
    seed: int = 0,
    progress: Progress = silent,
) -> SurveyPlan:
    """What each method is expected to give, for ``people`` who answer like these rows.

    With no ``model`` an opt-in group of the right size is drawn from the rows and its noisy tables are learnt from, as
    a survey would; clients' errors are predicted by formula. ``private`` says that the rows are of no real people.
    """
    people = answers.people if people is None else people
    require_count("people", people, min_value=2, remedy="Ask more people.")
    require_number(
        "opt_in",
        opt_in,
        min_value=0,
        below=1,
        legal="a share of at least 0 and below 1",
        remedy="Leave somebody to be a client.",
    )
    trusting = round(opt_in * people)
    if trusting == people:
        raise ParameterError("opt_in", opt_in, "such that somebody is a client", "Let fewer people opt in.")
    truth = answers.frequencies()
    tables: dict[tuple[Budget, str], NoisyTables] = {}
    planned, alone = [], None
    for parameters in (method.fitted(people) for method in methods):
        progress(f"planning {parameters.method}")
        kind = parameters.tables(answers.sizes, trusting, model)
        key = (parameters.budget, kind)
        if trusting and key not in tables:
            random = SimulationRandom(seed)
            drawn = answers.take(random.generator.integers(0, answers.people, trusting))
            tables[key] = NoisyTables.draw(drawn, parameters.budget, random, kind)
        noisy = tables.get(key)
        law, _ = law_for(parameters, answers.sizes, model, noisy)
        survey_design = design(
            law,
            people - trusting,
            parameters.promise,
            method=parameters.method,
            group=parameters.group,
            per_attribute=parameters.per_attribute,
            frequencies=None if noisy is None else noisy.frequencies,
        )
        client = survey_design.variances(truth)
        both = client
        if noisy is not None:
            noise = [(margin.deviation / trusting) ** 2 for margin in noisy.margins]
            opted = [f * (1 - f) / trusting + v for f, v in zip(truth, noise, strict=True)]
            both = [1 / (1 / c + 1 / o) for c, o in zip(client, opted, strict=True)]
            alone = _root_mean(opted) if alone is None else min(alone, _root_mean(opted))
        by_attribute = tuple(math.sqrt(each.mean()) for each in both)
        planned.append(PlannedMethod(parameters, survey_design, _root_mean(client), _root_mean(both), by_attribute))
    return SurveyPlan(answers.questionnaire, people, trusting, alone, tuple(planned), private)


def evaluate_survey(
    answers: Answers,
    parameters: SurveyParameters,
    *,
    opt_in: float | NDArray[np.bool_] | None = None,
    model: Model | None = None,
    runs: int = 20,
    seed: int = 0,
    progress: Progress = silent,
) -> SurveyTrial:
    """Carry out a survey several times and compare it with these people's own frequencies."""
    require_count("runs", runs, min_value=1, remedy="Run it at least once.")
    parameters = parameters.fitted(answers.people)
    truth = answers.frequencies()
    flat, random = np.concatenate(truth), SimulationRandom(seed)
    weights = np.concatenate([np.full(size, 1 / size / len(answers.sizes)) for size in answers.sizes])
    squares: dict[str, list[float]] = {"blended": [], "client": [], "opt_in": [], "predicted": [], "inside": []}
    losses: dict[tuple[Group, ...], tuple[float | None, ...]] = {}
    stated: list[Losses] = []
    first: SurveySimulation | None = None
    for number in range(runs):
        progress(f"{parameters.method}: survey {number + 1} of {runs}")
        outcome = simulate_survey(answers, parameters, opt_in=opt_in, model=model, random=random.spawn())
        first = first or outcome
        for name, estimate in (
            ("blended", outcome.frequency),
            ("client", outcome.client.probability),
            ("opt_in", outcome.opt_in.probability),
        ):
            squares[name].append(float(weights @ (estimate - flat) ** 2))
        squares["predicted"].append(outcome.design.mean_squared_error(truth, among=answers.people))
        inside = (outcome.blended.low <= flat) & (flat <= outcome.blended.high)
        squares["inside"].append(float(inside.mean()))
        stated.append(outcome.design.losses)
        if outcome.design.groups not in losses:
            losses[outcome.design.groups] = data_losses(answers, outcome.design)
    assert first is not None
    means = {name: float(np.mean(values)) for name, values in squares.items()}
    return SurveyTrial(
        parameters,
        runs,
        math.sqrt(means["blended"]),
        math.sqrt(means["client"]),
        math.sqrt(means["opt_in"]) if first.opt_in_people else None,
        math.sqrt(means["predicted"]),
        means["inside"],
        tuple(max(column) for column in zip(*(each.by_attribute for each in stated), strict=True)),
        max(each.record for each in stated),
        _largest(list(losses.values())),
        first,
    )


def data_losses(answers: Answers, design: Design) -> tuple[float | None, ...]:
    """What a design's reports tell about each attribute if people answer exactly like these rows."""
    if design.hidden is not None:
        return _hidden_losses(answers, design.hidden)
    return tuple(
        _largest_known([_group_loss(answers, design, number, i) for number in range(len(design.groups))])
        for i in range(len(design.sizes))
    )


def _group_loss(answers: Answers, design: Design, number: int, attribute: int) -> float | None:
    """What the reports of one group tell about one attribute."""
    group = design.groups[number]
    ratios = dict(zip(group.attributes, group.epsilons, strict=True))
    own = ratios.pop(attribute, 0.0)
    others = tuple(ratios)
    if not others:
        return own
    sizes = [design.sizes[attribute], *(design.sizes[j] for j in others)]
    widths = dict(zip(group.attributes, group.widths, strict=True))
    single = np.array([widths[j] == 1 for j in others])
    reports = [design.sizes[j] if widths[j] == 1 else 2 ** design.sizes[j] for j in others]
    lone = len(others) == 1 and not single[0]
    if math.prod(sizes) > _MAX_CELLS or (not lone and design.sizes[attribute] * math.prod(reports) > MAX_REPORTS):
        return None
    table = answers.counts(attribute, *others).astype(np.float64)
    table = table[table.reshape(len(table), -1).sum(axis=1) > 0]
    epsilons = np.array([ratios[j] for j in others])
    if lone:
        table = table[:, table.sum(axis=0) > 0]
        pair = Tree.of_tables(table.shape, {(0, 1): table}) if min(table.shape) > 1 else None
        through_other = (
            0.0 if pair is None else pair.losses(np.array([[0.0, epsilons[0]]]), np.zeros(2, dtype=bool))[0, 0]
        )
        return own + float(through_other)
    given = table / table.sum(axis=tuple(range(1, table.ndim)), keepdims=True)
    return own + loss_through(given, epsilons, single)


def _hidden_losses(answers: Answers, hidden: HiddenSampling) -> tuple[float | None, ...]:
    attributes = range(len(answers.sizes))
    given: dict[tuple[int, int], Array] = {}
    for i in attributes:
        for j in attributes:
            if i != j:
                table = answers.counts(i, j).astype(np.float64)
                empty = table.sum(axis=1, keepdims=True) == 0
                table = np.where(empty, table.sum(axis=0, keepdims=True), table)
                given[i, j] = table / table.sum(axis=1, keepdims=True)
    return tuple(float(loss) for loss in hidden.attribute_losses(given, given))


def _largest(rows: Sequence[tuple[float | None, ...]]) -> tuple[float | None, ...]:
    return tuple(_largest_known(list(column)) for column in zip(*rows, strict=True))


def _largest_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None


def _root_mean(variances: Sequence[Array]) -> float:
    return math.sqrt(float(np.mean([each.mean() for each in variances])))
