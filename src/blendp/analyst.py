"""What an analyst calls: the same verbs for a log that was opened, and for a table in memory.

A table is whatever speaks Arrow's C stream (a DataFrame of pandas or polars, a table of pyarrow, a relation of DuckDB)
or an iterable of record batches. It is read in the way of :func:`~blendp.logs.open_log`, for other options call that
first. The methods below know nothing of tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from blendp import evaluation, methods, survey
from blendp.answers import Answers, AnswerSource, Questionnaire, is_answers
from blendp.engines import EmbeddedLog
from blendp.errors import ParameterError, require_choice, require_count
from blendp.evaluation import Evaluation
from blendp.evaluation.planner import HeadLaw, Overview, Target, overview
from blendp.evaluation.surveys import SurveyPlan, SurveyTrial
from blendp.evaluation.surveys import evaluate_survey as evaluate_answers
from blendp.evaluation.surveys import plan_survey as plan_answers
from blendp.evaluation.trials import TrueLog
from blendp.logs.answers import read_answers
from blendp.logs.columns import Columns
from blendp.logs.frame_log import open_frame
from blendp.logs.frames import ACCEPTED, Frame, is_frame, not_a_frame
from blendp.logs.reading import LogReading
from blendp.logs.synthetic import NAMES, USERS
from blendp.methods import Parameters, Release, Simulation
from blendp.methods.groups import require_share
from blendp.methods.log import Log, is_log
from blendp.methods.progress import Progress, silent
from blendp.randomness import ReleaseRandom, SimulationRandom
from blendp.reports import METHODS
from blendp.survey import Model, SurveyParameters, SurveyRelease, SurveySimulation

OptIn = float | str | NDArray[np.bool_] | Sequence[bool] | None
"""Who opts in: a share of the people, the name of a column, or marks; None for what the log or table says."""

Way = TypeVar("Way", Parameters, SurveyParameters)

_LOG = f"a log, {ACCEPTED}"
_ANSWERS = f"answers, {ACCEPTED}"


def run(
    log: Log | Frame,
    parameters: Parameters | None = None,
    *,
    opt_in: OptIn = None,
    columns: Columns | Mapping[str, Any] | None = None,
    random: ReleaseRandom | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> Release:
    """Run the method on a log that one party already holds, with randomness fit for release.

    This plays both sides: in a deployment clients randomise on their devices (:mod:`blendp.client`).

    Args:
        log: A log (:func:`open_log`, :func:`read_log`, :func:`open_spark_log`), or a table: whatever speaks Arrow's C
            stream (a DataFrame of pandas or polars, a table, reader or data set of pyarrow, a relation of DuckDB), or
            an iterable of record batches, which is read once.
        parameters: What is promised to every person, and how the method is set.
        opt_in: Who opts in: a share of the people, drawn at random; the name of a column of the table; or True or
            False for every row of a table in memory (a user opts in whose rows all say so) or for every user of a log.
        columns: The names of a table's columns: :class:`Columns`, or a mapping such as ``{"user": "who"}``.
        random: Where noise comes from; the operating system's if left out.
        seed: Who opts in (if a share is drawn) and which records of each person count are then the same in every run
            and on every engine; the guarantee holds for any such choice. All noise is fresh whatever the seed.
        progress: Told what is being done.
    """
    _require_parameters(parameters)
    opened, who = _opened(log, opt_in, columns)
    release = methods.run(opened, parameters, opt_in=who, random=random, seed=seed, progress=progress)
    how = getattr(opened, "how", None)
    return release if how is None else replace(release, reading=how.to_dict())


def simulate(
    log: Log | Frame,
    parameters: Parameters | None = None,
    *,
    opt_in: OptIn = None,
    columns: Columns | Mapping[str, Any] | None = None,
    random: SimulationRandom,
) -> Simulation:
    """Run the method as an experiment that can be repeated from its seed; takes what :func:`run` takes."""
    _require_parameters(parameters)
    opened, who = _opened(log, opt_in, columns)
    return methods.simulate(opened, parameters, opt_in=who, random=random)


def evaluate(
    log: TrueLog | Frame,
    parameters: Parameters | None = None,
    *,
    opt_in: OptIn = None,
    columns: Columns | Mapping[str, Any] | None = None,
    repeat: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Run the method ``repeat`` times with independent randomness and compare each result with the log's truth.

    Not private. Takes a log that was kept (:func:`read_log`), or a table as :func:`run` does.
    """
    _require_parameters(parameters)
    opened, who = _opened(log, opt_in, columns, keep=True)
    return evaluation.evaluate(opened, parameters, opt_in=who, repeat=repeat, seed=seed, progress=progress)


