"""Filters choose rows, one by one and the same for everybody; nobody leaves the population by them."""

from __future__ import annotations

import json
from datetime import date, datetime
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blendp.engines import EmbeddedLog
from blendp.engines.database import connect
from blendp.errors import LogError, ParameterError
from blendp.logs import Columns, log_of_table, open_log, read_log
from blendp.logs.filters import RowFilter, compiled, require_truth

ROWS = {
    "user": ["u1", "u1", "u2", "u3", "u4"],
    "query": ["a", "b", "c", "d", "e"],
    "country": ["DE", "FR", "FR", "DE", None],
    "amount": ["5", "9", "x", "7", "2"],
    "Time": ["2026-01-01", "2026-01-02 10:00:00", "2026-01-02T23:30:00-02:00", "no time", "2026-01-05"],
}


def write(folder: Path, kind: str) -> Path:
    path = folder / f"log.{kind}"
    lines = [list(ROWS), *zip(*ROWS.values(), strict=True)]
    if kind == "parquet":
        pq.write_table(pa.table(ROWS), path)
    elif kind == "ndjson":
        path.write_text("".join(json.dumps(dict(zip(ROWS, line, strict=True))) + "\n" for line in lines[1:]))
    else:
        mark = "\t" if kind == "tsv" else ";"
        text = "".join(mark.join(item or "" for item in line) + "\n" for line in lines)
        path.write_bytes(text.encode("utf-16" if kind.startswith("utf") else "utf-8"))
    return path


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return connect()


def queries(log: EmbeddedLog) -> str:
    return "".join(query for query, _ in log.texts(np.arange(log.distinct_records)))


CASES: list[tuple[dict[str, Any], str]] = [
    ({"where": "country = 'DE'"}, "ad"),
    ({"where": "NOT (nullif(country, '') = 'DE')"}, "bc"),
    ({"where": "amount::INT > 4"}, "abd"),
    ({"where": "country = 'DE' OR amount::INT > 8 -- and so on"}, "abd"),
    ({"where": "year(strptime(Time, '%Y-%m-%d')) = 2026"}, "ae"),
    ({"since": "2026-01-02"}, "bce"),
    ({"since": "2026-01-02", "until": "2026-01-03"}, "b"),
    ({"until": "2026-01-03T01:30:00.5+00:00", "where": "country = 'FR'"}, "bc"),
]


@pytest.mark.parametrize(
    ("kind", "options", "left"),
    [
        *(("csv", *case) for case in CASES),
        *((kind, *case) for kind in ("parquet", "ndjson") for case in CASES[1::2]),
        *((kind, *CASES[-1]) for kind in ("tsv", "utf-16.csv")),
    ],
)
def test_the_same_rows_count_in_every_format(tmp_path: Path, kind: str, options: dict[str, Any], left: str) -> None:
    """A cast that fails, NULL: such rows are filtered out, and stop nothing. A time that is none is broken."""
    columns = Columns(levels=1) if kind == "ndjson" else Columns()
    in_span = "since" in options or "until" in options
    time: dict[str, Any] = {"time_column": "Time"} if kind == "ndjson" and in_span else {}
    log = read_log(write(tmp_path, kind), columns=columns, **options, **time, max_broken=0.2)
    assert queries(log) == left
    assert log.users == 4
    broken = {"time not readable": 1} if in_span and "where" not in options else {}
    assert dict(log.quality.ignored) == {"filtered out": 5 - len(left) - len(broken)}
    assert dict(log.quality.broken) == broken


