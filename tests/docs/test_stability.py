"""What docs/stability.md promises to keep is what there is: nothing went away silently, nothing came unlisted."""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import blendp
from blendp import cli
from blendp.cli.app import app
from blendp.cli.campaign import export
from blendp.normalise import RULES
from blendp.render.release.names import FILES
from blendp.render.survey.files import SURVEY_FILES
from blendp.render.tally.files import TALLY_FILES
from blendp.service.http.app import ENDPOINTS
from blendp.service.http.openapi import openapi
from blendp.wire import PROBLEMS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/stability.md").read_text(encoding="utf-8")
HTTP = (ROOT / "docs/http-api.md").read_text(encoding="utf-8")
ADDRESSES = HTTP[HTTP.index("## Addresses") : HTTP.index("## Bodies")]
COMMAND_LINE = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
PACKAGES = re.findall(r"`(blendp\.\w+)`", PAGE[PAGE.index("The packages ") : PAGE.index("are public too")])
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.py")))


def listed(what: str) -> str:
    """The list that follows a mark, up to the next blank line after it has begun."""
    (rest,) = re.findall(rf"<!-- {what} -->\n(.*?)\n\n", PAGE + "\n\n", flags=re.DOTALL)
    return str(rest)


def words(what: str) -> set[str]:
    return set(listed(what).replace("```text", "").replace("```", "").split())


def commands(group: Any, name: str = "") -> Iterator[str]:
    for part, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name}{part} ")
        elif not command.hidden and not command.deprecated:
            yield name + part


def test_public_names() -> None:
    assert words("names") == set(blendp.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_public_packages_say_what_is_public(package: str) -> None:
    assert {"blendp.client", "blendp.reports", "blendp.wire"} <= set(PACKAGES)
    module = importlib.import_module(package)
    assert module.__all__
    for name in module.__all__:
        assert getattr(module, name) is not None


def test_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for_work_on_blendp = {"build", "dev"}
    assert set(re.findall(r"`(\w+)`", listed("extras"))) == set(project["optional-dependencies"]) - for_work_on_blendp


def test_commands() -> None:
    lines = [line for line in listed("commands").splitlines() if not line.startswith("```")]
    assert set(lines) == set(commands(typer.main.get_command(app)))
    assert len(lines) == len(set(lines))


def test_exit_codes() -> None:
    codes = {0, *(value for name, value in vars(cli).items() if name in cli.__all__ and isinstance(value, int))}
    assert {int(code) for code in re.findall(r"^- (\d+):", listed("exit codes"), flags=re.MULTILINE)} == codes
    assert {int(code) for code in re.findall(r"^- (\d+): ", COMMAND_LINE, flags=re.MULTILINE)} == codes


def test_environment_variables() -> None:
    assert set(re.findall(r"`(BLENDP_\w+)`", listed("variables"))) == set(re.findall(r"BLENDP_\w+", SOURCE))


def test_files() -> None:
    by_command: dict[str, set[str]] = {}
    for item in re.split(r"^- ", listed("files"), flags=re.MULTILINE)[1:]:
        command, *names = re.findall(r"`([^`]+)`", item)
        by_command[command] = set(names)
    assert by_command == {
        "blendp run": set(FILES),
        "blendp campaign export": set(export.FILES) - set(FILES),
        "blendp survey run": set(SURVEY_FILES),
        "blendp tally": set(TALLY_FILES),
    }


def test_formats_with_a_number() -> None:
    assert set(re.findall(r"`(blendp/[a-z-]+/\d+)`", listed("formats"))) == set(
        re.findall(r"blendp/[a-z-]+/\d+\b", SOURCE)
    )


def test_media_types() -> None:
    pattern = r"application/vnd\.blendp\.[a-z-]+\.v\d+(?:\+json)?"
    assert set(re.findall(pattern, listed("media types"))) == set(re.findall(pattern, SOURCE))


def test_rules_of_normal_text() -> None:
    assert tuple(re.findall(r"`([^`]+)`", listed("rules"))) == RULES


def test_addresses_are_documented() -> None:
    documented = set()
    for methods, paths in re.findall(r"^- `([A-Z]+) (/.*?)`(?=:|\.)", ADDRESSES, flags=re.MULTILINE):
        first, *others = re.split(r"`, `", paths)
        shared = first.rpartition("/")[0]
        documented |= {(methods, path.partition("?")[0]) for path in (first, *(shared + other for other in others))}
    documented |= set(re.findall(r"(?<=\. )`([A-Z]+) (/[\w/.{}-]+)`", ADDRESSES))
    offered = {
        (method.upper(), path.replace("{campaign}", "{c}").replace("{report}", "{id}"))
        for path, methods in openapi(ENDPOINTS)["paths"].items()
        for method in methods
    }
    assert documented == offered


def test_problem_types_are_documented() -> None:
    part = HTTP[HTTP.index("\n## Problems\n") :]
    documented = set(re.findall(r"^- `([a-z-]+)` \((\d+)\)", part, flags=re.MULTILINE))
    assert documented == {(problem.slug, str(problem.status)) for problem in PROBLEMS.values()}
