"""What both groups answer about drawn lists, put together by the methods' own estimators."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array, Ids
from blendp.curator import OptInCounts
from blendp.estimate import (
    Level,
    Posterior,
    Tally,
    blend,
    client_estimate,
    opt_in_posterior,
    project_on_simplex,
    reconcile,
)
from blendp.estimate.group import nothing
from blendp.estimate.hybrid import capped
from blendp.estimate.posterior import WILDCARD_EXPONENT, prior_exponent
from blendp.estimate.rests import rest_prior, sum_of_shapes
from blendp.evaluation.planner.lists import RECORD, REST, WILD, Lists
from blendp.headlist import HeadList
from blendp.mechanisms import AsymmetricLaplace, AsymmetricList, FrequencyOracle, TwoStage
from blendp.methods import GroupSizes, Parameters
from blendp.methods.query_share import SHARES, WORTHWHILE, sturdiest
from blendp.reports import ORACLES, frequency_oracle, two_stage_randomiser

_SMALL = 128
"""So many totals, from the least that is listed on, have exact likelihoods that are kept from plan to plan."""


_RESTS = 200
"""So many rests tell the prior of all."""


@dataclass(frozen=True, eq=False)
class ClientAnswers:
    """Estimates of every cell and row of drawn lists.

    where:
        cells, queries     are the published probabilities,
        variance           is that of the cells, as the method states it; 0 for <*,*> where it is of no use,
        opt_in_variance    is the opt-in group's own, at the true probabilities, and
        client_variance    the clients'.
    """

    cells: Array
    queries: Array
    variance: Array
    opt_in_variance: Array
    client_variance: Array


def blendp_answers(
    lists: Lists, own: Posterior, sizes: GroupSizes, parameters: Parameters, generator: np.random.Generator
) -> ClientAnswers:
    """The blendp method: the opt-in group's posterior, times the clients' two answers.

        x = p + e_x,   e_x ~ Normal(0, variance of the randomiser at p), which sum to 0 over a list and <*,*>

    The rest is :mod:`blendp.estimate.hybrid`, for all draws at once; groups are alike, so nothing is made of a
    difference between them.
    """
    cells = lists.kind != REST
    if not cells.any():
        nothing_listed, certain = np.ones(lists.draws), np.zeros(lists.draws)
        return ClientAnswers(nothing_listed, nothing_listed, certain, certain, certain)
    draw, true = lists.draw[cells], lists.true[cells]
    among = np.cumsum(~lists.rest_row) - 1
    rows = among[lists.row[cells]]
    row_draw, row_true = lists.row_draw[~lists.rest_row], lists.row_true[~lists.rest_row]
    asked_by = [
        (
            _Question(oracle, parameters.epsilon, np.diff(lists.edges), draw),
            _Question(oracle, parameters.epsilon, lists.queries + 1, row_draw),
        )
        for oracle in ORACLES
    ]
    errors = [
        _predicted_errors(own, *both, rows, lists.kind[cells] == RECORD, lists.draws, sizes.client) for both in asked_by
    ]
    (of_cells, of_queries), (share, least, limits) = asked_by[0], _best_shares(errors[0])
    if parameters.client_randomiser != "split":
        other, other_least, _ = _best_shares(errors[1], limits)
        apart = (other_least < WORTHWHILE * least) | (parameters.client_randomiser == "apart")
        of_cells, of_queries = (b.where(apart, a) for a, b in zip(*asked_by, strict=True))
        share = np.where(apart, other, share)
    if parameters.query_share is not None or not (lists.kind == WILD).any():
        share = np.full(lists.draws, parameters.query_share or 0.0)
    asked = np.rint(share * sizes.client)
    telling = np.maximum(sizes.client - asked, 1)

    x, y = of_cells.draw(true, telling, generator), of_queries.draw(row_true, asked, generator)
    v, v_y = of_cells.variance(own.mean, telling), of_queries.variance(_sums(own.mean, rows), asked)
    both = own.times_normal(capped(x, own.mean, own.variance + v, parameters.influence_cap), v)
    spread = _sums(both.variance, rows) + v_y
    y = capped(y, _sums(both.mean, rows), spread, parameters.influence_cap)
    p, variance, _, _ = reconcile(both.mean, both.variance, y, v_y, rows)

    exact, exact_y = of_cells.variance(true, telling), of_queries.variance(row_true, asked)
    _, client, _, _ = reconcile(true, exact, row_true, exact_y, rows)
    among_people = np.broadcast_to(lists.dispersion, cells.shape)[cells] * true * (1 - true)
    opt_in = among_people / sizes.opt_in + lists.noise_variance[cells] / sizes.opt_in**2
    whole = np.zeros(len(cells))
    whole[cells] = p
    whole[~cells] = 1 - np.bincount(draw, weights=p, minlength=lists.draws)
    published = _projected(whole, lists.edges) if parameters.project else whole
    return ClientAnswers(
        published, _sums(published, lists.row), *(_spread(values, cells) for values in (variance, opt_in, client))
    )


def one_record_posterior(lists: Lists, mechanism: AsymmetricList, users: int, prior: str) -> Posterior:
    """The opt-in group's posterior of every cell but <*,*>; each released number is looked at once."""
    cells = lists.kind != REST
    records = lists.kind[cells] == RECORD
    people, noise = lists.people[cells], lists.noise_variance[cells]
    beyond = np.rint(people + mechanism.noise.mean).astype(np.int64) - mechanism.min_total
    bare = lists.bare[cells]
    small = records & ~bare & (beyond < _SMALL)
    tables = [(np.flatnonzero(small), beyond[small], *_small_totals(mechanism))]
    for wanted, law in ((records & ~bare & ~small, None), (bare, mechanism.wildcard_noise), (~records, None)):
        released, which = np.unique(np.stack((people[wanted], noise[wanted])), axis=1, return_inverse=True)
        tables.append((np.flatnonzero(wanted), which.ravel(), *_flat(released[0], released[1], law)))
    grid = np.empty((len(records), tables[0][2].shape[1]))
    weight = np.empty_like(grid)
    alpha = np.zeros(lists.draws)
    if prior == "power-law":
        passed = zip(lists.candidates, lists.bare_candidates, strict=True)
        alpha = np.array([_exponent(records, bare, mechanism) for records, bare in passed])
    for rows, which, of_people, log_weight in tables:
        grid[rows], weight[rows] = of_people[which] / users, log_weight[which]
        exponent = alpha[lists.draw[cells][rows]] if records[rows].all() else np.full(len(rows), WILDCARD_EXPONENT)
        weight[rows] -= exponent[:, None] * np.log(of_people)[which]
    plain = Posterior(users, grid, weight)
    return plain if prior == "none" or records.all() else _with_rests(lists, plain, users)


