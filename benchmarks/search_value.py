"""What local search is worth by list size and epsilon, on synthetic logs with several records a person.

    python -m benchmarks.search_value [--repeat 10] [--seed 4201] [--quick] [--docs] [--out FOLDER]

A fifth of the people is held out, and the method runs on the others (:mod:`blendp.evaluation.search`). Prints tables,
and writes ``search_value.json`` and ``search_value.png`` into FOLDER (``.benchmarks`` unless said); with ``--docs`` the
tables replace those of docs/evaluation.md, and the plot docs/images/search-value.png. ``--quick`` measures small logs,
to see that it works. Not private.
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from rich.console import Console

from benchmarks.peers.environment import ROOT, cache
from blendp.engines import EmbeddedLog
from blendp.evaluation import SearchValue, search_value
from blendp.evaluation.search import (
    HELD_OUT,
    ClusteredRatio,
    HeldOutSearches,
    RankedList,
    SearchFigures,
    SearchRow,
    figures_of_lists,
    most_frequent,
    people_not_asked,
)
from blendp.logs import log_of_table
from blendp.logs.synthetic import population
from blendp.methods import Parameters
from blendp.randomness import SimulationRandom
from blendp.render.svg import COLOURS, house_style

EPSILONS = (4.0, 2.0, 1.0)
EXACT_SIZES = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
LONG = {"opt_in_records": "many", "objective": "long-list"}
"""What gives long lists of logs with several records a person."""

_MEASURED = re.compile(r"(<!-- search value -->\n).*?(<!-- end -->)", re.DOTALL)
_TITLE, _TEXT = 11.0, 9.0
_LINES = {4.0: ("truth", "o"), 2.0: ("client", "s"), 1.0: ("opt-in", "^")}
"""The colour and the mark of an epsilon."""


@dataclass(frozen=True)
class Setting:
    """A synthetic log, and who of it opts in with which promise."""

    name: str
    users: int
    records_per_user: float
    opt_in: float
    delta: float

    @property
    def title(self) -> str:
        """What the log is like."""
        return f"{'AOL' if self.name == 'aol' else self.name.capitalize()}-like"

    def __str__(self) -> str:
        """For the head of a table."""
        return (
            f"{self.title}: {_spaced(self.users)} people with {self.records_per_user:g} records each on average, "
            f"{100 * self.opt_in:g} % opt in, δ = {self.delta:g}"
        )


SETTINGS = (Setting("aol", 519_371, 10, 0.05, 1e-5), Setting("yandex", 1_000_000, 5, 0.03, 1e-7))
QUICK = (Setting("aol", 10_000, 3, 0.6, 1e-3), Setting("yandex", 10_000, 3, 0.6, 1e-3))


@dataclass(frozen=True)
class Measured:
    """The figures of one log."""

    setting: Setting
    repeat: int
    seed: int
    released: Mapping[float, SearchValue]
    """By epsilon."""

    exact: Mapping[int, SearchFigures]
    """By list size, also beyond what is released."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "setting": vars(self.setting),
            "repeat": self.repeat,
            "seed": self.seed,
            "released": {f"{epsilon:g}": value.to_dict() for epsilon, value in self.released.items()},
            "exact": {str(size): figures.to_dict() for size, figures in self.exact.items()},
        }

    def markdown(self) -> str:
        """Searches answered by list size and epsilon, then all figures of the whole lists."""
        shares = {
            epsilon: {int(row.records): row.released.answered for row in value.rows[:-1]}
            for epsilon, value in self.released.items()
        }
        by_size = [
            [_spaced(size), _percent(figures.answered)]
            + [_percent(shares[epsilon][size]) if size in shares[epsilon] else "" for epsilon in self.released]
            for size, figures in self.exact.items()
        ]
        whole = [_whole(epsilon, value.rows[-1]) for epsilon, value in self.released.items()]
        value = next(iter(self.released.values()))
        about = (
            f"**{self.setting.title}**{str(self.setting).removeprefix(self.setting.title)}. {_spaced(value.people)} "
            f"held-out people searched {_spaced(value.searches)} times, {value.keystrokes:.1f} characters each. "
            f"{self.repeat} runs. Searches answered:"
        )
        heads = [
            "ε",
            "records",
            "answered",
            "exact list",
            "mean rank",
            "keystrokes saved",
            "of all typed",
            "exact list",
        ]
        return "\n\n".join(
            (
                textwrap.fill(about, 100, break_on_hyphens=False),
                _table(["records", "exact list", *(f"ε = {epsilon:g}" for epsilon in self.released)], by_size),
                "Whole lists:",
                _table(heads, whole),
            )
        )


def _whole(epsilon: float, row: SearchRow) -> list[str]:
    released, exact = row.released, row.exact
    return [
        f"{epsilon:g}",
        f"{row.records:.1f}",
        _percent(released.answered),
        _percent(exact.answered),
        _number(released.mean_rank),
        _number(released.keystrokes_saved),
        _percent(released.keystrokes_saved_share),
        _percent(exact.keystrokes_saved_share),
    ]


