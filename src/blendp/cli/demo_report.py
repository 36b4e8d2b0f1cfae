"""What ``blendp demo`` does by itself: a population, its result beside the truth, and a page."""

from __future__ import annotations

import itertools
from pathlib import Path

from blendp import evaluation
from blendp.cli.console import results
from blendp.cli.progress import steps
from blendp.logs import log_of_table
from blendp.logs.synthetic import population
from blendp.methods import Parameters
from blendp.methods.objectives import top_named
from blendp.outputs import refuse_existing, whole
from blendp.render.release.page import KnownTruth, render_release
from blendp.render.release.terminal import records_table, scores_table, summary

DEFAULTS = {name: (Parameters(), 0.05) for name in ("aol", "aol-sparse")} | {"yandex": (Parameters(size=500), 0.03)}
"""The parameters of the paper's figure 11, but for a delta that fits, and the share of users who opt in."""


def report(name: str, users: int | None, seed: int, out: Path | None) -> None:
    """Make the people, run the method, print the result and draw the page."""
    people = population(name, users, seed=seed)
    parameters, opt_in = DEFAULTS[people.name]
    target = out or next(path for path in _names() if not path.exists())
    refuse_existing(target, overwrite=False, own_files=("report.html",))
    with steps(4) as bar:
        bar.start(f"making {people.users:,} people")
        table = people.table()
        bar.start("loading their log")
        log = log_of_table(table)
        bar.start("list, reports, estimates")
        done = evaluation.evaluate(log, parameters, opt_in=opt_in, seed=seed)
        bar.start("drawing the report")
        trial, figures = done.trials[0], done.to_dict()
        best = trial.blended
        scores = {
            top_named(parameters.size).capitalize(): best.top_error,
            "L1": best.l1,
            "NDCG": best.ndcg,
            "NDCG, random order": best.ndcg_random,
        }
        truth = KnownTruth(trial.head.cells, trial.head.queries, scores)
        page = render_release(trial.outcome, title=f"blendp demo: a synthetic {name} population", truth=truth)
        with whole(target, overwrite=False, own_files=("report.html",)) as draft:
            (draft / "report.html").write_text(page, encoding="utf-8")
    results.print(summary(trial.outcome))
    if trial.outcome.head_list.records:
        results.print(records_table(trial.outcome, trial.head))
    results.print(scores_table(figures))
    results.print(f"Report: {target / 'report.html'}", highlight=False, markup=False, soft_wrap=True)


def _names() -> itertools.chain[Path]:
    """blendp-demo, blendp-demo-2, blendp-demo-3 ..."""
    return itertools.chain([Path("blendp-demo")], (Path(f"blendp-demo-{i}") for i in itertools.count(2)))
