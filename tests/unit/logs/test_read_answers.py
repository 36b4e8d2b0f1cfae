"""Tables of answers: every format gives the same answers, and nobody is lost without a word."""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blendp.answers import Answers, Attribute, Questionnaire
from blendp.errors import LogError, OutputExistsError, ParameterError
from blendp.logs import answers as module
from blendp.logs import fields, read_answers, write_answers
from blendp.logs.answer_columns import WHITE

NAMES = ("age", "smokes", 'how "often", then')
ROWS = [("10", "yes", "never"), ("9", " no ", 'a "lot", or more'), ("9", "yes", "never"), ("100", "no", "é")]
TEXTS = [["10", "yes", "never"], ["9", "no", 'a "lot", or more'], ["9", "yes", "never"], ["100", "no", "é"]]
VALUES = (("9", "10", "100"), ("no", "yes"), ('a "lot", or more', "never", "é"))
ASKED = Questionnaire((Attribute("a", ("x", "y")), Attribute("b", ("1", "2", "3"))))


def write(path: Path, rows: Sequence[Sequence[str]] = ROWS, names: Sequence[str] = NAMES) -> Path:
    """Write a table in the format of the extension."""
    table = pa.table(dict(zip(names, zip(*rows, strict=True), strict=True)))
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    sink = pa.BufferOutputStream()
    if kind == "parquet":
        pa.parquet.write_table(table, sink)
    elif kind == "csv":
        pa.csv.write_csv(table, sink)
    else:
        sink.write("\r\n".join("\t".join(row) for row in [names, *rows]).encode())
    content = sink.getvalue().to_pybytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def text(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def parquet(path: Path, **columns: Any) -> Path:
    pa.parquet.write_table(pa.table(columns), path)
    return path


def texts(answers: Answers) -> list[list[str]]:
    attributes = answers.questionnaire.attributes
    return [[item.values[code] for item, code in zip(attributes, row, strict=True)] for row in answers.codes.tolist()]


def values(answers: Answers) -> list[tuple[str, ...]]:
    return [attribute.values for attribute in answers.questionnaire.attributes]


def refusal(source: str | Path, **options: Any) -> str:
    """The one sentence that a table is refused with."""
    with pytest.raises(LogError) as caught:
        read_answers(source, **options)
    sentence = str(caught.value)
    assert Path(source).name in sentence
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


# What is read.


@pytest.mark.parametrize("gz", ["", ".gz"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_formats(tmp_path: Path, kind: str, gz: str) -> None:
    path = write(tmp_path / f"table.{kind}{gz}")
    unnamed = write(tmp_path / f"again.{kind}{gz}").rename(tmp_path / f"table{gz}")
    for answers in (read_answers(path), read_answers(str(path)), read_answers(unnamed, format=kind)):
        assert (answers.people, answers.sizes, answers.opt_in, answers.inferred) == (4, (3, 2, 3), None, True)
        assert answers.questionnaire.names == NAMES
        assert texts(answers) == TEXTS
        assert values(answers)[:2] == list(VALUES[:2])


def test_quotes_are_text_in_tsv(tmp_path: Path) -> None:
    path = text(tmp_path / "t.tsv", 'a\tb\n"x\t1\n"x"\t2\n')
    assert texts(read_answers(path)) == [['"x', "1"], ['"x"', "2"]]


def test_quoted_or_not_is_the_same_answer(tmp_path: Path) -> None:
    path = text(tmp_path / "t.csv", '"a",b\n"x",1\nx,"2"\n" x ",2\n\n"y""",1\n')
    answers = read_answers(path)
    assert texts(answers) == [["x", "1"], ["x", "2"], ["x", "2"], ['y"', "1"]]
    assert values(answers) == [("x", 'y"'), ("1", "2")]


def test_columns_and_their_order(tmp_path: Path) -> None:
    path = write(tmp_path / "table.csv")
    answers = read_answers(path, columns=["smokes", "age"])
    assert answers.questionnaire.names == ("smokes", "age")
    assert texts(answers) == [row[1::-1] for row in TEXTS]


def test_unwanted_columns_may_be_anything(tmp_path: Path) -> None:
    path = text(tmp_path / "t.csv", ",a,b,b\n1,x,same,\n2,y,same,\n")
    assert texts(read_answers(path, columns=("a",))) == [["x"], ["y"]]
    path = parquet(tmp_path / "t.parquet", a=["x", "y"], list=[[1], [2]], **{"a.b": ["1", "2"]})
    assert texts(read_answers(path, columns=("a.b", "a"))) == [["1", "x"], ["2", "y"]]


def test_questionnaire_gives_the_codes(tmp_path: Path) -> None:
    path = text(tmp_path / "t.csv", "b,more,a\n2,,y\n2,,y\n1,,y\n")
    answers = read_answers(path, questionnaire=ASKED)
    assert (answers.questionnaire, answers.inferred) == (ASKED, False)
    assert answers.codes.tolist() == [[1, 1], [1, 1], [1, 0]]
    some = read_answers(path, questionnaire=ASKED, columns=["b"])
    assert some.questionnaire == Questionnaire(ASKED.attributes[1:])
    assert some.codes.tolist() == [[1], [1], [0]]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["10", "9", "-1", "+2.5", "1e1", ".5"], ("-1", ".5", "+2.5", "9", "10", "1e1")),
        (["10", "9", "x"], ("10", "9", "x")),
        (["10", "9", "nan"], ("10", "9", "nan")),
        (["10", "9", "1_0"], ("10", "1_0", "9")),
        (["b", "B", "a", "é"], ("B", "a", "b", "é")),
        (["(missing)", "10", "9"], ("9", "10", "(missing)")),
    ],
)
def test_order_of_answers(tmp_path: Path, answers: list[str], expected: tuple[str, ...]) -> None:
    path = text(tmp_path / "t.csv", "\n".join(["q", *answers]))
    assert values(read_answers(path)) == [expected]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([3, 1]), ["3", "1"]),
        (pa.array([3.0, 2.5, -0.0, 0.0, 1e17, 1e300]), ["3", "2.5", "0", "0", "100000000000000000", "1e+300"]),
        (pa.array([3.0, 0.1], pa.float32()), ["3", "0.1"]),
        (pa.array([3.0, 0.5], pa.float16()), ["3", "0.5"]),
        (pa.array([True, False]), ["true", "false"]),
        (pa.array([decimal.Decimal("3.50"), decimal.Decimal("1.00")]), ["3.50", "1.00"]),
        (pa.array([datetime.date(2020, 1, 2), datetime.date(2019, 1, 2)]), ["2020-01-02", "2019-01-02"]),
        (pa.array(["x", "y "], pa.large_string()), ["x", "y"]),
        (pa.array(["x", "y "], pa.string_view()), ["x", "y"]),
        (pa.array([b"x", b"y "]), ["x", "y"]),
        (pa.array([b"x ", b"y "], pa.binary(2)), ["x", "y"]),
        (pa.DictionaryArray.from_arrays([2, 0], ["x", "never said", "y"]), ["y", "x"]),
        (pa.array([7, 5]).dictionary_encode(), ["7", "5"]),
    ],
)
def test_typed_columns_are_text(tmp_path: Path, column: pa.Array, expected: list[str]) -> None:
    answers = read_answers(parquet(tmp_path / "t.parquet", q=column))
    assert [row[0] for row in texts(answers)] == expected
    assert set(values(answers)[0]) == set(expected)


