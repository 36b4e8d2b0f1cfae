"""A standalone Spark cluster on loopback: a master and workers, each in a process of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

_WAIT = 60.0
_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": _OPTIONS,
    "spark.pyspark.python": sys.executable,
}
"""What a session on the cluster is told: the driver is on loopback as well, and executors are small."""


@dataclass(frozen=True, eq=False)
class _Daemon:
    """A master or a worker, with its executors: one group of processes, which ends at the latest when the tests do."""

    process: subprocess.Popen[bytes]
    log: Path

    @classmethod
    def start(cls, folder: Path, name: str, kind: str, *options: str) -> Self:
        import pyspark

        home, java = Path(pyspark.__file__).parent, java_home()
        environment = os.environ | {
            "JAVA_HOME": str(java),
            "SPARK_HOME": str(home),
            "SPARK_SCALA_VERSION": "2.13",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(folder / f"{name}-shuffle"),
        }
        program = [str(java / "bin" / "java"), "-cp", str(home / "jars" / "*"), "-Xmx128m", *_OPTIONS.split()]
        program += ["-Dspark.master.rest.enabled=false"]  # it would listen on a port that is always the same
        address = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        leash = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        log = folder / f"{name}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*leash, *program, f"org.apache.spark.deploy.{kind}", *address, *options],
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        return cls(process, log)

    def says(self, pattern: str) -> re.Match[str]:
        """Wait until its log says this."""
        deadline = time.monotonic() + _WAIT
        while True:
            running = self.process.poll() is None
            said = self.log.read_text(errors="replace")
            match = re.search(pattern, said)
            if match:
                return match
            if not running or time.monotonic() > deadline:
                raise RuntimeError(f"{self.log.stem} does not say {pattern!r}, but:\n{said[-2000:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@dataclass(eq=False)
class SparkCluster:
    """Where a cluster is reached."""

    url: str
    folder: Path = field(repr=False)
    _workers: list[_Daemon] = field(default_factory=list, init=False, repr=False)
    _started: int = field(default=0, init=False, repr=False)

    def add_workers(self, count: int, cores: int = 1, memory: str = "600m") -> None:
        """So many workers more, known to the master."""
        added = []
        for _ in range(count):
            name = f"worker-{self._started}"
            self._started += 1
            options = ("--cores", str(cores), "--memory", memory, "--work-dir", str(self.folder / name), self.url)
            added.append(_Daemon.start(self.folder, name, "worker.Worker", *options))
            self._workers.append(added[-1])
        for worker in added:
            worker.says("Successfully registered with master")

    def kill_worker(self, which: int = -1) -> None:
        """End a worker and what runs on it at once, as a machine ends that loses its power."""
        self._workers.pop(which).kill()

    def end(self) -> None:
        """End all workers."""
        while self._workers:
            self.kill_worker()


@contextmanager
def spark_cluster(workers: int = 1) -> Iterator[SparkCluster]:
    """A master and so many workers of one core each, which end with the block, whatever happens in it."""
    with TemporaryDirectory(prefix="blendp-cluster-", ignore_cleanup_errors=True) as folder:
        master = _Daemon.start(Path(folder), "master", "master.Master")
        try:
            url = master.says(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")[1]
            cluster = SparkCluster(url, Path(folder))
            try:
                cluster.add_workers(workers)
                yield cluster
            finally:
                cluster.end()
        finally:
            master.kill()


def java_home() -> Path:
    """The home of a whole Java: the runtime that is packaged with blendp[spark] lacks what a master needs."""
    java = shutil.which("java")
    home = os.environ.get("JAVA_HOME") or (java and Path(java).resolve().parent.parent)
    if not home:
        raise RuntimeError("A Spark cluster needs Java: scripts/setup dev installs one.")
    return Path(home)
