"""The notebook of ``examples/`` runs, and what it shows is what it would show now."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from examples.notebook import ANALYST, MAX_BYTES, execute
from tests.docs.test_docs import ROOT, blocks


def shape(notebook: Any) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """Every cell with the kinds of its outputs; numbers differ from run to run, since noise is fresh."""
    return [
        (cell.source, [(output.output_type, sorted(output.get("data", {}))) for output in cell.get("outputs", [])])
        for cell in notebook.cells
    ]


@pytest.fixture(scope="module")
def stored() -> Any:
    return nbformat.read(ANALYST, as_version=4)


def test_it_runs_and_its_outputs_are_up_to_date(stored: Any) -> None:
    fresh = execute()
    assert shape(fresh) == shape(stored)
    shown = [output["data"] for cell in fresh.cells for output in cell.get("outputs", [])]
    titles = [re.findall(r'class="title">(.*?)<', data.get("text/html", "")) for data in shown]
    assert [title for some in titles for title in some] == [
        "Popular records",
        "A plan",
        "Against the log&#39;s own truth",
        "How people answer",
    ]
    assert ["NOT PRIVATE" in str(data) for data in shown].count(True) == 1


def test_the_page_about_notebooks_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in blocks(ROOT / "docs" / "notebooks.md", "python"):
        exec(code, names)
    assert (tmp_path / "release" / "report.html").exists()
    assert names["survey"].to_pandas()["frequency"].sum() == pytest.approx(1, abs=0.2)


def test_it_can_be_read_where_code_is_hosted(stored: Any) -> None:
    nbformat.validate(stored)
    text = ANALYST.read_text(encoding="utf-8")
    assert len(text.encode()) <= MAX_BYTES
    assert not re.findall(r'"/(?:work|root|home|tmp)\b|/(?:root|home|tmp)/', text)
    assert [cell.execution_count for cell in stored.cells if cell.cell_type == "code"] == list(
        range(1, 1 + sum(cell.cell_type == "code" for cell in stored.cells))
    )
    assert not [cell.metadata for cell in stored.cells if cell.metadata]
    assert not [output for cell in stored.cells for output in cell.get("outputs", []) if output.output_type == "error"]
