"""Putting the two groups together (figure 7)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Self

import numpy as np

from blendp.arrays import Array
from blendp.errors import require_choice
from blendp.estimate.group import Level, freeze_alike
from blendp.estimate.names import VARIANCES

CONFIDENCE = 0.95
"""How often intervals hold the truth, if all assumptions do."""

Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""The ends of such an interval in standard errors, for the normal law."""


@dataclass(frozen=True, eq=False)
class Blend:
    """The blended probabilities of one level.

    where:
        probability    is unbiased up to the choice of the weight and of the list, and may be negative,
        variance       estimates that of ``probability``, on the wide side for small counts; inf where unknown,
        weight_opt_in  is the opt-in group's share in it; the clients have the rest,
        low, high      are the ends of an interval that holds the truth with the probability CONFIDENCE.
    """

    probability: Array
    variance: Array
    weight_opt_in: Array
    low: Array
    high: Array

    @classmethod
    def normal(cls, probability: Array, variance: Array, weight_opt_in: Array) -> Self:
        """With intervals of the normal law."""
        with np.errstate(invalid="ignore"):
            reach = Z * np.sqrt(variance)
        return cls(probability, variance, weight_opt_in, probability - reach, probability + reach)

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together, and freeze them."""
        freeze_alike(self.probability, self.variance, self.weight_opt_in, self.low, self.high)

    @cached_property
    def std_error(self) -> Array:
        """The square root of the variance; nan where a printed formula makes it negative."""
        with np.errstate(invalid="ignore"):
            return np.sqrt(self.variance)


def blend(opt_in: Level, client: Level, opt_in_users: int, variance: str = "mended") -> Blend:
    """The weighted mean of the two groups' estimates.

        p = w p_O + (1 - w) p_C,    w = v_C/(v_O + v_C),    Var(p) = w^2 v_O + (1 - w)^2 v_C

    where:
        v_C  is the clients' variance, at least what the noise alone gives,
        v_O  is the opt-in group's variance at a probability x, floor + x (1 - x)/n_O.

    x is first the clients' estimate, then the blend that it gives (both cut to [0, 1]): an opt-in estimate must not
    choose its own weight, or estimates that happen to be low would be trusted most. In Var(p), x and 1 - x count up to
    one person more, w^2/n_O, so that intervals hold for what hardly anybody, or nearly everybody, in the opt-in group
    has. Where one group says nothing, or its variance is unknown, the other has all the weight; where both are unknown
    the clients' estimate stands, or else the opt-in group's.

    ``variance`` "journal" and "conference" take w from the plug-in variances as they are, also where that makes it
    fall outside [0, 1].
    """
    require_choice("variance", variance, VARIANCES)
    if variance != "mended":
        return _printed(opt_in, client)
    p_o, p_c = opt_in.probability, client.probability
    v_c = np.maximum(client.variance, client.floor)
    knows_o, knows_c = np.isfinite(opt_in.variance), np.isfinite(v_c)
    alone = _weight_where_one_is_unknown(opt_in, client)
    people = max(opt_in_users, 1)

    def v_o(x: Array, more: Array | float = 0.0) -> Array:
        x = np.clip(x, 0.0, 1.0)
        return np.asarray(opt_in.floor + (x + more / people) * (1 - x + more / people) / people)

    def weight(x: Array) -> Array:
        with np.errstate(invalid="ignore"):
            both = v_c / (v_o(x) + v_c)
        return np.where(knows_o & knows_c, both, alone)

    w = weight(np.where(knows_c, p_c, p_o))
    w = weight(_mean(w, p_o, p_c))
    p = _mean(w, p_o, p_c)
    v = _mean(w**2, v_o(p, more=w**2), v_c, (1 - w) ** 2)
    return Blend.normal(p, np.where(knows_o | knows_c, v, np.inf), w)


def _mean(w: Array, first: Array, second: Array, rest: Array | None = None) -> Array:
    """w first + rest second, where a term of weight 0 counts for 0 even if its value is not finite."""
    rest = 1 - w if rest is None else rest
    with np.errstate(invalid="ignore"):
        return np.where(w == 0, 0.0, w * first) + np.where(rest == 0, 0.0, rest * second)


def _weight_where_one_is_unknown(opt_in: Level, client: Level) -> Array:
    """1 for the opt-in group where it alone knows its error, or nobody does and the clients say nothing; else 0."""
    knows_o, knows_c = np.isfinite(opt_in.variance), np.isfinite(client.variance)
    return np.where(~knows_c & (knows_o | np.isnan(client.probability)), 1.0, 0.0)


def _printed(opt_in: Level, client: Level) -> Blend:
    v_o, v_c = opt_in.variance, client.variance
    with np.errstate(invalid="ignore", divide="ignore"):
        both = v_c / (v_o + v_c)
    w = np.where(np.isinf(v_o) | np.isinf(v_c), _weight_where_one_is_unknown(opt_in, client), both)
    return Blend.normal(_mean(w, opt_in.probability, client.probability), _mean(w**2, v_o, v_c, (1 - w) ** 2), w)