def plan(
    people: int | None = None,
    parameters: Parameters | Sequence[Parameters] | None = None,
    *,
    opt_in: float = 0.05,
    like: str | EmbeddedLog | Frame = "aol",
    columns: Columns | Mapping[str, Any] | None = None,
    records_per_person: float = 1.0,
    target: Target | None = None,
    progress: Progress = silent,
) -> Overview:
    """Predict what a release would be like, before anybody is asked: list, errors and scores, by opt-in share.

    Args:
        people: How many take part; as many as the population or the log has, if none is said.
        parameters: What is promised and how the method is set; with several, or none, methods stand side by side.
        opt_in: The share of people who opt in.
        like: Whose records people have: of the population ``aol`` or ``yandex``, or of a log or table, from whose raw
            records the plan is then computed: **not private**.
        columns: The names of a table's columns: :class:`Columns`, or a mapping such as ``{"user": "who"}``.
        records_per_person: How many records a person has on average, in a population.
        target: What is to be reached; the plan then says by which opt-in share, and by which epsilon.
        progress: Told what is being done.
    """
    chosen = _ways(parameters, Parameters, METHODS)
    _require_plan(people, target)
    if isinstance(like, str):
        if columns is not None:
            raise ParameterError("columns", columns, "left out with a population", "Name the columns of a table.")
        require_choice("like", like, NAMES, "Read a log of your own with blendp.read_log.")
        law, users = HeadLaw.of_population(like, records_per_person=records_per_person), USERS[like]
        whose, reading = f"the {like} population", None
    else:
        log, _ = _opened(like, None, columns, keep=True, parameter="like")
        law, users, whose, reading = HeadLaw.of_log(log), log.users, "the log", log.reading
    users, private = users if people is None else people, isinstance(like, str)
    view = overview(law, users, opt_in, chosen, target, like=whose, private=private, progress=progress)
    return replace(view, reading=reading)


def run_survey(
    answers: AnswerSource | Frame,
    parameters: SurveyParameters | None = None,
    *,
    opt_in: OptIn = None,
    questionnaire: Questionnaire | None = None,
    columns: Sequence[str] | None = None,
    missing: str = "refuse",
    model: Model | None = None,
    random: ReleaseRandom | None = None,
    progress: Progress = silent,
    answers_from_data: bool = False,
) -> SurveyRelease:
    """Carry out a survey with randomness fit for release.

    This plays both sides: in a deployment clients randomise on their devices (:func:`~blendp.survey.respond`).

    Args:
        answers: What everybody answered: :class:`Answers`, or a table with one row a person, as :func:`read_answers`
            takes.
        parameters: What is promised, and how the survey is carried out.
        opt_in: The share of people who opt in, drawn at random (0: nobody), the name of a table's column, or True and
            False for everybody; None takes what the answers say.
        questionnaire: The possible answers of a table.
        columns: The questions of a table, in this order.
        missing: What to do about missing answers of a table, as in :func:`read_answers`.
        model: What is publicly known about how answers hang together; None learns it from the opt-in group, and
            assumes nothing if nobody opts in.
        random: Where noise comes from; the operating system's if left out.
        progress: Told what is being done.
        answers_from_data: Allows that the possible answers were read from the answers themselves. They are then
            published as they are, also one that only one person gave: no promise covers them.
    """
    _require_parameters(parameters, SurveyParameters)
    read, who = _answers(answers, opt_in, questionnaire, columns, missing)
    return survey.run_survey(
        read, parameters, opt_in=who, model=model, random=random, progress=progress, answers_from_data=answers_from_data
    )


