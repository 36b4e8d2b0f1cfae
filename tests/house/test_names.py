"""One name for one thing, one thing for one name."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.house.source import CODE, PACKAGE, ROOT, bound_names, nodes, parsed, parts, python_files, short

VAGUE = frozenset({"told", "made", "found", "held", "place", "words"})
"""Words that say nothing of what a variable holds."""

BOUNDS = frozenset({"least", "most", "longest", "largest", "fewest", "minimum", "maximum"})
"""Bare superlatives: a bound is called min_ or max_ of something."""


def test_names_say_what_they_hold() -> None:
    vague = [
        f"{short(path)}:{line} {name}"
        for path in python_files(*CODE)
        for name, line in bound_names(path)
        if name.strip("_").lower() in VAGUE
    ]
    assert not vague, f"{len(vague)}: " + "\n".join(vague)


def test_names_in_scripts_say_what_they_hold() -> None:
    scripts = [path for folder in ("scripts", "clients/js") for path in (ROOT / folder).iterdir() if path.is_file()]
    shell = [path for path in scripts if path.read_bytes().startswith(b"#!/usr/bin/env bash")]
    assert len(shell) > 4
    texts = [(short(path), path.read_text(encoding="utf-8")) for path in shell]
    vague = [(path, name) for path, text in texts for name in re.findall(r"\b([a-z_]+)=", text) if name in VAGUE]
    assert vague == []


def test_bounds_among_parameters_and_constants_are_min_and_max() -> None:
    bare = []
    for path in python_files(PACKAGE):
        for node in parts(path):
            parameter = isinstance(node, ast.arg) and node.arg.strip("_") in BOUNDS
            constant = isinstance(node, ast.Name) and node.id.isupper() and _superlative(node.id)
            if parameter or constant:
                bare.append(f"{short(path)}:{node.lineno}")  # type: ignore[attr-defined]
    assert not bare, f"{len(bare)}: " + "\n".join(bare)


def _superlative(constant: str) -> bool:
    return constant.strip("_").lower().split("_")[0] in BOUNDS


def test_a_class_name_stands_for_one_class() -> None:
    places = defaultdict(list)
    for line, node in nodes(ast.ClassDef, PACKAGE):
        places[node.name].append(line)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


@pytest.mark.parametrize("package", sorted(path.parent for path in PACKAGE.rglob("__init__.py")), ids=short)
def test_no_module_is_shadowed_by_something_of_its_name(package: Path) -> None:
    modules = {path.stem for path in package.glob("*.py")} | {path.name for path in package.iterdir() if path.is_dir()}
    here = "blendp." * (package != PACKAGE) + ".".join(package.relative_to(PACKAGE).parts) or "blendp"
    statements = [
        inner
        for statement in parsed(package / "__init__.py").body
        for inner in (statement.body if isinstance(statement, ast.If) else [statement])
    ]
    names = set()
    for statement in statements:
        if isinstance(statement, ast.ImportFrom) and statement.module != here:
            names |= {alias.asname or alias.name for alias in statement.names}
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign):
            names |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    assert not modules & names
