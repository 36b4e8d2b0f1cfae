"""What goes wrong on Spark is said in one sentence, with what to do about it."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError

from blendp.engines.spark import SparkSettings, failures
from blendp.engines.spark.failures import explained, fewer_cores, less_memory, plain_reason
from blendp.errors import EngineError, LogError
from blendp.logs import open_spark_log
from tests.spark_cluster import CONF, SparkCluster
from tests.support import SHORT_LIVED

pytestmark = pytest.mark.xdist_group("spark")


def one_sentence(error: BaseException) -> str:
    said = str(error)
    assert "\n" not in said
    assert said.endswith(".")
    assert not re.search(r"calling o\d+|Py4J|awaitResult|SQLSTATE|\bat org\.", said)
    return said


@dataclass(frozen=True)
class JavaError:
    """A failure of Java, with what caused it."""

    says: str
    cause: JavaError | None = None

    def toString(self) -> str:  # noqa: N802
        return self.says

    def getCause(self) -> JavaError | None:  # noqa: N802
        return self.cause


class WrappedError(Exception):
    """What reaches Python: it says next to nothing itself."""

    def __init__(self, *says: str) -> None:
        super().__init__(
            "An error occurred while calling o65.getResult.\n: java.lang.Exception: Exception thrown\n\tat x"
        )
        java = None
        for message in reversed(says):
            java = JavaError(message, java)
        self.java_exception = java


READING = (
    "org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file {}.  SQLSTATE"
)


@pytest.mark.parametrize(
    ("causes", "kind", "says"),
    [
        (
            (
                READING.format("file:///logs/b.parquet"),
                "java.lang.RuntimeException: file:/logs/b.parquet is not a Parquet file.",
            ),
            LogError,
            r"^file:///logs/b\.parquet cannot be read \(file:/logs/b\.parquet is not a Parquet file\): write or fetch",
        ),
        (
            (
                READING.format("s3a://logs/b.parquet"),
                "java.io.FileNotFoundException: /logs/b.parquet (Permission denied)",
            ),
            LogError,
            r"^s3a://logs/b\.parquet may not be read .*: let whoever runs Spark",
        ),
        (
            ("org.apache.hadoop.security.AccessControlException: Permission denied: user=me, access=READ",),
            LogError,
            r"^the log may not be read \(Permission denied: user=me, access=READ\)",
        ),
        (
            (
                READING.format("file:/a").replace("NO_HINT", "FILE_NOT_EXIST"),
                "java.io.FileNotFoundException: File file:/a",
            ),
            LogError,
            r"^file:/a does not exist any more, or not on every executor",
        ),
        (
            (
                READING.format("file:/log.csv"),
                "java.lang.RuntimeException: file:/log.csv is not a Parquet file. Expected magic number at tail",
            ),
            LogError,
            r"^file:/log\.csv cannot be read .*: write or fetch the file again, or as Parquet if it is something else",
        ),
        (
            ("org.apache.spark.SparkException: Job aborted: ExecutorLostFailure (executor 1 exited)",),
            EngineError,
            r"executors were lost.*spark\.executor\.memory",
        ),
        (("java.lang.OutOfMemoryError: Java heap space",), EngineError, r"\(Java heap space\).*--memory-limit"),
        (("java.io.IOException: No space left on device",), EngineError, r"free disk space on the executors"),
        (
            (
                "java.lang.RuntimeException: java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a."
                "S3AFileSystem not found",
                "java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
            ),
            EngineError,
            r"S3AFileSystem not found\): add its connector: --spark-conf spark\.jars\.packages="
            r"org\.apache\.hadoop:hadoop-aws:\d+\.\d+\.\d+\.$",
        ),
        (
            ('org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "s3"',),
            EngineError,
            r"write s3a:// in place of s3://\.$",
        ),
        (
            ('org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "foo"',),
            EngineError,
            r"add the package that knows the store: --spark-conf spark\.jars\.packages=",
        ),
        (
            ("java.net.ConnectException: Call From a to b:9000 failed on connection exception: Connection refused",),
            EngineError,
            r"^No store answers for the log \(.*refused\): check its address",
        ),
        (("java.lang.IllegalStateException: odd",), EngineError, r"^Spark failed on the log \(odd\): see its logs\.$"),
    ],
)
def test_the_innermost_cause_is_said_with_what_to_do(causes: tuple[str, ...], kind: type[Exception], says: str) -> None:
    wrapping = "org.apache.spark.SparkException: Exception thrown in awaitResult: "
    error = explained(WrappedError(wrapping, *causes), "the log")
    assert type(error) is kind
    assert re.search(says, one_sentence(error))


def test_a_reason_is_short_and_has_no_control_characters() -> None:
    assert plain_reason("\n java.lang.X$YException: \x1b[31mred\x07. SQLSTATE: 0") == "[31mred"
    assert len(plain_reason("x" * 10_000)) < 400
    assert plain_reason("") == ""
    assert plain_reason("[CLASS_OF.ERROR] It is so. SQLSTATE: 1") == "It is so"


@pytest.mark.parametrize(
    ("asked", "less"), [("1g", "512m"), ("8g", "4g"), ("3G", "1536m"), ("4096", "2g"), ("900m", "450m")]
)
def test_what_is_to_be_asked_for_is_less(asked: str, less: str) -> None:
    assert f"spark.executor.memory={less}, or " in less_memory(asked)


@pytest.mark.parametrize("asked", ["512m", "600000k", "nonsense"])
def test_no_less_is_asked_for_than_spark_starts_with(asked: str) -> None:
    assert less_memory(asked) == ""


@pytest.mark.parametrize(("asked", "fewer"), [("8", "=4, or "), ("3", "=1, or "), ("1", ""), ("all", "")])
def test_fewer_cores_are_advised_where_several_were_asked_for(asked: str, fewer: str) -> None:
    assert fewer_cores(asked).endswith(fewer)
    assert bool(fewer_cores(asked)) == bool(fewer)


def test_a_java_that_is_still_ending_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that py4j says of it is the name of the call."""
    no_answer = Py4JError("An error occurred while calling o65.getResult")
    for end, says in {"killed by SIGKILL": r"was read \(killed by SIGKILL\): give", None: "gave no answer"}.items():
        monkeypatch.setattr(failures, "end_of_java", lambda seconds, end=end: end if seconds else None)
        assert re.search(says, one_sentence(explained(no_answer, "a log")))