def simulate_survey(
    answers: AnswerSource | Frame,
    parameters: SurveyParameters | None = None,
    *,
    opt_in: OptIn = None,
    questionnaire: Questionnaire | None = None,
    columns: Sequence[str] | None = None,
    missing: str = "refuse",
    model: Model | None = None,
    random: SimulationRandom,
    progress: Progress = silent,
) -> SurveySimulation:
    """Carry out a survey as an experiment that can be repeated from its seed; takes what :func:`run_survey` takes."""
    _require_parameters(parameters, SurveyParameters)
    read, who = _answers(answers, opt_in, questionnaire, columns, missing)
    return survey.simulate_survey(read, parameters, opt_in=who, model=model, random=random, progress=progress)


def plan_survey(
    answers: Answers | Frame,
    parameters: SurveyParameters | Sequence[SurveyParameters] | None = None,
    *,
    people: int | None = None,
    opt_in: float = 0.0,
    questionnaire: Questionnaire | None = None,
    columns: Sequence[str] | None = None,
    missing: str = "refuse",
    model: Model | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> SurveyPlan:
    """What each way to ask is expected to give, for so many ``people`` who answer like these. Not private."""
    ways = _ways(parameters, SurveyParameters, survey.METHODS)
    read, _ = _answers(answers, None, questionnaire, columns, missing, keep=True)
    return plan_answers(read, ways, people=people, opt_in=opt_in, model=model, seed=seed, progress=progress)


def evaluate_survey(
    answers: Answers | Frame,
    parameters: SurveyParameters | None = None,
    *,
    opt_in: OptIn = None,
    questionnaire: Questionnaire | None = None,
    columns: Sequence[str] | None = None,
    missing: str = "refuse",
    model: Model | None = None,
    runs: int = 20,
    seed: int = 0,
    progress: Progress = silent,
) -> SurveyTrial:
    """Carry out a survey several times and compare it with these people's own frequencies. Not private."""
    _require_parameters(parameters, SurveyParameters)
    read, who = _answers(answers, opt_in, questionnaire, columns, missing, keep=True)
    return evaluate_answers(
        read, parameters or SurveyParameters(), opt_in=who, model=model, runs=runs, seed=seed, progress=progress
    )


def _require_parameters(parameters: Any, kind: type = Parameters, legal: str = "a {}, or left out") -> None:
    """Raise unless these are parameters of a kind, or none; a lone number may be any of them."""
    if parameters is not None and not isinstance(parameters, kind):
        name = kind.__name__
        raise ParameterError(
            "parameters", parameters, legal.format(name), f"Say which: blendp.{name}(epsilon={kind().epsilon:g})."
        )


def _ways(parameters: Any, kind: type[Way], methods: Sequence[str]) -> list[Way]:
    """The parameters to compare: those that are given, one or several, or else those of every method."""
    if parameters is None:
        return [kind(method=name) for name in methods]
    several = list(parameters) if isinstance(parameters, list | tuple) else [parameters]
    for one in several or [parameters]:
        _require_parameters(one, kind, "a {}, several in a list, or left out")
    return several


def _require_plan(people: Any, target: Any) -> None:
    """Raise unless these can be planned for: a table may stand where its people are due."""
    if people is not None and is_frame(people):
        raise ParameterError("people", type(people).__name__, "a number of people", "Plan for a table with like=...")
    if people is not None:
        require_count("people", people, min_value=10, remedy="Write blendp.plan(500_000), say, with your number.")
    if not isinstance(target, Target | None):
        raise ParameterError("target", target, "a Target, or left out", "Say which: blendp.Target(records=50).")


def _is_marks(opt_in: Any) -> bool:
    """Whether this says of each who opts in, one after the other."""
    return not isinstance(opt_in, str | None) and np.ndim(opt_in) > 0


def _marks_of(opt_in: Any, table: Any) -> NDArray[Any]:
    """The marks, one after the other; raises for a Series of pandas that has its rows in another order."""
    index: Any = getattr(opt_in, "index", None)
    rows: Any = getattr(table, "index", None)
    if hasattr(index, "equals") and hasattr(rows, "equals") and not index.equals(rows):
        remedy = 'Take a column of this table (opt_in="trusts"), or .to_numpy() where the order is the same.'
        raise ParameterError("opt_in", "a Series with another index", "marks with the index of the table", remedy)
    return np.asarray(opt_in)


def _opened(
    log: Any, opt_in: OptIn, columns: Columns | Mapping[str, Any] | None, *, keep: bool = False, parameter: str = "log"
) -> tuple[Any, Any]:
    """The log of what was given, and who opts in, if that is not among its columns."""
    if is_log(log) and not is_frame(log):
        if columns is not None:
            raise ParameterError("columns", columns, "left out with a log", "Name the columns when it is opened.")
        if isinstance(opt_in, str):
            raise ParameterError("opt_in", opt_in, "a share, or marks", "Name the column when the log is opened.")
        if keep and not hasattr(log, "truth"):
            raise ParameterError(parameter, type(log).__name__, "a log that is kept", "Read it with blendp.read_log.")
        return log, np.asarray(opt_in) if _is_marks(opt_in) else opt_in
    if not is_frame(log):
        raise not_a_frame(parameter, log, _LOG)
    chosen, marks, who = Columns.of(columns), None, None
    if isinstance(opt_in, str):
        if chosen.opt_in not in (None, opt_in):
            raise ParameterError("opt_in", opt_in, f"{chosen.opt_in}, as the columns say", "Name one column.")
        chosen = replace(chosen, opt_in=opt_in)
    elif not _is_marks(opt_in):
        if opt_in is not None:
            require_share(opt_in)
        who = opt_in
    elif chosen.opt_in is not None:
        raise ParameterError("opt_in", "marks", "left out where a column says who opts in", "Leave one of them out.")
    else:
        marks = _marks_of(opt_in, log)
    staged = open_frame(log, LogReading(columns=chosen), marks=marks, parameter=parameter)
    return (staged.numbered() if keep else staged), who


def _answers(
    answers: Any,
    opt_in: OptIn,
    questionnaire: Questionnaire | None,
    columns: Sequence[str] | None,
    missing: str,
    *,
    keep: bool = False,
) -> tuple[Any, Any]:
    """The answers of what was given, and who opts in, if no column says so."""
    if not isinstance(questionnaire, Questionnaire | None):
        remedy = "Make one of blendp.Attribute(...), or read it with blendp.Questionnaire.from_bytes."
        raise ParameterError("questionnaire", questionnaire, "a Questionnaire, or left out", remedy)
    if is_answers(answers):
        if keep and not isinstance(answers, Answers):
            remedy = "Read them with blendp.read_answers."
            raise ParameterError("answers", type(answers).__name__, "answers that are kept", remedy)
        for name, value, usual in (
            ("questionnaire", questionnaire, None),
            ("columns", columns, None),
            ("missing", missing, "refuse"),
        ):
            if value != usual:
                raise ParameterError(name, str(value), "left out with answers that were read", "Say it when reading.")
        if isinstance(opt_in, str):
            raise ParameterError("opt_in", opt_in, "a share, or marks", "Name the column when the answers are read.")
        return answers, np.asarray(opt_in) if _is_marks(opt_in) else opt_in
    if not is_frame(answers):
        raise not_a_frame("answers", answers, _ANSWERS)
    column = opt_in if isinstance(opt_in, str) else None
    marks = _marks_of(opt_in, answers) if _is_marks(opt_in) else None
    if marks is not None and missing == "drop":
        raise ParameterError("opt_in", "marks", "a share, or the name of a column, with missing='drop'", "Name one.")
    read = read_answers(answers, columns=columns, questionnaire=questionnaire, opt_in_column=column, missing=missing)
    return read, None if column is not None else opt_in if marks is None else marks
