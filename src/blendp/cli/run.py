"""``blendp run``: a release from a log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Exit

from blendp import methods
from blendp.cli import EMPTY
from blendp.cli.options import RunJob
from blendp.cli.panels import method, output, takes_job
from blendp.cli.progress import steps
from blendp.cli.promised import remember
from blendp.meanwhile import meanwhile
from blendp.outputs import refuse_existing
from blendp.render.about import About
from blendp.render.release.names import FILES

if TYPE_CHECKING:
    from blendp.evaluation.planner import EmptyListAdvice
    from blendp.methods import Release

EXAMPLES = """Examples:

- `blendp run log.csv --opt-in 0.05 --epsilon 4 --size 50 --out release`
- `blendp run user-ct-test-collection-*.txt.gz --format aol --out aol`
- `blendp run staff.parquet --opt-in-column is_staff --json`
- `blendp run 's3a://logs/2026-11/*.parquet' --engine spark --master spark://host:7077`
"""


@takes_job
def run(
    job: RunJob,
    seed: Annotated[
        int | None,
        method(help="Who opts in and which of a person's records count, reproducibly; the noise is always fresh."),
    ] = None,
    out: Annotated[Path, output(help="Directory for the results.")] = Path("blendp-out"),
    title: Annotated[str | None, output(help="What the release is called, on its page and in its card.")] = None,
    log_name: Annotated[
        str | None, output(help="What the card calls the log (the names of its files if none is said).")
    ] = None,
    overwrite: Annotated[bool, output("--overwrite", help="Replace an earlier result in --out.")] = False,
    as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Release the popular records of a log.

    Writes estimates.csv, trends.csv, head_list.json, release.json and report.html, and all of it in one document,
    release_document.json. Everything written is protected by the promise in release.json.

    This command plays BOTH sides on a log that one party already holds: it splits the users, makes the list, and
    randomises the clients' records itself. In a deployment clients randomise on their own devices, and the log of
    all users exists nowhere.
    """
    parameters, opt_in = job.parameters(), job.who_opts_in()
    about = About.of_files(job.logs, title, log_name)
    refuse_existing(out, overwrite=overwrite, own_files=FILES)
    with steps(7) as bar:
        bar.start("opening the log")
        log = job.open(bar.rows_read)
        loading = meanwhile(_load_the_rest)
        release = methods.run(log, parameters, opt_in=opt_in, seed=seed, progress=bar.start)
        if log.how is not None:
            release = replace(release, reading=log.how.to_dict())
        loading.join()
        from blendp.cli.console import errors, print_json, results, tell_quality
        from blendp.render.release.advice import AdviceText
        from blendp.render.release.cautions import all_cautions
        from blendp.render.release.document import release_card, rows_for_json
        from blendp.render.release.files import write_release
        from blendp.render.release.terminal import advice_table, records_table, summary

        bar.start("writing the results")
        write_release(release, out, source=job.source(), about=about, overwrite=overwrite)
    tell_quality(log, job.levels)
    spent = release.parameters.budget
    promised = remember(job.logs, spent.epsilon, spent.delta, about.day.isoformat())
    if promised is not None:
        errors.print(promised.sentence, style="yellow", markup=False, highlight=False, soft_wrap=True)
    if as_json:
        for caution in all_cautions(release):
            errors.print(caution, style="yellow", markup=False, highlight=False)
        tables = {"estimates": rows_for_json(release.records()), "trends": rows_for_json(release.trends())}
        before = None if promised is None else promised.to_dict()
        helps = {} if release.head_list.records else {"advice": _advice(release).to_dict()}
        card = release_card(release, job.source(), about)
        print_json({**card, **tables, **helps, "out": str(out), "released_before": before})
        _end(release)
        return
    results.print(summary(release, about))
    results.print(
        records_table(release) if release.head_list.records else advice_table(AdviceText.of(_advice(release)))
    )
    results.print(f"Results in {out}: open {out / 'report.html'}", highlight=False, markup=False, soft_wrap=True)
    _end(release)


def _load_the_rest() -> None:
    """Load what is needed once the log has been read."""
    from blendp.cli import console  # noqa: F401
    from blendp.methods import phases  # noqa: F401
    from blendp.render.release import files, terminal  # noqa: F401
    from blendp.render.release.page import TEMPLATE
    from blendp.render.templates import read_template

    read_template(TEMPLATE)


def _advice(release: Release) -> EmptyListAdvice:
    from blendp.evaluation.planner import EmptyListAdvice

    return EmptyListAdvice.of(release)


def _end(release: Release) -> None:
    """Tell programs that there is nothing to show."""
    if not release.head_list.records:
        raise Exit(EMPTY)
