"""Surveys on disk: whole or not at all, nothing unprotected, and texts that cannot break a file or a page."""

from __future__ import annotations

import csv
import datetime
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from blendp.answers import Answers, Attribute, Questionnaire
from blendp.errors import OutputExistsError, RandomnessError
from blendp.evaluation.surveys import evaluate_survey, plan_survey
from blendp.randomness import SimulationRandom
from blendp.render.about import About
from blendp.render.survey.files import SURVEY_FILES, frequency_rows, survey_card, write_survey
from blendp.render.survey.page import SEEDED, render_survey, render_survey_plan, render_trials
from blendp.render.survey.plots import _parts
from blendp.render.survey.terminal import bar, frequency_table
from blendp.render.survey.text import NOT_PRIVATE, PlanView, Trials
from blendp.survey import METHODS, SurveyParameters, SurveyRelease, Tree, run_survey, simulate_survey
from blendp.survey.models.files import model_from_bytes
from tests.support import KnownKey
from tests.unit.render.samples import only_script
from tests.unit.render.survey_samples import HOSTILE, fair_answers, hostile_answers


@pytest.fixture(scope="module")
def release() -> SurveyRelease:
    parameters = SurveyParameters(epsilon=2, learn="tree", method="cbp")
    return run_survey(hostile_answers(), parameters, opt_in=0.3, random=KnownKey(1))


