"""The reference of all public names, made of their docstrings by pdoc, without a network: ``scripts/api``."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from pdoc import render
from pdoc.doc import Module, Variable

import blendp

PACKAGES = ("blendp.client", "blendp.mechanisms", "blendp.reports", "blendp.survey", "blendp.wire")
"""The packages that docs/stability.md calls public, besides ``blendp`` itself."""

_WHERE = re.compile(r"^where:\n((?:(?: {4}.*)?\n?)+)", flags=re.MULTILINE)
_SYMBOL = re.compile(r"(\S.*?) {2,}(\S.*)")


def in_markdown(docstring: str) -> str:
    """A docstring in the style of the house as Markdown: "where:" is followed by a list of symbols."""
    text = re.sub(r"::$", ":", docstring, flags=re.MULTILINE)
    text = re.sub(r"(:\w+:`)~", r"\1", text)
    return _WHERE.sub(_symbols, text)


def _symbols(match: re.Match[str]) -> str:
    items: list[str] = []
    for line in match[1].splitlines():
        symbol = _SYMBOL.fullmatch(line[4:]) if line[4:5].strip() else None
        if symbol:
            items.append(f"* **{symbol[1].replace('`', '').replace('*', '')}** {symbol[2]}")
        elif items and line.strip():
            items[-1] += f" {line.strip()}"
        elif line.strip():
            items.append(f"* {line.strip()}")
    return "where:\n\n" + "\n".join(items) + "\n\n"


def build(folder: Path) -> dict[str, Module]:
    """Write the reference into a folder: a page for ``blendp``, one for each public package, and a search in them."""
    render.configure(docformat="google", show_source=False, footer_text=f"blendp {blendp.__version__}")
    render.env.filters["to_markdown"] = _filter(render.env.filters["to_markdown"])
    modules = {name: _documented(name) for name in ("blendp", *PACKAGES)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, module in modules.items():
        page = folder / f"{name.replace('.', '/')}.html"
        page.parent.mkdir(exist_ok=True)
        page.write_text(render.html_module(module, modules), encoding="utf-8")
    (folder / "index.html").write_text(render.html_index(modules), encoding="utf-8")
    (folder / "search.js").write_text(render.search_index(modules), encoding="utf-8")
    return modules


def _documented(name: str) -> Module:
    """A module all of whose names are there; constants have the docstrings that stand where they are defined."""
    package = import_module(name)
    for public in package.__all__:
        getattr(package, public)  # pdoc does not ask a module that imports its names when they are used
    module = Module(package)
    source = ast.parse(Path(package.__file__ or "").read_text(encoding="utf-8"))
    for node in (node for node in ast.walk(source) if isinstance(node, ast.ImportFrom)):
        for alias in node.names:
            constant = module.members.get(alias.name)
            if isinstance(constant, Variable) and not constant.docstring:
                constant.docstring = Module(import_module(node.module or "")).members[alias.name].docstring
    return module


def _filter(usual: Callable[..., Any]) -> Callable[..., Any]:
    if getattr(usual, "of_the_house", False):
        return usual

    def to_markdown(context: Any, docstring: str) -> Any:
        return usual(context, in_markdown(docstring))

    vars(to_markdown).update(vars(usual), of_the_house=True)
    return to_markdown


def main() -> None:
    """Build it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the pages are written")
    build(parser.parse_args().folder)


if __name__ == "__main__":
    main()
