"""The comparisons of the survey paper (UDLDP, CBP, CBPS) as figures, on people who do not exist.

Errors are those of the clients alone, within the same promise under the model, which is stated and true.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from blendp.answers import Answers, Questionnaire
from blendp.errors import require_count
from blendp.evaluation.figures.figure import Figure, Line, Panel
from blendp.evaluation.figures.laboratory import Mean, Point
from blendp.evaluation.survey_errors import measure_design
from blendp.methods.progress import Progress, silent
from blendp.randomness import SimulationRandom
from blendp.survey import Design, Joint, Losses, Perturbation, Promise, Tree, design, pairwise_product_loss, udldp_loss
from blendp.survey.synthetic import draw_answers

METHODS = {"cbps": "cbps", "cbp": "cbp", "sample": "sample", "rsfd": "RS+FD", "split": "split"}
"""The methods that figures compare, and how panels call them."""

LOOKS = {"cbps": "3", "cbp": "1", "sample": "2", "rsfd": "0", "split": "4"}

ALLOCATIONS = {"root": ("√f, the right one", "3", 1 / 2), "plain": ("f, first as printed", "published", 1.0)}
ALLOCATIONS |= {"cube root": ("∛f, then as printed", "0", 1 / 3), "equal": ("equal", "random", 0.0)}
"""How clients are shared out among groups: as this power of the error f that a group leaves."""

ERROR = "error, % points"
"""The root of the mean squared error of a frequency."""

_MORE = 8
"""So many times the runs for allocations, which differ little."""

_HALF = 4
"""How many attributes each of the two groups of the figure of allocations has."""


@dataclass(frozen=True)
class SurveyGrid:
    """At which places figures are measured."""

    epsilons: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
    attributes: tuple[int, ...] = (2, 4, 6, 8, 12, 16)
    correlations: tuple[float, ...] = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
    two_epsilons: tuple[float, float] = (1.0, 4.0)
    weak_epsilons: tuple[float, float] = (0.5, 1.0)
    """For allocations: with stronger reports groups leave about the same error, so that all allocations are alike."""

    two_correlations: tuple[float, float] = (0.1, 0.4)
    asked: int = 8
    """How many attributes there are where that is not varied."""


SURVEY_FULL = SurveyGrid()
SURVEY_QUICK = SurveyGrid((0.5, 1.0, 2.0, 4.0), (2, 4, 8, 12), (0.0, 0.1, 0.4, 0.8))


@dataclass(frozen=True)
class Asking:
    """One way to ask people about attributes of which every two have one correlation."""

    epsilon: float
    attributes: int
    correlation: float
    method: str = "cbps"
    group: int | None = None
    allocation: str | None = None
    """With a rule of :data:`ALLOCATIONS`: as many attributes again, which are independent, are a group of their own."""

    def __str__(self) -> str:
        """One line for people."""
        how = f", {self.group} together" if self.group else f", shared as {self.allocation}" if self.allocation else ""
        return f"{self.method}{how}: ε {self.epsilon:g}, {self.attributes} attributes, correlation {self.correlation:g}"

    def answers(self, people: int, seed: int) -> Answers:
        """What so many people answer: the same to all methods."""
        answers = draw_answers(Tree.equicorrelated(self.attributes, self.correlation), people, self._random(seed, ""))
        if self.allocation is None:
            return answers
        independent = draw_answers(Tree.equicorrelated(self.attributes, 0.0), people, self._random(seed, "independent"))
        names = [replace(each, name=f"i{each.name}") for each in independent.questionnaire.attributes]
        questions = Questionnaire((*answers.questionnaire.attributes, *names))
        return Answers(questions, np.hstack([answers.codes, independent.codes]))

    def design(self, people: int) -> Design:
        """Who reports what."""
        promise, model = Promise(self.epsilon), Tree.equicorrelated(self.attributes, self.correlation)
        if self.allocation is None:
            return design(model, people, promise, method=self.method, group=self.group)
        halves = [
            design(one, people, promise, method="cbp") for one in (model, Tree.equicorrelated(self.attributes, 0.0))
        ]
        errors = [half.mean_squared_error([np.full(2, 0.5)] * self.attributes) for half in halves]
        power = ALLOCATIONS[self.allocation][2]
        share = errors[0] ** power / sum(error**power for error in errors)
        first = min(max(round(share * people), 1), people - 1)
        groups = tuple(
            replace(half.groups[0], attributes=tuple(start + j for j in half.groups[0].attributes), clients=clients)
            for half, start, clients in zip(halves, (0, self.attributes), (first, people - first), strict=True)
        )
        losses = Losses(
            halves[0].losses.by_attribute + halves[1].losses.by_attribute,
            max(half.losses.record for half in halves),
            halves[0].losses.kind,
        )
        return Design("cbps", promise, (2,) * (2 * self.attributes), groups, losses)

    def _random(self, seed: int, purpose: str) -> SimulationRandom:
        identity = f"{seed} {self.attributes} {self.correlation!r} {purpose}"
        return SimulationRandom(int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8], "big"))

    def random(self, seed: int) -> SimulationRandom:
        """The randomness of its surveys."""
        return self._random(seed, repr(self))


@dataclass(frozen=True, eq=False)
class SurveyLaboratory:
    """Carries out each way to ask so many times, and remembers the means."""

    people: int
    runs: int
    seed: int = 0
    progress: Progress = silent
    _done: dict[Asking, Point] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse too few people, no runs, and seeds that are none."""
        require_count("users", self.people, min_value=100, remedy="Ask more people.")
        require_count("runs", self.runs, min_value=1, remedy="Ask for at least one run, 2 for standard errors.")
        require_count("seed", self.seed, min_value=0, remedy="Use a whole number such as 0.")

    def measure(self, asking: Asking) -> Point:
        """The errors, and what reports reveal."""
        if asking not in self._done:
            self.progress(str(asking))
            chosen, runs = asking.design(self.people), self.runs * (1 if asking.allocation is None else _MORE)
            errors = measure_design(asking.answers(self.people, self.seed), chosen, runs, asking.random(self.seed))
            exact = {
                "predicted": errors.predicted,
                "loss_about_attribute": chosen.losses.worst,
                "record_epsilon": chosen.losses.record,
                "groups": float(len(chosen.groups)),
            }
            means = {"squared_error": Mean.of(errors.raw), "squared_error_projected": Mean.of(errors.projected)}
            means |= {name: Mean(value, math.nan) for name, value in exact.items()}
            about = {
                "epsilon": asking.epsilon,
                "attributes": asking.attributes,
                "correlation": asking.correlation,
                "method": asking.method,
                "group": asking.group,
                "allocation": asking.allocation,
                "people": self.people,
                "runs": runs,
            }
            self._done[asking] = Point(about, means)
        return self._done[asking]


