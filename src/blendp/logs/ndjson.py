"""NDJSON files: one JSON object a line; numbers and truth values count as their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from blendp.errors import LogError
from blendp.logs.columns import Columns, missing
from blendp.logs.encodings import UTF_8, decodes, marked
from blendp.logs.fields import cut_file, refuse_compressed
from blendp.logs.intake import RowIntake, register_lines
from blendp.logs.votes import CANDIDATES, UndecidedError
from blendp.normalise import literal
from blendp.spelling import option

_LOOKED_AT = 1 << 16


def read_ndjson(paths: Sequence[Path], columns: Columns, intake: RowIntake, where: str, encoding: str = UTF_8) -> None:
    """Take in NDJSON files. A named column must be in some row; whether there are URLs is never told by rows."""
    if columns.levels is None:
        columns = replace(columns, levels=2)
    absent = dict(columns.named)
    keys: list[str] | None = None
    start = b""
    filtered = {alias: name for name, alias in intake.filter_by(None, where).columns.items()}
    for path in paths:
        for cut in cut_file(path, None, header=False, encoding=encoding):
            start = start or cut.data[:_LOOKED_AT]
            with register_lines(intake, cut) as lines:
                intake.connection.execute(f"CREATE OR REPLACE TEMP TABLE documents AS {_documents(lines)}")
            keys = _first_keys(intake) if keys is None else keys
            for role in [role for role, name in absent.items() if _present(intake, name)]:
                del absent[role]
            intake.add_rows(_rows(columns.wanted, filtered))
    intake.connection.execute("DROP TABLE IF EXISTS documents")
    if keys is None:
        raise _no_object(start, paths[0], where, encoding)
    for role, name in absent.items():
        raise missing(role, name, where, keys)
    intake.levels = columns.levels


def _no_object(start: bytes, path: Path, where: str, encoding: str) -> LogError:
    """The error for a log without an object, given how it begins: it may be in another encoding."""
    refuse_compressed(start, path)
    whole = start[: start.rfind(b"\n") + 1] or start
    mark = marked(start)
    if encoding == UTF_8 and mark is not None and mark.startswith("utf-16"):
        said = option("encoding", "utf-16" if mark == "utf-16-le" else mark)
        return LogError(f"{where} is UTF-16 text: say so ({said}), or save it as UTF-8.")
    if encoding == UTF_8 and not decodes(whole, UTF_8):
        possible = [name for name in CANDIDATES if decodes(whole, name)]
        return UndecidedError.of(f"{where} holds no JSON object in UTF-8", possible)
    return LogError(f"{where} holds no JSON object: give text with one object a line.")


def _documents(lines: str) -> str:
    """The JSON object of every line, and what is wrong where there is none."""
    return f"""
        SELECT row, CASE WHEN kind = 'OBJECT' THEN line END AS document,
            CASE WHEN line IS NULL THEN 'not UTF-8' WHEN kind IS NULL THEN 'not JSON'
                WHEN kind <> 'OBJECT' THEN 'not a JSON object' END AS reason
        FROM (SELECT row, line, CASE WHEN json_valid(line) THEN json_type(line) END AS kind FROM ({lines}))
    """


def _first_keys(intake: RowIntake) -> list[str] | None:
    """The names in the first object, for people to see; None if there is no object."""
    first = "SELECT json_keys(document) FROM documents WHERE document IS NOT NULL ORDER BY row LIMIT 1"
    seen = intake.connection.execute(first).fetchone()
    return None if seen is None else seen[0]


def _present(intake: RowIntake, name: str) -> bool:
    seen = f"SELECT 1 FROM documents WHERE json_exists(document, {_pointer(name)}) LIMIT 1"
    return intake.connection.execute(seen).fetchone() is not None


def _rows(wanted: dict[str, str], filtered: dict[str, str]) -> str:
    """The wanted values of every object as text; an object or a list inside is no text.

    ``filtered`` are values that a filter looks at, and that make no row broken.
    """
    both = {**wanted, **filtered}
    pointers = "[" + ", ".join(_pointer(name) for name in both.values()) + "]"
    values = {role: f"values[{position}]" for position, role in enumerate(both, start=1)}
    roles = ("user", "query", "url", "opt_in", *filtered)
    selected = ", ".join(f'{values.get(role, "NULL")} AS "{role}"' for role in roles)
    return f"""
        SELECT row, {selected},
            CASE WHEN reason IS NULL AND list_has_any(kinds[:{len(wanted)}], ['OBJECT', 'ARRAY']) THEN 'nested value'
                ELSE reason END AS reason
        FROM (
            SELECT row, reason, kinds,
                list_transform(json_extract_string(document, {pointers}),
                    lambda value, place: CASE WHEN kinds[place] NOT IN ('OBJECT', 'ARRAY') THEN value END) AS values
            FROM (SELECT row, reason, document, json_type(document, {pointers}) AS kinds FROM documents))
    """


def _pointer(name: str) -> str:
    """The JSON pointer to a key of an object, as an SQL string."""
    return literal("/" + name.replace("~", "~0").replace("/", "~1"))
