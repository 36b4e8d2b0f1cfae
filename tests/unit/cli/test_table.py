"""The table of commands, and pages and completion that come of it."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from blendp.cli import failures
from blendp.cli.app import app
from blendp.cli.choices import CHOICES
from blendp.cli.lazy_group import LazyGroup
from blendp.cli.table import COMMANDS, GROUPS, RENAMED

LINES = {("blendp.cli", name): line for name, line in COMMANDS.items()} | {
    (f"blendp.cli.{group}", name): line for group, table in GROUPS.items() for name, line in table.commands.items()
}


@pytest.mark.parametrize(("package", "name"), LINES)
def test_a_command_is_listed_by_the_first_line_of_its_own_words(package: str, name: str) -> None:
    function = name.replace("-", "_")
    command = getattr(import_module(f"{package}.{function}"), function)
    first, _, _ = (inspect.getdoc(command) or "").partition("\n\n")
    assert LINES[package, name] == " ".join(first.split())


def test_every_module_of_a_command_is_listed() -> None:
    root = Path(failures.__file__).parent
    having = {path for path in root.rglob("*.py") if "\nEXAMPLES = " in path.read_text(encoding="utf-8")}
    assert having == {Path(str(import_module(f"{home}.{name.replace('-', '_')}").__file__)) for home, name in LINES}


def test_former_names_are_names_of_commands_no_more() -> None:
    assert set(RENAMED.values()) <= set(COMMANDS)
    assert not set(RENAMED) & set(COMMANDS)


def test_a_former_name_does_the_same_and_says_what_it_is_called_now(tmp_path: Path) -> None:
    options = ["aol", "--users", "100", "--seed", "3", "--out"]
    named = {name: CliRunner().invoke(app, [name, *options, str(tmp_path / f"{name}.csv")], prog_name="blendp")
             for name in ("simulate", "synthesise")}  # fmt: skip
    said = "blendp simulate is now called blendp synthesise, which does the same.\n"
    assert {name: (done.exit_code, done.stderr) for name, done in named.items()} == {
        "simulate": (0, said),
        "synthesise": (0, ""),
    }
    assert (tmp_path / "simulate.csv").read_bytes() == (tmp_path / "synthesise.csv").read_bytes()
    assert "simulate" not in CliRunner().invoke(app, ["--help"]).stdout


@pytest.mark.parametrize("home", failures.FORESEEN_ELSEWHERE, ids=".".join)
def test_every_failure_that_is_foreseen_exists(home: tuple[str, str]) -> None:
    module, name = home
    assert issubclass(getattr(import_module(module), name), Exception)


def pages(group: Any, name: str = "blendp") -> list[tuple[Any, Any]]:
    context = group.make_context(name, [], resilient_parsing=True)
    inner = [one for part, command in group.commands.items() if hasattr(command, "commands")
             for one in pages(command, part)]  # fmt: skip
    return [(group, context), *inner]


@pytest.mark.parametrize("columns", ["80", "160"])
def test_pages_of_groups_are_those_that_typer_prints(
    columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for group, context in pages(typer.main.get_command(app)):
        assert isinstance(group, LazyGroup)
        group.format_help(context, None)
        ours = capsys.readouterr().out
        TyperGroup.format_help(group, context, None)  # type: ignore[arg-type]
        assert ours == capsys.readouterr().out


PAGES = [[], *([group] for group in GROUPS), *([*home.split(".")[2:], name] for home, name in LINES)]


@pytest.mark.parametrize(("columns", "pages"), [(40, PAGES), (79, PAGES), (30, [["run"]]), (60, [["run"]])])
def test_no_name_is_cut_on_a_narrow_terminal(columns: int, pages: list[list[str]]) -> None:
    """Every option stands on the page by its whole name, and no line is wider than the terminal or has lost its end."""
    for path in pages:
        page = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": str(columns)}).stdout
        shown = set(re.findall(r"--[a-z0-9-]+", " ".join(re.findall(r"^  --.*", page, re.MULTILINE))))
        assert set(complete(f"blendp {' '.join([*path, '--'])}")) <= shown
        assert "--help" in shown
        assert "…" not in page
        assert max(map(len, page.splitlines())) <= columns


def test_what_a_name_means_stands_below_it_on_a_narrow_terminal() -> None:
    page = CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "40"}).stdout
    shown = "\n".join(line.rstrip() for line in page.splitlines())
    assert "\nPrivacy\n  --opt-in NUMBER\n      Share of users who opt in, drawn\n      at random" in shown
    assert "\n- blendp run log.csv --opt-in 0.05\n    --epsilon 4 --size 50 --out release\n" in shown


def test_a_command_that_does_not_exist_is_told_with_what_is_near() -> None:
    done = CliRunner().invoke(app, ["evaluat"], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "Did you mean 'evaluate'?" in done.stderr


def complete(typed: str) -> list[str]:
    """What bash is offered for what was typed."""
    asked = {"_BLENDP_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    return CliRunner().invoke(app, [], prog_name="blendp", env=asked).stdout.split()


def test_completion_knows_commands_groups_and_options() -> None:
    assert complete("blendp ") == [*COMMANDS, *GROUPS]
    assert complete("blendp re") == ["reproduce", "restore"]
    assert complete("blendp campaign ") == list(GROUPS["campaign"].commands)
    assert "--opt-in-column" in complete("blendp run --opt")
    assert "--preview" in complete("blendp campaign publish --")


def test_completion_knows_values() -> None:
    assert complete("blendp run x --engine ") == ["embedded", "spark"]
    assert complete("blendp run x --method p") == ["published"]
    assert complete("blendp survey run x --method c") == ["cbps", "cbp"]
    assert complete("blendp synthesise ") == ["aol", "yandex", "aol-sparse"]
    assert complete("blendp client consent ") == ["off", "local", "opt-in"]
    assert complete("blendp run log") == []  # the shell itself knows files


_TERMS = "--title t --organisation o --purpose p --contact c@c --opt-in-until +7d --reports-until +21d --token-file T"
_CALLS = {
    "learn": "survey run T --answers-from-data",
    "like": f"campaign create x {_TERMS}",
    "missing": "survey run T --answers-from-data",
    "plan": "plan",
    "survey run": "survey run T --answers-from-data",
}
"""How to call a command so that it is the value that it refuses; T is a table."""


@pytest.mark.parametrize("parameter_of", CHOICES)
def test_values_that_are_completed_are_those_that_a_command_takes(parameter_of: str, tmp_path: Path) -> None:
    *path, parameter = parameter_of.split()
    (tmp_path / "t.csv").write_text("user,query,a\n1,2,3\n")
    if parameter == "name":
        call = [*path, "nonsense", *(["--out", str(tmp_path / "o.csv")] if path == ["synthesise"] else [])]
    else:
        name = " ".join(path) or "run"
        call = _CALLS.get(parameter, _CALLS.get(name, f"{name} T")).replace(" T", f" {tmp_path / 't.csv'}").split()
        call += [f"--{parameter.replace('_', '-')}", "nonsense"]
    done = CliRunner().invoke(app, call, env={"COLUMNS": "300"})
    assert done.exit_code == 2
    if parameter not in ("levels", "opt_in_records"):  # which tell a number from a word in other ways
        assert f"one of {', '.join(CHOICES[parameter_of])}. " in done.stderr


def test_pages_speak_of_no_python_types() -> None:
    for arguments in (["--help"], *([*home.split(".")[2:], name, "--help"] for home, name in LINES)):
        page = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"}).stdout
        assert "Usage" in page
        assert not re.search(r"<(bool|str|int|float|path|file|list)|list\[|np\.", page), arguments


@pytest.mark.parametrize("asked", [["--show-completion", "zsh"], ["--show-completion=zsh"]])
def test_completion_is_of_the_shell_that_is_named(asked: list[str]) -> None:
    done = CliRunner().invoke(app, asked, prog_name="blendp")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "#compdef blendp" in done.stdout
    wrong = CliRunner().invoke(app, ["--install-completion", "tcsh"], prog_name="blendp")
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("Error: --install-completion = 'tcsh' is not allowed: it must be one of bash, zsh,")


def test_descriptions_of_options_are_as_they_are_written() -> None:
    asked = {"_BLENDP_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "blendp run --eng"}
    assert "(blendp[spark])." in CliRunner().invoke(app, [], prog_name="blendp", env=asked).stdout


def test_descriptions_keep_their_apostrophes_in_zsh() -> None:
    asked = {"_BLENDP_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "blendp eval"}
    assert "the log’s own truth" in CliRunner().invoke(app, [], prog_name="blendp", env=asked).stdout


def test_the_first_tab_in_zsh_completes_already() -> None:
    shown = CliRunner().invoke(app, ["--show-completion", "zsh"], prog_name="blendp").stdout
    assert shown.splitlines()[-1] == '[ "$funcstack[1]" = _blendp ] && _blendp_completion "$@"'


@pytest.mark.parametrize("option", ["--where", "--since", "--until", "--time-column"])
@pytest.mark.parametrize("command", GROUPS["survey"].commands)
def test_a_survey_says_why_it_takes_no_filter(command: str, option: str) -> None:
    done = CliRunner().invoke(app, ["survey", command, "answers.csv", option, "1"], env={"COLUMNS": "300"})
    assert done.exit_code == 2
    assert f"{option} is not allowed: surveys have no filter, since everybody" in done.stderr
    assert "Possible options" not in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_shown_and_installed(shell: str, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    code = "import sys; sys.argv[0] = 'blendp'; from blendp.cli import main; main()"
    for option in ("--show-completion", "--install-completion"):
        command = [sys.executable, "-c", code, option, shell]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        assert "_BLENDP_COMPLETE" in done.stdout or f"{shell} completion installed" in done.stdout
    written = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert f"_BLENDP_COMPLETE=complete_{shell}" in written


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_that_cannot_be_installed_is_told_in_one_sentence(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "home"))
    done = CliRunner().invoke(app, ["--install-completion", shell], prog_name="blendp")
    assert done.exit_code == 5
    assert done.stderr.startswith(f"Error: {tmp_path / 'file'}/")
    assert len(done.stderr.strip().splitlines()) == 1
