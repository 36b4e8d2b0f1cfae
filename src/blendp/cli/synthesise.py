"""``blendp synthesise``: a synthetic log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from typer import Argument, Option

from blendp.cli.console import errors, results

EXAMPLES = """Examples:

- `blendp synthesise aol --out aol.csv`
- `blendp synthesise yandex --users 100000 --records-per-user 5 --seed 7 --out yandex.parquet`
- `blendp synthesise aol --records-per-user 20 --habits --out habits.parquet`
"""


def synthesise(
    name: Annotated[str, Argument(help="aol, yandex or aol-sparse.", metavar="aol|yandex|aol-sparse")],
    out: Annotated[Path, Option(help="File to write: .csv, .tsv, .ndjson (also .gz) or .parquet.")],
    users: Annotated[int | None, Option(help="How many people (as many as the real log has, if none is said).")] = None,
    records_per_user: Annotated[float, Option(help="Records of each person, on average.")] = 1.0,
    habits: Annotated[bool, Option("--habits", help="Some people return to a favourite, as real people do.")] = False,
    seed: Annotated[int, Option(help="The same seed gives the same file.")] = 0,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    """Make a log of people who do not exist, as popular and as rare as the paper's AOL and Yandex logs."""
    from blendp.logs.synthetic import population

    people = population(name, users, records_per_user, seed, habits=habits)
    columns = (TextColumn("writing"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        task = progress.add_task("", total=people.users)
        rows = people.write(
            out, lambda done, total: progress.update(task, completed=done, total=total), overwrite=overwrite
        )
    results.print(
        f"{rows:,} records of {people.users:,} people in {out}", highlight=False, markup=False, soft_wrap=True
    )
