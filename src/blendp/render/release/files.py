"""Writing a release to a directory."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

from blendp._version import __version__
from blendp.errors import RandomnessError
from blendp.estimate import CONFIDENCE
from blendp.methods import Outcome, Release
from blendp.methods.outcome import Row
from blendp.outputs import whole
from blendp.render.release.checks import all_cautions
from blendp.render.release.page import render_report
from blendp.render.tables import write_table

FILES = ("estimates.csv", "trends.csv", "head_list.json", "release.json", "report.html")


def write_release(
    release: Release,
    directory: str | PathLike[str],
    *,
    source: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> None:
    """Write the five files of a release. ``source`` says how the log was read, for the card."""
    if not isinstance(release, Release):
        raise RandomnessError(f"A {type(release).__name__} is not for release: make a Release with blendp.run.")
    with whole(Path(directory), overwrite=overwrite, own_files=FILES) as made:
        write_readable(release, release_card(release, source), made, title="blendp release")


def write_readable(
    release: Release, card: Mapping[str, Any], made: Path, *, title: str, collected: bool = False
) -> None:
    """The five files for readers, into a directory that is being made; ``collected`` as for :func:`render_report`."""
    columns = ("query", "url", "probability", "std_error", "low", "high", "weight_opt_in")
    _write_rows(made / "estimates.csv", columns, release.records())
    _write_rows(made / "trends.csv", ("query", "probability", "std_error", "low", "high"), release.trends())
    (made / "head_list.json").write_bytes(release.head_list.to_bytes())
    text = json.dumps(card, ensure_ascii=False, indent=2, allow_nan=False)
    (made / "release.json").write_text(text + "\n", encoding="utf-8")
    (made / "report.html").write_text(render_report(release, title=title, collected=collected), encoding="utf-8")


def release_card(outcome: Outcome, source: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What was done, to whom, with which guarantee: everything but the estimates, and nothing unprotected."""
    return {
        "blendp": __version__,
        "method": outcome.parameters.method,
        "parameters": {**outcome.parameters.to_dict(), **(source or {})},
        "users": outcome.groups.to_dict(),
        "guarantee": outcome.guarantee.to_dict(),
        "head_list": {
            "sha256": outcome.head_list.sha256,
            "levels": outcome.head_list.levels,
            "candidate_records": outcome.candidates,
            "records": outcome.head_list.records,
            "queries": outcome.head_list.queries,
        },
        "confidence": CONFIDENCE,
        "cautions": all_cautions(outcome),
        "identity_gap": outcome.identity_gap,
        "query_reporters": outcome.query_reporters,
        "cross_check": None if outcome.check is None else outcome.check.to_dict(),
        "influence": [asdict(line) for line in outcome.influence],
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


def _write_rows(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    texts = ({**asdict(row), "query": wildcard_text(row.query), "url": wildcard_text(row.url)} for row in rows)
    write_table(path, columns, ([values[name] for name in columns] for values in texts))
