"""``blendp reproduce``: the figures of the paper, made anew with both methods."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from blendp.cli.console import results, tell_quality
from blendp.cli.panels import takes_job
from blendp.cli.progress import Steps, steps
from blendp.cli.reading import LogOptions
from blendp.engines import EmbeddedLog
from blendp.errors import ParameterError, require_count
from blendp.evaluation.figures import (
    AOL,
    FULL,
    QUICK,
    RECIPES,
    YANDEX,
    FigurePopulation,
    Laboratory,
    Setting,
    count_steps,
    make_figures,
    recipes,
)
from blendp.methods.filtered import rows_that_count
from blendp.outputs import refuse_existing
from blendp.render.figures.files import ALL_FILES, write_reproduction
from blendp.render.plan.text import NOT_PRIVATE
from blendp.render.text import visible
from blendp.spelling import counted

EXAMPLES = """Examples:

- `blendp reproduce --quick --out figures`
- `blendp reproduce 12 ladder --runs 50 --seed 7 --out figures`
- `blendp reproduce survey --quick --out survey-figures`
- `blendp reproduce --log user-ct-test-collection-01.txt.gz --format aol --out aol-figures`
"""

RUNS, QUICK_RUNS = 20, 6


@takes_job
def reproduce(
    file: LogOptions,
    figures: Annotated[
        list[str] | None,
        Argument(
            help=f"Figures of the paper: {', '.join(RECIPES)}; all if none is named. survey: the comparisons of the "
            "survey paper."
        ),
    ] = None,
    out: Annotated[Path, Option(help="Directory for data, pictures and index.html.")] = Path("blendp-figures"),
    quick: Annotated[bool, Option("--quick", help="Fewer points and runs, for a first look.")] = False,
    logs: Annotated[
        list[Path] | None,
        Option("--log", help="A log to draw people from in place of the synthetic ones; repeat for more files."),
    ] = None,
    users: Annotated[
        int | None, Option(help="People of each synthetic population (as many as the real logs have, if none is said).")
    ] = None,
    runs: Annotated[
        int | None, Option(help=f"Runs of every point ({RUNS} if none is said, {QUICK_RUNS} with --quick).")
    ] = None,
    seed: Annotated[int, Option(help="The same seed gives the same figures.")] = 0,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace an earlier result in --out.")] = False,
) -> None:
    """Make the figures of the paper anew, with the published method and with blendp side by side. NOT PRIVATE.

    People are drawn from synthetic AOL and Yandex populations, or from the law of a real log (--log), whose raw records
    are then shown without protection: for the eyes of those who hold it. Writes for every figure
    its data (CSV, JSON) and picture (SVG, PNG), and index.html, which shows them all.
    """
    names, grid = figures or [], QUICK if quick else FULL
    if "survey" in names:
        from blendp.cli.reproduce_survey import reproduce_survey

        reproduce_survey(names, logs, out=out, quick=quick, people=users, runs=runs, seed=seed, overwrite=overwrite)
        return
    wanted = {name for recipe in recipes(names) for name in recipe.data_sets}
    runs = (QUICK_RUNS if quick else RUNS) if runs is None else runs
    require_count("runs", runs, min_value=1, remedy="Ask for at least one run, 2 for standard errors.")
    require_count("seed", seed, min_value=0, remedy="Use a whole number such as 0.")
    if logs and users is not None:
        raise ParameterError("users", users, "left out with --log", "The log says how many people there are.")
    if not logs:
        file.refuse_all("without --log")
    refuse_existing(out, overwrite=overwrite, own_files=ALL_FILES)
    settings = [setting for setting in (AOL, YANDEX) if setting.name in wanted]
    played = count_steps(names, [AOL] if logs else settings, grid)
    with steps(played + len(recipes(names)) + (1 if logs else len(settings))) as bar:
        log = _read(logs, file, bar) if logs else None
        people = _synthetic(settings, users, seed, bar) if log is None else [FigurePopulation.of_log(log, log.users)]
        laboratory = Laboratory({each.setting.name: each for each in people}, runs, seed, bar.start)
        drawn = make_figures(names, laboratory, grid)
        about = _about(people, runs, seed, quick) | ({} if log is None else {"reading": log.reading})
        write_reproduction(drawn, out, about=about, overwrite=overwrite, progress=bar.start)
    if log is not None:
        if (rows := rows_that_count(log.reading)) is not None:
            results.print(visible(rows), highlight=False, markup=False, soft_wrap=True)
        results.print(NOT_PRIVATE, style="bold magenta", highlight=False)
    results.print(
        f"{counted(len(drawn), 'figure', 'figures')} in {out}: open {out / 'index.html'}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


def _synthetic(settings: Sequence[Setting], users: int | None, seed: int, bar: Steps) -> list[FigurePopulation]:
    people = []
    for setting in settings:
        bar.start(f"making the {setting.title} population")
        people.append(FigurePopulation.synthetic(setting, users, seed))
    return people


def _read(logs: Sequence[Path], file: LogOptions, bar: Steps) -> EmbeddedLog:
    bar.start("reading the log")
    log = file.read_log(logs, bar.rows_read)
    tell_quality(log, file.levels)
    return log


def _about(people: Sequence[FigurePopulation], runs: int, seed: int, quick: bool) -> dict[str, Any]:
    """What all figures have in common."""
    return {
        "runs": runs,
        "seed": seed,
        "quick": quick,
        "populations": [
            {"name": p.setting.name, "title": p.setting.title, "users": p.users, "delta": p.setting.delta}
            for p in people
        ],
    }
