"""Surveys of correlated attributes against the natural baselines: errors of frequencies, and what is really revealed.

    python -m benchmarks.surveys [--quick] [--docs] [--out FOLDER] [--measured FILE]

People who do not exist answer yes/no questions of a set correlation. On the same people: blendp's cbps and cbp with the
model stated, our split, sample and RS+FD within the same promise under that model, RS+FD as published, and
multi-freq-ldpy's SPL, SMP and RS+FD. Then hybrid surveys that learn the correlations from opt-in people, and real data.
Errors are mean squared errors of the same people's own frequencies, over values, attributes and runs.

Every loss is recomputed here by going through all records and reports, not by the library's own methods. Prints
tables and PASS or FAIL for each claim, and writes ``surveys.json`` and ``surveys.png`` into FOLDER (``.benchmarks``
unless said). With ``--docs`` the tables replace those of docs/survey-benchmark.md, and the plot
docs/images/surveys.png. ``--measured`` takes an earlier run's ``surveys.json`` instead of measuring; ``--quick``
measures little, without peers.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import reduce
from itertools import combinations_with_replacement
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.peers.environment import ROOT, Answer, Peer, PeerError, attempt, cache
from blendp.answers import Answers, Attribute, Questionnaire
from blendp.arrays import Array
from blendp.evaluation.survey_errors import measure_design, squared_error
from blendp.evaluation.surveys import evaluate_survey
from blendp.mechanisms import HiddenSampling
from blendp.randomness import SimulationRandom
from blendp.survey import METHODS, Design, Group, Losses, Promise, SurveyParameters, Tree, design, simulate_survey
from blendp.survey.designs import pair_bounds
from blendp.survey.synthetic import draw_answers
from examples.fair_survey import fair_answers

EPSILONS, ATTRIBUTES, CORRELATIONS = (0.5, 1.0, 2.0, 4.0), (4, 8, 16), (0.0, 0.1, 0.4, 0.8)
PEOPLE, SEED = 20_000, 20_250
ESTIMATES, PEER_ESTIMATES = 800, 96
"""Runs times attributes: an error's relative standard error is about sqrt(2/estimates), whatever is measured."""

HYBRID_PEOPLE, HYBRID_OPT_IN, HYBRID_EPSILONS, HYBRID_RUNS = 200_000, 0.1, (1.0, 4.0), 12
HYBRID_CORRELATIONS, HYBRID_ATTRIBUTES = (0.0, 0.1, 0.4), 8
REAL_PEOPLE, REAL_RUNS, REAL_RUNS_OF_MANY_VALUES, REAL_EPSILONS = 200_000, 10, 3, (1.0, 4.0)
DATA = ROOT.parent / "shared" / "data"

ROUNDING = 1e-12
NOISE = 3.0
"""Standard errors beyond which a difference is none of noise."""
FORMULA = 1e-6
"""What rounding the promise down may cost of the error."""
AGREEMENT = 0.01
"""How improbable the least probable deviation from the predictions may be, all together."""
GAIN = 2.0
"""How many times smaller than that of splitting our error is at a low correlation."""
LOW = 0.1
_QUICK = (1.0, 4.0), (8,), (0.0, 0.1, 0.8)

PUBLISHED = "rsfd published"
TABLE_LEARNT, TREE_LEARNT = "cbps, table learnt (the default)", "cbps, tree learnt (if asked for)"
PEERS = tuple(
    Peer("multi-freq-ldpy", "multi-freq-ldpy", "multi-freq-ldpy", "survey_multi_freq_ldpy", ("--solution", solution))
    for solution in ("spl-grr", "smp-grr", "rsfd-grr", "rsfd-oue-z")
)
BASELINES = ("split", "sample", "rsfd", PUBLISHED, *(peer.options[1] for peer in PEERS))
_MEASURED = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.DOTALL)

Channel = Array
"""P(report | value), values along the rows."""


@dataclass(frozen=True)
class Row:
    """One way to ask the same people, in one configuration.

    where:
        error, projected  are the mean squared errors of the unbiased frequencies (None for peers, who clip) and of
                          those that are projected on the simplex, with their standard errors,
        predicted         is the first by formula,
        stated, loss      are the loss about an attribute under the model: as the library says, and recomputed,
        record            is the epsilon of the whole record whatever the correlations are,
        reported          is how many attributes a client reports, for every group.
    """

    epsilon: float
    attributes: int
    correlation: float
    tool: str
    method: str
    loss: float
    record: float
    stated: float | None = None
    reported: tuple[int, ...] = ()
    runs: int = 0
    error: tuple[float, float] | None = None
    projected: tuple[float, float] | None = None
    predicted: float | None = None
    failure: str | None = None

    @property
    def kept(self) -> bool:
        """Whether the promise is kept."""
        return self.loss <= self.epsilon * (1 + ROUNDING)

    @property
    def setting(self) -> tuple[float, int, float]:
        """Its configuration."""
        return self.epsilon, self.attributes, self.correlation


