"""What is known of a rest ``<q,*>`` before its number is seen: often nobody is in it, else a share of its query.

    L = 0   with probability pi,     else   ln L ~ Normal(ln B + m, s^2)

where:
    L  is the expected number of opt-in people in the rest of a query,
    B  is the expected number of people behind the listed records of that query.

How often rests are empty, and how large the others are, differs between logs by far more than a list can be wrong
about it, so pi, m and s are integrated over, with the rests of the list itself as the data:

    p(pi, m, s | rests)  ~  p(pi, m, s) prod_q [pi P(z_q | 0) + (1 - pi) int P(z_q | L) LogNormal(L) dL]

    m ~ Normal(-1.5, 2^2),    ln s ~ Normal(ln 1.4, 0.6^2),    pi uniform on 0, 0.1, ..., 0.9
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from blendp.arrays import Array

EMPTY = np.linspace(0.0, 0.9, 10)
"""The values of pi."""

_LOCATIONS = -1.5 + 2.0 * np.linspace(-2.5, 2.5, 15)
_SCALES = 1.4 * np.exp(0.6 * np.linspace(-2.0, 2.0, 7))
_SHAPES = tuple(product(_LOCATIONS.tolist(), _SCALES.tolist()))
_LOG_PRIOR = np.array(
    [-(((m + 1.5) / 2.0) ** 2 + (math.log(s / 1.4) / 0.6) ** 2) / 2 for m, s in _SHAPES], dtype=np.float64
)


def rest_weights(grid: Array, behind: Array, log_likelihood: Array, log_at_zero: Array) -> tuple[Array, Array]:
    """The logarithms of the posterior weights of every rest: of each point of its grid, and of 0.

    where:
        grid            holds numbers L, a row for every rest, each the same multiple of the one before,
        behind          is B of every rest,
        log_likelihood  is ln P(z | L) on the grid, log_at_zero is ln P(z | 0).
    """
    if not len(grid):
        return log_likelihood, log_at_zero
    share = np.log(grid / behind[:, None])
    likelihood, at_zero = _likelihoods(share, log_likelihood, log_at_zero)
    marginal = _marginal(share, likelihood, at_zero)
    each = _known(marginal) / marginal
    density = sum_of_shapes(share, (each * (1 - EMPTY)).sum(axis=2))
    with np.errstate(divide="ignore"):
        return np.log(likelihood * density), np.log(at_zero * (each * EMPTY).sum(axis=(1, 2)))


def rest_prior(grid: Array, behind: Array, log_likelihood: Array, log_at_zero: Array) -> tuple[Array, float]:
    """What the same rests tell of others: the weights of the shapes of the density of ln(L/B), and the mass at 0."""
    share = np.log(grid / behind[:, None])
    known = _known(_marginal(share, *_likelihoods(share, log_likelihood, log_at_zero)))
    return (known * (1 - EMPTY)).sum(axis=1), float((known * EMPTY).sum())


def sum_of_shapes(share: Array, weights: Array) -> Array:
    """The density of ln(L/B) at these points: log-normal ones with these weights, of each row its own or of all."""
    density: Array = np.zeros_like(share)
    for (m, s), weight in zip(_SHAPES, weights.T, strict=True):
        density += np.asarray(weight)[..., None] * _log_normal(share, m, s)
    return density


def _likelihoods(share: Array, log_likelihood: Array, log_at_zero: Array) -> tuple[Array, Array]:
    """P(z | L) times the step of the grid, and P(z | 0), each row in a scale of its own."""
    step = (share[:, -1:] - share[:, :1]) / (share.shape[1] - 1)
    highest = np.maximum(log_likelihood.max(axis=1), log_at_zero)
    return np.exp(log_likelihood - highest[:, None]) * step, np.exp(log_at_zero - highest)


def _marginal(share: Array, likelihood: Array, at_zero: Array) -> Array:
    """P(z_q | m, s, pi), by rest, shape and pi."""
    positive = np.stack([(likelihood * _log_normal(share, m, s)).sum(axis=1) for m, s in _SHAPES], axis=1)
    marginal: Array = EMPTY * at_zero[:, None, None] + (1 - EMPTY) * positive[:, :, None]
    return np.maximum(marginal, np.finfo(float).tiny)


def _known(marginal: Array) -> Array:
    """p(m, s, pi | rests), by shape and pi."""
    evidence = _LOG_PRIOR[:, None] + np.log(marginal).sum(axis=0)
    known = np.exp(evidence - evidence.max())
    return np.asarray(known / known.sum())


def _log_normal(share: Array, m: float, s: float) -> Array:
    """The density of ln(L/B)."""
    return np.asarray(np.exp(-(((share - m) / s) ** 2) / 2) / (s * math.sqrt(2 * math.pi)))
