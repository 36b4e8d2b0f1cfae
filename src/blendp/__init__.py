"""blendp: learn what is popular without learning what any person did.

A guided tour::

    import blendp

    release = blendp.run(df, blendp.Parameters(epsilon=4), opt_in=0.05)
    release                                                         # in a notebook: numbers, plot and table
    release.to_pandas()                                             # or to_polars(), to_arrow(), plot()
    blendp.write_release(release, "release")                        # the files that `blendp run` writes

* ``df`` is a log (:func:`open_log` of files), or a table of pandas, polars, pyarrow or DuckDB: whatever speaks Arrow's
  C stream, or batches one after the other.
* :func:`open_log` reads a log of any size once, as it is drawn from, :func:`open_spark_log` on a cluster;
  :func:`read_log` keeps it, for experiments.
* :class:`Parameters` and :class:`Budget` say what each person is promised, and how the method is set.
* :func:`run` gives a :class:`Release`, drawn with :class:`ReleaseRandom` (cryptographic): it may be published.
  :func:`simulate` gives a :class:`Simulation`, drawn with :class:`SimulationRandom` (seeded): an experiment.
* :class:`HeadList` is the list of records that clients are asked about; :func:`make_report` is what a client's
  device does with it (:func:`make_reports` in the published method), after :func:`normalise_query` and
  :func:`normalise_url`.
* :func:`plan` predicts what a release would be like. :func:`evaluate` compares a method with a log's own truth; it
  is not private.
* :func:`population` makes synthetic logs.

Surveys of several questions whose answers hang together::

    answers = blendp.read_answers("answers.csv", questionnaire=questionnaire)
    survey = blendp.run_survey(answers, blendp.SurveyParameters(epsilon=1), opt_in=0.05)
    print(survey)                                                   # survey.rows(), survey.statement, survey.cautions
    blendp.write_survey(survey, "survey")                           # the files that `blendp survey run` writes

* :class:`Questionnaire` lists each :class:`Attribute` and its possible answers; :func:`read_answers` and
  :func:`write_answers` read and write tables of :class:`Answers`; :func:`open_answers` reads tables of any size for
  one survey, :func:`open_spark_answers` has Spark count them.
* :func:`run_survey` gives a :class:`SurveyRelease`, :func:`simulate_survey` an experiment;
  :class:`SurveyParameters` say what is promised. :func:`plan_survey` and :func:`evaluate_survey` tell what to expect.
* :mod:`blendp.survey` has the parts: ``udldp_loss`` is what reports reveal under a model, ``design`` who reports what,
  ``respond`` what a client's device does.

Errors are :class:`ParameterError`, :class:`LogError`, :class:`EngineError`, :class:`OutputExistsError` and
:class:`RandomnessError`.
"""

from blendp._version import __version__

TYPE_CHECKING = False  # checkers take it for true, as they take typing's, which costs a dozen modules

if TYPE_CHECKING:
    from blendp import survey
    from blendp.analyst import evaluate, evaluate_survey, plan, plan_survey, run, run_survey, simulate, simulate_survey
    from blendp.answers import Answers, Attribute, Questionnaire
    from blendp.client import make_report, make_reports
    from blendp.engines import Contributions, EmbeddedLog, LogQuality, StagedLog
    from blendp.engines.spark import SparkLog, SparkSettings
    from blendp.errors import EngineError, LogError, OutputExistsError, ParameterError, RandomnessError
    from blendp.evaluation import Evaluation
    from blendp.evaluation.planner import Overview, Target
    from blendp.evaluation.surveys import SurveyPlan, SurveyTrial
    from blendp.headlist import HeadList
    from blendp.logs import (
        Columns,
        log_of_table,
        open_answers,
        open_log,
        open_spark_answers,
        open_spark_log,
        read_answers,
        read_log,
        write_answers,
    )
    from blendp.logs.synthetic import Population, population
    from blendp.methods import GroupSizes, Guarantee, Outcome, Parameters, Release, Row, Simulation
    from blendp.normalise import normalise_query, normalise_url
    from blendp.privacy import Budget
    from blendp.randomness import ReleaseRandom, SimulationRandom
    from blendp.render.about import About
    from blendp.render.release.files import write_release
    from blendp.render.survey.files import write_survey
    from blendp.reports import Report
    from blendp.shown import Shown
    from blendp.survey import SurveyParameters, SurveyRelease, SurveySimulation

