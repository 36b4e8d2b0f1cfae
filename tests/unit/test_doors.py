"""What each door loads: a fresh interpreter opens it, and counts the modules that are there afterwards."""

import ast
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import blendp
from blendp import curator, engines, estimate, evaluation, logs, mechanisms, methods, reports, survey, wire
from blendp.cli.table import GROUPS
from blendp.engines import spark
from blendp.evaluation import planner
from blendp.logs import synthetic

HEAVY = {"duckdb", "jinja2", "matplotlib", "pyarrow", "scipy"}

COUNT = """
import json, sys
{opened}
print(json.dumps(sorted(name for name, module in sys.modules.items() if module)), file=sys.stderr)
"""


def modules_of(opened: str, **environment: str) -> set[str]:
    """The modules of a fresh interpreter that has run these lines."""
    command, env = [sys.executable, "-c", COUNT.format(opened=opened)], {**os.environ, **environment}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    ("door", "max_modules"), [("blendp", 70), ("blendp.errors", 100), ("blendp.client", 350), ("blendp.wire", 300)]
)
def test_a_door_loads_what_stands_behind_it_and_nothing_heavy(door: str, max_modules: int) -> None:
    loaded = modules_of(f"import {door}")
    assert len(loaded) <= max_modules
    assert not HEAVY & loaded


def test_the_service_needs_no_page_and_no_picture() -> None:
    assert not {"jinja2", "matplotlib", "scipy", "rich", "typer"} & modules_of("import blendp.service.bounded_http")
    light = modules_of("import blendp.service.server")
    assert not {"alembic", "numpy", "sqlalchemy"} & light, "workers say that they are alive before they load the rest"


def test_the_page_of_a_command_loads_what_its_options_mean_and_no_picture() -> None:
    assert not {"jinja2", "matplotlib", "sqlalchemy", "starlette", "httpx"} & modules_of_command("serve", "--help")
    assert not {*HEAVY, "msgspec", "sqlalchemy", "starlette", "httpx"} & modules_of_command("run", "--help")
    assert not {"numpy", *HEAVY} & modules_of_command("synthesise", "--help")
    assert not {"blendp.evaluation", *HEAVY} & modules_of_command("campaign", "status", "--help")
    assert not {"scipy", "matplotlib", "jinja2"} & modules_of_command("survey", "run", "--help")


