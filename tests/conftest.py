"""Settings for all tests: properties are tried on the same examples in every run, without a clock."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import settings

settings.register_profile("blendp", derandomize=True, deadline=None)
settings.load_profile("blendp")
_MAX_NAME = 60
os.environ["BLENDP_REMEMBER"] = "0"  # no test writes down releases in anybody's home


def pytest_make_parametrize_id(val: object) -> str | None:
    """A long value gives a test its beginning and length as a name: every process is told the names of all tests."""
    if isinstance(val, str | bytes) and len(val) > _MAX_NAME:
        return f"{val[:_MAX_NAME]!a}... of {len(val)}"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a fixture of their module run in one process, where it is made once."""
    for item in items:
        if isinstance(item, pytest.Function) and "cluster" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("spark"))  # one cluster, and one Java that is warm
        elif item.get_closest_marker("xdist_group") is None and _shares_a_fixture(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
        elif item.nodeid.startswith("tests/house/"):
            item.add_marker(pytest.mark.xdist_group("house"))  # all of them parse the whole source


def pytest_collection_finish() -> None:
    """No garbage collection looks at all modules and tests again: every test that calls for one would wait for it."""
    gc.collect()
    gc.freeze()


def _shares_a_fixture(item: pytest.Item) -> bool:
    known = item._fixtureinfo.name2fixturedefs if isinstance(item, pytest.Function) else {}
    return any(fixtures[-1].scope == "module" for fixtures in known.values())
