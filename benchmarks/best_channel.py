"""The least L1 that any epsilon-LDP report can give beside what the opt-in group tells, with a certificate.

Every epsilon-LDP channel on k items is, but for what the server could do itself, a mixture of extremal ones. These
report a set S of items (Kairouz, Oh, Viswanath 2016):

    P(S | x) = theta_S a_S(x),   a_S(x) = (E if x in S else 1),   sum_S theta_S a_S(x) = 1 for every x,   E = e^epsilon

One report has the Fisher information sum_S theta_S a_S a_S'/(a_S'p) about p, which is linear in theta. What is wanted
are the shares p_j/(p_1 + ... + p_{k-1}) of the listed items, with the gradients g_j. Unbiased, or asymptotically
normal, estimates of them have an L1 of at least

    F(J) = sqrt(2/pi) sum_j sqrt(g_j' J^-1 g_j),      J = J_0 + n_C sum_S theta_S a_S a_S'/(a_S'p)

(Cramer-Rao, errors normal). 1/(g' J^-1 g) is the least x'Jx with g'x = 1, hence concave in J, hence F is convex: the
best channel is a convex programme, and every tangent bounds it from below. With G = -F'(J) for any J, and any y,

    F(J*) >= F(J) + <G, J - J_0> - sum_x y_x - t,
    t      = the largest rate (n_C a_S'G a_S/(a_S'p) - y'a_S)/(a_S'p) of all sets S

because theta* >= 0, and sum theta*_S a_S(x) = 1 for every x. The largest rate of all 2^k sets comes from a branch and
bound: items of similar p form a group; a type says how many items of each group a set has; within one type the
quadratic form is a constant, a sum over the items of S (whose maximum is a matter of sorting) and a rest of second
order (whose rows are bounded by sorting). Types that are too small are dropped, the groups of the others are split.

The channel that is found treats the items of a group alike. Its information is understated by 1/s >= 2/c - s/c^2. So
``value`` is an L1 that a channel has, ``bound`` one that none is below, and the best one lies between them.

Clients may also have different channels, chosen by public coins, by groups, or by what others reported before: the
information is that of the mean theta, which is a channel too. The bound is the same.

where:
    p     are the probabilities of the k items, of which the last is the wildcard,
    n_C   is the number of clients; each sends one report,
    J_0   is the information of the opt-in group. All information is about p_1 .. p_{k-1}; p_k is what they leave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from blendp.arrays import Array, Ids

NORMAL = math.sqrt(2 / math.pi)
"""The mean of |x| for a standard normal x."""

MANY_TYPES = 2_000
"""No more than so many are split further."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be estimated, and what is known before any client reports."""

    p: Array
    """The probability of every item, the wildcard's last."""

    epsilon: float
    clients: int

    known: Array
    """The information J_0 of the opt-in group about p_1 .. p_{k-1}."""

    @property
    def rise(self) -> float:
        """E - 1."""
        return math.expm1(self.epsilon)

    @cached_property
    def gradients(self) -> Array:
        """g_j, in columns."""
        listed = self.p[:-1]
        total = listed.sum()
        return np.asarray((np.eye(len(listed)) - listed / total) / total)

    def error(self, information: Array) -> tuple[float, Array, Array]:
        """F, the columns J^-1 g_j, and g_j' J^-1 g_j."""
        columns: Array = np.linalg.solve(information, self.gradients).astype(np.float64)
        squares: Array = (self.gradients * columns).sum(axis=0)
        return NORMAL * float(np.sqrt(squares).sum()), columns, squares

    def slope(self, information: Array) -> Array:
        """G = -F', as a matrix over all k items, by which a set's a_S is multiplied on both sides."""
        _, columns, squares = self.error(information)
        inner = (columns * (NORMAL / 2 / np.sqrt(squares))) @ columns.T
        edge = -inner.sum(axis=0)
        return np.block([[inner, edge[:, None]], [edge[None, :], -edge.sum()]])


def exact_counts(p: Array, people: int) -> Array:
    """The information of so many people's own items: diag(n/p) + n/p_k."""
    return np.asarray(np.diag(people / p[:-1]) + people / p[-1])


def power_law(p: Array, alpha: float) -> Array:
    """What it is worth to know that listed items follow the density p^-alpha, as van Trees' inequality counts it: the
    square of the density's logarithmic derivative, alpha/p.
    """
    return np.diag((alpha / p[:-1]) ** 2)


