"""Filling in the pages: whatever is shown is escaped, and a name that is missing is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from blendp._version import __version__
from blendp.render import text

if TYPE_CHECKING:
    from jinja2 import Template

_READ: dict[str, Template] = {}
_READING = Lock()


def fill(template: str, page: Mapping[str, Any], **filters: Callable[..., Any]) -> str:
    """The page that this template makes of these values; ``filters`` are the page's own ways of writing a value."""
    return _template(template, **filters).render({**page, "version": __version__})


def read_meanwhile(template: str) -> None:
    """Read a template while the caller waits for something else, such as the database."""
    Thread(target=_template, args=(template,)).start()


def _template(name: str, **filters: Callable[..., Any]) -> Template:
    with _READING:
        if name not in _READ:
            _READ[name] = _read(name, filters)
        return _READ[name]


def _read(name: str, filters: Mapping[str, Callable[..., Any]]) -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("blendp", "render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": text.visible, "number": text.number, **filters}
    environment.globals |= {"wildcard": text.WILDCARD, "empty": text.EMPTY, "unknown": text.UNKNOWN}
    return environment.get_template(name)
