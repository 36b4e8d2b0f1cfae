"""``blendp plan`` as a user meets it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from blendp.cli.app import app
from blendp.evaluation.planner import HeadLaw, overview, overviews
from blendp.logs.synthetic import population
from blendp.methods import Parameters
from blendp.render.plan.terminal import plan_tables

RUNNER = CliRunner()


def blendp(*arguments: str) -> tuple[int, str, str]:
    done = RUNNER.invoke(app, ["plan", *arguments], env={"COLUMNS": "160"})
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def _two_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """The opt-in share that is asked for stands beside one other: a plan for each takes its time."""
    monkeypatch.setattr(overviews, "RATES", (0.1,))


def test_both_methods_side_by_side_and_what_to_do_next() -> None:
    code, shown, _ = blendp()
    assert code == 0
    for phrase in ("519,371 people", "25,969 opt in (5 %)", "blendp", "published", "L1", "NDCG", "in random order"):
        assert phrase in shown
    for phrase in (
        "δ = 1e-07",
        "32.5 records",
        "record at place 50",
        "clients",
        "What to do next",
        "By opt-in share",
        "0.5 %",
        "10 %",
    ):
        assert phrase in shown
    assert "not below one over" not in shown
    assert "Not private" not in shown
    advice = shown.partition("What to do next\n")[2].splitlines()
    assert advice == [line.rstrip() for line in advice], "lines are not filled up: a file has a million columns"


@pytest.mark.usefixtures("_two_shares")
def test_a_list_of_one_record_is_called_so() -> None:
    code, shown, _ = blendp("--users", "10000", "--opt-in", "0.05", "--size", "1")
    assert (code, "to every person; list of 1 record\n" in shown) == (0, True)
    code, shown, _ = blendp("--users", "10000", "--opt-in", "0.05")
    assert (code, "ask for about 1 record (--size)" in shown) == (0, True)


@pytest.mark.usefixtures("_two_shares")
def test_no_method_is_said_to_list_more_where_none_lists_anything() -> None:
    code, shown, _ = blendp("--users", "2000", "--opt-in", "0.05", "--epsilon", "1")
    assert code == 0
    assert "Next to nothing will be listed" in shown
    assert "Take method" not in shown


@pytest.mark.usefixtures("_two_shares")
def test_tables_fit_a_narrow_terminal() -> None:
    methods = [Parameters(method=method, epsilon=4.0, size=50) for method in ("blendp", "published")]
    view = overview(HeadLaw.of_population("aol"), 500_000, 0.05, methods, like="the aol population")
    page = io.StringIO()
    Console(file=page, width=40, force_terminal=False).print(plan_tables(view), crop=False)
    assert max(map(len, page.getvalue().splitlines())) <= 40
    assert "\nthe list is made of\none record each  one record each\n" in page.getvalue()


def test_json_has_everything_and_can_be_repeated() -> None:
    options = (
        "--users",
        "100000",
        "--opt-in",
        "0.04",
        "--epsilon",
        "2",
        "--size",
        "20",
        "--target-size",
        "9",
        "--json",
    )
    code, shown, _ = blendp(*options)
    assert code == 0
    printed = json.loads(shown)
    assert set(printed) == {
        "private",
        "like",
        "people",
        "records_per_person",
        "opt_in",
        "plans",
        "sweep",
        "other_way",
        "target",
        "out",
    }
    assert (printed["records_per_person"], printed["other_way"]) == (1, None)
    assert (printed["private"], printed["people"], printed["opt_in"], printed["out"]) == (True, 100_000, 0.04, None)
    assert set(printed["plans"]) == {"blendp", "published"}
    assert set(printed["plans"]["blendp"]) == {
        "method",
        "epsilon",
        "delta",
        "opt_in",
        "users",
        "candidate_records",
        "head_list_records",
        "head_list_queries",
        "top_error",
        "precision",
        "recall",
        "l1",
        "ndcg",
        "ndcg_list",
        "ndcg_random",
        "ndcg_list_random",
        "errors",
        "clients_per_opt_in_user",
        "draws",
        "many_records",
    }
    assert [row["opt_in"] for row in printed["sweep"]["blendp"]] == [0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.1]
    assert printed["plans"]["blendp"]["errors"]["50"] is None
    assert printed["plans"]["blendp"]["errors"]["1"]["relative"] > 0
    assert printed["target"]["records"] == 9
    assert 0 < printed["target"]["blendp"]["smallest_opt_in"] < printed["target"]["published"]["smallest_opt_in"]
    assert printed["target"]["blendp"]["smallest_epsilon"] < printed["target"]["published"]["smallest_epsilon"]
    assert blendp(*options)[1] == shown


@pytest.mark.usefixtures("_two_shares")
def test_a_log_is_read_and_its_plan_is_not_private(tmp_path: Path) -> None:
    population("aol", users=30_000, seed=1).write(tmp_path / "log.csv")
    code, shown, errors = blendp("--like", str(tmp_path / "log.csv"), "--method", "blendp", "--opt-in", "0.2")
    assert code == 0
    assert "30,000 people like those of log.csv" in shown
    assert "Not private: computed from the raw log" in shown
    assert "published" not in shown
    assert "30000 rows" in errors
    code, shown, _ = blendp("--like", str(tmp_path / "log.csv"), "--users", "90000", "--json")
    assert json.loads(shown)["private"] is False
    assert json.loads(shown)["people"] == 90_000


@pytest.mark.usefixtures("_two_shares")
def test_people_with_many_records_have_their_list_made_of_all() -> None:
    options = ("--method", "blendp", "--size", "30", "--users", "100000")
    code, shown, _ = blendp(*options, "--records-per-person", "20")
    assert code == 0
    assert "aol population, with 20 records each on average: 5,000 opt in" in " ".join(shown.split())
    assert "all records" in shown
    assert "Leave --opt-in-records at auto: with all records of each opt-in person" in shown
    few, many, plain = (
        json.loads(blendp(*options, "--json", "--records-per-person", *mean)[1])
        for mean in (("2",), ("20",), ("20", "--no-habits"))
    )
    assert [one["plans"]["blendp"]["many_records"] for one in (few, many, plain)] == [False, True, True]
    assert [one["other_way"]["many_records"] for one in (few, many, plain)] == [True, False, False]
    errors = [one["plans"]["blendp"]["top_error"] for one in (few, many, plain)]
    assert errors == sorted(errors, reverse=True)
    assert few["other_way"]["top_error"] > errors[0]


@pytest.mark.usefixtures("_two_shares")
def test_a_plan_below_the_crossing_says_that_one_record_is_better() -> None:
    code, shown, _ = blendp("--method", "blendp", "--users", "100000", "--records-per-person", "2")
    assert code == 0
    assert "one record each" in shown
    assert "Leave --opt-in-records at auto: with all records of each opt-in person" in shown
    code, shown, _ = blendp(
        "--method", "blendp", "--users", "100000", "--records-per-person", "2", "--opt-in-records", "many"
    )
    assert (code, "Say --opt-in-records 1:" in shown) == (0, True)


@pytest.mark.usefixtures("_two_shares")
def test_a_log_has_its_own_people(tmp_path: Path) -> None:
    population("aol", 4_000, 12.0, seed=1, habits=True).write(tmp_path / "log.csv")
    options = ("--like", str(tmp_path / "log.csv"), "--method", "blendp", "--opt-in", "0.5", "--users", "40000")
    printed = json.loads(blendp(*options, "--json")[1])
    assert printed["records_per_person"] == pytest.approx(12, rel=0.05)
    assert printed["plans"]["blendp"]["many_records"]
    assert printed["private"] is False


@pytest.mark.usefixtures("_two_shares")
def test_a_page_is_written_whole_and_never_over_another(tmp_path: Path) -> None:
    out = tmp_path / "plan"
    code, shown, _ = blendp("--users", "50000", "--method", "published", "--out", str(out))
    assert code == 0
    assert f"Plan: open {out / 'plan.html'}" in shown
    assert (out / "plan.html").read_text().startswith("<!DOCTYPE html>")
    code, _, errors = blendp("--users", "50000", "--method", "published", "--out", str(out))
    assert code == 4
    assert "--overwrite" in errors
    assert blendp("--users", "50000", "--method", "published", "--out", str(out), "--overwrite")[0] == 0


@pytest.mark.usefixtures("_two_shares")
def test_one_method_may_reach_what_the_other_does_not() -> None:
    code, shown, _ = blendp("--target-l1", "0.09")
    assert code == 0
    assert "To reach L1 of at most 0.09 with at least 45 records" in shown
    assert "published: no opt-in share up to 50 % is enough" in shown


@pytest.mark.usefixtures("_two_shares")
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (
            ("--target-l1", "0.0001", "--method", "blendp"),
            2,
            "--target-l1 = 0.0001 is not allowed: it must be at least",
        ),
        (("--size", "-1"), 2, "--size = -1 is not allowed: it must be a whole number of at least 0. 0 keeps all"),
        (("--target-size", "40", "--users", "9000"), 2, "the longest list within reach"),
        (("--target-size", "60"), 2, "--target-size = 60.0 is not allowed: it must be at most 50"),
        (("--target-l1", "0.1", "--size", "0"), 2, "--target-l1 = 0.1"),
        (("--method", "magic"), 2, "--method = 'magic' is not allowed: it must be one of both, blendp, published"),
        (("--users", "3"), 2, "--users = 3"),
        (("--opt-in", "1.5"), 2, "--opt-in = 1.5"),
        (("--epsilon", "0"), 2, "--epsilon = 0.0"),
        (("--like", "nowhere.csv"), 3, "nowhere.csv does not exist"),
        (
            ("--like", "nowhere.csv", "--no-habits"),
            2,
            "--habits = False is not allowed: it must be left out with a log",
        ),
        (("--records-per-person", "2000"), 2, "--records-per-person = 2000.0"),
        (("--objective", "fame"), 2, "--objective = 'fame'"),
        (("--opt-in-records", "7"), 2, "--opt-in-records = 7"),
        (("--size", "0", "--users", "1000000000"), 2, "--size = None is not allowed: it must be at most 5000"),
    ],
)
def test_mistakes_get_one_sentence_and_a_code(arguments: tuple[str, ...], code: int, says: str) -> None:
    got, shown, errors = blendp(*arguments)
    assert got == code
    assert says in errors
    assert shown == ""
    assert len(errors.strip().splitlines()) == 1


def test_help_has_examples_and_the_plain_truth() -> None:
    code, shown, _ = blendp("--help")
    text = " ".join(shown.split())
    assert code == 0
    assert "Examples" in text
    assert "NOT PRIVATE" in text
    assert "No population is run" in text