@dataclass(frozen=True, eq=False)
class Groups:
    """Items in groups of similar probability."""

    of_item: Ids
    """The group of every item."""

    @classmethod
    def similar(cls, p: Array, groups: int) -> Groups:
        """So many groups at most; the wildcard is one of its own."""
        of_item = np.zeros(len(p), dtype=np.int64)
        of_item[-1] = 1
        alike = cls(of_item)
        while len(alike.sizes) < groups and alike.sizes.max() > 1:
            alike, _ = alike.split(p)
        return alike

    @cached_property
    def sizes(self) -> Ids:
        """How many items each group has."""
        return np.bincount(self.of_item)

    @property
    def types(self) -> Ids:
        """All ways to take so many items of each group: a row each."""
        return np.indices(tuple(self.sizes + 1)).reshape(len(self.sizes), -1).T

    def near(self, types: Ids) -> Ids:
        """These types, and all that differ from one of them by an item more, less, or of another group."""
        steps = np.eye(len(self.sizes) + 1, len(self.sizes), dtype=np.int64)
        moves = np.unique((steps[:, None] - steps[None, :]).reshape(-1, len(self.sizes)), axis=0)
        reached = np.unique((types[:, None] + moves).reshape(-1, len(self.sizes)), axis=0)
        inside = ((reached >= 0) & (reached <= self.sizes)).all(axis=1)
        telling = (reached.sum(axis=1) > 0) & (reached.sum(axis=1) < self.sizes.sum())
        return np.asarray(reached[inside & telling])

    def split(self, p: Array) -> tuple[Groups, int]:
        """The group of the widest range of probabilities in two, of which one has a new number; and which it was."""
        order = np.lexsort((-p, self.of_item))
        edges = np.cumsum(self.sizes)
        logs = np.log(p[order])
        group = int(np.argmax(np.where(self.sizes > 1, logs[edges - self.sizes] - logs[edges - 1], -1.0)))
        members = order[edges[group] - self.sizes[group] : edges[group]]
        middle = (logs[edges[group] - self.sizes[group]] + logs[edges[group] - 1]) / 2
        lower = members[np.log(p[members]) < middle]
        of_item = self.of_item.copy()
        of_item[lower if len(lower) else members[len(members) // 2 :]] = len(self.sizes)
        return Groups(of_item), group

    def sums(self, values: Array) -> Array:
        """The sums of the last axis over each group."""
        return values @ np.eye(len(self.sizes))[self.of_item]


class Solution(NamedTuple):
    """The best channel there is, nearly, and how nearly."""

    value: float
    """The L1 of the channel that was optimum."""

    bound: float
    """The L1 that no channel can be below."""

    types: Ids
    """The types of sets that the channel reports, a row each with the number of items of each group."""

    weights: Array
    """theta, summed over all sets of a type."""

    groups: Groups

    @property
    def gap(self) -> float:
        """How much better another channel might be, at most."""
        return self.value - self.bound


def type_information(task: Task, groups: Groups, types: Ids) -> Array:
    """A lower bound, in the order of matrices, of the information of one report from a uniformly chosen set of a type,
    divided by theta.

    With x the indicator of S and s = a_S'p, it is (E-1)^2 mean(x x'/s), about p_1 .. p_{k-1}; the bound has
    2/c - s/c^2 for 1/s, where c is the mean of s. Both are equal if all items of a group have the same p.
    """
    p, of, sizes = task.p, groups.of_item, groups.sizes.astype(np.float64)
    chosen = types.astype(np.float64)
    mass = groups.sums(p)
    once = (chosen / sizes)[:, of]
    with np.errstate(divide="ignore", invalid="ignore"):
        second = np.where(sizes > 1, (chosen - 1) / (sizes - 1), 0.0)[:, of]
        third = np.where(sizes > 2, (chosen - 2) / (sizes - 2), 0.0)[:, of]
    same = of[:, None] == of[None, :]
    one = np.eye(len(p), dtype=bool)
    both = once[:, :, None] * np.where(same, second[:, :, None], once[:, None, :])
    both = np.where(one, once[:, :, None], both)
    mean = (chosen / sizes) @ mass
    lift = p + (mass[of] - p) * second - mass[of] * once
    apart = mean[:, None, None] + lift[:, :, None] + lift[:, None, :]
    pair = p[:, None] + p[None, :]
    beside = mean[:, None] - mass[of] * once
    together = beside[:, :, None] + pair + (mass[of][:, None] - pair) * third[:, :, None]
    given = np.where(one, mean[:, None, None] + lift[:, :, None], np.where(same, together, apart))
    centre = (1 + task.rise * mean)[:, None, None]
    weighted = task.rise**2 * both * (2 / centre - (1 + task.rise * given) / centre**2)
    inner, edge = weighted[:, :-1, :-1], weighted[:, :-1, -1]
    return inner - edge[:, :, None] - edge[:, None, :] + weighted[:, -1, -1][:, None, None]


class _Columns(NamedTuple):
    """What can be reported: what each report takes of every item's row, and its information."""

    rows: Array
    matrices: Array

    @classmethod
    def of_types(cls, task: Task, groups: Groups, types: Ids) -> _Columns:
        """A uniformly chosen set of each type."""
        shares = (types / groups.sizes)[:, groups.of_item]
        return cls(1 + task.rise * shares, type_information(task, groups, types))


class _Optimum(NamedTuple):
    weights: Array
    y: Array
    information: Array
    value: float


def _optimise(task: Task, columns: _Columns, tolerance: float) -> _Optimum:
    """The best weights of these columns, and the multipliers y of the items' rows, by a primal-dual interior-point
    method. Where columns do not tell items apart, neither does y.
    """
    matrices, rows = task.clients * columns.matrices, columns.rows.T
    count, size = len(matrices), matrices.shape[1]
    weights = np.full(count, 1 / (count * rows.mean()))
    slacks, y = np.zeros(count), np.zeros(len(rows))
    for step in range(100):
        information = task.known + np.tensordot(weights, matrices, 1)
        value, solved, squares = task.error(information)
        pulled = matrices @ solved
        gains = np.einsum("tij,ij->tj", pulled, solved)
        gradient = -gains @ (NORMAL / 2 / np.sqrt(squares))
        if not step:
            slacks = value / count / weights
        mean = float(weights @ slacks) / count
        dual, primal = gradient + rows.T @ y - slacks, rows @ weights - 1
        small = np.abs(dual).max() < 1e-8 * np.abs(gradient).max() and np.abs(primal).max() < 1e-11
        if mean * count < tolerance * value and small:
            break
        scale = NORMAL**0.5 * squares**-0.25
        turned = np.linalg.solve(information, pulled.transpose(1, 0, 2).reshape(size, -1))
        turned = turned.reshape(size, count, size).transpose(1, 0, 2) * scale
        curvature = (pulled * scale).reshape(count, -1) @ turned.reshape(count, -1).T
        curvature -= (gains * (NORMAL / 4 * squares**-1.5)) @ gains.T
        curvature[np.diag_indices(count)] += slacks / weights
        aim = weights * slacks - 0.1 * mean
        both = np.linalg.solve(curvature, np.column_stack((rows.T, -(dual + aim / weights))))
        across, along = both[:, :-1], both[:, -1]
        turn = np.linalg.lstsq(rows @ across, rows @ along + primal, rcond=1e-11)[0]
        move = along - across @ turn
        change = -(aim + slacks * move) / weights
        length = min(1.0, 0.95 / max(1e-9, float((-move / weights).max()), float((-change / slacks).max())))
        weights, slacks, y = weights + length * move, slacks + length * change, y + length * turn
    return _Optimum(weights, y, information, value)


@dataclass(frozen=True, eq=False)
class _Gains:
    """What every set would gain: q(S) = n_C a_S'G a_S - (y'a_S)(p'a_S), type by type."""

    task: Task
    groups: Groups
    slope: Array
    y: Array

    @cached_property
    def pairs(self) -> Array:
        """The coefficients of x_i x_j."""
        crossed = np.outer(self.y, self.task.p)
        return np.asarray(self.task.rise**2 * (self.slope - (crossed + crossed.T) / 2))

    @cached_property
    def alone(self) -> Array:
        """The coefficients of x_i, with those of x_i x_i."""
        return np.asarray(np.diag(self.pairs) - self.task.rise * (self.y + self.y.sum() * self.task.p))

    @cached_property
    def fit(self) -> tuple[Array, Array, Array]:
        """The pairs of different items as m_gh + b_ih + b_jg + rest_ij: m, b, rest."""
        groups, of, sizes = self.groups, self.groups.of_item, self.groups.sizes.astype(np.float64)
        off = self.pairs - np.diag(np.diag(self.pairs))
        own = np.eye(len(sizes))[of]
        partners = sizes[None, :] - own
        row = np.divide(groups.sums(off), partners, out=np.zeros_like(own), where=partners > 0)
        middle = (own.T @ (row * partners)) / np.maximum(own.T @ partners, 1)
        lone = sizes[of][:, None] * own
        stretch = np.where((own > 0) & (lone > 2), (lone - 1) / np.maximum(lone - 2, 1), 1.0)
        beyond = np.where(partners > 0, (row - middle[of]) * stretch, 0.0)
        rest = off - (middle[np.ix_(of, of)] + beyond[:, of] + beyond[:, of].T)
        np.fill_diagonal(rest, 0.0)
        return middle, beyond, rest

    def base(self, types: Ids) -> Array:
        """What all sets of a type have in common."""
        middle = self.fit[0]
        chosen = types.astype(np.float64)
        pairs: Array = ((chosen @ middle) * chosen).sum(axis=1)
        return np.asarray(pairs - chosen @ np.diag(middle) - self.y.sum())

    def singles(self, types: Ids) -> Array:
        """What each item adds in a set of a type, but for the rest."""
        beyond, of = self.fit[1], self.groups.of_item
        own = beyond[np.arange(len(of)), of]
        return np.asarray(self.alone + 2 * (types.astype(np.float64) @ beyond.T - own))

    def means(self, types: Ids) -> Array:
        """q, on average over the sets of each type (but for the rest, whose mean is about 0)."""
        shares = (types / self.groups.sizes)[:, self.groups.of_item]
        return np.asarray(self.base(types) + (shares * self.singles(types)).sum(axis=1))

    def tops(self, types: Ids, *, fine: bool) -> Array:
        """No set of the type has a larger q. Fine: the rest of every row by sorting, else by its largest entry."""
        rest, of = self.fit[2], self.groups.of_item
        value, single = self.base(types), self.singles(types)
        for group, size in enumerate(self.groups.sizes):
            member, taken = of == group, types[:, group]
            others = ~np.eye(len(of), dtype=bool)[:, member]
            falling = -np.sort(np.where(others, -rest[:, member], np.inf), axis=1)
            falling = np.where(np.isfinite(falling), falling, 0.0)
            steps = np.zeros((len(of), size + 1))
            steps[:, 1:] = np.cumsum(falling, axis=1) if fine else np.outer(falling[:, 0], np.arange(1, size + 1))
            single[:, ~member] += steps[~member][:, taken].T
            single[:, member] += steps[member][:, np.maximum(taken - 1, 0)].T
        for group in range(len(self.groups.sizes)):
            falling = -np.sort(-single[:, of == group], axis=1)
            totals = np.concatenate((np.zeros((len(types), 1)), np.cumsum(falling, axis=1)), axis=1)
            value = value + np.take_along_axis(totals, types[:, [group]], axis=1)[:, 0]
        return value

    def rates(self, types: Ids, gains: Array) -> Array:
        """No set of the type has a larger q/(a_S'p)^2, if none has a larger q."""
        p, of = self.task.p, self.groups.of_item
        least = most = np.zeros(len(types))
        for group in range(len(self.groups.sizes)):
            rising = np.sort(p[of == group])
            least = least + np.concatenate(([0.0], np.cumsum(rising)))[types[:, group]]
            most = most + np.concatenate(([0.0], np.cumsum(rising[::-1])))[types[:, group]]
        return gains / (1 + self.task.rise * np.where(gains > 0, least, most)) ** 2

    def sets_above(self, least: float) -> tuple[Ids, Array, float]:
        """All sets whose rate is above ``least``, a row of 0 and 1 each; their rates; and ``least``.

        By branch and bound: all listed items are one group at first. Types of which no set can be above ``least`` are
        dropped, the groups of the others split until each has one item. If too many are left, ``least`` is raised.
        """
        groups = Groups.similar(self.task.p, 2)
        types = groups.types
        while True:
            gains = _Gains(self.task, groups, self.slope, self.y)
            parts = np.array_split(types, len(types) // 20_000 + 1)
            tops = np.concatenate([gains._bounds(part, least) for part in parts])
            if np.count_nonzero(tops > least) > MANY_TYPES:
                least = float(np.partition(tops, -MANY_TYPES)[-MANY_TYPES])
            types, tops = types[tops > least], tops[tops > least]
            if groups.sizes.max() == 1 or not len(types):
                return types[:, groups.of_item], tops, least
            groups, group = groups.split(self.task.p)
            types = _split_types(types, group, int(groups.sizes[group]), int(groups.sizes[-1]))

    def _bounds(self, types: Ids, least: float) -> Array:
        """No set of the type has a larger rate; coarse where that is not above ``least``."""
        rates = self.rates(types, self.tops(types, fine=False))
        some = rates > least
        rates[some] = self.rates(types[some], self.tops(types[some], fine=True))
        return rates

    def levelled(self, types: Ids, weights: Array) -> _Gains:
        """With the y of each item such that the items of a group gain alike in these types."""
        of, y = self.groups.of_item, self.y
        shares = (types / self.groups.sizes)[:, of] * weights[:, None]
        sums = 1 + self.task.rise * ((types / self.groups.sizes) @ self.groups.sums(self.task.p))
        scale = self.task.rise * (shares * sums[:, None]).sum(axis=0)
        gains = self
        for _ in range(12):
            uneven = (shares * gains.singles(types)).sum(axis=0)
            uneven = uneven - (self.groups.sums(uneven) / self.groups.sizes)[of]
            y = y + uneven / scale
            gains = _Gains(self.task, self.groups, self.slope, y)
        return gains


def best_channel(task: Task, groups: int = 12, tolerance: float = 1e-3, rounds: int = 40) -> Solution:
    """The best channel, to within a gap of about ``tolerance`` of its value if there are groups enough for that."""
    alike = Groups.similar(task.p, groups)
    active = _first_types(alike)
    singles = np.eye(len(alike.sizes), dtype=np.int64)
    for _ in range(rounds):
        columns = _Columns.of_types(task, alike, active)
        optimum = _optimise(task, columns, tolerance / 20)
        slope = task.slope(optimum.information)
        gains = _Gains(task, alike, task.clients * slope, optimum.y).levelled(active, optimum.weights)
        kept = active[optimum.weights > 1e-6 * optimum.weights.max()]
        near = alike.near(kept)
        rates = gains.means(near) / (1 + task.rise * ((near / alike.sizes) @ alike.sums(task.p))) ** 2
        wider = np.unique(np.concatenate((kept, near[np.argsort(-rates)[:100]], singles)), axis=0)
        if rates.max() < tolerance / 10 * optimum.value or np.array_equal(wider, active):
            break
        active = wider
    spent = float((slope[:-1, :-1] * (optimum.information - task.known)).sum())
    cost = _least_cost(gains, columns, tolerance / 4 * optimum.value)
    return Solution(optimum.value, optimum.value + spent - cost, active, optimum.weights, alike)


def _least_cost(gains: _Gains, columns: _Columns, least: float) -> float:
    """A small sum of y and t. Begins with the y of ``gains``; sets with a rate above ``least`` become constraints of a
    linear programme for another y near it, a few times.
    """
    task, start = gains.task, gains.y
    worth = np.einsum("tij,ij->t", columns.matrices, gains.slope[:-1, :-1])
    rows, box, best = columns.rows, 0.02 * np.abs(start) + 1e-9 * np.abs(start).max(), math.inf
    for _ in range(10):
        sets, rates, reached = gains.sets_above(least)
        best = min(best, float(gains.y.sum()) + float(rates.max(initial=reached)))
        if not len(sets):
            break
        cuts = 1 + task.rise * sets[np.argsort(-rates)[:5_000]]
        rows = np.concatenate((rows, cuts))
        worth = np.concatenate((worth, ((cuts @ gains.slope) * cuts).sum(axis=1) / (cuts @ task.p)))
        scale = np.abs(start).max()
        bounds = np.column_stack((start - box, start + box)) / scale
        answer = linprog(np.ones(len(start)), A_ub=-rows, b_ub=-worth / scale, bounds=bounds)
        if answer.status:
            break
        gains = _Gains(task, gains.groups, gains.slope, scale * answer.x)
    return best


def _split_types(types: Ids, group: int, one: int, other: int) -> Ids:
    """Types after ``group`` was split into that many and that many items, of which the latter are counted last."""
    parts = []
    for taken in range(other + 1):
        here = types[(types[:, group] >= taken) & (types[:, group] - taken <= one)]
        rest = here.copy()
        rest[:, group] -= taken
        parts.append(np.column_stack((rest, np.full(len(here), taken))))
    return np.concatenate(parts)


def _first_types(groups: Groups) -> Ids:
    """A few types to start from: one item of each group, and evenly mixed sets of listed items, of all sizes."""
    listed = np.where(np.arange(len(groups.sizes)) == groups.of_item[-1], 0, groups.sizes)
    levels = np.arange(1, listed.sum()) / listed.sum()
    mixed = np.floor(levels[:, None] * listed + np.linspace(0, 0.75, 4)[:, None, None]).astype(np.int64)
    mixed = np.minimum(mixed.reshape(-1, len(listed)), listed)
    mixed = mixed[mixed.sum(axis=1) > 0]
    return np.unique(np.concatenate((np.eye(len(listed), dtype=np.int64), mixed)), axis=0)
