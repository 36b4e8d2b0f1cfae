"""What reports about correlated attributes reveal: under a model, and whatever the correlations are. See PROOF.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from blendp.errors import ParameterError
from blendp.survey.models.base import Model, require_epsilons, require_sizes
from blendp.survey.models.joint import Joint


@dataclass(frozen=True)
class Perturbation:
    """How each attribute of one person's record is reported: independently, by randomised response.

    where:
        epsilons[j]  is ln(Q1/Q2): the held value is reported Q1/Q2 times as probably as any other one; 0 if attribute j
                     is not reported,
        sizes[j]     is m, the number of values: Q1 + (m - 1) Q2 = 1,
        single       is whether a report names one value; if not, it may be a subset of the values.
    """

    epsilons: tuple[float, ...]
    sizes: tuple[int, ...]
    single: bool = True

    def __post_init__(self) -> None:
        """Refuse ratios that are no numbers."""
        object.__setattr__(self, "sizes", require_sizes(self.sizes))
        object.__setattr__(self, "epsilons", tuple(require_epsilons(self.epsilons, self.sizes).tolist()))

    @classmethod
    def of_truth(cls, truths: Sequence[float], sizes: Sequence[int] | None = None) -> Self:
        """From the probabilities Q1 of telling the truth; ``sizes`` is 2 everywhere if none is said."""
        sizes = (2,) * len(truths) if sizes is None else tuple(sizes)
        epsilons = []
        for q1, m in zip(truths, sizes, strict=True):
            if not 1 / m * (1 - 1e-12) <= q1 < 1:
                raise ParameterError("truths", q1, f"from 1/{m} to 1 (1 excluded)", "1/m tells nothing, 1 everything.")
            epsilons.append(max(0.0, math.log(q1 * (m - 1) / (1 - q1))))
        return cls(tuple(epsilons), sizes)

    @property
    def truths(self) -> tuple[float, ...]:
        """Q1 = e^epsilon/(e^epsilon + m - 1) of every attribute: the probability that a single report is true."""
        return tuple(
            1 / (1 + (m - 1) * math.exp(-epsilon)) for epsilon, m in zip(self.epsilons, self.sizes, strict=True)
        )

    @property
    def record_epsilon(self) -> float:
        """The pure epsilon of the whole record, which holds whatever the correlations are: the sum of all."""
        return math.fsum(self.epsilons)


@dataclass(frozen=True)
class Losses:
    """Both guarantees of a perturbation.

    where:
        by_attribute  is the loss about each attribute, if people's answers follow the model,
        record        is the epsilon of the whole record, for any answers: nothing about anybody is ever told beyond it,
        kind          says what ``by_attribute`` is: "exact", "at most" (a bound), or "pairwise product" (neither).
    """

    by_attribute: tuple[float, ...]
    record: float
    kind: str

    @property
    def worst(self) -> float:
        """The largest loss about an attribute."""
        return max(self.by_attribute)

    def __str__(self) -> str:
        """Both numbers, always together."""
        kind = "" if self.kind == "exact" else f"{self.kind} "
        return (
            f"{kind}{self.worst:.4g} about an attribute under the model, {self.record:.4g} about the record without one"
        )


def udldp_loss(model: Model | ArrayLike, perturbation: Perturbation) -> Losses:
    """What one person's reports reveal about each of their attributes.

        loss_i = max over s, s', B of  ln P(B | b_i = s)/P(B | b_i = s')

    where:
        B  is a vector of reports, b_i the person's true value of attribute i; P is taken under ``model``:
           a :class:`Joint` (or its table) of up to 2^16 cells, a :class:`~blendp.survey.models.tree.Tree` of any
           size, with known or only bounded laws, or :class:`~blendp.survey.models.clusters.Clusters` of these.

    Attributes that are not reported are included: they can show through the others. The loss is exact for tables, for
    trees of two-valued attributes, and for other trees with up to 2^16 different reports; it is an upper bound where
    laws are only bounded, and for larger trees of many-valued attributes. It never exceeds the record's epsilon.
    """
    law: Model = model if hasattr(model, "losses") else Joint(np.asarray(model, dtype=np.float64))  # type: ignore[assignment]
    _require_match(law, perturbation)
    epsilons = np.array(perturbation.epsilons)
    single = np.full(len(epsilons), perturbation.single)
    with np.errstate(over="ignore", invalid="ignore"):  # what leaves the range of floats is the record's
        losses = law.exact_losses(epsilons, single)
        kind = "at most" if losses is None else "exact"
        if losses is None:
            losses = law.losses(epsilons[None], single)[0]
    return Losses(tuple(np.fmin(losses, perturbation.record_epsilon).tolist()), perturbation.record_epsilon, kind)


def pairwise_product_loss(joint: Joint | ArrayLike, perturbation: Perturbation) -> Losses:
    """The published theorem's formula, which adds up what every other report tells by itself.

        loss_i = epsilon_i + max over s, s' of  sum over j of  max over x of  ln P_ij(x | s)/P_ij(x | s')

    where:
        P_ij(x | s) = P(b'_j = x | b_i = s) = Q1 P(b_j = x | b_i = s) + Q2 (1 - P(b_j = x | b_i = s)).

    Exact for two attributes, and where all others are independent given b_i. In general it is NOT a bound: three
    attributes of which one is the exclusive or of the others look independent in pairs. For comparison only; a
    guarantee needs :func:`udldp_loss`.
    """
    law = joint if isinstance(joint, Joint) else Joint(np.asarray(joint, dtype=np.float64))
    _require_match(law, perturbation)
    epsilons = np.array(perturbation.epsilons)
    losses = []
    for i, own in enumerate(perturbation.epsilons):
        total = np.zeros((law.sizes[i], law.sizes[i]))
        for j in range(len(law.sizes)):
            if j != i:
                logs = np.log1p(np.expm1(epsilons[j]) * law.pairs()[i, j])
                total += (logs[:, None, :] - logs[None, :, :]).max(axis=2)
        losses.append(own + float(total.max()))
    return Losses(tuple(losses), perturbation.record_epsilon, "exact" if len(law.sizes) == 2 else "pairwise product")


def _require_match(law: Model, perturbation: Perturbation) -> None:
    if law.sizes != perturbation.sizes:
        raise ParameterError("perturbation", perturbation.sizes, f"for attributes of {law.sizes} values", "Match them.")
