"""How the project is cited, committed and released, as far as a machine can check it."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import blendp

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
HOOK = ROOT / "scripts/hooks/pre-commit"


def citation() -> dict[str, Any]:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields: dict[str, Any] = importlib.import_module("yaml").safe_load(text)
    return fields


def test_the_citation_has_what_the_format_asks_for() -> None:
    fields = citation()
    assert fields["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(fields)
    assert fields["type"] == "software"
    for reference in fields["references"]:
        assert {"type", "title", "authors", "year"} <= set(reference)
        assert reference["type"] in ("article", "conference-paper")
        assert "journal" in reference or "name" in reference["conference"]
        assert all("family-names" in author for author in reference["authors"])


def test_the_citation_is_of_this_version_and_licence() -> None:
    fields = citation()
    assert str(fields["version"]) == blendp.__version__
    assert f'license = "{fields["license"]}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_cited_papers_stand_in_the_docs() -> None:
    page = " ".join((ROOT / "docs/references.md").read_text(encoding="utf-8").split())
    for reference in citation()["references"]:
        assert reference["title"] in page
        assert str(reference["year"]) in page
        assert all(author["family-names"] in page for author in reference["authors"])


def test_the_hook_runs_programs_that_exist() -> None:
    assert os.access(HOOK, os.X_OK)
    subprocess.run(["bash", "-n", str(HOOK)], check=True)
    programs = re.findall(r"^\$bin/([\w-]+)", HOOK.read_text(encoding="utf-8"), re.MULTILINE)
    assert programs == ["ruff", "ruff", "mypy", "lint-imports"]
    assert all(os.access(PROGRAMS / program, os.X_OK) for program in programs)


def test_what_contributors_are_told_to_run_exists() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for script in set(re.findall(r"`(scripts/[\w/-]+)", page)):
        assert (ROOT / script).exists(), script
    for program in set(re.findall(r"\.venv/bin/([\w-]+)", page)):
        assert os.access(PROGRAMS / program, os.X_OK), program
    for folder in set(re.findall(r"pytest[^\n#`]* (tests/[\w/]+)", page)):
        assert (ROOT / folder).is_dir(), folder