@dataclass(frozen=True)
class _Curve:
    label: str
    look: str
    points: tuple[tuple[float, Asking], ...]


@dataclass(frozen=True)
class _Axes:
    title: str
    varied: str
    curves: tuple[_Curve, ...]
    relative: bool = False
    """Whether errors are divided by what the formula says of the first curve's."""


_Rows = tuple[tuple[_Axes, ...], ...]


@dataclass(frozen=True)
class SurveyFigure:
    """A comparison: what it is about, and what is asked where."""

    name: str
    title: str
    sentence: str
    paper: str
    rows: Callable[[SurveyGrid], _Rows]

    def steps(self, grid: SurveyGrid) -> set[Asking]:
        """What has to be measured."""
        return set(self._all(grid))

    def make(self, grid: SurveyGrid, laboratory: SurveyLaboratory) -> Figure:
        """Measure it and put the figure together."""
        panels = tuple(tuple(_panel(axes, laboratory) for axes in row) for row in self.rows(grid))
        points = tuple(laboratory.measure(asking) for asking in dict.fromkeys(self._all(grid)))
        return Figure(self.name, self.title, self.sentence, self.paper, panels, points)

    def _all(self, grid: SurveyGrid) -> Iterator[Asking]:
        curves = (curve for row in self.rows(grid) for axes in row for curve in axes.curves)
        return (asking for curve in curves for _, asking in curve.points)