def test_row_groups_and_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(str(i % 7), "ab"[i % 3 == 0]) for i in range(1000)]
    table = pa.table(dict(zip(("a", "b"), zip(*rows, strict=True), strict=True)))
    pa.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    monkeypatch.setattr(fields, "BLOCK", 64)
    for path in (tmp_path / "t.parquet", write(tmp_path / "t.csv", rows, ("a", "b"))):
        assert texts(read_answers(path)) == [list(row) for row in rows]


def test_white_space_is_what_python_strips() -> None:
    assert {chr(code) for code in range(sys.maxunicode + 1) if not chr(code).strip()} == set(WHITE)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_opt_in(tmp_path: Path, kind: str) -> None:
    trust = ["yes", "0", "TRUE", " No ", "1", "false"]
    rows = list(zip("xyxyxy", trust, strict=True))
    answers = read_answers(write(tmp_path / f"t.{kind}", rows, ("a", "trusts")), opt_in_column="trusts")
    assert answers.opt_in is not None
    assert answers.opt_in.tolist() == [True, False, True, False, True, False]
    assert answers.questionnaire.names == ("a",)
    for typed in ([True, False], [1, 0], [1.0, 0.0]):
        answers = read_answers(parquet(tmp_path / "typed.parquet", a=["x", "y"], trusts=typed), opt_in_column="trusts")
        assert answers.opt_in is not None
        assert answers.opt_in.tolist() == [True, False]