@pytest.mark.parametrize("kind", ["csv", "parquet", "ndjson"])
def test_times_are_read_row_by_row_and_rows_without_one_are_broken(tmp_path: Path, kind: str) -> None:
    rows = {
        "user": ["a", "b", "c", "d", "e"],
        "query": ["v", "w", "x", "y", "z"],
        "time": ["15.10.2026 12:00", "1792065599", "10/05/2026", "", "2026-10-15"],
    }
    path = tmp_path / f"log.{kind}"
    lines = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    if kind == "parquet":
        pq.write_table(pa.table(rows), path)
    elif kind == "ndjson":
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    else:
        path.write_text("".join(",".join(line) + "\n" for line in (rows, *(line.values() for line in lines))))
    log = read_log(path, columns=Columns(levels=1), since="2026-10-15T11:59:59", time_column="time", max_broken=0.4)
    assert queries(log) == "vw"
    assert log.users == 5
    assert dict(log.quality.broken) == {"time not readable": 2}
    assert dict(log.quality.ignored) == {"filtered out": 1}


@pytest.mark.parametrize(
    "times",
    [
        pa.array([1792065600, 1792065599, 7]),
        pa.array([1792065600000, 1792065599999, None]),
        pa.array([1792065600.0, 1792065599.5, float("nan")]),
        pa.array([20261016, 20261014, 20261399]),
        pa.array([datetime(2026, 10, 15, 12), datetime(2026, 10, 15, 11), None]),
        pa.array([datetime(2026, 10, 16).date(), datetime(2026, 10, 15).date(), None]),
    ],
)
def test_times_in_columns_of_other_types(tmp_path: Path, times: pa.Array) -> None:
    table = pa.table({"user": ["a", "b", "c"], "query": ["x", "y", "z"], "time": times})
    pq.write_table(table, tmp_path / "log.parquet")
    for source in (table, tmp_path / "log.parquet"):
        log = read_log(source, since="2026-10-15T12:00", max_broken=0.4)
        assert queries(log) == "x"
        assert dict(log.quality.broken) == {"time not readable": 1}