def test_all_files_say_the_same(release: SurveyRelease, tmp_path: Path) -> None:
    about = About("A title", "answers.csv", datetime.date(2026, 11, 17))
    write_survey(release, str(tmp_path / "out"), source={"opt_in": 0.3}, about=about)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(SURVEY_FILES)
    with (tmp_path / "out/frequencies.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, estimate in zip(rows, release.rows(), strict=True):
        assert (row["attribute"], row["value"]) == (estimate.attribute, estimate.value)
        assert float(row["frequency"]) == estimate.frequency
        assert float(row["weight_opt_in"]) == estimate.weight_opt_in
    assert frequency_rows(release)[0]["frequency"] == release.frequency[0]
    card = json.loads((tmp_path / "out/survey.json").read_text(encoding="utf-8"))
    assert card.pop("frequencies") == frequency_rows(release)
    assert card == json.loads(json.dumps(survey_card(release, {"opt_in": 0.3}, about)))
    assert card["about"] == {"title": "A title", "log": "answers.csv", "day": "2026-11-17"}
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "<h1>A title</h1>" in page
    assert "answers.csv · 2026-11-17" in page
    assert card["guarantee"]["statement"] == release.statement
    assert card["guarantee"]["confidence"] == 0.99
    assert card["parameters"]["opt_in"] == 0.3
    assert card["opt_in_noise"] == [{"attributes": 2, "tables": 6, "sigma": float(release.tables.sigmas[0])}]  # type: ignore[union-attr]
    asked = Questionnaire.from_bytes((tmp_path / "out/questionnaire.json").read_bytes())
    assert asked == release.questionnaire
    assert isinstance(model_from_bytes((tmp_path / "out/model.json").read_bytes(), asked), Tree)


def test_the_card_depends_on_nothing_but_what_was_released(release: SurveyRelease) -> None:
    """Everything in the card is a parameter, a group size, or follows from noisy tables."""

    def keys(value: Any) -> set[str]:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        return set(value if isinstance(value, dict) else ()).union(*map(keys, inner))

    assert not keys(survey_card(release)) & {"truth", "rmse", "coverage", "counts", "codes", "rows"}


def test_an_experiment_is_not_written(tmp_path: Path) -> None:
    drawn = simulate_survey(fair_answers(500), opt_in=0.2, random=SimulationRandom(1))
    with pytest.raises(RandomnessError, match=r"SurveySimulation is not for release: .* blendp.run_survey"):
        write_survey(drawn, tmp_path / "out")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    assert SEEDED in render_survey(drawn, title="An experiment")


def test_an_earlier_result_is_kept_unless_told_otherwise(release: SurveyRelease, tmp_path: Path) -> None:
    target = tmp_path / "out"
    write_survey(release, target)
    before = (target / "survey.json").read_bytes()
    with pytest.raises(OutputExistsError, match="earlier result"):
        write_survey(release, target)
    assert (target / "survey.json").read_bytes() == before
    untreed = run_survey(fair_answers(500), SurveyParameters(method="split"), opt_in=0.0, random=KnownKey(2))
    write_survey(untreed, target, overwrite=True)
    assert not (target / "model.json").exists()
    (target / "mine.txt").write_text("a file of somebody")
    with pytest.raises(OutputExistsError, match="did not write"):
        write_survey(release, target, overwrite=True)


def test_texts_reach_the_page_escaped_and_whole(release: SurveyRelease) -> None:
    page = render_survey(release, title="A <b>bold</b> title")
    assert only_script(page)
    assert "<b>" not in page
    assert "&lt;script&gt;alert" in page
    assert "\u202e" not in page
    assert "⟨U+202E⟩" in page
    assert "$x^2$ &amp; \\frac" in page
    for svg in page.split("<svg viewBox")[1:]:
        ElementTree.fromstring("<svg viewBox" + svg.split("</svg>")[0] + "</svg>")
    assert HOSTILE[3].strip() in page


def test_plans_and_trials_have_pages_for_every_method() -> None:
    answers = hostile_answers(600)
    parameters = [SurveyParameters(method=name) for name in METHODS]
    view = PlanView(plan_survey(answers, parameters, opt_in=0.2), "600 rows of <a>.csv", "none", inferred=True)
    page = render_survey_plan(view)
    assert NOT_PRIVATE in page
    assert "600 rows of &lt;a&gt;.csv" in page
    assert only_script(page)
    trials = tuple(evaluate_survey(answers, one, opt_in=0.2, runs=1) for one in parameters)
    done = Trials(answers.questionnaire, tuple(answers.frequencies()), answers.people, trials, 0)
    page = render_trials(done)
    assert NOT_PRIVATE in page
    assert only_script(page)
    assert json.dumps(done.to_dict(), allow_nan=False)
    for name in METHODS:
        assert f"<strong>{name}</strong>" in page


@pytest.mark.parametrize("rests", [True, False])
def test_a_promise_without_a_model_rests_on_nothing_that_was_learnt(release: SurveyRelease, rests: bool) -> None:
    """Clients who report one attribute with all of epsilon are promised it whatever was learnt beside them."""
    sample = run_survey(hostile_answers(), SurveyParameters(epsilon=2, method="sample"), opt_in=0.3, random=KnownKey(1))
    outcome = release if rests else replace(release, design=sample.design)
    page = render_survey(outcome, title="t")
    assert outcome.keeps_without_model is not rests
    assert ("The promise to clients rests on what" in page) is rests
    assert ("The promise to clients does not rest on it" in page) is not rests


def test_an_evaluation_says_of_which_survey_each_number_is() -> None:
    answers, parameters = hostile_answers(), SurveyParameters(epsilon=2, learn="tree", method="cbp")
    trial = evaluate_survey(answers, parameters, opt_in=0.3, runs=2, seed=1)
    page = render_trials(Trials(answers.questionnaire, tuple(answers.frequencies()), 3_000, (trial,), 1))
    assert "the most in any of the surveys" in page
    assert "These are about the first of the surveys" in page


def test_many_answers_are_cut_where_nobody_reads_on() -> None:
    asked = Questionnaire(tuple(Attribute(f"q{j}", tuple(map(str, range(40)))) for j in range(3)))
    codes = np.random.default_rng(1).integers(0, 40, (2_000, 3)).astype(np.int32)
    parameters = SurveyParameters(method="sample")
    release = run_survey(Answers(asked, codes), parameters, opt_in=0.0, random=KnownKey(3))
    page = render_survey(release, title="Many")
    assert "The plots show the first 54 of 120 answers" in page
    from rich.console import Console

    console = Console(width=100, record=True, file=None, force_terminal=False)
    with console.capture() as shown:
        console.print(frequency_table(release.rows(), release.last_step))
    assert "... and 80 more, in frequencies.csv" in shown.get()


def test_plots_end_between_attributes() -> None:
    assert _parts((2, 2, 3, 2, 2, 3)) == [(0, 7), (7, 14)]
    assert _parts((2,)) == [(0, 2)]
    assert _parts((40,)) == [(0, 14), (14, 28), (28, 40)]
    assert _parts((2,) * 64)[-1][1] == 56


def test_a_bar_is_as_long_as_its_share() -> None:
    assert [len(bar(share, 8)) for share in (-0.1, 0.0, 0.5, 1.0, 1.2)] == [0, 0, 4, 8, 8]
    assert bar(1 / 64, 8) == "▏"
    assert bar(math.nan) == ""
