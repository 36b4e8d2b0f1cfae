"""What the documentation shows is true: its code runs, its commands exist, its links lead somewhere."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from blendp.cli.app import app
from blendp.cli.table import COMMANDS as COMMANDS_ALONE
from blendp.cli.table import GROUPS, RENAMED
from tests.forked import SHELL_FUNCTION, shell_environment
from tests.forked import run as blendp

ROOT = Path(__file__).parents[2]
COMMANDS = "|".join(
    [*COMMANDS_ALONE, *RENAMED, *(f"{group} {name}" for group, some in GROUPS.items() for name in some.commands)]
)
PAGES = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "src/**/*.md",
        "clients/js/*.md",
        "clients/js/extension/*.md",
        "deploy/*.md",
    )
    for path in ROOT.glob(pattern)
)


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a language; a command that goes on after a backslash is one line."""
    text = re.sub(r" *\\\n *", " ", page.read_text(encoding="utf-8"))
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    from blendp.logs.synthetic import population

    population("aol", users=40_000, seed=1).write(folder / "log.csv")
    return folder


def test_the_readme_python_runs_in_three_lines(folder: Path) -> None:
    (code,) = blocks(ROOT / "README.md", "python")
    assert len([line for line in code.splitlines() if line]) == 3
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "google" in done.stdout


def test_the_readme_opens_with_two_commands_that_exist() -> None:
    commands = blocks(ROOT / "README.md", "sh")[0].splitlines()
    assert [shlex.split(line, comments=True) for line in commands] == [["scripts/demo"], ["scripts/test"]]
    for line in commands:
        assert os.access(ROOT / line.split()[0], os.X_OK)
    assert "scripts/test" in (ROOT / ".ci/run").read_text()
    (alive,) = blocks(ROOT / "README.md", "sh")[1].splitlines()
    assert shlex.split(alive, comments=True) == ["scripts/demo", "--serve"]  # tests/unit/cli/test_demo_live.py runs it


def test_the_readme_commands_run(folder: Path) -> None:
    use, search = (blocks(ROOT / "README.md", "sh")[number].splitlines() for number in (2, 5))
    for line in (*use, *search):
        program, *arguments = shlex.split(line, comments=True)
        assert program == ".venv/bin/blendp"
        if arguments[0] == "synthesise":  # the same log, with fewer people
            arguments += ["--users", "40000", "--overwrite"]
        if arguments[0] == "evaluate" and "--search" not in arguments:
            arguments += ["--repeat", "2"]
        done = blendp(*arguments, cwd=folder)
        assert done.returncode == 0, done.stderr


def test_the_readme_survey_runs(folder: Path) -> None:
    for line in blocks(ROOT / "README.md", "sh")[3].splitlines():
        program, *arguments = shlex.split(line, comments=True)
        assert program == ".venv/bin/blendp"
        done = blendp(*arguments, cwd=folder)
        assert done.returncode == 0, done.stderr
    card = json.loads((folder / "blendp-survey" / "survey.json").read_text())
    assert card["people"] == {"opt_in": 5_000, "client": 95_000}


def test_the_survey_tutorial_runs(folder: Path) -> None:
    page = ROOT / "docs" / "surveys.md"
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    assert lines[0] == "scripts/setup dev"
    for line in lines[1:]:
        program, *arguments = shlex.split(line, comments=True)
        if program == ".venv/bin/python":  # the same answers, of fewer people
            arguments[arguments.index("--people") + 1] = "4000"
            done = subprocess.run(
                [sys.executable, *arguments],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                capture_output=True,
                text=True,
                check=False,
            )
        else:
            done = blendp(*arguments, *(["--runs", "1"] if "evaluate" in arguments else []), cwd=folder)
        assert done.returncode == 0, done.stderr
    (code,) = blocks(page, "python")
    done = subprocess.run(
        [sys.executable, "-c", code.replace('"survey")', '"another")')],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "another" / "report.html").exists()


def test_the_collector_tutorial_runs(tmp_path: Path) -> None:
    """On another port, and with fewer people, but enough for a list that no device refuses as too short."""
    path, serve, script = blocks(ROOT / "docs" / "collector.md", "sh")[0].split("\n", 2)
    assert path == "export PATH=$PWD/.venv/bin:$PATH"
    program, *arguments = shlex.split(serve, comments=True)
    assert (program, arguments.pop()) == ("blendp", "&")
    for old, new in {
        "--count 1000": "--count 600",
        "--people 5000": "--people 1000",
        "examples/": f"{ROOT}/examples/",
    }.items():
        assert old in script
        script = script.replace(old, new)
    functions = SHELL_FUNCTION + 'python() { $PYTHON "$@"; }\n'
    command = [sys.executable, "-m", "blendp", *arguments, "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        url = next(json.loads(line)["url"] for line in server.stderr if "serving" in line and line.startswith("{"))
        done = subprocess.run(
            ["bash", "-ec", functions + script],
            cwd=tmp_path,
            env={
                **os.environ,
                **shell_environment(),
                "BLENDP_SERVER": url,
                "PYTHON": sys.executable,
                "PYTHONPATH": str(ROOT),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        server.terminate()
        server.communicate()
    assert done.returncode == 0, done.stderr
    assert "1000 people reported" in done.stdout
    assert (tmp_path / "release" / "estimates.csv").stat().st_size > 100


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:tests|src|benchmarks|scripts|docs|deploy)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name
    for module in re.findall(r"python -m (benchmarks\.\w+)", text):
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").exists()


def test_every_option_that_is_shown_exists() -> None:
    shown: dict[str, set[str]] = {}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for command, rest in re.findall(rf"blendp ({COMMANDS})([^`\n|]*)", text):
            shown.setdefault(command, set()).update(re.findall(r"--[a-z][a-z-]+", rest))
    assert "survey plan" in shown
    for command, options in shown.items():
        done = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        assert options <= set(re.findall(r"--[a-z][a-z-]+", done.stdout)), command


def test_the_json_keys_that_are_documented_are_printed(folder: Path) -> None:
    page = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    documented = set(re.findall(r'"(\w+)"', page[page.index('{"private"') :]))
    printed = json.loads(blendp("evaluate", "log.csv", "--repeat", "1", "--json", cwd=folder).stdout)
    assert documented == set(printed) | set(printed["groups"]) | set(printed["groups"]["client"])