def test_times_that_cannot_be_read_stop_a_run_and_the_sentence_says_what_can(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,query,date\nu1,q,10/05/2026\nu2,q,10/06/2026\n")
    with pytest.raises(LogError, match=r"'time not readable' \(2 rows\).*time_column=.*15\.10\.2026.*where="):
        read_log(path, since="2026-10-01")
    by_hand = read_log(path, where="strptime(date, '%m/%d/%Y') >= '2026-10-06'")
    assert by_hand.quality.usable == 1
    assert read_log(path, since="2026-10-01", where="date NOT LIKE '%/%'").quality.ignored == {"filtered out": 2}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("per_user", [1, 3])
def test_people_whose_rows_are_all_filtered_out_take_part_without_a_record(
    tmp_path: Path, kind: str, per_user: int
) -> None:
    log = open_log(write(tmp_path, kind), where="country = 'FR'")
    drawn = log.draw(per_user, 7, reproducible=True)
    assert drawn.users == 4
    assert sorted(drawn.records[:, 0].tolist()) == [-1, -1, 0, 1]
    assert drawn.quality.usable == 2
    assert drawn.holdings(np.arange(4), 5).totals.sum() == 2


def test_opting_in_does_not_depend_on_the_filter(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,query,in,n\nu1,a,yes,1\nu1,b,no,2\nu2,c,yes,1\n")
    log = read_log(path, columns=Columns(opt_in="in"), where="n = '1'")
    assert log.opt_in is not None
    assert log.opt_in.tolist() == [False, True]


def test_columns_of_their_own_types() -> None:
    table = pa.table({"user": ["a", "b"], "query": ["x", "y"], "n": [1, 5], "tags": [["p"], ["q"]]})
    assert queries(log_of_table(table, where="n > 3")) == "y"
    assert queries(log_of_table(table, where="list_contains(tags, 'p')")) == "x"
    with pytest.raises(ParameterError, match="it gives BIGINT"):
        log_of_table(table, where="n")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("", "one expression"),
        ("country", "it gives VARCHAR"),
        ("amount > 3", "explicit cast is required"),
        ("country = 'DE'; DROP TABLE staged", "one expression"),
        ("country = 'DE') OR (SELECT true", "does not parse"),
        ("true) FROM range(5) t WHERE (true", "does not parse"),
        ("true), (true", "does not parse"),
        ("true) or (true", "does not parse"),
        ("true, false) = (true, false", "does not parse"),
        ("country == ", "does not parse (nothing follows ==)"),
        ("country IN (SELECT 'DE')", "subquery"),
        ("EXISTS (FROM read_text('/etc/passwd'))", "subquery"),
        ("count(*) > 1", "count_star is not a function of one row"),
        ("max(amount) = amount", "max is not a function"),
        ("row_number() OVER () > 1", "window"),
        ("random() < 0.5", "random is not a function"),
        ("now() > '2020-01-01'", "now is not a function"),
        ("nextval('s') = 1", "nextval is not a function"),
        ("age(Time::TIMESTAMP) < INTERVAL 1 DAY", "age of one argument is not a function of one row"),
        ("current_localtimestamp() > '2020-01-01'", "current_localtimestamp is not a function of one row"),
        ("current_localtime() > '12:00:00'", "current_localtime is not a function of one row"),
        ("current_setting('threads') = 1", "current_setting is not a function of one row"),
        ("getvariable('x') IS NULL", "getvariable is not a function of one row"),
        ("vector_type(country) = 'FLAT_VECTOR'", "vector_type is not a function of one row"),
        ("country LIKE '%' || amount", "one row could make LIKE fail, or take for ever"),
        ("country GLOB '*a*b*c*d'", "one row could make GLOB fail, or take for ever"),
        ("length(lpad(country, amount::INT, 'x')) > 3", "one row could make lpad fail, or take for ever"),
        ("timezone(country, Time::TIMESTAMP) > '2026-01-01'", "one row could make timezone fail"),
        ("regexp_matches(country, amount)", "one row could make regexp_matches fail"),
        ("levenshtein(country, amount) < 3", "one row could make levenshtein fail"),
        ("country.length() = 2", "country.length is no function that is known"),
        ("unnest([true, false])", "unnest"),
        ("COLUMNS('a') = 'x'", "star"),
        ("country = $1", "parameter"),
        ("log.country = 'DE'", "log.country is none"),
        ("no_such_function(country)", "no function that is known"),
        ("list_transform([1], lambda x: x > 1)[1]", "lambda"),
    ],
)
def test_what_is_no_filter_is_refused_before_a_row_is_read(
    database: duckdb.DuckDBPyConnection, where: str, message: str
) -> None:
    with pytest.raises(ParameterError, match="where") as caught:
        require_truth(compiled(RowFilter(where=where), list(ROWS), "log.csv", database), None, database, where)
    assert message in str(caught.value)


TEXTS = [
    None,
    *("", "a", "Ab", "a\nb", "a%b", "a_b", "\\_", "ÉA", "éa", "ß", "İ", "\u017f", "\u212a", ".*", "日本", "😀b"),
]


@pytest.mark.parametrize("operator", ["LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"])
def test_patterns_match_as_in_the_database(database: duckdb.DuckDBPyConnection, operator: str) -> None:
    database.register("texts", pa.table({"x": pa.array(TEXTS)}))
    patterns = ["", "%", "_", "a%b", "%A_b%", "é%", "_A", ".*", "%İ%", "S", "k", "日_", "!_%", "a!%b", "\\\\_", "__"]
    for pattern, escape in product(patterns, ("", " ESCAPE '!'")):
        where = f"x {operator} '{pattern}'{escape}"
        (test,) = compiled(RowFilter(where=where), ["x"], "log.csv", database).tests
        rows = database.execute(f"SELECT {where}, {test} FROM (SELECT x, x AS filter_0 FROM texts)").fetchall()
        assert [expected for expected, _ in rows] == [given for _, given in rows], where


@pytest.mark.parametrize(
    "where", ["query ILIKE '%a%a%a%a%a%a%b%'", "query NOT LIKE '%_%a%a%a%a%a%b'", "query LIKE '%a%a%a%a%a%a%b'"]
)
def test_a_long_text_makes_nobody_wait_for_a_pattern(where: str) -> None:
    table = pa.table({"user": ["u1", "u2"], "query": ["a" * 8000, "aaaaaaaab"]})
    assert log_of_table(table, where=where).users == 2


