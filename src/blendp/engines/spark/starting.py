"""Whether Spark can start where it is asked to, and why it did not, in one sentence that says what to do."""

from __future__ import annotations

import re
import socket

from blendp.engines.spark.failures import causes, end_of_java, plain_reason
from blendp.errors import EngineError, ParameterError

_CONNECT_SECONDS, _END_SECONDS = 5.0, 1.0

_MASTERS = re.compile(r"local(\[([1-9]\d*|\*)(,\s*[1-9]\d*)?\])?|local-cluster\[.+\]|spark://.+|yarn|k8s://.+")
_LEGAL_MASTERS = "local, local[4], local[*], spark://host:7077, yarn or k8s://https://host:6443"

_OF_START = {
    "HADOOP_CONF_DIR": "set HADOOP_CONF_DIR to the folder with the configuration of the cluster",
    "INVALID_DRIVER_MEMORY": "give the driver at least 450m: --memory-limit 1GB, or --spark-conf "
    "spark.driver.memory=1g",
    " heap": "give the driver a memory that this machine has: --memory-limit 1GB, or --spark-conf "
    "spark.driver.memory=1g",
    "bin/java": "JAVA_HOME names no Java: set it to one, or leave it out for the one that blendp[spark] brings",
    "Maven": "give --spark-conf spark.jars.packages=group:artifact:version",
    "unresolved dependency": "check spark.jars.packages, and whether this machine reaches where they are",
    "BindException": "check spark.driver.bindAddress and spark.driver.host",
}
"""What to do if Spark does not start, by what it says."""

_SAYS_NOTHING = re.compile(
    r"WARNING:|Setting |To adjust |::|Error occurred during initialization|\s|\S+:\d+: \w*Warning: "
)
"""How lines begin that say nothing of why Java has ended; the last are warnings of Python's."""


def require_master(master: str) -> None:
    """Raise unless this names a master, and somebody listens at its address if it has one.

    Spark itself would wait for a minute, or for ever.
    """
    if not _MASTERS.fullmatch(master):
        raise ParameterError("master", master, _LEGAL_MASTERS, "Say where Spark runs.")
    reasons = []
    for address in _addresses(master):
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise ParameterError("master", master, _LEGAL_MASTERS, f"{address or 'Nothing'} is no host:port.")
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
            return
        except OSError as error:
            reasons.append(f"{address}: {error.strerror or error}".lower())
    if reasons:
        said = "; ".join(reasons)
        raise EngineError(f"No Spark master answers at {master} ({said}): start it there, or check --master.")


def _addresses(master: str) -> list[str]:
    """Where a master may listen, by host:port; none if it has no address of its own."""
    if master.startswith("k8s://"):
        address = re.sub(r"^https?://", "", master.removeprefix("k8s://")).partition("/")[0]
        return [address if re.search(r":\d+$", address) else f"{address}:443"]
    return master.removeprefix("spark://").split(",") if master.startswith("spark://") else []


def not_started(error: Exception, output: str, master: str) -> EngineError:
    """Why Spark does not start at a master, and what to do: Java's exception says it, or else what Java wrote."""
    if getattr(error, "java_exception", None) is not None:
        reason = causes(error)[-1]
    elif not isinstance(error, RuntimeError) and (end := end_of_java(_END_SECONDS)) is not None:
        reason = f"its Java process ended: {end}"
    else:
        lines = [line for line in output.splitlines() if line and not _SAYS_NOTHING.match(line)]
        thrown = [line for line in lines if line.startswith("Exception in thread")]
        reason = [*thrown, *lines, str(error)][0].removeprefix('Exception in thread "main" ')
    remedies = (remedy for sign, remedy in _OF_START.items() if sign in reason)
    remedy = next(remedies, "check --master, --spark-conf and Java")
    return EngineError(f"Spark does not start at {master} ({plain_reason(reason)}): {remedy}.")
