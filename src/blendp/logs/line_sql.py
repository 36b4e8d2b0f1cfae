"""The cut of :mod:`blendp.logs.fields` in SQL: one line into its fields, by itself.

A line without a quote is split at the delimiters. So is, without its quotes, a line in which every field is plain or
enclosed and no enclosed field holds a delimiter or a quote. In any other line the fields are the matches of

    field = " ( no quote | "" )* " ( text after the closing quote )?   or   text that starts with no quote, or nothing

where the text after a closing quote starts with neither a quote nor a delimiter. There is one way at most to read a
line as such fields with delimiters between; where there is none, a quote is not closed.
"""

from __future__ import annotations

from blendp.logs import fields
from blendp.logs.dialect import TextDialect
from blendp.normalise import literal

_ROLES = {"user": "person", "query": "query", "url": "url", "opt_in": "opt_in"}
_CLOSED = '"(?:[^"]|"")*"'


def rows_of_lines(lines: str, dialect: TextDialect, width: int, position_of: dict[str, int]) -> str:
    """SQL for the rows of ``lines``, SQL for a column ``line``, each with ``width`` fields, the wanted ones where said.

    A line that cannot be cut, or into another number of fields, has a reason and names no user.
    """
    wanted = {role: f"fields[{position + 1}]" for role, position in position_of.items()}
    flaws = [f"WHEN len(fields) <> {width} THEN 'wrong number of fields'"]
    if dialect.quotes:
        stray = " OR ".join(f"{field} IS NULL" for field in wanted.values())
        flaws = [
            f"WHEN fields IS NULL THEN {literal(fields.NOT_CLOSED)}",
            *flaws,
            f"WHEN {stray} THEN 'text after a closing quote'",
        ]
    person = f"CASE WHEN reason IS NULL THEN {wanted['user']} END"
    selected = ", ".join(
        f"{person if role == 'user' else wanted.get(role, 'NULL::VARCHAR')} AS {name}" for role, name in _ROLES.items()
    )
    selected += "".join(f", {field} AS {role}" for role, field in wanted.items() if role not in _ROLES)
    return f"""
        SELECT {selected}, reason FROM (
            SELECT fields, CASE {" ".join(flaws)} END AS reason FROM (
                SELECT {_fields(dialect)} AS fields FROM ({lines}) WHERE strlen(line) <= {fields.MAX_LINE}))
    """


def _fields(dialect: TextDialect) -> str:
    """SQL for the list of a line's fields without their quotes; NULL stands for a field with text after its quote."""
    delimiter = literal(dialect.delimiter)
    if not dialect.quotes:
        return f"string_split(line, {delimiter})"
    d = f"\\x{ord(dialect.delimiter):02x}"
    tame = f'(?:"[^"{d}]*"|[^"{d}]*)'
    field = f'(?:{_CLOSED}(?:[^"{d}][^{d}]*)?|[^"{d}][^{d}]*|)'
    return f"""
        CASE WHEN NOT contains(line, '"') THEN string_split(line, {delimiter})
            WHEN regexp_full_match(line, '{tame}(?:{d}{tame})*') THEN string_split(replace(line, '"', ''), {delimiter})
            WHEN regexp_full_match(line, '{field}(?:{d}{field})*') THEN list_transform(
                regexp_extract_all({delimiter} || line, '{d}({field})', 1),
                lambda field: CASE WHEN NOT starts_with(field, '"') THEN field
                    WHEN regexp_full_match(field, '{_CLOSED}') THEN replace(field[2:-2], '""', '"') END)
        END
    """
