"""The glossary is in order, and what it and the other pages say of the code is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
VOCABULARY = GLOSSARY[GLOSSARY.index("\n## Words\n") :]
FIELD = (
    "accounting",
    "adjacency",
    "approximate DP",
    "central model",
    "composition",
    "contribution bounding",
    "frequency oracle",
    "heavy hitters",
    "hockey-stick divergence",
    "hybrid model",
    "LDP",
    "likelihood ratio",
    "local model",
    "mechanism",
    "partition selection",
    "post-processing",
    "sensitivity",
    "user level",
)
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])
SYMBOL = re.compile(r"`(blendp(?:\.[A-Za-z_]\w*)+)(?:\([^`]*\))?`")


def terms() -> list[str]:
    return re.findall(r"^- \*\*(.+?)\*\*", VOCABULARY, flags=re.MULTILINE)


def resolve(name: str) -> object:
    """The object of a dotted name: the longest part that is a module, then attributes."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            value = getattr(value, part)
        return value
    raise ModuleNotFoundError(name)


def test_terms_are_sorted_and_stand_once() -> None:
    assert len(terms()) >= 50
    assert terms() == sorted(set(terms()), key=str.casefold)


def test_the_terms_of_the_field_are_bound_to_ours() -> None:
    assert set(FIELD) <= set(terms())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_of_the_code_resolves(page: Path) -> None:
    for name in SYMBOL.findall(page.read_text(encoding="utf-8")):
        resolve(name)


def test_the_glossary_says_where_to_look_in_the_code() -> None:
    assert len(SYMBOL.findall(VOCABULARY)) >= 20


def test_the_glossary_is_linked() -> None:
    for page in ("README.md", "docs/architecture.md"):
        assert "glossary.md)" in (ROOT / page).read_text(encoding="utf-8")
