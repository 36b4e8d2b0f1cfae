"""Writing a release to a directory: whole or not at all, and never over an earlier result by accident."""

from __future__ import annotations

import csv
import json
import math
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from blendp._version import __version__
from blendp.errors import OutputExistsError
from blendp.methods import Outcome, Release
from blendp.methods.outcome import CONFIDENCE, Row
from blendp.report.html import render_report

FILES = ("estimates.csv", "trends.csv", "head_list.json", "release.json", "report.html")


def write_release(
    release: Release, directory: Path, *, source: Mapping[str, Any] | None = None, overwrite: bool = False
) -> None:
    """Write the five files of a release. ``source`` says how the log was read, for the card."""
    with whole_directory(directory, overwrite=overwrite) as made:
        columns = ("query", "url", "probability", "std_error", "low", "high", "weight_opt_in")
        _write_csv(made / "estimates.csv", columns, release.records())
        _write_csv(made / "trends.csv", ("query", "probability", "std_error", "low", "high"), release.trends())
        (made / "head_list.json").write_bytes(release.head_list.to_bytes())
        card = json.dumps(release_card(release, source), ensure_ascii=False, indent=2, allow_nan=False)
        (made / "release.json").write_text(card + "\n", encoding="utf-8")
        (made / "report.html").write_text(render_report(release, title="blendp release"), encoding="utf-8")


def release_card(outcome: Outcome, source: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What was done, to whom, with which guarantee: everything but the estimates, and nothing unprotected."""
    return {
        "blendp": __version__,
        "method": outcome.parameters.method,
        "parameters": {**outcome.parameters.to_dict(), **(source or {})},
        "groups": {
            "opt_in": outcome.groups.opt_in,
            "opt_in_head_list": outcome.groups.head_list,
            "opt_in_estimate": outcome.groups.estimate,
            "client": outcome.groups.client,
        },
        "guarantee": outcome.guarantee.to_dict(),
        "head_list": {
            "sha256": outcome.head_list.sha256,
            "levels": outcome.head_list.levels,
            "candidate_records": outcome.candidates,
            "records": outcome.head_list.records,
            "queries": outcome.head_list.queries,
        },
        "confidence": CONFIDENCE,
        "identity_gap": outcome.identity_gap,
    }


def rows_for_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows as plain values; the wildcard and unknown numbers are null."""
    return [{name: _known(value) for name, value in asdict(row).items()} for row in rows]


def wildcard_text(text: str | None) -> str:
    r"""The text of a CSV field: the wildcard is ``*``; data that reads ``*``, ``\*``, ``\\*`` ... gains a backslash."""
    if text is None:
        return "*"
    return "\\" + text if text.endswith("*") and not text[:-1].strip("\\") else text


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            values = asdict(row)
            values["query"], values["url"] = wildcard_text(row.query), wildcard_text(row.url)
            writer.writerow(["" if _known(values[name]) is None else values[name] for name in columns])


def refuse_existing(directory: Path, *, overwrite: bool) -> None:
    """Raise if writing to ``directory`` would destroy an earlier result, or anything that blendp did not write."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise OutputExistsError(f"{directory} is a file: choose another directory with --out.")
    held = {path.name for path in directory.iterdir()}
    if held - set(FILES):
        raise OutputExistsError(
            f"{directory} holds files that blendp did not write ({sorted(held - set(FILES))[0]}): "
            "choose another directory with --out."
        )
    if held and not overwrite:
        raise OutputExistsError(f"{directory} holds an earlier result: choose another --out, or add --overwrite.")


@contextmanager
def whole_directory(directory: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A directory to write in that takes the place of ``directory`` at the end, or vanishes if anything fails."""
    refuse_existing(directory, overwrite=overwrite)
    directory.parent.mkdir(parents=True, exist_ok=True)
    mark = secrets.token_hex(4)
    made = directory.with_name(f".{directory.name}.{mark}.partial")
    old = directory.with_name(f".{directory.name}.{mark}.old")
    made.mkdir()
    try:
        yield made
        refuse_existing(directory, overwrite=overwrite)
        if directory.exists():
            directory.rename(old)
        made.rename(directory)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        if old.exists() and not directory.exists():
            old.rename(directory)
        raise
    shutil.rmtree(old, ignore_errors=True)
