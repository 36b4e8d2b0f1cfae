"""Documents that can be read in any editor, and compared line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.source import ROOT, short

MAX_LINE = 120
MAX_NUMBERS = 200
"""A row of a table of figures."""

FILES = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "src/**/*.md",
        "benchmarks/**/*.md",
        "examples/**/*.md",
        "clients/js/*.md",
        "deploy/*.md",
    )
    for path in ROOT.glob(pattern)
)


@pytest.mark.parametrize("path", FILES, ids=short)
def test_lines_are_wrapped(path: Path) -> None:
    long = [
        number
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > (MAX_NUMBERS if _is_figures(line) else MAX_LINE) and len(line.split()) > 1
    ]
    assert not long, f"{short(path)}: lines {long}"


def _is_figures(line: str) -> bool:
    """Whether a line is a row of a table in which most cells start with a number, or its head."""
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    return line.startswith("|") and len(cells) > 3
