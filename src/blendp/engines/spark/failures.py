"""What goes wrong on Spark, in one sentence that says what to do.

Spark wraps a failure many times over, in two languages; what matters to people is its class, where Spark names one
(``FAILED_READ_FILE``), and the innermost cause.
"""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import TimeoutExpired
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, Any

from blendp.errors import EngineError, LogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 30.0
"""Seconds after which people are told that no executor has come."""

_LOOK_SECONDS, _END_SECONDS = 1.0, 5.0
_MIN_EXECUTOR = 450  # megabytes: Spark starts none with less
_MAX_REASON = 300
_MAX_CAUSES = 20

_NO_ANSWER = "Py4JError", "Py4JNetworkError"
"""What py4j raises if Java does not answer a call, the first with nothing but the name of the call."""

_FILE = re.compile(r"\[FAILED_READ_FILE[\w.]*\] Encountered error while reading file (\S+?)\.?(?:\s|$)")
_CLASS = re.compile(r"\[(PATH_NOT_FOUND|UNABLE_TO_INFER_SCHEMA|CANNOT_MERGE_SCHEMAS)[\w.]*\]\s*([^\n]*)")
_OF_DATA = {
    "PATH_NOT_FOUND": "check the path",
    "UNABLE_TO_INFER_SCHEMA": "there is no Parquet file, or only empty ones: check the path",
    "CANNOT_MERGE_SCHEMAS": "give files whose columns have the same types",
}
"""What to do about faults of the data, by the names that Spark has for them."""

_OF_MACHINES = {
    "OutOfMemoryError": "an executor or the driver needs more memory: --spark-conf spark.executor.memory=..., "
    "--memory-limit for the driver",
    "ExecutorLostFailure": "executors were lost, most often killed for their memory: --spark-conf "
    "spark.executor.memory=..., and see the workers' logs",
    "No space left on device": "shuffled rows find no room: free disk space on the executors, or set spark.local.dir",
}
"""What to do about faults of the machines, by what their messages hold."""

_NO_CONNECTOR = re.compile(r'Class \S+\.(\w+FileSystem) not found|No FileSystem for scheme "(\w+)"')
_CONNECTORS = {
    "S3AFileSystem": "org.apache.hadoop:hadoop-aws",
    "s3a": "org.apache.hadoop:hadoop-aws",
    "abfs": "org.apache.hadoop:hadoop-azure",
    "abfss": "org.apache.hadoop:hadoop-azure",
}
"""The packages that Hadoop has for stores which Spark does not know by itself."""

_NO_STORE = re.compile(r"ConnectException|UnknownHostException|NoRouteToHostException|ConnectTimeoutException")

_NO_ACCESS = re.compile(r"Permission denied|AccessDenied|AccessControlException|Forbidden|Access Denied")


