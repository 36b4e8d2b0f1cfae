"""Results as notebooks show them, in the light and dark of the system and of the notebook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import blendp
from tests.browser.looks import misplaced_labels
from tests.browser.windows import Window
from tests.unit.render.samples import HOSTILE, make_outcome

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("pages")]

LIGHT, DARK = "rgb(255, 255, 255)", "rgb(29, 33, 37)"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same release twice, as if its cell was run again, and a plan."""
    release, plan = make_outcome(HOSTILE)[0], blendp.plan(50_000, opt_in=0.1)
    path: Path = tmp_path_factory.mktemp("cells") / "cells.html"
    cells = "".join(f"<div>{result._repr_html_()}</div>" for result in (release, plan, release))
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{cells}", encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Window]:
    """Of its own: its size and the colours of the system change."""
    page = browser.new_page()
    yield Window(page)
    page.close()


@pytest.mark.parametrize(
    ("width", "system", "notebook", "colour"),
    [
        (1000, "light", "", LIGHT),
        (400, "dark", "", DARK),
        (1000, "dark", "document.body.dataset.jpThemeLight = 'true'", LIGHT),
        (400, "light", "document.body.dataset.jpThemeLight = 'false'", DARK),
    ],
)
def test_a_cell_can_be_read(window: Window, address: str, width: int, system: str, notebook: str, colour: str) -> None:
    page = window.page
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=system)  # type: ignore[arg-type]
    page.goto(address)
    page.evaluate(notebook or "0")
    for cell in page.locator(".blendp-cell").all():
        expect(cell).to_have_css("background-color", colour)
        expect(cell.get_by_role("img")).to_be_visible()
        expect(cell.get_by_role("table")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert misplaced_labels(page) == []
    assert window.complaints() == []
    assert [one for one in window.asked if one != "data:,"] == [address]
    window.asked.clear()