# Missing answers.


@pytest.fixture(params=["csv", "parquet"])
def holes(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "csv":
        return text(tmp_path / "holes.csv", 'a,b,t\nx,1,yes\n\n,2,no\nz,"",yes\ny,2,no\n  ,1,yes\nx,2,yes\n')
    return parquet(
        tmp_path / "holes.parquet",
        a=["x", None, "z", "y", "  ", "x"],
        b=[1.0, 2.0, float("nan"), 2.0, 1.0, 2.0],
        t=[True, False, True, False, True, True],
    )


def test_missing_answers_are_refused(holes: Path) -> None:
    spot = "line 4" if holes.suffix == ".csv" else "row 2"
    assert refusal(holes, opt_in_column="t") == (
        f"The column 'a' of {holes} has 2 missing answers (first on {spot}): fill them in, or use missing=\"drop\" to"
        ' leave these people out or missing="value" to count them as an answer.'
    )
    assert "'b'" in refusal(holes, columns=["b"])
    assert f"has 1 missing answer (on {spot[:-1]}" in refusal(holes, columns=["b"])


def test_people_with_missing_answers_are_dropped(holes: Path) -> None:
    answers = read_answers(holes, opt_in_column="t", missing="drop")
    assert texts(answers) == [["x", "1"], ["y", "2"], ["x", "2"]]
    assert values(answers) == [("x", "y"), ("1", "2")], "an answer of nobody who is left must not be listed"
    assert answers.opt_in is not None
    assert answers.opt_in.tolist() == [True, False, True]
    assert texts(read_answers(holes, questionnaire=ASKED, missing="drop")) == texts(answers)


def test_missing_is_an_answer(holes: Path) -> None:
    answers = read_answers(holes, opt_in_column="t", missing="value")
    assert values(answers) == [("x", "y", "z", "(missing)"), ("1", "2", "(missing)")]
    assert [row[0] for row in texts(answers)] == ["x", "(missing)", "z", "y", "(missing)", "x"]
    asked = Questionnaire((Attribute("a", ("(missing)", "x", "y", "z")),))
    assert read_answers(holes, questionnaire=asked, missing="value").codes[:, 0].tolist() == [1, 0, 3, 2, 0, 1]
    spot = "line 4" if holes.suffix == ".csv" else "row 2"
    asked = Questionnaire((Attribute("a", ("x", "y", "z")),))
    assert refusal(holes, questionnaire=asked, missing="value") == (
        f"The column 'a' of {holes} has 2 missing answers (first on {spot}) and the questionnaire does not list"
        " '(missing)': list it there, or use missing=\"drop\"."
    )


def test_a_written_missing_is_the_same(tmp_path: Path) -> None:
    path = text(tmp_path / "t.csv", "a,b\nx,1\n(missing),1\n,1\n")
    answers = read_answers(path, columns=["a"], missing="value")
    assert answers.codes[:, 0].tolist() == [0, 1, 1]


def test_nobody_without_missing_answers(tmp_path: Path) -> None:
    path = text(tmp_path / "t.csv", "a,b\nx,\n,1\n")
    assert "has a missing answer in every row: name fewer columns" in refusal(path, missing="drop")
    path = parquet(tmp_path / "t.parquet", a=pa.nulls(3), b=["x", "y", "x"])
    assert "has 3 missing answers (first on row 1)" in refusal(path)
    assert "'a' of" in refusal(path, missing="value")
    assert "everybody answers the same" in refusal(path, missing="value")


# What is refused.


def test_files_that_are_not_there(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.csv").endswith("does not exist: check the path.")
    (tmp_path / "folder.csv").mkdir()
    assert refusal(tmp_path / "folder.csv").endswith("is a folder: name one file.")
    for name in ("t.doc", "t.ndjson", "t"):
        assert "The format of" in refusal(text(tmp_path / name, "a\n1\n2\n"))
    assert "cannot be read (File name too long)" in refusal(tmp_path / ("n" * 300 + ".csv"))


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet"])
def test_empty_files(tmp_path: Path, name: str) -> None:
    assert refusal(text(tmp_path / name, "")).endswith("is empty: give a file with rows.")


def test_no_rows(tmp_path: Path) -> None:
    for path in (text(tmp_path / "t.csv", "a,b\n"), text(tmp_path / "t.tsv", "a\tb"), tmp_path / "t.parquet"):
        if path.suffix == ".parquet":
            parquet(path, a=pa.array([], pa.string()), b=pa.array([], pa.string()))
        assert refusal(path).endswith("has no rows: give a file with answers.")


@pytest.mark.parametrize("cut", [1, 4, 8, 9, 20, 1000])
def test_gzip_cut_short(tmp_path: Path, cut: int) -> None:
    content = "a,b\n" + "".join(f"{i * 7919 % 10},{i * 31 % 97}\n" for i in range(20_000))
    packed = gzip.compress(content.encode())
    assert refusal(text(tmp_path / "t.csv.gz", packed[:-cut])).endswith(
        "(Truncated compressed stream): it may be cut short or no gzip file, so fetch it again."
    )


def test_damaged_files(tmp_path: Path) -> None:
    assert "no gzip file" in refusal(text(tmp_path / "text.csv.gz", "a,b\n1,2\n"))
    packed = bytearray(gzip.compress(b"a,b\n" + b"x,1\ny,2\n" * 99))
    packed[-6] ^= 1
    assert "fetch it again" in refusal(text(tmp_path / "sum.csv.gz", bytes(packed)))
    assert "no readable Parquet file" in refusal(text(tmp_path / "text.parquet", "a,b\n1,2\n"))
    content = write(tmp_path / "whole.parquet").read_bytes()
    assert "no readable Parquet file" in refusal(text(tmp_path / "cut.parquet", content[:-30]))
    assert "no readable Parquet file" in refusal(text(tmp_path / "cut.parquet.gz", gzip.compress(content)[:-30]))
    wide = text(tmp_path / "wide.csv", "a,b\n1,2\n3,4\n".encode("utf-16"))
    assert read_answers(wide).questionnaire.names == ("a", "b")
    with pytest.raises(LogError, match="is UTF-16 text: say so"):
        read_answers(wide, encoding="utf-8")


def test_headers(tmp_path: Path) -> None:
    assert "2 columns named 'a': check that its first line names the columns" in refusal(
        text(tmp_path / "double.csv", "a,b, a\n1,2,3\n")
    )
    assert "2 columns named 'a'" in refusal(parquet(tmp_path / "double.parquet", **{"a": ["x"], "a ": ["y"]}))
    assert "has a column without a name: check that its first line names every column" in refusal(
        text(tmp_path / "unnamed.csv", "a,\n1,2\n")
    )
    assert "has no column to ask" in refusal(text(tmp_path / "t.csv", "trusts\nyes\n"), opt_in_column="trusts")


def test_unknown_columns(tmp_path: Path) -> None:
    path = text(tmp_path / "t.csv", ",".join(f"q{i}" for i in range(12)) + "\n")
    assert refusal(path, columns=["q1", "age"]) == (
        f"{path} has no column 'age' (it has 'q0', 'q1', 'q2', 'q3', 'q4', 'q5', 'q6', 'q7', 'q8', 'q9', ...):"
        " name the right one (columns=...)."
    )
    assert "no column 'trusts'" in refusal(path, opt_in_column="trusts")
    assert "no column 'b'" in refusal(text(tmp_path / "a.csv", "a\nx\n"), questionnaire=ASKED)


def test_too_many_columns(tmp_path: Path) -> None:
    names = [f"q{i}" for i in range(66)]
    path = write(tmp_path / "t.csv", [["1"] * 66, ["2"] * 66], names)
    assert "has 66 columns to ask, more than 64: name fewer (columns=...)" in refusal(path)
    assert "has 65 columns to ask" in refusal(path, columns=names[:65])
    assert read_answers(path, columns=names[:64]).people == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\nx,1\n\ny,2,3\n", "has 3 fields on line 4 and 2 in its header: correct it, quote answers"),
        ('a,b\n"x\n",1\ny\n', r"on line 2 \(quote not closed\): close the quote on that line"),
        ('a,b\nx,1\ny,"2\nx,1\ny,2\n', r"on line 3 \(quote not closed\)"),
        ('a,b\nx,1\n"y,2\nx,1\ny,2', r"on line 3 \(quote not closed\)"),
        ('"a,b\nx,1\n', r"has no header that can be read, line 1 \(quote not closed\): mend that line"),
        ('a,b\nx,1\ny,2\n"', r"on line 4 \(quote not closed\)"),
        ('a,b\nx,1\ny,"2\nx,"1"\ny,2\n', r"on line 3 \(quote not closed\)"),
        ("a,b\nx," + "1" * (1 << 20) + "\n", r"on line 2 \(line too long\): check that this is a text file"),
        ('a,b\nx,1\n"y"z,2\n', "'a' of .* has text after a closing quote on line 3: double the quotes"),
    ],
)
def test_broken_rows(tmp_path: Path, content: str, message: str) -> None:
    path = text(tmp_path / "t.csv", content)
    with pytest.raises(LogError, match=message):
        read_answers(path)
    assert str(path) in refusal(path)


