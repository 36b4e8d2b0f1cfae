"""What a release may be expected to be like, before anybody is asked."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from blendp.arrays import ranks_in_groups
from blendp.errors import ParameterError, require_count, require_number
from blendp.evaluation.metrics import Scores
from blendp.evaluation.planner.answers import ClientAnswers, blendp_answers, one_record_posterior, published_answers
from blendp.evaluation.planner.crowds import UnionCrowd
from blendp.evaluation.planner.law import HeadLaw
from blendp.evaluation.planner.lists import RECORD, Drawing, ListingLaw, Lists, listing
from blendp.evaluation.planner.scores import mean_scores
from blendp.evaluation.planner.union_lists import UnionDrawing
from blendp.mechanisms import AsymmetricList, FilteredUnion
from blendp.methods import GroupSizes, Parameters
from blendp.methods.listed import ListMaker, blendp_list_maker, published_list_maker
from blendp.randomness import SimulationRandom

RECORDS_DRAWN = 5_000
"""How many listed records a plan draws, in all its lists; more of them make it more exact, and slower."""

_MIN_DRAWS, _MAX_DRAWS = 8, 200
_MAX_RECORDS = 5_000


@dataclass(frozen=True)
class RankError:
    """The error of the record at one place of the list, the places being by true probability.

    where:
        probability  is the record's true probability, on average,
        std_error    is the standard error that the release will state for it, the root of its mean square.
    """

    rank: int
    probability: float
    std_error: float

    @property
    def relative(self) -> float:
        """The standard error as a share of the probability."""
        return self.std_error / self.probability


@dataclass(frozen=True, eq=False)
class Plan:
    """What one method may be expected to give.

    where:
        candidates      is how many records pass the threshold, on average,
        records         is how many of them the list keeps, and ``queries`` of how many queries they are,
        scores          are the mean L1 and NDCG of the blend (see :mod:`blendp.evaluation.metrics`),
        errors          are for every place of the list that at least half of the draws fill,
        worth           is how many clients tell as much about the median listed record as one opt-in user does,
        draws           is how many lists were drawn,
        many_records    is whether the list is made of many records of each person.
    """

    parameters: Parameters
    users: int
    opt_in: float
    groups: GroupSizes
    candidates: float
    records: float
    queries: float
    scores: Scores
    errors: tuple[RankError, ...]
    worth: float | None
    draws: int
    many_records: bool = False

    def at(self, rank: int) -> RankError | None:
        """The error at this place of the list; None where the list is mostly shorter."""
        return self.errors[rank - 1] if rank <= len(self.errors) else None

    def to_dict(self, ranks: tuple[int, ...] = (1, 10, 50)) -> dict[str, Any]:
        """As plain values, for JSON."""
        errors = {
            str(rank): {**asdict(error), "relative": error.relative} if (error := self.at(rank)) else None
            for rank in ranks
        }
        return {
            "method": self.parameters.method,
            "epsilon": self.parameters.epsilon,
            "delta": self.parameters.budget.delta,
            "opt_in": self.opt_in,
            "users": self.groups.to_dict(),
            "candidate_records": self.candidates,
            "head_list_records": self.records,
            "head_list_queries": self.queries,
            **asdict(self.scores),
            "errors": errors,
            "clients_per_opt_in_user": self.worth,
            "draws": self.draws,
            "many_records": self.many_records,
        }


def plan(
    law: HeadLaw,
    users: int,
    opt_in: float,
    parameters: Parameters | None = None,
    *,
    records_drawn: int = RECORDS_DRAWN,
    seed: int = 0,
) -> Plan:
    """Predict a release about ``users`` people whose records follow the law, of whom the share ``opt_in`` opts in.

    Lists are drawn until they hold about ``records_drawn`` records in all. The same arguments give the same plan.
    """
    parameters = parameters or Parameters()
    sizes = group_sizes(users, opt_in, parameters)
    parameters = parameters.fitted(users)
    mechanism = list_maker(law, parameters)
    drawing: Drawing | UnionDrawing
    if isinstance(mechanism, FilteredUnion):
        crowd = UnionCrowd(law, mechanism, sizes.head_list)
        passing, drawing = crowd.passing, UnionDrawing(crowd, parameters.size, parameters.prior)
    else:
        passing = listing(law, mechanism, sizes.head_list)
        drawing = Drawing(law, mechanism, passing, sizes, parameters.size)
    records = expected_records(passing, parameters.size)
    draws = int(np.clip(records_drawn / max(records, drawing.work, 1.0), _MIN_DRAWS, _MAX_DRAWS))
    random = SimulationRandom(seed)
    lists = drawing.draw(draws, random)
    own = lists.posterior
    if isinstance(mechanism, AsymmetricList):
        own = one_record_posterior(lists, mechanism, sizes.opt_in, parameters.prior)
    if own is None:
        answers = published_answers(lists, sizes, parameters, random.generator)
    else:
        answers = blendp_answers(lists, own, sizes, parameters, random.generator)
    return Plan(
        parameters,
        users,
        opt_in,
        sizes,
        passing.candidates,
        records,
        float(lists.queries.mean()),
        mean_scores(lists, law, answers.cells, answers.queries, parameters.size),
        _errors(lists, answers),
        _worth(lists, answers, sizes),
        draws,
        isinstance(mechanism, FilteredUnion),
    )


def group_sizes(users: int, opt_in: float, parameters: Parameters) -> GroupSizes:
    """How many people each group has."""
    require_count("users", users, min_value=10, remedy="Plan for more people.")
    require_number(
        "opt_in", opt_in, above=0, below=1, legal="above 0 and below 1", remedy="0.05 means that 5 % opt in."
    )
    opting = round(opt_in * users)
    makers = round(parameters.list_makers * opting)
    if makers < 1 or users - opting < 2:
        raise ParameterError(
            "opt_in", opt_in, f"a share that leaves people in every group of {users:,}", "Plan for more people."
        )
    return GroupSizes(makers, opting - makers, users - opting)


def list_maker(law: HeadLaw, parameters: Parameters) -> ListMaker:
    """What makes the list; refuses what the plan does not know about."""
    usual: dict[str, tuple[Any, str]] = {
        "client_records": (1, "How alike the records of one person are is in no plan: run evaluate on a log."),
        "trim_unit": ("record", "Run evaluate on a log."),
        "variance": ("mended", "The printed formulas are for reproduction: run evaluate on a log."),
        "wildcard": ("shared", "Figure 4's wildcard is for reproduction: run evaluate on a log."),
    }
    for name, (value, remedy) in usual.items():
        chosen = getattr(parameters, name)
        if chosen != value:
            raise ParameterError(name, chosen, f"{value} in a plan", remedy)
    if parameters.method == "published":
        if parameters.max_opt_in_records != 1:
            legal = "1 in a plan of method published"
            raise ParameterError("opt_in_records", parameters.opt_in_records, legal, "Run evaluate on a log.")
        return published_list_maker(parameters)
    if not parameters.reports_split:
        legal, remedy = "auto, split or apart in a plan", "Plan with method published, or run evaluate on a log."
        raise ParameterError("randomiser", parameters.randomiser, legal, remedy)
    if parameters.list_makers != 1:
        raise ParameterError(
            "head_list_share", parameters.head_list_share, "1 in a plan of method blendp", "Leave it out."
        )
    return blendp_list_maker(parameters, law.levels, many=parameters.uses_many(law.mean_records))


def expected_records(passing: ListingLaw, size: int | None) -> float:
    """How many records the final list holds on average; refuses lists that are too long to draw.

        E min(M, K),   K ~ Normal(sum of P, sum of P (1 - P))

    where:
        P  is the probability that a record passes, K how many do, M the size that is asked for.
    """
    mean = passing.candidates
    if min(mean, math.inf if size is None else size) > _MAX_RECORDS:
        raise ParameterError("size", size, f"at most {_MAX_RECORDS} in a plan", "Plan for a shorter list.")
    if size is None:
        return mean
    deviation = math.sqrt(float((passing.known * (1 - passing.known)).sum() + passing.tail.sum()))
    if deviation < 1e-9:
        return min(mean, float(size))
    z, normal = (mean - size) / deviation, NormalDist()
    beyond = deviation * (normal.pdf(z) + z * normal.cdf(z))
    return max(0.0, mean - beyond)


def _errors(lists: Lists, answers: ClientAnswers) -> tuple[RankError, ...]:
    """The mean errors by place, of the places that at least half of the draws fill."""
    records = np.flatnonzero(lists.kind == RECORD)
    if not len(records):
        return ()
    draw, true = lists.draw[records], lists.true[records]
    order, rank = ranks_in_groups(true, draw)
    many = np.bincount(rank)
    p = np.bincount(rank, weights=true[order]) / many
    variance = np.bincount(rank, weights=answers.variance[records][order]) / many
    filled = int(np.count_nonzero(2 * many >= lists.draws))
    return tuple(RankError(i + 1, float(p[i]), float(np.sqrt(variance[i]))) for i in range(filled))


def _worth(lists: Lists, answers: ClientAnswers, sizes: GroupSizes) -> float | None:
    """How many clients tell as much as one opt-in user, for the median listed record.

        (1/(n_O v_O))/(1/(n_C v_C)) = n_C v_C/(n_O v_O)

    where:
        n_O, n_C  are all opt-in users (those who only make the list, too) and all clients,
        v_O, v_C  are the variances of the two groups' own estimates of the record.
    """
    records = lists.kind == RECORD
    if not records.any():
        return None
    ratio = sizes.client * answers.client_variance[records] / (sizes.opt_in * answers.opt_in_variance[records])
    return float(np.median(ratio))
