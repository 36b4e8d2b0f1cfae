"""From what a person names (a path, several, a glob, a folder) to the files of one format."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from blendp.errors import LogError, require_choice
from blendp.spelling import option

FORMATS = ("auto", "csv", "tsv", "parquet", "ndjson", "aol", "yandex")

_EXTENSIONS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".ndjson": "ndjson", ".jsonl": "ndjson"}
_TEXT = {".txt": "tsv"}
"""What a file may be that was named, and whose first line tells more; in a folder such files may be anything."""

_WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".numbers")
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_BY_NAME_ONLY = ("aol", "yandex")
_KNOWN = ", ".join(_EXTENSIONS)
_STANDARD_INPUT = "-"


def find_files(source: str | Path | Sequence[str | Path], format: str) -> tuple[str, tuple[Path, ...]]:
    """The format of a log and its files, in the order they are read.

    Files of a folder or a glob come in the order of their names. A folder gives the files whose extension
    fits the format, or with ``"aol"`` and ``"yandex"`` all files; hidden files are never read.
    """
    require_choice("format", format, FORMATS)
    sources = [source] if isinstance(source, str | Path) else list(source)
    try:
        paths = tuple(path for item in sources for path in _expand(item, format))
    except OSError as error:
        raise unreadable(error.filename, error) from error
    if not paths:
        raise LogError("The log has no files: give at least one path.")
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise LogError(f"{path} is given twice, so its rows would count twice: give it once.")
        seen.add(path.resolve())
    return (_common_format(paths) if format == "auto" else format), paths


def unreadable(path: str | Path, error: OSError) -> LogError:
    """The error for a file or folder that the system does not let one read."""
    reason = os.strerror(error.errno) if error.errno else str(error).splitlines()[0].rstrip(".")
    return LogError(f"{path} cannot be read ({reason}): check the path and its permissions.")


def _expand(item: str | Path, format: str) -> list[Path]:
    path = Path(item)
    if path.is_dir():
        return _in_folder(path, format)
    if path.exists():
        return [path]
    if not glob.has_magic(str(item)):
        raise absent(path)
    matches = [Path(name) for name in sorted(glob.glob(str(item), recursive=True))]  # noqa: PTH207
    files = [path for path in matches if path.is_file()]
    if not files:
        raise LogError(f"No file matches {str(item)!r}: check the pattern.")
    return files


def absent(path: Path) -> LogError:
    """The error for a file that does not exist."""
    if str(path) == _STANDARD_INPUT:
        remedy = f"give /dev/stdin to read standard input, with its format ({option('format', 'csv')})"
        return LogError(f"There is no file {path}: {remedy}.")
    return LogError(f"{path} does not exist: check the path.")


def _in_folder(folder: Path, format: str) -> list[Path]:
    visible = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if format in _BY_NAME_ONLY:
        kept = visible
    else:
        kept = [path for path in visible if format_of(path) in ({format} if format != "auto" else set(FORMATS))]
    if not kept:
        wanted = f"files of a log ({_KNOWN}, each also with .gz or .zst)" if format == "auto" else f"{format} files"
        pattern = folder / "**" / f"*.{format}"
        deeper = f"give a quoted pattern for files of other names or in folders inside it, such as {str(pattern)!r}"
        remedy = f"give the format ({option('format')})" if format == "auto" else deeper
        raise LogError(f"The folder {folder} has no {wanted}: check the path, or {remedy}.")
    return kept


def _common_format(paths: tuple[Path, ...]) -> str:
    formats: dict[str, Path] = {}
    for path in paths:
        formats.setdefault(named_format(path, FORMATS), path)
    if len(formats) > 1:
        some = " and ".join(str(path) for path in formats.values())
        raise LogError(f"The files {some} are of different formats: read one format at a time.")
    return next(iter(formats))


def named_format(path: Path, formats: Sequence[str]) -> str:
    """The format, one of some, that the extension of a file stands for that was named; raises if it is for none."""
    extensions = {extension: format for extension, format in (_EXTENSIONS | _TEXT).items() if format in formats}
    format = format_of(path, extensions)
    if format is None:
        refuse_workbook(path)
        known = ", ".join(sorted(extensions))
        raise LogError(
            f"The format of {path} is unknown: use one of {known}, each also with .gz or .zst, or give the format"
            f" ({option('format')})."
        )
    return format


def format_of(path: Path, extensions: Mapping[str, str] = _EXTENSIONS) -> str | None:
    """The format a file's extension stands for, a final ``.gz`` or ``.zst`` put aside; None when for none."""
    name = path.name.lower()
    return extensions.get(Path(name.removesuffix(".gz").removesuffix(".zst")).suffix)


def refuse_workbook(path: Path) -> None:
    """Raise for a file whose name says that it is a spreadsheet's own."""
    if path.suffix.lower() in _WORKBOOKS:
        raise LogError(f"{path} is a workbook: export it as CSV, and give that file.")


def compression_of(path: Path) -> str | None:
    """How a file is compressed, by the end of its name."""
    return _COMPRESSIONS.get(path.suffix.lower())
