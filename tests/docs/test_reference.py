"""The reference has every public name with its docstring, and loads nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.docs.reference import PACKAGES, build, in_markdown
from tests.docs.test_stability import PACKAGES as PUBLIC


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("reference")
    return folder, build(folder)


class _Loaded(HTMLParser):
    """What a page loads by itself, and the names that it has a place for."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "src" or (name == "href" and tag == "link"):
                self.loaded.append(value or "")
            if name == "id":
                self.places.add(value or "")


@pytest.mark.parametrize("package", ["blendp", *PACKAGES])
def test_every_public_name_is_there_with_its_docstring(built: tuple[Path, Any], package: str) -> None:
    folder, modules = built
    html = (folder / f"{package.replace('.', '/')}.html").read_text(encoding="utf-8")
    page, module = _Loaded(html), modules[package]
    rooms = {room.name: room for room in module.submodules}
    names = module.obj.__all__
    assert not [name for name in names if not (module.members.get(name) or rooms[name]).docstring.strip()]
    assert not [name for name in names if name not in page.places and name not in rooms]
    assert all(address.startswith("data:") for address in page.loaded)
    assert not re.search(r"@import|url\(['\"]?(?:https?:)?//|:(?:func|class|mod|data|attr|meth):`| at 0x", html)


def test_it_is_about_all_public_packages() -> None:
    assert set(PACKAGES) == set(PUBLIC)


def test_symbols_become_a_list() -> None:
    docstring = (
        "What.\n\n    a + b\n\nwhere:\n    a  is one,\n       and more,\n    b  is two.\n\nAfter it::\n\n    code"
    )
    assert in_markdown(docstring) == (
        "What.\n\n    a + b\n\nwhere:\n\n* **a** is one, and more,\n* **b** is two.\n\nAfter it:\n\n    code"
    )