def test_lists_and_pairs_of_constants(tmp_path: Path) -> None:
    for where in ("list_contains(['DE', 'AT'], country)", "(country, country) = ('DE', 'DE')"):
        assert queries(read_log(write(tmp_path, "csv"), where=where)) == "ad"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_that_are_not_there(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, kind)
    for where in ("contry = 'DE'", "rowid = 1", "filename = 'x'", "filter_0 = 'x'", "current_date > '2020-01-01'"):
        with pytest.raises(LogError, match=r"has no column .*where="):
            open_log(path, where=where)
    with pytest.raises(LogError, match="no column 'when'"):
        open_log(path, since="2026-01-01", time_column="when")
    with pytest.raises(LogError, match=r"no column 'DE' .*: mend the filter .*, and put texts in single quotes"):
        open_log(path, where='country = "DE"')
    assert queries(read_log(path, where="COUNTRY = 'DE'")) == "ad"


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"since": "yesterday"}, "since"),
        ({"since": "2026-01-02", "until": "2026-01-02"}, "until"),
        ({"time_column": "Time"}, "time_column"),
        ({"format": "yandex", "where": "true"}, "where"),
        ({"format": "ndjson", "since": "2026-01-01"}, "time_column"),
    ],
)
def test_spans_that_are_none(tmp_path: Path, options: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        open_log(write(tmp_path, "csv"), **options)


def test_several_columns_that_may_be_the_time_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,query,Datum,Zeit\nu,q,2026-01-01,2026-01-01\n")
    with pytest.raises(LogError, match=r"2 columns that may be the time \('Datum', 'Zeit'\): name one \(time_column="):
        open_log(path, since="2026-01-01")


@pytest.mark.parametrize("carriage", ["", "\r"])
def test_who_takes_part_does_not_depend_on_a_field_that_the_filter_alone_looks_at(
    tmp_path: Path, carriage: str
) -> None:
    """Text after a quote there filters the row out, by either reader (a lone carriage return asks for the careful)."""
    path = tmp_path / "log.csv"
    path.write_text(f'user,query,n\nu1,q,"1"x\nu2,q,"1"\nu3,q{carriage},2\n', newline="")
    for where in (None, "n = '1'"):
        assert open_log(path, where=where, max_broken=0).draw(1, 7).users == 3
    assert open_log(path, where="n = '1'").draw(1, 7).quality.usable == 1


def test_files_whose_columns_have_different_types_are_filtered_by_their_own(tmp_path: Path) -> None:
    """No value in one of them stops a run because the first file has numbers there."""
    pq.write_table(pa.table({"user": ["a", "b"], "query": ["q", "r"], "n": [1, 5]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"user": ["c", "d"], "query": ["q", "r"], "n": ["7", "x"]}), tmp_path / "2.parquet")
    drawn = open_log(tmp_path, where="n::INT > 3").draw(1, 7)
    assert (drawn.users, drawn.quality.usable) == (4, 2)


@pytest.mark.parametrize(
    "since", [date(2026, 1, 2), datetime(2026, 1, 2), pd.Timestamp("2026-01-02"), pd.Timestamp("2026-01-02", tz="UTC")]
)
def test_a_moment_may_be_a_date_or_a_datetime(since: date) -> None:
    by_text = open_log(pa.table(ROWS), since="2026-01-02", until="2026-01-04", max_broken=1)
    by_date = open_log(pa.table(ROWS), since=since, until=date(2026, 1, 4), max_broken=1)
    assert by_date.draw(1, 1).quality == by_text.draw(1, 1).quality
    assert by_date.how is not None
    rows = by_date.how.to_dict()["rows"]
    assert (rows["since"][:10], rows["until"]) == ("2026-01-02", "2026-01-04")
    for wrong in (pd.NaT, 3):
        with pytest.raises(ParameterError, match="since"):
            open_log(pa.table(ROWS), since=wrong)  # type: ignore[arg-type]
