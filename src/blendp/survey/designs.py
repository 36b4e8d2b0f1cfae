"""How a survey is carried out: which client reports what, how strongly, and what that reveals at most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.errors import ParameterError, require_choice, require_count
from blendp.mechanisms import HiddenSampling, SubsetSelection
from blendp.reports import subset_randomiser
from blendp.survey.choose import Chooser, Promise
from blendp.survey.errors_of_reports import ReportErrors
from blendp.survey.grouping import Grouping, Partition, allocate
from blendp.survey.guarantee import Losses
from blendp.survey.models.any_law import AnyLaw
from blendp.survey.models.base import Model, require_sizes
from blendp.survey.models.bounded_pairs import BoundedPairs
from blendp.survey.models.clusters import Clusters
from blendp.survey.models.joint import Joint
from blendp.survey.models.tree import Box, Tree

METHODS = ("cbps", "cbp", "split", "sample", "rsfd")
"""``cbps``: groups of attributes, each reported by some of the clients. ``cbp``: every client reports everything.
``split``: so, with an equal part of epsilon each. ``sample``: one attribute a client. ``rsfd``: one attribute a client,
hidden among invented answers to all others."""

MODEL_METHODS = ("cbps", "cbp", "rsfd")
"""Those that report more where a model says that little is told."""

_HALVINGS = 40
_STRONGEST_HIDDEN = 12.0
"""Beyond this nearly every answer is true: more helps nobody, and only costs the record."""


@dataclass(frozen=True)
class Group:
    """Attributes that some of the clients report, each independently of the others.

    where:
        epsilons  are the likelihood ratios ln(Q1/Q2), one for each attribute,
        sizes     are how many values the attributes have,
        widths    are how many of them a report names.
    """

    attributes: tuple[int, ...]
    epsilons: tuple[float, ...]
    sizes: tuple[int, ...]
    widths: tuple[int, ...]
    clients: int

    @cached_property
    def randomisers(self) -> tuple[SubsetSelection, ...]:
        """One for each attribute."""
        return tuple(map(subset_randomiser, self.epsilons, self.sizes, self.widths))

    @property
    def record_epsilon(self) -> float:
        """The exact pure epsilon of one client's reports, from the randomisers' channels (``rsfd``: the design's)."""
        return math.fsum(randomiser.loss() for randomiser in self.randomisers)


@dataclass(frozen=True, eq=False)
class Design:
    """Who reports what. All of it is public.

    where:
        losses  are the largest over the groups: what any client's reports reveal at most,
        hidden  is the randomiser of ``rsfd``; other methods have one for each attribute of each group.
    """

    method: str
    promise: Promise
    sizes: tuple[int, ...]
    groups: tuple[Group, ...]
    losses: Losses
    hidden: HiddenSampling | None = None

    @property
    def clients(self) -> int:
        """How many clients report."""
        return sum(group.clients for group in self.groups)

    def variances(self, frequencies: Sequence[Array], *, among: int | None = None) -> list[Array]:
        """The variance of every estimated frequency.

            Var = [f p(1-p) + (1-f) q(1-q)]/(n (p-q)^2) + f(1-f) (1/n - 1/N)

        where:
            n  is how many clients report the attribute,
            N  is the number of people whose own frequencies are meant (``among``), the reporters being some of them;
               None: those of the law that all are drawn from, and 1/N = 0.
        """
        variances: list[Array] = [np.empty(0)] * len(self.sizes)
        for group in self.groups:
            for rank, attribute in enumerate(group.attributes):
                f = np.asarray(frequencies[attribute], dtype=np.float64)
                if self.hidden is None:
                    drawn = group.randomisers[rank].variance(f, group.clients)
                else:
                    drawn = self.hidden.variance(attribute, f, group.clients)
                variances[attribute] = drawn if among is None else drawn - f * (1 - f) / among
        return variances

    def mean_squared_error(self, frequencies: Sequence[Array], *, among: int | None = None) -> float:
        """The variance, averaged over the values of each attribute and then over attributes."""
        return float(np.mean([each.mean() for each in self.variances(frequencies, among=among)]))


def design(
    model: Model,
    clients: int,
    promise: Promise,
    *,
    method: str = "cbps",
    group: int | None = None,
    per_attribute: bool = True,
    frequencies: Sequence[Array] | None = None,
) -> Design:
    """The best design of a method that keeps the promise under a model (:class:`AnyLaw`: under none).

    where:
        group          is the number of attributes that one client reports (``cbps``); the best is found if it is None,
        per_attribute  is whether attributes of a group may be reported with different strength,
        frequencies    are what is known of how frequent values are, to weigh errors; equally frequent if nothing is.
    """
    require_choice("method", method, METHODS)
    sizes = require_sizes(model.sizes)
    require_count("clients", clients, min_value=1, remedy="Somebody has to be asked.")
    errors = ReportErrors(sizes, None if frequencies is None else tuple(frequencies))
    if group is not None and (method != "cbps" or not 1 <= group <= len(sizes)):
        legal = (
            f"from 1 to {len(sizes)}, the attributes" if method == "cbps" else "left to the method, unless it is cbps"
        )
        raise ParameterError("group", group, legal, "It is how many attributes one client reports.")
    if method == "rsfd":
        return _hidden(model, clients, promise)
    if method == "split":
        share = promise.max_loss / len(sizes)
        return _finished(model, clients, promise, method, errors, [(np.full(len(sizes), share), False)])
    if method == "sample":
        rows = [(np.where(np.arange(len(sizes)) == j, promise.epsilon, 0.0), False) for j in range(len(sizes))]
        return _finished(model, clients, promise, method, errors, rows)
    wide = errors.best(np.full(len(sizes), promise.epsilon / len(sizes)), np.zeros(len(sizes), dtype=bool))[1]
    policies = [True, False] if max(wide) > 1 and model.takes_subsets else [True]
    partitions = [
        rows for single in policies for rows in _grouped(model, promise, errors, method, group, per_attribute, single)
    ]
    partitions = [rows for rows in partitions if len(rows) <= clients]
    if not partitions:
        raise ParameterError("clients", clients, "at least one for each group", "Ask more people, or group less.")
    return _finished(model, clients, promise, method, errors, min(partitions, key=partial(_cost, errors)))


Rows = list[tuple[Array, bool]]
"""The epsilons of each group, and whether they are reported by single values."""


def _grouped(
    model: Model,
    promise: Promise,
    errors: ReportErrors,
    method: str,
    group: int | None,
    per_attribute: bool,
    single: bool,
) -> list[Rows]:
    """The groups to compare: everything together and one attribute a client whatever the search prefers."""
    attributes = range(len(errors.sizes))
    chooser = Chooser(model, promise, errors, np.full(len(attributes), single))
    together: Partition = (tuple(attributes),)
    if method == "cbp":
        partitions = {together}
    elif group is not None:
        partitions = {Grouping(chooser).fixed(group)}
    else:
        partitions = {Grouping(chooser).best(), together, tuple((j,) for j in attributes)}
    tried: list[Rows] = []
    for partition in sorted(partitions):
        rows: Rows = []
        for members in partition:
            alike = chooser.alike(np.isin(attributes, members)[None])[0]
            epsilons = chooser.sharpened(chooser.tailored(alike) if per_attribute else alike)
            rows.append((epsilons, single and len(members) > 1))
        tried.append(rows)
    return tried


def _error(errors: ReportErrors, epsilons: Array, single: bool) -> float:
    reported = epsilons > 0
    return float(errors.of(epsilons, np.full(len(epsilons), single))[reported].sum())


def _cost(errors: ReportErrors, rows: Rows) -> float:
    """The root of the total error at the best allocation."""
    return sum(math.sqrt(_error(errors, epsilons, single)) for epsilons, single in rows)


def _finished(model: Model, clients: int, promise: Promise, method: str, errors: ReportErrors, rows: Rows) -> Design:
    """Share out the clients, and state what is revealed."""
    counts = allocate(clients, [_error(errors, epsilons, single) for epsilons, single in rows])
    groups = []
    for (epsilons, single), count in zip(rows, counts, strict=True):
        members = tuple(np.flatnonzero(epsilons > 0).tolist())
        ratios, sizes = (tuple(float(epsilons[j]) for j in members), tuple(errors.sizes[j] for j in members))
        _, widths = errors.best(epsilons, np.full(len(epsilons), single))
        groups.append(Group(members, ratios, sizes, tuple(int(widths[j]) for j in members), count))
    return Design(method, promise, errors.sizes, tuple(groups), _losses(model, groups))


def _losses(model: Model, groups: Sequence[Group]) -> Losses:
    """The largest losses over the groups."""
    attributes = len(model.sizes)
    worst, record, exact = np.zeros(attributes), 0.0, True
    for group in groups:
        epsilons, single = np.zeros(attributes), np.ones(attributes, dtype=bool)
        epsilons[list(group.attributes)] = group.epsilons
        single[list(group.attributes)] = np.array(group.widths) == 1
        losses = model.exact_losses(epsilons, single)
        if losses is None:
            exact = False
            losses = model.losses(epsilons[None], single)[0]
        worst = np.maximum(worst, np.fmin(losses, group.record_epsilon))
        record = max(record, group.record_epsilon)
    return Losses(tuple(worst.tolist()), record, "exact" if exact else "at most")


def _hidden(model: Model, clients: int, promise: Promise) -> Design:
    """RS+FD with the largest inner epsilon that keeps the promise: pairs of attributes alone decide what it reveals."""
    sizes = model.sizes
    bounds = pair_bounds(model)

    def losses(inner: float) -> tuple[HiddenSampling, NDArray[np.float64]]:
        hidden = HiddenSampling(inner, sizes)
        return hidden, np.full(len(sizes), hidden.loss()) if bounds is None else hidden.attribute_losses(*bounds)

    max_inner = max(_STRONGEST_HIDDEN, promise.epsilon)
    low, high = promise.max_loss, max_inner if promise.record is None else min(max_inner, promise.record)
    if losses(high)[1].max() <= promise.max_loss:
        low = high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if losses(middle)[1].max() <= promise.max_loss else (low, middle)
    hidden, by_attribute = losses(low)
    known = bounds is not None and all((bounds[0][pair] == bounds[1][pair]).all() for pair in bounds[0])
    group = Group(tuple(range(len(sizes))), (hidden.inner,) * len(sizes), sizes, (1,) * len(sizes), clients)
    kind = "exact" if known or isinstance(model, AnyLaw) else "at most"
    return Design("rsfd", promise, sizes, (group,), Losses(tuple(by_attribute.tolist()), hidden.loss(), kind), hidden)


Bounds = dict[tuple[int, int], Array]


def pair_bounds(model: Model) -> tuple[Bounds, Bounds] | None:
    """Bounds of every attribute's law given any other, or None where the model does not give them."""
    boxes = _pairs(model)
    if boxes is None or len(boxes) < len(model.sizes) * (len(model.sizes) - 1):
        return None
    return {pair: box.low for pair, box in boxes.items()}, {pair: box.high for pair, box in boxes.items()}


def _pairs(model: Model) -> dict[tuple[int, int], Box] | None:
    if isinstance(model, Joint):
        return {pair: Box(law, law) for pair, law in model.pairs().items()}
    if isinstance(model, Tree):
        return model.pairs()
    if isinstance(model, BoundedPairs):
        return dict(model.boxes)
    if not isinstance(model, Clusters):
        return None
    boxes: dict[tuple[int, int], Box] = {}
    for members, law in model.parts:
        margins = law.margins
        if margins is not None:
            for rank, j in enumerate(members):
                for i in set(range(len(model.sizes))) - set(members):
                    same = np.repeat(margins[rank][None], model.sizes[i], axis=0)
                    boxes[i, j] = Box(same, same)
        inside = _pairs(law)
        boxes |= {} if inside is None else {(members[i], members[j]): box for (i, j), box in inside.items()}
    return boxes