@contextmanager
def spark_errors(where: str) -> Iterator[None]:
    """Turn what Spark raises while it works on ``where`` into a sentence."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
        raise explained(error, where) from error


def explained(error: Exception, where: str) -> LogError | EngineError:
    """A fault of the data, of the machines, or of the engine."""
    is_cut = isinstance(error, ConnectionError | EOFError) or type(error).__name__ in _NO_ANSWER
    end = end_of_java(_END_SECONDS if is_cut else 0.0)
    if end is not None:
        return EngineError(
            f"Spark's Java process on this machine ended while {where} was read ({end}): give it more memory "
            "(--memory-limit), or look for what ended it."
        )
    messages = causes(error)
    whole = "\n".join(messages)
    innermost = re.sub(r"^An error occurred while calling .*", "Java gave no answer", plain_reason(messages[-1]))
    file = _FILE.search(whole)
    if _NO_ACCESS.search(whole):
        name = file[1] if file else where
        return LogError(f"{name} may not be read ({innermost}): let whoever runs Spark and its executors read it.")
    if file:
        if "FILE_NOT_EXIST" in whole:
            return LogError(f"{file[1]} does not exist any more, or not on every executor: keep logs where all reach.")
        other = ", or as Parquet if it is something else" if "is not a Parquet file" in whole else ""
        return LogError(f"{file[1]} cannot be read ({innermost}): write or fetch the file again{other}.")
    if match := _CLASS.search(whole):
        return LogError(f"{where} cannot be read ({plain_reason(match[2]) or match[1]}): {_OF_DATA[match[1]]}.")
    for sign, remedy in _OF_MACHINES.items():
        if sign in whole:
            return EngineError(f"Spark failed on {where} ({innermost}): {remedy}.")
    if match := _NO_CONNECTOR.search(whole):
        return EngineError(
            f"Spark cannot reach {where} ({plain_reason(match[0])}): {_connector(match[1] or match[2])}."
        )
    if _NO_STORE.search(whole):
        return EngineError(
            f"No store answers for {where} ({innermost}): check its address, and whether this machine and the "
            "executors reach it."
        )
    if type(error).__name__ == "AnalysisException":
        return LogError(f"Spark cannot read {where} ({plain_reason(messages[0])}): check paths, format and columns.")
    return EngineError(f"Spark failed on {where} ({innermost}): see its logs.")


def _connector(store: str) -> str:
    """What to do about a store whose connector is missing, by its name in Hadoop."""
    if store == "s3":
        return "write s3a:// in place of s3://"
    if store not in _CONNECTORS:
        return "check the address, or add the package that knows the store: --spark-conf spark.jars.packages=..."
    return f"add its connector: --spark-conf spark.jars.packages={_CONNECTORS[store]}:{_hadoop_version()}"


def _hadoop_version() -> str:
    """The version of the Hadoop that Spark brings: connectors must have the same."""
    from pyspark import __file__ as package

    names = sorted(path.stem for path in (Path(package).parent / "jars").glob("hadoop-client-api-*.jar"))
    return names[0].rpartition("-")[2] if names else "VERSION-OF-HADOOP"


def plain_reason(message: str) -> str:
    """The first line that says something, without class names, codes and addresses in memory; not too long."""
    line = next((line for line in message.splitlines() if line.strip()), "")
    line = re.sub(r"^\s*(?:[\w$]+\.)+[\w$]+(?:Exception|Error): ", "", line).partition(" SQLSTATE")[0]
    line = re.sub(r"^\s*\[[A-Z][A-Z_]+(?:\.[A-Z_]+)*\] ", "", line)
    line = "".join(filter(str.isprintable, line)).strip().rstrip(".: ")
    return line if len(line) <= _MAX_REASON else f"{line[:_MAX_REASON]}..."


def causes(error: Exception) -> list[str]:
    """What the error and its causes in Java say, the innermost last; those that say nothing are left out."""
    messages = [str(error) or type(error).__name__]
    java: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    for _ in range(_MAX_CAUSES):
        if java is None:
            break
        try:
            messages.append(str(java.toString()))
            java = java.getCause()
        except Exception:  # the process may end while it is asked
            break
    return messages


def end_of_java(seconds: float) -> str | None:
    """How the Java process that this process started has ended; None if it goes on, or if another started it.

    Its connections are cut a moment before it is gone: that long it is waited for.
    """
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    try:
        code = None if process is None else process.wait(seconds)
    except TimeoutExpired:
        code = None
    if code is None:
        return None
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def watch_executors(session: SparkSession) -> None:
    """Say once if a job waits and no executor comes: Spark would wait for one for ever, in silence."""
    if not str(session.sparkContext.master).startswith("local"):
        Thread(target=_watch, args=(session,), daemon=True).start()


def _watch(session: SparkSession) -> None:
    waited = 0.0
    while waited < PATIENCE:
        sleep(_LOOK_SECONDS)
        try:
            status = session.sparkContext._jsc.sc().statusTracker()
            is_waiting = len(status.getActiveJobIds()) > 0 and len(status.getExecutorInfos()) <= 1  # one is the driver
        except Exception:  # the session has ended; whoever waits for a result is told why
            return
        waited = waited + _LOOK_SECONDS if is_waiting else 0.0
    logging.getLogger("blendp").warning(_no_executor(session))


def _no_executor(session: SparkSession) -> str:
    asked = session.sparkContext.getConf()
    memory = asked.get("spark.executor.memory") or "1g"
    cores = asked.get("spark.executor.cores") or "all"
    return (
        f"No executor of {session.sparkContext.master} has come for {PATIENCE:.0f} seconds, and the job waits. Each "
        f"asks for {memory} of memory (spark.executor.memory) and {cores} cores of a worker (spark.executor.cores): if "
        f"no worker has as much free, stop this and {less_memory(memory)}{fewer_cores(cores)}start larger workers."
    )


def less_memory(memory: str) -> str:
    """What to ask for in place of a memory of executors in Spark's words; nothing if Spark would refuse less."""
    size = re.fullmatch(r"(\d+)([kmgtp]?)b?", memory.strip().lower())
    megabytes = int(size[1]) * 1024 ** ("kmgtp".index(size[2] or "m") - 1) if size else 0
    half = int(megabytes / 2)
    if half < _MIN_EXECUTOR:
        return ""
    spelt = f"{half // 1024}g" if half % 1024 == 0 else f"{half}m"
    return f"ask for what one has, such as half: --spark-conf spark.executor.memory={spelt}, or "


def fewer_cores(cores: str) -> str:
    """What to ask for in place of so many cores of a worker; nothing if it is one, or all that there are."""
    half = int(cores) // 2 if cores.isdecimal() else 0
    return f"ask for fewer cores: --spark-conf spark.executor.cores={half}, or " if half else ""


def quieten() -> None:
    """Keep what we raise from being printed by others as well."""
    logging.getLogger("SQLQueryContextLogger").disabled = True
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_no_gateway)


def _is_no_gateway(record: logging.LogRecord) -> bool:
    """Whether a message of the root logger is not py4j's, which complains there of a Java that has ended."""
    return record.module != "java_gateway"
