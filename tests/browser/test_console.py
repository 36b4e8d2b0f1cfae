"""The operator's console, in a real browser, from a real collector behind a proxy at a path of its own."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Download, Locator, Page, Route, expect

from blendp.render.plan.forecast import forecast_words
from blendp.render.tables import text_of_cell
from blendp.service.board.cautions import cautions_of_terms, statements_of_terms
from blendp.service.board.forecast import forecast_of
from blendp.service.campaigns import find, terms_of
from blendp.service.http.pages import web_files
from blendp.wire.envelope import Envelope
from tests.browser.accessibility import violations
from tests.browser.collectors import PEOPLE_OF, Library, day
from tests.browser.console_world import (
    AUTUMN,
    EMPTY,
    GONE,
    NEW_RECORDS,
    PUBLISHED,
    READY,
    REFUSED,
    SPRING,
    WINTER,
    WINTER_PEOPLE,
    count,
    make_world,
    report_on,
)
from tests.browser.looks import beyond_the_edge, misplaced_labels
from tests.browser.test_campaign_page import DESK, PHONE, flipped
from tests.browser.windows import Windows

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("console")]

MAX_SCRIPT, MAX_STYLE = 60_000, 8_000


@pytest.fixture(scope="module")
def world_data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A collector's folder with a history, and operators' tokens."""
    folder = tmp_path_factory.mktemp("world")
    return folder, make_world(folder)


@pytest.fixture(scope="module")
def tokens(world_data: tuple[Path, dict[str, str]]) -> dict[str, str]:
    return world_data[1]


@contextmanager
def running(data: Path, folder: Path) -> Iterator[Library]:
    """A collector on a copy of this folder."""
    shutil.copytree(data / "data", folder / "data")
    library = Library(folder)
    yield library
    library.stop()


