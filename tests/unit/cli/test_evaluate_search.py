"""``blendp evaluate --search`` as a user meets it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.forked import run as blendp
from tests.house.source import ROOT

OPTIONS = ("evaluate", "log.parquet", "--opt-in", "0.6", "--delta", "1e-3", "--size", "0", "--repeat", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("search")
    many = ("--users", "10000", "--records-per-user", "4", "--seed", "3")
    done = blendp("synthesise", "aol", *many, "--out", "log.parquet", cwd=root)
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture(scope="module")
def printed(folder: Path) -> dict[str, Any]:
    done = blendp(*OPTIONS, "--search", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def test_json_has_the_value_of_search_beside_the_same_scores(folder: Path, printed: dict[str, Any]) -> None:
    search = printed["search"]
    assert {**json.loads(blendp(*OPTIONS, "--json", cwd=folder).stdout), "search": search} == printed
    assert search["held_out"]["share"] == 0.2
    assert search["held_out"]["people"] == 2_000
    assert 7_500 < search["held_out"]["searches"] < 8_500
    sizes = [row["records"] for row in search["by_list_size"]]
    assert sizes == sorted(sizes)
    assert sizes[0] == 10
    assert 0.03 < search["by_list_size"][0]["answered"] < search["answered"] < 0.2
    assert search["answered"] < search["exact"]["answered"] + 2 * search["std_error"]["answered"]
    assert 1 <= search["mean_rank"] < 3
    assert 0 < search["keystrokes_saved"] < search["held_out"]["keystrokes"]
    assert 0 < search["keystrokes_saved_share"] < 1
    assert "not measured" in search["round_trip"]


def test_every_member_is_documented(printed: dict[str, Any]) -> None:
    page = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    described = re.search(r"\n`--search` .*?(?=\n## )", page, re.DOTALL)
    assert described is not None
    assert names(printed["search"]) <= set(re.findall(r"`(\w+)`", described[0]))


def names(value: Any) -> set[str]:
    """The names of all members."""
    if isinstance(value, list):
        return set().union(*map(names, value))
    return set(value).union(*map(names, value.values())) if isinstance(value, dict) else set()


def test_the_terminal_shows_both_lists_and_says_what_is_not_measured(folder: Path) -> None:
    done = blendp(*OPTIONS, "--search", cwd=folder)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    for part in ("people who were not asked", "answered", "mean rank", "keystrokes saved", "exact list"):
        assert part in text
    assert "2,000 people (20 %) were held out" in text
    assert "50-100 ms (not measured)" in text
    assert re.search(r"\n10 +\d\.\d\d ± \d\.\d\d % +1\.\d\d\d ± \d\.\d\d\d ", done.stdout)
    assert "Not private" in text.partition("Local search")[2]
    few = ("--opt-in", "0.0001", "--held-out", "0.5", "--repeat", "1")
    one_run = blendp("evaluate", "log.parquet", "--search", *few, cwd=folder)
    assert "(50 %) were held out" in " ".join(one_run.stdout.split())
    assert "unknown" in one_run.stdout.partition("Local search")[2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--held-out", "0.5"), "--held-out = 0.5 is not allowed: it must be left out without --search."),
        (("--search", "--held-out", "1"), "--held-out = 1.0"),
    ],
)
def test_mistakes_are_refused_in_one_sentence(folder: Path, options: tuple[str, ...], message: str) -> None:
    done = blendp("evaluate", "log.parquet", "--repeat", "1", *options, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert not done.stdout
