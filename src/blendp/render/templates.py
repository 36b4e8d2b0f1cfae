"""Filling in the pages: whatever is shown is escaped, and a name that is missing is an error.

A page loads nothing. It runs one script, which sorts and searches its tables; the page's own policy names that script
by its hash, so that no text in the page can run.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from threading import Lock
from typing import TYPE_CHECKING, Any

from blendp._version import __version__
from blendp.render import text

if TYPE_CHECKING:
    from jinja2 import Template

_READ: dict[str, Template] = {}
_READING = Lock()


def fill(template: str, page: Mapping[str, Any], **filters: Callable[..., Any]) -> str:
    """The page that this template makes of these values; ``filters`` are the page's own ways of writing a value."""
    return read_template(template, **filters).render({**page, "version": __version__})


def read_template(name: str, **filters: Callable[..., Any]) -> Template:
    """The template of this name, read once."""
    with _READING:
        if name not in _READ:
            _READ[name] = _read(name, filters)
        return _READ[name]


def _read(name: str, filters: Mapping[str, Callable[..., Any]]) -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    from blendp.render.compiled_templates import KeptCompiled

    environment = Environment(
        loader=PackageLoader("blendp", "render"),
        bytecode_cache=KeptCompiled(),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": text.visible, "number": text.number, **filters}
    environment.globals |= {"wildcard": text.WILDCARD, "any_url": text.ANY_URL}
    environment.globals |= {"empty": text.EMPTY, "unknown": text.UNKNOWN}
    environment.globals |= {"script": Markup(_script()), "policy": _policy()}
    return environment.get_template(name)


@cache
def _script() -> str:
    return files("blendp.render").joinpath("tables.js").read_text(encoding="utf-8")


@cache
def _policy() -> str:
    """What a page may do: show its own style and pictures, and run that one script."""
    digest = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
