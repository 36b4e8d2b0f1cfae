"""The README and the collector's guide stay readable for people whose first language is not English."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs/collector.md",
    ROOT / "docs/glossary.md",
    ROOT / "docs/operations.md",
    ROOT / "docs/stability.md",
    ROOT / "deploy/README.md",
]
MAX_WORDS = 40
"""Of a sentence, whatever its colons and semicolons."""

IDIOMS = re.compile(
    r"\b(by itself|by themselves|the door|all the same|at hand|unless told|told apart)\b", re.IGNORECASE
)


def sentences(page: Path) -> list[str]:
    """Sentences of paragraphs and list items; code blocks and tables are none."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = "\n".join(line for line in text.splitlines() if not line.startswith(("|", "#", "![", "<!--")))
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text)
    return [sentence for part in parts for sentence in re.split(r"(?<=[.?!])\s+(?=\S)", " ".join(part.split()))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_sentences_are_short(page: Path) -> None:
    long = [sentence for sentence in sentences(page) if len(sentence.split()) > MAX_WORDS]
    assert long == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_there_are_no_idioms(page: Path) -> None:
    assert [sentence for sentence in sentences(page) if IDIOMS.search(sentence)] == []