def test_no_row_is_lost_in_a_column_that_is_not_asked(tmp_path: Path) -> None:
    path = text(tmp_path / "t.csv", 'a,b\nx,1\ny,"2\nx,"1"\ny,2\n')
    assert "on line 3 (quote not closed)" in refusal(path, columns=["a"])


@given(cells=st.lists(st.sampled_from(["x", "y", '"x"', '"x', 'y"', '"y\ny"', '"']), min_size=4, max_size=12))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_quotes_lose_nobody(tmp_path: Path, cells: list[str]) -> None:
    """Whatever the quotes: the rows are those of Python's own reader, line by line, or both refuse the file."""
    pairs = zip(cells[::2], cells[1::2], strict=False)
    content = "a,b\n" + "".join(f"{one},{two}\n" for one, two in pairs)
    path = text(tmp_path / "t.csv", content)
    try:
        rows = [row for line in content.splitlines() for row in csv.reader(io.StringIO(line, newline=""), strict=True)]
        fine = all(len(row) == 2 for row in rows)
    except csv.Error:
        fine = False
    people, sentence = None, ""
    try:
        people = read_answers(path, missing="value").people
    except LogError as error:
        sentence = str(error)
    if fine and "everybody answers the same" not in sentence:
        assert people == len(rows) - 1
    else:
        assert people is None


