"""The options that say how a file is read, the same for every command that reads one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from blendp.errors import ParameterError

if TYPE_CHECKING:
    from blendp.engines import EmbeddedLog
    from blendp.engines.quality import Described
    from blendp.logs.reading import ReadingOptions

reading = partial(Option, rich_help_panel="Reading")


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """How a text file is written, where that is not to be recognised."""

    format: Annotated[str, reading(help="auto (by file name), csv, tsv, parquet, ndjson, aol, yandex.")] = "auto"
    columns: Annotated[
        str | None, reading(help="Names of all columns in their order, in place of the header's: user,query,url.")
    ] = None
    delimiter: Annotated[
        str | None, reading(help="Character between fields, or tab (recognised by the header if none is said).")
    ] = None
    encoding: Annotated[
        str | None, reading(help="Encoding of text, such as cp1252 (recognised if none is said, see docs/logs.md).")
    ] = None
    no_header: Annotated[bool, reading("--no-header", help="The first line is a row: --columns names them.")] = False
    quotes: Annotated[
        bool | None,
        reading("--quotes/--no-quotes", help="Whether quotes enclose fields (yes, but not between tabs in TSV)."),
    ] = None

    def text_options(self) -> dict[str, Any]:
        """In the words of :class:`~blendp.logs.dialect.TextOptions`."""
        delimiter = "\t" if self.delimiter in ("tab", "\\t") else self.delimiter
        return {
            "delimiter": delimiter,
            "encoding": self.encoding,
            "header": not self.no_header,
            "quotes": self.quotes,
            "names": None if self.columns is None else listed("columns", self.columns),
        }

    def refuse_all(self, why: str) -> None:
        """Raise if any of this is said where there is no file."""
        for field in fields(self):
            if (value := getattr(self, field.name)) != field.default:
                raise ParameterError(field.name, value, f"left out {why}", "It says how a file is read: name one.")


@dataclass(frozen=True, kw_only=True)
class LogOptions(FileOptions):
    """How a log is read."""

    user_column: Annotated[str, reading(help="Column of user ids.")] = "user"
    query_column: Annotated[str, reading(help="Column of queries.")] = "query"
    url_column: Annotated[str | None, reading(help="Column of URLs (url if none is said).")] = None
    levels: Annotated[
        int | None, reading(help="1 counts queries alone, 2 needs URLs (by the columns if none is said; NDJSON: 2).")
    ] = None
    where: Annotated[
        str | None,
        reading(
            help="SQL on the log's columns: rows for which it is not true do not count; their people still take part."
        ),
    ] = None
    since: Annotated[str | None, reading(help="Rows before this day or moment (UTC) do not count.")] = None
    until: Annotated[str | None, reading(help="Rows from this day or moment (UTC) on do not count.")] = None
    time_column: Annotated[
        str | None, reading(help="Column with the time of a row (recognised by its name if none is said).")
    ] = None
    normalise: Annotated[str, reading(help="Rule for strings: blendp-1 or none.")] = "blendp-1"
    max_broken: Annotated[float, reading(help="Share of broken rows beyond which to stop.")] = 0.01

    def reading_options(self, opt_in_column: str | None = None) -> ReadingOptions:
        """In the words of :class:`~blendp.logs.reading.LogReading`."""
        from blendp.logs.columns import Columns  # with it come all readers, which no page of help needs

        columns = Columns(self.user_column, self.query_column, self.url_column, opt_in_column, self.levels)
        return {
            "format": self.format,
            "columns": columns,
            "where": self.where,
            "since": self.since,
            "until": self.until,
            "time_column": self.time_column,
            "normalise": self.normalise,
            "max_broken": self.max_broken,
            **self.text_options(),  # type: ignore[typeddict-item]
        }

    def read_log(self, logs: Any, progress: Callable[[int], None]) -> EmbeddedLog:
        """The log of these files, kept for many runs; how it was read is told where that is not as usual."""
        from blendp.logs import read_log

        return read_log(logs, progress=progress, tell=tell_how, **self.reading_options())


def listed(option: str, names: str) -> list[str]:
    """Names with commas between them."""
    asked = [name.strip() for name in names.split(",")]
    if "" in asked:
        raise ParameterError(option, names, "names with commas between them", "One of them is empty.")
    return asked


def tell_how(how: Described) -> None:
    """Say how a file is read, where that is not as usual: one line, for the person who holds it."""
    if line := str(how):
        from blendp.cli.console import errors
        from blendp.render.text import visible

        errors.print(f"Read as {visible(line)}", style="dim", markup=False, highlight=False, soft_wrap=True)
