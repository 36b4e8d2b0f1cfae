"""A list that comes out empty: its exit code, and advice that looks at nothing but public numbers."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from blendp.cli import EMPTY
from blendp.cli.app import app

SURE = ("--records-per-person", "1", "--opt-in", "0.5")


def run(folder: Path, rows: str, *options: str) -> Result:
    (folder / "log.csv").write_text("user,query,url\n" + rows)
    rarely = ("--delta", "1e-12")  # a record of one person is listed as rarely as this
    arguments = ["run", str(folder / "log.csv"), "--out", str(folder / "out"), "--overwrite", *rarely, *options]
    return CliRunner().invoke(app, arguments)


def different(people: int, word: str = "q") -> str:
    return "".join(f"u{i},{word}{i},http://{word}{i}.example/\n" for i in range(people))


def advice(done: Result) -> dict[str, Any]:
    assert done.exit_code == EMPTY, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)["advice"]
    return answer


def test_an_empty_list_has_an_exit_code_and_advice_in_words(tmp_path: Path) -> None:
    done = run(tmp_path, different(2000), *SURE)
    assert done.exit_code == EMPTY == 7
    assert (tmp_path / "out" / "release.json").exists()
    for sentence in ("The list is empty", "--epsilon 8", "--levels 1", "opt-in people", "like those of the AOL log"):
        assert sentence in done.stdout
    assert "Nothing of this log was looked at" in done.stdout
    assert "--where" not in done.stdout
    filtered = run(tmp_path, different(2000), *SURE, "--where", "query <> 'x'")
    assert "Only rows that the filter lets through can be listed (--where" in " ".join(filtered.stdout.split())


def test_what_hardly_helps_is_not_said_to_help(tmp_path: Path) -> None:
    """A promise so strong, and so few people, that no change of one option lists anything."""
    done = run(tmp_path, different(1000), *("--opt-in", "0.02", "--epsilon", "0.5", "--records-per-person", "1"))
    shown = " ".join(done.stdout.split())
    assert done.exit_code == EMPTY
    assert "What would list more" not in shown
    assert "The list is empty, and nothing in reach would list more." in shown
    assert "Tried: --levels 1 (hardly any), --epsilon 1 (hardly any)" in shown
    assert "opt-in people, more than can opt in here" in shown


def test_an_evaluation_of_empty_lists_says_what_would_list_more(tmp_path: Path) -> None:
    """It did what it was asked for, so its exit code is 0."""
    (tmp_path / "log.csv").write_text("user,query,url\n" + different(2000))
    asked = ["evaluate", str(tmp_path / "log.csv"), "--repeat", "2", "--delta", "1e-12", *SURE, "--where", "true"]
    shown, read = (CliRunner().invoke(app, [*asked, *as_json]) for as_json in ((), ("--json",)))
    assert (shown.exit_code, read.exit_code) == (0, 0), shown.stderr
    for sentence in ("The list is empty. What would list more", "--epsilon 8", "(--where"):
        assert sentence in shown.stdout
    assert "--epsilon 8" in json.loads(read.stdout)["advice"]["remedies"][0]["option"]


def test_one_level_is_not_the_remedy_of_one_level(tmp_path: Path) -> None:
    done = run(tmp_path, different(300), "--levels", "1", *SURE)
    assert done.exit_code == EMPTY
    assert "one level" not in done.stdout
    assert "No record passed the threshold: the list is empty." in done.stdout


@pytest.mark.parametrize("options", [SURE, ("--opt-in", "0.02", "--epsilon", "0.5")], ids=["some", "none"])
def test_page_and_terminal_and_show_say_the_same(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run(tmp_path, different(2000), *options)
    again = CliRunner().invoke(app, ["show", str(tmp_path / "out")])
    advised = done.stdout[done.stdout.index("The list is empty") : done.stdout.index("Results in")]
    assert again.stdout.endswith(advised)
    page = html.unescape(re.sub(r"<[^>]*>", " ", (tmp_path / "out" / "report.html").read_text(encoding="utf-8")))
    assert " ".join(advised.split()) in " ".join(page.split())


def test_show_gives_programs_the_advice_of_run(tmp_path: Path) -> None:
    advised = advice(run(tmp_path, different(300), *SURE, "--json"))
    again = json.loads(CliRunner().invoke(app, ["show", str(tmp_path / "out"), "--json"]).stdout)
    assert again["advice"] == advised


def test_advice_is_the_same_whatever_the_records_are(tmp_path: Path) -> None:
    many_queries = advice(run(tmp_path, different(300), *SURE, "--json"))
    other_texts = "".join(f"u{i},x{i // 2},http://y{i // 2}.example/\n" for i in range(300))
    assert advice(run(tmp_path, other_texts, *SURE, "--json")) == many_queries


def test_a_list_with_records_ends_with_0(tmp_path: Path) -> None:
    done = run(tmp_path, "".join(f"u{i},goo,http://goo.example/\n" for i in range(400)), *SURE, "--json")
    assert done.exit_code == 0
    again = CliRunner().invoke(app, ["show", str(tmp_path / "out"), "--json"])
    assert "advice" not in {**json.loads(done.stdout), **json.loads(again.stdout)}


@pytest.mark.parametrize(
    ("options", "tried"),
    [
        (("--opt-in-records", "1", "--opt-in", "0.5"), {"--epsilon", "--levels", "--opt-in-records"}),
        (("--opt-in-records", "many", *SURE), {"--epsilon", "--levels", "--opt-in-records"}),
        (("--method", "published", "--opt-in", "0.5"), {"--epsilon", "--levels", "--method"}),
        (("--levels", "1", *SURE), {"--epsilon"}),
    ],
)
def test_what_can_be_changed_is_tried(tmp_path: Path, options: tuple[str, ...], tried: set[str]) -> None:
    answer = advice(run(tmp_path, different(300), *options, "--json"))
    assert {one["option"].split()[0] for one in answer["remedies"]} == tried
    expected = [one["expected_records"] for one in answer["remedies"]]
    assert expected == sorted(expected, reverse=True)
    assert max(expected) > answer["expected_records"]
    assert answer["opt_in_people_needed"] > answer["opt_in_people"] == 150