def test_lines_are_counted_over_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "BLOCK", 16)
    path = text(tmp_path / "t.csv", 'a,b\r\n\r\n"x\r",1\r\n' + "x,1\r\n" * 40 + "\r\nx,\r\n")
    assert "(on line 45)" in refusal(path)
    path = text(tmp_path / "t.csv", path.read_bytes() + b"x,2,3\r\n")
    assert "3 fields on line 46" in refusal(path)


def test_one_answer(tmp_path: Path) -> None:
    path = text(tmp_path / "t.csv", "a,b\nx,1\nx,2\n")
    assert refusal(path) == (
        f"The column 'a' of {path} has one answer: everybody answers the same: leave the column out (columns=...)."
    )
    asked = Questionnaire((Attribute("a", ("x", "y")),))
    assert read_answers(path, questionnaire=asked).counts(0).tolist() == [2, 0]


def test_too_many_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = text(tmp_path / "t.csv", "id\n" + "".join(f"u{i}\n" for i in range(1001)))
    assert refusal(path) == (
        f"The column 'id' of {path} has 1001 different answers, more than 1000: it may be an id or a number, so leave"
        " it out (columns=...) or group its answers."
    )
    most = text(tmp_path / "most.csv", "id,b\n" + "".join(f"u{i},{i}\n" for i in range(1000)))
    assert read_answers(most).sizes == (1000, 1000)
    one_more = text(tmp_path / "more.csv", most.read_bytes() + b",1\n")
    assert "has 1001 different answers" in refusal(one_more, missing="value")
    monkeypatch.setattr(module, "_MAX_TEXT", 100)
    assert "has too many different answers: it may be an id" in refusal(path)