def _with_rests(lists: Lists, plain: Posterior, users: int) -> Posterior:
    """The same with the prior of rests (:mod:`blendp.estimate.rests`) in place of Jeffreys', fitted to some of them."""
    cells = lists.kind != REST
    rests, records = np.flatnonzero(lists.kind[cells] != RECORD), np.flatnonzero(lists.kind[cells] == RECORD)
    rows = lists.row[cells]
    behind = np.bincount(rows[records], weights=plain.mean[records] * users, minlength=int(rows.max()) + 1)[rows[rests]]
    people, noise, grid = lists.people[cells][rests], lists.noise_variance[cells][rests], plain.grid[rests] * users
    log_likelihood = plain.log_weight[rests] - (1 - WILDCARD_EXPONENT) * np.log(grid)
    log_at_zero = -(people**2) / (2 * noise) - np.log(noise) / 2
    some = slice(_RESTS)
    shapes, empty = rest_prior(grid[some], behind[some], log_likelihood[some], log_at_zero[some])
    share = np.log(grid / behind[:, None])
    points = np.linspace(float(share.min()), float(share.max()), 1_000)
    density = np.interp(share, points, np.log(np.maximum(sum_of_shapes(points, shapes), np.finfo(float).tiny)))
    log_weight, log_zero = plain.log_weight.copy(), np.full(len(cells[cells]), -np.inf)
    log_weight[rests] = log_likelihood + density
    steps = np.log(grid[:, -1] / grid[:, 0]) / (grid.shape[1] - 1)
    log_zero[rests] = log_at_zero + np.log(empty) - np.log(steps)
    return Posterior(users, plain.grid, log_weight, log_zero)


@lru_cache(maxsize=4)
def _small_totals(mechanism: AsymmetricList) -> tuple[Array, Array]:
    """The grid, in people, and the logarithm of the weights, of records with the least totals that are listed."""
    people = np.arange(_SMALL, dtype=np.float64) + (mechanism.min_total - mechanism.noise.mean)
    return _flat(people, np.full(_SMALL, mechanism.noise.variance), mechanism.noise)


def _flat(people: Array, noise: Array, law: AsymmetricLaplace | None = None) -> tuple[Array, Array]:
    """The same for any released numbers, all probabilities being taken as equally likely before."""
    counts = OptInCounts(_plain_list(len(people)), 1, np.append(people, 0.0), np.append(noise, 0.0), record_noise=law)
    flat = opt_in_posterior(counts, counts, "none")
    return flat.grid, flat.log_weight


