"""What the survey promises, from the definitions alone: plain sums over all records, reports, partitions and shares."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np

from blendp.arrays import Array

Channel = list[list[float]]
"""channel[value][report] = P(report | value)."""


def records(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    return list(product(*(range(size) for size in sizes)))


def single_channel(epsilon: float, values: int) -> Channel:
    """k-ary randomised response; an attribute that is not reported has one report, which is always sent."""
    if epsilon == 0:
        return [[1.0] for _ in range(values)]
    truth, lie = math.exp(epsilon), 1.0
    total = truth + (values - 1) * lie
    return [[(truth if report == value else lie) / total for report in range(values)] for value in range(values)]


def subset_channel(epsilon: float, values: int, width: int) -> Channel:
    """Reports are all sets of ``width`` values, those with the held one e^epsilon times as probable as the others."""
    if epsilon == 0:
        return [[1.0] for _ in range(values)]
    subsets = list(combinations(range(values), width))
    rows = [[math.exp(epsilon) if value in subset else 1.0 for subset in subsets] for value in range(values)]
    return [[weight / sum(row) for weight in row] for row in rows]


def best_width(epsilon: float, values: int) -> int:
    """The size of subsets whose estimates of a value that nobody holds vary least, among the two next to the ideal."""
    ideal = values / (math.exp(epsilon) + 1)
    noise = {}
    for width in (math.floor(ideal), math.ceil(ideal)):
        w = min(max(width, 1), values - 1)
        p = w * math.exp(epsilon) / (w * math.exp(epsilon) + values - w)
        q = (w - p) / (values - 1)
        noise[w] = q * (1 - q) / (p - q) ** 2
    return min(sorted(noise), key=lambda w: noise[w])


def losses(joint: Array, channels: Sequence[Channel]) -> list[float]:
    """For every attribute i: max over s, s', B of ln P(B | b_i = s)/P(B | b_i = s')."""
    sizes = joint.shape
    reports = records([len(channel[0]) for channel in channels])

    def chance(record: tuple[int, ...], report: tuple[int, ...]) -> float:
        probability = 1.0
        for channel, value, said in zip(channels, record, report, strict=True):
            probability *= channel[value][said]
        return probability

    return _worst(joint, sizes, [[chance(record, report) for report in reports] for record in records(sizes)])


def hidden_losses(joint: Array, inner: float) -> list[float]:
    """The same for RS+FD: one attribute, drawn evenly, is answered by randomised response, the others are invented."""
    sizes = joint.shape
    answered = [single_channel(inner, size) for size in sizes]

    def chance(record: tuple[int, ...], report: tuple[int, ...]) -> float:
        total = 0.0
        for drawn in range(len(sizes)):
            ways = 1 / len(sizes)
            for j, size in enumerate(sizes):
                ways *= answered[j][record[j]][report[j]] if j == drawn else 1 / size
            total += ways
        return total

    every = records(sizes)
    return _worst(joint, sizes, [[chance(record, report) for report in every] for record in every])


def _worst(joint: Array, sizes: Sequence[int], chances: list[list[float]]) -> list[float]:
    """From P(report | record): sum over the records with b_i = s, divide by P(b_i = s), compare all s and s'."""
    losses = []
    for i, size in enumerate(sizes):
        given = [[0.0] * len(chances[0]) for _ in range(size)]
        share = [0.0] * size
        for record, row in zip(records(sizes), chances, strict=True):
            probability = float(joint[record])
            share[record[i]] += probability
            if probability:
                kept = given[record[i]]
                for report, chance in enumerate(row):
                    kept[report] += probability * chance
        worst = 0.0
        for report in range(len(chances[0])):
            each = [given[s][report] / share[s] for s in range(size)]
            worst = max(worst, math.log(max(each) / min(each)))
        losses.append(worst)
    return losses


def record_loss(channels: Sequence[Channel]) -> float:
    """The largest ln P(B | b)/P(B | b') over all records and reports: every attribute at its worst."""
    total = 0.0
    for channel in channels:
        reports = range(len(channel[0]))
        total += max(math.log(a[report] / b[report]) for a in channel for b in channel for report in reports)
    return total


def random_joint(sizes: Sequence[int], generator: np.random.Generator) -> Array:
    """From nearly uniform to nearly deterministic, sometimes with empty cells; every value occurs."""
    spread = float(generator.choice([0.05, 0.3, 1.0, 10.0]))
    table = (generator.dirichlet(np.full(math.prod(sizes), spread)) + 1e-4).reshape(tuple(sizes))
    if generator.random() < 0.5:
        table = np.where(generator.random(table.shape) < 0.4, 0.0, table)
        for value in range(max(sizes)):
            table[tuple(value % size for size in sizes)] += 0.02
    return np.asarray(table / table.sum())


