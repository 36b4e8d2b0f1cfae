"""What the collector reaches into of its web server is there, in the version that is pinned."""

from __future__ import annotations

import inspect
import tomllib
from importlib.metadata import version

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from tests.house.source import ROOT

OF_PROTOCOL = ("transport", "flow", "pipeline", "app", "headers", "cycle", "server_state", "app_state", "loop")
OF_CYCLE = ("response_started", "response_complete", "keep_alive", "disconnected", "message_event")
CALLBACKS = ("on_message_begin", "on_header", "on_headers_complete", "on_body", "on_message_complete")


def test_the_version_is_pinned_to_one_minor() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    (pin,) = {need for need in needs if need.startswith("uvicorn")}
    major, minor, *_ = version("uvicorn").split(".")
    assert pin == f"uvicorn>={major}.{minor},<{major}.{int(minor) + 1}"


@pytest.mark.parametrize(("of", "names"), [(HttpToolsProtocol, OF_PROTOCOL), (RequestResponseCycle, OF_CYCLE)])
def test_attributes_are_there(of: type, names: tuple[str, ...]) -> None:
    source = inspect.getsource(of)
    assert [name for name in names if f"self.{name}" not in source] == []


@pytest.mark.parametrize("name", [*CALLBACKS, "send_400_response"])
def test_callbacks_are_there(name: str) -> None:
    assert callable(getattr(HttpToolsProtocol, name))
