"""What was promised to whom, in numbers and words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Self

from blendp.mechanisms import AsymmetricList, DiscreteLaplace, SubsetSelection, ThresholdList, TwoStage, WeightedUnion
from blendp.methods.parameters import Parameters


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
    def of_two_stage(
        cls, parameters: Parameters, list_maker: ThresholdList | AsymmetricList | WeightedUnion, randomiser: TwoStage
    ) -> Self:
        """What the list maker and the published client randomiser promise together."""
        reports = parameters.client_records
        cells = int(randomiser.cells_per_query.sum())
        return cls(
            parameters.epsilon,
            parameters.delta,
            **_list_facts(list_maker, parameters),
            client_mechanism="two-stage randomised response" + (", tight" if randomiser.tight else ""),
            client_epsilon_exact=reports * randomiser.loss(),
            client_delta=reports * randomiser.delta_at(parameters.epsilon / reports),
            client_report_bytes=reports * max(1, ((cells - 1).bit_length() + 7) // 8),
        )

    @classmethod
    def of_split(
        cls,
        parameters: Parameters,
        list_maker: AsymmetricList | WeightedUnion,
        queries: SubsetSelection,
        cells: SubsetSelection,
    ) -> Self:
        """What the list maker and subset selection promise together; which question a client answers is public."""
        return cls(
            parameters.epsilon,
            parameters.delta,
            **_list_facts(list_maker, parameters),
            client_mechanism=f"subset selection: {queries.size} of {queries.items} queries, or {cells.size} of "
            f"{cells.items} cells",
            client_epsilon_exact=max(queries.loss(), cells.loss()),
            client_delta=0.0,
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


def _list_facts(list_maker: ThresholdList | AsymmetricList | WeightedUnion, parameters: Parameters) -> dict[str, Any]:
    """The list mechanism, its threshold and the noise on the counts, in words and in people."""
    m = parameters.opt_in_records
    if isinstance(list_maker, ThresholdList):
        name, threshold = "threshold on discrete Laplace counts (figure 3)", list_maker.threshold / m
    elif isinstance(list_maker, AsymmetricList):
        name, threshold = "threshold on asymmetric discrete Laplace counts", float(list_maker.min_total)
    else:
        name, threshold = f"weighted Gaussian set union of {m} records a person", list_maker.min_people
    if isinstance(list_maker, ThresholdList) or parameters.holds_out:
        laplace = DiscreteLaplace.for_counts(parameters.epsilon, m)
        words, variance = f"discrete Laplace, scale {laplace.scale / m:.4g}", laplace.variance
    elif isinstance(list_maker, AsymmetricList):
        rates = [float(rate) for rate in (list_maker.noise.falling, list_maker.noise.rising)]
        words = "asymmetric discrete Laplace, rates {:.4g} above and {:.4g} below 0".format(*rates)
        variance = list_maker.noise.variance
    else:
        sigma, variance = float(list_maker.count_noise.sigma), list_maker.count_noise.variance
        words = f"rounded Gaussian, sigma {sigma / m:.4g}"
    deviation = math.sqrt(variance) / m
    return {"list_mechanism": name, "threshold": threshold, "noise": words, "noise_deviation": deviation}
