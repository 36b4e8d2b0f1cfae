"""``blendp plan``: what a release would be like, before anybody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from blendp.cli.console import print_json, results, steps, tell_quality
from blendp.cli.options import OPT_IN_SHARE, output, privacy
from blendp.cli.options import method as how
from blendp.errors import require_choice
from blendp.evaluation.planner import HeadLaw, Target, overview
from blendp.logs import read_log
from blendp.logs.synthetic import NAMES, USERS
from blendp.methods import Parameters
from blendp.outputs import refuse_existing, whole
from blendp.render.plan.terminal import plan_tables
from blendp.reports import METHODS

EXAMPLES = """Examples:

- `blendp plan`
- `blendp plan --users 2000000 --opt-in 0.02 --epsilon 2 --delta 1e-8 --size 100`
- `blendp plan --like yandex --delta 1e-7 --size 500 --target-l1 0.1 --out plan`
- `blendp plan --like log.csv --method blendp --target-size 50 --json`
"""

BOTH = "both"
PAGE = "plan.html"


def plan(
    users: Annotated[
        int | None, how(help="How many people (as many as the population or log has, if none is said).")
    ] = None,
    like: Annotated[
        str, how(help="Whose records to assume: aol, yandex, or a log (NOT PRIVATE: its raw records are read).")
    ] = "aol",
    opt_in: Annotated[float, privacy(help="Share of the people who opt in.")] = OPT_IN_SHARE,
    epsilon: Annotated[float, privacy(help="Privacy loss promised to every person.")] = Parameters.epsilon,
    delta: Annotated[float, privacy(help="By how much a probability may exceed that; far below 1/users.")] = (
        Parameters.delta
    ),
    method: Annotated[str, how(help="both, blendp or published.")] = BOTH,
    size: Annotated[int, how(help="M: records in the final list; 0 keeps all.")] = Parameters.size or 0,
    target_l1: Annotated[
        float | None,
        how(help="Find what reaches this L1 on a list of --target-size records (0.9 of --size if none is said)."),
    ] = None,
    target_size: Annotated[float | None, how(help="Find what reaches a list of so many records on average.")] = None,
    out: Annotated[Path | None, output(help=f"Directory for {PAGE}, the plan to look at.")] = None,
    overwrite: Annotated[bool, output("--overwrite", help="Replace an earlier plan in --out.")] = False,
    as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Predict list, L1, NDCG and errors of a release, and what reaches a target. No population is run.

    Everything follows from how probable records are: those of a population like AOL's or Yandex's, or of a log of
    yours, and then the plan is NOT PRIVATE, for the eyes of those who hold the log. Both methods stand side by side,
    over several opt-in shares.
    """
    require_choice("method", method, (BOTH, *METHODS))
    methods = METHODS if method == BOTH else (method,)
    parameters = [Parameters(epsilon=epsilon, delta=delta, size=size or None, method=name) for name in methods]
    asked = target_l1 is not None or target_size is not None
    target = Target.of(target_l1, target_size, size or None) if asked else None
    if out is not None:
        refuse_existing(out, overwrite=overwrite, own_files=(PAGE,))
    with steps(1 + len(parameters) * (2 if asked else 1) + (out is not None)) as bar:
        bar.start("reading the law of records")
        log = None if like in NAMES else read_log([Path(like)], progress=bar.rows_read)
        law = HeadLaw.of_population(like) if log is None else HeadLaw.of_truth(log.truth(), log.levels)
        people = users if users is not None else USERS[like] if log is None else log.users
        name = f"the {like} population" if log is None else Path(like).name
        view = overview(law, people, opt_in, parameters, target, like=name, private=log is None, progress=bar.start)
        view.require_reach()
        if out is not None:
            from blendp.render.plan.page import render_plan  # matplotlib takes a second to load

            bar.start("drawing the page")
            with whole(out, overwrite=overwrite, own_files=(PAGE,)) as folder:
                (folder / PAGE).write_text(render_plan(view), encoding="utf-8")
    if log is not None:
        tell_quality(log, None)
    if as_json:
        print_json({**view.to_dict(), "out": None if out is None else str(out)})
        return
    results.print(plan_tables(view))
    if out is not None:
        results.print(f"Plan: open {out / PAGE}", highlight=False, markup=False, soft_wrap=True)
