"""The two ways to carry out a survey on answers that one party already holds: for release, and as an experiment."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from blendp.answers import Answers
from blendp.errors import ParameterError, RandomnessError
from blendp.estimate import blend
from blendp.estimate.group import nothing
from blendp.methods.groups import draw_groups
from blendp.methods.progress import Progress, silent
from blendp.randomness import Random, ReleaseRandom, SimulationRandom, require_release
from blendp.survey.clients import client_level, collect
from blendp.survey.designs import design
from blendp.survey.models.any_law import AnyLaw
from blendp.survey.models.base import Model
from blendp.survey.opt_in import Misfit, NoisyTables, learn_pairs, learn_table, learn_tree
from blendp.survey.outcome import SurveyOutcome, SurveyRelease, SurveySimulation
from blendp.survey.parameters import SurveyParameters

Kind = TypeVar("Kind", bound=SurveyOutcome)


def run_survey(
    answers: Answers,
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
    answers: Answers,
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
    answers: Answers,
    parameters: SurveyParameters,
    opt_in: float | NDArray[np.bool_] | None,
    model: Model | None,
    random: Random,
    progress: Progress,
) -> Kind:
    if model is not None and model.sizes != answers.sizes:
        raise ParameterError(
            "model", model.sizes, f"for attributes of {answers.sizes} values", "It belongs to another questionnaire."
        )
    progress("drawing who opts in")
    trusting, clients = _people(answers, opt_in, random)
    parameters = parameters.fitted(answers.people)
    progress("counting the opt-in group")
    tables = None
    if len(trusting):
        kind_of_tables = parameters.tables(answers.sizes, len(trusting), model)
        tables = NoisyTables.draw(answers.take(trusting), parameters.budget, random, kind_of_tables)
    progress("learning how answers hang together")
    law, misfit = law_for(parameters, answers.sizes, model, tables)
    progress("choosing who reports what")
    survey_design = design(
        law,
        len(clients),
        parameters.promise,
        method=parameters.method,
        group=parameters.group,
        per_attribute=parameters.per_attribute,
        frequencies=None if tables is None else tables.frequencies,
    )
    progress("collecting reports")
    client = client_level(survey_design, collect(survey_design, answers.codes[clients], random))
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


def _people(
    answers: Answers, opt_in: float | NDArray[np.bool_] | None, random: Random
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The people who opt in, and the clients."""
    chosen = answers.opt_in if opt_in is None else opt_in
    if chosen is None:
        raise ParameterError("opt_in", None, "a share, or a column of the table", "0 means that nobody opts in.")
    if not isinstance(chosen, np.ndarray) and chosen == 0:
        return np.empty(0, dtype=np.int64), np.arange(answers.people)
    groups = draw_groups(answers.people, chosen, 1.0, random)
    if not len(groups.head_list) and not isinstance(chosen, np.ndarray):
        raise ParameterError(
            "opt_in",
            chosen,
            f"0, or a share that is somebody of {answers.people} people",
            "0 means that nobody opts in.",
        )
    if not len(groups.client):
        raise ParameterError("opt_in", opt_in, "such that somebody is a client", "Let fewer people opt in.")
    return groups.head_list, groups.client
