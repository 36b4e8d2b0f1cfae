"""The two ways to carry out a survey on answers that one party already holds: for release, and as an experiment."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from blendp.answers import Answers, AnswerSource
from blendp.errors import ParameterError, RandomnessError, require_number
from blendp.estimate import blend
from blendp.estimate.group import nothing
from blendp.lots import Lots, Part, Tables
from blendp.methods.progress import Progress, silent
from blendp.randomness import Random, ReleaseRandom, SimulationRandom, require_release
from blendp.survey.clients import client_level, collect_counted
from blendp.survey.designs import design
from blendp.survey.models.any_law import AnyLaw
from blendp.survey.models.base import Model
from blendp.survey.opt_in import Misfit, NoisyTables, learn_pairs, learn_table, learn_tree, shares_of
from blendp.survey.outcome import SurveyOutcome, SurveyRelease, SurveySimulation
from blendp.survey.parameters import SurveyParameters

Kind = TypeVar("Kind", bound=SurveyOutcome)


def run_survey(
    answers: AnswerSource,
    parameters: SurveyParameters | None = None,
    *,
    opt_in: float | NDArray[np.bool_] | None = None,
    model: Model | None = None,
    random: ReleaseRandom | None = None,
    progress: Progress = silent,
    answers_from_data: bool = False,
) -> SurveyRelease:
    """Carry out a survey with randomness fit for release.

    This plays both sides: in a deployment clients randomise on their devices (:func:`~blendp.survey.respond`).

    where:
        opt_in  is the share of people who opt in, drawn at random (0: nobody), or True and False for everybody; None
                takes what the table says,
        model   is what is publicly known about how answers hang together; None learns it from the opt-in group, and
                assumes nothing if nobody opts in,
        answers_from_data  allows that the possible answers were read from the answers themselves. They are then
                published as they are, also one that only one person gave: no promise covers them.
    """
    if answers.inferred and not answers_from_data:
        raise ParameterError(
            "answers_from_data",
            answers_from_data,
            "True where the possible answers were read from the answers, since no promise covers them",
            "Read the answers with a questionnaire. With True, an answer that only one person gave is published.",
        )
    random = ReleaseRandom() if random is None else random
    require_release(random)
    return _survey(SurveyRelease, answers, parameters or SurveyParameters(), opt_in, model, random, progress)


def simulate_survey(
    answers: AnswerSource,
    parameters: SurveyParameters | None = None,
    *,
    opt_in: float | NDArray[np.bool_] | None = None,
    model: Model | None = None,
    random: SimulationRandom,
    progress: Progress = silent,
) -> SurveySimulation:
    """Carry out a survey as an experiment that can be repeated from its seed."""
    if not isinstance(random, SimulationRandom):
        raise RandomnessError(f"{type(random).__name__} is not for experiments: pass SimulationRandom(seed).")
    return _survey(SurveySimulation, answers, parameters or SurveyParameters(), opt_in, model, random, progress)


def _survey(
    kind: type[Kind],
    answers: AnswerSource,
    parameters: SurveyParameters,
    opt_in: float | NDArray[np.bool_] | None,
    model: Model | None,
    random: Random,
    progress: Progress,
) -> Kind:
    if model is not None and model.sizes != answers.questionnaire.sizes:
        raise ParameterError(
            "model",
            model.sizes,
            f"for attributes of {answers.questionnaire.sizes} values",
            "It belongs to another questionnaire.",
        )
    sizes = answers.questionnaire.sizes
    progress("drawing who opts in")
    source, share = _who(answers, opt_in)
    trusting = _opt_in_people(source, share)
    parameters = parameters.fitted(source.people)
    lots = Lots.draw(random)
    progress("counting the opt-in group")
    tables = None
    if trusting:
        kind_of_tables = parameters.tables(sizes, trusting, model)
        axes = tuple(shares_of(kind_of_tables, len(sizes)))
        part = Part(opt_in=True) if share is None else Part(high=lots.borders(source.people, [trusting])[0])
        (counted,) = source.tables(lots, [Tables(part, axes)])
        counts = dict(zip(axes, counted, strict=True))
        tables = NoisyTables.of_counts(sizes, trusting, counts, parameters.budget, random, kind_of_tables)
    progress("learning how answers hang together")
    law, misfit = law_for(parameters, sizes, model, tables)
    progress("choosing who reports what")
    survey_design = design(
        law,
        source.people - trusting,
        parameters.promise,
        method=parameters.method,
        group=parameters.group,
        per_attribute=parameters.per_attribute,
        frequencies=None if tables is None else tables.frequencies,
    )
    progress("collecting reports")
    supports = collect_counted(survey_design, source, lots, None if share is None else trusting, random)
    client = client_level(survey_design, supports)
    progress("blending")
    opt_in_level = nothing(len(client.probability)) if tables is None else tables.level()
    blended = blend(opt_in_level, client, 0 if tables is None else tables.people)
    about = (parameters, answers.questionnaire, answers.inferred, answers.only_complete)
    return kind(*about, survey_design, law, misfit, tables, opt_in_level, client, blended)


def law_for(
    parameters: SurveyParameters, sizes: tuple[int, ...], model: Model | None, tables: NoisyTables | None
) -> tuple[Model, Misfit | None]:
    """What clients' promise rests on: the given model, what the opt-in group's tables say, or nothing.

    With a learnt tree, also how well it fits; one that does not is only used if a tree was asked for.
    """
    if model is not None:
        return model, None
    if tables is None or tables.kind == "single":
        return AnyLaw(sizes), None
    if tables.kind == "all":
        return learn_table(tables, parameters.confidence), None
    if parameters.method == "rsfd":
        return learn_pairs(tables, parameters.confidence), None
    tree, misfit = learn_tree(tables, parameters.confidence)
    return tree if parameters.learn == "tree" or misfit.fits else AnyLaw(sizes), misfit


def _who(answers: AnswerSource, opt_in: float | NDArray[np.bool_] | None) -> tuple[AnswerSource, float | None]:
    """The answers, and the share of people who opt in; None where the answers say who does."""
    if isinstance(opt_in, np.ndarray):
        if not isinstance(answers, Answers):
            raise ParameterError("opt_in", "an array", "a share, or a column of the table", "Name the column.")
        return replace(answers, opt_in=opt_in), None
    if opt_in is None and answers.opt_in_people is None:
        raise ParameterError("opt_in", None, "a share, or a column of the table", "0 means that nobody opts in.")
    if opt_in is not None:
        require_number(
            "opt_in",
            opt_in,
            min_value=0,
            below=1,
            legal="a share of at least 0 and below 1",
            remedy="0.05 means that 5 % of the people opt in.",
        )
    return answers, opt_in


def _opt_in_people(answers: AnswerSource, share: float | None) -> int:
    """How many people opt in, if both groups get somebody."""
    trusting = answers.opt_in_people if share is None else round(share * answers.people)
    assert trusting is not None
    if share and not trusting:
        legal = f"0, or a share that is somebody of {answers.people} people"
        raise ParameterError("opt_in", share, legal, "0 means that nobody opts in.")
    if trusting >= answers.people:
        raise ParameterError("opt_in", share, "such that somebody is a client", "Let fewer people opt in.")
    return trusting