def test_answers_that_are_not_listed(tmp_path: Path) -> None:
    path = text(tmp_path / "t.csv", "a,b\nx,1\nsecret,2\ny,2\nsecret,4\n")
    assert refusal(path, questionnaire=ASKED) == (
        f"The column 'a' of {path} has 2 answers that the questionnaire does not list (first on line 3): correct the"
        " answers or the questionnaire."
    )
    path = text(tmp_path / "t.csv", "a,b\nx,1\nx,4\n,5\n")
    sentence = refusal(path, questionnaire=ASKED, missing="drop")
    assert "'b' of" in sentence
    assert "has 1 answer that the questionnaire does not list (on line 3)" in sentence


@pytest.mark.parametrize("kind", [pa.binary(), pa.string(), pa.large_string()])
def test_text_that_is_not_utf8_in_parquet(tmp_path: Path, kind: pa.DataType) -> None:
    offsets = pa.array([0, 1, 3], pa.int64() if kind == pa.large_string() else pa.int32())
    column = pa.Array.from_buffers(kind, 2, [None, offsets.buffers()[1], pa.py_buffer(b"x\xff\xfe")])
    path = parquet(tmp_path / "t.parquet", a=column)
    remedy = "write its texts as UTF-8"
    if kind == pa.binary():
        remedy = "it holds binary, so give a column of text or numbers"
    assert refusal(path) == f"The column 'a' of {path} has text that is not UTF-8 on row 2: {remedy}."


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = text(tmp_path / "t.csv", b"a,b\nx,1\ncaf\xe9,2\n")
    assert refusal(path) == (
        f"The column 'a' of {path} has text that is not UTF-8 on line 3: save the file as UTF-8, or say its encoding"
        ' (encoding="gb18030" or "cp1252", for example).'
    )
    assert read_answers(path, columns=["b"]).people == 2


def test_nested_columns(tmp_path: Path) -> None:
    for column in ([[1], [2]], [{"x": 1}, {"x": 2}]):
        path = parquet(tmp_path / "t.parquet", a=column)
        assert refusal(path).endswith("give a column of text or numbers.")


