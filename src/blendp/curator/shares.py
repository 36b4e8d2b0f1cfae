"""From people's shares on two scales to noisy numbers of people, without a bias for people with habits.

What was clipped is a part of what was not, and much the same part in most cells, so its own noise need not be paid in
full. With Z, X the released sums of a cell (:mod:`blendp.mechanisms.filtered_union.two_scale`), s_Z, s_X their noise:

    L = Z (1 + r),     r = R + k (X/Z - R),     k = t^2/(t^2 + (s_X^2 + a Z)/Z^2),     R = sum (1-k) X / sum (1-k) Z

where:
    R    is the ratio of the cells that do not tell their own, each as far as it does not; in small cells less is
         clipped than in large ones, so the ratio of all would be too large for them,
    t^2  is how much the cells' own ratios vary, from the larger cells (empirical Bayes),
    a    is how much X varies among people beside a given ratio, for each person in Z.

Where a cell is large k is 1 and L = Z + X, which has no bias; where it is small the common ratio is taken, and what
its own may differ by is in the variance. The sum of all L is that of all Z + X exactly, whatever k is, so

    noise of the sum of m cells = m (s_Z^2 + s_X^2) = sum of v + g
    noise of L = v + c^2,     v = (1 + (1-k) R)^2 s_Z^2 + k^2 s_X^2 + (1-k)^2 t^2 Z^2,     c^2 = g w^2,
    w = (1-k) Z/sum (1-k) Z

where:
    v  is a cell's variance if R is known,
    g  is what that leaves of the variance of the sum: R is not known, and is the same for all,
    w  is a cell's part in it: two cells have the covariance c c'.
"""

from __future__ import annotations

import math

import numpy as np

from blendp.arrays import Array, Ids
from blendp.curator.by_weight import Prediction, people_by_weight
from blendp.curator.opt_in_counts import OptInCounts, give_rest
from blendp.headlist import HeadList
from blendp.mechanisms import FilteredUnion
from blendp.mechanisms.filtered_union import CountsOfShares
from blendp.mechanisms.filtered_union.holdings import GRID
from blendp.mechanisms.filtered_union.two_scale import CLIP, SHARE_GRID

_LARGE = 5.0  # standard deviations of its noise from which a cell tells its own ratio
_MIN_SPREAD = 0.1  # t is at least so much of R
_EXCESS_SIZE = 0.35  # the mean square over the mean of what is clipped of a person, in shares


def counts_of_shares(
    candidates: HeadList, users: int, released: CountsOfShares, weights: Ids, mechanism: FilteredUnion
) -> OptInCounts:
    """The counts of a list of many records a person, with how much one person's records resemble each other.

    ``weights`` are the noisy weights of the list's records, in the order of their cells.
    """
    counts = mechanism.counts
    z, x = released.clipped / SHARE_GRID, released.excess / SHARE_GRID
    noise_z = counts.clipped_noise.variance / SHARE_GRID**2
    noise_x = counts.excess_noise.variance / SHARE_GRID**2
    people, noise, common = (np.append(each, 0.0) for each in with_excess(z, x, noise_z, noise_x))
    total = max(float(people.sum()), 1.0)
    released_dispersions = (released.cell_dispersion, released.query_dispersion)
    cells, queries = (min(max(each / SHARE_GRID / total, 0.01), 1.0) for each in released_dispersions)
    records = candidates.record_cells
    rows = candidates.query_of_cell[records]
    of_records = people_by_weight(
        people[records],
        noise[records],
        cells,
        weights / GRID,
        float(mechanism.list_noise.sigma) / GRID,
        np.bincount(rows)[rows].astype(np.float64),
    )
    prediction = Prediction(*(np.full(candidates.cells, np.nan) for _ in of_records))
    for whole, values in zip(prediction, of_records, strict=True):
        whole[records] = values
    give_rest(people, noise, users, common)
    dispersions = cells, max(cells, queries)
    return OptInCounts(candidates, users, people, noise, *dispersions, prediction=prediction, common_noise=common)


def with_excess(z: Array, x: Array, noise_z: float, noise_x: float) -> tuple[Array, Array, Array]:
    """L, the variance of its noise, and the part c that all cells share in it, for every cell."""
    size = np.maximum(z, np.sqrt(noise_z))
    spread, own = _own_ratios(z, x, size, noise_z, noise_x)
    shared = 1 - own
    ratio = _ratio(shared * x, shared * z)
    people = z * (1 + shared * ratio) + own * x
    variance = (1 + shared * ratio) ** 2 * noise_z + own**2 * noise_x + shared**2 * spread * size**2
    left = max(len(z) * (noise_z + noise_x) - float(variance.sum()), 0.0)
    weight = shared * size
    common = weight * (math.sqrt(left) / max(float(weight.sum()), math.sqrt(noise_z)))
    return people, variance + common**2, common


def _own_ratios(z: Array, x: Array, size: Array, noise_z: float, noise_x: float) -> tuple[float, Array]:
    """t^2, and k for every cell."""
    ratio = _ratio(x, z)
    large = size >= _LARGE * np.sqrt(noise_x)
    spread = (_MIN_SPREAD * ratio) ** 2
    if large.any():
        unexplained = (x - ratio * z) ** 2 - noise_x - ratio**2 * noise_z
        spread = max(spread, float((unexplained / size**2)[large].mean()))
    among_people = _EXCESS_SIZE * ratio * size
    own = spread / (spread + (noise_x + among_people) / size**2) if spread else np.zeros_like(z)
    return spread, np.asarray(own)


def _ratio(x: Array, z: Array) -> float:
    """sum x/sum z, if shares can be clipped so."""
    total = float(z.sum())
    return float(np.clip(x.sum() / total, 0.0, SHARE_GRID / CLIP - 1)) if total > 0 else 0.0
