"""The cut of :mod:`blendp.logs.fields` in SQL: one line into its fields, by itself.

A line without a quote is split at the delimiters. One in which every field is enclosed and none holds a quote is split
at its quotes: every second part is a field, and between these stand delimiters. A line in which every field is plain or
enclosed and no enclosed field holds a delimiter or a quote is split at the delimiters, without its quotes. In any other
line the fields are the matches of

    field = " ( no quote | "" )* " ( text after the closing quote )?   or   text that starts with no quote, or nothing

where the text after a closing quote starts with neither a quote nor a delimiter. There is one way at most to read a
line as such fields with delimiters between; where there is none, a quote is not closed.
"""

from __future__ import annotations

from collections.abc import Sequence

from blendp.engines.quality import NOT_CLOSED
from blendp.logs import fields
from blendp.logs.dialect import TextDialect
from blendp.normalise import literal

_ROLES = {"user": "person", "query": "query", "url": "url", "opt_in": "opt_in"}
_CLOSED = '"(?:[^"]|"")*"'


def rows_of_lines(
    lines: str, dialect: TextDialect, width: int, position_of: dict[str, int], people: str | None = None
) -> str:
    """SQL for the rows of ``lines``, SQL for a column ``line``, each with ``width`` fields, the wanted ones where said.

    A line that cannot be cut, or into another number of fields, has a reason and names no user. With ``people``, a
    table with the column person, most lines of others are left out before they are cut.
    """
    wanted = {role: f"fields[{position + 1}]" for role, position in position_of.items()}
    flaw = "WHEN len(fields) > 0 THEN 'wrong number of fields'"
    if dialect.quotes:
        flaw += f" WHEN fields IS NULL THEN {literal(NOT_CLOSED)} ELSE 'text after a closing quote'"
    parts = "string_split(line, '\"')" if dialect.quotes else "NULL"
    only = ""
    if people is not None:
        user = f"split_part(line, {literal(dialect.delimiter)}, {position_of['user'] + 1})"
        quoted = """contains(line, '"') OR """ if dialect.quotes else ""
        only = f"AND ({quoted}{user} IN (SELECT person FROM {people}))"
    return f"""
        SELECT {_selected(wanted)}, reason FROM (
            SELECT fields, CASE WHEN len(fields) = {width} THEN NULL {flaw} END AS reason FROM (
                SELECT {_fields(dialect, width, [wanted[role] for role in _ROLES if role in wanted])} AS fields
                FROM (SELECT line, {parts} AS parts FROM ({lines}) WHERE strlen(line) <= {fields.MAX_LINE} {only})))
    """


def rows_of_columns(columns: str, width: int, position_of: dict[str, int], people: str | None = None) -> str:
    """The same for ``columns``, SQL for lines without quotes that are cut already: column1 and so on, one too many.

    Fields that a line lacks are NULL; those that it has beyond are in the last column, or left out.
    """
    wanted = {role: f"column{position + 1}" for role, position in position_of.items()}
    flaw = f"column{width} IS NULL OR column{width + 1} IS NOT NULL"
    only = f"WHERE {wanted['user']} IN (SELECT person FROM {people})" if people is not None else ""
    return f"""
        SELECT {_selected(wanted)}, reason
        FROM (SELECT *, CASE WHEN {flaw} THEN 'wrong number of fields' END AS reason FROM ({columns}) {only})
    """


def _selected(wanted: dict[str, str]) -> str:
    """SQL for the columns of a row, from that of the wanted fields; a row with a reason names no user."""
    person = f"CASE WHEN reason IS NULL THEN {wanted['user']} END"
    selected = ", ".join(
        f"{person if role == 'user' else wanted.get(role, 'NULL::VARCHAR')} AS {name}" for role, name in _ROLES.items()
    )
    return selected + "".join(f", {field} AS {role}" for role, field in wanted.items() if role not in _ROLES)


def _fields(dialect: TextDialect, width: int, wanted: Sequence[str]) -> str:
    """SQL for the list of the fields of a ``line`` without their quotes, by its ``parts`` between quotes.

    It is NULL if a quote is not closed, and empty if text follows the quotes of a wanted field; one is NULL if text
    follows its own quotes.
    """
    delimiter = literal(dialect.delimiter)
    if not dialect.quotes:
        return f"string_split(line, {delimiter})"
    d = f"\\x{ord(dialect.delimiter):02x}"
    tame = f'(?:"[^"{d}]*"|[^"{d}]*)'
    field = f'(?:{_CLOSED}(?:[^"{d}][^{d}]*)?|[^"{d}][^{d}]*|)'
    unquoted = f"""
        list_transform(regexp_extract_all({delimiter} || line, '{d}({field})', 1),
            lambda field: CASE WHEN NOT starts_with(field, '"') THEN field
                WHEN regexp_full_match(field, '{_CLOSED}') THEN replace(field[2:-2], '""', '"') END)
    """
    stray = " OR ".join(f"{field} IS NULL" for field in wanted)
    outside = ["''", *[delimiter] * (width - 1), "''"]
    enclosed = " AND ".join(f"parts[{2 * i + 1}] = {text}" for i, text in enumerate(outside))
    return f"""
        CASE WHEN len(parts) = 1 THEN string_split(line, {delimiter})
            WHEN len(parts) = {2 * width + 1} AND {enclosed} THEN list_slice(parts, 2, -1, 2)
            WHEN regexp_full_match(line, '{tame}(?:{d}{tame})*') THEN string_split(replace(line, '"', ''), {delimiter})
            WHEN regexp_full_match(line, '{field}(?:{d}{field})*') THEN list_transform([{unquoted}],
                lambda fields: CASE WHEN len(fields) = {width} AND ({stray}) THEN [] ELSE fields END)[1]
        END
    """
