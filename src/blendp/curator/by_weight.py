"""What a record's weight in the list says of how many people stand behind it.

Weights count those who have a record, numbers of people the shares of their records, so the two go together, but not
exactly. How closely is learnt from the list itself (empirical Bayes):

    ln L_j ~ Normal(a + b ln W_j, t_j^2),   t_j^2 = 4 n_j h^2 + (s/W_j)^2 + c/W_j + u_j,   z_j = L_j + noise (v_j)

where:
    W_j  is the noisy weight of record j in the list, s its noise, c how much a person adds who has the record,
    z_j  is the noisy number of people of record j, of variance v_j, L_j what it is on average,
    h    is how much records differ in the share that people have of them; four times its square is taken, as what
         habits do to weights they do to numbers, too,
    n_j  is how many listed records have the query of j: people's habits are about queries, so these records differ
         from their predictions together,
    u_j  is what is not known of a and b,
    a, b are fitted by weighted least squares, z_j ~ A W_j^b with weights 1/(v_j + t_j^2 A^2 W_j^2b),
    h^2  by moments, as (z_j - A W_j^b)^2 is v_j + t_j^2 A^2 W_j^2b on average, and by what is usual.

The same people stand behind weights and numbers, so v_j is smaller by twice their covariance. Both are released
already: this costs nothing. Small numbers, which are mostly noise, gain most; beside large ones t_j is wide.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from blendp.arrays import Array

_ROUNDS = 25
_FEW = 8  # records below which nothing is learnt
_ADDED = 0.7  # c
_USUAL = 0.3  # h
_CAUTION = 4  # times h^2 is taken
_MIN_H, _MAX_H = 0.15, 1.5
_SLOPES = (0.5, 2.5)


class Prediction(NamedTuple):
    """What weights say of records.

    where:
        people       is A W^b, the mean of L,
        spread       is t_j, with what is not known of A and b,
        seen_spread  is the same with h^2 once instead of four times, as the list's records show it,
        common       is the covariance of z_j and A W_j^b among people, for each person in L.
    """

    people: Array
    spread: Array
    seen_spread: Array
    common: Array


def people_by_weight(
    people: Array, noise: Array, dispersion: float, weights: Array, weight_noise: float, alike: Array
) -> Prediction:
    """The prediction for every record.

    where:
        people, noise, dispersion  are z and what v is made of: dispersion L + noise,
        weights, weight_noise      are W and s, in the weight of one person who has no other record,
        alike                      is n_j.
    """
    weights = np.maximum(weights, 1e-3)
    of_weight = (weight_noise / weights) ** 2 + _ADDED / weights
    if not len(people):
        return Prediction(*(np.zeros(0) for _ in Prediction._fields))
    x = np.log(weights) - float(np.log(weights).mean())
    level, slope, square = math.log(max(float(people.mean()), 0.05)), 1.0, _USUAL**2
    learns = len(people) >= _FEW
    for _ in range(_ROUNDS):
        expected = np.exp(level + slope * x)
        common = np.minimum(_ADDED * expected / weights, dispersion / 2)
        variance = ((dispersion - 2 * common) * expected + noise) / expected**2
        weight = 1 / (variance + square + of_weight)
        gap = (people - expected) / expected
        total = float(weight.sum())
        off = x - float((weight * x).sum()) / total
        width = max(float((weight * off**2).sum()), 1e-9)
        unsure = 1 / total + off**2 / width if learns else np.zeros_like(x)
        if learns:
            tilt = float((weight * off * gap).sum()) / width
            slope = _between(slope + _between(tilt, -0.3, 0.3), *_SLOPES)
        level += _between(float((weight * gap).sum()) / total, -0.5, 0.5)
        known = 1 / (2 * (variance + square + of_weight) ** 2)
        unexplained = gap**2 - variance - of_weight + unsure
        usual = 2 / _USUAL**4
        square = (float((known * unexplained).sum()) + usual * _USUAL**2) / (float(known.sum()) + usual)
        square = _between(square, _MIN_H**2, _MAX_H**2) if learns else _USUAL**2
    cautious, seen = (np.sqrt(times * square * alike + of_weight + unsure) for times in (_CAUTION, 1))
    return Prediction(np.asarray(expected), np.asarray(cautious), np.asarray(seen), np.asarray(common))


def _between(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