def _exponent(passed: Array, bare: Array, mechanism: AsymmetricList) -> float:
    """The exponent of the power law that one draw's candidates tell: records with a URL, and queries without any."""
    rests, least_rest = mechanism.wildcard_noise, mechanism.min_rest
    head_list = _plain_list(len(passed), len(bare), 1 if rests is None else 2)
    people = np.zeros(head_list.cells)
    people[head_list.record_cells] = np.concatenate((passed, bare))
    counts = OptInCounts(
        head_list,
        1,
        people,
        np.full(head_list.cells, mechanism.noise.variance),
        selected_above=mechanism.min_total - mechanism.noise.mean,
        list_noise=None if rests is None else mechanism.list_noise,
        rest_noise=rests,
        queries_above=None if rests is None or least_rest is None else least_rest - rests.mean,
    )
    return prior_exponent(counts)


@lru_cache(maxsize=512)
def _plain_list(records: int, bare: int = 0, levels: int = 1) -> HeadList:
    """A list of so many queries with a URL each, and then of queries without: all that the estimators need to know of
    a list of plain numbers. With one level no query has a URL.
    """
    url = None if levels == 1 else ""
    return HeadList.of_records([(f"{i:07d}", url if i < records else None) for i in range(records + bare)], levels)


class _Question:
    """One of the two things clients are asked: a randomiser for the length of every draw's list.

        n Var(item of frequency f) = u + v f + t r - f^2,    n Var(*) = a + b r + c r^2

    where:
        r     is the frequency of * in the draw,
        u, v, t and a, b, c  are numbers of the randomiser, one of each for every draw.
    """

    def __init__(self, oracle: str, epsilon: float, items: Ids, draw: Ids) -> None:
        lengths, which = np.unique(items, return_inverse=True)
        numbers = np.array([_unit_variances(frequency_oracle(oracle, epsilon, int(n))) for n in lengths])
        self.numbers = numbers[which].T
        self._items = items
        self.draw_of_item = draw

    def where(self, chosen: NDArray[np.bool_], other: _Question) -> _Question:
        """These randomisers in the chosen draws, and those of the other in the rest."""
        mixed = copy(self)
        mixed.numbers = np.where(chosen, self.numbers, other.numbers)
        return mixed

    def unit_variance(self, frequency: Array) -> Array:
        """The variance of the estimate of every item, times the number of reports."""
        f, draw = np.clip(frequency, 0.0, 1.0), self.draw_of_item
        u, v, t = self.numbers[:3]
        return np.asarray((u + t * self._rest(f))[draw] + v[draw] * f - f**2)

    def _rest(self, frequency: Array) -> Array:
        """The frequency of * in every draw."""
        listed = np.bincount(self.draw_of_item, weights=frequency, minlength=len(self._items))
        return np.asarray(np.clip(1 - listed, 0.0, 1.0))

    def variance(self, frequency: Array, users: Array) -> Array:
        """The variance of the estimate of every item, for so many reports in each draw; infinite for none."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.unit_variance(frequency) / users[self.draw_of_item])

    def draw(self, true: Array, users: Array, generator: np.random.Generator) -> Array:
        """Estimates of all items but <*,*>, with errors as the cross-check draws them; 0 where nobody is asked."""
        draw, listed = self.draw_of_item, np.maximum(self._items - 1, 1)
        own = generator.standard_normal(len(true))
        own -= (np.bincount(draw, weights=own, minlength=len(users)) / listed)[draw]
        heard = users[draw] > 0
        variance = np.where(heard, self.variance(true, users), 0.0)
        a, b, c = self.numbers[3:]
        rest = self._rest(true)
        common = ((a + b * rest + c * rest**2) / listed**2 / np.maximum(users, 1))[draw]
        common = np.minimum(common, variance)
        wider = (listed / np.maximum(listed - 1, 1))[draw]
        together = generator.standard_normal(len(users))[draw] * np.sqrt(common)
        return np.where(heard, true + own * np.sqrt((variance - common) * wider) + together, 0.0)


def _unit_variances(oracle: FrequencyOracle) -> tuple[float, ...]:
    """The numbers of :class:`_Question`, from the variances at a few frequencies."""
    nobody, everybody, rest = (float(oracle.variance(f, 1, r)) for f, r in ((0, 0), (1, 0), (0, 1)))
    low, middle, high = (float(oracle.rest_variance(r, 1)) for r in (0, 0.5, 1))
    bend = 2 * (low + high) - 4 * middle
    return nobody, everybody - nobody + 1, rest - nobody, low, high - low - bend, bend


def _best_shares(errors: Array, limits: Array | None = None) -> tuple[Array, Array, Array]:
    """Every draw's share of clients who report the query, the sum of its errors, and the errors themselves.

    Shares with an error above the limits are left out, unless all are (see :mod:`blendp.methods.query_share`).
    """
    best = sturdiest(errors, None if limits is None else limits[:, None])
    chosen = errors[:, best, np.arange(errors.shape[2])]
    return np.asarray(SHARES)[best], chosen.sum(axis=0), chosen


def _predicted_errors(
    own: Posterior,
    cells: _Question,
    queries: _Question,
    rows: Ids,
    records: NDArray[np.bool_],
    draws: int,
    clients: int,
) -> Array:
    """The sums of the standard errors of queries and of records, for every share and draw."""
    total = _sums(own.mean, rows)
    unit, unit_y = cells.unit_variance(own.mean), queries.unit_variance(total)
    errors = np.empty((2, len(SHARES), draws))
    for i, share in enumerate(SHARES):
        v = unit / max(round((1 - share) * clients), 1)
        v_y = unit_y / round(share * clients) if round(share * clients) else np.full_like(unit_y, np.inf)
        _, variance, _, of_query = reconcile(own.mean, own.variance * v / (own.variance + v), total, v_y, rows)
        errors[0, i] = np.bincount(queries.draw_of_item, weights=np.sqrt(of_query), minlength=draws)
        errors[1, i] = np.bincount(cells.draw_of_item[records], weights=np.sqrt(variance[records]), minlength=draws)
    return errors


def published_answers(
    lists: Lists, sizes: GroupSizes, parameters: Parameters, generator: np.random.Generator
) -> ClientAnswers:
    """The published method: noisy counts of the people held out, two-stage reports, and their weighted mean.

    The reports of people drawn from a law are a multinomial over what a report may be, exactly.
    """
    cells_of_row = np.bincount(lists.row)
    levels: list[tuple[Level, Level]] = []
    for (start, stop), (row, end) in zip(_pairs(lists.edges), _pairs(lists.row_edges), strict=True):
        randomiser = two_stage_randomiser(parameters.budget, cells_of_row[row:end], parameters.client_query_share)
        chance = _report_law(randomiser, lists.true[start:stop])
        tally = Tally.of_counts(generator.multinomial(sizes.client, chance), randomiser.cells_per_query)
        estimate = client_estimate(tally, randomiser)
        levels.append((estimate.cells, estimate.queries))
    client, client_queries = (_joined([level[i] for level in levels]) for i in (0, 1))
    opt_in = _counted(lists.people, lists.noise_variance, sizes.estimate)
    opt_in_queries = _counted(_sums(lists.people, lists.row), _sums(lists.noise_variance, lists.row), sizes.estimate)
    of_cells = blend(opt_in, client, sizes.estimate)
    of_queries = blend(opt_in_queries, client_queries, sizes.estimate)
    cells, queries = of_cells.probability, of_queries.probability
    if parameters.project:
        cells, queries = _projected(cells, lists.edges), _projected(queries, lists.row_edges)
    n = max(sizes.estimate, 1)
    exact = lists.true * (1 - lists.true) / n + lists.noise_variance / n**2
    return ClientAnswers(cells, queries, of_cells.variance, exact, np.asarray(client.variance))


def _report_law(randomiser: TwoStage, true: Array) -> Array:
    """P(report) of one client drawn from the law: the held cell, a sibling, or a stranger is reported."""
    rows, per_query = randomiser.query_of_cell, randomiser.cells_per_query
    if len(per_query) == 1:
        return np.ones(1)
    query = np.bincount(rows, weights=true)[rows]
    k_q, t_q, t = per_query[rows], randomiser.url_truth[rows], randomiser.query_truth
    kept = t_q * true + (1 - t_q) * (query - true) / np.maximum(k_q - 1, 1)
    p = t * kept + (1 - t) * (1 - query) / ((len(per_query) - 1) * k_q)
    return np.asarray(p / p.sum())


def _counted(people: Array, noise: Array, users: int) -> Level:
    """The opt-in group's estimates from noisy counts (:func:`~blendp.estimate.opt_in_estimate`)."""
    if not users:
        return nothing(len(people))
    p, floor = people / users, noise / users**2
    variance = (p * (1 - p) + users * floor) / (users - 1) if users > 1 else np.full(len(p), np.inf)
    return Level(p, variance, floor)


def _joined(levels: list[Level]) -> Level:
    parts = ((level.probability, level.variance, level.floor) for level in levels)
    return Level(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _projected(values: Array, edges: Ids) -> Array:
    """Every list's probabilities, moved to the nearest that sum to 1."""
    return np.concatenate([project_on_simplex(values[start:stop]) for start, stop in _pairs(edges)])


def _pairs(edges: Ids) -> zip[tuple[int, int]]:
    return zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)


def _sums(values: Array, rows: Ids) -> Array:
    return np.bincount(rows, weights=values).astype(np.float64)


def _spread(values: Array, cells: NDArray[np.bool_]) -> Array:
    """Values of all cells but <*,*>, with 0 for <*,*>."""
    whole = np.zeros(len(cells))
    whole[cells] = values
    return whole
