"""Options are written as the reader of a message would write them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import blendp
from blendp.cli.failures import explaining
from blendp.spelling import nothing, on_command_line, option


@pytest.mark.parametrize(
    ("asked", "python", "command"),
    [
        (("encoding",), "encoding=...", "--encoding"),
        (("encoding", "cp1252"), 'encoding="cp1252"', "--encoding cp1252"),
        (("encoding", "cp1252", "big5"), 'encoding="cp1252" or "big5"', "--encoding cp1252 or big5"),
        (("delimiter", "\t"), 'delimiter="\\t"', "--delimiter tab"),
        (("delimiter", ";"), 'delimiter=";"', "--delimiter ';'"),
        (("header",), "header=False", "--no-header"),
        (("quotes",), "quotes=False", "--no-quotes"),
        (("names", ["user", "query"]), 'names=["user", "query"]', "--columns user,query"),
        (("columns", ["my age", "sex"]), 'columns=["my age", "sex"]', "--columns 'my age',sex"),
        (("columns.opt_in",), "columns=Columns(opt_in=...)", "--opt-in-column"),
        (("columns.levels", 1), "columns=Columns(levels=1)", "--levels 1"),
        (("max_broken",), "max_broken=...", "--max-broken"),
    ],
)
def test_an_option_is_written_as_its_reader_writes_it(asked: tuple[str, ...], python: str, command: str) -> None:
    assert option(*asked) == python
    with on_command_line():
        assert option(*asked) == command
        with on_command_line():
            assert option(*asked) == command
        assert option(*asked) == command
    assert option(*asked) == python


def test_commands_write_options_as_commands_do() -> None:
    with explaining():
        assert (option("encoding"), nothing()) == ("--encoding", "0")
    assert (option("encoding"), nothing()) == ("encoding=...", "None")


def messages(path: Path) -> list[str]:
    """All texts of a module but its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs]
    return [node.value for node in texts if isinstance(node.value, str)]


@pytest.mark.parametrize("room", ["logs", "engines", "methods"])
def test_no_message_of_readers_names_an_option_of_the_command_line_itself(room: str) -> None:
    files = list((Path(blendp.__file__).parent / room).glob("*.py"))
    assert files
    wrong = [(path.name, text) for path in files for text in messages(path) if re.search(r"(?<![\w-])--[a-z]", text)]
    assert wrong == []