@dataclass(frozen=True)
class HybridRow:
    """A hybrid survey of synthetic people; errors of the clients' frequencies, the opt-in group's and both blended."""

    epsilon: float
    correlation: float
    method: str
    client: tuple[float, float]
    predicted: float
    opt_in: tuple[float, float]
    blended: tuple[float, float]
    stated: float
    loss: float
    """Under the true law: the largest over the runs, recomputed."""
    record: float
    reported: tuple[int, ...]


@dataclass(frozen=True)
class RealRow:
    """A hybrid survey of real answers; roots of mean squared errors."""

    data: str
    epsilon: float
    method: str
    runs: int
    client: float
    predicted: float
    opt_in: float
    blended: float
    coverage: float
    stated: float
    data_loss: float | None
    record: float
    reported: tuple[int, ...]
    misfit: float | None


@dataclass(frozen=True)
class Claim:
    """What is claimed, and whether the measurement bears it out."""

    statement: str
    passed: bool
    detail: str

    def __str__(self) -> str:
        """One line."""
        return f"{'PASS' if self.passed else 'FAIL'}: {self.statement}: {self.detail}"


@dataclass(frozen=True)
class Measured:
    """Everything of one run."""

    people: int
    rows: tuple[Row, ...]
    hybrid: tuple[HybridRow, ...] = ()
    real: tuple[RealRow, ...] = ()

    @classmethod
    def of_json(cls, text: str) -> Measured:
        """What :func:`main` wrote."""
        document = json.loads(text)
        return cls(
            document["people"],
            tuple(Row(**_tuples(row)) for row in document["rows"]),
            tuple(HybridRow(**_tuples(row)) for row in document["hybrid"]),
            tuple(RealRow(**_tuples(row)) for row in document["real"]),
        )


def _tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


# What is revealed, from the definitions: all records and all reports are gone through.


def equicorrelated_law(attributes: int, correlation: float) -> Array:
    """P(b) = sum_h 1/2 prod_j P(b_j | h): each yes/no attribute is that of the cause h with a fixed probability."""
    like = (1 + math.sqrt(correlation)) / 2
    halves = [
        reduce(np.multiply.outer, [np.array(given)] * attributes) for given in ((like, 1 - like), (1 - like, like))
    ]
    return np.asarray((halves[0] + halves[1]) / 2)


def losses_by_enumeration(law: Array, channels: Mapping[int, Channel]) -> Array:
    """max over s, s', B of ln P(B | b_i = s)/P(B | b_i = s') for every i; ``channels`` are of what is reported."""
    losses = np.empty(law.ndim)
    for i in range(law.ndim):
        unused = tuple(j for j in range(law.ndim) if j not in channels and j != i)
        left = [j for j in range(law.ndim) if j not in unused]
        table = np.moveaxis(law.sum(axis=unused), left.index(i), 0)
        for channel in (channels[j] for j in left if j != i):  # the first other axis goes, its report comes last
            table = np.tensordot(table, channel, axes=(1, 0))
        given = table.reshape(len(table), -1)
        given = given / given.sum(axis=1, keepdims=True)
        if i in channels:
            given = (given[:, :, None] * channels[i][:, None, :]).reshape(len(given), -1)
        losses[i] = np.log(given.max(axis=0) / given.min(axis=0)).max()
    return losses


def hidden_losses_by_enumeration(law: Array, hidden: HiddenSampling) -> Array:
    """The same for RS+FD[GRR]: the report of one attribute is real, those of all others are any values."""
    losses = np.empty(law.ndim)
    for i in range(law.ndim):
        by_value = []
        for s in range(law.shape[i]):
            terms = []
            for j, (m, coin) in enumerate(zip(hidden.values, hidden.coins, strict=True)):
                truth = coin / 2**53
                channel = (1 - truth) / (m - 1) * (1 - np.eye(m)) + truth * np.eye(m)
                slab = np.take(law, s, axis=i)
                own = np.eye(m)[s] if j == i else _margin(slab, j - (j > i)) / slab.sum()
                terms.append(m * (own @ channel))
            by_value.append(reduce(np.add.outer, terms))
        logs = np.log(np.array(by_value))
        losses[i] = (logs.max(axis=0) - logs.min(axis=0)).max()
    return losses


def _margin(table: Array, kept: int) -> Array:
    return np.asarray(table.sum(axis=tuple(axis for axis in range(table.ndim) if axis != kept)))


