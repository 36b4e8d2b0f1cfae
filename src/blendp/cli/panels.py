"""How options are written down: the panels of help pages that they stand in, and a dataclass as options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import partial
from typing import Any, get_type_hints

from typer import Option

privacy = partial(Option, rich_help_panel="Privacy")
method = partial(Option, rich_help_panel="Method")
reading = partial(Option, rich_help_panel="Reading the log")
machine = partial(Option, rich_help_panel="Where it runs")
output = partial(Option, rich_help_panel="Output")

OPT_IN_SHARE = 0.05


def takes_job(command: Callable[..., None]) -> Callable[..., None]:
    """Spread the ``job`` argument of a command, a dataclass, over the command line, one option a field."""
    own = inspect.signature(command, eval_str=True).parameters
    kind = own["job"].annotation
    hints = get_type_hints(kind, include_extras=True)
    spread = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(kind)
    ]
    rest = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, p in own.items() if name != "job"]

    def spread_command(**given: Any) -> None:
        job = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(job=job, **given)

    spread_command.__signature__ = inspect.Signature([*spread, *rest])  # type: ignore[attr-defined]
    spread_command.__annotations__ = {p.name: p.annotation for p in [*spread, *rest]}
    spread_command.__doc__ = command.__doc__
    return spread_command
