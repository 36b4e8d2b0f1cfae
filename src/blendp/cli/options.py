"""The options that ``run`` and ``evaluate`` share: what to read, with which method and promise."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from typer import Argument, Option

from blendp.engines import EmbeddedLog
from blendp.errors import ParameterError
from blendp.logs import Columns, read_log
from blendp.methods import Parameters

PRIVACY, METHOD, INPUT, OUTPUT = "Privacy", "Method", "Reading the log", "Output"


@dataclass(frozen=True)
class Job:
    """A log and how to treat it, as given on the command line."""

    logs: Annotated[list[Path], Argument(help="A file, several files, or a directory.", metavar="LOG")]
    opt_in: Annotated[
        float | None,
        Option(help="Share of users who opt in, drawn at random (0.05 if none is said).", rich_help_panel=PRIVACY),
    ] = None
    opt_in_column: Annotated[str | None, Option(help="Column that says who opts in.", rich_help_panel=PRIVACY)] = None
    epsilon: Annotated[float, Option(help="Privacy loss promised to every person.", rich_help_panel=PRIVACY)] = 4.0
    delta: Annotated[
        float, Option(help="Chance that the promise may fail; keep it far below 1/users.", rich_help_panel=PRIVACY)
    ] = 1e-5
    method: Annotated[str, Option(help="published: BLENDER, errata mended.", rich_help_panel=METHOD)] = "published"
    size: Annotated[int, Option(help="M: records in the final list; 0 keeps all.", rich_help_panel=METHOD)] = 50
    trim_unit: Annotated[str, Option(help="What --size counts: record or query.", rich_help_panel=METHOD)] = "record"
    opt_in_records: Annotated[int, Option(help="m_O: records from each opt-in user.", rich_help_panel=METHOD)] = 1
    client_records: Annotated[
        int, Option(help="m_C: records each client reports about; they share the budget.", rich_help_panel=METHOD)
    ] = 1
    head_list_share: Annotated[
        float, Option(help="f_O: share of opt-in users who make the list.", rich_help_panel=METHOD)
    ] = 0.95
    query_share: Annotated[
        float, Option(help="f_C: share of a client's budget for the query.", rich_help_panel=METHOD)
    ] = 0.85
    variance: Annotated[
        str, Option(help="mended; journal or conference: as printed, to reproduce only.", rich_help_panel=METHOD)
    ] = "mended"
    wildcard: Annotated[
        str,
        Option(
            help="Opt-in records with a listed query but another URL count for <q,*> (shared) or <*,*> (figure-4).",
            rich_help_panel=METHOD,
        ),
    ] = "shared"
    project: Annotated[bool, Option(help="Project probabilities on the simplex.", rich_help_panel=METHOD)] = True
    format: Annotated[
        str, Option(help="auto (by file name), csv, tsv, parquet, ndjson, aol, yandex.", rich_help_panel=INPUT)
    ] = "auto"
    user_column: Annotated[str, Option(help="Column of user ids.", rich_help_panel=INPUT)] = "user"
    query_column: Annotated[str, Option(help="Column of queries.", rich_help_panel=INPUT)] = "query"
    url_column: Annotated[
        str | None,
        Option(
            help="Column of URLs (url if none is said; where there is none, queries alone count).",
            rich_help_panel=INPUT,
        ),
    ] = None
    normalise: Annotated[str, Option(help="Rule for strings: blendp-1 or none.", rich_help_panel=INPUT)] = "blendp-1"
    max_broken: Annotated[float, Option(help="Share of broken rows beyond which to stop.", rich_help_panel=INPUT)] = (
        0.01
    )

    def parameters(self) -> Parameters:
        """The method's parameters."""
        return Parameters(
            epsilon=self.epsilon,
            delta=self.delta,
            method=self.method,
            size=None if self.size == 0 else self.size,
            trim_unit=self.trim_unit,
            opt_in_records=self.opt_in_records,
            client_records=self.client_records,
            head_list_share=self.head_list_share,
            query_share=self.query_share,
            variance=self.variance,
            wildcard=self.wildcard,
            project=self.project,
        )

    def who_opts_in(self) -> float | None:
        """A share of the users, or None for the log's own column."""
        if self.opt_in_column is None:
            return 0.05 if self.opt_in is None else self.opt_in
        if self.opt_in is not None:
            raise ParameterError(
                "--opt-in", self.opt_in, "left out when --opt-in-column is given", "Give one of the two."
            )
        return None

    def source(self) -> dict[str, Any]:
        """How the log was read and who opted in, for the release card."""
        return {"opt_in": self.who_opts_in(), "opt_in_column": self.opt_in_column, "normalise": self.normalise}

    def read(self) -> EmbeddedLog:
        """Read the log."""
        columns = Columns(self.user_column, self.query_column, self.url_column, self.opt_in_column)
        return read_log(self.logs, format=self.format, columns=columns, rule=self.normalise, max_broken=self.max_broken)


def takes_job(command: Callable[..., None]) -> Callable[..., None]:
    """Spread the ``job`` argument of a command over the command line, one option a field."""
    hints = get_type_hints(Job, include_extras=True)
    own = inspect.signature(command, eval_str=True).parameters
    spread = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(Job)
    ]
    rest = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, p in own.items() if name != "job"]

    @wraps(command)
    def spread_command(**given: Any) -> None:
        job = Job(**{field.name: given.pop(field.name) for field in fields(Job)})
        command(job=job, **given)

    spread_command.__signature__ = inspect.Signature([*spread, *rest])  # type: ignore[attr-defined]
    spread_command.__annotations__ = {p.name: p.annotation for p in [*spread, *rest]}
    del spread_command.__wrapped__
    return spread_command
