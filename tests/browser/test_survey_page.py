from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from blendp.evaluation.surveys import evaluate_survey, plan_survey
from blendp.render.survey.page import render_survey, render_survey_plan, render_trials
from blendp.render.survey.text import NOT_PRIVATE, PlanView, Trials
from blendp.survey import METHODS, SurveyParameters, run_survey
from tests.browser.looks import beyond_the_edge, misplaced_labels, small_labels
from tests.browser.windows import Windows
from tests.support import KnownKey
from tests.unit.render.survey_samples import fair_answers, hostile_answers

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("pages")]

PHONE, DESK = 390, 1200

HEADINGS = {
    "survey": ("Be careful", "Frequencies", "The promises", "Who reported what", "How answers hang together"),
    "plan": ("What to do next", "Methods", "What is assumed"),
    "evaluation": ("Methods", "Who reported what"),
}
PLOTS = {"survey": 3, "plan": 2, "evaluation": 4}


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder: Path = tmp_path_factory.mktemp("survey")
    parameters = SurveyParameters(epsilon=2, method="cbp", learn="tree")
    release = run_survey(hostile_answers(), parameters, opt_in=0.3, random=KnownKey(1))
    answers, every = fair_answers(2_000), [SurveyParameters(method=name) for name in METHODS]
    plan = PlanView(plan_survey(answers, every, people=40_000, opt_in=0.1), "<b>rows</b>.csv", "none", False)
    trials = tuple(evaluate_survey(answers, one, opt_in=0.1, runs=2) for one in (every[0], every[2]))
    done = Trials(answers.questionnaire, tuple(answers.frequencies()), answers.people, trials, 0)
    pages = {
        "survey": render_survey(release, title="A <b>bold</b> survey"),
        "plan": render_survey_plan(plan),
        "evaluation": render_trials(done),
    }
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in pages}


@pytest.fixture(scope="module", params=["survey", "plan", "evaluation"])
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture(scope="module", params=[(DESK, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def page(request: pytest.FixtureRequest, windows: Windows, addresses: dict[str, str], name: str) -> Iterator[Page]:
    """Loaded once: the tests only look at it."""
    width, scheme = request.param
    with windows.window(viewport={"width": width, "height": 900}, color_scheme=scheme) as window:
        window.page.goto(addresses[name])
        yield window.page
        assert window.complaints() == []
        assert [address for address in window.asked if address != "data:,"] == [addresses[name]]


def test_everything_is_there_and_visible(page: Page, name: str) -> None:
    for heading in HEADINGS[name]:
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    if name != "survey":
        expect(page.get_by_role("note")).to_have_text(NOT_PRIVATE)
    plots = page.get_by_role("img")
    assert plots.count() == PLOTS[name]
    for plot in plots.all():
        expect(plot).to_be_visible()
        assert plot.get_attribute("aria-describedby")
        assert plot.locator("desc").text_content()
    assert page.locator("script").count() == 1
    expect(page.get_by_text("In any case", exact=True)).to_be_visible()
    facts = page.locator(".facts > div")
    assert facts.count() == 4


def test_hostile_names_are_text(page: Page, name: str) -> None:
    if name == "survey":
        expect(page.locator("h1")).to_have_text("A <b>bold</b> survey")
        assert page.get_by_text("<script>alert('ran')</script>", exact=True).count() >= 2
        assert page.locator(".estimates details").count() > 0
    elif name == "plan":
        expect(page.locator(".lead")).to_contain_text("<b>rows</b>.csv")
        assert page.locator(".best").count() == 1
    else:
        assert page.locator("td.true").count() == 12


def test_on_paper_no_column_is_cut(browser: Browser, addresses: dict[str, str], name: str) -> None:
    """What scrolls on a screen has to fit A4, margins taken off."""
    context = browser.new_context(viewport={"width": 718, "height": 1000})
    page = context.new_page()
    page.goto(addresses[name])
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert beyond_the_edge(page) == []
    context.close()


def test_nothing_overflows_and_labels_stay_apart(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert beyond_the_edge(page) == []
    assert misplaced_labels(page) == []


def test_text_is_readable(page: Page) -> None:
    """No text is smaller than people read, and ink differs from paper."""
    small = page.evaluate(
        """() => [...document.querySelectorAll("main p, main td, main th, main li, main dd, figcaption")]
            .filter(e => e.textContent.trim() && parseFloat(getComputedStyle(e).fontSize) < 12)
            .map(e => e.outerHTML.slice(0, 80))"""
    )
    assert small == []
    assert small_labels(page) == []