class RandomTree:
    """A tree with random laws: the table of every pair of neighbours, and the joint law as a product."""

    def __init__(
        self, sizes: Sequence[int], order: list[int], parents: dict[int, int], root: Array, given: dict[int, Array]
    ) -> None:
        self.sizes, self.order, self.parents, self.given = tuple(sizes), order, parents, given
        self.margins: dict[int, Array] = {order[0]: root}
        self.tables: dict[tuple[int, int], Array] = {}
        for node in order[1:]:
            parent, law = parents[node], given[node]
            table = np.array(
                [[self.margins[parent][y] * law[y, x] for x in range(sizes[node])] for y in range(len(law))]
            )
            self.margins[node] = np.array([sum(table[:, x]) for x in range(sizes[node])])
            if (parent + node) % 2:  # either end may come first
                self.tables[parent, node] = table
            else:
                self.tables[node, parent] = np.array(
                    [[table[y, x] for y in range(len(law))] for x in range(sizes[node])]
                )

    @classmethod
    def draw(cls, sizes: Sequence[int], generator: np.random.Generator, spread: float = 1.0) -> RandomTree:
        order = generator.permutation(len(sizes)).tolist()
        parents = {node: order[int(generator.integers(position))] for position, node in enumerate(order) if position}
        laws = {
            node: np.array([_law(sizes[node], generator, spread) for _ in range(sizes[parent])])
            for node, parent in parents.items()
        }
        return cls(sizes, order, parents, _law(sizes[order[0]], generator, spread), laws)

    def shaken(self, width: float, generator: np.random.Generator) -> RandomTree:
        """The same tree with laws that are up to ``width`` away."""

        def moved(law: Array) -> Array:
            return (1 - width) * law + width * _law(len(law), generator, 0.5)

        given = {node: np.array([moved(row) for row in laws]) for node, laws in self.given.items()}
        return RandomTree(self.sizes, self.order, self.parents, moved(self.margins[self.order[0]]), given)

    def joint(self) -> Array:
        table = np.empty(self.sizes)
        for record in records(self.sizes):
            probability = float(self.margins[self.order[0]][record[self.order[0]]])
            for node in self.order[1:]:
                probability *= float(self.given[node][record[self.parents[node]], record[node]])
            table[record] = probability
        return table


def _law(size: int, generator: np.random.Generator, spread: float) -> Array:
    law = generator.dirichlet(np.full(size, spread)) + 1e-3
    return np.asarray(law / law.sum())


def equicorrelated(attributes: int, correlation: float, values: int = 2) -> Array:
    """Each attribute copies a uniform hidden cause with probability sqrt(correlation), else it is uniform."""
    copied = math.sqrt(correlation)
    table = np.zeros((values,) * attributes)
    for record in records(table.shape):
        for cause in range(values):
            probability = 1 / values
            for value in record:
                probability *= copied * (value == cause) + (1 - copied) / values
            table[record] += probability
    return table


def correlation(joint: Array, first: int, second: int) -> float:
    """Of the indicators of value 0 of two attributes."""
    both = sum(float(joint[r]) for r in records(joint.shape) if r[first] == 0 and r[second] == 0)
    a = sum(float(joint[r]) for r in records(joint.shape) if r[first] == 0)
    b = sum(float(joint[r]) for r in records(joint.shape) if r[second] == 0)
    return (both - a * b) / math.sqrt(a * (1 - a) * b * (1 - b))


def pair(joint: Array, i: int, j: int) -> Array:
    """P(b_j = x | b_i = s), row s."""
    table = np.zeros((joint.shape[i], joint.shape[j]))
    for record in records(joint.shape):
        table[record[i], record[j]] += joint[record]
    return np.array([[table[s, x] / sum(table[s]) for x in range(table.shape[1])] for s in range(len(table))])


def product_losses(joint: Array, epsilons: Sequence[float]) -> list[float]:
    """Theorem 4.1 with equation 8 as corrected: ln Q1/Q2 of the own report, times the worst ratio of every other."""
    sizes, losses = joint.shape, []
    for i, size in enumerate(sizes):
        worst = -math.inf
        for s, other in product(range(size), repeat=2):
            if s == other:
                continue
            total = epsilons[i]
            for j, values in enumerate(sizes):
                if j == i:
                    continue
                given, q2 = pair(joint, i, j), 1 / (math.exp(epsilons[j]) + values - 1)
                q1 = math.exp(epsilons[j]) * q2
                terms = [[q1 * given[v, x] + q2 * (1 - given[v, x]) for x in range(values)] for v in range(size)]
                total += max(math.log(terms[s][x] / terms[other][x]) for x in range(values))
            worst = max(worst, total)
        losses.append(worst)
    return losses


def partitions(items: Sequence[int]) -> Iterator[list[tuple[int, ...]]]:
    """All ways to part the items into groups."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for size in range(len(rest) + 1):
        for with_first in combinations(rest, size):
            left = [item for item in rest if item not in with_first]
            for others in partitions(left):
                yield [(first, *with_first), *others]


def allocations(total: int, groups: int) -> Iterator[tuple[int, ...]]:
    """All ways to share out ``total``, at least 1 each."""
    if groups == 1:
        yield (total,)
        return
    for first in range(1, total - groups + 2):
        for rest in allocations(total - first, groups - 1):
            yield (first, *rest)
