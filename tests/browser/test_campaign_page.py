"""The pages of campaigns, in a real browser, from a real collector behind a proxy at a path of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from blendp.headlist import HeadList
from blendp.wire import Manifest, Terms
from blendp.wire.envelope import Envelope, SigningKey
from blendp.wire.media_types import MANIFEST_TYPE, TERMS_TYPE
from tests.browser.accessibility import violations
from tests.browser.collectors import OPT_IN, PEOPLE_OF, TITLE, Library
from tests.browser.looks import beyond_the_edge
from tests.browser.windows import Windows

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("pages")]

DESK: dict[str, Any] = {"viewport": {"width": 1200, "height": 900}, "color_scheme": "light"}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "color_scheme": "dark",
    "has_touch": True,
    "is_mobile": True,
}
REFUSED = "Do not believe this campaign"
_STOPS = """() => [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
    .filter(one => one.checkVisibility()).map((one, i) => (one.dataset.stop = i))"""

_DRAW = """times => Array.from({length: times}, () => {
    [...document.querySelectorAll("button")].find(one => one.textContent === "Draw another report").click();
    return document.querySelector("#rehearsal ~ .card").innerText;
})"""
"""Reports that are drawn, in words."""


@contextmanager
def opened(windows: Windows, address: str, *expected: str, **options: Any) -> Iterator[Page]:
    """The page, when it is ready; whatever it complains about, other than what is expected, fails the test."""
    with windows.window(**{**DESK, **options}) as window:
        window.page.goto(address)
        window.page.locator("main:not([aria-busy])").wait_for()
        yield window.page
        assert window.complaints(*expected) == []


def text_of(page: Page) -> str:
    return page.locator("body").inner_text()


def require_looks(page: Page) -> None:
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert beyond_the_edge(page) == []


def test_all_campaigns_are_listed(windows: Windows, library: Library) -> None:
    with opened(windows, library.page("/"), **PHONE) as page:
        require_looks(page)
        states = page.locator(".campaigns .state").all_inner_texts()
        assert states == ["Released", "Reporting", "Collecting for the list"]
        page.get_by_role("link", name=TITLE).first.click()
        expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
        assert page.url == library.page("/campaigns/done")


def test_a_released_campaign(windows: Windows, library: Library) -> None:
    before = len(library.wire.requests)
    with opened(windows, library.page("/campaigns/done")) as page:
        text = text_of(page)
        for part in ("City Library", "works offline", "privacy@library.example", "terms, manifest, list and result"):
            assert part in text
        rows = page.get_by_role("region", name="The most popular records").locator("tbody tr")
        assert rows.count() == len(PEOPLE_OF) + 1
        expect(rows.first).to_contain_text("weather")
        expect(rows.filter(has_text="opening hours")).to_contain_text("✱ (any address)")
        expect(rows.filter(has_text="✱")).to_have_count(1)
        expect(page.get_by_role("region", name="The most popular queries")).not_to_contain_text("any address")
        assert re.search(r"\d+\.\d ± \d+\.\d %", rows.first.inner_text())
        assert page.locator("tbody .bar .range").count() == page.locator("tbody .bar .dot").count() > len(PEOPLE_OF)
        expect(page.locator("#agreement ~ p").first).to_contain_text("Opt-in users and clients")
        expect(page.locator("#promise ~ p").first).to_contain_text("it never proves anything")
        assert page.locator(".dots svg").count() == 4
        expect(page.get_by_role("heading", name="Trends")).to_be_visible()
        expect(page.locator("#about ~ p").first).to_contain_text("It never sees your records")
        page.get_by_role("searchbox", name="Search the result").fill("weathr")
        expect(page.locator(".results a").first).to_contain_text("weather")
        page.get_by_role("searchbox", name="Search the result").fill("openi")
        expect(page.locator(".results button")).to_have_text("opening hours")
        with page.expect_download() as download:
            page.get_by_role("link", name="release.json").click()
        signed = Envelope.from_bytes(download.value.path().read_bytes())
        assert json.loads(signed.payload)["campaign"] == "done"
        assert page.locator("main b").count() == 0
        assert page.locator("[href^='javascript:']").count() == 0
        assert page.context.cookies() == []
        require_looks(page)
    sent = library.wire.requests[before:]
    assert {method for method, _, _ in sent} == {"GET"}
    assert "weathr" not in str(sent)
    assert not [target for _, target, _ in sent if not target.startswith("/collector/")]
    assert not any({"referer", "cookie"} & {name.lower() for name in headers} for _, _, headers in sent)


def test_what_is_being_collected(windows: Windows, library: Library) -> None:
    with opened(windows, library.page("/campaigns/collecting"), **PHONE) as page:
        require_looks(page)
        expect(page.locator(".state")).to_have_text("Collecting for the list")
        expect(page.locator(".good").first).to_contain_text("the terms are signed")
        expect(page.locator("#promise ~ p").first).to_contain_text("your part in this")
        for section in ("rehearsal", "list", "results", "search"):
            assert page.locator(f"#{section}").count() == 0


def test_an_invented_report_is_drawn_here_and_sent_nowhere(windows: Windows, library: Library) -> None:
    with opened(windows, library.page("/campaigns/reporting")) as page:
        expect(page.locator("#rehearsal ~ .good")).to_contain_text("Everything here is invented")
        before = len(library.wire.requests)
        report = page.locator("#rehearsal ~ .card")
        seen = set()
        for choice in ("0", "3", "-1"):
            page.locator("#invented").select_option(choice)
            for _ in range(4):
                page.get_by_role("button", name="Draw another report").click()
                digits = report.locator("pre").inner_text()
                assert re.fullmatch(r"[0-9a-f]{2}", digits)
                expect(report.locator("blockquote")).to_contain_text("it never proves anything")
                said = "It names 1 of (12|23) (queries|records)|It says that the person searched for nothing"
                expect(report).to_contain_text(re.compile(said))
                seen.add((choice, digits))
        assert len(seen) > 3
        expect(report.locator(".dots")).to_contain_text(re.compile("about (71|83) of 100"))
        assert library.wire.requests[before:] == []
        require_looks(page)


def flipped(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """A document whose payload says something else, under the same signatures."""

    def change(body: bytes) -> bytes:
        signed = Envelope.from_bytes(body)
        assert old in signed.payload
        return Envelope(signed.media_type, signed.payload.replace(old, new, 1), signed.signatures).to_bytes()

    return change


def other_key(body: bytes) -> bytes:
    """The index of keys, with a key that signed nothing."""
    key = json.loads(body)["keys"][0]["key"]
    return body.replace(key.encode(), SigningKey.new().public.text.encode())


TAMPERED: dict[str, dict[str, Callable[[bytes], bytes]]] = {
    "terms": {"terms": flipped(b"City Library", b"Evil Library")},
    "manifest": {"manifest": flipped(b'"opt_in_people":', b'"opt_in_people":9')},
    "list": {"list": lambda body: body.replace(b"weather", b"weathem")},
    "release": {"release": flipped(b'"weather"', b'"weathem"')},
    "keys": {"keys": other_key},
    "nonsense": {"terms": lambda _: b"{}"},
    "half": {"release": lambda body: body[: len(body) // 2]},
}


def test_what_was_changed_is_refused_loudly_and_not_shown(windows: Windows, library: Library) -> None:
    with opened(windows, library.page("/campaigns/done")) as page:
        for what, changes in TAMPERED.items():
            with library.tampered(changes):
                page.reload()
                expect(page.get_by_role("alert"), what).to_contain_text(REFUSED)
            text = text_of(page)
            assert not [part for part in (TITLE, "Library", "weath", "Verified") if part in text], what
        require_looks(page)
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)


def test_the_key_is_shown_and_can_be_given(windows: Windows, library: Library) -> None:
    known = httpx.get(library.page("/v1/keys")).json()["keys"][0]["key"]
    with opened(windows, library.page("/campaigns/reporting")) as page:
        keys = page.locator("#signatures ~ .card")
        expect(keys).to_contain_text("This key came from this collector, and so did this page")
        assert known in keys.inner_text().replace(" ", "")
        given = page.get_by_label("The key that you know")
        given.fill("abc")
        given.press("Enter")
        expect(page.locator("#key-error")).to_have_text("A key has 64 hexadecimal digits.")
        given.fill(SigningKey.new().public.text)
        page.get_by_role("button", name="Verify with this key").click()
        expect(page.get_by_role("alert")).to_contain_text(REFUSED)
        assert TITLE not in text_of(page)
        page.get_by_role("button", name="Start again without the key that you gave").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
        given.fill(" ".join(re.findall("." * 8, known.upper())))
        page.get_by_role("button", name="Verify with this key").click()
        expect(page.locator("#signatures ~ .card")).to_contain_text("follows from the key that you gave")


def test_a_campaign_that_is_gone_has_a_kind_page(windows: Windows, library: Library) -> None:
    for name, reason in (("gone", "was deleted by its operator"), ("nobody", "There is no campaign 'nobody'")):
        with opened(windows, library.page(f"/campaigns/{name}"), "404", **PHONE) as page:
            expect(page.get_by_role("heading", level=1)).to_have_text("There is no such campaign")
            expect(page.locator("main")).to_contain_text(reason)
            require_looks(page)
            page.get_by_role("link", name="All campaigns of this collector").click()
            expect(page.get_by_role("heading", level=1)).to_have_text("Campaigns")


def test_a_collector_that_does_not_answer_is_asked_again(windows: Windows, library: Library) -> None:
    with opened(windows, library.page("/campaigns/collecting"), "ERR_") as page:
        page.route("**/v1/**", lambda route: route.abort())
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_have_text("The collector does not answer")
        page.unroute("**/v1/**")
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)


def terms_of_reporting(library: Library) -> Terms:
    """What the campaign that asks clients has promised."""
    signed = Envelope.from_bytes(httpx.get(library.page("/v1/campaigns/reporting/terms")).content)
    return Terms.from_bytes(signed.payload)


def signed_by(key: SigningKey, manifest: Manifest, head_list: HeadList) -> dict[str, Callable[[bytes], bytes]]:
    """Documents in the place of the collector's, under a key that it names."""
    terms = manifest.terms
    return {
        "keys": lambda _: json.dumps(
            {"keys": [{"key": key.public.text, "since": terms.opens, "until": None}], "statements": []}
        ).encode(),
        "terms": lambda _: Envelope.sealed(TERMS_TYPE, terms.to_bytes(), [key]).to_bytes(),
        "manifest": lambda _: Envelope.sealed(MANIFEST_TYPE, manifest.to_bytes(), [key]).to_bytes(),
        "list": lambda _: head_list.to_bytes(),
    }


def test_a_long_list_is_filtered_and_shown_in_parts(windows: Windows, library: Library) -> None:
    """Signed by another key, so that nobody has to opt in 20 000 times."""
    key, terms = SigningKey.new(), terms_of_reporting(library)
    head_list = HeadList.of_records((f"query {number}", f"https://{number % 7}.example") for number in range(20_000))
    manifest = Manifest(terms, head_list.sha256, 20_000, OPT_IN, 0.4, terms.opens)
    documents = signed_by(key, manifest, head_list)
    with library.tampered(documents), opened(windows, library.page("/campaigns/reporting")) as page:
        status = page.locator("#list ~ div [role=status]")
        rows = page.locator("#list ~ div tbody tr")
        expect(status).to_have_text("20 of 20,000 listed records")
        page.get_by_role("button", name="Show 100 more").click()
        assert rows.count() == 120
        page.get_by_label("Filter listed records").fill("QUERY 1999")
        expect(status).to_have_text("11 of 11 listed records that match")
        assert rows.count() == 11
        page.locator("#invented").select_option("-1")
        expect(page.locator("#rehearsal ~ .card")).to_contain_text("more")


def test_a_report_with_the_wildcard_apart_names_listed_ones_or_none(windows: Windows, library: Library) -> None:
    key, terms = SigningKey.new(), terms_of_reporting(library)
    head_list = HeadList.of_records((f"query {number}", f"https://{number % 7}.example") for number in range(60))
    manifest = Manifest(terms, head_list.sha256, 60, OPT_IN, 0.4, terms.opens, "apart")
    named = re.compile(r"It names \d+ of (60|120) (queries|records), (this person's among them|and not this person's):")
    nothing = re.compile(r"It says that the person searched for nothing on the list, (and so it is|which is not so)\.")
    groups = {
        "0": ["Of 100 people who searched for it", "something else on the list", "nothing on the list"],
        "-1": ["so many send a report that says so", "something on the list"],
    }
    documents = signed_by(key, manifest, head_list)
    with library.tampered(documents), opened(windows, library.page("/campaigns/reporting"), **PHONE) as page:
        report = page.locator("#rehearsal ~ .card")
        for choice, usual in (("0", named), ("-1", nothing)):
            page.locator("#invented").select_option(choice)
            drawn = page.evaluate(_DRAW, 20)
            assert all(bool(named.search(text)) != bool(nothing.search(text)) for text in drawn)
            assert sum(bool(usual.search(text)) for text in drawn) > 2
            labels = report.locator(".dots p").all_inner_texts()
            assert all(part in label for part, label in zip(groups[choice], labels, strict=True))
            expect(report.locator("blockquote")).to_contain_text("it never proves anything")
            require_looks(page)


def test_everything_can_be_reached_by_keyboard(windows: Windows, library: Library) -> None:
    with opened(windows, library.page("/campaigns/done")) as page:
        expect(page.locator(".search input")).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        stops = page.evaluate(_STOPS)
        assert len(stops) > 25
        visited = []
        for _ in stops:
            visited.append(page.evaluate("+document.activeElement.dataset.stop"))
            ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert ring == "solid", visited
            page.keyboard.press("Tab")
        assert visited == stops


def test_large_text_dark_and_forced_colours(windows: Windows, library: Library) -> None:
    with opened(windows, library.page("/campaigns/done"), **PHONE, reduced_motion="reduce") as page:
        require_looks(page)
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        assert page.evaluate("getComputedStyle(document.querySelector('button')).transitionDuration") == "0s"
        for colours in ("none", "active"):
            page.emulate_media(forced_colors=colours)
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            assert beyond_the_edge(page) == []
            filled, empty = (
                page.evaluate(f"getComputedStyle(document.querySelector('.dots circle{one}')).fill")
                for one in (".filled", ":not(.filled)")
            )
            assert filled != empty


def test_scripts_of_others_do_not_run(windows: Windows, library: Library) -> None:
    with opened(windows, library.page("/"), "Content Security Policy", "Trusted") as page:
        page.evaluate(
            """() => {
                document.body.append(Object.assign(new Image(), {src: "https://example.org/pixel.png"}));
                try { document.body.innerHTML = "<b>new</b>"; } catch { window.refused = true; }
                try { trustedTypes.createPolicy("default", {}); } catch { window.unnamed = true; }
            }"""
        )
        assert page.evaluate("window.refused && window.unnamed")
        expect(page.get_by_role("heading", level=1)).to_have_text("Campaigns")
