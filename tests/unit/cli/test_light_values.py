"""Plain values are read without pydantic, to what Typer itself reads; what is no number is refused in our words."""

from __future__ import annotations

import math
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer import BadParameter, _coercion
from typer.models import OptionInfo

from blendp.cli.light_values import LightParam, NotPlainError, lighten, plain_list, plain_value
from tests.unit.test_doors import modules_of_command

ODD = [
    "",
    " ",
    "abc",
    "1_000",
    "_1",
    " 1 ",
    "1\n",
    "٣",
    "½",
    "inf",
    "-Infinity",
    "nan",
    ".5",
    "5.",
    "1.0",
    "1.5",
    "0x10",
]
ODD += ["1e3", "1E+3", "1e", "1e400", "1e-400", "--1", "+-1", "9" * 19, "9" * 5000, "0" * 30, "-0", "+0", "1,5", "true"]

numbers = st.one_of(
    st.sampled_from(ODD),
    st.text("0123456789+-._eE ", max_size=12),
    st.integers().map(str),
    st.floats().map(str),
    st.text(max_size=5),
)


def parameter(kind: Any, *, several: bool = False, **said: Any) -> Any:
    descriptor = _coercion.resolve_type_descriptor(kind, OptionInfo(**said))
    return SimpleNamespace(type_descriptor=descriptor, multiple=several, nargs=1, _runtime_param=None, name="a")


def outcome(reader: Any, value: Any, param: Any) -> Any:
    """What is read, with its type, or that it is refused."""
    try:
        read = reader.coerce(value, param=param, ctx=None)
    except BadParameter:
        return BadParameter
    return type(read), "nan" if isinstance(read, float) and math.isnan(read) else read


def both(value: Any, param: Any) -> tuple[Any, Any]:
    return outcome(LightParam(), value, param), outcome(
        _coercion.build_runtime_param(param.type_descriptor), value, param
    )


@given(numbers, st.sampled_from([int, float]))
def test_numbers_are_read_or_refused_as_by_typer(text: str, kind: type) -> None:
    ours, typers = both(text, parameter(kind))
    assert ours == typers


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("kind", [int, float, str, bool])
def test_odd_spellings_are_read_or_refused_as_by_typer(text: str, kind: type) -> None:
    ours, typers = both(text, parameter(kind))
    assert ours == typers


@pytest.mark.parametrize(
    ("value", "kind", "several"),
    [
        (None, int, False),
        (None, list[str], True),
        ("text", str, False),
        (3, int, False),
        (3, float, False),
        (0.5, float, False),
        (True, bool, False),
        (Path("a"), Path, False),
        ("/nowhere/a", Path, False),
        (("a", "b"), list[str], True),
        (["a", "b"], list[Path], True),
        (["1", "2"], list[int], True),
        ((), list[str], True),
        ("a", list[str], True),
    ],
)
def test_every_kind_is_read_as_by_typer(value: Any, kind: Any, several: bool) -> None:
    ours, typers = both(value, parameter(kind, several=several))
    assert ours == typers


@pytest.mark.parametrize(("value", "kind"), [(True, int), (1, float), (b"a", str), ("1", bool), ("1", list[int])])
def test_everything_else_is_left_to_typer(value: Any, kind: Any) -> None:
    with pytest.raises(NotPlainError):
        plain_value(value, kind)
    with pytest.raises(NotPlainError):
        plain_list(value, kind)


def test_bounds_stay_those_of_typer() -> None:
    for text in ("0", "1", "7", "x"):
        ours, typers = both(text, parameter(int, min=1, max=5))
        assert ours == typers
    with pytest.raises(BadParameter, match=r"range|equal|less"):
        LightParam().coerce("7", parameter(int, min=1, max=5), None)


def test_a_path_that_cannot_be_read_is_left_to_typer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert plain_value(str(tmp_path), Path) == tmp_path
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(NotPlainError):
        plain_value(str(tmp_path), Path)


def test_only_parameters_whose_reader_is_not_made_yet_are_lightened() -> None:
    fresh, ready, other = parameter(int), SimpleNamespace(_runtime_param=1, type_descriptor=1), SimpleNamespace()
    for one in (fresh, ready, other):
        lighten(one)
    assert isinstance(fresh._runtime_param, LightParam)
    assert (ready._runtime_param, vars(other)) == (1, {})


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--epsilon", "abc", "it must be a number, got 'abc'."),
        ("--size", "many", "it must be a whole number, got 'many'."),
        ("--size", "1.5", "it must be a whole number, got '1.5'."),
    ],
)
def test_what_is_no_number_is_refused_in_our_words(option: str, value: str, says: str) -> None:
    param = parameter(float if option == "--epsilon" else int)
    with pytest.raises(BadParameter) as caught:
        LightParam().coerce(value, param, None)
    assert caught.value.message == says


def test_no_command_with_plain_values_loads_pydantic(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("user,query\n" + "".join(f"u{i},q\n" for i in range(500)))
    options = ("--opt-in", "0.5", "--epsilon", "4", "--size", "20", "--seed", "3", "--overwrite")
    commands = (
        ("run", str(log), *options, "--out", str(tmp_path / "out")),
        ("synthesise", "aol", "--users", "50", "--out", str(tmp_path / "made.csv")),
        ("plan", "--users", "100000", "--opt-in", "0.05"),
    )
    for arguments in commands:
        assert "pydantic" not in modules_of_command(*arguments), arguments[0]
