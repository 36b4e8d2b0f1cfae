"""``blendp survey`` as a user meets it."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from blendp.answers import Questionnaire
from blendp.cli.app import app
from blendp.logs import write_answers
from blendp.survey import METHODS, Tree
from blendp.survey.models.files import model_from_bytes, model_to_bytes
from tests.unit.render.survey_samples import fair_answers, write_fair

RUNNER = CliRunner()
FROM_DATA = "--answers-from-data"
NAMES = ["affair", "children", "religious", "happy", "age"]


def blendp(*arguments: str) -> tuple[int, str, str]:
    done = RUNNER.invoke(app, ["survey", *arguments], env={"COLUMNS": "160"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("survey")
    write_fair(root)
    lines = (root / "answers.csv").read_text().splitlines()
    (root / "holes.csv").write_text("\n".join([lines[0], *lines[1:5], ",no,little,yes,young", *lines[5:400]]) + "\n")
    (root / "same.csv").write_text("a,b\n" + "yes,1\n" * 5 + "yes,2\n" * 5)
    marked = [f"{line},{'yes' if number % 5 == 0 else 'no'}" for number, line in enumerate(lines[1:])]
    (root / "marked.csv").write_text("\n".join([lines[0] + ",staff", *marked]) + "\n")
    asked = fair_answers(10).questionnaire
    (root / "cut.json").write_text('{"attributes": [')
    (root / "latin.json").write_bytes(b'"\xe9"')
    (root / "model.json").write_bytes(model_to_bytes(Tree(asked.sizes, ()), asked))
    (root / "other.json").write_bytes(model_to_bytes(Tree(asked.sizes, ()), asked).replace(b"happy", b"merry"))
    (root / "broken.json").write_text('{"kind": "tree"}')
    return root


def answers(folder: Path) -> tuple[str, ...]:
    return str(folder / "answers.csv"), "--questionnaire", str(folder / "questionnaire.json")


def test_run_writes_and_shows_both_promises(folder: Path) -> None:
    out = folder / "release"
    strong = ("--opt-in", "0.5", "--epsilon", "4", "--learn", "table")
    code, shown, errors = blendp("run", *answers(folder), *strong, "--out", str(out))
    assert (code, errors) == (0, "")
    assert names(out) == ["frequencies.csv", "questionnaire.json", "report.html", "survey.json"]
    text = " ".join(shown.split())
    for phrase in ("2,000 opt-in, 2,000 clients", "about any attribute of a client (promised 4)", "whole record", "█"):
        assert phrase in text
    for name in NAMES:
        assert name in shown
    with (out / "frequencies.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    last_step = "An attribute's frequencies are moved to the nearest ones that sum to 100 %; intervals are not"
    assert last_step in text
    assert last_step in (out / "report.html").read_text().replace("&#39;", "'")
    for name in NAMES:
        assert sum(float(row["frequency"]) for row in rows if row["attribute"] == name) == pytest.approx(1, abs=1e-9)
    columns = ["attribute", "value", "frequency", "std_error", "low", "high", "weight_opt_in", "value_from"]
    assert list(rows[0]) == columns
    assert {row["value_from"] for row in rows} == {"questionnaire"}
    assert [row["attribute"] for row in rows] == [
        n for n, size in zip(NAMES, (2, 2, 3, 2, 3), strict=True) for _ in range(size)
    ]
    assert Questionnaire.from_bytes((out / "questionnaire.json").read_bytes()).names == tuple(NAMES)
    code, shown, errors = blendp("run", *answers(folder), "--out", str(out))
    assert code == 4
    assert "--overwrite" in errors
    assert blendp("run", *answers(folder), "--method", "sample", "--out", str(out), "--overwrite")[0] == 0


def test_frequencies_are_published_as_estimated_if_that_is_asked_for(folder: Path) -> None:
    options = ("--method", "sample", "--epsilon", "0.5", "--no-project", "--json", "--out", str(folder / "raw"))
    code, shown, _ = blendp("run", *answers(folder), "--opt-in", "0.1", *options)
    printed = json.loads(shown)
    assert (code, printed["parameters"]["project"]) == (0, False)
    assert printed["last_step"].startswith("Frequencies are published as estimated")
    sums = [sum(r["frequency"] for r in printed["frequencies"] if r["attribute"] == name) for name in NAMES]
    assert max(abs(total - 1) for total in sums) > 1e-6


def test_run_refuses_options_that_its_engine_does_not_know(folder: Path) -> None:
    out = ("--out", str(folder / "engine"))
    for wrong in (
        ("--engine", "hadoop"),
        ("--master", "local[2]"),
        ("--memory-limit", "4GB"),
        ("--engine", "spark", "--people", "100"),
        ("--engine", "spark", "--format", "csv"),
        ("--engine", "spark", "--spark-conf", "nothing"),
    ):
        code, _, errors = blendp("run", *answers(folder), *wrong, *out)
        assert code == 2, errors


def test_run_takes_a_table_on_spark(folder: Path, tmp_path: Path, spark: SparkSession) -> None:
    del spark  # the session of the tests is the one that the command gets
    table = tmp_path / "answers.parquet"
    write_answers(fair_answers(500), table)
    asked = ("--questionnaire", str(folder / "questionnaire.json"), "--engine", "spark", "--opt-in", "0.2")
    code, shown, errors = blendp("run", str(table), *asked, "--json", "--out", str(tmp_path / "survey"))
    assert code == 0, errors
    assert json.loads(shown)["people"] == {"opt_in": 100, "client": 400}
    code, _, errors = blendp("run", str(table), *asked, "--missing", "drop", "--out", str(tmp_path / "other"))
    assert (code, "refuse or value on Spark" in errors) == (2, True)


def test_invented_answers_can_be_surveyed(tmp_path: Path) -> None:
    table, questions = tmp_path / "answers.csv", tmp_path / "questionnaire.json"
    small = ("--people", "300", "--attributes", "3", "--values", "4", "--seed", "7")
    code, shown, _ = blendp("synthesise", *small, "--out", str(table))
    assert (code, shown) == (0, f"300 people in {table}, questions in {questions}\n")
    asked = ("--questionnaire", str(questions))
    assert blendp("run", str(table), *asked, "--opt-in", "0.1", "--out", str(tmp_path / "survey"))[0] == 0
    before = table.read_bytes(), questions.read_bytes()
    assert blendp("synthesise", *small, "--out", str(table))[0] == 4
    assert blendp("synthesise", *small, "--out", str(table), "--overwrite")[0] == 0
    assert (table.read_bytes(), questions.read_bytes()) == before
    for wrong in (("--attributes", "0"), ("--values", "1"), ("--correlation", "2"), ("--people", "0")):
        assert blendp("synthesise", *wrong, "--out", str(tmp_path / "other" / "answers.csv"))[0] == 2
    assert blendp("synthesise", "--out", str(questions), "--overwrite")[0] == 2


def test_the_json_of_a_run_is_the_card_and_the_frequencies(folder: Path) -> None:
    out = folder / "json"
    options = ("--opt-in", "0.3", "--epsilon", "3", "--method", "cbp", "--learn", "tree", "--json", "--out", str(out))
    code, shown, errors = blendp("run", *answers(folder), *options)
    assert code == 0
    printed = json.loads(shown)
    card = json.loads((out / "survey.json").read_text())
    assert {key: printed[key] for key in card} == card
    assert set(printed) - set(card) == {"out", "released_before"}
    assert set(card) == {
        "blendp",
        "about",
        "frequencies",
        "method",
        "parameters",
        "people",
        "guarantee",
        "design",
        "questionnaire",
        "opt_in_noise",
        "tree",
        "last_step",
        "interval_confidence",
        "cautions",
    }
    assert card["people"] == {"opt_in": 1200, "client": 2800}
    assert card["parameters"]["opt_in"] == 0.3
    promised = card["guarantee"]
    assert set(promised["loss_by_attribute"]) == set(NAMES)
    assert max(promised["loss_by_attribute"].values()) <= 3 * (1 + 1e-9)
    assert promised["record_epsilon"] >= max(promised["loss_by_attribute"].values()) * (1 - 1e-9)
    assert f"{promised['record_epsilon']:.4g}" in promised["statement"]
    assert card["design"]["groups"][0]["attributes"] == NAMES
    assert card["opt_in_noise"][0]["tables"] == 10
    assert len(card["tree"]["edges"]) == 4
    assert all(caution in " ".join(errors.split()) for caution in card["cautions"])
    learnt = model_from_bytes((out / "model.json").read_bytes(), fair_answers(10).questionnaire)
    assert isinstance(learnt, Tree)
    assert [[NAMES[edge.first], NAMES[edge.second]] for edge in learnt.edges] == card["tree"]["edges"]
    # a learnt model is public, and may serve the next survey
    code, shown, _ = blendp(
        "run",
        *answers(folder),
        "--opt-in",
        "0",
        "--model",
        str(out / "model.json"),
        "--json",
        "--out",
        str(folder / "next"),
    )
    assert code == 0
    again = json.loads(shown)
    assert (again["people"]["opt_in"], again["guarantee"]["delta"], again["tree"]) == (0, 0.0, None)
    assert again["guarantee"]["model"].startswith("a model that was given")
    assert "model.json" not in names(folder / "next")


def test_run_writes_nothing_that_is_not_protected(folder: Path) -> None:
    out = folder / "quiet"
    code, shown, _ = blendp("run", *answers(folder), "--opt-in", "0.2", "--out", str(out))
    assert code == 0
    for name in names(out):
        text = re.sub(r"(?s)<style>.*?</style>", "", (out / name).read_text()).lower()
        assert not re.search(r"\b(rmse|coverage|true frequency|truth\")", text), name
        assert "4,000 rows" not in text
    assert "Not private" not in shown


def test_who_takes_part_can_be_said(folder: Path) -> None:
    options = ("--json", "--overwrite", "--out", str(folder / "who"))
    questions = ("--columns", "happy,age", "--questionnaire", str(folder / "questionnaire.json"))
    code, shown, _ = blendp("run", str(folder / "marked.csv"), *questions, "--opt-in-column", "staff", *options)
    assert code == 0
    card = json.loads(shown)
    assert card["people"] == {"opt_in": 800, "client": 3200}
    assert list(card["guarantee"]["loss_by_attribute"]) == ["happy", "age"]
    code, shown, _ = blendp(
        "run", str(folder / "marked.csv"), *questions, "--people", "1000", "--opt-in", "0.1", *options
    )
    assert json.loads(shown)["people"] == {"opt_in": 100, "client": 900}


SECRET = "my name is Erika Mustermann"


@pytest.fixture(scope="module")
def rare(folder: Path) -> Path:
    """A table in which one person gave an answer that nobody else gave."""
    lines = (folder / "answers.csv").read_text().splitlines()
    lines[7] = ",".join([*lines[7].split(",")[:-1], SECRET])
    path = folder / "rare.csv"
    path.write_text("\n".join(lines[:400]) + "\n")
    return path


def test_a_unique_answer_is_not_published_unless_that_is_asked_for(folder: Path, rare: Path) -> None:
    out = folder / "unasked"
    code, shown, errors = blendp("run", str(rare), "--opt-in", "0", "--out", str(out))
    assert (code, shown) == (2, "")
    assert "--questionnaire is missing: it must be given unless --answers-from-data is. Name a JSON file" in errors
    assert "--answers-from-data" in errors
    assert "an answer that only one person gave is published as it is" in errors
    assert not out.exists()
    both = ("--questionnaire", str(folder / "questionnaire.json"), "--answers-from-data")
    code, _, errors = blendp("run", str(rare), *both, "--out", str(out))
    assert (code, "Give one of the two" in errors, out.exists()) == (2, True, False)


@pytest.mark.parametrize("opt_in", ["0", "0.1"])
def test_what_is_read_from_the_data_is_told_wherever_it_stands(folder: Path, rare: Path, opt_in: str) -> None:
    out = folder / f"asked{opt_in}"
    options = ("--answers-from-data", "--opt-in", opt_in, "--out", str(out), "--overwrite")
    code, shown, _ = blendp("run", str(rare), *options)
    assert code == 0
    exception = "an answer that only one person gave is published as it is"
    assert f"not protected the possible answers, which were read from the answers themselves: {exception}" in " ".join(
        shown.replace("│", " ").split()
    )
    assert names(out) == ["frequencies.csv", "report.html", "survey.json"]
    with (out / "frequencies.csv").open(newline="") as file:
        assert {row["value_from"] for row in csv.DictReader(file)} == {"data (not protected)"}
    card = json.loads((out / "survey.json").read_text())
    assert card["questionnaire"]["inferred"] is True
    assert exception in card["guarantee"]["statement"]
    assert "NOT PROTECTED" in card["guarantee"]["statement"]
    assert [exception in line for line in card["guarantee"]["not_protected"]] == [True]
    assert any(exception in caution for caution in card["cautions"])
    page = (out / "report.html").read_text()
    assert page.count(exception) == 3  # among the cautions, in the promise's words, and in what is not protected
    code, shown, errors = blendp("run", str(rare), *options, "--json")
    assert exception in " ".join(errors.split())
    assert {row["value_from"] for row in json.loads(shown)["frequencies"]} == {"data (not protected)"}


@pytest.mark.parametrize("table", ["holes.csv", "answers.csv"])
def test_that_people_are_dropped_is_told_whether_or_not_somebody_was(folder: Path, table: str) -> None:
    """A caution that came only where somebody left an answer out would tell just that."""
    listed = ("--questionnaire", str(folder / "questionnaire.json"))
    options = ("--missing", "drop", "--opt-in", "0", "--json", "--overwrite", "--out", str(folder / "dropped"))
    code, shown, _ = blendp("run", str(folder / table), *listed, *options)
    assert code == 0
    card = json.loads(shown)
    assert sum(card["people"].values()) == (399 if table == "holes.csv" else 4000)
    exception = "how many people are counted, and who"
    assert [line.startswith(exception) for line in card["guarantee"]["not_protected"]] == [True]
    assert exception in card["guarantee"]["statement"]
    assert any(exception in caution and "--missing value" in caution for caution in card["cautions"])
    assert (folder / "dropped/report.html").read_text().lower().count(exception) == 3


def test_both_exceptions_have_their_own_remedy(folder: Path) -> None:
    options = ("--missing", "drop", "--answers-from-data", "--opt-in", "0.1", "--json", "--overwrite")
    code, shown, _ = blendp("run", str(folder / "holes.csv"), *options, "--out", str(folder / "both"))
    assert code == 0
    not_protected = [caution for caution in json.loads(shown)["cautions"] if caution.startswith("Not protected")]
    assert ["give a questionnaire" in caution for caution in not_protected] == [True, False]
    assert ["--missing value" in caution for caution in not_protected] == [False, True]


def test_a_plan_without_data_is_private(tmp_path: Path) -> None:
    options = ("--attributes", "6", "--correlation", "0.3", "--people", "50000")
    code, shown, errors = blendp("plan", *options, "--out", str(tmp_path / "plan"))
    assert (code, errors) == (0, "")
    text = " ".join(shown.split())
    assert "50,000 people like 6 attributes of 2 equally frequent values" in text
    assert "2,500 opt in, 47,500 clients" in text
    for name in METHODS:
        assert re.search(rf"\b{name}\b", shown)
    assert shown.count("best") == 1
    assert "Who reports what" in shown
    assert "Not private" not in shown
    assert names(tmp_path / "plan") == ["plan.html"]
    page = (tmp_path / "plan/plan.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "Not private" not in page
    code, _, errors = blendp("plan", *options, "--out", str(tmp_path / "plan"))
    assert code == 4
    assert "--overwrite" in errors


def test_the_json_of_a_plan_has_every_method(folder: Path) -> None:
    code, shown, _ = blendp("plan", *answers(folder), "--people", "30000", "--opt-in", "0.1", "--json")
    assert code == 0
    printed = json.loads(shown)
    assert set(printed) == {
        "private",
        "like",
        "model",
        "epsilon",
        "delta",
        "attributes",
        "people",
        "opt_in_people",
        "opt_in_rmse",
        "best",
        "methods",
        "out",
    }
    assert (printed["private"], printed["people"], printed["opt_in_people"]) == (False, 30_000, 3_000)
    assert [one["method"] for one in printed["methods"]] == list(METHODS)
    errors = {one["method"]: one["rmse"] for one in printed["methods"]}
    assert printed["best"] == min(errors, key=lambda name: errors[name])
    for one in printed["methods"]:
        assert max(one["loss_by_attribute"].values()) <= 1 + 1e-9
        assert sum(group["clients"] for group in one["groups"]) == 27_000
    code, shown, _ = blendp("plan", *answers(folder), "--method", "split", "--opt-in", "0")
    assert code == 0
    assert "Not private" in shown
    assert "cbps" not in shown


def test_a_group_is_for_cbps_alone_and_may_be_chosen(folder: Path) -> None:
    options = ("plan", "--attributes", "4", "--correlation", "0.2", "--group", "2", "--json")
    code, shown, _ = blendp(*options)
    assert code == 0
    cbps = json.loads(shown)["methods"][0]
    assert [len(group["attributes"]) for group in cbps["groups"]] == [2, 2]
    code, _, errors = blendp(*options, "--method", "cbp")
    assert code == 2
    assert "--group = 2 is not allowed: it must be left to the method, unless it is cbps" in errors
    code, shown, _ = blendp("plan", *answers(folder), "--method", "cbps", "--one-strength", "--group", "5", "--json")
    assert len(set(json.loads(shown)["methods"][0]["groups"][0]["epsilons"])) == 1


def test_evaluate_compares_with_the_truth_and_says_it_is_not_private(folder: Path) -> None:
    out = folder / "evaluation"
    options = ("evaluate", *answers(folder), "--opt-in", "0.1", "--runs", "2", "--people", "2000")
    code, shown, _ = blendp(*options, "--out", str(out))
    assert code == 0
    assert "Not private" in shown
    assert "2,000 people (200 opt in) answer 5 questions; 2 surveys with each method, seed 0" in shown
    for name in METHODS:
        assert re.search(rf"\b{name}\b", shown)
    assert names(out) == ["evaluation.html"]
    code, shown, _ = blendp(*options, "--json", "--seed", "4")
    done: dict[str, Any] = json.loads(shown)
    assert set(done) == {
        "private",
        "people",
        "opt_in_people",
        "epsilon",
        "delta",
        "seed",
        "attributes",
        "best",
        "methods",
        "out",
    }
    assert done["private"] is False
    assert [one["method"] for one in done["methods"]] == list(METHODS)
    assert {
        "rmse",
        "client_rmse",
        "opt_in_rmse",
        "client_rmse_predicted",
        "coverage",
        "loss_by_attribute",
        "data_loss_by_attribute",
        "worst_data_loss",
        "promise_kept_on_data",
        "record_epsilon",
        "groups",
    } <= set(done["methods"][0])
    once = blendp(*options, "--json", "--method", "split")[1]
    assert blendp(*options, "--json", "--method", "split")[1] == once


def test_a_loss_beyond_the_promise_is_marked(folder: Path) -> None:
    """A model that says answers have nothing to do with each other is wrong here."""
    options = ("evaluate", *answers(folder), "--model", str(folder / "model.json"), "--opt-in", "0", "--runs", "1")
    code, shown, _ = blendp(*options, "--method", "cbp")
    assert code == 0
    assert re.search(r"\d !", shown)
    assert "more than promised" in shown
    code, shown, _ = blendp(*options, "--method", "cbp", "--json")
    assert json.loads(shown)["methods"][0]["promise_kept_on_data"] is False


def mistakes() -> list[tuple[tuple[str, ...], int, str]]:
    assumed = ("plan", "--attributes", "4", "--correlation")
    return [
        (("run", "nowhere.csv", FROM_DATA), 3, "nowhere.csv does not exist"),
        (("run", "answers.csv", FROM_DATA, "--columns", "happy,merry"), 3, "has no column 'merry'"),
        (("run", "answers.csv", FROM_DATA, "--columns", "happy,merry"), 3, "name the right one (--columns)"),
        (("run", "same.csv", FROM_DATA), 3, "The column 'a' of same.csv has one answer: everybody answers the same"),
        (("run", "holes.csv", FROM_DATA), 3, "has 1 missing answer (on line 6): fill them in, or use --missing drop"),
        (("run", "answers.csv", FROM_DATA, "--missing", "guess"), 2, "--missing = 'guess'"),
        (
            ("run", "answers.csv", FROM_DATA, "--people", "4001"),
            2,
            "--people = 4001 is not allowed: it must be at most 4000",
        ),
        (("run", "answers.csv", FROM_DATA, "--people", "4001"), 2, "more people than rows"),
        (("evaluate", "answers.csv", "--people", "4001"), 2, "more people than rows"),
        (("run", "answers.csv", FROM_DATA, "--people", "1"), 2, "--people = 1"),
        (("run", "answers.csv", FROM_DATA, "--method", "all"), 2, "--method = 'all'"),
        (("run", "answers.csv", FROM_DATA, "--epsilon", "0"), 2, "--epsilon = 0.0"),
        (("run", "answers.csv", FROM_DATA, "--delta", "1"), 2, "--delta = 1.0"),
        (("run", "answers.csv", FROM_DATA, "--opt-in", "1"), 2, "--opt-in = 1.0"),
        (("plan", "answers.csv", "--opt-in", "nan"), 2, "--opt-in = nan"),
        (("run", "answers.csv", FROM_DATA, "--opt-in", "0.1", "--opt-in-column", "staff"), 2, "Give one of the two"),
        (("run", "answers.csv", FROM_DATA, "--group", "two"), 2, "--group = 'two' is not allowed: it must be auto"),
        (("run", "answers.csv", FROM_DATA, "--group", "9"), 2, "--group = 9 is not allowed: it must be from 1 to 5"),
        (("run", "answers.csv", FROM_DATA, "--record-epsilon", "-1"), 2, "--record-epsilon = -1.0"),
        (("run", "answers.csv", FROM_DATA, "--confidence", "2"), 2, "--confidence = 2.0"),
        (("run", "answers.csv", FROM_DATA, "--learn", "magic"), 2, "--learn = 'magic'"),
        (("run", "answers.csv", FROM_DATA, "--model", "nowhere.json"), 3, "nowhere.json does not exist"),
        (("run", "answers.csv", FROM_DATA, "--model", "broken.json"), 2, "model = ('kind',) is not allowed"),
        (("run", "answers.csv", FROM_DATA, "--model", "other.json"), 2, "the questions of the survey in their order"),
        (
            ("run", "answers.csv", "--questionnaire", "broken.json"),
            2,
            "broken.json (--questionnaire): keys of questionnaire = ('kind',)",
        ),
        (
            ("run", "answers.csv", "--questionnaire", "cut.json"),
            2,
            "cut.json (--questionnaire) is not a JSON document in UTF-8: line 1, column 17 is wrong, or what stands "
            'before it. Write {"attributes": [',
        ),
        (("run", "answers.csv", "--questionnaire", "latin.json"), 2, "latin.json (--questionnaire) is not a JSON"),
        (("run", "answers.csv", "--questionnaire", "latin.json"), 2, "in UTF-8: byte 2 is no UTF-8. Write"),
        (("run", "answers.csv", FROM_DATA, "--model", "cut.json"), 2, "cut.json (--model) is not a JSON document"),
        (("evaluate", "answers.csv", "--runs", "0"), 2, "--runs = 0"),
        (("evaluate", "answers.csv", "--method", "magic"), 2, "it must be one of all, cbps, cbp, split, sample, rsfd"),
        ((*assumed, "-0.2"), 2, "--correlation = -0.2 is not allowed: it must be a number from 0 to 1"),
        ((*assumed, "1.2"), 2, "--correlation = 1.2"),
        (("plan",), 2, "--attributes is missing: it must be given, with --attributes and --correlation both"),
        (("plan", "--attributes", "4"), 2, "--correlation is missing: it must be given"),
        (("plan", "--attributes", "65", "--correlation", "0"), 2, "--attributes = 65"),
        ((*assumed, "0", "--values", "1"), 2, "--values = 1"),
        ((*assumed, "0", "--model", "model.json"), 2, "--model = 'model.json' is not allowed: it must be left out"),
        (("plan", "answers.csv", "--correlation", "0.2"), 2, "--correlation = 0.2 is not allowed: it must be left out"),
        ((*assumed, "0.1", "--people", "1"), 2, "--people = 1"),
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "says"), mistakes(), ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_mistakes_get_one_sentence_and_a_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, says: str
) -> None:
    monkeypatch.chdir(folder)
    got, shown, errors = blendp(*arguments)
    assert got == code
    assert says in errors
    assert shown == ""
    assert len(errors.strip().splitlines()) == 1
    assert not (folder / "blendp-survey").exists()


@pytest.mark.parametrize("command", ["plan", "run", "evaluate"])
def test_help_has_examples_that_name_real_options(command: str) -> None:
    code, shown, _ = blendp(command, "--help")
    assert code == 0
    text = " ".join(shown.split())
    assert "Examples" in text
    assert "NOT PRIVATE" in text
    shown_options = set(re.findall(r"--[a-z][a-z-]+", shown))
    examples = shown[shown.index("Examples") :]
    assert set(re.findall(r"--[a-z][a-z-]+", examples)) <= shown_options
    assert {"--epsilon", "--opt-in", "--record-epsilon", "--questionnaire", "--json"} <= shown_options


def test_the_group_shows_itself() -> None:
    done = RUNNER.invoke(app, ["--help"], env={"COLUMNS": "120"})
    assert "survey" in done.stdout
    code, shown, _ = blendp("--help")
    assert code == 0
    for command in ("plan", "run", "evaluate"):
        assert command in shown


def test_a_real_process_ends_the_same_way(folder: Path) -> None:
    environment = {"PATH": os.environ.get("PATH", ""), "COLUMNS": "100", "HOME": os.environ.get("HOME", "/")}
    command = [sys.executable, "-m", "blendp", "survey", "run", "same.csv", FROM_DATA]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("Error: The column 'a'")
