"""The knobs of a survey, validated at birth."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from blendp.errors import ParameterError, require_choice, require_number
from blendp.privacy import Budget
from blendp.survey.choose import Promise
from blendp.survey.design import METHODS


@dataclass(frozen=True)
class SurveyParameters:
    """What a survey is told besides the people."""

    epsilon: float = 1.0
    """The privacy loss promised to every person: of an opt-in person for all answers together, of a client about every
    single attribute, under the model."""

    delta: float = 1e-6
    """The probability that the promise to the opt-in group may fail; keep it well below one over the people."""

    method: str = "cbps"
    """How clients report; see :data:`~blendp.survey.design.METHODS`."""

    group: int | None = None
    """How many attributes one client reports (``cbps``); None finds the best."""

    per_attribute: bool = True
    """Whether attributes of a group may be reported with different strength."""

    record_epsilon: float | None = None
    """The largest epsilon of a client's whole record, which holds whatever the correlations are; None sets no limit. At
    ``epsilon`` no promise rests on the model."""

    confidence: float = 0.99
    """With what probability the model learnt from the opt-in group bounds the truth."""

    project: bool = False
    """Whether the published frequencies of each attribute are projected on the simplex."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        Budget(self.epsilon, self.delta)
        require_number(
            "delta",
            self.delta,
            least=1e-200,
            below=1,
            legal="a number from 1e-200 to 1 (1 excluded)",
            remedy="Use a value well below one over the number of people, such as 1e-6.",
        )
        require_choice("method", self.method, METHODS)
        self.promise  # noqa: B018
        require_number(
            "confidence",
            self.confidence,
            least=0.5,
            below=1,
            legal="from 0.5 to 1 (1 excluded)",
            remedy="0.99 means that the model fails to bound the truth in one survey of a hundred at most.",
        )
        if self.group is not None and (self.method != "cbps" or self.group < 1):
            legal = "at least 1" if self.method == "cbps" else "left to the method, unless it is cbps"
            raise ParameterError("group", self.group, legal, "It is how many attributes one client reports.")

    @property
    def promise(self) -> Promise:
        """What clients are promised."""
        return Promise(self.epsilon, self.record_epsilon)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)