def zero_encoding_loss(epsilon: float, attributes: int, correlation: float) -> float:
    """The loss of RS+FD[OUE-z] as published, for yes/no attributes of one correlation: any of them, by symmetry.

    P(B | b) / P(B | nothing) = (1/d) sum_j t_j with t_j = p/q if the bit of b_j is set, else (1-p)/(1-q). Of the
    others only matters how many reports are 00, 01, 10 and 11.
    """
    q = 1 / (attributes * math.expm1(epsilon) + 2)
    on, off = 0.5 / q, 0.5 / (1 - q)
    weights = np.array([[off, off], [off, on], [on, off], [on, on]])  # of a report, for the values 0 and 1
    same = (1 + correlation) / 2
    others = weights @ np.array([[same, 1 - same], [1 - same, same]])
    worst = 0.0
    for many in combinations_with_replacement(range(4), attributes - 1):
        from_others = others[list(many)].sum(axis=0)
        totals = weights + from_others
        worst = max(worst, float(np.abs(np.log(totals[:, 0] / totals[:, 1])).max()))
    return worst


def channels_of(group: Group) -> dict[int, Channel]:
    """Of a group's reports, from the probabilities that are drawn with."""
    channels = {}
    for attribute, size, randomiser in zip(group.attributes, group.sizes, group.randomisers, strict=True):
        hit, stray = randomiser.hit, randomiser.stray
        if randomiser.size != 1:
            raise ValueError("only reports of single values are gone through")
        channels[attribute] = stray + (hit - stray) * np.eye(size)
    return channels


def enumerated_loss(law: Array, design: Design) -> float:
    """The largest loss about an attribute that any client of a design has."""
    if design.hidden is not None:
        return float(hidden_losses_by_enumeration(law, design.hidden).max())
    return max(float(losses_by_enumeration(law, channels_of(group)).max()) for group in design.groups)


# The grid of synthetic people.


def published(model: Tree, design: Design) -> Design:
    """RS+FD[GRR] with the published epsilon instead of that of a design, and what it reveals under the model."""
    hidden = HiddenSampling.published(design.promise.epsilon, model.sizes)
    bounds = pair_bounds(model)
    assert bounds is not None
    losses = Losses(tuple(hidden.attribute_losses(*bounds).tolist()), hidden.loss(), "exact")
    group = replace(design.groups[0], epsilons=(hidden.inner,) * len(model.sizes))
    return replace(design, method=PUBLISHED, groups=(group,), losses=losses, hidden=hidden)


def with_error(values: Iterable[float]) -> tuple[float, float]:
    """A mean and its standard error."""
    array = np.array(list(values))
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(len(array))) if len(array) > 1 else math.nan


