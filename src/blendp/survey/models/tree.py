"""Attributes that form a tree: each depends on its neighbours alone. What reports tell is found by passing messages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blendp.arrays import Array
from blendp.errors import ParameterError, require_count
from blendp.survey.models.base import MAX_CELLS, needs_subsets, require_epsilons, require_sizes
from blendp.survey.models.joint import Joint, require_correlation

MAX_VALUES = 100
"""A node of a tree has no more values than this: what is passed between two grows with the cube of it."""

_BLOCK = 1 << 21
_FEW = 8
_DEEPEST = 500
_DOUBLINGS = 30
_AGREE = 1e-6
_MAX_JOINT = 1 << 20


@dataclass(frozen=True, eq=False)
class Box:
    """Bounds of conditional probabilities P(x | y): row y, column x; equal bounds where the law is known."""

    low: Array
    high: Array

    def __post_init__(self) -> None:
        """Refuse bounds that hold no law; tighten those that the others imply."""
        low, high = np.array(self.low, dtype=np.float64), np.array(self.high, dtype=np.float64)
        rows = low.ndim == 2 and low.shape == high.shape and bool(((low >= 0) & (low <= high) & (high <= 1)).all())
        if not rows or (low.sum(axis=1) > 1 + 1e-9).any() or (high.sum(axis=1) < 1 - 1e-9).any():
            raise ParameterError(
                "bounds",
                f"arrays of shape {low.shape}",
                "low <= high with a law between them in every row",
                "Widen them.",
            )
        tight_high = np.minimum(high, 1 - (low.sum(axis=1, keepdims=True) - low))
        tight_low = np.minimum(np.maximum(low, 1 - (high.sum(axis=1, keepdims=True) - high)), tight_high)
        known = low == high
        low, high = np.where(known, low, np.clip(tight_low, 0, 1)), np.where(known, high, np.clip(tight_high, 0, 1))
        for name, array in (("low", low), ("high", high)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def known(self) -> bool:
        """Whether the bounds leave nothing open."""
        return bool((self.low == self.high).all())

    @cached_property
    def best_sets(self) -> tuple[Array, Array, NDArray[np.bool_]]:
        """The sets of the 1, 2, ... values x with the largest high[y, x]/low[y', x], for all y and y'.

        The sums of high[y] and of low[y'] over them, and whether each value is in.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.high[:, None, :] / self.low[None, :, :]
        order = np.argsort(-np.nan_to_num(ratio, nan=-1.0, posinf=np.inf), axis=2, kind="stable")
        high = np.take_along_axis(np.broadcast_to(self.high[:, None, :], order.shape), order, axis=2)
        low = np.take_along_axis(np.broadcast_to(self.low[None, :, :], order.shape), order, axis=2)
        places = np.argsort(order, axis=2)
        inside = places[:, :, None, :] <= np.arange(order.shape[2])[:, None]
        return high.cumsum(axis=2), low.cumsum(axis=2), inside


@dataclass(frozen=True, eq=False)
class Edge:
    """Two neighbours, and the law of each given the other."""

    first: int
    second: int
    second_given_first: Box
    first_given_second: Box

    def __post_init__(self) -> None:
        """Refuse two known laws that no table of both has.

        Going to the other end and back leaves the frequencies p of a table's own end as they are. Many steps there and
        back from anywhere lead to such a p, and with it both laws have to give the same table.
        """
        ahead, back = self.second_given_first, self.first_given_second
        if ahead.low.shape != back.low.shape[::-1] or not (ahead.known and back.known):
            return
        steps = ahead.low @ back.low
        for _ in range(_DOUBLINGS):
            steps = steps @ steps
            steps = steps / steps.sum(axis=1, keepdims=True)
        frequencies = steps.mean(axis=0)
        table = frequencies[:, None] * ahead.low
        if np.abs(table - (table.sum(axis=0)[:, None] * back.low).T).max() > _AGREE:
            raise ParameterError(
                f"laws of attributes {self.first} and {self.second}",
                "two that contradict each other",
                "those of one table in both directions",
                "Make the edge with Edge.of_table.",
            )

    @classmethod
    def of_table(cls, first: int, second: int, table: ArrayLike) -> Edge:
        """Of a known table of both, values of ``first`` along the rows."""
        cells = np.asarray(table, dtype=np.float64)
        if (
            cells.ndim != 2
            or not np.isfinite(cells).all()
            or (cells < 0).any()
            or not (cells.sum(axis=0).min() > 0 and cells.sum(axis=1).min() > 0)
        ):
            raise ParameterError(
                f"table of attributes {first} and {second}",
                cells.tolist(),
                "rows of numbers of at least 0, with none that sums to 0",
                "Leave out values that nobody can have.",
            )
        forward, backward = cells / cells.sum(axis=1, keepdims=True), cells.T / cells.sum(axis=0)[:, None]
        return cls(first, second, Box(forward, forward), Box(backward, backward))

    def toward(self, node: int) -> Box:
        """The law of the other end, given this node."""
        return self.second_given_first if node == self.first else self.first_given_second


@dataclass(frozen=True, eq=False)
class Tree:
    """Attributes, and perhaps hidden causes, that form one or several trees; unconnected ones are independent.

    where:
        nodes   are the numbers of values: first the attributes', then those of hidden causes,
        edges   join neighbours without a circle,
        hidden  is how many nodes are hidden causes: never reported, nothing is promised about them,
        margins are the frequencies of every node's values, if they are known.
    """

    nodes: tuple[int, ...]
    edges: tuple[Edge, ...]
    hidden: int = 0
    margins: tuple[Array, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse circles, and laws that do not fit the numbers of values."""
        object.__setattr__(self, "nodes", require_sizes(self.nodes))
        require_values(self.nodes)
        require_count("hidden", self.hidden, min_value=0, remedy="Count the hidden causes.")
        if self.hidden >= len(self.nodes):
            raise ParameterError("hidden", self.hidden, f"below the {len(self.nodes)} nodes", "Name an attribute.")
        cluster = list(range(len(self.nodes)))
        for edge in self.edges:
            ends = edge.first, edge.second
            if not all(0 <= end < len(self.nodes) for end in ends) or cluster[ends[0]] == cluster[ends[1]]:
                raise ParameterError("edges", ends, "two attributes that are not connected otherwise", "Leave it out.")
            shape = tuple(self.nodes[end] for end in ends)
            if edge.second_given_first.low.shape != shape or edge.first_given_second.low.shape != shape[::-1]:
                raise ParameterError("edges", ends, "with a law for every value of both", "Give a table of that shape.")
            cluster = [cluster[ends[0]] if each == cluster[ends[1]] else each for each in cluster]
        margins = () if self.margins is None else self.margins
        if self.margins is not None and tuple(margin.shape for margin in margins) != tuple((m,) for m in self.nodes):
            raise ParameterError(
                "margins", [margin.shape for margin in margins], f"for nodes of {self.nodes} values", "Match them."
            )

    @classmethod
    def of_tables(cls, sizes: Sequence[int], tables: Mapping[tuple[int, int], ArrayLike]) -> Tree:
        """Of the known tables of neighbours; an attribute without any has equally frequent values."""
        margins: list[Array | None] = [None] * len(sizes)
        edges = []
        for ends, given in tables.items():
            table = np.asarray(given, dtype=np.float64)
            if not all(0 <= end < len(sizes) for end in ends) or table.shape != tuple(sizes[end] for end in ends):
                raise ParameterError(
                    "tables", ends, "two attributes and a table with a row and a column for each value", "Match them."
                )
            edges.append(Edge.of_table(*ends, table))
            for axis, end in enumerate(ends):
                margin = table.sum(axis=1 - axis) / table.sum()
                known = margins[end]
                if known is not None and not np.allclose(known, margin, atol=1e-6):
                    raise ParameterError(
                        "tables",
                        ends,
                        "tables that agree on the frequencies of a shared attribute",
                        "Count them alike.",
                    )
                margins[end] = margin
        filled = (np.full(m, 1 / m) if margin is None else margin for m, margin in zip(sizes, margins, strict=True))
        return cls(tuple(sizes), tuple(edges), margins=tuple(filled))

    @classmethod
    def equicorrelated(cls, attributes: int, correlation: float, sizes: int = 2) -> Tree:
        """Attributes of equally frequent values, every two with the same correlation, through one hidden cause.

        Each attribute takes the value of the cause with the probability sqrt(correlation), and any value otherwise.
        """
        require_count("attributes", attributes, min_value=1, remedy="Give the number of attributes.")
        require_count("sizes", sizes, min_value=2, remedy="An attribute with one value tells nothing.")
        require_correlation(correlation, 0)
        copied = np.sqrt(correlation)
        table = (copied * np.eye(sizes) + (1 - copied) / sizes) / sizes
        edges = tuple(Edge.of_table(j, attributes, table) for j in range(attributes))
        margins = (np.full(sizes, 1 / sizes),) * (attributes + 1)
        return cls((sizes,) * (attributes + 1), edges if correlation else (), hidden=1, margins=margins)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values every attribute has."""
        return self.nodes[: len(self.nodes) - self.hidden]

    @property
    def known(self) -> bool:
        """Whether all laws are known, not only bounded."""
        return all(edge.second_given_first.known and edge.first_given_second.known for edge in self.edges)

    @cached_property
    def _neighbours(self) -> tuple[tuple[tuple[int, Edge], ...], ...]:
        neighbours: list[list[tuple[int, Edge]]] = [[] for _ in self.nodes]
        for edge in self.edges:
            neighbours[edge.first].append((edge.second, edge))
            neighbours[edge.second].append((edge.first, edge))
        return tuple(map(tuple, neighbours))

    @cached_property
    def downwards(self) -> tuple[tuple[int, int, Edge], ...]:
        """(parent, child, edge), parents before children."""
        seen: set[int] = set()

        def walk(parent: int) -> Iterator[tuple[int, int, Edge]]:
            seen.add(parent)
            stack = [parent]
            while stack:
                node = stack.pop()
                for child, edge in self._neighbours[node]:
                    if child not in seen:
                        seen.add(child)
                        stack.append(child)
                        yield node, child, edge

        return tuple(step for root in range(len(self.nodes)) if root not in seen for step in walk(root))

    @property
    def takes_subsets(self) -> bool:
        """Whether reports that are no single values can be judged."""
        return True

    def losses(self, epsilons: Array, single: NDArray[np.bool_]) -> Array:
        """At most what reports tell about every attribute; see :class:`~blendp.survey.models.base.Model`.

        Of every node and two of its values the largest likelihood ratio is kept, that all reports on one side of it can
        have. Given the node, different sides are independent, so their ratios multiply; see :func:`_message` for the
        step from a node to its neighbour. All rows of ``epsilons`` are done at once.
        """
        ratios = np.atleast_2d(epsilons)
        own = [ratios[:, node] if node < len(self.sizes) else np.zeros(len(ratios)) for node in range(len(self.nodes))]
        behind = [np.zeros((len(ratios), size, size)) for size in self.nodes]
        upwards: dict[int, Array] = {}
        for parent, child, edge in reversed(self.downwards):
            upwards[child] = _message(self._sender(child, own, behind[child], single), edge.toward(parent))
            behind[parent] = behind[parent] + upwards[child]
        for parent, child, edge in self.downwards:
            rest = np.maximum(behind[parent] - upwards[child], 0.0)
            behind[child] = behind[child] + _message(self._sender(parent, own, rest, single), edge.toward(child))
        return np.stack([own[j] + behind[j].max(axis=(1, 2)) for j in range(len(self.sizes))], axis=1)

    def _sender(self, node: int, own: list[Array], behind: Array, single: NDArray[np.bool_]) -> _Sender:
        return _Sender(own[node], behind, node >= len(self.sizes) or bool(single[node]))

    def exact_losses(self, epsilons: Array, single: NDArray[np.bool_]) -> Array | None:
        """Exactly, if all laws are known: by messages if all nodes have two values, else through all reports."""
        if not self.known:
            return None
        ratios = require_epsilons(epsilons, self.sizes)
        if max(self.nodes) == 2:
            return np.asarray(self.losses(ratios[None], single)[0])
        if len(self.nodes) > _DEEPEST:
            return None
        if needs_subsets(ratios, single, self.sizes):
            return None
        losses = np.empty(len(self.sizes))
        for i in range(len(self.sizes)):
            likelihoods = self._likelihoods(i, None, ratios)
            if likelihoods is None:
                return None
            logs = np.log(likelihoods)
            losses[i] = (logs.max(axis=1) - logs.min(axis=1)).max()
        return losses

    def _likelihoods(self, node: int, parent: int | None, ratios: Array) -> Array | None:
        """The likelihoods of the node's values for every possible report on its side of the parent, up to factors.

        Where a node has two values, only the two reports with the most extreme ratios are kept: what follows is a
        quotient of two linear functions of the likelihoods, which is largest at an end.
        """
        size = self.nodes[node]
        own = ratios[node] if node < len(self.sizes) else 0.0
        rows = 1 + np.expm1(own) * np.eye(size) if own else np.ones((1, size))
        for child, edge in self._neighbours[node]:
            if child == parent:
                continue
            below = self._likelihoods(child, node, ratios)
            if below is None or len(below) * len(rows) > MAX_CELLS:
                return None
            passed = below @ edge.toward(node).low.T
            rows = (rows[:, None, :] * passed[None, :, :]).reshape(-1, size)
            if size == 2:
                quotient = rows[:, 0] / rows[:, 1]
                rows = rows[[int(quotient.argmin()), int(quotient.argmax())]]
            rows = rows / rows.max(axis=1, keepdims=True)
        return rows

    def joint(self) -> Joint:
        """The law of the attributes as a table, for trees with known laws and few cells."""
        large = math.prod(self.sizes) > MAX_CELLS or math.prod(self.nodes) > _MAX_JOINT
        if not self.known or self.margins is None or large:
            raise ParameterError(
                "tree",
                self.nodes,
                f"known with its margins, and of at most {MAX_CELLS} cells",
                "Use its losses as they are.",
            )
        table = np.ones(self.nodes)
        reached: set[int] = set()
        for parent, child, edge in self.downwards:
            if parent not in reached:
                table = table * self._along(self.margins[parent], parent)
            table = table * self._along(edge.toward(parent).low, parent, child)
            reached |= {parent, child}
        for node in set(range(len(self.nodes))) - reached:
            table = table * self._along(self.margins[node], node)
        return Joint(table.sum(axis=tuple(range(len(self.sizes), len(self.nodes)))))

    def _along(self, values: Array, *axes: int) -> Array:
        shape = [self.nodes[node] if node in axes else 1 for node in range(len(self.nodes))]
        return (values if list(axes) == sorted(axes) else values.T).reshape(shape)

    def pairs(self) -> dict[tuple[int, int], Box]:
        """The law of every attribute given every other one, through the path between them.

        Attributes that are not connected have a law of their own, whatever the other is: it is given if it is known.
        """
        laws: dict[tuple[int, int], Box] = {}
        if self.margins is not None:
            for i, j in permutations(range(len(self.sizes)), 2):
                law = np.repeat(self.margins[j][None], self.sizes[i], axis=0)
                laws[i, j] = Box(law, law)
        for start in range(len(self.sizes)):
            stack: list[tuple[int, int | None, Box | None]] = [(start, None, None)]
            while stack:
                node, parent, box = stack.pop()
                if node != start and node < len(self.sizes) and box is not None:
                    laws[start, node] = box
                for child, edge in self._neighbours[node]:
                    if child != parent:
                        step = edge.toward(node)
                        stack.append((child, node, step if box is None else _chained(box, step)))
        return laws


def require_values(sizes: Sequence[int]) -> None:
    """Raise if an attribute has too many values for a tree."""
    if max(sizes) > MAX_VALUES:
        raise ParameterError(
            "values of an attribute",
            max(sizes),
            f"at most {MAX_VALUES} in a tree",
            "Group its answers, leave it out, or use method sample or split, which need no tree.",
        )


@dataclass(frozen=True, eq=False)
class _Sender:
    """A node that tells a neighbour what its side reports.

    where:
        own     is the log-ratio of its own report,
        behind  are the largest log-ratios of its values x, x' by all reports behind it,
        single  says that its own report favours one value over all others alike.
    """

    own: Array
    behind: Array
    single: bool


def _chained(first: Box, then: Box) -> Box:
    """P(z | x) = sum_y P(y | x) P(z | y), with the y that give most (least) filled up first."""
    if first.known and then.known:
        law = first.low @ then.low
        return Box(law, law)
    high = np.empty((len(first.low), then.low.shape[1]))
    low = np.empty_like(high)
    for z in range(then.low.shape[1]):
        high[:, z] = _extreme(first, then.high[:, z])
        low[:, z] = -_extreme(first, -then.low[:, z])
    high = np.clip(high, 0, 1)
    return Box(np.clip(low, 0, high), high)


def _extreme(box: Box, worth: Array) -> Array:
    """max sum_y p(y) worth(y) over the laws p within the bounds, for every row."""
    order = np.argsort(-worth)
    free = 1 - box.low.sum(axis=1)
    total = box.low @ worth
    for y in order:
        more = np.minimum(box.high[:, y] - box.low[:, y], free)
        total = total + more * worth[y]
        free = free - more
    return np.asarray(total)


def _message(sender: _Sender, box: Box) -> Array:
    """How much better a neighbour's value y explains the reports on a node's side than y', at most, as a logarithm.

        T(y, y') = max over L of  sum_x P(x|y) L(x) / sum_x P(x|y') L(x)

    where:
        L  are the likelihoods of the node's values x, which all reports on its side give.

    A quotient of linear functions is largest at an end. With two values L is r at one value v and 1 at the other, which
    gives (1 + (r-1) P(v|y))/(1 + (r-1) P(v|y')): exact for known laws. With more, L is the product of the node's own
    report, e^epsilon at one value v and 1 elsewhere, and of what lies behind, of which only the largest ratio r is
    kept: at worst it is r on a set A and 1 elsewhere, and A holds the values with the largest P(x|y)/P(x|y'). That is
    exact if nothing lies behind, and an upper bound otherwise. Bounds of P enter on their worse side. Reports that are
    not single, and those of nodes of more than 8 values, are merged into r.
    """
    parents, size = box.low.shape
    quotients = np.ones((len(sender.own), parents, parents))
    if size == 2:
        for value in range(2):
            more = np.expm1(sender.own + sender.behind[:, value, 1 - value])[:, None]
            above, below = 1 + more * box.high[:, value], 1 + more * box.low[:, value]
            np.maximum(quotients, above[:, :, None] / below[:, None, :], out=quotients)
    else:
        behind = sender.behind.max(axis=(1, 2))
        one = (sender.own > 0) & (behind == 0) & sender.single
        both = (sender.own > 0) & (behind > 0) & sender.single & (size <= _FEW)
        merged = (sender.own + behind > 0) & ~one & ~both
        for worst, rows in ((_worst_value, one), (_worst_both, both), (_worst_set, merged)):
            block = max(1, _BLOCK // (parents * parents * size))
            places = np.flatnonzero(rows)
            for start in range(0, len(places), block):
                at = places[start : start + block]
                quotients[at] = worst(box, sender.own[at], behind[at])
        np.minimum(quotients, np.exp(sender.own + behind)[:, None, None], out=quotients)
    quotients[:, np.arange(parents), np.arange(parents)] = 1.0
    return np.log(quotients)


def _worst_value(box: Box, own: Array, behind: Array) -> Array:  # noqa: ARG001
    """The largest quotients over the values that an own report names; nothing lies behind."""
    more = np.expm1(own)[:, None]
    quotients = np.ones((len(own), len(box.low), len(box.low)))
    for value in range(box.low.shape[1]):
        above, below = 1 + more * box.high[:, value], 1 + more * box.low[:, value]
        np.maximum(quotients, above[:, :, None] / below[:, None, :], out=quotients)
    return quotients


def _worst_set(box: Box, own: Array, behind: Array) -> Array:
    """The largest quotients over sets of values, own report and what lies behind taken together."""
    above, below, _ = box.best_sets
    more = np.expm1(own + behind)[:, None, None, None]
    return np.asarray(((1 + more * above) / (1 + more * below)).max(axis=3))


def _worst_both(box: Box, own: Array, behind: Array) -> Array:
    """The largest quotients over the values that an own report names, and sets of values for what lies behind."""
    above, below, inside = box.best_sets
    extra, more = np.expm1(own)[:, None, None, None], np.expm1(behind)[:, None, None, None]
    quotients = _worst_value(box, own, behind)
    for value in range(box.low.shape[1]):
        high, low = extra * box.high[:, None, None, value], extra * box.low[None, :, None, value]
        in_set = inside[..., value]
        first, second = 1 + high + more * (above + in_set * high), 1 + low + more * (below + in_set * low)
        np.maximum(quotients, (first / second).max(axis=3), out=quotients)
    return quotients
