"""Classes that are quick to define behave as those of the standard decorator do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from functools import cached_property
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blendp.light_dataclass import dataclass as light_dataclass

Decorator = Callable[..., Any]


def family(dataclass: Decorator) -> dict[str, Any]:
    """The same classes, by one decorator or the other."""

    @dataclass(frozen=True)
    class Point:
        """A class with a hidden field, one that is not compared, and one that is derived."""

        x: int
        y: Any = 0
        hidden: int = field(default=0, repr=False)
        aside: int = field(default=0, compare=False)
        total: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", self.x + 1)

        @cached_property
        def double(self) -> int:
            return 2 * self.x

    @dataclass(frozen=True)
    class Child(Point):
        """One field more."""

        z: list[int] = field(default_factory=list)

    @dataclass(frozen=True, kw_only=True, eq=False, repr=False)
    class Named:
        """Fields by name alone; each object equals itself alone."""

        name: str
        size: int = 1

        def __repr__(self) -> str:
            return "a name"

    @dataclass(frozen=True)
    class Empty:
        """No field."""

    return {each.__name__: each for each in (Point, Child, Named, Empty)}


STANDARD, LIGHT = family(dataclasses.dataclass), family(light_dataclass)
NUMBERS = st.integers(0, 2)


@light_dataclass(frozen=True)
class Pickled:
    """At a place where pickle finds it."""

    value: tuple[int, ...]


@given(*[st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS)] * 2)
def test_equal_hashed_and_shown_as_the_standard_ones_are(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    for name in ("Point", "Child"):
        (one, other), (light, lighter) = [[kind[name](*each) for each in (first, second)] for kind in (STANDARD, LIGHT)]
        assert (one == other) is (light == lighter)
        assert repr(one) == repr(light)
        assert dataclasses.asdict(one) == dataclasses.asdict(light)
    point, lit = STANDARD["Point"](*first), LIGHT["Point"](*first)
    assert hash(point) == hash(lit)
    assert {lit: "kept"}[LIGHT["Point"](*first)] == "kept"


@pytest.mark.parametrize("kind", [STANDARD, LIGHT], ids=["standard", "light"])
def test_what_both_do(kind: dict[str, Any]) -> None:
    point = kind["Point"](1, 2)
    for change in (
        lambda: setattr(point, "x", 5),
        lambda: setattr(point, "total", 5),
        lambda: setattr(point, "unknown", 5),
        lambda: delattr(point, "x"),
        lambda: delattr(point, "unknown"),
    ):
        with pytest.raises(FrozenInstanceError):
            change()
    assert (point.x, point.total, point.double, point.double) == (1, 2, 2, 2)
    assert dataclasses.replace(point, x=4).total == 5
    assert copy.deepcopy(point) == copy.copy(point) == point
    assert dataclasses.is_dataclass(point)
    assert point != kind["Child"](1, 2)
    assert point != (1, 2)
    assert kind["Empty"]() == kind["Empty"]()
    assert repr(kind["Empty"]()).endswith("Empty()")
    with pytest.raises(TypeError, match="unhashable"):
        hash(kind["Child"](1))
    named = kind["Named"](name="n")
    assert named != kind["Named"](name="n")
    assert repr(named) == "a name"
    assert len({named, named}) == 1
    with pytest.raises(TypeError):
        kind["Named"]("n")
    Point = kind["Point"]
    match point:
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_signatures_are_those_of_the_standard_ones() -> None:
    for name, standard in STANDARD.items():
        assert inspect.signature(standard) == inspect.signature(LIGHT[name])
        assert [each.name for each in dataclasses.fields(standard)] == [
            each.name for each in dataclasses.fields(LIGHT[name])
        ]


def test_an_object_that_holds_itself_is_shown() -> None:
    inner: list[Any] = []
    for kind in (STANDARD, LIGHT):
        inner[:] = [kind["Point"](1, inner)]
        assert "Point(x=1, y=[...], aside=0, total=2)" in repr(inner)


def test_pickled_and_back() -> None:
    value = Pickled((1, 2))
    assert pickle.loads(pickle.dumps(value)) == value


def test_methods_are_shared_and_other_kinds_are_the_standard_ones() -> None:
    point, empty = LIGHT["Point"], LIGHT["Empty"]
    for method in ("__setattr__", "__delattr__", "__repr__", "__eq__", "__hash__"):
        assert vars(point)[method] is vars(empty)[method]

    @light_dataclass(frozen=True, order=True)
    class Ordered:
        """Compared with others."""

        value: int

    @light_dataclass
    class Open:
        """Not frozen."""

        value: int

    assert Ordered(1) < Ordered(2)
    with pytest.raises(FrozenInstanceError):
        Ordered(1).value = 2  # type: ignore[misc]
    opened = Open(1)
    opened.value = 2
    assert opened == Open(2)