def test_a_run_loads_no_plotting_library_and_no_pandas(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("user,query\n" + "".join(f"u{i},goo\n" for i in range(2000)))
    loaded = modules_of_command("run", str(log), "--opt-in", "0.5", "--out", str(tmp_path / "out"))
    assert not {"matplotlib", "pandas", "scipy", "blendp.evaluation"} & loaded
    assert not {"pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet", "blendp.engines.spark"} & loaded
    assert not {"msgspec", "blendp.logs.answers", "blendp.wire.campaign"} & loaded
    assert "plot-records" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_run_on_plain_files_loads_neither_arrow_nor_what_nobody_asked_for(kind: str, tmp_path: Path) -> None:
    log = tmp_path / f"log.{kind}"
    users = [f"u{number}" for number in range(2000)]
    if kind == "csv":
        log.write_text("user,query\n" + "".join(f"{user},goo\n" for user in users))
    else:
        pq.write_table(pa.table({"user": users, "query": ["goo"] * len(users)}), log)
    loaded = modules_of_command("run", str(log), "--opt-in", "0.5", "--out", str(tmp_path / "out"))
    assert not {"pyarrow", "pydantic", "numpy.ma"} & loaded


def test_a_demo_loads_the_service_only_to_serve(tmp_path: Path) -> None:
    loaded = modules_of_command("demo", "--users", "3000", "--out", str(tmp_path / "out"))
    assert not {"blendp.fleet", "blendp.service", "httpx", "sqlalchemy", "starlette", "webbrowser"} & loaded
    assert not {"matplotlib", "jinja2", "pyarrow", "blendp.fleet"} & modules_of_command("demo", "--help")


COMMAND_LINE = """
sys.argv = {arguments!r}
import blendp.cli
try:
    blendp.cli.main()
except SystemExit as stopped:
    assert not stopped.code, stopped.code
"""


def modules_of_command(*arguments: str, **environment: str) -> set[str]:
    """The modules that a command of these arguments has loaded when it ends."""
    return modules_of(COMMAND_LINE.format(arguments=["blendp", *arguments]), **environment)


def test_the_version_needs_neither_typer_nor_rich() -> None:
    loaded = modules_of_command("--version")
    assert len(loaded) <= 100
    assert not {"typer", "rich", "numpy"} & loaded


@pytest.mark.parametrize("arguments", [["--help"], *([group, "--help"] for group in GROUPS)], ids=" ".join)
def test_help_lists_commands_without_loading_any(arguments: list[str]) -> None:
    loaded = modules_of_command(*arguments)
    assert len(loaded) <= 250
    assert not {"numpy", "markdown_it", *HEAVY} & loaded


@pytest.mark.parametrize("typed", ["blendp ", "blendp ca", "blendp campaign r", "blendp --"])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_loads_no_command(shell: str, typed: str) -> None:
    loaded = modules_of_command(**asked_by_shell(shell, typed))
    assert len(loaded) <= 250
    assert not {"numpy", "rich", "pydantic", *HEAVY} & loaded


def asked_by_shell(shell: str, typed: str) -> dict[str, str]:
    """What a shell puts into the environment when somebody presses the tabulator after these letters."""
    return {
        "_BLENDP_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(typed.count(" ")),
        "_TYPER_COMPLETE_ARGS": typed,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_WORD_TO_COMPLETE": typed.rpartition(" ")[2],
    }


def typed_names(package: ModuleType = blendp) -> dict[str, str]:
    """Where type checkers and editors find each public name: the imports that only they see."""
    (block,) = [
        node for node in ast.parse(Path(str(package.__file__)).read_text()).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    ]  # fmt: skip
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert len(imports) == len(block.body)
    return {name.name: str(one.module) for one in imports for name in one.names}


def test_names_are_loaded_from_where_type_checkers_find_them() -> None:
    typed = typed_names()
    lazy = {name: home for home, names in blendp._HOMES.items() for name in names}
    rooms = {name for name, home in typed.items() if home == "blendp"}
    assert {name: home for name, home in typed.items() if name not in rooms} == lazy
    assert {*typed, "__version__"} == set(blendp.__all__)


PACKAGES = [curator, engines, estimate, logs, mechanisms, methods, reports, wire, evaluation, planner, spark, survey]


@pytest.mark.parametrize("package", [*PACKAGES, synthetic])
def test_names_of_a_package_are_loaded_from_where_type_checkers_find_them(package: ModuleType) -> None:
    lazy = {name: home for home, names in package._HOMES.items() for name in names}
    assert lazy == typed_names(package)
    assert set(lazy) == set(package.__all__) <= set(dir(package))
    for name, home in lazy.items():
        assert getattr(package, name) is getattr(import_module(home), name)
    with pytest.raises(AttributeError, match="has no attribute 'nobody'"):
        _ = package.nobody


@pytest.mark.parametrize("name", blendp.__all__)
def test_every_public_name_is_listed_and_can_be_used(name: str) -> None:
    home = {**typed_names(), "__version__": "blendp._version"}[name]
    expected = import_module(f"blendp.{name}") if home == "blendp" else getattr(import_module(home), name)
    assert name in dir(blendp)
    assert getattr(blendp, name) is expected


def test_dir_lists_names_before_they_are_used_and_loads_none() -> None:
    loaded = modules_of("import blendp; assert set(blendp.__all__) <= set(dir(blendp))")
    assert not {one for one in loaded if one.startswith("blendp.")} - {"blendp._version", "blendp.lazy"}


def test_rooms_need_no_import_of_their_own() -> None:
    assert "blendp.headlist" in modules_of("import blendp; blendp.headlist.HeadList")


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = blendp.nonsense  # type: ignore[attr-defined]
    assert not hasattr(blendp, "__wrapped__")
