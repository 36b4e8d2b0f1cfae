"""What was promised to whom, in numbers and words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from blendp.mechanisms import ThresholdList, TwoStage
from blendp.methods.parameters import Parameters


@dataclass(frozen=True)
class Guarantee:
    """The privacy of one release. Each person is in one group only, so each spends the budget once."""

    epsilon: float
    delta: float
    threshold: float
    """tau of the list: a record is listed when its noisy count among the list-making opt-in users exceeds it."""

    noise_scale: float
    """The scale of the discrete Laplace noise on opt-in counts."""

    client_epsilon_exact: float
    """The exact pure epsilon of all reports of one client, from the randomiser's channel."""

    client_delta: float
    """The exact delta of a client's report at its part of the promised epsilon; for several reports, their sum."""

    neighbours: str = "replace one user's records"

    @classmethod
    def of(cls, parameters: Parameters, list_maker: ThresholdList, randomiser: TwoStage) -> Guarantee:
        """What these mechanisms promise together."""
        reports = parameters.client_records
        return cls(
            parameters.epsilon,
            parameters.delta,
            list_maker.threshold,
            list_maker.noise.scale,
            reports * randomiser.loss(),
            reports * randomiser.delta_at(parameters.epsilon / reports),
        )

    @property
    def words(self) -> str:
        """For people."""
        if self.client_epsilon_exact <= self.epsilon:
            exactly = f"e^{math.ceil(self.client_epsilon_exact * 1e4) / 1e4:g}"
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
        return {**asdict(self), "words": self.words}
