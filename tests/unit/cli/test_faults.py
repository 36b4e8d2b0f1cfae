"""Bad input and a failing system: one sentence, the exit code of the documentation, and nothing half-written."""

from __future__ import annotations

import errno
import gc
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from blendp import methods
from blendp.cli import EMPTY
from blendp.cli.app import app
from blendp.engines import Contributions, database
from blendp.render.release import files
from blendp.render.release.names import FILES

NAMES = ("user", "query", "url")
ROWS = [(f"u{i}", f"q{i % 7}", f"http://x{i % 5}.com") for i in range(1000)]
CSV = ("user,query,url\n" + "".join(",".join(row) + "\n" for row in ROWS)).encode()
NDJSON = "".join(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in ROWS).encode()
LONG = b"x" * 1_000_000


def table(*names: str, rows: Sequence[tuple[str, ...]] = ROWS) -> pa.Table:
    columns = {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(NAMES)}
    return pa.table({name: columns[name] for name in names or NAMES})


def parquet(content: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(content, sink, **options)
    return bytes(sink.getvalue())


def latin_1_in_text() -> pa.Table:
    """A column of text, one of which is not UTF-8, as careless writers make them."""
    texts = [row[1].encode() for row in ROWS]
    texts[5] = b"caf\xe9"
    ends = pa.py_buffer(np.cumsum([0, *map(len, texts)]).astype("<i4"))
    column = pa.Array.from_buffers(pa.string(), len(texts), [None, ends, pa.py_buffer(b"".join(texts))])
    return table().set_column(1, "query", column)


def wide(rows: int) -> pa.Table:
    """Rows that take 8 kB of memory each, and hardly any on the disk."""
    numbers = pa.array(range(rows)).cast(pa.string())
    queries = pc.binary_join_element_wise(numbers, "x" * 8000, " ")
    return pa.table({"user": numbers, "query": queries, "url": ["u"] * rows})


def damaged(content: bytes) -> bytes:
    """The same with nonsense in the middle, where the rows are."""
    return content[:100] + bytes(len(content) // 2 - 100) + content[len(content) // 2 :]


PARQUET = parquet(table())


@dataclass(frozen=True)
class Fault:
    """What is wrong: files by name (None for a folder), what is asked, the exit code, and words of the sentence."""

    name: str
    files: dict[str, bytes | None]
    asked: str
    code: int
    says: str


FAULTS = [
    Fault("one column twice", {"a.csv": CSV}, "a.csv --user-column query", 2, "--user-column = 'query' is not allowed"),
    Fault("users opt in", {"a.csv": CSV}, "a.csv --opt-in-column user", 2, "--opt-in-column = 'user' is not allowed"),
    Fault("no size", {"a.csv": CSV}, "a.csv --size -1", 2, "of at least 0. 0 keeps all records"),
    Fault("no level", {"a.csv": CSV}, "a.csv --levels 3", 2, "it must be 1 or 2, or left out."),
    Fault("gzip cut short", {"a.csv.gz": gzip.compress(CSV)[:-900]}, "a.csv.gz", 3, "a.csv.gz cannot be read (Trunc"),
    Fault("gzip without its end", {"a.csv.gz": gzip.compress(CSV)[:-4]}, "a.csv.gz", 3, "cut short"),
    Fault("NDJSON gzip cut short", {"a.ndjson.gz": gzip.compress(NDJSON)[:-900]}, "a.ndjson.gz", 3, "fetch it again"),
    Fault("no gzip", {"a.csv.gz": CSV}, "a.csv.gz", 3, "no gzip file"),
    Fault("gzip of nothing", {"a.csv.gz": gzip.compress(b"")}, "a.csv.gz", 3, "a.csv.gz is empty"),
    Fault("Parquet cut short", {"a.parquet": PARQUET[:2000]}, "a.parquet", 3, "is no readable Parquet file"),
    Fault("damaged Parquet", {"a.parquet": damaged(PARQUET)}, "a.parquet", 3, "a.parquet"),
    Fault("text for Parquet", {"a.csv": CSV}, "a.csv --format parquet", 3, "is no readable Parquet file"),
    Fault("Parquet for text", {"a.parquet": PARQUET}, "a.parquet --format csv", 3, "is a Parquet file: say so"),
    Fault("missing column", {"a.parquet": parquet(table("user", "url"))}, "a.parquet", 3, "has no column 'query' (it"),
    Fault(
        "missing column in the second file",
        {"logs/a.parquet": PARQUET, "logs/b.parquet": parquet(table("user", "url"))},
        "logs",
        3,
        "b.parquet has no column 'query'",
    ),
    Fault(
        "missing URL in the second file",
        {"logs/a.parquet": PARQUET, "logs/b.parquet": parquet(table("user", "query"))},
        "logs",
        3,
        "b.parquet has no URL column",
    ),
    Fault("missing opt-in, Parquet", {"a.parquet": PARQUET}, "a.parquet --opt-in-column in", 3, "--opt-in-column"),
    Fault("missing opt-in, CSV", {"a.csv": CSV}, "a.csv --opt-in-column in", 3, "no column 'in'"),
    Fault("missing opt-in, NDJSON", {"a.ndjson": NDJSON}, "a.ndjson --opt-in-column in", 3, "no column 'in'"),
    Fault("some Latin-1", {"a.csv": CSV + b"u,caf\xe9,u\n"}, "a.csv --max-broken 0", 3, "'not UTF-8' (1 row)"),
    Fault(
        "Latin-1 in Parquet",
        {"a.parquet": parquet(latin_1_in_text())},
        "a.parquet --max-broken 0",
        3,
        "'not UTF-8' (1 row)",
    ),
    Fault("UTF-16", {"a.csv": CSV.decode().encode("utf-16")}, "a.csv --encoding utf-8", 3, "is UTF-16 text: say so"),
    Fault(
        "UTF-16 without mark", {"a.csv": CSV.decode().encode("utf-16-le")}, "a.csv --encoding gbk", 3, "is UTF-16 text"
    ),
    Fault(
        "UTF-16, the other", {"a.ndjson": NDJSON.decode().encode("utf-16-be")}, "a.ndjson", 3, "(--encoding utf-16-be)"
    ),
    Fault("1 MB query", {"a.csv": CSV + b"u," + LONG + b",u\n"}, "a.csv --max-broken 0", 3, "'text too long' (1 row)"),
    Fault("NUL", {"a.csv": CSV + b"u\0,q,u\nu,q\0,u\nu,q,u\0\n"}, "a.csv --max-broken 0", 3, "'NUL byte' (3 rows)"),
    Fault("NUL in the header", {"a.csv": b"us\0er,query\nu,q\n"}, "a.csv", 3, "a.csv is no text file"),
    Fault("empty CSV", {"a.csv": b""}, "a.csv", 3, "a.csv is empty: give a file with rows."),
    Fault("header alone", {"a.csv": b"user,query,url\n"}, "a.csv", 3, "a.csv has no rows"),
    Fault("empty NDJSON", {"a.ndjson": b""}, "a.ndjson", 3, "a.ndjson is empty"),
    Fault("no bytes of Parquet", {"a.parquet": b""}, "a.parquet", 3, "a.parquet is empty"),
    Fault("no rows of Parquet", {"a.parquet": parquet(table(rows=[]))}, "a.parquet", 3, "a.parquet has no rows"),
    Fault("empty folder", {"logs": None}, "logs", 3, "The folder logs has no files of a log"),
    Fault("folder of something else", {"logs/a.txt": CSV}, "logs", 3, "The folder logs has no files of a log"),
    Fault("folder of another format", {"logs/a.csv": CSV}, "logs --format parquet", 3, "has no parquet files"),
    Fault("nowhere", {}, "nowhere.csv", 3, "nowhere.csv does not exist"),
    Fault("pattern of nothing", {}, "no*.csv", 3, "No file matches 'no*.csv'"),
    Fault("memory for nothing", {"a.csv": CSV}, "a.csv --memory-limit 1MB", 2, "--memory-limit = '1MB'"),
    Fault("little memory", {"a.parquet": parquet(wide(8000))}, "a.parquet --memory-limit 30MB", 5, "raise --memory-li"),
    Fault("output is a file", {"a.csv": CSV, "out": b"mine"}, "a.csv --out out", 4, "out is a file: name a directory"),
    Fault("output below a file", {"a.csv": CSV, "out": b"mine"}, "a.csv --out out/x", 5, "cannot be written to"),
    Fault("output of others", {"a.csv": CSV, "out/mine": b""}, "a.csv --out out", 4, "did not write (mine)"),
]

GOES_ON = [
    ("a.csv", CSV + b"u,caf\xe9,u\n", "1 broken: not UTF-8 1"),
    ("a.parquet", parquet(latin_1_in_text()), "1 broken: not UTF-8 1"),
    ("a.csv", CSV + b"u," + LONG + b",u\n", "1 broken: text too long 1"),
    ("a.ndjson", NDJSON + b'{"user": "u", "url": "u", "query": "' + LONG + b'"}\n', "1 broken: text too long 1"),
    ("a.parquet", parquet(table(rows=[*ROWS, ("u", LONG.decode(), "u")])), "1 broken: text too long 1"),
    ("a.csv", CSV + b"u\0,q,u\nu,q\0,u\nu,q,u\0\n", "3 broken: NUL byte 3"),
    ("a.parquet", parquet(table(rows=[*ROWS, ("u", "q\0", "u")])), "1 broken: NUL byte 1"),
]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release that lies where the next one is to be."""
    folder = tmp_path_factory.mktemp("earlier")
    (folder / "log.csv").write_bytes(CSV)
    done = CliRunner().invoke(app, ["run", str(folder / "log.csv"), "--out", str(folder / "release")])
    assert done.exit_code in (0, EMPTY), done.stderr
    return folder / "release"


@dataclass(frozen=True)
class Desk:
    """A folder with an earlier release, and nothing else but what a test puts there."""

    folder: Path

    def run(self, asked: str) -> tuple[int, str]:
        """What `blendp run` answers: its exit code and what it says."""
        given = asked.split() if "--out" in asked else [*asked.split(), "--out", "release"]
        done = CliRunner().invoke(app, ["run", *given, "--overwrite"])
        code, said = done.exit_code, done.stderr
        del done
        gc.collect()
        return code, said

    def refuses(self, asked: str, code: int, says: str) -> None:
        """Run in vain: one sentence, and everything as it was."""
        before = content(self.folder)
        answer = self.run(asked)
        self.require_refusal(answer, code, says, before)

    def require_refusal(self, answer: tuple[int, str], code: int, says: str, before: dict[str, bytes]) -> None:
        """One sentence, and everything as it was before."""
        assert answer[0] == code, answer
        assert says in answer[1]
        assert answer[1].startswith("Error: ")
        assert len(answer[1].strip().splitlines()) == 1
        assert content(self.folder) == before
        assert [path for path in self.folder.rglob(".*") if path.is_dir()] == []
        assert list((self.folder / "tmp").iterdir()) == []


@pytest.fixture
def desk(earlier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    shutil.copytree(earlier, tmp_path / "release")
    (tmp_path / "tmp").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(database, "_MIN_MEMORY", 20_000_000)
    return Desk(tmp_path)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_bad_input(fault: Fault, desk: Desk) -> None:
    for name, written in fault.files.items():
        if written is None:
            (desk.folder / name).mkdir()
        else:
            (desk.folder / name).parent.mkdir(exist_ok=True)
            (desk.folder / name).write_bytes(written)
    desk.refuses(fault.asked, fault.code, fault.says)


@pytest.mark.parametrize(("name", "written", "says"), GOES_ON, ids=[f"{name} {says}" for name, _, says in GOES_ON])
def test_a_few_bad_rows_are_counted_and_the_run_goes_on(name: str, written: bytes, says: str, desk: Desk) -> None:
    (desk.folder / name).write_bytes(written)
    code, said = desk.run(name)
    assert code in (0, EMPTY), said
    assert says in said
    assert sorted(content(desk.folder / "release")) == sorted(FILES)
    assert sorted(path.name for path in desk.folder.iterdir()) == [name, "release", "tmp"]
    assert list((desk.folder / "tmp").iterdir()) == []


@pytest.mark.parametrize(("name", "written"), [("a.parquet", PARQUET), ("a.csv", CSV), ("a.ndjson", NDJSON)])
def test_a_log_that_vanishes_while_it_is_read(
    name: str, written: bytes, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.folder / name).write_bytes(written)
    before = content(desk.folder)
    run = methods.run

    def late(*given: Any, **options: Any) -> methods.Release:
        (desk.folder / name).unlink()
        return run(*given, **options)

    monkeypatch.setattr(methods, "run", late)
    answer = desk.run(name)
    if name == "a.ndjson":
        assert answer[0] in (0, EMPTY), "its rows are in the database by then"
        return
    del before[name]
    desk.require_refusal(answer, 3, name, before)


def test_a_temporary_folder_that_is_not_there(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.folder / "a.csv").write_bytes(CSV)
    monkeypatch.setenv("TMPDIR", str(desk.folder / "nowhere"))
    desk.refuses("a.csv", 5, "nowhere (No such file or directory): make that folder, or set TMPDIR")


def test_a_full_disk_for_the_output(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (desk.folder / "a.csv").write_bytes(CSV)
    monkeypatch.setattr(files, "render_release", full)
    desk.refuses("a.csv", 5, "release: No space left on device, so free some or name another place.")


@contextmanager
def longest_file(size: int) -> Iterator[None]:
    """A system in which no file grows beyond this, which fails like a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_of_the_output_that_cannot_grow(desk: Desk) -> None:
    (desk.folder / "a.csv").write_bytes(CSV)
    with longest_file(4096):
        desk.refuses("a.csv", 5, "release: File too large. Nothing was left half-written.")


def write_wide_log(path: Path, rows: int) -> None:
    """A log of a format whose rows wait in the database."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n")
        for i in range(rows):
            file.write(b"u%d\t%d %s\t\t1\tu\n" % (i, i, b"x" * 8000))


def test_temporary_files_that_cannot_grow(desk: Desk) -> None:
    write_wide_log(desk.folder / "a.txt.gz", 12_000)
    with longest_file(1 << 20):
        desk.refuses(
            "a.txt.gz --format aol --memory-limit 40MB",
            5,
            "Temporary files find no room on the disk while reading a.txt",
        )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    yield disk
    gc.collect()
    subprocess.run(["umount", str(disk)], check=True)


def test_a_really_full_disk_for_the_output(small_disk: Path, desk: Desk) -> None:
    (desk.folder / "a.csv").write_bytes(CSV)
    shutil.copytree(desk.folder / "release", small_disk / "release")
    with (small_disk / "rest").open("wb", buffering=0) as rest, suppress(OSError):
        while True:
            rest.write(bytes(4096))
    desk.refuses("a.csv --out disk/release", 5, "disk/release: No space left on device, so free some")


def test_a_really_full_disk_for_temporary_files(small_disk: Path, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    write_wide_log(desk.folder / "a.txt.gz", 12_000)
    monkeypatch.setenv("TMPDIR", str(small_disk))
    desk.refuses(
        "a.txt.gz --format aol --memory-limit 40MB", 5, "Temporary files find no room on the disk while reading a.txt"
    )
    assert list(small_disk.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (duckdb.OutOfMemoryException, "The memory does not suffice for the log (no room): raise --memory-limit."),
        (MemoryError, "The memory of this machine does not suffice for the log (no room): free some."),
    ],
)
def test_memory_that_runs_out_after_the_log_was_read(
    error: type[Exception], says: str, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error("no room")

    (desk.folder / "a.csv").write_bytes(CSV)
    monkeypatch.setattr(Contributions, "cells", fail)
    desk.refuses("a.csv", 5, says)


def bound_by_permissions() -> list[str]:
    """What to start a command with so that permissions hold, which the superuser is above."""
    if os.name != "posix":
        pytest.skip("there are no such permissions")
    if os.getuid():
        return []
    if not shutil.which("setpriv"):
        pytest.skip("the superuser reads and writes everywhere, and setpriv is not there to give that up")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def forbid_file(folder: Path) -> str:
    (folder / "a.csv").write_bytes(CSV)
    (folder / "a.csv").chmod(0)
    return "a.csv"


def forbid_parquet(folder: Path) -> str:
    (folder / "a.parquet").write_bytes(PARQUET)
    (folder / "a.parquet").chmod(0)
    return "a.parquet"


def forbid_folder(folder: Path) -> str:
    (folder / "logs").mkdir(mode=0)
    return "logs"


def forbid_output(folder: Path) -> str:
    (folder / "a.csv").write_bytes(CSV)
    (folder / "closed").mkdir()
    shutil.copytree(folder / "release", folder / "closed" / "release")
    (folder / "closed").chmod(0o555)
    return "a.csv --out closed/release"


@pytest.mark.parametrize(
    ("forbid", "code", "says"),
    [
        (forbid_file, 3, "a.csv cannot be read (Permission denied): check the path and its permissions."),
        (forbid_parquet, 3, "a.parquet cannot be read (Permission denied)"),
        (forbid_folder, 3, "logs cannot be read (Permission denied)"),
        (forbid_output, 5, "closed: this folder cannot be written to, name another."),
    ],
)
def test_permissions_in_the_command_as_people_start_it(
    forbid: Callable[[Path], str], code: int, says: str, desk: Desk
) -> None:
    start = bound_by_permissions()
    asked = forbid(desk.folder)
    before = content(desk.folder / "release")
    out = () if "--out" in asked else ("--out", "release")
    command = [*start, sys.executable, "-m", "blendp", "run", *asked.split(), *out, "--overwrite"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    for closed in ("closed", "logs"):
        if (desk.folder / closed).exists():
            (desk.folder / closed).chmod(0o755)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr.strip().splitlines()) == 1
    assert content(desk.folder / "release") == before
    assert list((desk.folder / "tmp").iterdir()) == []


def test_an_interrupt_of_the_database_is_an_interrupt(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")

    (desk.folder / "a.csv").write_bytes(CSV)
    monkeypatch.setattr(Contributions, "of_drawn", fail)
    assert desk.run("a.csv") == (130, "Interrupted: nothing was written.\n")
