"""The AOL collection and the Yandex format."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from blendp.engines import EmbeddedLog
from blendp.errors import LogError
from blendp.logs import read_log

HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"


def aol(path: Path, *rows: str) -> Path:
    content = "\n".join([HEADER, *rows]).encode("latin-1")
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def records(log: EmbeddedLog) -> list[tuple[str, str | None]]:
    return log.texts(np.arange(log.distinct_records))


def test_aol(tmp_path: Path) -> None:
    aol(
        tmp_path / "collection-01.txt.gz",
        '142\t"open quote\t2006-03-01 07:17:12\t1\thttp://www.A.com',
        "142\tno click\t2006-03-01 07:17:12\t\t",
        "143\tno click\t2006-03-01 07:17:12",
        "144\tno click\t2006-03-01 07:17:12\t",
    )
    aol(
        tmp_path / "collection-02.txt",
        "7\tWeather\t2006-03-01 07:17:12\t2\thttp://www.weather.com/\r",
        "7\tweather\t2006-03-01 07:18:12\t\thttp://www.weather.com",
        "8\tweather\t2006-03-01 07:18:12\t3\t",
        "9\tcaf\xe9\t2006-03-01 07:18:12\t3\thttp://www.a.com",
        "10\tweather",
        "11\tweather\t2006-03-01 07:18:12\t3",
    )
    log = read_log(tmp_path, format="aol", max_broken=0.5)
    assert records(log) == [('"open quote', "http://www.a.com"), ("weather", "http://www.weather.com")]
    assert (log.quality.rows, log.quality.usable) == (10, 3)
    assert dict(log.quality.ignored) == {"no click": 3}
    assert dict(log.quality.broken) == {"wrong number of fields": 2, "no URL": 1, "not UTF-8": 1}
    # 142 and 7 have a record, 8 and 9 only broken rows; 143 and 144 never clicked.
    assert (log.users, log.levels) == (4, 2)
    assert sorted(log.sample(1, 0).ravel().tolist()) == [-1, -1, 0, 1]


def test_aol_header_is_due_in_every_file(tmp_path: Path) -> None:
    aol(tmp_path / "a.txt", "1\tq\t2006\t1\tu")
    (tmp_path / "b.txt").write_text("1\tq\t2006\t1\tu\n")
    with pytest.raises(LogError, match=r"b\.txt does not start with the AOL header"):
        read_log(tmp_path, format="aol")


def test_yandex(tmp_path: Path) -> None:
    (tmp_path / "clicks").write_text(
        "1\t5\tC\t0\t900\n"
        "1\t6\tC\t0\t900\n"
        "1\t9\tC\t1\t901\n"
        "2\t1\tC\t0\t900\n"
        "2\t2\tC\t7\t900\n"
        "3\t1\tC\t0\t900\n"
        "4\t1\tC\t3\t905\n"
    )
    with gzip.open(tmp_path / "sessions.gz", "wt") as file:
        file.write(
            "1\tM\t3\t77\n"
            "1\t0\tQ\t0\t500\t1,2\t900,1\t901,1\n"
            "1\t8\tT\t1\t501\t3\t901,1\n"
            "1\t9\tQ\t2\t502\t3\t901,1\n"
            "2\tM\t4\t78\n"
            "2\t0\tQ\t0\t500\t1,2\t900,1\n"
            "4\tM\t4\t79\n"
            "5\tM\t4\t80\n"
            "5\t0\tQ\t0\t500\t1,2\t900,1\n"
        )
    log = read_log(tmp_path, format="yandex", max_broken=0.5)
    assert records(log) == [("500", "900"), ("501", "901")]
    assert dict(log.quality.ignored) == {"no click": 2}
    assert dict(log.quality.broken) == {"unknown page (SERP)": 2, "unknown session": 1}
    assert (log.quality.rows, log.quality.usable) == (9, 4)
    # 79 has one click, of an unknown page; 80 never clicked; the user of session 3 is unknown.
    assert (log.users, log.levels) == (3, 2)
    assert log.truth().record.tolist() == pytest.approx([(2 / 3 + 1) / 3, (1 / 3) / 3])


def test_yandex_broken_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.tsv"
    path.write_bytes(
        b"1\tM\t3\t77\n1\tM\t3\t78\n"
        b"1\t0\tQ\t0\t500\t1\t900,1\n1\t0\tQ\t0\t501\t1\t900,1\n1\t5\tC\t0\t900\n"
        b"2\tM\t3\n1\t5\tC\t0\n1\t0\tQ\t0\t500\n1\t5\tX\t0\t900\nnonsense\n1\t\xff\tC\t0\t900\n\t5\tC\t0\t900\n"
    )
    log = read_log(path, format="yandex", max_broken=1)
    assert dict(log.quality.broken) == {
        "wrong number of fields": 3,
        "unknown kind of line": 2,
        "repeated session": 1,
        "repeated page (SERP)": 1,
        "not UTF-8": 1,
        "no session": 1,
    }
    assert records(log) == [("500", "900")]
    assert log.quality.usable == 1


def test_yandex_without_clicks(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("1\tM\t3\t77\n1\t0\tQ\t0\t500\t1\t900,1\n")
    with pytest.raises(LogError, match="no row that names a user"):
        read_log(path, format="yandex")
