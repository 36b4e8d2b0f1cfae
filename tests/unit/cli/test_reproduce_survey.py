"""``blendp reproduce survey`` as a researcher meets it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from blendp.cli import reproduce_survey
from blendp.cli.app import app
from blendp.evaluation.figures import survey_figures
from blendp.evaluation.figures.survey_figures import (
    SURVEY_FIGURES,
    SURVEY_QUICK,
    Asking,
    SurveyGrid,
    SurveyLaboratory,
    survey_steps,
)

TINY = SurveyGrid((1.0, 4.0), (2, 3), (0.0, 0.9), asked=3)


def blendp(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["reproduce", *arguments], env={"COLUMNS": "160"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def test_every_comparison_has_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduce_survey, "SURVEY_QUICK", TINY)
    monkeypatch.setattr(survey_figures, "_MORE", 1)
    out = tmp_path / "figures"
    small = ("--quick", "--users", "400", "--runs", "2", "--out", str(out))
    code, shown, errors = blendp("survey", *small)
    assert (code, shown, errors) == (0, f"6 figures in {out}: open {out / 'index.html'}\n", "")
    files = {f"figure-{name}.{kind}" for name in SURVEY_FIGURES for kind in ("csv", "json", "svg", "png")}
    assert {path.name for path in out.iterdir()} == files | {"index.html"}
    page = (out / "index.html").read_text()
    assert "400 people who do not exist" in page
    assert "BLENDER" not in page
    assert all(figure.title in page for figure in SURVEY_FIGURES.values())
    for data in out.glob("*.csv"):
        columns = data.read_text().splitlines()[0].split(",")
        assert len(columns) == len(set(columns)), data.name
    with (out / "figure-survey-epsilon.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == set(survey_figures.METHODS)
    assert all(float(row["loss_about_attribute"]) <= float(row["epsilon"]) * (1 + 1e-9) for row in rows)
    document = json.loads((out / "figure-survey-formula.json").read_text())
    xor = [point["mean"] for point in document["points"] if "xor" in point["law"]]
    assert all(each["published"] < each["exact"] <= each["record"] for each in xor)
    assert blendp("survey", *small)[0] == 4


def test_what_makes_no_sense_with_survey_is_refused(tmp_path: Path) -> None:
    for wrong in (("12",), ("--log", "log.csv"), ("--users", "5"), ("--runs", "0"), ("--seed", "-1")):
        code, _, errors = blendp("survey", *wrong, "--out", str(tmp_path / "figures"))
        assert (code, bool(errors)) == (2, True)
    assert not list(tmp_path.iterdir())


def test_the_right_allocation_is_best_and_the_promise_is_kept() -> None:
    """By formula: the two allocations that the paper prints are worse."""
    even = [np.full(2, 0.5)] * 8
    errors = {
        rule: Asking(0.5, 4, 0.8, allocation=rule).design(20_000).mean_squared_error(even)
        for rule in survey_figures.ALLOCATIONS
    }
    assert min(errors, key=errors.__getitem__) == "root"
    assert errors["plain"] > 1.2 * errors["root"]
    assert errors["cube root"] > 1.01 * errors["root"]
    chosen = Asking(0.5, 4, 0.8, allocation="root").design(20_000)
    assert chosen.clients == 20_000
    assert chosen.losses.worst <= 0.5


def test_measured_errors_are_those_of_the_formula_and_come_back_from_the_seed() -> None:
    for asking in (Asking(2.0, 3, 0.2), Asking(2.0, 3, 0.2, "rsfd"), Asking(1.0, 2, 0.8, allocation="root")):
        first, second = (SurveyLaboratory(1_000, 40, 3).measure(asking).means["squared_error"] for _ in range(2))
        predicted = SurveyLaboratory(1_000, 1, 3).measure(asking).means["predicted"].value
        assert first == second
        assert first.value == pytest.approx(predicted, abs=5 * first.error)
    assert survey_steps(SURVEY_QUICK) < 200
