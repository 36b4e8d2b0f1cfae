"""The command line as a user meets it: real processes, their output, files and exit codes."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from blendp.cli.app import app
from blendp.logs.synthetic import NAMES
from blendp.render.release.names import FILES
from tests.forked import ENVIRONMENT
from tests.forked import run as blendp


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small log, made by the command itself."""
    root = tmp_path_factory.mktemp("cli")
    done = blendp("synthesise", "aol", "--users", "40000", "--seed", "3", "--out", "log.csv", cwd=root)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "40,000 records of 40,000 people in log.csv\n"
    return root


def test_synthesise_is_deterministic_and_keeps_what_is_there(folder: Path) -> None:
    assert (folder / "log.csv").read_text().startswith("user,query,url\n")
    again = blendp("synthesise", "aol", "--users", "40000", "--seed", "3", "--out", "again.csv", cwd=folder)
    assert again.returncode == 0
    assert (folder / "again.csv").read_bytes() == (folder / "log.csv").read_bytes()
    refused = blendp("synthesise", "aol", "--users", "10", "--out", "again.csv", cwd=folder)
    assert refused.returncode == 4
    assert len(refused.stderr.strip().splitlines()) == 1
    several = blendp(
        "synthesise", "yandex", "--users", "500", "--records-per-user", "4", "--out", "y.parquet", cwd=folder
    )
    assert several.returncode == 0, several.stderr
    assert int(several.stdout.split()[0].replace(",", "")) > 1_500
    same = ("synthesise", "yandex", "--users", "500", "--records-per-user", "4", "--habits", "--out", "h.parquet")
    assert blendp(*same, cwd=folder).returncode == 0
    assert (folder / "h.parquet").read_bytes() != (folder / "y.parquet").read_bytes()


