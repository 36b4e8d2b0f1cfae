"""``blendp run``: a release from a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from blendp import methods
from blendp.cli.console import errors, print_json, results, steps, tell_quality
from blendp.cli.options import Job, method, output, takes_job
from blendp.outputs import refuse_existing
from blendp.render.release.checks import all_cautions
from blendp.render.release.document import release_card, rows_for_json
from blendp.render.release.files import FILES, write_release
from blendp.render.release.page import load_plots_meanwhile
from blendp.render.release.terminal import records_table, summary

EXAMPLES = """Examples:

- `blendp run log.csv --opt-in 0.05 --epsilon 4 --delta 1e-5 --size 50 --out release`
- `blendp run user-ct-test-collection-*.txt.gz --format aol --out aol`
- `blendp run staff.parquet --opt-in-column is_staff --json`
- `blendp run 's3a://logs/2026-11/*.parquet' --engine spark --master spark://host:7077`
"""


@takes_job
def run(
    job: Job,
    seed: Annotated[
        int | None,
        method(help="Who opts in and which of a person's records count, reproducibly; the noise is always fresh."),
    ] = None,
    out: Annotated[Path, output(help="Directory for the results.")] = Path("blendp-out"),
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
    refuse_existing(out, overwrite=overwrite, own_files=FILES)
    load_plots_meanwhile()
    with steps(7) as bar:
        bar.start("opening the log")
        log = job.open(bar.rows_read)
        release = methods.run(log, parameters, opt_in=opt_in, seed=seed, progress=bar.start)
        bar.start("writing the results")
        write_release(release, out, source=job.source(log), overwrite=overwrite)
    tell_quality(log, job.levels)
    if as_json:
        for caution in all_cautions(release):
            errors.print(caution, style="yellow", markup=False, highlight=False)
        tables = {"estimates": rows_for_json(release.records()), "trends": rows_for_json(release.trends())}
        print_json({**release_card(release, job.source(log)), **tables, "out": str(out)})
        return
    results.print(summary(release))
    if release.head_list.records:
        results.print(records_table(release))
    results.print(f"Results in {out}: open {out / 'report.html'}", highlight=False, markup=False, soft_wrap=True)
