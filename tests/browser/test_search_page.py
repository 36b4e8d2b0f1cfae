"""The search page, in a real browser: what leaves it, what it keeps, and what it makes of a collector that lies."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.accessibility import violations
from tests.browser.collectors import TITLE, Library, day, release
from tests.browser.looks import beyond_the_edge
from tests.browser.test_campaign_page import DESK, PHONE, flipped, other_key

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("pages")]

ROOT = Path(__file__).parents[2]
NODE = shutil.which("node", path=f"{ROOT / '.venv/node/bin'}{os.pathsep}{os.environ.get('PATH', '')}")
KEPT = "Kept in this browser"
ALONE = "The collector cannot be reached"


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that nobody has used; sites that results lead to answer, and tell who sent people there."""
    context = browser.new_context(**DESK)
    context.route(re.compile("^https://"), lambda to: to.fulfill(body=f"from {to.request.headers.get('referer')}"))
    yield context
    context.close()


@pytest.fixture(scope="module")
def visited(browser: Browser, library: Library) -> Iterator[BrowserContext]:
    """A browser that keeps the search page of the released campaign."""
    context = browser.new_context(**DESK)
    with_search(context, library).close()
    yield context
    context.close()


def with_search(context: BrowserContext, library: Library, said: str = KEPT, campaign: str = "done") -> Page:
    """The search page, when it has said so."""
    page = context.new_page()
    page.goto(library.page(f"/campaigns/{campaign}/search"))
    expect(page.locator("main")).to_contain_text(said)
    return page


def answers(page: Page, text: str) -> list[str]:
    """The queries that are found, in their order."""
    page.get_by_role("searchbox").fill(text)
    return [one.inner_text().splitlines()[0] for one in page.locator(".results li").all()]


def test_answers_come_as_one_types(context: BrowserContext, library: Library) -> None:
    page = with_search(context, library)
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    box = page.get_by_role("searchbox")
    expect(box).to_be_focused()
    for typed in ("w", "we", "wea"):
        assert answers(page, typed)[0] == "weather"
    assert answers(page, "weathr") == ["weather", "weather"]
    expect(page.locator(".results")).to_contain_text("spelt otherwise")
    first = page.locator(".results li").first
    assert re.search(rf"\d+\.\d ± \d+\.\d % · {day(0)}", first.inner_text())
    assert first.locator("a").get_attribute("rel") == "noreferrer"
    assert answers(page, "<b>")[0] == "<b>bold</b>"
    assert first.locator("a").count() == 0, "an address that runs a script is no link"
    assert page.locator("main b").count() == 0
    assert answers(page, "qqqqqqqq")
    expect(page.locator(".search [role=status]")).to_have_text("Nothing found. The nearest:")
    assert answers(page, "") == []
    assert violations(page) == []


def test_the_keyboard_is_enough(context: BrowserContext, library: Library) -> None:
    page = with_search(context, library)
    page.keyboard.type("wea")
    links = page.locator(".results a")
    for key, focused in (("ArrowDown", links.nth(0)), ("ArrowDown", links.nth(1)), ("ArrowUp", links.nth(0))):
        page.keyboard.press(key)
        expect(focused).to_be_focused()
    page.keyboard.type("t")
    expect(page.get_by_role("searchbox")).to_have_value("weat")
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).to_have_value("")
    page.keyboard.type("train")
    page.keyboard.press("Enter")
    page.wait_for_url("https://rail.example/timetable")
    expect(page.locator("body")).to_have_text("from None")


def test_what_is_typed_leaves_the_page_in_no_way(context: BrowserContext, library: Library) -> None:
    page = with_search(context, library)
    before, address = len(library.wire.requests), page.url
    page.keyboard.type("bicycle secret")
    page.keyboard.press("Escape")
    page.keyboard.type("another secret", delay=5)
    page.wait_for_timeout(200)
    assert library.wire.requests[before:] == []
    assert page.url == address
    assert page.evaluate("history.length") == 2
    state = page.evaluate("async () => JSON.stringify([{...localStorage}, {...sessionStorage}, await caches.keys()])")
    assert "secret" not in state
    page.reload()
    expect(page.locator("main")).to_contain_text(KEPT)
    assert "secret" not in str(library.wire.requests[before:])
    expect(page.get_by_role("searchbox")).to_have_value("")


def test_it_works_with_the_collector_dead_and_without_a_network(visited: BrowserContext, library: Library) -> None:
    library.stop()
    try:
        page = with_search(visited, library, ALONE)
        assert answers(page, "wea")[0] == "weather"
        assert violations(page) == []
        visited.set_offline(True)
        page.reload()
        expect(page.locator("main")).to_contain_text(ALONE)
        assert answers(page, "pancake") == ["pancake recipe"]
        page.close()
    finally:
        visited.set_offline(False)
        library.start()
    with_search(visited, library).close()


def test_its_worker_sees_no_other_page(visited: BrowserContext, library: Library) -> None:
    page = with_search(visited, library)
    scopes = "async () => (await navigator.serviceWorker.getRegistrations()).map(one => one.scope)"
    assert page.evaluate(scopes) == [library.page("/campaigns/done/search")]
    assert page.evaluate("!!navigator.serviceWorker.controller")
    for path in ("/", "/campaigns/done", "/campaigns/reporting/search"):
        page.goto(library.page(path))
        page.locator("main:not([aria-busy])").wait_for()
        assert page.evaluate("navigator.serviceWorker.controller") is None
    page.close()


