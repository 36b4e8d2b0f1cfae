"""The options that say how a file is read: the same for every command, said in one line, written into the card."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from blendp.cli import EMPTY
from blendp.cli.app import app

QUERIES = ("天气预报", "新闻", "音乐下载", "火车票查询", "手机", "电影", "游戏", "房价", "股票", "中国地图")
LINE = "Read as semicolons, GB18030, columns Benutzer -> user, Suche -> query"


def blendp(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log as a spreadsheet in Germany writes what people in China look for."""
    rows = [f"u{i};{QUERIES[(i * i) % 10]};{'DE' if i % 2 else 'FR'};2026-01-0{1 + i % 4}" for i in range(2_000)]
    path = tmp_path_factory.mktemp("reading") / "export.csv"
    path.write_bytes("\r\n".join(["Benutzer;Suche;Land;Datum", *rows, ""]).encode("gb18030"))
    return path


def test_run_says_in_one_line_how_it_reads_and_writes_it_into_the_card(log: Path, tmp_path: Path) -> None:
    done = blendp("run", str(log), "--opt-in", "0.5", *FILTERS, "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    assert done.stderr.splitlines()[:3] == [
        f"{LINE}, Datum -> time",
        "2000 rows, 500 usable",
        "1500 ignored: filtered out 1500",
    ]
    card = json.loads((tmp_path / "out" / "release.json").read_text())
    assert card["users"]["opt_in"] + card["users"]["client"] == 2_000
    assert card["parameters"]["reading"] == READING
    shown = blendp("show", str(tmp_path / "out"))
    page = unescape((tmp_path / "out" / "report.html").read_text())
    assert [FILTERED in " ".join(text.split()) for text in (done.stdout, shown.stdout, page)] == [True] * 3


FILTERS = ("--where", "Land = 'DE'", "--since", "2026-01-03")
READING = {
    "format": "csv",
    "columns": {"user": "Benutzer", "query": "Suche", "time": "Datum"},
    "text": {"delimiter": ";", "quotes": True, "encoding": "GB18030", "header": True},
    "rows": {"where": "Land = 'DE'", "since": "2026-01-03", "until": None, "time_column": None},
}
FILTERED = "Only rows count where Land = 'DE', since 2026-01-03. Shares are of all people in the log"


@pytest.mark.parametrize(
    "command", [("evaluate", "LOG", "--repeat", "1"), ("plan", "--method", "blendp", "--like", "LOG")]
)
def test_a_figure_without_a_release_says_which_rows_it_is_of(log: Path, command: tuple[str, ...]) -> None:
    arguments = [str(log) if argument == "LOG" else argument for argument in command]
    shown, printed = blendp(*arguments, *FILTERS), blendp(*arguments, *FILTERS, "--json")
    assert FILTERED in " ".join(shown.stdout.split())
    assert json.loads(printed.stdout)["reading"] == READING
    whole = blendp(*arguments, "--json")
    assert "rows" not in json.loads(whole.stdout)["reading"]


def test_the_page_of_a_plan_says_which_rows_it_is_of(log: Path, tmp_path: Path) -> None:
    done = blendp("plan", "--like", str(log), "--method", "blendp", *FILTERS, "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    assert FILTERED in unescape((tmp_path / "out" / "plan.html").read_text())


def test_figures_of_a_log_say_which_rows_they_are_of(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "figures"
    quick = ("--quick", "--runs", "1", "--out", str(out))
    done = blendp("reproduce", "9", "--log", str(log), *FILTERS, *quick)
    assert done.exit_code == 0, done.stderr
    assert FILTERED in done.stdout.splitlines()[0]
    assert FILTERED in unescape((out / "index.html").read_text())
    assert json.loads((out / "figure-9.json").read_text())["reading"] == READING
    blendp("reproduce", "9", "--log", str(log), "--overwrite", *quick)
    assert "Only rows count" not in (out / "index.html").read_text()


def test_other_commands_take_the_same_options(log: Path, tmp_path: Path) -> None:
    for command in (("evaluate", str(log), "--repeat", "1"), ("plan", "--like", str(log), "--method", "blendp")):
        done = blendp(*command, "--user-column", "benutzer", "--where", "Land = 'DE'")
        assert done.exit_code == 0, done.stderr
        assert LINE in done.stderr
        assert "filtered out 1000" in done.stderr
    wrong = ("--where", "Stadt = 'Bonn'", "--out", str(tmp_path / "out"))
    for reader in (["run", str(log)], ["reproduce", "9", "--log", str(log)]):
        done = blendp(*reader, *wrong)
        assert (done.exit_code, len(done.stderr.strip().splitlines())) == (3, 1 + (LINE in done.stderr))
        assert "has no column 'Stadt' (it has 'Benutzer', 'Suche', 'Land', 'Datum'): mend the filter" in done.stderr


@pytest.mark.parametrize("command", [("plan",), ("reproduce",), ("survey", "plan", "--attributes", "3")])
def test_nothing_is_said_about_a_file_where_there_is_none(command: tuple[str, ...]) -> None:
    done = blendp(*command, "--delimiter", ";", *(["--correlation", "0.1"] if "survey" in command else []))
    assert (done.exit_code, len(done.stderr.strip().splitlines())) == (2, 1)
    assert done.stderr.startswith("Error: --delimiter = ';' is not allowed: it must be left out without")


def test_what_cannot_be_decided_is_asked_for_with_the_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("u1;weather\x1b[2J\nu2;news\n")
    done = blendp("run", str(path), "--out", str(tmp_path / "out"))
    assert done.exit_code == 3
    lines = done.stderr.strip().splitlines()
    assert "--no-header" in lines[0]
    assert lines[1:] == ["  u1;weather\\x1b[2J", "  u2;news"]
    asked = blendp("run", str(path), "--no-header", "--out", str(tmp_path / "out"))
    assert (asked.exit_code, "--columns is missing" in asked.stderr) == (2, True)
    given = ("--no-header", "--columns", "user,query", "--delimiter", ";", "--opt-in", "0.5")
    assert blendp("run", str(path), *given, "--out", str(tmp_path / "out")).exit_code in (0, EMPTY)


def test_answers_in_another_dialect(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    rows = "".join(f"{'ja' if i % 3 else 'nein'}|{i % 2}\r\n" for i in range(400))
    path.write_bytes(f"raucht|größe\r\n{rows}".encode("utf-16"))
    options = ("--answers-from-data", "--method", "split", "--opt-in", "0.5")
    done = blendp("survey", "run", str(path), *options, "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    assert "Read as pipes, UTF-16" in done.stderr
    card = json.loads((tmp_path / "out" / "survey.json").read_text())
    assert card["parameters"]["reading"]["text"]["encoding"] == "UTF-16"
    path.write_bytes(rows.encode())
    named = ("--no-header", "--columns", "a,b", "--delimiter", "|")
    assert blendp("survey", "run", str(path), *options, *named, "--out", str(tmp_path / "other")).exit_code == 0
