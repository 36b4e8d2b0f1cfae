"""A module that is imported at its first use is like any other afterwards."""

from __future__ import annotations

import sys

import pytest

from blendp.lazy import LazyModule


def test_a_module_is_imported_when_a_name_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    lazy = LazyModule("colorsys")
    assert "colorsys" not in sys.modules
    convert = lazy.rgb_to_hsv
    assert convert is sys.modules["colorsys"].rgb_to_hsv
    monkeypatch.setattr(sys.modules["colorsys"], "rgb_to_hsv", None)
    assert lazy.rgb_to_hsv is convert is vars(lazy)["rgb_to_hsv"]


def test_names_that_do_not_exist_are_those_of_the_module() -> None:
    with pytest.raises(AttributeError, match="module 'colorsys' has no attribute 'nobody'"):
        _ = LazyModule("colorsys").nobody
    with pytest.raises(ModuleNotFoundError, match="nowhere_at_all"):
        _ = LazyModule("nowhere_at_all").name