def test_it_can_be_installed(visited: BrowserContext, library: Library) -> None:
    page = with_search(visited, library)
    session = visited.new_cdp_session(page)
    app = session.send("Page.getAppManifest")
    assert (app["errors"], json.loads(app["data"])["name"]) == ([], "Popular searches")
    assert app["url"] == library.page("/campaigns/done/search.webmanifest")
    errors = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert [error["errorId"] for error in errors if error["errorId"] != "in-incognito"] == []
    page.close()


def test_a_new_version_replaces_the_old_one(visited: BrowserContext, library: Library) -> None:
    page = with_search(visited, library)
    names = "async () => (await caches.keys()).filter(name => name.includes(' page '))"
    (old,) = page.evaluate(names)
    version = old.rpartition(" ")[2].encode()
    with library.tampered({"search-worker.js": lambda body: body.replace(version, b"0123456789ab")}):
        page.reload()
        expect(page.locator("main")).to_contain_text("A new version of this page is ready")
        while old in (kept := page.evaluate(names)):  # the new worker removes it when it takes over
            page.wait_for_timeout(20)
        assert kept == [old.replace(version.decode(), "0123456789ab")]
    page.close()
    with_search(visited, library).close()


TAMPERED: dict[str, dict[str, Callable[[bytes], bytes]]] = {
    "index": {"index": lambda body: body.replace(b"weather", b"weathem", 1)},
    "shorter index": {"index": lambda body: body[:-1]},
    "descriptor": {"index-descriptor": flipped(b'"campaign":"done"', b'"campaign":"gone"')},
    "terms": {"terms": flipped(b"City Library", b"Evil Library")},
    "keys": {"keys": other_key},
}


def test_what_was_changed_is_refused(context: BrowserContext, library: Library) -> None:
    page = context.new_page()
    for what, changes in TAMPERED.items():
        with library.tampered(changes):
            page.goto(library.page("/campaigns/done/search"))
            expect(page.locator("main"), what).to_contain_text("Do not believe this campaign")
        assert page.get_by_role("searchbox").count() == 0
        assert TITLE not in page.locator("body").inner_text()
        assert page.evaluate("async () => (await caches.keys()).length") <= 1
    assert violations(page) == []


def test_who_keeps_a_copy_is_warned_and_goes_on_with_it(visited: BrowserContext, library: Library) -> None:
    for what in ("terms", "descriptor"):
        with library.tampered(TAMPERED[what]):
            page = with_search(visited, library, "What the collector sends now is not believed")
            assert answers(page, "wea")[0] == "weather"
            assert violations(page) == []
            page.close()
    with_search(visited, library).close()


def test_a_kept_copy_that_was_changed_is_not_used(context: BrowserContext, library: Library) -> None:
    page = with_search(context, library)
    page.evaluate(
        """async () => {
            const [name] = (await caches.keys()).filter(one => one.endsWith(" documents"));
            const cache = await caches.open(name);
            const [address] = (await cache.keys()).map(one => one.url).filter(one => one.endsWith("/index"));
            const text = await (await cache.match(address)).text();
            await cache.put(address, new Response(text.replace("weather", "weathem")));
        }"""
    )
    context.set_offline(True)
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("The collector does not answer")
    assert page.get_by_role("searchbox").count() == 0
    context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("main")).to_contain_text(KEPT)
    assert answers(page, "weathe") == ["weather", "weather"]


def test_it_can_be_removed_from_the_browser(context: BrowserContext, library: Library) -> None:
    page = with_search(context, library)
    page.get_by_role("button", name="Remove this search from the browser").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Removed")
    assert page.evaluate("async () => (await caches.keys()).length") == 0
    assert page.evaluate("async () => (await navigator.serviceWorker.getRegistrations()).length") == 0
    page.get_by_role("button", name="Load it again").click()
    expect(page.locator("main")).to_contain_text(KEPT)


def test_firefox_keeps_it_too(library: Library) -> None:
    script, firefox = Path(__file__).with_name("firefox_search.mjs"), shutil.which("firefox-esr") or "firefox"
    command = [NODE or "node", str(script), library.page("/campaigns/done/search"), firefox]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdin
        assert node.stdout
        assert json.loads(node.stdout.readline()) == {"answers": ["weather", "weather"], "complaints": []}
        library.wire.cut()
        try:
            node.stdin.write("\n")
            node.stdin.flush()
            assert json.loads(node.stdout.readline())["answers"] == ["pancake recipe"]
        finally:
            library.wire.connect()
    assert node.returncode == 0


def test_it_waits_for_the_release_and_follows_new_keys(browser: Browser, library: Library) -> None:
    context = browser.new_context(**PHONE)
    page = with_search(context, library, "There is no result yet", "reporting")
    assert violations(page) == []
    with library.opened() as collector:
        release(collector, "reporting", 2)
    page.get_by_role("button", name="Look again").click()
    expect(page.locator("main")).to_contain_text(KEPT)
    assert answers(page, "wea")[0] == "weather"
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert beyond_the_edge(page) == []
    with library.opened() as collector:
        collector.lifecycle.rotate_keys(30)
    page.reload()
    expect(page.locator("main")).to_contain_text(KEPT)
    assert page.locator(".bad").count() == 0
    context.close()


def test_a_campaign_that_is_gone_leaves_its_copy(browser: Browser, library: Library) -> None:
    context = browser.new_context(**DESK)
    page = with_search(context, library)
    with library.opened() as collector:
        collector.lifecycle.delete("done")
    page.reload()
    expect(page.locator("main")).to_contain_text("The collector has this campaign no more")
    assert answers(page, "wea")[0] == "weather"
    context.close()
    context = browser.new_context(**DESK)
    with_search(context, library, "There is no such campaign")
    context.close()
