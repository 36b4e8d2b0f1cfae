"""The project's own source, parsed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "blendp"
CODE = (PACKAGE, ROOT / "tests", ROOT / "benchmarks", ROOT / "examples")


def python_files(*folders: Path) -> list[Path]:
    """The Python files of these folders."""
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def short(path: Path) -> str:
    """A file's path from the project's root."""
    return path.relative_to(ROOT).as_posix()


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name of a variable, a parameter, a field, an attribute or an alias, and its line."""
    for node in ast.walk(tree):
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