def test_opt_in_values(tmp_path: Path) -> None:
    path = text(tmp_path / "t.csv", "a,t\nx,yes\ny,maybe\nx,\n")
    assert refusal(path, opt_in_column="t", missing="drop") == (
        f"The column 't' of {path} has 1 missing value (on line 4): say of every person whether they opt in."
    )
    path = text(tmp_path / "t.csv", "a,t\nx,yes\ny,maybe\nx,2\n")
    assert refusal(path, opt_in_column="t") == (
        f"The column 't' of {path} has 2 unreadable values (first on line 3): write true or false, 1 or 0, yes or no."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": "ignore"}, "missing = 'ignore' is not allowed: it must be one of refuse, drop, value"),
        ({"format": "ndjson"}, "format = 'ndjson'"),
        ({"columns": []}, "columns"),
        ({"columns": "age"}, "a list of distinct names"),
        ({"columns": ["age", "age"]}, "columns"),
        ({"columns": ["age", ""]}, "columns"),
        ({"columns": ["age"], "opt_in_column": "age"}, "opt_in_column = 'age'"),
        ({"questionnaire": ASKED, "opt_in_column": "a"}, "opt_in_column = 'a'"),
        ({"opt_in_column": ""}, "opt_in_column"),
        ({"columns": ["age"], "questionnaire": ASKED}, "columns = 'age' is not allowed: it must be names of the"),
    ],
)
def test_parameters(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        read_answers(write(tmp_path / "table.csv"), **options)


# What is written.


@st.composite
def tables(draw: st.DrawFn) -> Answers:
    characters = st.one_of(
        st.characters(exclude_categories=["Cs", "Cc"]), st.sampled_from(',"\n\t\r;\'"'), st.sampled_from("xy01")
    )
    label = st.text(characters, min_size=1, max_size=6).filter(lambda t: t == t.strip() and "\n" not in t)
    names = draw(st.lists(label.filter(lambda name: name != "opt_in"), min_size=1, max_size=3, unique=True))
    lists = st.lists(label, min_size=2, max_size=5, unique=True).map(tuple)
    asked = Questionnaire(tuple(Attribute(name, draw(lists)) for name in names))
    rows = draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in asked.sizes)), min_size=1, max_size=20))
    opt_in = np.array(draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    return Answers(asked, np.array(rows, dtype=np.int32), opt_in if draw(st.booleans()) else None)


@given(answers=tables(), name=st.sampled_from(["t.csv", "t.parquet", "t.csv.gz"]))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_there_and_back(tmp_path: Path, answers: Answers, name: str) -> None:
    path = tmp_path / name
    write_answers(answers, path, overwrite=True)
    column = None if answers.opt_in is None else "opt_in"
    back = read_answers(path, questionnaire=answers.questionnaire, opt_in_column=column)
    assert back.questionnaire == answers.questionnaire
    np.testing.assert_array_equal(back.codes, answers.codes)
    assert (back.opt_in is None) == (answers.opt_in is None)
    if answers.opt_in is not None and back.opt_in is not None:
        np.testing.assert_array_equal(back.opt_in, answers.opt_in)
    if all((answers.counts(attribute) > 0).sum() > 1 for attribute in range(len(answers.sizes))):
        assert texts(read_answers(path, opt_in_column=column)) == texts(answers)


def test_written_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 7)
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, size, 50) for size in ASKED.sizes]).astype(np.int32)
    answers = Answers(ASKED, codes, rng.random(50) < 0.5)
    for name in ("t.csv", "t.parquet"):
        write_answers(answers, tmp_path / name, opt_in_column="trusts")
        back = read_answers(tmp_path / name, opt_in_column="trusts")
        np.testing.assert_array_equal(back.codes, codes)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    answers = read_answers(write(tmp_path / "table.csv"))
    path = text(tmp_path / "t.csv", "mine")
    with pytest.raises(OutputExistsError, match="exists already"):
        write_answers(answers, path)
    assert path.read_text() == "mine"
    write_answers(answers, path, overwrite=True)
    assert read_answers(path).people == 4
    assert sorted(item.name for item in tmp_path.iterdir()) == ["t.csv", "table.csv"]


def test_what_cannot_be_written(tmp_path: Path) -> None:
    answers = Answers(ASKED, np.zeros((1, 2), dtype=np.int32), np.array([True]))
    for name in ("t.tsv", "t.txt", "t.parquet.gz", "csv"):
        with pytest.raises(ParameterError, match="a name ending in"):
            write_answers(answers, tmp_path / name)
    for name in ("a", "", " t", "t\nu"):
        with pytest.raises(ParameterError, match="opt_in_column"):
            write_answers(answers, tmp_path / "t.csv", opt_in_column=name)
    lines = Answers(Questionnaire((Attribute("a", ("x\ny", "z")),)), np.zeros((1, 1), dtype=np.int32))
    with pytest.raises(ParameterError, match="Write Parquet"):
        write_answers(lines, tmp_path / "t.csv")
    write_answers(lines, tmp_path / "t.parquet")
    assert read_answers(tmp_path / "t.parquet", questionnaire=lines.questionnaire).people == 1
    assert [item.name for item in tmp_path.iterdir()] == ["t.parquet"]


@pytest.mark.parametrize("mark", [";", "|"])
def test_columns_that_are_separated_otherwise_are_recognised(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(f"a{mark}b\nx{mark}y\nz{mark}v\n")
    assert read_answers(path).questionnaire.names == ("a", "b")
