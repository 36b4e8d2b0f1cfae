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
from playwright.sync_api import Browser, Page, expect

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
def unvisited(browser: Browser) -> Iterator[Page]:
    """A page of a browser that nobody has used."""
    context = browser.new_context(**DESK)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def visitor(browser: Browser, library: Library) -> Iterator[Page]:
    """A page of a browser that keeps the search page of the released campaign, and is left so by every test.

    Sites that results lead to answer, and tell who sent people there.
    """
    context = browser.new_context(**DESK)
    context.route(re.compile("^https://"), lambda to: to.fulfill(body=f"from {to.request.headers.get('referer')}"))
    page = context.new_page()
    visit(page, library)
    yield page
    context.close()


@pytest.fixture
def visited(visitor: Page, library: Library) -> Page:
    """The search page, which this browser has kept before."""
    visit(visitor, library)
    return visitor


def visit(page: Page, library: Library, said: str = KEPT, campaign: str = "done") -> None:
    """The search page, when it has said so."""
    page.goto(library.page(f"/campaigns/{campaign}/search"))
    expect(page.locator("main")).to_contain_text(said)


def answers(page: Page, text: str) -> list[str]:
    """The queries that are found, in their order."""
    page.get_by_role("searchbox").fill(text)
    return [one.inner_text().splitlines()[0] for one in page.locator(".results li").all()]


def test_answers_come_as_one_types(unvisited: Page, library: Library) -> None:
    page = unvisited
    visit(page, library)
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


def test_the_keyboard_is_enough(visited: Page) -> None:
    page = visited
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


def test_what_is_typed_leaves_the_page_in_no_way(visited: Page, library: Library) -> None:
    page = visited
    before, address, visits = len(library.wire.requests), page.url, page.evaluate("history.length")
    page.keyboard.type("bicycle secret")
    page.keyboard.press("Escape")
    page.keyboard.type("another secret", delay=5)
    page.wait_for_timeout(200)
    # the browser may look for a newer service worker at any time after a visit
    assert [request for request in library.wire.requests[before:] if not request[1].endswith("/search-worker.js")] == []
    assert page.url == address
    assert page.evaluate("history.length") == visits
    state = page.evaluate("async () => JSON.stringify([{...localStorage}, {...sessionStorage}, await caches.keys()])")
    assert "secret" not in state
    page.reload()
    expect(page.locator("main")).to_contain_text(KEPT)
    assert "secret" not in str(library.wire.requests[before:])
    expect(page.get_by_role("searchbox")).to_have_value("")


def test_it_works_with_the_collector_dead_and_without_a_network(visited: Page, library: Library) -> None:
    page = visited
    library.stop()
    try:
        visit(page, library, ALONE)
        assert answers(page, "wea")[0] == "weather"
        assert violations(page) == []
        page.context.set_offline(True)
        page.reload()
        expect(page.locator("main")).to_contain_text(ALONE)
        assert answers(page, "pancake") == ["pancake recipe"]
    finally:
        page.context.set_offline(False)
        library.start()
    visit(page, library)


def test_its_worker_sees_no_other_page(visited: Page, library: Library) -> None:
    page = visited
    scopes = "async () => (await navigator.serviceWorker.getRegistrations()).map(one => one.scope)"
    assert page.evaluate(scopes) == [library.page("/campaigns/done/search")]
    assert page.evaluate("!!navigator.serviceWorker.controller")
    for path in ("/", "/campaigns/done", "/campaigns/reporting/search"):
        page.goto(library.page(path))
        page.locator("main:not([aria-busy])").wait_for()
        assert page.evaluate("navigator.serviceWorker.controller") is None


def test_it_can_be_installed(visited: Page, library: Library) -> None:
    session = visited.context.new_cdp_session(visited)
    app = session.send("Page.getAppManifest")
    assert (app["errors"], json.loads(app["data"])["name"]) == ([], "Popular searches")
    assert app["url"] == library.page("/campaigns/done/search.webmanifest")
    errors = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert [error["errorId"] for error in errors if error["errorId"] != "in-incognito"] == []
    session.detach()


def test_a_new_version_replaces_the_old_one(visited: Page, library: Library) -> None:
    page = visited
    names = "async () => (await caches.keys()).filter(name => name.includes(' page '))"
    (old,) = page.evaluate(names)
    version = old.rpartition(" ")[2].encode()
    with library.tampered({"search-worker.js": lambda body: body.replace(version, b"0123456789ab")}):
        page.reload()
        expect(page.locator("main")).to_contain_text("A new version of this page is ready")
        while old in (kept := page.evaluate(names)):  # the new worker removes it when it takes over
            page.wait_for_timeout(20)
        assert kept == [old.replace(version.decode(), "0123456789ab")]
    visit(page, library)


TAMPERED: dict[str, dict[str, Callable[[bytes], bytes]]] = {
    "index": {"index": lambda body: body.replace(b"weather", b"weathem", 1)},
    "shorter index": {"index": lambda body: body[:-1]},
    "descriptor": {"index-descriptor": flipped(b'"campaign":"done"', b'"campaign":"gone"')},
    "terms": {"terms": flipped(b"City Library", b"Evil Library")},
    "keys": {"keys": other_key},
}


def test_what_was_changed_is_refused(unvisited: Page, library: Library) -> None:
    page = unvisited
    for what, changes in TAMPERED.items():
        with library.tampered(changes):
            page.goto(library.page("/campaigns/done/search"))
            expect(page.locator("main"), what).to_contain_text("Do not believe this campaign")
        assert page.get_by_role("searchbox").count() == 0
        assert TITLE not in page.locator("body").inner_text()
        assert page.evaluate("async () => (await caches.keys()).length") <= 1
    assert violations(page) == []


def test_who_keeps_a_copy_is_warned_and_goes_on_with_it(visited: Page, library: Library) -> None:
    for what in ("terms", "descriptor"):
        with library.tampered(TAMPERED[what]):
            visit(visited, library, "What the collector sends now is not believed")
            assert answers(visited, "wea")[0] == "weather"
            assert violations(visited) == []
    visit(visited, library)


def test_a_kept_copy_that_was_changed_is_not_used(visited: Page) -> None:
    page = visited
    page.evaluate(
        """async () => {
            const [name] = (await caches.keys()).filter(one => one.endsWith(" documents"));
            const cache = await caches.open(name);
            const [address] = (await cache.keys()).map(one => one.url).filter(one => one.endsWith("/index"));
            const text = await (await cache.match(address)).text();
            await cache.put(address, new Response(text.replace("weather", "weathem")));
        }"""
    )
    page.context.set_offline(True)
    try:
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_have_text("The collector does not answer")
        assert page.get_by_role("searchbox").count() == 0
    finally:
        page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("main")).to_contain_text(KEPT)
    assert answers(page, "weathe") == ["weather", "weather"]


def test_it_can_be_removed_from_the_browser(unvisited: Page, library: Library) -> None:
    page = unvisited
    visit(page, library)
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
    page = context.new_page()
    visit(page, library, "There is no result yet", "reporting")
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


def test_a_campaign_that_is_gone_leaves_its_copy(visited: Page, unvisited: Page, library: Library) -> None:
    with library.opened() as collector:
        collector.lifecycle.delete("done")
    visited.reload()
    expect(visited.locator("main")).to_contain_text("The collector has this campaign no more")
    assert answers(visited, "wea")[0] == "weather"
    visit(unvisited, library, "There is no such campaign")