@dataclass(frozen=True)
class FormulaFigure(SurveyFigure):
    """What the published theorem says is revealed, and what is: nothing is drawn."""

    def make(self, grid: SurveyGrid, laboratory: SurveyLaboratory) -> Figure:
        """Work both out."""
        del grid, laboratory
        epsilons = [0.25 * step for step in range(1, 17)]
        many = list(range(2, 9))
        cases: list[tuple[str, str, list[float], list[tuple[Joint, tuple[float, ...]]]]] = [
            ("b₁ = b₂ xor b₃", "ε of each report", epsilons, [(_xor(), (each,) * 3) for each in epsilons]),
            (
                "correlation 0.4, ε 0.5 each",
                "number of attributes",
                [float(d) for d in many],
                [(Tree.equicorrelated(d, 0.4).joint(), (0.5,) * d) for d in many],
            ),
        ]
        panels, points = [], []
        for title, varied, at, laws in cases:
            losses = [_three_losses(law, each) for law, each in laws]
            lines = tuple(
                Line(label, look, tuple(at), tuple(Mean(each[name], math.nan) for each in losses))
                for name, (label, look) in _LOSS_LINES.items()
            )
            panels.append(Panel(title, varied, "loss about an attribute", lines))
            for x, each in zip(at, losses, strict=True):
                means = {name: Mean(value, math.nan) for name, value in each.items()}
                points.append(Point({"law": title, "varied": varied, "at": x}, means))
        return Figure(self.name, self.title, self.sentence, self.paper, (tuple(panels),), tuple(points))


_LOSS_LINES = {
    "published": ("as printed", "published"),
    "exact": ("true", "blendp"),
    "record": ("whole record", "random"),
}


@cache
def _xor() -> Joint:
    """Two fair answers and their exclusive or."""
    table = np.zeros((2, 2, 2))
    for b, c in ((0, 0), (0, 1), (1, 0), (1, 1)):
        table[b ^ c, b, c] = 1 / 4
    return Joint(table)


def _three_losses(law: Joint, epsilons: tuple[float, ...]) -> dict[str, float]:
    reports = Perturbation(epsilons, (2,) * len(epsilons))
    exact = udldp_loss(law, reports)
    return {"published": pairwise_product_loss(law, reports).worst, "exact": exact.worst, "record": exact.record}


def _panel(axes: _Axes, laboratory: SurveyLaboratory) -> Panel:
    lines = []
    for curve in axes.curves:
        means = [laboratory.measure(asking).means["squared_error"] for _, asking in curve.points]
        if axes.relative:
            units = [laboratory.measure(asking).means["predicted"].value for _, asking in axes.curves[0].points]
            means = [Mean(mean.value / unit, mean.error / unit) for mean, unit in zip(means, units, strict=True)]
        else:
            means = [_points(mean) for mean in means]
        lines.append(Line(curve.label, curve.look, tuple(x for x, _ in curve.points), tuple(means)))
    measured = "squared error, relative" if axes.relative else ERROR
    return Panel(axes.title, axes.varied, measured, tuple(lines), log=not axes.relative)


def _points(squared: Mean) -> Mean:
    """The root of a mean square, in percentage points."""
    root = math.sqrt(squared.value)
    return Mean(100 * root, 100 * squared.error / (2 * root))


def _methods(title: str, varied: str, at: Sequence[float], asking: Callable[[float, str], Asking]) -> _Axes:
    """A curve for every method."""
    return _Axes(
        title,
        varied,
        tuple(_Curve(label, LOOKS[name], tuple((x, asking(x, name)) for x in at)) for name, label in METHODS.items()),
    )


def _by_epsilon(grid: SurveyGrid) -> _Rows:
    def axes(rho: float) -> _Axes:
        title = f"{grid.asked} attributes, correlation {rho:g}"
        return _methods(title, "ε", grid.epsilons, lambda x, method: Asking(x, grid.asked, rho, method))

    return (tuple(map(axes, grid.two_correlations)),)


def _by_attributes(grid: SurveyGrid) -> _Rows:
    def axes(rho: float) -> _Axes:
        at = [float(d) for d in grid.attributes]
        title = f"ε = {grid.two_epsilons[0]:g}, correlation {rho:g}"
        return _methods(
            title, "number of attributes", at, lambda x, method: Asking(grid.two_epsilons[0], int(x), rho, method)
        )

    return (tuple(map(axes, grid.two_correlations)),)


