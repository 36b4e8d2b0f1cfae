"""Writing a release to a directory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

from blendp.errors import RandomnessError
from blendp.methods import Release
from blendp.methods.outcome import Row
from blendp.outputs import whole
from blendp.render.about import About
from blendp.render.release.document import release_card, release_document
from blendp.render.release.names import DOCUMENT, FILES
from blendp.render.release.page import render_release
from blendp.render.tables import wildcard_text, write_table

TITLE = "blendp release"
"""What a page is called if no title is said."""


def write_release(
    release: Release,
    directory: str | PathLike[str],
    *,
    source: Mapping[str, Any] | None = None,
    about: About | None = None,
    overwrite: bool = False,
) -> None:
    """Write the files of a release. ``source`` says how the log was read and ``about`` what it is of, for the card."""
    if not isinstance(release, Release):
        raise RandomnessError(f"A {type(release).__name__} is not for release: make a Release with blendp.run.")
    with whole(Path(directory), overwrite=overwrite, own_files=FILES) as draft:
        about = about or About()
        write_readable(release, release_card(release, source, about), draft, title=about.title or TITLE)
        document = release_document(
            release, campaign="", manifest_sha256="", released=about.day.isoformat(), source=source, about=about
        )
        (draft / DOCUMENT).write_bytes(document)


def write_readable(
    release: Release, card: Mapping[str, Any], draft: Path, *, title: str, collected: bool = False
) -> None:
    """The five files for readers, into a directory that is being made; ``collected`` as for :func:`render_release`."""
    columns = ("query", "url", "probability", "std_error", "low", "high", "weight_opt_in")
    _write_rows(draft / "estimates.csv", columns, release.records())
    _write_rows(draft / "trends.csv", ("query", "probability", "std_error", "low", "high"), release.trends())
    (draft / "head_list.json").write_bytes(release.head_list.to_bytes())
    text = json.dumps(card, ensure_ascii=False, indent=2, allow_nan=False)
    (draft / "release.json").write_text(text + "\n", encoding="utf-8")
    page = render_release(release, title=title, collected=collected, about=About.of_card(card))
    (draft / "report.html").write_text(page, encoding="utf-8")


def _write_rows(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    texts = ({**asdict(row), "query": wildcard_text(row.query), "url": wildcard_text(row.url)} for row in rows)
    write_table(path, columns, ([values[name] for name in columns] for values in texts))
