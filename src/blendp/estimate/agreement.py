"""Do the two groups tell the same story? A check that costs no privacy: it only reads what is released anyway.

For every cell but <*,*>

    z_j = (p_C - p_O)/sqrt(v_C + v_O),        Q = sum z_j^2

where:
    p_O, v_O  are the mean and variance of the opt-in group's posterior,
    p_C, v_C  are the clients' own estimate and its variance.

If the groups are alike, z_j is about standard normal. The law of Q is found by simulation: probabilities are drawn from
the opt-in posterior, clients' answers to them from the law of their reports, and Q is computed as for the real ones;
the p-value is the share of simulated Q that reach the real one.

Groups may differ in a few records (lying clients) or throughout (another kind of people). The second is tested in the
same way with the median of (d_j - a)^2/(v_C + v_O), d = p_C - p_O, a its median, which a few records cannot move. Only
where this test fails too, kappa is chosen so that the median of (d_j - a)^2/(v_C + v_O + kappa^2 p^2) is that of a
squared normal variable.
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

_MEDIAN_OF_SQUARE = 0.4549364231195724
_MAX_KAPPA = 3.0
_NUMBERS = 1 << 18  # how many are drawn at a time


@dataclass(frozen=True, eq=False)
class CrossCheck:
    """How well the groups agree.

    where:
        z        is by cell, <*,*> left out,
        p_value  is that of the overall test, None where it could not be made,
        kappa    is the relative standard deviation between the groups, 0 unless they differ throughout.
    """

    z: Array
    statistic: float
    p_value: float | None
    kappa: float

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
        if self.kappa > 0:
            return (
                f"Opt-in users and clients do not tell the same story. {chance} Their probabilities are taken to "
                f"differ by about {100 * self.kappa:.0f} % of their size, and opt-in users speak mostly for themselves."
            )
        if self.differ:
            return (
                f"Opt-in users and clients do not tell the same story about some records. {chance} Most records "
                f"agree, so this looks more like clients who lie, or like a few habits of the opt-in users."
            )
        return f"Opt-in users and clients tell the same story, as far as can be seen. {chance}"

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "statistic": self.statistic,
            "p_value": self.p_value,
            "kappa": self.kappa,
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
    distances, middles = [], []
    for draws in _blocks(DRAWS, len(rows)):
        true = posterior.quantile(generator.random((draws, len(rows))))
        drawn_x = true + _noise(split.cells, expected, v, draws, generator)
        drawn_y = np.add.reduceat(true, starts, axis=-1) + _noise(split.queries, of_query, v_y, draws, generator)
        drawn, _, _, _ = reconcile(drawn_x, v, drawn_y, v_y, rows)
        distances.append(((drawn - expected) ** 2 / both).sum(axis=1))
        middles.append(_middle(drawn - expected, both))
    p_value = _share_reached(np.concatenate(distances), statistic)
    throughout = _share_reached(np.concatenate(middles), float(_middle(p - expected, both)))
    kappa = _kappa(p - expected, both, expected) if max(p_value, throughout) < SIGNIFICANT else 0.0
    return CrossCheck(z, statistic, p_value, kappa)


def _blocks(draws: int, cells: int) -> Iterator[int]:
    """So many draws in blocks: a long list takes few at a time, and no more memory than a short one."""
    length = max(1, _NUMBERS // cells)
    yield from (min(length, draws - start) for start in range(0, draws, length))


def _chance(p_value: float) -> str:
    """A share of releases, for people; fewer than one in so many draws cannot be told apart."""
    percent = float(f"{100 * p_value:.2g}")  # 99.7 is 100, not 1e+02
    return f"{'at most ' if p_value <= 1 / (DRAWS + 1) else ''}{percent:g} %"


def _share_reached(simulated: Array, real: float) -> float:
    """The share of the simulated values that reach the real one, itself among them."""
    return (1 + int((simulated >= real).sum())) / (len(simulated) + 1)


def _middle(difference: Array, variance: Array) -> Array:
    """The median of (d - a)^2/v, a the median of d; differences may have leading axes."""
    apart = difference - medians(difference)[..., None]
    return medians(apart**2 / variance)


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


def _kappa(difference: Array, variance: Array, expected: Array) -> float:
    """The kappa at which the median of (d - a)^2/(v + kappa^2 p^2) is that of a squared normal variable."""

    def too_small(kappa: float) -> bool:
        return float(_middle(difference, variance + (kappa * expected) ** 2)) > _MEDIAN_OF_SQUARE

    low, high = 0.0, _MAX_KAPPA
    if not too_small(low):
        return 0.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if too_small(middle) else (low, middle)
    return high


def _two_sided(share: float) -> float:
    """The |z| that a standard normal variable exceeds with this probability."""
    return NormalDist().inv_cdf(1 - share / 2) if share > 0 else math.inf
