from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from blendp.evaluation.planner import HeadLaw, Target, overview
from blendp.methods import Parameters
from blendp.render.plan.page import render_plan
from blendp.render.plan.text import NOT_PRIVATE
from tests.browser.looks import misplaced_labels, small_labels
from tests.browser.windows import Windows

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("pages")]

PHONE, DESK = 390, 1200


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    both = [Parameters(), Parameters(method="published")]
    view = overview(
        HeadLaw.of_population("aol"), 519_371, 0.05, both, Target(40), like="<b>a log</b>.csv", private=False
    )
    path: Path = tmp_path_factory.mktemp("plan") / "plan.html"
    path.write_text(render_plan(view), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module", params=[(DESK, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def page(request: pytest.FixtureRequest, windows: Windows, address: str) -> Iterator[Page]:
    """Loaded once: the tests only look at it."""
    width, scheme = request.param
    with windows.window(viewport={"width": width, "height": 900}, color_scheme=scheme) as window:
        window.page.goto(address)
        yield window.page
        assert window.complaints() == []
        assert [one for one in window.asked if one != "data:,"] == [address]


def test_everything_is_there_and_visible(page: Page) -> None:
    expect(page.get_by_role("note")).to_have_text(NOT_PRIVATE)
    for heading in ("What to do next", "Expected", "By opt-in share", "What is assumed"):
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="To reach at least 40 records on the list")).to_be_visible()
    expect(page.locator(".lead")).to_contain_text("<b>a log</b>.csv")
    plots = page.get_by_role("img")
    assert plots.count() == 4
    for plot in plots.all():
        expect(plot).to_be_visible()
        assert plot.get_attribute("aria-describedby")
    assert page.locator("script").count() == 1
    assert page.locator(".numbers .here th").text_content() == "5 %"


def test_nothing_overflows_and_labels_stay_apart(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert misplaced_labels(page) == []
    assert small_labels(page) == []


def test_an_empty_list_has_a_page_too() -> None:
    view = overview(HeadLaw.of_population("aol"), 500, 0.05, [Parameters()], like="aol")
    assert "The list will mostly be empty" in render_plan(view)
