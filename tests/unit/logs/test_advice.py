"""What is said of a file that is not read as it stands is true, and doing it helps."""

from __future__ import annotations

import codecs
import gzip
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from blendp.errors import LogError
from blendp.logs import open_answers, open_log, read_answers, read_log
from blendp.logs.reading import HowRead
from blendp.spelling import on_command_line

PEOPLE = 60
ROWS = "".join(f"u{number};Grüße {number % 3};x.example\n" for number in range(PEOPLE))
OBJECTS = "".join(f'{{"user": "ü{number}", "query": "Grüße", "url": "x"}}\n' for number in range(PEOPLE))
NAMES: dict[str, Any] = {"header": False, "delimiter": ";", "names": ["user", "query", "url"]}


def refused(source: Any, read: Callable[..., Any] = read_log, **options: Any) -> LogError:
    with pytest.raises(LogError) as caught:
        read(source, **options)
    return caught.value


@pytest.mark.parametrize(
    ("mark", "encoding", "said"),
    [(codecs.BOM_UTF16_LE, "utf-16-le", "utf-16"), (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16-be")],
)
def test_utf_16_without_a_header_is_asked_for(mark: bytes, encoding: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(mark + ROWS.encode(encoding))
    first = f'or say header=False with encoding="{said}", delimiter=";" and name all (names=["user", "query", "url"])'
    assert first in str(refused(path))
    with on_command_line():
        first = f"or say --no-header with --encoding {said}, --delimiter ';' and name all (--columns user,query,url)"
        assert first in str(refused(path))
    second = refused(path, **NAMES)
    assert str(second) == f'{path} begins as UTF-16 text does: say so (encoding="{said}").'
    assert second.__notes__[0] == "u0;Grüße 0;x.example"
    assert read_log(path, encoding=said, **NAMES).users == PEOPLE
    path.write_bytes(mark + ROWS.replace("Grüße", "weather").encode(encoding))
    assert 'UTF-16 text (encoding="utf-16" or "utf-16-be")' in str(refused(path, **NAMES))


@pytest.mark.parametrize(
    ("encoding", "said"),
    [("utf-16", "is UTF-16 text: say so"), ("cp1252", "holds no JSON object in UTF-8; it decodes as Windows-1252")],
)
def test_ndjson_in_another_encoding(encoding: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "log.ndjson"
    path.write_bytes(OBJECTS.encode(encoding))
    sentence = str(refused(path))
    assert said in sentence
    assert f'(encoding="{encoding}"' in sentence
    assert read_log(path, encoding=encoding).users == PEOPLE
    path.write_text("no object\n")
    assert str(refused(path)) == f"{path} holds no JSON object: give text with one object a line."
    path.write_bytes(gzip.compress(OBJECTS.encode()))
    assert str(refused(path)) == f"{path} is compressed with gzip: let its name end in .gz."


def piped(tmp_path: Path, content: bytes, read: Callable[[Path], Any], name: str = "pipe") -> Any:
    """What is read of a pipe through which this comes."""
    path = tmp_path / name
    os.mkfifo(path)
    writer = Thread(target=path.write_bytes, args=(content,))
    writer.start()
    try:
        return read(path)
    finally:
        writer.join()
        path.unlink()


def test_what_is_recognised_in_a_pipe_is_said_and_recorded(tmp_path: Path) -> None:
    seen: list[HowRead] = []
    content = f"Benutzer;Suche;URL;Datum\n{ROWS}".replace("example\n", "example;2026-01-01\n").encode()
    options: dict[str, Any] = {"format": "csv", "delimiter": ";", "since": "2026-01-01", "tell": seen.append}
    log = piped(tmp_path, content, lambda path: open_log(path, **options))
    columns = {"user": "Benutzer", "query": "Suche", "url": "URL", "time": "Datum"}
    assert log.how.to_dict()["columns"] == columns
    assert str(seen[0]) == "semicolons, UTF-8, columns Benutzer -> user, Suche -> query, URL -> url, Datum -> time"
    assert log.draw(1, 1).users == PEOPLE


def test_what_a_pipe_lacks_is_asked_for(tmp_path: Path) -> None:
    content = f"Benutzer;Suche\x1b[2J;URL\n{ROWS}".encode()
    error = piped(tmp_path, content, lambda path: refused(path, format="csv"))
    assert str(error).endswith('or say what stands between fields (delimiter=";").')
    assert error.__notes__[0] == "Benutzer;Suche\\x1b[2J;URL"
    for read in (read_answers, open_answers):
        asked = partial(refused, read=read, format="csv", columns=["a"])
        error = piped(tmp_path, b"a;b\n1;2\n", asked)
        assert str(error).endswith('or say what stands between fields (delimiter=";").')
        error = piped(tmp_path, b"a;b\n1;2\n", partial(refused, read=read, format="csv"))
        assert str(error).endswith("has one column, 'a;b': say what stands between fields (delimiter=\";\").")


@pytest.mark.parametrize("format", ["csv", "tsv", "ndjson", "aol"])
def test_compressed_bytes_in_a_pipe(format: str, tmp_path: Path) -> None:
    content = gzip.compress(b"user,query\nu,q\n")
    error = piped(tmp_path, content, lambda path: refused(path, format=format))
    assert str(error) == f"{tmp_path / 'pipe'} is compressed with gzip: decompress it first (zcat)."
    if format in ("csv", "tsv"):
        error = piped(tmp_path, content, lambda path: refused(path, read_answers, format=format))
        assert str(error).endswith("is compressed with gzip: decompress it first (zcat).")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_in_a_pipe_is_read_once_it_is_said(encoding: str, tmp_path: Path) -> None:
    content = f"user;query;url\n{ROWS}".encode(encoding)
    options: dict[str, Any] = {"format": "csv", "delimiter": ";"}
    error = piped(tmp_path, content, lambda path: refused(path, **options))
    assert f'is UTF-16 text: say so (encoding="{encoding}"), or' in str(error)
    assert piped(tmp_path, content, lambda path: read_log(path, encoding=encoding, **options)).users == PEOPLE


def test_a_field_of_two_lines_is_to_be_written_in_one(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('user,query,url\nu1,"two\nlines",x\nu2,q,x\n')
    assert "write spaces for line breaks within fields, or say that quotes are text (quotes=False)," in str(
        refused(path)
    )


def test_who_opts_in_is_to_be_said_in_words_that_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,query,in\nu1,q,wahr\n")
    assert "write true or false, 1 or 0, yes or no in the opt-in column," in str(
        refused(path, columns={"opt_in": "in"})
    )


def test_a_time_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,query,time\nu,q,2026-01-01\n")
    sentence = str(refused(path, since="2026-01-01", time_column="zeit"))
    assert (
        "has no column 'zeit' (it has 'user', 'query', 'time'): name that with the time (time_column=...)" in sentence
    )


def test_answers_have_the_file_names_of_logs(tmp_path: Path) -> None:
    for name in ("a.txt", "a.tsv.zst", "a.TXT.gz"):
        written = pa.output_stream(str(tmp_path / name), compression="detect")
        with written:
            written.write(b"a\tb\n1\t2\n2\t1\n")
        assert read_answers(tmp_path / name).people == 2
        assert open_answers(tmp_path / name).people == 2
    (tmp_path / "a.dat").write_text("a,b\n")
    sentence = str(refused(tmp_path / "a.dat", read_answers))
    assert ".csv, .parquet, .tsv, .txt, each also with .gz or .zst, or give the format (format=...)" in sentence
    sentence = str(refused(tmp_path / "a.dat"))
    assert ".csv, .jsonl, .ndjson, .parquet, .tsv, .txt, each also with .gz or .zst" in sentence


def test_a_title_above_the_header_is_to_be_deleted(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    for title, remedy in (("All searches of May\n", "the line"), ("Searches\nin May;;\n", "the 2 lines")):
        path.write_text(f"{title}user;query;url\n{ROWS}")
        assert str(refused(path)).endswith(f", or delete {remedy} above the header.")
    path.write_text("All searches of May\nu1\nu2\n")
    assert "delimiter" not in str(refused(path))


def test_rows_with_more_fields_than_names(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(ROWS)
    sentence = str(refused(path, header=False, delimiter=";", names=["user", "query"]))
    assert "most rows have 3 fields, and 2 columns are named): name all (names=...)," in sentence
    assert "delimiter" not in sentence
    assert "delimiter=..." in str(refused(path, header=False, names=["user", "query"]))


def test_a_type_that_polars_does_not_hand_out() -> None:
    frame = pl.DataFrame({"user": pl.Series([1, 2], dtype=pl.Int128), "query": ["a", "b"]})
    assert str(refused(frame)) == (
        "The column 'user' of the table holds Int128, which is not read: make it text, by "
        'df["user"].cast(polars.String).'
    )


def test_standard_input_has_a_name() -> None:
    for read in (read_log, read_answers):
        sentence = str(refused("-", read))
        assert sentence == 'There is no file -: give /dev/stdin to read standard input, with its format (format="csv").'


def test_messages_about_tables_begin_with_a_capital() -> None:
    table = pa.table({"user": ["u"], "query": ["q"]})
    for options in ({"where": "country = 'DE'"}, {"since": "2026-01-01"}, {"columns": {"user": "who"}}):
        assert str(refused(table, **options)).startswith("The table has no column")
