"""Twenty files in different dialects: read as they are, with an option, or refused with which sentence.

    python -m benchmarks.dialects

prints the table of docs/dialects.md. Real files come with packages that the tests need; the others are built here, byte
for byte as the programs named write them.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import Any

from blendp.errors import LogError
from blendp.logs import Columns, read_answers, read_log
from blendp.logs.answers_file import AnswersFile
from blendp.logs.reading import HowRead
from blendp.spelling import on_command_line

_GERMAN = ("Wetter", "Straße", "Müller", "Öffnungszeiten", "Grüße", "Fußball")
_CHINESE = ("天气预报", "新闻", "音乐下载", "火车票查询", "手机", "电影", "游戏", "房价", "股票", "中国地图")
_JAPANESE = ("てんき予報", "ニュース", "でんしゃの時間", "おんがく", "レシピ", "ゲームの本")
_RUSSIAN = ("погода", "новости", "музыка", "карта", "расписание поездов")


def _log(header: str, delimiter: str, queries: tuple[str, ...], people: int, end: str = "\r\n") -> str:
    rows = (f"u{i}{delimiter}{queries[i % len(queries)]}{delimiter}www.example.org/{i % 7}" for i in range(people))
    return end.join([header, *rows, ""])


@dataclass(frozen=True)
class DialectFile:
    """A file, and how somebody tries to read it."""

    name: str
    what: str
    content: bytes | None = None
    package: str | None = None
    answers: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def path(self, folder: Path) -> Path | None:
        """Where the file is, None if its package is not installed."""
        if self.content is not None:
            path = folder / self.name
            path.write_bytes(self.content)
            return path
        assert self.package is not None
        spec = find_spec(self.package)
        path = Path((spec.submodule_search_locations or [""])[0]) / self.name if spec else Path()
        return path if path.is_file() else None

    def said(self) -> str:
        """The options as on the command line."""
        parts = []
        for name, value in self.options.items():
            if name == "columns" and isinstance(value, Columns):
                parts += [f"--{role}-column {column}" for role, column in value.named.items() if role != column]
            elif name in ("columns", "names"):
                parts.append(f"--columns {','.join(value)}")
            elif name == "header":
                parts.append("--no-header")
            else:
                parts.append(f"--{name.replace('_', '-')} {repr(value) if value == ' ' else value}")
        return " ".join(parts)

    def outcome(self, path: Path) -> str:
        """What becomes of it."""
        seen: list[HowRead] = []
        try:
            if self.answers:
                wanted = {"columns": None, "questionnaire": None, "opt_in": None, "format": "auto", **self.options}
                seen.append(AnswersFile.of(path, **wanted).how)
                people = read_answers(path, **self.options).people
            else:
                people = read_log(path, tell=seen.append, **self.options).users
        except LogError as error:
            return str(error).replace(str(path), path.name)
        return f"{people} people; {seen[0]}" if str(seen[0]) else f"{people} people"


FILES = (
    DialectFile("plain.csv", "commas, UTF-8", _log("user,query,url", ",", _GERMAN, 50, "\n").encode()),
    DialectFile(
        "excel-utf8.csv",
        "Excel, CSV UTF-8, where the comma is decimal",
        codecs.BOM_UTF8 + _log("Benutzer;Suche;Link", ";", _GERMAN, 50).encode(),
    ),
    DialectFile(
        "excel-unicode.txt",
        "Excel, Unicode text: tabs, UTF-16",
        _log("User ID\tSearch term\tURL", "\t", _GERMAN, 50).encode("utf-16"),
    ),
    DialectFile(
        "excel-sep.csv", "a first line for Excel", b"sep=;\r\n" + _log("user;query;url", ";", _GERMAN, 50).encode()
    ),
    DialectFile(
        "excel-ansi.csv", "Excel, CSV: Windows-1252", _log("Benutzer;Suche;Link", ";", _GERMAN, 50).encode("cp1252")
    ),
    DialectFile(
        "excel-ansi.csv",
        "the same",
        _log("Benutzer;Suche;Link", ";", _GERMAN, 50).encode("cp1252"),
        options={"encoding": "cp1252"},
    ),
    DialectFile("few-ansi.csv", "three people, Windows-1252", _log("user;query;url", ";", _GERMAN, 3).encode("cp1252")),
    DialectFile("chinese.csv", "semicolons, GB18030", _log("Benutzer;Suche;url", ";", _CHINESE, 200).encode("gb18030")),
    DialectFile(
        "chinese-header.csv", "GB18030, three people", _log("用户,查询,网址", ",", _CHINESE, 3).encode("gb18030")
    ),
    DialectFile("japanese.tsv", "tabs, Shift JIS", _log("user\tquery\turl", "\t", _JAPANESE, 200).encode("cp932")),
    DialectFile("russian.csv", "Windows-1251", _log("user|query|url", "|", _RUSSIAN, 60).encode("cp1251")),
    DialectFile(
        "pipes.csv", "pipes, UTF-16 without a mark", _log("USER|QUERY|URL", "|", _GERMAN, 50).encode("utf-16-be")
    ),
    DialectFile("two.csv", "two columns that may be the user", b"client_id,visitor_id,query\nu1,v1,q\n"),
    DialectFile(
        "export.txt",
        "a file of the AOL collection",
        b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n7\tnews\t2006-03-01 07:17:12\t1\thttp://news.example\n",
    ),
    DialectFile(
        "datasets/modechoice/modechoice.csv",
        "statsmodels: semicolons, names of its own",
        package="statsmodels",
        options={"columns": Columns(user="individual", query="mode")},
    ),
    DialectFile("datasets/modechoice/modechoice.csv", "statsmodels: the same", package="statsmodels"),
    DialectFile(
        "datasets/anes96/anes96.csv",
        "statsmodels: tabs in a .csv, answers",
        package="statsmodels",
        answers=True,
        options={"columns": ["'PID'", "'vote'"]},
    ),
    DialectFile(
        "datasets/spector/spector.csv",
        "statsmodels: spaces, answers",
        package="statsmodels",
        answers=True,
        options={"columns": ["'PSI'", "'GRADE'"], "delimiter": " "},
    ),
    DialectFile("data/streaming/AFINN-111.txt", "pyspark: no header", package="pyspark"),
    DialectFile(
        "data/streaming/AFINN-111.txt",
        "pyspark: the same",
        package="pyspark",
        options={"names": ["user", "query"], "header": False},
    ),
)


def rows() -> list[tuple[str, str, str, str, str] | None]:
    """The rows of the table: file, what it is, options, outcome, and the sentence if it is refused.

    None where a package is missing.
    """
    table: list[tuple[str, str, str, str, str] | None] = []
    with TemporaryDirectory() as folder, on_command_line():
        for number, file in enumerate(FILES, start=1):
            path = file.path(Path(folder))
            if path is None:
                table.append(None)
                continue
            said, outcome = file.said(), file.outcome(path)
            refused = outcome.endswith(".")
            shown = f"refused, see {number}" if refused else outcome
            table.append((path.name, file.what, said and f"`{said}`", shown, outcome if refused else ""))
    return table


def page(table: Sequence[tuple[str, str, str, str, str] | None]) -> list[str]:
    """The table in Markdown, a line each, and then the sentences, wrapped."""
    lines = ["| | file | what it is | options | outcome |", "|---|---|---|---|---|"]
    numbered = [(number, row) for number, row in enumerate(table, start=1) if row is not None]
    lines += [f"| {number} | {' | '.join(row[:4])} |" for number, row in numbered]
    lines += ["", "The sentences; below them the first rows are shown where the file's own form is in question:", ""]
    for number, row in numbered:
        if row[4]:
            start = f"- {number}: "
            lines += wrap(row[4], 98, initial_indent=start, subsequent_indent="  ", break_on_hyphens=False)
    return lines


def main() -> None:
    sys.stdout.write("\n".join(page(rows())) + "\n")


if __name__ == "__main__":
    main()
