"""The scheme of plain values, as terms and parameters say them; and all questions that any of them asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from blendp.errors import ParameterError, require_choice
from blendp.headlist import HeadList
from blendp.privacy import Budget
from blendp.reports.list_scheme import ListScheme
from blendp.reports.names import ORACLES, RANDOMISERS
from blendp.reports.question import Question
from blendp.reports.subset import SubsetScheme, subset_questions
from blendp.reports.two_stage import TwoStageScheme, cell_questions


def client_budget(randomiser: str, budget: Budget) -> Budget:
    """What a client's reports cost of what is promised: only the published randomiser spends delta."""
    require_choice("randomiser", randomiser, RANDOMISERS)
    return budget if randomiser == "two-stage" else Budget(budget.epsilon, 0.0)


def report_scheme(
    head_list: HeadList, randomiser: str, budget: Budget, query_share: float, records_per_user: int = 1
) -> ListScheme:
    """How clients report about a list.

    where:
        randomiser        is one of :data:`RANDOMISERS`,
        budget            is what each person is promised,
        query_share       is the share of the clients who report the query (split, apart), or of a client's budget that
                          protects it (two-stage),
        records_per_user  is how many reports a client sends (two-stage).
    """
    own = client_budget(randomiser, budget)
    if randomiser in ORACLES:
        if records_per_user != 1:
            legal = f"1 with {randomiser}"
            raise ParameterError("records_per_user", records_per_user, legal, "A client sends one report.")
        return SubsetScheme(head_list, own.epsilon, query_share, randomiser)
    return TwoStageScheme(head_list, own, query_share, randomiser == "two-stage-tight", records_per_user)


@dataclass(frozen=True)
class ListQuestions:
    """Every question that any method asks about a list: for whoever counts reports before knowing the method."""

    head_list: HeadList
    epsilon: float

    def __post_init__(self) -> None:
        """Refuse an epsilon or a list that no randomiser takes."""
        self.questions  # noqa: B018

    @cached_property
    def questions(self) -> Mapping[str, Question]:
        """All of them, by name, in the order of their numbers."""
        return {**subset_questions(self.epsilon, self.head_list), **cell_questions(self.head_list)}