@pytest.fixture(scope="module")
def served(world_data: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The collector, running; nobody acts on its campaigns."""
    with running(world_data[0], tmp_path_factory.mktemp("served")) as library:
        yield library


@pytest.fixture(scope="module")
def workshop(world_data: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Another one, whose campaigns tests change, each a different one."""
    with running(world_data[0], tmp_path_factory.mktemp("workshop")) as library:
        yield library


@contextmanager
def console(windows: Windows, served: Library, view: str = "", *expected: str, **options: Any) -> Iterator[Page]:
    """The console before anybody has shown a token; complaints that are not expected fail the test."""
    with windows.window(**{**DESK, "reduced_motion": "reduce", **options}) as window:
        window.page.goto(served.page("/console") + view)
        expect(window.page.get_by_label("Your token")).to_be_focused()
        yield window.page
        assert window.complaints(*expected) == []


def show_token(page: Page, token: str) -> None:
    page.get_by_label("Your token").fill(token)
    page.get_by_role("button", name="Open the console").click()


def ready(page: Page) -> None:
    """Everything that the screen asks for has come."""
    page.locator("main:not([aria-busy]) h1").wait_for()
    expect(page.locator("#fresh")).to_contain_text("as of")


@contextmanager
def inside(windows: Windows, served: Library, token: str, view: str = "", *more: str, **options: Any) -> Iterator[Page]:
    """The console, with this token, at this view."""
    with console(windows, served, view, *more, **options) as page:
        show_token(page, token)
        ready(page)
        yield page


@contextmanager
def campaign(
    windows: Windows, served: Library, token: str, name: str, more: str = "", **options: Any
) -> Iterator[Page]:
    """The screen of a campaign, with its forecast and its verified documents."""
    with inside(windows, served, token, f"#campaign={name}{more}", **options) as page:
        whole(page)
        yield page


def whole(page: Page) -> None:
    """The forecast and the signed documents are there, too."""
    expect(panel(page, "forecast")).to_contain_text("It assumes records spread like")
    expect(panel(page, "files")).to_contain_text("this browser verified")


def panel(page: Page, name: str) -> Locator:
    return page.locator(f"section[aria-labelledby={name}]")


def saved(page: Page, click: Callable[[], None]) -> Download:
    with page.expect_download() as download:
        click()
    return download.value


def text_of(download: Download) -> str:
    return download.path().read_text(encoding="utf-8")


def require_looks(page: Page) -> None:
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert beyond_the_edge(page) == []


def numbers(text: str) -> str:
    """The text with the commas taken out of its numbers."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", text)


# the door


def test_only_a_token_that_may_read_opens_it(windows: Windows, served: Library, tokens: dict[str, str]) -> None:
    with served.opened() as collector:
        revoked = collector.tokens.create("Gone clerk", ["read"])
        collector.tokens.revoke(revoked.split("-")[2])
    with console(windows, served, "", "401", "403") as page:
        require_looks(page)
        problem = page.get_by_role("alert").filter(has_text=re.compile("."))
        for token, sentence in {
            "blendp-op-000000000000-" + "0" * 64: "This token is not valid: it was mistyped, or revoked.",
            revoked: "This token is not valid: it was mistyped, or revoked.",
            tokens["blind"]: "This needs the scope 'read'; the token has release.",
            "päckchen": "This is no token: copy it whole.",
        }.items():
            show_token(page, token)
            expect(problem).to_have_text(sentence)
            expect(page.get_by_label("Your token")).to_be_focused()
        require_looks(page)
        show_token(page, f"  {tokens['look']}\n")
        ready(page)
        expect(page.locator("#bar")).to_contain_text("Front desk may read")


def everything_kept(page: Page) -> str:
    """All storage that a page can reach, its address and its history."""
    stored: str = page.evaluate(
        """async () => JSON.stringify([{...localStorage}, document.cookie, location.href, history.state,
            await caches.keys(), await indexedDB.databases()])"""
    )
    return stored


def test_the_token_is_in_no_address_and_in_nothing_that_outlives_the_tab(
    windows: Windows, served: Library, tokens: dict[str, str]
) -> None:
    token, before = tokens["all"], len(served.wire.requests)
    with inside(windows, served, token, f"#campaign={WINTER}") as page:
        assert token not in everything_kept(page)
        assert page.evaluate("sessionStorage.length") == 0
        page.reload()
        expect(page.get_by_label("Your token")).to_be_visible()
        page.get_by_label("Keep it in this tab").check()
        show_token(page, token)
        ready(page)
        assert token not in everything_kept(page)
        page.reload()
        ready(page)
        expect(page.locator("h1")).to_contain_text("winter")
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="The public page").click()
        assert opened.value.evaluate("sessionStorage.length") == 0
        other = page.context.new_page()
        other.goto(served.page("/console"))
        expect(other.get_by_label("Your token")).to_be_visible()
        assert other.evaluate("sessionStorage.length") == 0
        page.get_by_role("button", name="Forget the token").click()
        expect(page.get_by_label("Your token")).to_have_value("")
        assert page.evaluate("sessionStorage.length") == 0
        assert token not in page.content()
        show_token(page, token)
        ready(page)
        page.close()
        again = other.context.new_page()
        again.goto(served.page(f"/console#campaign={WINTER}"))
        expect(again.get_by_label("Your token")).to_be_visible()
    requests = served.wire.requests[before:]
    assert not [target for _, target, _ in requests if token in target]
    assert {name for _, _, headers in requests for name, value in headers.items() if token in value} == {
        "Authorization"
    }


def test_a_token_that_is_revoked_shuts_the_console(windows: Windows, served: Library) -> None:
    with served.opened() as collector:
        token = collector.tokens.create("Night shift", ["read"])
    with inside(windows, served, token, f"#campaign={SPRING}", "401") as page:
        with served.opened() as collector:
            collector.tokens.revoke(token.split("-")[2])
        page.get_by_role("button", name="Refresh").click()
        expect(page.get_by_role("alert").filter(has_text="not valid")).to_be_visible()
        assert "spring" not in page.locator("main").inner_text()


# all campaigns


def test_all_campaigns_and_what_to_do_about_each(windows: Windows, served: Library, tokens: dict[str, str]) -> None:
    with inside(windows, served, tokens["look"]) as page:
        cards = page.locator(".overview > li")
        assert cards.locator("code").all_inner_texts() == [EMPTY, READY, SPRING, WINTER, AUTUMN, PUBLISHED]
        assert cards.locator(".state").all_inner_texts() == [
            "Reporting",
            "Collecting for the list",
            "Collecting for the list",
            "Reporting",
            "Released",
            "Released",
        ]
        for sentence in cards.locator(".what").all_inner_texts():
            assert sentence.endswith(".")
        expect(cards.nth(0)).to_have_class(re.compile("urgent"))
        expect(cards.nth(0)).to_contain_text("The list is empty")
        expect(cards.nth(3)).to_contain_text(f"If you do nothing, the result is released after {day(21)}.")
        expect(page.locator("main")).to_contain_text("6 in all, 4 running")
        expect(page.locator("main")).to_contain_text("this needs a token with the scope manage")
        page.get_by_text("Deleted campaigns").click()
        expect(page.get_by_role("region", name="Deleted campaigns")).to_contain_text(GONE)
        require_looks(page)
        page.get_by_role("link", name="winter").click()
        ready(page)
        assert page.url.endswith(f"/console#campaign={WINTER}")
        expect(page.locator("main")).to_be_focused()
        page.go_back()
        expect(page.locator("h1")).to_have_text("Campaigns")


def changed(change: Callable[[dict[str, Any]], None]) -> Callable[[bytes], bytes]:
    """An answer of which something is otherwise."""

    def apply(body: bytes) -> bytes:
        answer = json.loads(body)
        change(answer)
        return json.dumps(answer).encode()

    return apply


def test_a_collector_without_campaigns_says_how_to_begin(
    windows: Windows, served: Library, tokens: dict[str, str]
) -> None:
    with (
        served.tampered({"overview": changed(lambda answer: answer.update(campaigns=[], left_out=3))}),
        inside(windows, served, tokens["all"]) as page,
    ):
        expect(page.locator("main")).to_contain_text("There is no campaign yet.")
        expect(page.locator("main")).to_contain_text("3 older campaigns are not shown")
        require_looks(page)
        page.get_by_role("button", name="Create a campaign").click()
        expect(page.get_by_role("heading", name="New campaign")).to_be_visible()


def test_a_campaign_that_is_gone_says_what_became_of_it(
    windows: Windows, served: Library, tokens: dict[str, str]
) -> None:
    for name, reason in ((GONE, "was deleted by its operator"), ("nobody", "There is no campaign 'nobody'")):
        with console(windows, served, f"#campaign={name}", "404") as page:
            show_token(page, tokens["look"])
            expect(page.locator("h1")).to_have_text("There is no such campaign")
            expect(page.locator("main")).to_contain_text(reason)
            require_looks(page)
            page.get_by_role("link", name="All campaigns").click()
            expect(page.locator("h1")).to_have_text("Campaigns")


def test_a_clock_in_doubt_comes_first_and_is_confirmed_by_its_day(
    windows: Windows, served: Library, tokens: dict[str, str]
) -> None:
    def doubt(answer: dict[str, Any]) -> None:
        answer["clock"]["doubt"] = "The system's clock went forward by 400 days."

    with served.tampered({"overview": changed(doubt)}), inside(windows, served, tokens["manage"]) as page:
        expect(page.locator(".next")).to_contain_text("went forward by 400 days")
        require_looks(page)
        page.get_by_role("button", name="Confirm the day").click()
        confirm = page.get_by_role("dialog").get_by_role("button", name="Confirm the day")
        expect(confirm).to_be_disabled()
        page.get_by_label("type today's day").fill(day(0))
        require_looks(page)
        confirm.click()
        expect(page.get_by_role("dialog")).to_contain_text(f"The collector goes by {day(0)} now.")
    with served.opened() as collector:
        (entry,) = collector.trail.entries(max_entries=1)
        assert (entry.act, entry.name) == ("accept-clock", "Head librarian")


# one campaign


def test_a_campaign_that_takes_opt_in_people(windows: Windows, served: Library, tokens: dict[str, str]) -> None:
    with campaign(windows, served, tokens["all"], SPRING) as page:
        following = page.locator(".next")
        expect(following).to_contain_text("tokens")
        expect(following.get_by_role("button", name="Make tokens")).to_be_visible()
        assert following.get_by_role("button", name="Publish the list").count() == 0, "it would be refused"
        progress = panel(page, "progress")
        expect(progress).to_contain_text("60 of at least 279")
        expect(progress).to_contain_text("At 12 a day there are 180 of 279")
        expect(progress).to_contain_text("100 tokens were made, 40 of them are not used yet.")
        expect(progress.locator(".plot")).to_have_count(1)
        expect(panel(page, "forecast")).to_contain_text("people like those of aol make a list of about")
        expect(panel(page, "forecast")).to_contain_text("The list will probably be too short")
        expect(panel(page, "forecast")).to_contain_text("none yet")
        deadlines = panel(page, "deadlines")
        expect(deadlines).to_contain_text(f"after {day(17)} everything of this campaign is deleted")
        expect(deadlines.locator("li").nth(1)).to_contain_text(f"{day(0)} Today")
        expect(deadlines).to_contain_text(f"{day(10)} Last day to opt in, in 10 days")
        expect(panel(page, "budget")).to_contain_text("Nobody has spent anything yet")
        expect(panel(page, "audit")).to_contain_text("100 tokens")
        for absent in ("intake", "list", "estimates", "agreement", "liars"):
            expect(panel(page, absent)).to_be_hidden()
        require_looks(page)
        assert misplaced_labels(page) == []


def test_the_day_on_which_a_minimum_is_reached_is_drawn(
    windows: Windows, served: Library, tokens: dict[str, str]
) -> None:
    def quicker(answer: dict[str, Any]) -> None:
        sentence = f"At 25 a day the minimum is reached on {day(9)}."
        reached = {"outlook": "on-course", "per_day": 25.0, "reached": day(9), "sentence": sentence}
        answer["opt_in"]["pace"] |= reached

    with served.tampered({"status": changed(quicker)}), campaign(windows, served, tokens["look"], SPRING) as page:
        progress = panel(page, "progress")
        expect(progress).to_contain_text(f"At 25 a day the minimum is reached on {day(9)}.")
        expect(progress.locator(".plot .coming")).to_have_count(9)
        expect(progress.locator("figcaption")).to_contain_text("at today's pace")
        assert misplaced_labels(page) == []
        require_looks(page)


def test_a_campaign_that_takes_reports(windows: Windows, served: Library, tokens: dict[str, str]) -> None:
    with campaign(windows, served, tokens["all"], WINTER) as page:
        clients = 3 * sum(WINTER_PEOPLE.values())
        expect(page.locator(".next").get_by_role("button", name="Release the result")).to_be_visible()
        assert f"{clients} of at least 100" in numbers(panel(page, "progress").inner_text())
        intake = panel(page, "intake")
        refused = sum(REFUSED.values()) - REFUSED["duplicate"]
        assert f"{clients + sum(REFUSED.values())} reports came, {refused} of them were refused" in numbers(
            intake.inner_text()
        )
        lines = intake.locator(".reasons li")
        assert [line.locator("button").inner_text() for line in lines.all()] == ["accepted", *REFUSED]
        for line in lines.all():
            assert re.search(r"\. \w.*\.$", line.locator("p").inner_text(), re.S), "a sentence, and a remedy"
        expect(intake.locator(".plot .mark title")).to_have_text(f"{day(-6)}: list published")
        expect(intake).to_contain_text(f"{day(-6)} list published")
        listed = panel(page, "list")
        expect(listed).to_contain_text(f"Since {AUTUMN}: 3 added, 1 removed, 10 kept.")
        assert listed.locator("td .added").count() == len(NEW_RECORDS)
        expect(listed.locator("tr", has=page.locator("td .removed"))).to_contain_text("bicycle repair")
        assert page.locator("main b").count() == 0
        assert page.locator("[href^='javascript:']").count() == 0
        for early in ("agreement", "liars"):
            expect(panel(page, early)).to_contain_text("Known when you preview the result")
        assert f"{clients}" in numbers(panel(page, "budget").inner_text())
        expect(panel(page, "deadlines")).to_contain_text(f"after {day(21)} the result is released")
        page.get_by_role("link", name="List", exact=True).click()
        expect(page.locator("h2#list")).to_be_focused()
        assert page.url.endswith("panel=list")
        require_looks(page)
        assert misplaced_labels(page) == []


def test_a_campaign_that_is_released(windows: Windows, served: Library, tokens: dict[str, str]) -> None:
    with campaign(windows, served, tokens["look"], AUTUMN) as page:
        estimates = panel(page, "estimates")
        lines = estimates.locator(".forest").first.locator("li")
        assert lines.count() == len(PEOPLE_OF) + 1
        expect(lines.first).to_contain_text("weather")
        assert re.search(r"\d+\.\d ± \d+\.\d %\n\d+ % opt-in", lines.first.inner_text())
        assert estimates.locator(".range .error").count() == estimates.locator(".range .dot").count() == 23
        weights = lines.first.locator("rect").evaluate_all(
            "all => all.map(one => parseFloat(one.getAttribute('width')))"
        )
        assert sum(weights) == pytest.approx(100, abs=0.01)
        expect(panel(page, "agreement")).to_contain_text("Opt-in users and clients")
        expect(panel(page, "liars")).to_contain_text("5 % of the clients")
        assert re.search(r"\+[\d.]+ points", panel(page, "liars").inner_text())
        expect(panel(page, "forecast")).to_contain_text("of 10 queries")
        expect(panel(page, "forecast")).to_contain_text("The list is longer: these people's records are more alike.")
        expect(panel(page, "forecast").locator(".plot circle.client")).not_to_have_count(0)
        expect(panel(page, "deadlines")).to_contain_text(f"{day(-33)} The result was released")
        expect(panel(page, "intake").locator(".plot .mark")).to_have_count(2)
        require_looks(page)
        assert misplaced_labels(page) == []
        before = len(served.wire.requests)
        expect(panel(page, "files").get_by_role("link", name="Search the result")).to_be_visible()
        assert [target for target in served.wire.targets()[before:] if target.endswith("/status")] == []


def test_a_campaign_of_the_published_method_about_queries_alone(
    windows: Windows, served: Library, tokens: dict[str, str]
) -> None:
    with campaign(windows, served, tokens["look"], PUBLISHED) as page:
        estimates = panel(page, "estimates")
        expect(estimates.locator(".forest")).to_have_count(1)
        expect(estimates.locator(".forest")).to_contain_text("weather")
        expect(panel(page, "agreement")).to_contain_text("does not compare the groups")
        expect(panel(page, "list").locator("thead")).not_to_contain_text("Address")
        require_looks(page)


@pytest.mark.parametrize(("name", "state"), [(SPRING, "listing"), (WINTER, "closing"), (WINTER, "signing")])
def test_what_is_being_made_and_what_failed(
    windows: Windows, served: Library, tokens: dict[str, str], name: str, state: str
) -> None:
    tried = {"number": 9, "time": "2026-11-17T03:00:00Z", "actor": "itself", "token": None, "name": None}
    last = {**tried, "act": "release", "campaign": name, "outcome": "storage-full", "detail": "The store is full."}

    def half_way(answer: dict[str, Any]) -> None:
        answer["state"] = state
        answer["by_itself"] = None if state != "closing" else {**answer["by_itself"], "last": last}

    with served.tampered({f"{name}/status": changed(half_way)}), campaign(windows, served, tokens["all"], name) as page:
        expect(page.locator(".state").first).to_have_text(re.compile("is being made"))
        sentence = "could not release: storage-full" if state == "closing" else "A step is being taken right now"
        expect(panel(page, "deadlines")).to_contain_text(sentence)
        for act in ("enrol", "publish", "release"):
            assert page.locator(f"#act-{act}-plain").count() == 0
        require_looks(page)


def test_a_list_that_is_empty_needs_the_operator(windows: Windows, served: Library, tokens: dict[str, str]) -> None:
    with campaign(windows, served, tokens["all"], EMPTY) as page:
        expect(page.locator(".next.bad")).to_contain_text("Needs you")
        expect(page.locator(".next")).to_contain_text(
            "more opt-in people, one level (queries alone), or a larger epsilon."
        )
        expect(panel(page, "list")).to_contain_text("The list is empty: no record was popular enough")
        expect(panel(page, "intake")).to_contain_text("No report has come yet.")
        assert page.get_by_role("button", name="Release the result").count() == 0
        require_looks(page)
        page.get_by_role("button", name="Create a campaign").click()
        expect(page.get_by_label("Organisation")).to_have_value("City Library")


def test_what_was_not_signed_is_not_shown(windows: Windows, served: Library, tokens: dict[str, str]) -> None:
    with (
        served.tampered({"release": flipped(b'"weather"', b'"weathem"')}),
        inside(windows, served, tokens["look"], f"#campaign={AUTUMN}") as page,
    ):
        expect(panel(page, "files")).to_contain_text("The signed documents are not believed")
        expect(panel(page, "estimates")).to_be_hidden()
        assert "weathem" not in page.locator("body").inner_text()
        require_looks(page)


# what is seen


def test_filters_live_in_the_address(windows: Windows, served: Library, tokens: dict[str, str]) -> None:
    with campaign(windows, served, tokens["look"], WINTER) as page:
        intake, listed = panel(page, "intake"), panel(page, "list")
        intake.get_by_role("button", name="wrong-list").click()
        assert "reason=wrong-list" in page.url
        expect(intake.locator(".plot rect.refused")).to_have_count(7)
        expect(intake.locator(".plot rect.accepted")).to_have_count(0)
        expect(page.get_by_label("Outcome", exact=True)).to_have_value("wrong-list")
        page.get_by_label("First day").fill(day(-2))
        page.get_by_label("Last day").fill(day(-1))
        expect(intake.locator(".plot rect.refused")).to_have_count(2)
        page.keyboard.press("Escape")
        page.get_by_label("Records with").fill("WEATHER")
        expect(listed.locator("tbody tr")).to_have_count(2)
        address = page.url
        assert f"from={day(-2)}&to={day(-1)}" in address
        assert "find=WEATHER" in address
        page.get_by_role("button", name="Clear filters").click()
        expect(listed.locator("tbody tr")).to_have_count(len(WINTER_PEOPLE) + 1)
        expect(page.get_by_label("Records with")).to_have_value("")
        page.go_back()
        expect(listed.locator("tbody tr")).to_have_count(2)
        require_looks(page)
    with campaign(windows, served, tokens["look"], WINTER, address.partition(WINTER)[2]) as page:
        expect(panel(page, "list").locator("tbody tr")).to_have_count(2)
        expect(panel(page, "intake").locator(".plot rect.refused")).to_have_count(2)
        page.get_by_label("Records with").fill("nobody searches this")
        expect(panel(page, "list")).to_contain_text("No record matches the filter.")
        page.get_by_label("First day").fill(day(100))
        page.get_by_label("Last day").fill(day(101))
        expect(panel(page, "intake")).to_contain_text("No report matches the filter.")
        expect(panel(page, "audit")).to_contain_text("No act on these days.")
        require_looks(page)


def test_every_plot_has_a_table_one_key_away(windows: Windows, served: Library, tokens: dict[str, str]) -> None:
    with campaign(windows, served, tokens["look"], AUTUMN) as page:
        figures = page.locator("figure")
        drawn = page.locator("figure .plot, figure .forest")
        assert figures.count() == drawn.count() == 7
        page.locator("h1").click()
        page.keyboard.press("t")
        expect(drawn).to_have_count(0)
        assert page.locator("figure table").count() == 7
        expect(page.get_by_role("region", name="Reports by day (UTC) and outcome")).to_contain_text("result released")
        assert "tables=" in page.url
        require_looks(page)
        page.get_by_role("button", name="Table of Reports by day").click()
        expect(drawn).to_have_count(1)
        page.keyboard.press("t")
        expect(drawn).to_have_count(0)
        page.keyboard.press("t")
        expect(drawn).to_have_count(7)


def test_keys_are_explained_and_can_be_switched_off(windows: Windows, served: Library, tokens: dict[str, str]) -> None:
    with campaign(windows, served, tokens["look"], WINTER) as page:
        page.keyboard.press("?")
        dialog = page.get_by_role("dialog", name="Keys")
        expect(dialog).to_contain_text("Plots as tables, and back")
        require_looks(page)
        dialog.get_by_label("Single keys act").uncheck()
        page.wait_for_function("location.hash.includes('keys=off')")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        page.keyboard.press("t")
        page.keyboard.press("?")
        assert page.locator("figure table, dialog").count() == 0
        page.get_by_role("button", name="Keys").click()
        dialog.get_by_label("Single keys act").check()
        dialog.get_by_role("button", name="Close").click()
        page.keyboard.press("/")
        expect(page.get_by_label("Records with")).to_be_focused()
        page.keyboard.type("t/a?")
        assert page.locator("figure table, dialog").count() == 0
        page.locator("h1").click()
        page.keyboard.press("a")
        expect(page.locator("h1")).to_have_text("Campaigns")


def test_files_hold_exactly_what_is_seen(windows: Windows, served: Library, tokens: dict[str, str]) -> None:
    with campaign(
        windows, served, tokens["look"], WINTER, "&find=example&reason=impossible&tables=intake-by-day"
    ) as page:
        rows = panel(page, "list").locator("tbody tr")
        seen = [row.locator("th, td").all_inner_texts() for row in rows.all()]
        table = panel(page, "list").get_by_role("button", name="CSV")
        head, *cells = csv.reader(io.StringIO(text_of(saved(page, table.click))))
        assert head == ["query", "url", "change"]
        assert [[text_of_cell(cell) for cell in row] for row in cells] == seen
        formula = next(row for row in cells if "cmd" in row[0])
        assert formula[0].startswith("'=")
        listed = json.loads(text_of(saved(page, panel(page, "list").get_by_role("button", name="JSON").click)))
        assert [[one["query"], one["url"], one["change"]] for one in listed] == seen
        days = json.loads(text_of(saved(page, page.get_by_role("button", name="JSON of Reports by day").click)))
        assert sum(one["impossible"] for one in days) == REFUSED["impossible"]
        assert {"day", "impossible", "event"} == set(days[0])
        status = json.loads(text_of(saved(page, page.get_by_role("button", name="status.json").click)))
        assert status["intake"]["impossible"] == REFUSED["impossible"]


def test_the_report_and_the_signed_documents_can_be_had(
    windows: Windows, served: Library, tokens: dict[str, str]
) -> None:
    with campaign(windows, served, tokens["look"], AUTUMN) as page:
        readable = saved(page, page.get_by_role("button", name="Get the report").click)
        assert readable.suggested_filename == f"{AUTUMN}-report.html"
        assert "Do the two groups agree?" in text_of(readable)
        expect(page.locator("#status")).to_contain_text("report.html is saved.")
        require_looks(page)
        files = panel(page, "files")
        for name in ("estimates.csv", "trends.csv", "head_list.json", "release.json"):
            assert text_of(saved(page, files.get_by_role("button", name=name, exact=True).click))
        before = len(served.wire.requests)
        for name in ("terms", "manifest", "release"):
            document = saved(page, files.get_by_role("button", name=f"{name}.dsse.json").click)
            assert document.suggested_filename == f"{AUTUMN}-{name}.dsse.json"
            assert AUTUMN.encode() in Envelope.from_bytes(document.path().read_bytes()).payload
        assert served.wire.targets()[before:] == [], "they are the bytes that were verified"


# acts


def test_a_campaign_is_created_after_a_look_at_its_cautions(
    windows: Windows, workshop: Library, tokens: dict[str, str]
) -> None:
    with inside(windows, workshop, tokens["manage"], "", "422") as page:
        page.get_by_role("button", name="Create a campaign").click()
        dialog = page.get_by_role("dialog")
        for label, text in {
            "Name in addresses": "summer",
            "Title": "Popular searches, summer",
            "Organisation": "City Library",
            "Purpose": "A search box that works offline",
            "Contact": "privacy@library.example",
            "Last day of reports (UTC)": day(1),
        }.items():
            dialog.get_by_label(label, exact=True).fill(text)
        dialog.get_by_text("The promise, the minimums and the method").click()
        dialog.get_by_label("Fewest opt-in people").fill("50")
        require_looks(page)
        dialog.get_by_role("button", name="Check the terms").click()
        expect(dialog.get_by_role("alert")).to_contain_text("reports_until")
        dialog.get_by_label("Last day of reports (UTC)").fill(day(40))
        dialog.get_by_role("button", name="Check the terms").click()
        expect(dialog).to_contain_text("is below 100: single people come into sight.")
        said = dialog.inner_text()
        expect(dialog).to_contain_text("The list will probably be too short")
        expect(dialog).to_contain_text("where people are missing, everything is deleted")
        expect(dialog).to_contain_text("room for")
        require_looks(page)
        with workshop.opened() as collector, collector.store.reading() as connection:
            assert not connection.exec_driver_sql("select * from campaign where name = 'summer'").all()
        act = dialog.get_by_role("button", name="Sign the terms and create it")
        expect(act).to_be_disabled()
        dialog.get_by_role("button", name="Back to the form").click()
        expect(dialog.get_by_label("Title")).to_have_value("Popular searches, summer")
        dialog.get_by_role("button", name="Check the terms").click()
        dialog.get_by_label("type the name of the campaign").fill("summer")
        act.click()
        expect(page.locator("h1")).to_have_text("Popular searches, summer")
        ready(page)
        expect(panel(page, "audit")).to_contain_text("Head librarian")
    with workshop.opened() as collector, collector.store.reading() as connection:
        terms = terms_of(connection, find(connection, "summer").number)
    forecast = forecast_of(terms, terms.min_opt_in)
    printed = [*cautions_of_terms(terms), *statements_of_terms(terms), forecast_words(forecast)]
    assert [sentence for sentence in printed if sentence not in said] == [], "as the command line prints them"


def test_tokens_are_shown_once(windows: Windows, workshop: Library, tokens: dict[str, str]) -> None:
    with campaign(windows, workshop, tokens["manage"], SPRING) as page:
        page.get_by_role("button", name="Make tokens").click()
        dialog = page.get_by_role("dialog")
        number = dialog.get_by_label("How many people may opt in")
        expect(number).to_have_value("179")
        number.fill("0")
        dialog.get_by_role("button", name="Go on").click()
        expect(number).to_be_visible()
        number.fill("7")
        require_looks(page)
        dialog.get_by_role("button", name="Go on").click()
        dialog.get_by_role("button", name="Make 7 tokens").click()
        expect(dialog).to_contain_text("7 tokens, shown this once.")
        shown = dialog.locator("pre").inner_text().split()
        page.keyboard.press("Escape")
        expect(dialog.get_by_role("alert")).to_contain_text("You have not saved the tokens")
        file = saved(page, dialog.get_by_role("button", name="Save them as a file").click)
        assert text_of(file).splitlines() == shown
        assert len({token for token in shown if token.startswith("blendp-in-")}) == 7
        require_looks(page)
        dialog.get_by_role("button", name="Close").click()
        expect(panel(page, "progress")).to_contain_text("107 tokens were made")
        expect(panel(page, "audit")).to_contain_text("7 tokens")
        assert not [token for token in shown if token in page.content()]


def test_a_list_is_published_and_a_result_released_from_the_page(
    windows: Windows, workshop: Library, tokens: dict[str, str]
) -> None:
    with inside(windows, workshop, tokens["all"], f"#campaign={READY}", "409", "503") as page:
        busy = {"type": "urn:blendp:problem:busy", "title": "x", "status": 503, "detail": "Too many wait."}
        page.route("**/forecast", lambda route: route.fulfill(status=503, json=busy))
        page.get_by_role("button", name="Publish the list").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("There is no forecast.")
        expect(dialog).to_contain_text("Too many wait.")
        expect(dialog.get_by_role("button", name="Draw and publish the list")).to_be_disabled()
        page.unroute("**/forecast")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Publish the list").click()
        expect(dialog).to_contain_text("people like those of aol make a list")
        expect(dialog).to_contain_text("The list is drawn once, for good.")
        act = dialog.get_by_role("button", name="Draw and publish the list")
        expect(act).to_be_disabled()
        dialog.get_by_label("type the name").fill("READY")
        expect(act).to_be_disabled()
        require_looks(page)
        dialog.get_by_label("type the name").fill(READY)
        act.click()
        expect(dialog).to_contain_text("opt-in people made a list of 11 records; it is public.")
        dialog.get_by_role("button", name="Back to the campaign").click()
        expect(page.locator(".state").first).to_have_text("Reporting")
        expect(panel(page, "list")).to_contain_text("11 records of 10 queries.")

        page.get_by_role("button", name="Preview the result").click()
        expect(dialog.get_by_role("alert")).to_contain_text("100 more clients are needed")
        page.keyboard.press("Escape")
        with workshop.opened() as collector:
            report_on(collector, READY, PEOPLE_OF, 2)
        page.get_by_role("button", name="Refresh").click()
        expect(page.locator(".next")).to_contain_text("release")
        page.get_by_role("button", name="Preview the result").click()
        expect(dialog).to_contain_text("Do the two groups agree?")
        expect(dialog).to_contain_text("Nothing was signed or closed")
        require_looks(page)
        page.keyboard.press("Escape")
        expect(panel(page, "agreement")).to_contain_text("nothing is signed")
        expect(panel(page, "liars")).to_contain_text("5 % of the clients")

        page.get_by_role("button", name="Release the result").click()
        expect(dialog).to_contain_text("No more reports are taken")
        act = dialog.get_by_role("button", name="Sign and publish the result")
        expect(act).to_be_disabled()
        dialog.get_by_label("type the name").fill(READY)
        dialog.get_by_label("type the name").press("Enter")
        expect(dialog).to_contain_text("clients is public.")
        dialog.get_by_role("button", name="See the result").click()
        expect(page.locator(".state").first).to_have_text("Released")
        expect(panel(page, "estimates").locator(".forest").first).to_contain_text("weather")
        for what in ("publish", "preview", "release"):
            expect(panel(page, "audit").locator("tbody")).to_contain_text(what)


def test_who_may_only_look_is_told_which_scope_acts_need(
    windows: Windows, served: Library, tokens: dict[str, str]
) -> None:
    for token, name, scope in (("look", SPRING, "manage"), ("manage", WINTER, "release")):
        with campaign(windows, served, tokens[token], name) as page:
            expect(page.locator(".next")).to_contain_text(f"this needs a token with the scope {scope}")
            assert page.get_by_role("button", name=re.compile("Publish|Release|Preview")).count() == 0
            require_looks(page)


# how it asks


def test_it_asks_only_while_it_is_seen(browser: Browser, served: Library, tokens: dict[str, str]) -> None:
    context = browser.new_context(**DESK)
    page = context.new_page()
    page.clock.install()
    page.goto(served.page(f"/console#campaign={WINTER}"))
    show_token(page, tokens["look"])
    ready(page)
    whole(page)

    def asked_in(seconds: int) -> list[str]:
        """What reached the collector while so much time passed, before a request that was sent at the end."""
        before = len(served.wire.requests)
        page.clock.run_for(1000 * seconds)
        page.evaluate("address => fetch(address).then(answer => answer.text())", served.page("/health/live"))
        return [target for target in served.wire.targets()[before:] if not target.endswith("/health/live")]

    def set_hidden(is_hidden: bool) -> None:
        page.evaluate(
            """is_hidden => {
                Object.defineProperty(document, "hidden", {configurable: true, get: () => is_hidden});
                document.dispatchEvent(new Event("visibilitychange"));
            }""",
            is_hidden,
        )

    with page.expect_response("**/status"):
        page.clock.run_for(11_000)
    set_hidden(True)
    assert asked_in(3600) == []
    with page.expect_response("**/status"):
        set_hidden(False)
        page.clock.run_for(100)
    context.close()


def test_it_asks_more_and_more_rarely_while_nobody_answers(
    browser: Browser, served: Library, tokens: dict[str, str]
) -> None:
    context = browser.new_context(**DESK)
    page = context.new_page()
    page.add_init_script("crypto.getRandomValues = (numbers) => numbers.fill(-1)")  # the longest of all delays
    page.clock.install()
    page.goto(served.page("/console"))
    show_token(page, tokens["look"])
    ready(page)
    tries: list[str] = []

    def refuse(route: Route) -> None:
        tries.append(route.request.url)
        route.abort()

    page.route("**/v1/**", refuse)
    page.clock.run_for(15_000)
    expect(page.locator("#alert")).to_contain_text("The collector does not answer, or is busy.")
    expect(page.locator("h1")).to_have_text("Campaigns")
    assert violations(page) == []
    for _ in range(60):
        page.clock.run_for(60_000)
    assert 8 <= len(tries) <= 18, "after 15, 20, 30, 50, 90 and 170 seconds, then every 310: 17 in an hour, or fewer"
    page.unroute("**/v1/**")
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator("#alert")).to_be_empty()
    context.close()


def test_a_collector_that_is_down_at_first(windows: Windows, served: Library, tokens: dict[str, str]) -> None:
    with console(windows, served, f"#campaign={WINTER}", "ERR_") as page:
        page.route("**/v1/**", lambda route: route.abort())
        show_token(page, tokens["look"])
        expect(page.get_by_role("alert").filter(has_text="does not answer")).to_be_visible()
        page.unroute("**/v1/**")
        page.route("**/status", lambda route: route.abort())
        show_token(page, tokens["look"])
        expect(page.locator("h1")).to_have_text("The collector does not answer")
        assert violations(page) == []
        page.unroute("**/status")
        page.get_by_role("button", name="Ask now").click()
        expect(page.locator("h1")).to_contain_text("winter")


def test_what_is_new_is_shown_without_being_felt(windows: Windows, workshop: Library, tokens: dict[str, str]) -> None:
    with campaign(windows, workshop, tokens["look"], WINTER) as page:
        button = panel(page, "intake").get_by_role("button", name="accepted")
        button.focus()
        page.locator("#winter-listed-scroll").evaluate("one => one.scrollTop = 5")
        with workshop.opened() as collector:
            count(collector, WINTER, "late", 5)
        page.keyboard.press("r")
        expect(panel(page, "intake").get_by_role("button", name="late")).to_be_visible()
        expect(button).to_be_focused()
        assert page.locator("#winter-listed-scroll").evaluate("one => one.scrollTop") == 5


# safety


def test_scripts_of_others_do_not_run_and_nothing_is_loaded_from_elsewhere(
    windows: Windows, served: Library, tokens: dict[str, str]
) -> None:
    more = ("Content Security Policy", "Trusted")
    with inside(windows, served, tokens["look"], "", *more) as page:
        page.evaluate(
            """() => {
                document.body.append(Object.assign(new Image(), {src: "https://example.org/pixel.png"}));
                try { document.body.innerHTML = "<b>new</b>"; } catch { window.refused = true; }
                try { trustedTypes.createPolicy("default", {}); } catch { window.unnamed = true; }
                window.fetched = fetch("https://example.org/").then(() => "sent", () => "refused");
            }"""
        )
        assert page.evaluate("window.refused && window.unnamed")
        assert page.evaluate("window.fetched") == "refused"
        expect(page.locator("h1")).to_have_text("Campaigns")


@contextmanager
def another_site(folder: Path, body: str) -> Iterator[str]:
    """The address of a page of somebody else's: a real one, since browsers keep invented ones from this machine."""
    (folder / "index.html").write_text(body)
    pages = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), pages) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,)).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def test_no_other_site_can_frame_it_or_read_what_it_reads(
    browser: Browser, served: Library, tokens: dict[str, str], tmp_path: Path
) -> None:
    read = """([address, token]) => fetch(address, {headers: token ? {authorization: `Bearer ${token}`} : {}})
        .then(answer => answer.text(), () => "refused")"""
    body = f'<iframe src="{served.page("/console")}"></iframe>'
    with another_site(tmp_path, body) as elsewhere, closing(browser.new_context()) as context:
        page = context.new_page()
        page.goto(elsewhere)
        assert "chrome-error" in page.frames[1].evaluate("location.href")
        assert '"keys"' in page.evaluate(read, [served.page("/v1/keys"), ""]), "what is for everybody can be read"
        for path in ("/v1/overview", "/v1/token", f"/v1/campaigns/{WINTER}/status", "/v1/audit", "/console"):
            assert page.evaluate(read, [served.page(path), tokens["look"]]) == "refused"
            assert page.evaluate(read, [served.page(path), ""]) == "refused"