def ratio(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """A ratio of two means that were drawn independently, and its standard error."""
    quotient = first[0] / second[0]
    return quotient, quotient * math.hypot(first[1] / first[0], second[1] / second[0])


def measure_ours(answers: Answers, design: Design, runs: int, random: SimulationRandom) -> dict[str, Any]:
    """Errors of a design, measured and predicted."""
    errors = measure_design(answers, design, runs, random)
    measured = {"error": with_error(errors.raw), "projected": with_error(errors.projected)}
    return {"runs": runs, **measured, "predicted": errors.predicted}


def grid(
    epsilons: Sequence[float] = EPSILONS,
    attributes: Sequence[int] = ATTRIBUTES,
    correlations: Sequence[float] = CORRELATIONS,
    people: int = PEOPLE,
    estimates: int = ESTIMATES,
    peers: Sequence[Peer] = PEERS,
    peer_estimates: int = PEER_ESTIMATES,
) -> list[Row]:
    """All configurations: ours while the peers, two at a time, work on the same people."""
    settings = [(epsilon, d, rho) for d in attributes for rho in correlations for epsilon in epsilons]
    populations = {
        (d, rho): draw_answers(Tree.equicorrelated(d, rho), people, SimulationRandom(SEED + 100 * d + round(10 * rho)))
        for d in attributes
        for rho in correlations
    }
    rows: list[Row] = []
    with TemporaryDirectory(dir=cache()) as folder, ThreadPoolExecutor(2) as pool:
        for (d, rho), answers in populations.items():
            np.save(Path(folder) / f"{d}-{rho}.npy", answers.codes)
        pending: dict[tuple[tuple[float, int, float], str], Future[Answer | PeerError]] = {}
        for setting in settings:
            for peer in peers:
                epsilon, d, rho = setting
                options = {
                    "answers": Path(folder) / f"{d}-{rho}.npy",
                    "values": ",".join(["2"] * d),
                    "epsilon": repr(epsilon),
                    "runs": max(3, peer_estimates // d),
                    "seed": SEED + len(pending),
                }
                arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
                future = pool.submit(attempt, peer, arguments)
                if not pending:
                    future.result()  # makes the environment, once
                pending[setting, peer.options[1]] = future
        for setting in settings:
            _tell(f"epsilon {setting[0]:g}, {setting[1]} attributes, correlation {setting[2]:g}")
            rows += _ours(setting, populations[setting[1:]], estimates)
        for setting in settings:
            for peer in peers:
                _tell(f"{peer.options[1]}: epsilon {setting[0]:g}, {setting[1]} attributes, correlation {setting[2]:g}")
                rows.append(
                    _theirs(setting, peer.options[1], pending[setting, peer.options[1]].result(), populations, rows)
                )
    return sorted(rows, key=lambda row: row.setting)


def _ours(setting: tuple[float, int, float], answers: Answers, estimates: int) -> list[Row]:
    epsilon, d, rho = setting
    model, promise = Tree.equicorrelated(d, rho), Promise(epsilon)
    law = equicorrelated_law(d, rho)
    random = SimulationRandom(SEED + round(1e6 * epsilon + 1e3 * d + 100 * rho))
    designs = [design(model, answers.people, promise, method=method) for method in METHODS]
    designs.append(published(model, next(chosen for chosen in designs if chosen.hidden is not None)))
    return [
        Row(
            *setting,
            "blendp",
            chosen.method,
            loss=enumerated_loss(law, chosen),
            record=chosen.losses.record,
            stated=chosen.losses.worst,
            reported=(1,) if chosen.hidden else tuple(len(group.attributes) for group in chosen.groups),
            **measure_ours(answers, chosen, max(10, estimates // d), random),
        )
        for chosen in designs
    ]


def _theirs(
    setting: tuple[float, int, float],
    solution: str,
    answer: Answer | PeerError,
    populations: Mapping[tuple[int, float], Answers],
    ours: Sequence[Row],
) -> Row:
    """A peer's row: what it reveals is what ours of the same channel does, except that we have no OUE-z."""
    epsilon, d, rho = setting
    twin = {"spl-grr": "split", "smp-grr": "sample", "rsfd-grr": PUBLISHED, "rsfd-oue-z": PUBLISHED}[solution]
    like = next(row for row in ours if row.setting == setting and row.method == twin)
    loss = zero_encoding_loss(epsilon, d, rho) if solution == "rsfd-oue-z" else like.loss
    if isinstance(answer, PeerError):
        return Row(*setting, PEERS[0].name, solution, loss, like.record, failure=str(answer))
    truth = populations[d, rho].frequencies()
    errors = [squared_error([np.array(each) for each in run], truth) for run in answer.result["estimates"]]
    return Row(
        *setting,
        PEERS[0].name,
        solution,
        loss,
        like.record,
        reported=like.reported,
        runs=len(errors),
        projected=with_error(errors),
    )


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


# Claims.


def claims(rows: Sequence[Row]) -> list[Claim]:
    """All of them."""
    return [
        _within_promise(rows),
        _never_worse(rows),
        _better_than_split(rows),
        _as_predicted(rows),
        _best_by_formula(rows),
    ]


def _within_promise(rows: Sequence[Row]) -> Claim:
    ours = [row for row in rows if row.method in METHODS]
    worst = max(ours, key=lambda row: row.loss / row.epsilon)
    apart = max(abs(row.loss - row.stated) for row in rows if row.stated is not None)
    laws = 0.0
    for d, rho in sorted({(row.attributes, row.correlation) for row in rows if row.attributes < 16}):
        table = Tree.equicorrelated(d, rho).joint().probabilities
        laws = max(laws, float(np.abs(table - equicorrelated_law(d, rho)).max()))
    return Claim(
        "(a) every design of ours reveals at most the promise about an attribute, recomputed by enumeration",
        all(row.kept for row in ours) and apart < 1e-9 and laws < ROUNDING,
        f"{len(ours)} designs, the largest loss is {worst.loss / worst.epsilon:.12f} of the promise; the library's own "
        f"losses differ by at most {apart:.1g}, its laws (up to 2^15 cells) by at most {laws:.1g}",
    )


def comparable(ours: Row, other: Row) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Errors of two rows alike: without projection if both have them; None without a result."""
    if ours.error is not None and other.error is not None:
        return ours.error, other.error
    if ours.projected is not None and other.projected is not None:
        return ours.projected, other.projected
    return None


def _against(rows: Sequence[Row], keeping: bool = True) -> Iterable[tuple[Row, Row, tuple[float, float]]]:
    """Every baseline with a result, cbps in the same place, and how many times larger the baseline's error is."""
    best = {row.setting: row for row in rows if row.method == "cbps"}
    for row in rows:
        if row.method in BASELINES and (row.kept or not keeping):
            pair = comparable(best[row.setting], row)
            if pair is not None:
                yield best[row.setting], row, ratio(pair[1], pair[0])


def _never_worse(rows: Sequence[Row]) -> Claim:
    behind = []
    for ours, other, _ in _against(rows):
        pair = comparable(ours, other)
        assert pair is not None
        behind.append(((pair[0][0] - pair[1][0]) / math.hypot(pair[0][1], pair[1][1]), pair[0][0] / pair[1][0], other))
    z, times, other = max(behind, key=lambda each: each[0])
    return Claim(
        f"(b) cbps is worse than no baseline that keeps the promise by more than {NOISE:g} standard errors",
        z <= NOISE,
        f"{len(behind)} comparisons; at worst {times:.3f} times the error ({z:+.1f} standard errors) of {other.method} "
        f"at epsilon {other.epsilon:g}, {other.attributes} attributes, correlation {other.correlation:g}",
    )


def _better_than_split(rows: Sequence[Row]) -> Claim:
    comparisons = [
        (times, other)
        for _, other, times in _against(rows)
        if other.method in ("split", "spl-grr") and other.correlation <= LOW
    ]
    (smallest, error), other = min(comparisons, key=lambda each: each[0][0])
    return Claim(
        f"(c) at correlations up to {LOW:g} the error of splitting is at least {GAIN:g} times that of cbps",
        smallest >= GAIN,
        f"{len(comparisons)} comparisons; at least {smallest:.2f} ± {error:.2f} times ({other.method}, epsilon "
        f"{other.epsilon:g}, {other.attributes} attributes, correlation {other.correlation:g})",
    )


def _as_predicted(rows: Sequence[Row]) -> Claim:
    z, p = [], []
    for row in rows:
        if row.error is not None and row.predicted is not None:
            z.append((row.error[0] - row.predicted) / row.error[1])
            p.append(2 * float(stats.t.sf(abs(z[-1]), row.runs - 1)))
    return Claim(
        f"(d) predicted and measured errors agree within noise (least probable of all: above {AGREEMENT:g})",
        min(p) * len(p) > AGREEMENT,
        f"{len(p)} errors; the largest deviation is {max(map(abs, z)):.1f} standard errors, the root mean square "
        f"{math.sqrt(float(np.mean(np.square(z)))):.2f}, the mean {float(np.mean(z)):+.2f}",
    )


def _best_by_formula(rows: Sequence[Row]) -> Claim:
    """The same as (b), without any noise to hide a difference in: what is predicted, which (d) bears out."""
    ours = {row.setting: row.predicted for row in rows if row.method == "cbps"}
    times = []
    for row in rows:
        mine = ours[row.setting]
        if row.method in BASELINES and row.kept and row.predicted is not None and mine is not None:
            times.append((mine / row.predicted, row))
    behind = sorted((each for each in times if each[0] > 1 + FORMULA), key=lambda each: -each[0])
    excesses = "; ".join(
        f"{ratio:.3f} times the error of {row.method} at epsilon {row.epsilon:g}, {row.attributes} attributes, "
        f"correlation {row.correlation:g}"
        for ratio, row in behind
    )
    return Claim(
        "(e) by formula, cbps is worse than no baseline of ours that keeps the promise",
        not behind,
        f"{len(times)} comparisons; {excesses or f'at worst {max(each[0] for each in times):.9f} times the error'}",
    )


def hybrid_claims(rows: Sequence[HybridRow]) -> list[Claim]:
    """Whether what is learnt keeps its promise under the true law, which is no tree: a hidden cause."""
    claims = []
    for letter, method in (("f", TABLE_LEARNT), ("g", TREE_LEARNT)):
        surveys = [row for row in rows if row.method == method]
        broken = sum(row.loss > row.epsilon * (1 + ROUNDING) for row in surveys)
        worst = max(row.loss / row.epsilon for row in surveys)
        statement = f"({letter}) hybrid surveys ({method}) keep the promise under the true law"
        detail = f"{broken} of {len(surveys)} do not; the largest loss is {worst:.3f} of the promise"
        claims.append(Claim(statement, not broken, detail))
    return claims


# Hybrid surveys.


def hybrid(
    epsilons: Sequence[float] = HYBRID_EPSILONS,
    correlations: Sequence[float] = HYBRID_CORRELATIONS,
    people: int = HYBRID_PEOPLE,
    runs: int = HYBRID_RUNS,
    attributes: int = HYBRID_ATTRIBUTES,
) -> list[HybridRow]:
    """cbps with correlations that are learnt from the opt-in group, with the true model stated, sample and split."""
    rows = []
    for rho in correlations:
        model, law = Tree.equicorrelated(attributes, rho), equicorrelated_law(attributes, rho)
        answers = draw_answers(model, people, SimulationRandom(SEED + round(10 * rho)))
        for epsilon in epsilons:
            for name, parameters, known in (
                ("cbps, model known", SurveyParameters(epsilon=epsilon, delta=1e-6), model),
                (TABLE_LEARNT, SurveyParameters(epsilon=epsilon, delta=1e-6, learn="table"), None),
                (TREE_LEARNT, SurveyParameters(epsilon=epsilon, delta=1e-6, learn="tree"), None),
                ("sample", SurveyParameters(epsilon=epsilon, delta=1e-6, method="sample"), None),
                ("split", SurveyParameters(epsilon=epsilon, delta=1e-6, method="split"), None),
            ):
                _tell(f"hybrid: {name}, epsilon {epsilon:g}, correlation {rho:g}")
                rows.append(_hybrid(name, answers, law, parameters, known, rho, runs))
    return rows


def _hybrid(
    name: str, answers: Answers, law: Array, parameters: SurveyParameters, known: Tree | None, rho: float, runs: int
) -> HybridRow:
    truth = np.concatenate(answers.frequencies())
    random = SimulationRandom(SEED)
    outcomes = [
        simulate_survey(answers, parameters, opt_in=HYBRID_OPT_IN, model=known, random=random.spawn())
        for _ in range(runs)
    ]

    def errors(of: Iterable[Array]) -> tuple[float, float]:
        return with_error(float(np.mean((estimate - truth) ** 2)) for estimate in of)

    return HybridRow(
        parameters.epsilon,
        rho,
        name,
        errors(each.client.probability for each in outcomes),
        float(
            np.mean([each.design.mean_squared_error(answers.frequencies(), among=answers.people) for each in outcomes])
        ),
        errors(each.opt_in.probability for each in outcomes),
        errors(each.blended.probability for each in outcomes),
        max(each.design.losses.worst for each in outcomes),
        max(enumerated_loss(law, each.design) for each in outcomes),
        max(each.design.losses.record for each in outcomes),
        tuple(len(group.attributes) for group in outcomes[0].design.groups),
    )


# Real answers.


def _yes_or_no(columns: Mapping[str, NDArray[np.bool_]]) -> Answers:
    attributes = tuple(Attribute(name, ("no", "yes")) for name in columns)
    return Answers(Questionnaire(attributes), np.stack(list(columns.values()), axis=1).astype(np.int32))


def _categories(columns: Mapping[str, Sequence[str]]) -> Answers:
    lists = {name: sorted(set(column)) for name, column in columns.items()}
    attributes = tuple(Attribute(name, tuple(values)) for name, values in lists.items())
    codes = [[lists[name].index(value) for value in column] for name, column in columns.items()]
    return Answers(Questionnaire(attributes), np.array(codes, dtype=np.int32).T)


_ADULT = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
)
_ADULT_YES: dict[str, Callable[[str], bool]] = {
    "workclass": lambda value: value == "Private",
    "education": lambda value: value in ("Bachelors", "Masters", "Doctorate", "Prof-school"),
    "marital-status": lambda value: value.startswith("Married"),
    "occupation": lambda value: value in ("Exec-managerial", "Prof-specialty", "Adm-clerical", "Sales", "Tech-support"),
    "relationship": lambda value: value in ("Husband", "Wife"),
    "race": lambda value: value == "White",
    "sex": lambda value: value == "Male",
    "income": lambda value: value.startswith(">"),
}
_NURSERY = ("parents", "has_nurs", "form", "children", "housing", "finance", "social", "health", "class")


def _columns(path: Path, names: Sequence[str]) -> dict[str, list[str]]:
    with gzip.open(path, "rt", newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if len(row) == len(names)]
    return {name: [row[position].strip() for row in rows] for position, name in enumerate(names)}


def real_answers(folder: Path = DATA) -> dict[str, Answers]:
    """What there is: ``fair`` always, Adult and Nursery if their folder is there."""
    tables = {"fair, yes/no": fair_answers()}
    if (folder / "adult.data.gz").exists():
        columns = _columns(folder / "adult.data.gz", _ADULT)
        chosen = {name: columns[name] for name in _ADULT_YES}
        yes = {name: np.array([_ADULT_YES[name](value) for value in column]) for name, column in chosen.items()}
        tables |= {"Adult, yes/no": _yes_or_no(yes), "Adult": _categories(chosen)}
    if (folder / "nursery.data.gz").exists():
        tables["Nursery"] = _categories(_columns(folder / "nursery.data.gz", _NURSERY))
    return tables


def real(
    data: Mapping[str, Answers],
    epsilons: Sequence[float] = REAL_EPSILONS,
    people: int = REAL_PEOPLE,
    runs: int = REAL_RUNS,
    methods: Sequence[str] = METHODS,
) -> list[RealRow]:
    """Hybrid surveys of people drawn with replacement from real ones."""
    rows = []
    for name, answers in data.items():
        drawn = answers.take(SimulationRandom(SEED).generator.integers(0, answers.people, people))
        many = runs if max(answers.sizes) == 2 else min(runs, REAL_RUNS_OF_MANY_VALUES)
        for epsilon in epsilons:
            for method in methods:
                _tell(f"{name}: {method}, epsilon {epsilon:g}")
                parameters = SurveyParameters(epsilon=epsilon, delta=1e-6, method=method, project=False)
                trial = evaluate_survey(drawn, parameters, opt_in=HYBRID_OPT_IN, runs=many, seed=SEED)
                chosen, misfit = trial.example.design, trial.example.misfit
                rows.append(
                    RealRow(
                        name,
                        epsilon,
                        method,
                        many,
                        trial.client_rmse,
                        trial.predicted,
                        trial.opt_in_rmse or math.nan,
                        trial.rmse,
                        trial.coverage,
                        chosen.losses.worst,
                        trial.worst_data_loss,
                        chosen.losses.record,
                        (1,) if chosen.hidden else tuple(len(group.attributes) for group in chosen.groups),
                        None if misfit is None else misfit.share,
                    )
                )
    return rows


# What is shown.


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; headings that end with | are of words."""
    marks = ["---" if heading.endswith("|") else "---:" for heading in headings]
    lines = [[heading.removesuffix("|") for heading in headings], marks, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _number(pair: tuple[float, float] | None, unit: float = 1.0, digits: int = 3) -> str:
    """A value and its standard error, in units, with as many digits as the error lets count."""
    if pair is None:
        return ""
    value, error = pair[0] / unit, pair[1] / unit
    if not error > 0:
        return f"{value:.{digits}g}"
    magnitude = math.floor(math.log10(error))
    decimals = max(0, 1 - magnitude - (1 if error / 10**magnitude >= 3 else 0))
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def _sizes(reported: Sequence[int]) -> str:
    if not reported:
        return ""
    fewest, largest = min(reported), max(reported)
    return f"{fewest}" if fewest == largest else f"{fewest}-{largest}"


def _loss(row: Row) -> str:
    return f"{row.loss:.3g}" if row.kept else f"**{row.loss:.3g}**"


def summary(rows: Sequence[Row]) -> str:
    """One line for every configuration: how many times the error of cbps the others have."""
    at = {(row.setting, row.method): row for row in rows}
    times = {(other.setting, other.method): quotient for _, other, quotient in _against(rows, keeping=False)}
    shown = []
    for setting in sorted({row.setting for row in rows}):
        ours = at[setting, "cbps"]
        line = [
            *(f"{each:g}" for each in setting),
            _number(ours.error, 1e-4),
            _sizes(ours.reported),
            f"{ours.record:.3g}",
        ]
        for method in ("cbp", "split", "sample", "rsfd", PUBLISHED, "spl-grr", "smp-grr", "rsfd-grr", "rsfd-oue-z"):
            other = at.get((setting, method))
            if other is None:
                line.append("")
                continue
            if method == "cbp" and ours.error is not None and other.error is not None:
                cell = _number(ratio(other.error, ours.error))
            else:
                cell = _number(times.get((setting, method))) or (other.failure or "")
            line.append(cell if other.kept else f"{cell}; **{other.loss:.3g}**")
        shown.append(line)
    headings = ["ε", "d", "correlation", "cbps: error, 1e-4", "reports", "record ε", "cbp", "split", "sample", "RS+FD"]
    headings += ["RS+FD, published", "peer SPL", "peer SMP", "peer RS+FD[GRR]", "peer RS+FD[OUE-z]"]
    return markdown(headings, shown)


def everything(rows: Sequence[Row]) -> str:
    """A line for every row."""
    headings = ["ε", "d", "correlation", "tool|", "method|", "reports", "runs", "error, 1e-4", "predicted"]
    headings += ["on simplex", "loss about an attribute", "record ε", "promise|"]
    shown = [
        [
            *(f"{each:g}" for each in row.setting),
            row.tool,
            row.method,
            _sizes(row.reported),
            str(row.runs),
            row.failure or _number(row.error, 1e-4),
            "" if row.predicted is None else f"{row.predicted * 1e4:.3g}",
            _number(row.projected, 1e-4),
            _loss(row),
            f"{row.record:.3g}",
            "kept" if row.kept else "**not kept**",
        ]
        for row in rows
    ]
    return markdown(headings, shown)


def hybrid_table(rows: Sequence[HybridRow]) -> str:
    """A line for every method."""
    headings = ["ε", "correlation", "method|", "reports", "clients, 1e-6", "predicted", "opt-in, 1e-6", "blended, 1e-6"]
    headings += ["loss, model", "loss, truth", "record ε"]
    shown = [
        [
            f"{row.epsilon:g}",
            f"{row.correlation:g}",
            row.method,
            _sizes(row.reported),
            _number(row.client, 1e-6),
            f"{row.predicted * 1e6:.3g}",
            _number(row.opt_in, 1e-6),
            _number(row.blended, 1e-6),
            f"{row.stated:.3g}",
            f"{row.loss:.3g}" if row.loss <= row.epsilon * (1 + ROUNDING) else f"**{row.loss:.3g}**",
            f"{row.record:.3g}",
        ]
        for row in rows
    ]
    return markdown(headings, shown)


def real_table(rows: Sequence[RealRow]) -> str:
    """A line for every method."""
    headings = [
        "data|",
        "ε",
        "method|",
        "runs",
        "reports",
        "clients, 1e-3",
        "predicted",
        "opt-in",
        "blended",
        "coverage",
    ]
    headings += ["loss, model", "loss, data", "record ε", "misfit"]

    def data_loss(row: RealRow) -> str:
        if row.data_loss is None:
            return "not known"
        kept = row.data_loss <= row.epsilon * (1 + ROUNDING)
        return f"{row.data_loss:.3g}" if kept else f"**{row.data_loss:.3g}**"

    shown = [
        [
            row.data,
            f"{row.epsilon:g}",
            row.method,
            str(row.runs),
            _sizes(row.reported),
            *(f"{error * 1e3:.3g}" for error in (row.client, row.predicted, row.opt_in, row.blended)),
            f"{row.coverage:.3f}",
            f"{row.stated:.3g}",
            data_loss(row),
            f"{row.record:.3g}",
            "" if row.misfit is None else f"{100 * row.misfit:.1f} %",
        ]
        for row in rows
    ]
    return markdown(headings, shown)


def page(measured: Measured) -> str:
    """The tables of the page in docs."""
    verdicts = [*claims(measured.rows), *(hybrid_claims(measured.hybrid) if measured.hybrid else [])]
    parts = ["\n".join(f"- {claim}." for claim in verdicts) + "\n"]
    parts += ["**How many times the error of cbps the others have**\n", summary(measured.rows)]
    parts.append("**A hybrid survey: what learning the correlations costs**\n")
    parts += [hybrid_table(measured.hybrid), "**Real answers, hybrid**\n", real_table(measured.real)]
    parts.append("**Every row of the grid**\n")
    for epsilon in sorted({row.epsilon for row in measured.rows}):
        rows = [row for row in measured.rows if row.epsilon == epsilon]
        parts.append(f"<details><summary>ε = {epsilon:g}</summary>\n\n{everything(rows)}\n</details>\n")
    return "\n".join(parts)


def measure(quickly: bool) -> Iterator[Measured]:
    """Everything, part by part: what there is after each of them; ``quickly``: little, without peers."""
    if quickly:
        yield (so_far := Measured(5_000, tuple(grid(*_QUICK, people=5_000, estimates=160, peers=()))))
        yield (so_far := replace(so_far, hybrid=tuple(hybrid((1.0,), (0.1,), people=20_000, runs=2, attributes=4))))
        drawn = real(
            {"fair, yes/no": fair_answers()}, (1.0,), people=20_000, runs=2, methods=("cbps", "sample", "split")
        )
        yield replace(so_far, real=tuple(drawn))
    else:
        yield (so_far := Measured(PEOPLE, tuple(grid())))
        yield (so_far := replace(so_far, hybrid=tuple(hybrid())))
        yield replace(so_far, real=tuple(real(real_answers())))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="little, without peers, to see that it works")
    parser.add_argument("--docs", action="store_true", help="bring docs/survey-benchmark.md and its plot up to date")
    parser.add_argument("--out", type=Path, default=None, metavar="FOLDER")
    parser.add_argument("--measured", type=Path, default=None, metavar="FILE", help="show an earlier run")
    asked = parser.parse_args()
    out = asked.out or cache()
    out.mkdir(parents=True, exist_ok=True)
    if asked.measured:
        measured = Measured.of_json(asked.measured.read_text())
    else:
        for measured in measure(asked.quick):
            (out / "surveys.json").write_text(json.dumps(asdict(measured), indent=1) + "\n")
    print(page(measured))
    from benchmarks.survey_plot import draw

    draw(measured.rows, out / "surveys.png")
    if asked.docs:
        path = ROOT / "docs" / "survey-benchmark.md"
        path.write_text(_MEASURED.sub(lambda mark: f"{mark[1]}\n{page(measured)}\n{mark[2]}", path.read_text()))
        draw(measured.rows, ROOT / "docs" / "images" / "surveys.png")


if __name__ == "__main__":
    main()
