"""Where a randomiser meets a list."""

from __future__ import annotations

import ast

from tests.house.source import PACKAGE, nodes

RANDOMISERS = frozenset({"SubsetSelection", "TwoStage"})
ROOMS = ("src/blendp/mechanisms/", "src/blendp/reports/")


def test_only_report_schemes_bind_a_randomiser_to_a_list() -> None:
    elsewhere = [
        line
        for line, node in nodes(ast.Call, PACKAGE)
        if not line.startswith(ROOMS) and not _is_check(node) and any(name in RANDOMISERS for name in _names(node))
    ]
    assert elsewhere == []


def _names(call: ast.Call) -> list[str]:
    """The name that is called, and those that are handed on to be called."""
    return [node.id for node in (call.func, *call.args) if isinstance(node, ast.Name)]


def _is_check(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "isinstance"
