"""Do the two groups tell the same story? A check that costs no privacy: it only reads what is released anyway.

For every cell but <*,*>

    z_j = (p_C - p_O)/sqrt(v_C + v_O),        Q = sum z_j^2

where:
    p_O, v_O  are the mean and variance of the opt-in group's posterior,
    p_C, v_C  are the clients' own estimate and its variance.

If the groups are alike, z_j is about standard normal. The law of Q is found by simulation: probabilities are drawn from
the opt-in posterior, clients' answers to them from the law of their reports, and Q is computed as for the real ones;
the p-value is the share of simulated Q that reach the real one.

Groups may differ in a few records (lying clients) or throughout (another kind of people). For the second, their
probabilities are taken to differ by the normal law, by kappa times their size:

    weight(kappa)  ~  prior(kappa) prod_j (v_j + kappa^2 p_j^2)^(-1/2) exp(-min(r_j^2, 3^2)/2),
    r_j^2 = (d_j - a)^2/(v_j + kappa^2 p_j^2)

where:
    d_j, v_j  are p_C - p_O and v_C + v_O, a the median of all d, and p_j the opt-in group's mean,
    prior     is 0.9 at 0 and exponential of mean 0.3 beside it,
    3         bounds what one record can say: a few of them, however far off, hardly move kappa.

kappa is the median of this law: 0 as long as alike groups are the better explanation, and then it grows without a
jump. What the likelihood alone, without the prior, does not rule out is told beside it (``kappa_max``): differences of
that size could be there unseen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array, medians
from blendp.estimate.posterior import Posterior
from blendp.estimate.split import Arm, Split, reconcile

DRAWS = 999
SIGNIFICANT = 0.01
"""Groups are taken to differ when the p-value is below this."""

UNSEEN = 0.05
"""Differences are ruled out that have no more than this part of the likelihood above them."""

_KAPPAS = np.linspace(0.0, 3.0, 601)
_ALIKE = 0.9
_USUAL = 0.3
_FARTHEST = 3.0  # standard deviations
_UNKNOWN = 1.5  # an upper limit as large says nothing
_NUMBERS = 1 << 18  # how many are drawn at a time


@dataclass(frozen=True, eq=False)
class CrossCheck:
    """How well the groups agree.

    where:
        z          is by cell, <*,*> left out,
        p_value    is that of the overall test, None where it could not be made,
        kappa      is the relative standard deviation between the groups' probabilities, as the blend takes it,
        kappa_max  is an upper limit of it: what could have gone unseen; None where any difference could.
    """

    z: Array
    statistic: float
    p_value: float | None
    kappa: float
    kappa_max: float | None = None

    @property
    def differ(self) -> bool:
        """Whether the groups are taken to differ."""
        return self.p_value is not None and self.p_value < SIGNIFICANT

    @property
    def flagged(self) -> NDArray[np.int64]:
        """The cells whose |z| would be so large by chance in one release of a hundred only (Bonferroni)."""
        if not len(self.z):
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(np.abs(self.z) > _two_sided(SIGNIFICANT / len(self.z)))

    @property
    def statement(self) -> str:
        """For people."""
        if self.p_value is None:
            return "The two groups could not be compared: one of them is missing, or the list is empty."
        chance = (
            f"A disagreement as large as theirs comes about by chance in {_chance(self.p_value)} of releases "
            f"(over all {len(self.z)} cells)."
        )
        if not self.differ:
            return f"Opt-in users and clients tell the same story, as far as can be seen. {chance} {self._unseen}"
        story = "Opt-in users and clients do not tell the same story"
        if self.kappa > 0:
            return f"{story}. {chance} Opt-in users speak mostly for themselves. {self._unseen}"
        return (
            f"{story} about some records. {chance} Most records agree, so this looks more like clients who lie, or "
            f"like a few habits of the opt-in users. {self._unseen}"
        )

    @property
    def _unseen(self) -> str:
        """How much the groups are taken to differ, and what the reports cannot tell."""
        taken = "be alike" if self.kappa == 0 else f"differ by about {_percent(self.kappa)} of their size"
        if self.kappa_max is None:
            return f"Their probabilities are taken to {taken}; the reports cannot tell how large differences are."
        return (
            f"Their probabilities are taken to {taken}; the reports do not rule out differences of up to "
            f"{_percent(self.kappa_max)}."
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "statistic": self.statistic,
            "p_value": self.p_value,
            "kappa": self.kappa,
            "kappa_max": self.kappa_max,
            "differ": self.differ,
            "flagged_cells": self.flagged.tolist(),
            "z": self.z.tolist(),
            "statement": self.statement,
        }


def cross_check(posterior: Posterior, split: Split, generator: np.random.Generator) -> CrossCheck:
    """Compare the groups; ``generator`` makes the simulated clients."""
    rows = split.query_of_cell[:-1]
    if not len(rows) or not split.cells.users or not posterior.users:
        return CrossCheck(np.zeros(0), 0.0, None, 0.0)
    starts = np.flatnonzero(np.r_[True, np.diff(rows) > 0])
    expected = posterior.mean
    x, v = split.cells.observe(expected)
    y, v_y = split.queries.observe(np.add.reduceat(expected, starts))
    p, variance, _, _ = reconcile(x, v, y, v_y, rows)
    z = (p - expected) / np.sqrt(variance + posterior.variance)
    statistic = float((z**2).sum())

    of_query, both = np.add.reduceat(expected, starts), variance + posterior.variance
    distances = []
    for draws in _blocks(DRAWS, len(rows)):
        true = posterior.quantile(generator.random((draws, len(rows))))
        drawn_x = true + _noise(split.cells, expected, v, draws, generator)
        drawn_y = np.add.reduceat(true, starts, axis=-1) + _noise(split.queries, of_query, v_y, draws, generator)
        drawn, _, _, _ = reconcile(drawn_x, v, drawn_y, v_y, rows)
        distances.append(((drawn - expected) ** 2 / both).sum(axis=1))
    p_value = _share_reached(np.concatenate(distances), statistic)
    kappa, kappa_max = _kappa(p - expected, both, expected)
    return CrossCheck(z, statistic, p_value, kappa, kappa_max)


def _blocks(draws: int, cells: int) -> Iterator[int]:
    """So many draws in blocks: a long list takes few at a time, and no more memory than a short one."""
    length = max(1, _NUMBERS // cells)
    yield from (min(length, draws - start) for start in range(0, draws, length))


def _chance(p_value: float) -> str:
    """A share of releases, for people; fewer than one in so many draws cannot be told apart."""
    percent = float(f"{100 * p_value:.2g}")  # 99.7 is 100, not 1e+02
    return f"{'at most ' if p_value <= 1 / (DRAWS + 1) else ''}{percent:g} %"


def _percent(share: float) -> str:
    """A share for people, of two digits."""
    return f"{float(f'{100 * share:.2g}'):g} %"


def _share_reached(simulated: Array, real: float) -> float:
    """The share of the simulated values that reach the real one, itself among them."""
    return (1 + int((simulated >= real).sum())) / (len(simulated) + 1)


def _noise(arm: Arm, expected: Array, variance: Array, draws: int, generator: np.random.Generator) -> Array:
    """Normal errors of an arm's estimates of all items but <*,*>; all of them together sum to 0.

        common + own,    the own ones sum to 0,    Var(common) = v/L^2

    where:
        v  is the variance of the estimate of <*,*>, and L the number of the other items.
    """
    if not arm.users:
        return np.zeros((draws, len(variance)))
    listed = len(variance)
    common = min(arm.rest_variance(expected) / listed**2, float(variance.min()))
    own = generator.standard_normal((draws, listed))
    own -= own.mean(axis=1, keepdims=True)
    wider = listed / max(listed - 1, 1)
    together = generator.standard_normal((draws, 1)) * math.sqrt(common)
    return np.asarray(own * np.sqrt((variance - common) * wider) + together)


def _kappa(difference: Array, variance: Array, expected: Array) -> tuple[float, float | None]:
    """The median of kappa, and its upper limit by the likelihood alone."""
    off = difference - medians(difference)
    spread = variance + (_KAPPAS[:, None] * expected) ** 2
    log_likelihood = -(np.log(spread) + np.minimum(off**2 / spread, _FARTHEST**2)).sum(axis=1) / 2
    likelihood = np.exp(log_likelihood - log_likelihood.max())
    prior = np.exp(-_KAPPAS / _USUAL)
    prior *= (1 - _ALIKE) / prior.sum()
    prior[0] += _ALIKE
    below, unweighted = (np.cumsum(weight) / weight.sum() for weight in (likelihood * prior, likelihood))
    kappa = float(np.interp(0.5, below, _KAPPAS))  # that of the first is 0: also where it has more than half
    limit = float(np.interp(1 - UNSEEN, unweighted, _KAPPAS))
    return kappa, limit if limit < _UNKNOWN else None


def _two_sided(share: float) -> float:
    """The |z| that a standard normal variable exceeds with this probability."""
    return NormalDist().inv_cdf(1 - share / 2) if share > 0 else math.inf
