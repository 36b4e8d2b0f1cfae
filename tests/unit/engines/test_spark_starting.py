"""Whether Spark can start, and why it did not."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from blendp.engines.spark import starting
from blendp.engines.spark.starting import not_started, require_master
from blendp.errors import EngineError, ParameterError
from tests.unit.engines.test_spark_failures import one_sentence


def test_a_wrong_master_is_told_at_once() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        silent = f"127.0.0.1:{bound.getsockname()[1]}"  # bound and not listening: nobody else gets the port
        with pytest.raises(
            EngineError, match=f"No Spark master answers at spark://{silent} .*refused.*--master"
        ) as caught:
            require_master(f"spark://{silent}")
        one_sentence(caught.value)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            require_master(f"spark://{silent},127.0.0.1:{listening.getsockname()[1]}")
        with pytest.raises(EngineError, match="No Spark master answers at k8s"):
            require_master(f"k8s://https://{silent}")


@pytest.mark.parametrize(
    "master",
    [
        *("spark://", "spark://host", "spark://host:port", "spark://host:0", "k8s://", "foo://bar", "", "Local"),
        *("local[x]", "local[0]", "local[2", "yarn-client", "host:7077"),
    ],
)
def test_what_names_no_master_is_refused_before_spark_starts(master: str) -> None:
    with pytest.raises(
        ParameterError, match=r"master = .* must be local, local\[4\], .*spark://host:7077, yarn or k8s"
    ):
        require_master(master)


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[*,3]", "yarn"])
def test_masters_without_an_address_are_sparks_to_find(master: str) -> None:
    require_master(master)


EXITED = RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.")


@pytest.mark.parametrize(
    ("output", "says"),
    [
        (
            "WARNING: package x\n"
            'Exception in thread "main" org.apache.spark.SparkException: When running with master '
            "'yarn' either HADOOP_CONF_DIR or YARN_CONF_DIR must be set in the environment.\n"
            "\tat org.apache.x(Y.scala)\n",
            "(When running with master 'yarn' either HADOOP_CONF_DIR or YARN_CONF_DIR must be set in the environment): "
            "set HADOOP_CONF_DIR to the folder",
        ),
        (
            "Error occurred during initialization of VM\nToo small maximum heap\n",
            "(Too small maximum heap): give the driver a memory that this machine has: --memory-limit 1GB",
        ),
        (
            "Invalid maximum heap size: -Xmxmuch\nError: Could not create the Java Virtual Machine.\n",
            "(Invalid maximum heap size: -Xmxmuch): give the driver",
        ),
        (
            "/x/bin/spark-class: line 71: /nope/bin/java: No such file or directory\n/x: line 97: CMD: bad\n",
            "No such file or directory): JAVA_HOME names no Java",
        ),
        (
            "/x/pyspark/testing/utils.py:127: FutureWarning: PySpark does not yet support this.\n  warnings.warn(\n"
            "Unrecognized VM option 'Nonsense'\n",
            "(Unrecognized VM option 'Nonsense')",
        ),
        ("", "(Java gateway process exited before sending its port number): check --master, --spark-conf and Java"),
    ],
)
def test_why_spark_does_not_start(output: str, says: str) -> None:
    assert says in one_sentence(not_started(EXITED, output, "here"))


def test_a_java_that_is_killed_at_its_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "end_of_java", lambda _: "killed by SIGKILL")
    sentence = one_sentence(not_started(ConnectionError("refused"), "x.py:1: FutureWarning: be careful\n", "here"))
    assert "Spark does not start at here (its Java process ended: killed by SIGKILL): check --master" in sentence


def test_a_driver_of_too_little_memory_is_told_in_one_line() -> None:
    """The complaint of a Java that does not start goes nowhere else."""
    program = """
from blendp.engines.spark import SparkSettings, spark_session
from blendp.errors import EngineError
try:
    spark_session(SparkSettings("local[1]", conf={"spark.driver.memory": "1k"}))
except EngineError as error:
    print(error)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert "Spark does not start at local[1] (Too small maximum heap): give the driver" in ended.stdout
    assert (ended.stdout.count("\n"), ended.stderr) == (1, "")
