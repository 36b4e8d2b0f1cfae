"""What travels is defined in one room."""

from __future__ import annotations

import ast

from blendp.service.http.app import ENDPOINTS
from blendp.service.http.openapi import Anything
from tests.house.source import PACKAGE, nodes

ROOM, SERVICE = "src/blendp/wire/", "src/blendp/service/http/"
MAKERS = frozenset({"defstruct", "json_form"})
"""Functions that give a message without a class statement."""


def test_messages_are_defined_in_one_room() -> None:
    classes = nodes(ast.ClassDef, PACKAGE)
    messages = {"Message", "Struct"}
    while more := {node.name for _, node in classes if messages & _bases(node)} - messages:
        messages |= more
    assert len(messages) > 30
    elsewhere = [line for line, node in classes if messages & _bases(node) and not line.startswith(ROOM)]
    elsewhere += [
        line for line, node in nodes(ast.Call, PACKAGE) if _name(node.func) in MAKERS and not line.startswith(ROOM)
    ]
    assert elsewhere == []


def test_endpoints_take_and_give_messages_of_the_room() -> None:
    forms = [form for endpoint in ENDPOINTS for form in (endpoint.form, *endpoint.accepts.values())]
    rooms = {form.__module__.rpartition(".")[0] for form in forms if form not in (None, Anything)}
    assert rooms == {"blendp.wire"}


def test_no_answer_is_put_together_by_hand() -> None:
    by_hand = [
        line
        for line, node in nodes(ast.Call, PACKAGE)
        if line.startswith(SERVICE) and _name(node.func) == "answer"
        if isinstance(node.args[0], ast.Dict | ast.List)
    ]
    assert by_hand == []


def _bases(node: ast.ClassDef) -> set[str]:
    return {_name(base) for base in node.bases}


def _name(node: ast.expr) -> str:
    """The last part of a dotted name; none of anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
