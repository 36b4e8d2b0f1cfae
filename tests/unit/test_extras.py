"""What ``pip install blendp`` brings, what the extras add, and what is said where an extra is missing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from blendp.cli import SYSTEM
from blendp.cli.failures import SERVER_PACKAGES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "blendp"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

WITHOUT_SERVER = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
{then}
"""
COMMAND = "sys.argv[0] = 'blendp'; from blendp.cli import main; main()"
EVERY_MODULE = """
from importlib import import_module
for name in {names}:
    import_module(name)
"""


def without_server(then: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """These lines in a fresh interpreter that has nothing but what ``pip install blendp`` brings."""
    code = WITHOUT_SERVER.format(missing=set(SERVER_PACKAGES), then=then)
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


owners = cache(packages_distributions)


def packages_of(requirements: list[str]) -> set[str]:
    """The names under which these requirements are imported."""
    wanted = {re.split(r"[\[<>=;]", one)[0].replace("-", "_") for one in requirements}
    owned_by = owners().items()
    return {package for package, names in owned_by if wanted & {one.lower().replace("-", "_") for one in names}}


def base() -> set[str]:
    return packages_of(PROJECT["dependencies"])


def extra(name: str) -> set[str]:
    return packages_of(PROJECT["optional-dependencies"][name])


def imported(path: Path) -> set[str]:
    """The packages that a module imports, wherever in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names} - {"blendp"} - set(sys.stdlib_module_names)


def test_the_extra_is_what_a_collector_alone_needs() -> None:
    assert extra("server") >= SERVER_PACKAGES
    assert not extra("server") & base()
    used = set().union(*(imported(path) for path in (SOURCE / "service").rglob("*.py")))
    assert used - base() <= SERVER_PACKAGES | {"anyio"}  # which httpx, of the base, brings along


def test_everything_else_needs_the_base_alone() -> None:
    spark = base() | extra("spark") | {"py4j"}
    allowed = {"engines": spark, "logs/spark": spark, "service": base() | extra("server")}
    everywhere = base()
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0]
        if path.name.startswith("spark_"):  # readers of what Spark reaches
            room = f"{room}/spark"
        if path.name != "serve.py":  # looks at the address of a database before a collector is started
            assert imported(path) <= allowed.get(room, everywhere), path


def test_everything_but_the_collector_is_imported_without_it(tmp_path: Path) -> None:
    paths = [path.relative_to(SOURCE.parent).with_suffix("") for path in SOURCE.rglob("*.py")]
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths if "service" not in path.parts]
    skipped = {name for name in names if name.endswith("__main__") or name == "blendp.engines.spark.spool"}
    done = without_server(EVERY_MODULE.format(names=sorted(set(names) - skipped)), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_log_is_made_and_released_without_the_extra(tmp_path: Path) -> None:
    synthesised = without_server(COMMAND, "synthesise", "aol", "--users", "3000", "--out", "log.csv", cwd=tmp_path)
    assert synthesised.returncode == 0, synthesised.stderr
    done = without_server(COMMAND, "run", "log.csv", "--opt-in", "0.3", "--size", "5", "--out", "release", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "release" / "report.html").is_file()


@pytest.mark.parametrize(
    "arguments",
    [["serve"], ["backup", "--out", "copy"], ["token", "create", "--name", "me"], ["key", "list"], ["demo", "--serve"]],
    ids=" ".join,
)
def test_a_missing_extra_is_one_sentence_with_the_command(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "blendp-data").mkdir(mode=0o700)
    (tmp_path / "blendp-data" / "collector.db").touch(mode=0o600)
    done = without_server(COMMAND, *arguments, cwd=tmp_path)
    assert done.returncode == SYSTEM
    sentence = r'Error: This needs what a collector needs \([\w.]+ is not installed\): pip install "blendp\[server\]"\n'
    assert re.fullmatch(sentence, done.stderr), done.stderr
    assert not done.stdout


def test_help_of_a_collector_needs_no_extra(tmp_path: Path) -> None:
    done = without_server(COMMAND, "serve", "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Run a collector" in done.stdout