def test_it_is_small() -> None:
    files = web_files()
    sizes = {name: len(file.gzipped.body) for name, file in files.items()}
    (script,) = (size for name, size in sizes.items() if re.fullmatch(r"assets/console-\w+\.js", name))
    assert script <= MAX_SCRIPT
    assert sum(size for name, size in sizes.items() if name.endswith(".css")) <= MAX_STYLE


# looks


@pytest.mark.parametrize("name", [SPRING, WINTER, AUTUMN])
def test_phones_large_text_and_forced_colours(
    windows: Windows, served: Library, tokens: dict[str, str], name: str
) -> None:
    with campaign(windows, served, tokens["all"], name, **PHONE, reduced_motion="reduce") as page:
        require_looks(page)
        assert misplaced_labels(page) == []
        assert page.evaluate("getComputedStyle(document.querySelector('button')).transitionDuration") == "0s"
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        for colours in ("none", "active"):
            page.emulate_media(forced_colors=colours)
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            assert beyond_the_edge(page) == []
            assert misplaced_labels(page) == []


def test_everything_can_be_reached_by_keyboard(windows: Windows, served: Library, tokens: dict[str, str]) -> None:
    stops = """() => [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
        .filter(one => one.checkVisibility()).map((one, i) => (one.dataset.stop = i))"""
    with campaign(windows, served, tokens["all"], WINTER) as page:
        page.get_by_role("link", name="Skip to the content").focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Shift+Tab")
        numbered = page.evaluate(stops)
        assert len(numbered) > 40
        visited: list[int] = []
        for _ in range(len(numbered) + 10):  # the parts of a day's field are stops of their own
            stop = page.evaluate("+document.activeElement.dataset.stop")
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", page.evaluate(
                "document.activeElement.outerHTML"
            )
            if not visited or visited[-1] != stop:
                visited.append(stop)
            if len(visited) == len(numbered):
                break
            page.keyboard.press("Tab")
        assert visited == numbered
        page.evaluate("document.querySelector('.skip').focus()")
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        assert "campaign=winter" in page.url