def measure(setting: Setting, repeat: int, seed: int) -> Measured:
    """Make the log and let the people who are held out search."""
    log = log_of_table(population(setting.name, setting.users, setting.records_per_user, seed).table())
    released = {}
    for epsilon in EPSILONS:
        parameters = Parameters(epsilon=epsilon, delta=setting.delta, size=None, **LONG)  # type: ignore[arg-type]
        released[epsilon] = search_value(log, parameters, opt_in=setting.opt_in, repeat=repeat, seed=seed)
    return Measured(setting, repeat, seed, released, _exact(log, seed))


def _exact(log: EmbeddedLog, seed: int) -> dict[int, SearchFigures]:
    """Exact lists for the same people; they are the same in every run, and two runs show it."""
    not_asked = people_not_asked(log.users, HELD_OUT, SimulationRandom(seed).spawn())
    searches, asked = HeldOutSearches.of(log, not_asked)
    ranked = RankedList.of(log, most_frequent(max(EXACT_SIZES), asked))
    sizes = [size for size in EXACT_SIZES if size <= len(ranked)]
    return {size: figures_of_lists([ranked.first(size)] * 2, searches) for size in sizes}


def _percent(ratio: ClusteredRatio) -> str:
    return f"{100 * ratio.value:.2f} ± {100 * ratio.std_error:.2f} %"


def _number(ratio: ClusteredRatio) -> str:
    return f"{ratio.value:.3f} ± {ratio.std_error:.3f}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---:"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _spaced(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def draw(measured: Sequence[Measured], path: Path) -> None:
    """Write the picture as PNG: a column for every log, searches answered above and keystrokes saved below."""
    with house_style():
        figure = Figure(figsize=(10, 7), dpi=130, layout="constrained")
        panels = figure.subplots(2, len(measured), sharex=True, sharey="row", squeeze=False)
        for column, one in enumerate(measured):
            title = f"{one.setting.title}, {_spaced(one.setting.users)} people"
            panels[0][column].set_title(title, fontsize=_TITLE, loc="left")
            for line, name in enumerate(("answered", "keystrokes_saved_share")):
                _curves(panels[line][column], one, name)
            panels[0][column].legend(frameon=False, fontsize=_TEXT, loc="upper left")
            panels[1][column].set_xlabel("records in the list", fontsize=_TEXT)
        for line, label in zip(panels, ("searches answered", "keystrokes saved"), strict=True):
            line[0].set_ylabel(label, fontsize=_TEXT)
            line[0].set_ylim(bottom=0)
        figure.savefig(path, facecolor="white")


def _curves(axes: Axes, measured: Measured, name: str) -> None:
    """One figure over the size of the list; a released list ends where it ends."""
    exact = [100 * getattr(figures, name).value for figures in measured.exact.values()]
    axes.plot(
        list(measured.exact), exact, color=COLOURS["edge"], linewidth=4, label="exact list, not private", zorder=1
    )
    for epsilon, value in measured.released.items():
        colour, mark = _LINES[epsilon]
        ratios = [getattr(row.released, name) for row in value.rows]
        sizes = [row.records for row in value.rows]
        heights, errors = ([100 * part for part in parts] for parts in zip(*map(_parts, ratios), strict=True))
        axes.plot(sizes, heights, color=COLOURS[colour], linewidth=1.4)
        axes.errorbar(
            sizes[-1],
            heights[-1],
            2 * errors[-1],
            fmt=mark,
            color=COLOURS[colour],
            markersize=7,
            capsize=3,
            label=f"ε = {epsilon:g}: {sizes[-1]:.0f} records",
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _spaced(round(x))))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g} %"))
    axes.tick_params(labelsize=_TEXT)
    axes.grid(color=COLOURS["line"], linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _parts(ratio: ClusteredRatio) -> tuple[float, float]:
    return ratio.value, ratio.std_error


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--seed", type=int, default=4201)
    parser.add_argument("--quick", action="store_true", help="small logs, to see that it works")
    parser.add_argument("--docs", action="store_true", help="bring docs/evaluation.md and its plot up to date")
    parser.add_argument("--out", type=Path, default=None, metavar="FOLDER")
    asked = parser.parse_args(arguments)
    out = asked.out or cache()
    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    measured = []
    for setting in QUICK if asked.quick else SETTINGS:
        with console.status(str(setting)):
            measured.append(measure(setting, asked.repeat, asked.seed))
        console.print(measured[-1].markdown(), markup=False, highlight=False, soft_wrap=True)
    (out / "search_value.json").write_text(json.dumps([one.to_dict() for one in measured], indent=2) + "\n")
    draw(measured, out / "search_value.png")
    if asked.docs:
        page = ROOT / "docs" / "evaluation.md"
        tables = "\n\n".join(one.markdown() for one in measured)
        text = _MEASURED.sub(lambda mark: f"{mark[1]}\n{tables}\n\n{mark[2]}", page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8")
        draw(measured, ROOT / "docs" / "images" / "search-value.png")


if __name__ == "__main__":
    main()
