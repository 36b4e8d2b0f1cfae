"""How a text file is written is recognised by its first line, never tipped by one person's rows, or asked for."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from benchmarks import dialects
from blendp.errors import LogError, ParameterError
from blendp.logs import Columns, encodings, open_log, read_answers, read_log
from blendp.logs.delimited import cut_dialect, header_of, unquoted
from blendp.logs.dialect import DELIMITERS, TextDialect, TextOptions
from blendp.logs.encodings import ENCODINGS, transcoded
from blendp.logs.reading import HowRead
from blendp.logs.recognise import LogHeader, recognise
from blendp.logs.votes import ENOUGH, GROUPS, UndecidedError, vote

BUILT = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
HEADER = LogHeader(Columns())
CHINESE = ("天气预报", "新闻", "音乐下载", "火车票查询", "手机", "电影", "游戏", "房价", "股票", "中国地图")


def recognised(path: Path, content: bytes, format: str = "csv", **options: Any) -> TextDialect:
    path.write_bytes(content)
    return recognise([path], format, TextOptions(**options), HEADER)[0]


def read_rows(path: Path, dialect: TextDialect) -> list[list[str]]:
    """All rows but the header, as texts."""
    rows: list[list[str]] = []
    width = 0
    for cut in cut_dialect(path, dialect):
        body = cut if width else cut.after_first_row()
        width = width or len(header_of(cut, dialect.quotes))
        fields = [body.column(np.ones(len(body.first), dtype=bool), at) for at in range(width)]
        plain = [unquoted(field)[0] if dialect.quotes else field for field in fields]
        rows += [[text.decode() for text in row] for row in zip(*(field.to_pylist() for field in plain), strict=True)]
    return rows


def written(rows: list[list[str]], delimiter: str, encoding: str, *, mark: bool, end: str) -> bytes:
    def field(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if delimiter in text or '"' in text else text

    text = "".join(delimiter.join(field(item) for item in row) + end for row in rows)
    return (("\ufeff" if mark else "") + text).encode(encoding)


@BUILT
@given(
    delimiter=st.sampled_from(list(DELIMITERS)),
    encoding=st.sampled_from(["utf-8", "utf-16-le", "utf-16-be"]),
    mark=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
    names=st.permutations(["User-ID", "QUERY", "Link", "größe"]),
    texts=st.lists(
        st.lists(st.text("aß天,;|\t\" '", min_size=1, max_size=5), min_size=4, max_size=4), min_size=1, max_size=4
    ),
)
def test_what_was_written_is_recognised_and_read(
    tmp_path: Path, delimiter: str, encoding: str, mark: bool, end: str, names: list[str], texts: list[list[str]]
) -> None:
    content = written([names, *texts], delimiter, encoding, mark=mark, end=end)
    dialect = recognised(tmp_path / "log.csv", content)
    assert (dialect.delimiter, dialect.quotes, dialect.encoding) == (delimiter, True, encoding)
    assert read_rows(tmp_path / "log.csv", dialect) == texts


@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if not name.startswith("utf")])
def test_a_line_feed_is_one_whatever_stands_before_it(encoding: str) -> None:
    assert bytes(range(128)).decode(encoding) == bytes(range(128)).decode("ascii")
    for lead in range(128, 256):
        lines = b"".join(bytes((lead, second, 10)) for second in range(256) if second != 10)
        assert encodings.decoded(lines, encoding).count(b"\n") == 255


@BUILT
@given(
    encoding=st.sampled_from(["gb18030", "cp932", "big5", "euc_kr", "cp1252", "utf-16-le", "utf-16-be", "utf-8"]),
    junk=st.binary(max_size=9),
    block=st.integers(1, 40),
)
@example("gb18030", b"\x81\x30\x81", 1)
@example("utf-16-le", b"\x00\xd8", 3)
def test_any_bytes_in_one_line_leave_all_other_lines_as_they_are(encoding: str, junk: bytes, block: int) -> None:
    """In UTF-16 a line is made of units of two bytes: an odd number would make another file of all that follows."""
    feed = "\n".encode(encoding)
    junk = junk[: len(junk) - len(junk) % len(feed)]
    others = [text.encode(encoding) for text in ("u1|a", "u2|é" if encoding == "cp1252" else "u2|a", "u3|c")]
    if any(junk[at : at + len(feed)] == feed for at in range(0, len(junk), len(feed))):
        return
    content = feed.join([others[0], others[1], junk, *others]) + feed
    blocks = (content[at : at + block] for at in range(0, len(content), block))
    lines = b"".join(transcoded(blocks, encoding)).split(b"\n")
    read = [text.decode(encoding).encode() for text in others]
    assert lines[:2] == read[:2]
    assert lines[3:] == [*read, b""]


def rows_in(encoding: str, people: int) -> dict[bytes, bytes]:
    return {b"u%d" % i: f"u{i};{CHINESE[i % len(CHINESE)]}".encode(encoding) for i in range(people)}


def outcome(rows: dict[bytes, bytes]) -> str | None:
    try:
        return vote(list(rows), list(rows.values()), "log") if rows else "utf-8"
    except UndecidedError:
        return None


@settings(max_examples=150, deadline=None)
@given(
    in_utf8=st.integers(0, 50),
    in_chinese=st.integers(0, 50),
    own=st.one_of(st.binary(min_size=1, max_size=8), st.just("中国".encode("gb18030")), st.just("中国".encode())),
    who=st.integers(0, 99),
)
def test_one_person_never_turns_one_encoding_into_another(in_utf8: int, in_chinese: int, own: bytes, who: int) -> None:
    """The rows of any mixture of people, with and without what one of them writes."""
    rows = {key + b"x": row for key, row in rows_in("utf-8", in_utf8).items()} | rows_in("gb18030", in_chinese)
    without = dict(rows)
    without.pop(b"u%d" % who, None)
    results = {outcome(without), outcome({**without, b"u%d" % who: own})} - {None}
    assert len(results) <= 1


def test_the_edges_of_the_vote() -> None:
    assert outcome(rows_in("gb18030", 100)) == "gb18030"
    assert outcome(rows_in("utf-8", 100)) == "utf-8"
    assert outcome(rows_in("gb18030", ENOUGH - 1)) is None
    assert outcome(rows_in("gb18030", ENOUGH // 2 - 1)) == "utf-8"
    mixed = {**rows_in("gb18030", 200), **{b"u%d" % i: "é".encode() for i in range(150)}}
    assert outcome(mixed) in ("utf-8", None)
    assert GROUPS > 2


KOREAN = ["날씨", "네이버", "뉴스", "다음", "구글", "지도", "로또", "번역", "사전", "메일"]
KANJI = [
    "東京都",
    "天気予報",
    "電車時刻表",
    "大阪市役所",
    "新聞社",
    "銀行口座",
    "郵便番号",
    "病院案内",
    "図書館",
    "運転免許更新",
]
TRADITIONAL = [
    "台北捷運",
    "天氣預報",
    "新聞快訊",
    "火車時刻",
    "高鐵訂票",
    "美食推薦",
    "電影時刻表",
    "股票行情",
    "匯率換算",
    "地震速報",
]


@pytest.mark.parametrize(
    ("queries", "encoding", "expected"),
    [(KOREAN, "cp949", None), (KANJI, "euc_jp", None), (TRADITIONAL, "big5", "big5"), (CHINESE, "gb18030", "gb18030")],
)
def test_text_whose_bytes_are_common_in_another_encoding_too_is_asked_for(
    queries: list[str], encoding: str, expected: str | None
) -> None:
    """Hangul has the first bytes of common characters in Big5, and kanji without kana those of GB 2312."""
    rows = {b"u%d" % i: f"u{i};{queries[i % len(queries)]}".encode(encoding) for i in range(100)}
    assert outcome(rows) == expected


def test_a_persons_million_rows_are_one_vote(tmp_path: Path) -> None:
    """Whoever writes most of the start of a file has one vote, like everybody."""
    people = "".join(f"u{i};{CHINESE[i % 10]}\n" for i in range(200)).encode("gb18030")
    flood = "troll;é\n".encode() * 50_000
    for content in (flood + people, people + flood):
        assert recognised(tmp_path / "log.csv", b"user;query\n" + content).encoding == "gb18030"
    few = "troll;天\n".encode("gb18030") * 50_000
    valid = "".join(f"u{i};é\n" for i in range(200)).encode()
    assert recognised(tmp_path / "log.csv", b"user;query\n" + few + valid).encoding == "utf-8"


@pytest.mark.parametrize("own", ['"{0},x{1}",troll', "{0},x{1},troll", '{0},"troll"', "{0},troll{2}", '"{0}",troll"'])
def test_one_person_has_one_vote_whatever_they_write(tmp_path: Path, own: str) -> None:
    """Commas and quotes in somebody's own fields, spaces around their id, and rows that are none, make no voters."""
    others = "".join(f"weather,u{i}\n" for i in range(9)) + "".join(f"café,w{i}\n" for i in range(20))
    lines = "".join(own.format(CHINESE[i % 10], i, " " * i) + "\n" for i in range(200))
    content = b"query,user\n" + others.encode() + lines.encode("gb18030")
    assert recognised(tmp_path / "log.csv", content).encoding == "utf-8"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"u1;weather\nu2;x\n", r"no column 'user' \(it has 'u1', 'weather'\).*header=False"),
        ("Benutzer;Straße;Suche\nu;x;y\n".encode("cp1252"), "first line .* not UTF-8.*Windows-1252.*encoding="),
        (b"u1;weather\nu2;x\n", 'header=False with delimiter=";" and name all'),
        (b"user~query~url\nu1~q~x\n", r"no column 'user' .*, or say what stands between fields \(delimiter=\"~\"\)\."),
        (b"client,visitor,query\n1,2,3\n", r"2 columns that may be the user \('client', 'visitor'\)"),
        (b"\n\n", "is empty"),
        (b"user,query\ru1,q\ru2,r\xe9\r", "ends its lines with lone carriage returns: write line feeds"),
        (b"PK\x03\x04\x14\0\0\0\x08\0user,query", "is a ZIP archive or a workbook, not text: .*as CSV"),
        ("user,query\nu,q\n".encode("utf-32"), "is UTF-32 text: save it as UTF-8"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is no text file"),
        (b"user,que\0ry\nu,q\n", "is no text file"),
        (b"\x93\x1c,\xe9\x02\xa4\n\x81,q\n", "is no text file"),
    ],
)
def test_what_cannot_be_decided_is_asked_for(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(LogError, match=message) as caught:
        recognised(tmp_path / "log.csv", content)
    assert "\n" not in str(caught.value)


def test_two_columns_that_may_be_the_user_are_shown_with_the_first_rows(tmp_path: Path) -> None:
    with pytest.raises(LogError) as caught:
        recognised(tmp_path / "log.csv", b"client,visitor,query\n1,2,3\n")
    assert caught.value.__notes__ == ["client,visitor,query", "1,2,3"]


def test_a_wrong_delimiter_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    with pytest.raises(LogError, match=r'\(delimiter="\|"\)'):
        recognised(path, b"user|query\nu1|q\n", delimiter=";")
    path.write_text("u1;q\n")
    with pytest.raises(LogError, match=r"'wrong number of fields' \(1 row\): say what stands between .*delimiter="):
        read_log(path, header=False, names=("user", "query"))


def test_bytes_of_a_row_are_no_sign_of_a_file_that_is_no_text(tmp_path: Path) -> None:
    """Without a header the first line is a person's."""
    path = tmp_path / "log.csv"
    path.write_bytes(b"PK\x03\x04,q\nu\0,q\nu\r,q\nu2,q\n")
    log = read_log(path, header=False, names=("user", "query"), max_broken=0.3)
    assert (log.users, dict(log.quality.broken)) == (3, {"NUL byte": 1})


def test_the_first_rows_are_shown_and_nothing_in_them_acts(tmp_path: Path) -> None:
    with pytest.raises(LogError) as caught:
        recognised(tmp_path / "log.csv", b"u1;\x1b[31mred\x07;" + b"x" * 500 + b"\nu2;\tb\n")
    shown = caught.value.__notes__
    assert shown[0].startswith("u1;\\x1b[31mred\\x07;xxx")
    assert shown[1:] == ["u2;\\tb"]
    assert max(map(len, shown)) == 100


def test_names_in_any_case_and_language_exact_ones_first(tmp_path: Path) -> None:
    seen: list[HowRead] = []
    path = tmp_path / "log.csv"
    path.write_text("Client;user;SUCHBEGRIFF;Web-Adresse\nx;u1;q;a\n")
    assert read_log(path, tell=seen.append).levels == 2
    assert str(seen[0]) == "semicolons, UTF-8, columns user, SUCHBEGRIFF -> query, Web-Adresse -> url"
    assert seen[0].to_dict()["text"]["delimiter"] == ";"
    path.write_text("user,query,url\nu1,q,a\n")
    read_log(path, tell=seen.append)
    assert str(seen[1]) == ""
    path.write_text("USER,link\nu1,q\n")
    log = read_log(path, columns=Columns(query="LINK"), tell=seen.append)
    assert (log.levels, str(seen[2])) == (1, "commas, UTF-8, columns USER -> user, link -> query")


def test_columns_that_other_files_name_otherwise_are_said_too(tmp_path: Path) -> None:
    seen: list[HowRead] = []
    for name, header in (("a", "user,query"), ("b", "Suche,visitor"), ("c", "QUERY,user")):
        (tmp_path / f"{name}.csv").write_text(f"{header}\nx,y\n")
    log = open_log(tmp_path, tell=seen.append)
    assert str(seen[0]) == "commas, UTF-8, columns user / visitor -> user, query / Suche / QUERY -> query"
    assert seen[0].to_dict()["columns"] == {"user": "user / visitor", "query": "query / Suche / QUERY"}
    assert log.draw(1, 1).users == 2


def test_files_of_one_log_are_written_alike(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user;query\nu1;q\n")
    (tmp_path / "b.csv").write_text("query,user\nq,u2\n")
    with pytest.raises(LogError, match=r"b.csv is written in another way \(commas.*than .*a.csv \(semicolons"):
        open_log(tmp_path)
    (tmp_path / "b.csv").write_bytes(codecs.BOM_UTF8 + "query;user\r\né;u2".encode())
    assert read_log(tmp_path).users == 2
    (tmp_path / "b.csv").write_bytes("query;user\r\né;u2".encode("utf-16"))
    with pytest.raises(LogError, match=r"written in another way \((UTF-8|UTF-16)\)"):
        open_log(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": ";;"}, "delimiter"),
        ({"delimiter": ""}, "delimiter"),
        ({"encoding": "utf-7"}, "utf-16, "),
        ({"encoding": "utf-7"}, "encoding"),
        ({"encoding": "no such"}, "encoding"),
        ({"header": False}, "names"),
        ({"names": ("a", "a")}, "names"),
        ({"format": "parquet", "delimiter": ";"}, "delimiter = ';' .* left out"),
    ],
)
def test_options_that_mean_nothing(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    (tmp_path / "log.csv").write_text("user,query\nu,q\n")
    with pytest.raises(ParameterError, match=message):
        open_log(tmp_path / "log.csv", **options)


def test_options_win(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,query\nu1,q\nu2,r\n")
    log = read_log(path, header=False, names=("user", "query"))
    assert log.users == 3
    log = read_log(path, names=("query", "user"))
    assert (log.users, log.texts(np.arange(2))) == (2, [("u1", None), ("u2", None)])
    with pytest.raises(LogError, match="has 2 fields and 3 columns are named"):
        read_log(path, names=("query", "user", "url"))
    path.write_text('user\tquery\nu1\t"a"\n')
    assert read_log(path, quotes=False).texts(np.arange(1)) == [('"a"', None)]
    assert read_log(path).texts(np.arange(1)) == [("a", None)]


def test_answers_in_any_dialect(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_bytes("smokes;Größe\r\nyes;1,80\r\nno;1,70\r\n".encode("utf-16"))
    answers = read_answers(path)
    assert answers.questionnaire.names == ("smokes", "Größe")
    assert answers.questionnaire.attributes[1].values == ("1,70", "1,80")
    path.write_bytes("yes|é\nno|à\n".encode("cp1252"))
    answers = read_answers(path, delimiter="|", encoding="cp1252", header=False, columns=["a", "b"])
    assert (answers.people, answers.questionnaire.attributes[1].values) == (2, ("à", "é"))
    path.write_text("a,b;c\n1,2;3\n")
    with pytest.raises(LogError, match="may be cut at commas or semicolons"):
        read_answers(path)


def test_the_encoding_of_answers_is_voted_on_by_rows(tmp_path: Path) -> None:
    """A row is a person's own, also if others answer the same."""
    path = tmp_path / "answers.csv"
    rows = [f"{CHINESE[i % 4]},{CHINESE[i % 3]}" for i in range(4 * ENOUGH)]
    path.write_bytes("\n".join(["a,b", *rows]).encode("gb18030"))
    assert read_answers(path).questionnaire.attributes[0].values == tuple(sorted(CHINESE[:4]))
    path.write_bytes("\n".join(["a,b", *rows[:5]]).encode("gb18030"))
    with pytest.raises(LogError, match=r"not UTF-8 on line 2: .*encoding="):
        read_answers(path)


def test_answers_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("yes;red\nno;blue\n")
    with pytest.raises(LogError, match=r"no column 'smokes'.*header=False with delimiter=\";\" and name all") as caught:
        read_answers(path, columns=["smokes", "colour"])
    assert caught.value.__notes__ == ["yes;red", "no;blue"]
    with pytest.raises(LogError, match=r"has 1 field on line 1 and 2 columns are named: .*delimiter="):
        read_answers(path, columns=["smokes", "colour"], header=False)


@pytest.mark.parametrize("read", [open_log, read_answers])
def test_workbooks_are_to_be_exported(tmp_path: Path, read: Callable[[Path], object]) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(LogError, match=r"a.xlsx is a workbook: export it as CSV"):
        read(tmp_path / "a.xlsx")


def test_names_in_ndjson_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "log.ndjson"
    path.write_text('5\n{"User": "u", "Suche": "q", "url": "x"}\n')
    with pytest.raises(LogError, match=r"no column 'user' \(it has 'User', 'Suche', 'url'\): .*Columns\(user="):
        open_log(path)


def test_the_table_of_twenty_files_is_true() -> None:
    """docs/dialects.md shows what happens today."""
    shown = (Path(__file__).parents[3] / "docs" / "dialects.md").read_text(encoding="utf-8").splitlines()
    table = dialects.rows()
    assert len(table) == 20
    assert [line for line in dialects.page(table) if line not in shown] == []
    if None not in table:
        assert shown[-len(dialects.page(table)) :] == dialects.page(table)
