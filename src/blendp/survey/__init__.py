"""Surveys of correlated attributes with local privacy: what reports reveal, who reports what, and the result.

* :func:`udldp_loss` is the exact loss about every attribute, under a :class:`Joint`, a :class:`Tree` or
  :class:`Clusters`; :func:`pairwise_product_loss` is the published formula, which is no bound.
* :func:`design` finds who reports what and how strongly (CBP, CBPS) within a :class:`Promise`.
* :func:`run_survey` carries a survey out for release, :func:`simulate_survey` as an experiment;
  :func:`respond` is what one client's device does.
"""

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
    from blendp.survey.choose import Promise
    from blendp.survey.clients import client_level, collect, respond
    from blendp.survey.designs import METHODS, Design, Group, design
    from blendp.survey.grouping import allocate, assign
    from blendp.survey.guarantee import Losses, Perturbation, pairwise_product_loss, udldp_loss
    from blendp.survey.models.any_law import AnyLaw
    from blendp.survey.models.base import Model
    from blendp.survey.models.bounded_pairs import BoundedPairs
    from blendp.survey.models.bounded_table import BoundedTable
    from blendp.survey.models.clusters import Clusters
    from blendp.survey.models.joint import Joint
    from blendp.survey.models.tree import Box, Edge, Tree
    from blendp.survey.opt_in import Misfit, NoisyTables, learn_pairs, learn_table, learn_tree
    from blendp.survey.outcome import AnswerRow, SurveyOutcome, SurveyRelease, SurveySimulation
    from blendp.survey.parameters import SurveyParameters
    from blendp.survey.run import run_survey, simulate_survey

__all__ = [
    "METHODS",
    "AnswerRow",
    "AnyLaw",
    "BoundedPairs",
    "BoundedTable",
    "Box",
    "Clusters",
    "Design",
    "Edge",
    "Group",
    "Joint",
    "Losses",
    "Misfit",
    "Model",
    "NoisyTables",
    "Perturbation",
    "Promise",
    "SurveyOutcome",
    "SurveyParameters",
    "SurveyRelease",
    "SurveySimulation",
    "Tree",
    "allocate",
    "assign",
    "client_level",
    "collect",
    "design",
    "learn_pairs",
    "learn_table",
    "learn_tree",
    "pairwise_product_loss",
    "respond",
    "run_survey",
    "simulate_survey",
    "udldp_loss",
]

_HOMES = {
    "blendp.survey.choose": ("Promise",),
    "blendp.survey.clients": ("client_level", "collect", "respond"),
    "blendp.survey.designs": ("METHODS", "Design", "Group", "design"),
    "blendp.survey.grouping": ("allocate", "assign"),
    "blendp.survey.guarantee": ("Losses", "Perturbation", "pairwise_product_loss", "udldp_loss"),
    "blendp.survey.models.any_law": ("AnyLaw",),
    "blendp.survey.models.base": ("Model",),
    "blendp.survey.models.bounded_pairs": ("BoundedPairs",),
    "blendp.survey.models.bounded_table": ("BoundedTable",),
    "blendp.survey.models.clusters": ("Clusters",),
    "blendp.survey.models.joint": ("Joint",),
    "blendp.survey.models.tree": ("Box", "Edge", "Tree"),
    "blendp.survey.opt_in": ("Misfit", "NoisyTables", "learn_pairs", "learn_table", "learn_tree"),
    "blendp.survey.outcome": ("AnswerRow", "SurveyOutcome", "SurveyRelease", "SurveySimulation"),
    "blendp.survey.parameters": ("SurveyParameters",),
    "blendp.survey.run": ("run_survey", "simulate_survey"),
}
"""Where each name lives: who needs one loads what stands behind it."""

if not TYPE_CHECKING:  # a checker that saw this function would believe in any name
    from blendp.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