@pytest.mark.usefixtures("spark")
def test_a_broken_file_among_good_ones_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": ["a"], "query": ["q"]}), tmp_path / "good.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"no Parquet" * 20)
    log = open_spark_log(str(tmp_path / "good.parquet"), SparkSettings())
    object.__setattr__(log, "paths", [str(tmp_path / "good.parquet"), str(tmp_path / "broken.parquet")])
    with pytest.raises(LogError, match=r"broken\.parquet cannot be read .*write or fetch the file again") as caught:
        log.bound(1, 0)
    one_sentence(caught.value)


PROGRAM = """
import sys
from threading import Timer
from blendp.engines.spark import SparkSettings, failures
from blendp.errors import EngineError
from blendp.logs import open_spark_log
from pyspark import SparkContext

failures.PATIENCE = 2.0
log = sys.argv[1]
conf = {conf!r}
warned = failures._no_executor

def warn_and_kill(session):
    Timer(0.5, SparkContext._gateway.proc.kill).start()
    return warned(session)

failures._no_executor = warn_and_kill
try:
    open_spark_log(log, SparkSettings({url!r}, conf=conf)).bound(1, 0)
except EngineError as error:
    print(error)
"""


def test_no_executor_and_a_java_that_is_killed(cluster: SparkCluster, tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    pq.write_table(pa.table({"user": ["a"], "query": ["q"]}), log)
    conf = CONF | {"spark.executor.memory": "8g", "spark.driver.memory": "512m", **dict([SHORT_LIVED.split("=", 1)])}
    program = PROGRAM.format(conf=conf, url=cluster.url)
    ended = subprocess.run(
        [sys.executable, "-c", program, str(log)], capture_output=True, text=True, timeout=120, check=False
    )
    assert "asks for 8g of memory (spark.executor.memory)" in ended.stderr
    assert "--spark-conf spark.executor.memory=4g" in ended.stderr
    assert ended.stderr.strip().count("\n") == 0
    assert re.fullmatch(
        rf"Spark's Java process on this machine ended while {re.escape(str(log))} was read \(killed by SIGKILL\): .*\.",
        ended.stdout.strip(),
    )
