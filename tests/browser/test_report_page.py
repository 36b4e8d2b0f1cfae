from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from blendp.methods import Simulation
from blendp.render.release.page import TOP, TRUE_VALUES, render_release
from tests.browser.looks import beyond_the_edge, misplaced_labels, small_labels
from tests.browser.windows import Window, Windows
from tests.unit.render.samples import HOSTILE, make_outcome, plain_records

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("pages")]

PHONE, DESK = 390, 1200


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    outcome, truth = make_outcome([*HOSTILE, *plain_records(12)], kind=Simulation)
    path: Path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render_release(outcome, title="A <b>bold</b> title", truth=truth), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module", params=[(DESK, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def window(request: pytest.FixtureRequest, windows: Windows, address: str) -> Iterator[Window]:
    """With the page, which tests that change it load again."""
    width, scheme = request.param
    with windows.window(viewport={"width": width, "height": 900}, color_scheme=scheme) as window:
        window.page.goto(address)
        yield window


@pytest.fixture
def page(window: Window) -> Page:
    return window.page


def test_page_asks_for_nothing_and_runs_its_own_script_alone(window: Window, page: Page, address: str) -> None:
    window.asked.clear()
    page.reload()
    assert window.complaints() == []
    assert [one for one in window.asked if one != "data:,"] == [address]
    assert page.locator("script").count() == 1
    expect(page.locator("h1")).to_have_text("A <b>bold</b> title")
    records = page.get_by_role("region").first
    assert records.get_by_text("<script>alert('ran')</script>", exact=True).count() == 2


def test_policy_stops_scripts_and_requests(window: Window, page: Page) -> None:
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            document.body.append(Object.assign(new Image(), {src: "https://example.org/pixel.png"}));
        }"""
    )
    page.wait_for_timeout(100)
    assert page.evaluate("window.ran") is None
    assert sum("Content Security Policy" in one for one in window.said) == 2
    page.reload()
    window.said.clear()


def test_headings_rows_and_plots_are_visible(page: Page) -> None:
    for heading in ("Top records", "Top queries", "Estimate and truth", "The promise", "Parameters"):
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    expect(page.get_by_role("note")).to_have_text(TRUE_VALUES)
    assert small_labels(page) == []
    plots = page.get_by_role("img")
    assert plots.count() == 4
    for plot in plots.all():
        expect(plot).to_be_visible()
        assert plot.get_attribute("aria-labelledby")
    rows = page.get_by_role("region").first.locator("tbody tr, tfoot tr")
    assert rows.count() == len(HOSTILE) + 12 + 19 + 1
    expect(rows.first).to_be_visible()


def test_nothing_overflows(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert beyond_the_edge(page) == []


def test_labels_of_plots_stay_inside_and_apart(page: Page) -> None:
    assert misplaced_labels(page) == []


def test_long_text_unfolds(page: Page) -> None:
    folded = page.get_by_role("region").first.locator("details").first
    whole = folded.locator("> bdi")
    expect(whole).to_be_hidden()
    folded.locator("summary").click()
    expect(whole).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    folded.locator("summary").click()
    expect(whole).to_be_hidden()


def test_every_row_of_a_plot_is_named(page: Page) -> None:
    names = page.locator(".plot-records text").all_text_contents()
    assert sum("±" in name for name in names) == TOP
    assert sum("·" in name for name in names) == TOP
