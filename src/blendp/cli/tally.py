"""``blendp tally``: the clients' own estimates, from a spool of their reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from blendp.cli.console import errors, print_json, results
from blendp.cli.failures import about_file
from blendp.cli.options import ENGINES, refuse_spark_options, spark_settings
from blendp.cli.panels import machine, output, privacy
from blendp.cli.progress import steps
from blendp.engines.spark import SparkSettings, spark_session
from blendp.engines.spark.local_files import require_parquet
from blendp.engines.spool import CountedReports, count_reports
from blendp.errors import LogError, ParameterError, require_choice
from blendp.estimate import GroupEstimate, client_estimate, split_estimate
from blendp.headlist import HeadList
from blendp.logs.sources import find_files
from blendp.outputs import refuse_existing
from blendp.privacy import Budget
from blendp.render.release.terminal import clients_table
from blendp.render.tally.files import TALLY_FILES, client_rows, client_trends, plain_rows, tally_card, write_tally
from blendp.reports import PUBLISHED_QUERY_SHARE, ListQuestions, TwoStageScheme
from blendp.spelling import counted as number_of

EXAMPLES = """Examples:

- `blendp tally spool/ --list release/head_list.json --epsilon 4 --out clients`
- `blendp tally 'spool/2026-11-*.parquet' --list head_list.json --epsilon 1 --memory-limit 4GB --json`
- `blendp tally s3a://reports/spool --list head_list.json --epsilon 4 --engine spark --master spark://host:7077`
"""

MANY = 0.01
"""The share of impossible reports beyond which epsilon is doubted."""


def tally(
    reports: Annotated[
        list[str],
        Argument(help="Parquet files of reports, patterns, or folders; for Spark also addresses.", metavar="REPORTS"),
    ],
    head_list: Annotated[Path, privacy("--list", help="The head list that the reports are about: head_list.json.")],
    epsilon: Annotated[float, privacy(help="Epsilon that the clients randomised with.")],
    delta: Annotated[float | None, privacy(help="Published method: delta that the clients randomised with.")] = None,
    query_share: Annotated[
        float | None, privacy(help="Published method: f_C, share of the client budget for the query (0.85).")
    ] = None,
    engine: Annotated[str, machine(help="embedded, or spark for spools that outgrow a machine.")] = "embedded",
    memory_limit: Annotated[
        str | None, machine(help="Memory of the engine, such as 4GB; what is more goes to disk.")
    ] = None,
    master: Annotated[str | None, machine(help="spark: where it runs (local[*] if none is said).")] = None,
    spark_conf: Annotated[
        list[str] | None, machine(help="spark: a setting of its own, KEY=VALUE; may be repeated.")
    ] = None,
    out: Annotated[Path | None, output(help="Directory for clients.csv and tally.json.")] = None,
    overwrite: Annotated[bool, output("--overwrite", help="Replace an earlier tally in --out.")] = False,
    as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Count clients' reports, each at most once, and estimate from them.

    Reports lie in Parquet files: report_id, list_sha256, question, items. Rows with one report_id count once, in
    whatever order, file or engine; rows that are no possible report about the list are refused and counted by reason.
    Reports are randomised already, so nothing here needs protection; nor does anything tell a forged report from a
    true one.
    """
    require_choice("engine", engine, ENGINES)
    refuse_spark_options(engine, master, spark_conf)
    Budget(epsilon, delta or 0.0)
    if out is not None:
        refuse_existing(out, overwrite=overwrite, own_files=TALLY_FILES)
    form = ListQuestions(_read_list(head_list), epsilon)
    with steps(2 + (out is not None)) as bar:
        bar.start("counting reports")
        settings = None if engine == "embedded" else spark_settings(reports, master, memory_limit, spark_conf)
        counted = _count(reports, form, settings, memory_limit)
        _tell(counted)
        bar.start("estimating")
        estimate = _estimate(counted, delta, query_share)
        card = tally_card(counted, delta)
        rows, trends = client_rows(estimate, form.head_list), client_trends(estimate, form.head_list)
        if out is not None:
            bar.start("writing the results")
            write_tally(rows, card, out, overwrite=overwrite)
    if as_json:
        shown = {"estimates": plain_rows(rows), "trends": plain_rows(trends)}
        print_json({**card, **shown, "out": None if out is None else str(out)})
        return
    about_records = counted.by_cell or counted.reports["record"] > 0
    results.print(clients_table(rows if about_records else trends, form.head_list, about_records=about_records))
    if out is not None:
        results.print(f"Results in {out}", highlight=False, markup=False, soft_wrap=True)


def _read_list(path: Path) -> HeadList:
    if not path.is_file():
        raise LogError(f"{path} does not exist: --list names the head_list.json that clients reported against.")
    with about_file("--list", path, "Name the head_list.json that clients reported against, as it was written."):
        return HeadList.from_bytes(path.read_bytes())


def _count(
    reports: list[str], form: ListQuestions, settings: SparkSettings | None, memory_limit: str | None
) -> CountedReports:
    remote = [name for name in reports if "://" in name]
    local = [name for name in reports if "://" not in name]
    if remote and settings is None:
        raise LogError(f"{remote[0]} is no path on this machine: addresses need --engine spark.")
    paths = find_files(local, "parquet")[1] if local else ()
    if settings is None:
        return count_reports(paths, form, memory_limit=memory_limit)
    for path in paths:  # before Java starts, which takes its time
        require_parquet(path, str(path))
    session = spark_session(settings)
    from blendp.engines.spark import spool  # needs pyspark, which the session has by now found

    return spool.count_reports(session, [*map(spool.exact_path, paths), *remote], form)


def _tell(counted: CountedReports) -> None:
    """Say what became of the rows; stop where none could be counted."""
    if not counted.counted:
        reasons = ", ".join(f"{reason} {count}" for reason, count in counted.refused.items())
        why = f"all {counted.rows} rows are refused: {reasons}" if counted.rows else "there are no rows"
        raise LogError(f"No report was counted ({why}): check --list and --epsilon against what clients were sent.")
    errors.print(str(counted), style="dim", markup=False, highlight=False)
    if counted.refused.get("impossible report", 0) > MANY * counted.rows:
        epsilon = f"--epsilon {counted.form.epsilon:g}"
        _warn(f"Many reports are impossible for {epsilon}: were they made with another?")
    if counted.conflicts:
        _warn(
            f"{number_of(counted.conflicts, 'id')} came with different reports, of which one counts: a device drew "
            "twice, or somebody forged."
        )


def _warn(sentence: str) -> None:
    errors.print(sentence, style="yellow", markup=False, highlight=False, soft_wrap=True)


def _estimate(counted: CountedReports, delta: float | None, query_share: float | None) -> GroupEstimate:
    if not counted.by_cell:
        for name, value in {"delta": delta, "query_share": query_share}.items():
            if value is not None:
                raise ParameterError(name, value, "left out for reports of the blendp method", "Leave it out.")
        return split_estimate(counted.split())
    if delta is None:
        raise ParameterError(
            "delta", delta, "given for reports of the published method", "Give the delta that clients randomised with."
        )
    share = PUBLISHED_QUERY_SHARE if query_share is None else query_share
    scheme = TwoStageScheme(counted.form.head_list, Budget(counted.form.epsilon, delta), share)
    return client_estimate(counted.tally(), scheme.randomiser)
