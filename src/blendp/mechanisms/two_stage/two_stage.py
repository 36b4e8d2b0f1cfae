"""LocalAlg (figure 6): the client's two-stage randomiser. See PROOF.md beside this file."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blendp.errors import ParameterError, require_number
from blendp.mechanisms.exact import exact_power, floor_bits
from blendp.privacy import Budget
from blendp.randomness import Random, ReleaseRandom, require_release
from blendp.randomness.random import COIN_BITS

_BLOCK = 1 << 15


@dataclass(frozen=True, eq=False)
class TwoStage:
    """A frequency oracle of the local model. One report about one record, for a list with k queries of which query q
    has k_q cells:

        P(<q,u> | <q,u>)  = t t_q
        P(<q,u> | <q,u'>) = t (1 - t_q)/(k_q - 1)        u' another URL of q
        P(<q,u> | <q',.>) = (1 - t)/((k - 1) k_q)        q' another query

        t   = (e^eps_Q + (delta_Q/2)(k - 1))/(e^eps_Q + k - 1),    eps_Q = f eps,      delta_Q = f delta
        t_q = (e^eps_U + (delta_U/2)(k_q - 1))/(e^eps_U + k_q - 1),  eps_U = (1-f) eps,  delta_U = (1-f) delta

    where:
        f   is the share of the budget that protects the query; 1 when no query has a URL to hide (all k_q = 1),
        t   is the probability to keep the query, t_q to keep the URL, both rounded down to a multiple of 2^-53.

    The composition of the two stages wastes epsilon. With ``tight``,

        t_q = min(e^(eps - eps_Q)/k_q, e^eps/(e^eps + k_q - 1))

    the largest for which no ratio of a report's probabilities exceeds e^eps; delta must be 0 then.

    With k = 1 there is one cell, and it is reported always; with k_q = 1 the URL is certain once the query is.
    """

    budget: Budget
    cells_per_query: NDArray[np.int64]
    query_share: float = 0.85
    tight: bool = False
    """Whether t_q is raised until the whole epsilon is spent (see above)."""

    query_coin: int = field(init=False)
    url_coins: NDArray[np.uint64] = field(init=False)

    def __post_init__(self) -> None:
        """Compute the coins."""
        cells = np.array(self.cells_per_query, dtype=np.int64)
        cells.setflags(write=False)
        if cells.ndim != 1 or not len(cells) or cells.min() < 1:
            raise ParameterError(
                "cells_per_query",
                self.cells_per_query,
                "a list of whole numbers of at least 1",
                "Take it from HeadList.cells_per_query.",
            )
        require_number(
            "query_share",
            self.query_share,
            above=0,
            below=1,
            legal="above 0 and below 1",
            remedy="0.85 is the published choice.",
        )
        if self.tight and self.budget.delta:
            raise ParameterError("delta", self.budget.delta, "0 for the tight randomiser", "It is pure epsilon-LDP.")
        object.__setattr__(self, "cells_per_query", cells)
        object.__setattr__(self, "query_coin", _coin(self.query_budget, len(cells)))
        distinct, which = np.unique(cells, return_inverse=True)
        coins = [self._url_coin(int(k)) for k in distinct]
        url_coins = np.array(coins, dtype=np.uint64)[which]
        url_coins.setflags(write=False)
        object.__setattr__(self, "url_coins", url_coins)
        fair_coins = np.array([_fair(len(cells)), *(_fair(int(k)) for k in cells)])
        if (np.array([self.query_coin, *self.url_coins.tolist()]) < fair_coins).any():
            raise ParameterError(
                "epsilon",
                self.budget.epsilon,
                "so large that the truth is not less likely than anything else after rounding to 2^-53",
                "Raise epsilon above 1e-14.",
            )

    def _url_coin(self, choices: int) -> int:
        """t_q 2^53, rounded down."""
        if not self.tight or choices == 1:
            return _coin(self.url_budget, choices)

        def truth() -> Decimal:
            spare = (Decimal(self.budget.epsilon) - Decimal(self.query_budget.epsilon)).exp(getcontext())
            odds = Decimal(self.budget.epsilon).exp(getcontext())
            return min(spare / choices, odds / (odds + choices - 1))

        return floor_bits(truth, COIN_BITS)

    @property
    def query_budget(self) -> Budget:
        """The part of the budget spent on the query."""
        return self.budget.share(self.query_share) if self.cells_per_query.max() > 1 else self.budget

    @property
    def url_budget(self) -> Budget:
        """The part of the budget spent on the URL."""
        return self.budget.share(1 - self.query_share)

    @property
    def query_truth(self) -> float:
        """t, the probability that the query is kept."""
        return self.query_coin / (1 << COIN_BITS)

    @property
    def url_truth(self) -> NDArray[np.float64]:
        """t_q for every query, the probability that the URL is kept once the query is."""
        return self.url_coins / 2.0**COIN_BITS

    @cached_property
    def first_cell(self) -> NDArray[np.int64]:
        """The index of the first cell of every query."""
        return np.concatenate(([0], np.cumsum(self.cells_per_query)[:-1])).astype(np.int64)

    @cached_property
    def query_of_cell(self) -> NDArray[np.int64]:
        """The row of the query of every cell."""
        return np.repeat(np.arange(len(self.cells_per_query)), self.cells_per_query)

    def release(self, cells: ArrayLike, random: ReleaseRandom) -> NDArray[np.int64]:
        """One report for every cell, to be sent from devices."""
        require_release(random)
        return self.draw(cells, random)

    def draw(self, cells: ArrayLike, random: Random) -> NDArray[np.int64]:
        """One report for every cell, made in blocks that fit the processor's cache."""
        reports = np.array(cells, dtype=np.int64)
        if len(self.cells_per_query) > 1:
            for start in range(0, len(reports), _BLOCK):
                self._randomise(reports[start : start + _BLOCK], random)
        return reports

    def _randomise(self, cells: NDArray[np.int64], random: Random) -> None:
        """Replace every cell by its report."""
        choices = self.cells_per_query.astype(np.uint64)
        rows = self.query_of_cell.take(cells)
        kept = random.coins(self.query_coin, len(cells))

        lying = np.flatnonzero(~kept)
        other = random.below(len(choices) - 1, len(lying))
        other += other >= rows.take(lying)
        cells[lying] = self.first_cell.take(other) + random.below(choices.take(other), len(lying))

        honest = np.flatnonzero(kept)
        turned = honest[~random.coins(self.url_coins.take(rows.take(honest)), len(honest))]
        rows = rows.take(turned)
        start = self.first_cell.take(rows)
        url = random.below((choices - np.uint64(1)).take(rows), len(turned))
        url += url >= cells.take(turned) - start
        cells[turned] = start + url

    def cell_probabilities(self) -> list[tuple[Fraction, Fraction, Fraction]]:
        """For every query, the exact probabilities of reporting one of its cells: holding that cell, another cell
        of the query (0 if there is none), another query (0 if there is none).
        """
        k = len(self.cells_per_query)
        t = Fraction(self.query_coin, 1 << COIN_BITS)
        rows = []
        for cells, coin in zip(self.cells_per_query.tolist(), self.url_coins.tolist(), strict=True):
            t_q = Fraction(coin, 1 << COIN_BITS)
            sibling = t * (1 - t_q) / (cells - 1) if cells > 1 else Fraction(0)
            stranger = (1 - t) / ((k - 1) * cells) if k > 1 else Fraction(0)
            rows.append((t * t_q, sibling, stranger))
        return rows

    def channel(self) -> NDArray[np.float64]:
        """The matrix of P(report | cell), a row for every cell."""
        size = len(self.query_of_cell)
        same = np.array([[float(p) for p in row] for row in self.cell_probabilities()])[self.query_of_cell]
        matrix = np.tile(same[:, 2], (size, 1))
        siblings = self.query_of_cell[:, None] == self.query_of_cell[None, :]
        matrix[siblings] = np.broadcast_to(same[:, 1], (size, size))[siblings]
        np.fill_diagonal(matrix, same[:, 0])
        return matrix

    def loss(self) -> float:
        """The exact pure epsilon of one report: the largest log-ratio of the probabilities of a report."""
        worst = Fraction(1)
        for row in set(self.cell_probabilities()):
            possible = [p for p in row if p > 0]
            worst = max(worst, max(possible) / min(possible))
        return math.log1p(worst - 1)

    @property
    def description(self) -> str:
        """In words."""
        return "two-stage randomised response" + (", tight" if self.tight else "")

    def delta_at(self, epsilon: float) -> float:
        """The exact delta of one report at this epsilon: the largest hockey-stick divergence over pairs of cells."""
        grow = exact_power(epsilon)

        def excess(more: Fraction, less: Fraction) -> Fraction:
            return max(Fraction(0), more - grow * less)

        rows = Counter(zip(self.cells_per_query.tolist(), self.cell_probabilities(), strict=True))
        worst, leaving, entering = Fraction(0), {}, {}
        for row in rows:
            cells, (own, sibling, stranger) = row
            if cells > 1:
                worst = max(worst, excess(own, sibling))
            leaving[row] = excess(own, stranger) + (cells - 1) * excess(sibling, stranger)
            entering[row] = excess(stranger, own) + (cells - 1) * excess(stranger, sibling)
        for one, other in product(rows, rows):
            if one != other or rows[one] > 1:
                worst = max(worst, leaving[one] + entering[other])
        return float(worst)


def _fair(choices: int) -> int:
    """The coin of one over so many choices, rounded up."""
    return -((-1 << COIN_BITS) // choices)


def _coin(budget: Budget, choices: int) -> int:
    """The numerator over 2^53, rounded down, of t = (e^epsilon + (delta/2)(n-1))/(e^epsilon + n - 1)."""
    if choices == 1:
        return 1 << COIN_BITS

    def truth() -> Decimal:
        odds = Decimal(budget.epsilon).exp(getcontext())
        return (odds + Decimal(budget.delta) / 2 * (choices - 1)) / (odds + choices - 1)

    return floor_bits(truth, COIN_BITS)
