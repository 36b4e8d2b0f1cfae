"""Compiled templates are kept; whatever is wrong with what was kept, the page is the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from blendp.render import compiled_templates
from blendp.render.compiled_templates import KeptCompiled


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compiled_templates, "_FOLDER", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path


def filled(source: str) -> str:
    """The page of a template, by an environment that has compiled nothing yet."""
    return (
        Environment(loader=DictLoader({"page": source}), bytecode_cache=KeptCompiled(), autoescape=True)
        .get_template("page")
        .render(name="<you>")
    )


def forbid_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(Environment, "compile", fail)


def test_a_template_is_compiled_once_and_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert filled("Hello {{ name }}") == "Hello &lt;you&gt;"
    (kept,) = folder.iterdir()
    assert kept.name.endswith(f".{sys.implementation.cache_tag}.jinja")
    forbid_compiling(monkeypatch)
    assert filled("Hello {{ name }}") == "Hello &lt;you&gt;"


def test_a_template_that_has_changed_is_compiled_anew(folder: Path) -> None:
    assert [filled(source) for source in ("a", "b", "a")] == ["a", "b", "a"]
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("damage", [b"", b"j2", b"\0" * 300, None])
def test_a_damaged_file_does_no_harm(folder: Path, damage: bytes | None) -> None:
    filled("Hello {{ name }}")
    (kept,) = folder.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert filled("Hello {{ name }}") == "Hello &lt;you&gt;"
    assert kept.read_bytes() == whole


def test_nothing_is_kept_where_python_keeps_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert filled("Hello {{ name }}") == "Hello &lt;you&gt;"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("kind", ["missing", "a file"])
def test_a_folder_that_cannot_be_written_does_no_harm(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    (folder / "a file").write_text("")
    monkeypatch.setattr(compiled_templates, "_FOLDER", folder / kind)
    assert filled("Hello {{ name }}") == "Hello &lt;you&gt;"
    assert [path.name for path in folder.iterdir()] == ["a file"]
