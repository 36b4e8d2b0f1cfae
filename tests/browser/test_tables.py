"""Tables of pages: sorted by a click or a key, searched, and told to scroll; whole without any script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from blendp.methods import Parameters
from blendp.render.release.page import render_release
from tests.browser.accessibility import USUAL, violations
from tests.browser.windows import Windows
from tests.unit.render.samples import make_outcome, plain_records

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("pages")]

ROWS = 30


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    parameters = Parameters(method="published", delta=0.01, size=None)
    outcome, _ = make_outcome([*plain_records(ROWS - 1), ("ÄRGER", "http://example.org/?<b>")], parameters=parameters)
    path: Path = tmp_path_factory.mktemp("tables") / "report.html"
    path.write_text(render_release(outcome, title="Tables"), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def page(windows: Windows, address: str) -> Iterator[Page]:
    with windows.window(viewport={"width": 400, "height": 900}, color_scheme="light") as window:
        window.page.goto(address)
        yield window.page
        assert window.complaints() == []


def column(page: Page, number: int) -> list[str]:
    table = page.locator("table.estimates").first
    return [
        text.strip() for text in table.locator(f"tbody tr:not([hidden]) > :nth-child({number})").all_text_contents()
    ]


def test_a_click_sorts_numbers_falling_then_rising_then_not_at_all(page: Page) -> None:
    before = column(page, 1)
    head = page.get_by_role("columnheader", name="Std error").first
    numbers = [float(text) for text in column(page, 4)]
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert [float(text) for text in column(page, 4)] == sorted(numbers, reverse=True)
    head.get_by_role("button").press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert [float(text) for text in column(page, 4)] == sorted(numbers)
    head.get_by_role("button").press("Space")
    assert head.get_attribute("aria-sort") is None
    assert column(page, 1) == before
    expect(page.locator("table.estimates").first.locator("tfoot")).to_contain_text("everything else")


def test_words_among_numbers_come_last_and_numbers_are_compared_as_numbers(page: Page) -> None:
    """Numbers that whole-number order gets wrong, and words for what is not known."""
    shown = ["not listed", "0.9 ± 0.1", "± nan", "0.10 ± 0.02", "unknown", "0.0251", "12.5", "1e-5"]
    script = page.locator("script").text_content()
    page.evaluate(
        """([script, shown]) => {
            const body = document.querySelector("table.estimates").tBodies[0];
            body.replaceChildren(...[...body.rows].slice(0, shown.length));
            shown.forEach((text, i) => { body.rows[i].cells[2].textContent = text; });
            document.querySelectorAll(".tools, .hint").forEach(tool => tool.remove());
            document.querySelectorAll(".sort").forEach(button => button.replaceWith(...button.childNodes));
            (0, eval)(script);
        }""",
        [script, shown],
    )
    button = page.get_by_role("columnheader", name="Estimate").first.get_by_role("button")
    rising, unknown = ["1e-5", "0.0251", "0.10 ± 0.02", "0.9 ± 0.1", "12.5"], ["not listed", "± nan", "unknown"]
    button.click()
    assert column(page, 3) == [*reversed(rising), *unknown]
    button.click()
    assert column(page, 3) == [*rising, *unknown]


def test_texts_sort_as_people_read_and_only_one_column_is_marked(page: Page) -> None:
    page.get_by_role("columnheader", name="Estimate").first.get_by_role("button").click()
    page.get_by_role("columnheader", name="Query").first.get_by_role("button").click()
    queries = column(page, 1)
    first = queries.count("ÄRGER")
    assert queries[:first] == ["ÄRGER"] * first
    numbers = [int(query.removeprefix("query number ")) for query in queries[first:]]
    assert numbers == sorted(numbers)
    assert page.locator("table.estimates").first.locator("[aria-sort]").count() == 1


def test_a_search_shows_what_fits_and_counts_it(page: Page) -> None:
    search = page.get_by_role("searchbox", name="Search this table").first
    count = page.locator("output").first
    rows = len(column(page, 1))
    expect(count).to_have_text(f"{rows} of {rows} rows")
    search.fill("ärger")
    assert column(page, 1) == ["ÄRGER"] * len(column(page, 1))
    expect(count).to_have_text(f"{len(column(page, 1))} of {rows} rows")
    search.fill("<b>")
    assert column(page, 1) == ["ÄRGER"]
    search.fill("")
    assert len(column(page, 1)) == rows


def test_wide_tables_say_that_they_scroll(page: Page) -> None:
    hint = page.locator(".hint").first
    expect(hint).to_have_text("Scroll down and sideways for more ↘")
    page.set_viewport_size({"width": 1200, "height": 900})
    expect(hint).to_have_text("Scroll down for more ↓")


def test_cautions_stand_in_a_box_before_the_results(page: Page) -> None:
    box = page.locator(".cautions")
    expect(box).to_contain_text("δ = 0.01 is not below one over")
    assert page.get_by_role("heading", level=2).first.text_content() == "Be careful"


def test_the_tools_are_accessible(page: Page) -> None:
    assert violations(page, USUAL) == []


def test_ten_thousand_rows_are_sorted_and_searched(page: Page) -> None:
    """Every row is looked at once a click: the table grows before the script, not after it."""
    script = page.locator("script").text_content()
    page.evaluate(
        """script => {
            const table = document.querySelector("table.estimates");
            const row = table.tBodies[0].rows[0];
            table.tBodies[0].replaceChildren(...Array.from({length: 10000}, (_, i) => {
                const copy = row.cloneNode(true);
                copy.cells[2].textContent = String((i * 7919) % 10007);
                return copy;
            }));
            table.closest(".scroll").hidden = true;
            document.querySelectorAll(".tools, .hint").forEach(tool => tool.remove());
            table.querySelectorAll(".sort").forEach(button => button.replaceWith(...button.childNodes));
            (0, eval)(script);
        }""",
        script,
    )
    page.evaluate("""() => document.querySelectorAll("table.estimates .sort")[2].click()""")
    assert page.evaluate(
        """() => [...document.querySelector("table.estimates").tBodies[0].rows].map(row => +row.cells[2].textContent)
            .every((value, i, all) => i === 0 || value <= all[i - 1])"""
    )
    page.get_by_role("searchbox", name="Search this table").first.fill("10006")
    expect(page.locator("output").first).to_have_text("1 of 10,000 rows")


def test_without_scripts_the_table_is_whole(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 400, "height": 900})
    page = context.new_page()
    page.goto(address)
    assert page.locator(".tools, .hint, .sort").count() == 0
    assert len(column(page, 1)) >= ROWS
    context.close()


def test_on_paper_everything_else_stands_once_below_the_rows(browser: Browser, address: str) -> None:
    """A footer of a table is printed on every page, also above its first row."""
    context = browser.new_context(viewport={"width": 794, "height": 1000})
    page = context.new_page()
    page.goto(address)
    page.emulate_media(media="print")
    assert page.locator("tfoot").first.evaluate("one => getComputedStyle(one).display") == "table-row-group"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    context.close()
