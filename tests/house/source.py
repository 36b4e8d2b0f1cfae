"""The project's own source, parsed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "blendp"
Node = TypeVar("Node", ast.ClassDef, ast.Call)
CODE = (PACKAGE, ROOT / "tests", ROOT / "benchmarks", ROOT / "examples")


def python_files(*folders: Path) -> list[Path]:
    """The Python files of these folders."""
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(kind: type[Node], *folders: Path) -> tuple[tuple[str, Node], ...]:
    """Every class, call or other part of one kind in the files of these folders, and where it stands."""
    return tuple(
        (f"{short(path)}:{node.lineno}", node)
        for path in python_files(*folders)
        for node in parts(path)
        if isinstance(node, kind)
    )


@cache
def parts(path: Path) -> tuple[ast.AST, ...]:
    """All of a file's syntax tree."""
    return tuple(ast.walk(parsed(path)))


def short(path: Path) -> str:
    """A file's path from the project's root."""
    return path.relative_to(ROOT).as_posix()


def bound_names(path: Path) -> Iterator[tuple[str, int]]:
    """Every name of a variable, a parameter, a field, an attribute or an alias in a file, and its line."""
    for node in parts(path):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.alias) and node.asname is not None:
            yield node.asname, node.lineno
        elif (isinstance(node, ast.ExceptHandler) and node.name is not None) or (
            isinstance(node, ast.MatchAs | ast.MatchStar) and node.name is not None
        ):
            yield node.name, node.lineno