def _by_correlation(grid: SurveyGrid) -> _Rows:
    def axes(epsilon: float) -> _Axes:
        title = f"{grid.asked} attributes, ε = {epsilon:g}"
        return _methods(
            title,
            "correlation of every two attributes",
            grid.correlations,
            lambda x, method: Asking(epsilon, grid.asked, x, method),
        )

    return (tuple(map(axes, grid.two_epsilons)),)


def _by_group(grid: SurveyGrid) -> _Rows:
    sizes = [size for size in range(1, grid.asked + 1) if size in (1, 2, 3, 4, 6, grid.asked)]
    shown = grid.correlations[:: max(1, (len(grid.correlations) - 1) // 3)][:4]

    def axes(epsilon: float) -> _Axes:
        return _Axes(
            f"{grid.asked} attributes, ε = {epsilon:g}",
            "attributes that one client reports",
            tuple(
                _Curve(
                    f"correlation {rho:g}",
                    look,
                    tuple((float(size), Asking(epsilon, grid.asked, rho, group=size)) for size in sizes),
                )
                for rho, look in zip(shown, ("3", "1", "2", "0"), strict=False)
            ),
        )

    return (tuple(map(axes, grid.two_epsilons)),)


def _by_allocation(grid: SurveyGrid) -> _Rows:
    def axes(epsilon: float) -> _Axes:
        return _Axes(
            f"{_HALF} independent, {_HALF} correlated, ε = {epsilon:g}",
            "correlation in the second group",
            tuple(
                _Curve(
                    label, look, tuple((rho, Asking(epsilon, _HALF, rho, allocation=rule)) for rho in grid.correlations)
                )
                for rule, (label, look, _) in ALLOCATIONS.items()
            ),
            relative=True,
        )

    return (tuple(map(axes, grid.weak_epsilons)),)


_NO_NUMBERS = "Its text prints formulas, no numbers to draw beside ours."

SURVEY_FIGURES: dict[str, SurveyFigure] = {
    figure.name: figure
    for figure in (
        SurveyFigure(
            "survey-epsilon",
            "Error and ε",
            "How far frequencies are from the people's own, as the promise about every attribute weakens; all methods "
            "keep the same promise under the model.",
            f"CBPS reports groups of attributes, CBP all of them, as strongly as correlations allow. {_NO_NUMBERS}",
            _by_epsilon,
        ),
        SurveyFigure(
            "survey-attributes",
            "Error and the number of attributes",
            "The same as more questions are asked of the same people: splitting ε pays most for every further one.",
            f"The more attributes, the more grouping them gains. {_NO_NUMBERS}",
            _by_attributes,
        ),
        SurveyFigure(
            "survey-correlation",
            "Error and correlation",
            "The same as answers hang together more: of independent answers everybody reports all, of strongly "
            "correlated ones a single attribute.",
            f"The weaker the correlations, the stronger reports may be. {_NO_NUMBERS}",
            _by_correlation,
        ),
        SurveyFigure(
            "survey-groups",
            "How many attributes one client reports",
            "CBPS with groups of a fixed size: the best size falls as answers hang together more; blendp finds it.",
            f"Groups of one size s. {_NO_NUMBERS}",
            _by_group,
        ),
        SurveyFigure(
            "survey-allocation",
            "How clients are shared out, right and as printed",
            "Errors with the allocations that the proof of theorem 5.1 prints, relative to the right one: clients of a "
            "group in proportion to the square root of the error f that it leaves. These points have "
            "eight times the runs.",
            "The proof's first display, λ√N = √f, gives clients in proportion to f, its second, λN = √(f/N), to ∛f; "
            "the inequality that it starts from asks for √f.",
            _by_allocation,
        ),
        FormulaFigure(
            "survey-formula",
            "The loss about an attribute, true and as printed",
            "The published theorem adds up what each report reveals alone. With three attributes or more that is no "
            "bound: reports can reveal more together.",
            "Theorem 4.1: a product over the reports. It is exact for two attributes.",
            lambda _: (),
        ),
    )
}
"""Every comparison by its name."""


def survey_steps(grid: SurveyGrid) -> int:
    """How many ways to ask are measured."""
    return len(set().union(*(figure.steps(grid) for figure in SURVEY_FIGURES.values())))


def make_survey_figures(grid: SurveyGrid, laboratory: SurveyLaboratory) -> Iterator[Figure]:
    """All comparisons."""
    return (figure.make(grid, laboratory) for figure in SURVEY_FIGURES.values())
