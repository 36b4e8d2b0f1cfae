"""``blendp plan``: what a release would be like, before anybody is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from blendp.cli.console import print_json, results, tell_quality
from blendp.cli.panels import OPT_IN_SHARE, asked_size, output, privacy, takes_job
from blendp.cli.panels import method as how
from blendp.cli.progress import steps
from blendp.cli.reading import LogOptions
from blendp.errors import ParameterError, require_choice
from blendp.methods import Parameters
from blendp.outputs import refuse_existing, whole
from blendp.reports import METHODS

EXAMPLES = """Examples:

- `blendp plan`
- `blendp plan --users 2000000 --opt-in 0.02 --epsilon 2 --size 100`
- `blendp plan --like yandex --size 500 --target-l1 0.1 --out plan`
- `blendp plan --records-per-person 20 --target-size 200 --size 0`
- `blendp plan --records-per-person 20 --objective long-list --no-habits`
- `blendp plan --like log.csv --method blendp --target-size 50 --json`
- `blendp plan --like export.csv --user-column member --query-column searched --since 2026-10-01`
"""

BOTH = "both"
PAGE = "plan.html"


@takes_job
def plan(
    file: LogOptions,
    users: Annotated[
        int | None, how(help="How many people (as many as the population or log has, if none is said).")
    ] = None,
    like: Annotated[
        str,
        how(help="Whose records to assume: aol, yandex, aol-sparse, or a log (NOT PRIVATE: its raw records are read)."),
    ] = "aol",
    opt_in: Annotated[float, privacy(help="Share of the people who opt in.")] = OPT_IN_SHARE,
    epsilon: Annotated[float, privacy(help="Privacy loss promised to every person.")] = Parameters.epsilon,
    delta: Annotated[
        float | None, privacy(help="By how much a probability may exceed that (below 1/(10 people) if none is said).")
    ] = Parameters.delta,
    records_per_person: Annotated[
        float | None, how(help="Mean number of records a person has: 1 if none is said, or the log's own.")
    ] = Parameters.records_per_person,
    habits: Annotated[
        bool, how("--habits/--no-habits", help="Whether some people return to a favourite, as real people do.")
    ] = True,
    method: Annotated[str, how(help="both, blendp or published.")] = BOTH,
    opt_in_records: Annotated[
        str, how(help="blendp: records of an opt-in user that count: 1, many (all) or auto, whichever serves better.")
    ] = str(Parameters.opt_in_records),
    objective: Annotated[
        str, how(help="blendp: what is to be best: balanced, long-list, or trends (frequent queries).")
    ] = Parameters.objective,
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
    """Predict the list and the errors of a release, and what reaches a target. No population is run.

    Everything follows from how probable records are and how many a person has: those of a population like AOL's or
    Yandex's, or of a log of yours, and then the plan is NOT PRIVATE, for the eyes of those who hold the log. Both
    methods stand side by side, over several opt-in shares.
    """
    from blendp.evaluation.planner import HeadLaw, Target, overview
    from blendp.logs.synthetic import NAMES, USERS
    from blendp.render.plan.terminal import plan_tables

    require_choice("method", method, (BOTH, *METHODS))
    methods = METHODS if method == BOTH else (method,)
    common: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "size": asked_size(size)}
    only_blendp: dict[str, Any] = {
        "opt_in_records": int(opt_in_records) if opt_in_records.isdecimal() else opt_in_records,
        "records_per_person": records_per_person,
        "objective": objective,
    }
    parameters = [Parameters(method=name, **common, **(only_blendp if name == "blendp" else {})) for name in methods]
    if like not in NAMES and not habits:
        raise ParameterError("habits", False, "left out with a log", "Its people have habits of their own.")
    if like in NAMES:
        file.refuse_all("without a log (--like)")
    asked = target_l1 is not None or target_size is not None
    target = Target.of(target_l1, target_size, size or None) if asked else None
    if out is not None:
        refuse_existing(out, overwrite=overwrite, own_files=(PAGE,))
    with steps(1 + len(parameters) * (2 if asked else 1) + (out is not None)) as bar:
        bar.start("reading the law of records")
        log = None if like in NAMES else file.read_log([Path(like)], bar.rows_read)
        if log is None:
            law = HeadLaw.of_population(like, records_per_person=records_per_person or 1.0, habits=habits)
        else:
            law = HeadLaw.of_log(log)
        people = users if users is not None else USERS[like] if log is None else log.users
        kind = "" if habits or law.holders is None else " without habits"
        name = f"the {like} population{kind}" if log is None else Path(like).name
        view = overview(law, people, opt_in, parameters, target, like=name, private=log is None, progress=bar.start)
        view = replace(view, reading=None if log is None else log.reading)
        view.require_reach()
        if out is not None:
            from blendp.render.plan.page import render_plan  # matplotlib takes a second to load

            bar.start("drawing the page")
            with whole(out, overwrite=overwrite, own_files=(PAGE,)) as folder:
                (folder / PAGE).write_text(render_plan(view), encoding="utf-8")
    if log is not None:
        tell_quality(log, file.levels)
    if as_json:
        print_json({**view.to_dict(), "out": None if out is None else str(out)})
        return
    results.print(plan_tables(view))
    if out is not None:
        results.print(f"Plan: open {out / PAGE}", highlight=False, markup=False, soft_wrap=True)
