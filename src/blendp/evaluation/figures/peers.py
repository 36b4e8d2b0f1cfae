"""Figure 12's comparison, measured: ten records found without opt-in people by other libraries' code.

``peers.json`` holds every run; benchmarks/heavy_hitters_against_peers.py makes it, and says how.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from blendp.evaluation.figures.figure import Line, Panel, Table, pm
from blendp.evaluation.figures.laboratory import Mean, Point
from blendp.evaluation.figures.populations import FigurePopulation

MEASURES = ("ndcg", "ndcg_random", "ndcg_list", "ndcg_list_random", "hits", "records")
TEXTS = {"known": "texts known", "unknown": "texts unknown"}


@dataclass(frozen=True, eq=False)
class Peers:
    """What the peers found, on which people."""

    population: str
    users: int
    seed: int
    size: int
    command: str
    runs: Sequence[Mapping[str, Any]]

    def are_about(self, people: FigurePopulation) -> bool:
        """Whether they were measured on as many people of the same population; its seed may be another."""
        return (self.population, self.users) == (people.setting.name, people.users)

    def points(self) -> list[Point]:
        """The means over the runs, for every method, kind of texts and epsilon."""
        groups: dict[tuple[str, str, float], list[Mapping[str, Any]]] = {}
        for run in self.runs:
            groups.setdefault((run["protocol"], run["texts"], run["epsilon"]), []).append(run)
        return [
            Point(
                {
                    "population": self.population,
                    "opt_in": 0.0,
                    "method": protocol,
                    "tool": f"{runs[0]['tool']} {runs[0]['version']}",
                    "texts": texts,
                    "epsilon": epsilon,
                    "delta": 0.0,
                    "size": self.size,
                    "users": self.users,
                    "runs": len(runs),
                    "seed": self.seed,
                },
                {name: Mean.of([run[name] for run in runs]) for name in MEASURES},
            )
            for (protocol, texts, epsilon), runs in groups.items()
        ]

    def panels(self, title: str, varied: str, measured: str, ours: Line) -> tuple[Panel, ...]:
        """A panel for each kind of texts: ours, the peers, and their lists in random order."""
        points = self.points()
        return tuple(
            Panel(f"{title}, nobody opts in, {kind}", varied, measured, (ours, *_lines(points, texts)))
            for texts, kind in TEXTS.items()
        )

    def table(self) -> Table:
        """Every mean with that of a random order beside it."""
        rows: dict[tuple[str, str], dict[float, str]] = {}
        for point in self.points():
            about, means = point.about, point.means
            score = f"{pm(means['ndcg'], 3)} ({means['ndcg_random'].value:.3f}), {means['hits'].value:g} of {self.size}"
            rows.setdefault((about["method"], TEXTS[about["texts"]]), {})[about["epsilon"]] = score
        epsilons = sorted({epsilon for cells in rows.values() for epsilon in cells})
        header = ("Method", "Records", *(f"ε = {epsilon:g}" for epsilon in epsilons))
        body = tuple((*name, *(cells[epsilon] for epsilon in epsilons)) for name, cells in rows.items())
        return Table(header, body, self.caption)

    @property
    def caption(self) -> str:
        """How it was measured."""
        tools = ", ".join(sorted({f"{run['tool']} {run['version']}" for run in self.runs}))
        return (
            f"Ten records found without any opt-in people, by {tools}: {self.users:,} clients with pure ε-LDP, scored "
            f"as ours are. Measured apart by {self.command}, on the population of seed {self.seed}. Either way every "
            "code that is found is looked up in a list of all records, which no purely local method has. NDCG (of the "
            "same list in random order), and how many of the true ten are in it."
        )


def _lines(points: Sequence[Point], texts: str) -> list[Line]:
    lines = []
    methods = dict.fromkeys(point.about["method"] for point in points)
    for number, method in enumerate(methods):
        own = [point for point in points if (point.about["method"], point.about["texts"]) == (method, texts)]
        at = tuple(point.about["epsilon"] for point in own)
        lines.append(Line(method, f"peer {number}", at, tuple(point.means["ndcg"] for point in own)))
        chance = tuple(Mean(point.means["ndcg_random"].value, math.nan) for point in own)
        lines.append(Line(f"{method}'s list in random order", f"random {number}", at, chance))
    return lines


@cache
def read_peers() -> Peers:
    """What is stored with the package."""
    return Peers(**json.loads((files(__package__) / "peers.json").read_text(encoding="utf-8")))
