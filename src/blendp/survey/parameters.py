"""The knobs of a survey, validated at birth."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from blendp.errors import ParameterError, require_choice, require_count, require_number
from blendp.privacy import Budget
from blendp.privacy.delta import fitting_delta
from blendp.privacy.gaussian import gaussian_mu
from blendp.survey.choose import Promise
from blendp.survey.designs import METHODS, MODEL_METHODS
from blendp.survey.models.base import MAX_CELLS, Model
from blendp.survey.models.bounded_table import MAX_TOGETHER
from blendp.survey.models.tree import MAX_VALUES, require_values
from blendp.survey.opt_in import require_confidence

LEARN = ("auto", "table", "tree")

MAX_SURVEY_DELTA = 1e-6
"""The largest delta that is chosen for few people."""

MAX_COMBINATIONS = 512
"""Beyond so many combinations the noise on their table makes its bounds wide."""


@dataclass(frozen=True)
class SurveyParameters:
    """What a survey is told besides the people."""

    epsilon: float = 1.0
    """The privacy loss promised to every person: of an opt-in person for all answers together, of a client about every
    single attribute, under the model."""

    delta: float | None = None
    """By how much the probability of any result may exceed e^epsilon times what it is with other answers of an opt-in
    person; clients need none. None takes one below a tenth of one over the number of people, once that is known
    (:meth:`fitted`); at most :data:`MAX_SURVEY_DELTA`."""

    method: str = "cbps"
    """How clients report; see :data:`~blendp.survey.designs.METHODS`."""

    group: int | None = None
    """How many attributes one client reports (``cbps``); None finds the best."""

    per_attribute: bool = True
    """Whether attributes of a group may be reported with different strength."""

    record_epsilon: float | None = None
    """The largest epsilon of a client's whole record, which holds whatever the correlations are; None sets no limit. At
    ``epsilon`` no promise rests on the model."""

    learn: str = "auto"
    """What is learnt from the opt-in group for the guarantee: ``table`` bounds how any few attributes hang together and
    assumes no shape; ``tree`` assumes that attributes form a tree, and can do with many more of them; ``auto`` takes
    the table where there are at most :data:`MAX_COMBINATIONS` combinations of answers, otherwise a tree, and nothing
    where the opt-in group is too small to show anything, or its tables of pairs contradict the tree."""

    confidence: float = 0.99
    """With what probability the model learnt from the opt-in group bounds the truth."""

    project: bool = True
    """Whether the published frequencies of each attribute are projected on the simplex; intervals never are."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        delta = MAX_SURVEY_DELTA if self.delta is None else self.delta
        Budget(self.epsilon, delta)
        require_number(
            "delta",
            delta,
            min_value=1e-200,
            below=1,
            legal="a number from 1e-200 to 1 (1 excluded)",
            remedy="Use a value well below one over the number of people, such as 1e-6.",
        )
        require_choice("method", self.method, METHODS)
        self.promise  # noqa: B018
        require_choice("learn", self.learn, LEARN)
        require_confidence(self.confidence)
        if self.group is not None:
            remedy = "It is how many attributes one client reports."
            require_count("group", self.group, min_value=1, remedy=remedy)
            if self.method != "cbps":
                raise ParameterError("group", self.group, "left to the method, unless it is cbps", remedy)

    @property
    def budget(self) -> Budget:
        """What each opt-in person is promised."""
        if self.delta is None:
            raise ParameterError("delta", None, "a number here", "Say how many people there are: fitted(people).")
        return Budget(self.epsilon, self.delta)

    def fitted(self, people: int) -> Self:
        """The same, with a delta that fits so many people where none was said. Their number is public."""
        return self if self.delta is not None else replace(self, delta=fitting_delta(people, MAX_SURVEY_DELTA))

    @property
    def promise(self) -> Promise:
        """What clients are promised."""
        return Promise(self.epsilon, self.record_epsilon)

    def tables(self, sizes: tuple[int, ...], people: int, model: Model | None) -> str:
        """Which tables so many opt-in people release, if attributes have so many values and this model is given.

        It depends on public numbers alone. ``auto`` learns nothing where the noise would drown it.
        """
        needless = self.record_epsilon is not None and self.record_epsilon <= self.epsilon
        if model is not None or self.method not in MODEL_METHODS or len(sizes) == 1 or needless:
            return "single"
        combinations = math.prod(sizes)
        if self.learn == "table" and combinations > MAX_CELLS:
            raise ParameterError(
                "learn", self.learn, f"tree where answers have more than {MAX_CELLS} combinations", "Use tree."
            )
        together = self.method == "cbps" or (self.method == "cbp" and len(sizes) <= MAX_TOGETHER + 1)
        table = self.method != "rsfd" and self.learn == "table"
        if self.learn == "auto" and together and combinations <= MAX_COMBINATIONS:
            table = self._shows("all", sizes, people)
        if table:
            return "all"
        if self.learn == "auto" and (max(sizes) > MAX_VALUES or not self._shows("pairs", sizes, people)):
            return "single"
        require_values(sizes)
        return "pairs"

    def _shows(self, kind: str, sizes: tuple[int, ...], people: int) -> bool:
        """Whether four deviations of the noise on a cell of the smallest pair are less than half its people."""
        first, second, *rest = sorted(sizes)
        variances = {"all": 4 * math.prod(rest), "pairs": len(sizes) * (len(sizes) - 1)}
        deviation = math.sqrt(variances[kind]) / gaussian_mu(self.epsilon, self.budget.delta)
        return 4 * deviation < people / (first * second) / 2

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)
