"""How options are written down: the panels of help pages that they stand in, and a dataclass as options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import partial
from typing import Any, get_type_hints

from typer import Option

from blendp.errors import require_count

privacy = partial(Option, rich_help_panel="Privacy")
method = partial(Option, rich_help_panel="Method")
machine = partial(Option, rich_help_panel="Where it runs")
output = partial(Option, rich_help_panel="Output")

OPT_IN_SHARE = 0.05


def asked_size(size: int) -> int | None:
    """How many records a list may have, as the command line says it: 0 means all, which is None elsewhere."""
    require_count("size", size, min_value=0, remedy="0 keeps all records that pass the threshold.")
    return size or None


def takes_job(command: Callable[..., None]) -> Callable[..., None]:
    """Spread every argument of a command that is a dataclass over the command line, one option a field.

    How a file is read comes last among them.
    """
    from blendp.cli.reading import LogOptions

    own = inspect.signature(command, eval_str=True).parameters
    jobs: dict[str, Any] = {name: p.annotation for name, p in own.items() if is_dataclass(p.annotation)}
    last = {field.name for field in fields(LogOptions)}
    spread = []
    for name, parameter in own.items():
        if name not in jobs:
            spread.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(jobs[name], include_extras=True)
        spread += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=hints[field.name],
            )
            for field in sorted(fields(jobs[name]), key=lambda field: field.name in last)
        ]

    def spread_command(**given: Any) -> None:
        whole = {name: kind(**{f.name: given.pop(f.name) for f in fields(kind)}) for name, kind in jobs.items()}
        command(**whole, **given)

    spread_command.__signature__ = inspect.Signature(spread)  # type: ignore[attr-defined]
    spread_command.__annotations__ = {p.name: p.annotation for p in spread}
    spread_command.__doc__ = command.__doc__
    return spread_command