__all__ = [
    "About",
    "Answers",
    "Attribute",
    "Budget",
    "Columns",
    "Contributions",
    "EmbeddedLog",
    "EngineError",
    "Evaluation",
    "GroupSizes",
    "Guarantee",
    "HeadList",
    "LogError",
    "LogQuality",
    "Outcome",
    "OutputExistsError",
    "Overview",
    "ParameterError",
    "Parameters",
    "Population",
    "Questionnaire",
    "RandomnessError",
    "Release",
    "ReleaseRandom",
    "Report",
    "Row",
    "Shown",
    "Simulation",
    "SimulationRandom",
    "SparkLog",
    "SparkSettings",
    "StagedLog",
    "SurveyParameters",
    "SurveyPlan",
    "SurveyRelease",
    "SurveySimulation",
    "SurveyTrial",
    "Target",
    "__version__",
    "evaluate",
    "evaluate_survey",
    "log_of_table",
    "make_report",
    "make_reports",
    "normalise_query",
    "normalise_url",
    "open_answers",
    "open_log",
    "open_spark_answers",
    "open_spark_log",
    "plan",
    "plan_survey",
    "population",
    "read_answers",
    "read_log",
    "run",
    "run_survey",
    "simulate",
    "simulate_survey",
    "survey",
    "write_answers",
    "write_release",
    "write_survey",
]

_HOMES = {
    "blendp.analyst": (
        "evaluate",
        "evaluate_survey",
        "plan",
        "plan_survey",
        "run",
        "run_survey",
        "simulate",
        "simulate_survey",
    ),
    "blendp.answers": ("Answers", "Attribute", "Questionnaire"),
    "blendp.client": ("make_report", "make_reports"),
    "blendp.engines": ("Contributions", "EmbeddedLog", "LogQuality", "StagedLog"),
    "blendp.engines.spark": ("SparkLog", "SparkSettings"),
    "blendp.errors": ("EngineError", "LogError", "OutputExistsError", "ParameterError", "RandomnessError"),
    "blendp.evaluation": ("Evaluation",),
    "blendp.evaluation.planner": ("Overview", "Target"),
    "blendp.evaluation.surveys": ("SurveyPlan", "SurveyTrial"),
    "blendp.headlist": ("HeadList",),
    "blendp.logs": (
        "Columns",
        "log_of_table",
        "open_answers",
        "open_log",
        "open_spark_answers",
        "open_spark_log",
        "read_answers",
        "read_log",
        "write_answers",
    ),
    "blendp.logs.synthetic": ("Population", "population"),
    "blendp.methods": ("GroupSizes", "Guarantee", "Outcome", "Parameters", "Release", "Row", "Simulation"),
    "blendp.normalise": ("normalise_query", "normalise_url"),
    "blendp.privacy": ("Budget",),
    "blendp.randomness": ("ReleaseRandom", "SimulationRandom"),
    "blendp.render.about": ("About",),
    "blendp.render.release.files": ("write_release",),
    "blendp.render.survey.files": ("write_survey",),
    "blendp.reports": ("Report",),
    "blendp.shown": ("Shown",),
    "blendp.survey": ("SurveyParameters", "SurveyRelease", "SurveySimulation"),
}
"""Where each name lives; a module is imported when one of its names, or the module itself, is first used (PEP 562)."""

if not TYPE_CHECKING:  # a checker that saw this function would believe in any name
    from blendp.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, _HOMES, rooms=True)
