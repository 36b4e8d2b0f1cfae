"""Filling in the pages: whatever is shown is escaped, and a name that is missing is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from blendp._version import __version__
from blendp.render import text


def fill(template: str, page: Mapping[str, Any], **filters: Callable[..., Any]) -> str:
    """The page that this template makes of these values; ``filters`` are the page's own ways of writing a value."""
    environment = Environment(
        loader=PackageLoader("blendp", "render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": text.visible, "number": text.number, **filters}
    environment.globals |= {"wildcard": text.WILDCARD, "empty": text.EMPTY, "unknown": text.UNKNOWN}
    return environment.get_template(template).render({**page, "version": __version__})
