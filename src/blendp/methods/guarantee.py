"""What was promised to whom, in numbers and words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Self

from blendp.mechanisms import (
    AsymmetricList,
    DiscreteLaplace,
    FilteredUnion,
    FrequencyOracle,
    NoiseLaw,
    ThresholdList,
    TwoStage,
)
from blendp.mechanisms.filtered_union.two_scale import SHARE_GRID
from blendp.methods.parameters import Parameters
from blendp.reports import SingleItem

ListMaker = ThresholdList | AsymmetricList | FilteredUnion


@dataclass(frozen=True)
class Guarantee:
    """The privacy of one release. Each person is in one group only, so each spends the budget once."""

    epsilon: float
    delta: float
    list_mechanism: str
    """How the list was made, in words."""

    threshold: float
    """How many people, noise included, a record needed to be listed (blendp method: at least; published: more than)."""

    noise: str
    """The noise on opt-in counts, in words."""

    noise_deviation: float
    """The standard deviation of the noise on the number of opt-in people of a listed record."""

    client_mechanism: str
    """How clients reported, in words."""

    client_epsilon_exact: float
    """The exact pure epsilon of all reports of one client, from the randomiser's channel."""

    client_delta: float
    """The exact delta of a client's report at its part of the promised epsilon; for several reports, their sum."""

    client_report_bytes: int
    """The size of the largest report in its compact form."""

    neighbours: str = "replace one user's records"

    @classmethod
    def of_two_stage(cls, parameters: Parameters, list_maker: ListMaker, randomiser: TwoStage) -> Self:
        """What the list maker and the published client randomiser promise together."""
        reports = parameters.client_records
        answer = SingleItem(int(randomiser.cells_per_query.sum()))
        return cls(
            parameters.epsilon,
            parameters.budget.delta,
            **_list_facts(list_maker, parameters),
            client_mechanism=randomiser.description,
            client_epsilon_exact=reports * randomiser.loss(),
            client_delta=reports * randomiser.delta_at(parameters.epsilon / reports),
            client_report_bytes=reports * answer.report_bytes,
        )

    @classmethod
    def of_split(
        cls, parameters: Parameters, list_maker: ListMaker, queries: FrequencyOracle, cells: FrequencyOracle
    ) -> Self:
        """What the list maker and a frequency oracle promise together; which question a client answers is public."""
        return cls(
            parameters.epsilon,
            parameters.budget.delta,
            **_list_facts(list_maker, parameters),
            client_mechanism=f"{queries.name}: {queries.naming('queries')}, or {cells.naming('cells')}",
            client_epsilon_exact=max(queries.loss(), cells.loss()),
            client_delta=max(queries.delta_at(parameters.epsilon), cells.delta_at(parameters.epsilon)),
            client_report_bytes=max(queries.report_bytes, cells.report_bytes),
        )

    @property
    def statement(self) -> str:
        """For people."""
        if self.client_epsilon_exact <= self.epsilon:
            exactly = f"e^{min(math.ceil(self.client_epsilon_exact * 1e4) / 1e4, self.epsilon):g}"
        else:
            exactly = f"e^{self.epsilon:g}, plus at most {self.client_delta:.2g}"
        return (
            f"Whatever one person's records are replaced by, the probability of any published result changes by a "
            f"factor of at most e^{self.epsilon:g} (about {math.exp(self.epsilon):.3g}), plus at most {self.delta:g}. "
            f"Opt-in users trust the curator, who sees their records and publishes noisy results (central model). "
            f"Clients trust nobody: each report is randomised before it is sent, and all reports of one client "
            f"together change the probability of anything by a factor of at most {exactly}, whatever else is known "
            f"(local model). Group sizes, and that a person takes part, are not hidden."
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {**asdict(self), "statement": self.statement}


def _list_facts(list_maker: ListMaker, parameters: Parameters) -> dict[str, Any]:
    """The list mechanism, its threshold and the noise on the counts, in words and in people."""
    if isinstance(list_maker, FilteredUnion):
        laws: tuple[NoiseLaw, ...] = (list_maker.counts.clipped_noise, list_maker.counts.excess_noise)
        unit = SHARE_GRID
    else:
        unit = list_maker.records_per_user
        laws = (list_maker.count_noise,)
        if parameters.holds_out:
            laws = (DiscreteLaplace.for_counts(parameters.epsilon, unit),)
    asked = parameters.method == "blendp" and parameters.many_records is None
    spent = parameters.epsilon - parameters.list_budget.epsilon
    before = f", after a noisy mean number of different records a person (ε = {spent:.3g})" if asked else ""
    return {
        "list_mechanism": list_maker.description + before,
        "threshold": list_maker.min_people,
        "noise": " and ".join(law.description_per(unit) for law in laws),
        "noise_deviation": math.sqrt(sum(law.variance for law in laws)) / unit,
    }
