"""Probabilities from the curator's noisy counts (theorem 4.5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blendp.curator import NoisyCounts, OptInCounts
from blendp.errors import require_choice
from blendp.estimate.group import GroupEstimate, Level, nothing
from blendp.estimate.names import VARIANCES


def opt_in_estimate(noisy: NoisyCounts, variance: str = "mended") -> GroupEstimate:
    """The opt-in group's estimate of every cell and query.

        p = Z/(n m),    v = (p (1 - p) + n W)/(n - 1),    W = d s^2/(n m)^2

    where:
        Z    is the noisy count, the sum of d noisy counts where cells were folded together,
        n, m are the users and the records taken from each,
        s^2  is the variance of one noise.

    For m = 1, E[v] is exactly the variance of p: E[p(1-p)] = (n-1) Var(p) - n W. For m > 1 the records of one user
    may be alike, and v estimates the largest variance that a user mean in [0, 1] can have, so it is never too small
    on average. With n < 2 the variance is unknown (inf); with n = 0 nothing is said (nan).

    ``variance`` other than "mended" takes the printed formula, v = p(1-p)/(N-1) + 2 b^2/(N(N-1)) with N = n m: one
    noise of the continuous Laplace law, whatever was folded.
    """
    require_choice("variance", variance, VARIANCES)
    query_of_cell = noisy.head_list.query_of_cell
    return GroupEstimate(
        noisy.users,
        _level(noisy.counts, noisy.terms, noisy, variance),
        _level(
            np.bincount(query_of_cell, weights=noisy.counts),
            np.bincount(query_of_cell, weights=noisy.terms),
            noisy,
            variance,
        ),
    )


def _level(
    counts: NDArray[np.int64] | NDArray[np.float64],
    terms: NDArray[np.int64] | NDArray[np.float64],
    noisy: NoisyCounts,
    variance: str,
) -> Level:
    users, records = noisy.users, noisy.users * noisy.records_per_user
    if not records:
        return nothing(len(counts))
    p = np.where(terms > 0, counts / records, np.nan)
    floor = np.where(terms > 0, terms * noisy.noise.variance / records**2, np.inf)
    if users < 2:
        v = np.full(len(p), np.inf)
    elif variance == "mended":
        v = (p * (1 - p) + users * floor) / (users - 1)
    else:
        v = p * (1 - p) / (records - 1) + 2 * noisy.noise.scale**2 / (records * (records - 1))
    return Level(p, np.where(terms > 0, v, np.inf), floor)


def counts_estimate(counts: OptInCounts) -> GroupEstimate:
    """The opt-in group's own estimates, as the counts say it: records near the threshold come out too high.

        p = z/n,    v = phi p (1 - p)/n + s^2/n^2,    floor = s^2/n^2

    where:
        z, s^2  are the noisy number of people and the variance of its noise, phi the dispersion.

    The blend does not use them but the posterior (:mod:`blendp.estimate.posterior`), in which the selection is undone.
    """
    rows, n = counts.head_list.query_of_cell, counts.users

    def level(people: NDArray[np.float64], noise: NDArray[np.float64], dispersion: float) -> Level:
        if not n:
            return nothing(len(people))
        p, floor = people / n, noise / n**2
        inside = np.clip(p, 0.0, 1.0)
        return Level(p, dispersion * inside * (1 - inside) / n + floor, floor)

    people, noise, _ = counts.sums(rows, counts.head_list.queries + 1)
    return GroupEstimate(
        n,
        level(counts.people.copy(), counts.noise_variance.copy(), counts.dispersion),
        level(people, noise, counts.query_dispersion),
    )
