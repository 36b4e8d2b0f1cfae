"""CSV and TSV files, and the tab separated files of the AOL collection.

CSV has the quotes of RFC 4180, but a row is a line: no field holds a line break, or one user's quote could swallow
the rows of others. In TSV and AOL files a quote is ordinary text, since searches are full of quotes: no field holds a
tab either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from blendp.arrow import pa
from blendp.engines.quality import WRONG_FIELDS
from blendp.errors import LogError
from blendp.logs.aol import AOL_FIELDS, AOL_HEADER
from blendp.logs.columns import Columns, positions, same_levels
from blendp.logs.dialect import TextDialect
from blendp.logs.encodings import UTF_8
from blendp.logs.fields import Cut, cut_file
from blendp.logs.filters import ALIAS
from blendp.logs.intake import RowIntake


def read_delimited(
    paths: Iterable[Path], dialect: TextDialect, columns: Columns, intake: RowIntake, names: Sequence[str] | None = None
) -> None:
    """Take in delimited files; with a header line each their columns may stand in any order.

    ``names`` are those of the columns, if they are not what the header says.
    """
    quotes = dialect.quotes
    for path in paths:
        header: list[str] | None = None
        for cut in cut_dialect(path, dialect):
            if header is None:
                header = list(names or header_of(cut, quotes))
                if names is None and not path.is_file():
                    _require_in_pipe(path, cut, dialect, columns)
                position_of = positions(header, columns, str(path))
                intake.note_columns(header, position_of, str(path))
                intake.levels = same_levels(position_of, intake.levels, str(path))
                position_of |= intake.filter_by(header, str(path)).over(header, str(path))
                cut = cut.after_first_row() if dialect.header else cut  # noqa: PLW2901
            take_in(cut, len(header), position_of, quotes, intake)


def _require_in_pipe(path: Path, cut: Cut, dialect: TextDialect, columns: Columns) -> None:
    """Raise if the first line of a pipe, at which nobody looked before, does not name the columns."""
    from blendp.logs.recognise import LogHeader, require_names_in_pipe

    require_names_in_pipe(path, cut.data, dialect, LogHeader(columns))


def cut_dialect(path: Path, dialect: TextDialect, block: int | None = None) -> Iterator[Cut]:
    """The rows of a file that is written like this."""
    return cut_file(
        path,
        dialect.delimiter,
        quotes=dialect.quotes,
        header=dialect.header,
        encoding=dialect.encoding,
        preamble=dialect.preamble,
        block=block,
    )


def header_of(cut: Cut, quotes: bool) -> list[str]:
    """The names in the first row."""
    if not len(cut.first):
        return []
    names = cut.row(0)
    if quotes and any(b'"' in name for name in names):
        names = unquoted(pa.array(names, type=pa.binary()))[0].to_pylist()
    return [name.decode("utf-8", "replace").strip() for name in names]


def take_in(cut: Cut, width: int, position_of: dict[str, int], quotes: bool, intake: RowIntake) -> None:
    """Take in rows that should have so many fields, the wanted ones at these positions."""
    whole = cut.fields == width
    intake.count_flawed(cut)
    intake.count_broken(WRONG_FIELDS, int((~whole).sum()))
    intake.count_fields(cut.fields)
    fields = {role: cut.column(whole, position) for role, position in position_of.items()}
    if quotes:
        fields, stray = _all_unquoted(fields)
        intake.count_broken("text after a closing quote", int(stray.sum()))
        if stray.any():
            fields = {role: field.filter(pa.array(~stray)) for role, field in fields.items()}
    intake.add(pa.table(fields))


def _all_unquoted(fields: dict[str, pa.Array]) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
    """The fields without their quotes, and which rows have text after some; where a filter alone looks, it is NULL."""
    import pyarrow.compute as pc

    plain: dict[str, pa.Array] = {}
    stray = np.zeros(len(next(iter(fields.values()))), dtype=bool)
    for role, field in fields.items():
        plain[role], bad = unquoted(field)
        if not role.startswith(ALIAS):
            stray |= bad
        elif bad.any():
            plain[role] = pc.if_else(pa.array(bad), None, plain[role])
    return plain, stray


def unquoted(field: pa.Array) -> tuple[pa.Array, NDArray[np.bool_]]:
    """The field without its enclosing quotes, and where these do not enclose all of it."""
    import pyarrow.compute as pc

    quoted = pc.starts_with(field, '"')
    if not quoted.true_count:
        return field, np.zeros(len(field), dtype=bool)
    inner = pc.binary_slice(field, 1, -1)
    whole = pc.and_(pc.ends_with(field, '"'), pc.greater(pc.binary_length(field), 1))
    single = pc.match_substring(pc.replace_substring(inner, '""', ""), '"')
    bad = pc.and_(quoted, pc.or_(pc.invert(whole), single))
    text = pc.if_else(quoted, pc.replace_substring(inner, '""', '"'), field)
    return text, bad.to_numpy(zero_copy_only=False)


def read_aol(paths: Iterable[Path], intake: RowIntake, encoding: str = UTF_8) -> None:
    """Take in files of the AOL collection; a search with neither rank nor URL had no click, and is ignored."""
    intake.levels = 2
    for path in paths:
        position_of = AOL_FIELDS | intake.filter_by(AOL_HEADER, str(path)).over(AOL_HEADER, str(path))
        for cut in _aol_rows(path, encoding):
            intake.count_flawed(cut)
            rank, url = cut.filled(3), cut.filled(4)
            known = (cut.fields == 5) | (cut.fields == 3) | ((cut.fields == 4) & ~rank)
            click = (cut.fields == 5) & (rank | url)
            intake.count_broken(WRONG_FIELDS, int((~known).sum()))
            intake.count_ignored("no click", int((known & ~click).sum()))
            intake.add(pa.table({role: cut.column(click, position) for role, position in position_of.items()}))


def _aol_rows(path: Path, encoding: str) -> Iterator[Cut]:
    header = False
    for cut in cut_file(path, "\t", encoding=encoding):
        if header:
            yield cut
            continue
        names = tuple(name.decode("utf-8", "replace").strip() for name in cut.row(0))
        if names != AOL_HEADER:
            raise LogError(f"{path} does not start with the AOL header {' '.join(AOL_HEADER)}: check the format.")
        header = True
        yield cut.after_first_row()