def test_run_writes_and_shows_a_release(folder: Path) -> None:
    done = blendp("run", "log.csv", "--opt-in", "0.2", "--size", "10", "--out", "release", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert names(folder / "release") == sorted(FILES)
    assert "google" in done.stdout
    assert "8,000 opt-in, 32,000 clients" in done.stdout
    assert "40000 rows" in done.stderr
    for word in ("truth", "ndcg", "l1"):
        assert word not in done.stdout.lower()
    again = blendp("run", "log.csv", "--opt-in", "0.2", "--out", "release", cwd=folder)
    assert again.returncode == 4
    assert "--overwrite" in again.stderr


def test_run_writes_nothing_that_is_not_protected(folder: Path) -> None:
    """No truth, no metric, no count of rows: only parameters, group sizes and privatised results."""
    done = blendp("run", "log.csv", "--opt-in", "0.2", "--json", "--out", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    card = json.loads((folder / "json/release.json").read_text())
    assert {key: printed[key] for key in card} == card
    assert set(card) == {
        "blendp",
        "about",
        "method",
        "parameters",
        "users",
        "guarantee",
        "delta_statement",
        "head_list",
        "confidence",
        "cautions",
        "identity_gap",
        "query_reporters",
        "query_reports",
        "cross_check",
        "influence",
    }
    assert set(printed) - set(card) == {"estimates", "trends", "out", "released_before"}
    assert set(printed["estimates"][0]) == {"query", "url", "probability", "std_error", "low", "high", "weight_opt_in"}
    for name in names(folder / "json"):
        text = re.sub(r"(?s)<style>.*?</style>", "", (folder / "json" / name).read_text()).lower()
        assert not re.search(r"\b(ndcg|truth|true value|l1 )\b", text), name
        assert "broken" not in text


def test_evaluate_compares_with_the_truth_and_says_it_is_not_private(folder: Path) -> None:
    options = ("evaluate", "log.csv", "--opt-in", "0.2", "--size", "10", "--repeat", "3")
    shown = blendp(*options, cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "Not private" in shown.stdout
    done = blendp(*options, "--json", "--seed", "5", cwd=folder)
    figures = json.loads(done.stdout)
    assert {"method", "epsilon", "delta", "l1", "ndcg", "ndcg_list", "ndcg_random"} <= set(figures)
    assert {"head_list_records", "head_list_queries", "groups", "std_error"} <= set(figures)
    assert set(figures["groups"]) == {"opt_in", "client"}
    assert {"l1", "ndcg"} <= set(figures["groups"]["client"])
    assert figures["repeat"] == 3
    assert figures["private"] is False
    assert figures["ndcg_random"] < figures["ndcg"] <= 1
    assert figures["std_error"]["l1"] > 0
    again = blendp(*options, "--json", "--seed", "5", cwd=folder)
    assert again.stdout == done.stdout


def test_demo_shows_estimates_beside_the_truth_and_draws_a_report(folder: Path) -> None:
    done = blendp("demo", "--users", "30000", cwd=folder)
    assert done.returncode == 0, done.stderr
    for word in ("google", "truth", "opt-in", "clients", "L1", "NDCG", "random order", "Not private"):
        assert word in done.stdout
    assert (folder / "blendp-demo/report.html").stat().st_size > 10_000
    second = blendp("demo", "--users", "30000", cwd=folder)
    assert "blendp-demo-2" in second.stdout
    assert second.stdout.replace("blendp-demo-2", "blendp-demo") == done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_demo_knows_every_population(folder: Path, name: str) -> None:
    done = blendp("demo", name, "--users", "300", "--out", f"demo of {name}", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f"synthetic {name} population" in (folder / f"demo of {name}/report.html").read_text()


@pytest.mark.parametrize("users", ["1", "300"])
def test_demo_of_too_few_people_says_so(folder: Path, users: str) -> None:
    done = blendp("demo", "--users", users, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "No record passed the threshold" in done.stdout


def test_a_log_without_urls_gives_trends(folder: Path) -> None:
    lines = (folder / "log.csv").read_text().splitlines()
    (folder / "queries.csv").write_text("\n".join(line.rsplit(",", 1)[0] for line in lines) + "\n")
    done = blendp("run", "queries.csv", "--opt-in", "0.2", "--out", "trends", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["head_list"]["levels"] == 1
    assert "queries alone are counted" in done.stderr
    assert {row["url"] for row in printed["estimates"]} == {None}
    assert printed["trends"][0]["query"] == "google"


def test_opt_in_column(folder: Path) -> None:
    lines = (folder / "log.csv").read_text().splitlines()
    marked = [lines[0] + ",staff"] + [f"{line},{'yes' if i % 4 == 0 else 'no'}" for i, line in enumerate(lines[1:])]
    (folder / "marked.csv").write_text("\n".join(marked) + "\n")
    done = blendp("run", "marked.csv", "--opt-in-column", "staff", "--out", "marked", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["users"]["opt_in"] == 10_000


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("run", "log.csv", "--epsilon", "0"), 2, "--epsilon = 0.0 is not allowed"),
        (("run", "log.csv", "--delta", "1"), 2, "--delta = 1.0 is not allowed"),
        (("run", "log.csv", "--query-share", "1"), 2, "--query-share = 1.0"),
        (("run", "nowhere.csv", "--epsilon", "0.01", "--delta", "0.5"), 2, "--delta = 0.5 is not allowed"),
        (("run", "log.csv", "--out", "."), 4, "current directory"),
        (("run", "log.csv", "--normalise", "x"), 2, "--normalise = 'x'"),
        (
            ("run", "log.csv", "--size", "-3"),
            2,
            "--size = -3 is not allowed: it must be a whole number of at least 0. 0 keeps all",
        ),
        (("run", "log.csv", "--opt-in", "1.5"), 2, "--opt-in = 1.5"),
        (("run", "log.csv", "--opt-in", "0.1", "--opt-in-column", "x"), 2, "Give one of the two"),
        (("run", "log.csv", "--method", "magic"), 2, "published"),
        (("run", "nowhere.csv"), 3, "nowhere.csv does not exist"),
        (("run", "log.csv", "--query-column", "nope"), 3, "--query-column"),
        (("evaluate", "log.csv", "--repeat", "0"), 2, "--repeat = 0"),
        (("synthesise", "bing", "--out", "b.csv"), 2, "Error: name = 'bing' is not allowed: it must be one of aol"),
        (("synthesise", "aol", "--out", "b.txt"), 2, "Error: --out = 'b.txt' is not allowed"),
        (("demo", "--users", "0"), 2, "--users = 0"),
    ],
)
def test_mistakes_get_one_sentence_and_a_code(folder: Path, arguments: tuple[str, ...], code: int, says: str) -> None:
    before = names(folder)
    out = ("--out", "mistake") if arguments[0] == "run" and "--out" not in arguments else ()
    done = blendp(*arguments, *out, cwd=folder)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert names(folder) == before


@pytest.mark.parametrize("command", [(), ("run",), ("evaluate",), ("synthesise",), ("demo",)])
def test_help_has_examples_and_the_plain_truth(folder: Path, command: tuple[str, ...]) -> None:
    done = blendp(*command, "--help", cwd=folder)
    assert done.returncode == 0
    text = " ".join(done.stdout.split())
    if command:
        assert f"blendp {command[0]}" in text
        assert "Examples" in text
    if command == ("run",):
        assert "plays BOTH sides on a log that one party already holds" in text
        assert "clients randomise on their own devices" in text
    if command == ("evaluate",):
        assert "NOT PRIVATE" in text


@pytest.mark.usefixtures("_heeding_interrupts")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_leaves_nothing_half_written(folder: Path, number: signal.Signals) -> None:
    before = names(folder)
    command = [sys.executable, "-m", "blendp", "synthesise", "aol", "--users", "30000000", "--out", "huge.csv"]
    process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while names(folder) == before and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert stderr == "Interrupted: nothing was written.\n"
    assert names(folder) == before


SWALLOWS = """
import signal, sys
from blendp.cli import app, main

def command():
    try:
        signal.raise_signal(signal.{number})
    except KeyboardInterrupt:
        pass  # as extension modules do while they are loaded
    for _ in range(600):
        signal.sigtimedwait([], 0.1)
    sys.exit("went on")

app.app = command
main()
"""


@pytest.mark.usefixtures("_heeding_interrupts")
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_an_interrupt_that_is_swallowed_is_heeded_all_the_same(tmp_path: Path, number: str) -> None:
    command = [sys.executable, "-c", SWALLOWS.format(number=number)]
    done = subprocess.run(
        command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (130, "Interrupted: nothing was written.\n")


IN_TYPER = """
import signal
from blendp.cli import main
from blendp.cli.lazy_group import LazyGroup

LazyGroup.parse_args = lambda *_: signal.raise_signal(signal.SIGINT)
main()
"""


@pytest.mark.usefixtures("_heeding_interrupts")
def test_an_interrupt_while_typer_reads_the_command_line_is_told(tmp_path: Path) -> None:
    command = [sys.executable, "-c", IN_TYPER, "run", "log.csv"]
    done = subprocess.run(
        command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (130, "Interrupted: nothing was written.\n")


@pytest.mark.parametrize(
    ("seen_as", "cause"),
    [(RuntimeError("Query interrupted"), None), (ImportError("initialization failed"), KeyboardInterrupt())],
    ids=["while it works", "while it is loaded"],
)
def test_an_interrupt_that_the_database_sees_first_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, seen_as: Exception, cause: BaseException | None
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise seen_as from cause

    monkeypatch.setattr("blendp.logs.read_log", interrupted)
    done = CliRunner().invoke(app, ["evaluate", "log.csv"])
    assert done.exit_code == 130
    assert "Interrupted" in done.stderr


def test_version(folder: Path) -> None:
    assert re.fullmatch(r"blendp \d+\.\d+\.\d+\n", blendp("--version", cwd=folder).stdout)
