"""Files of this machine, looked at before Java starts, which may take most of a minute.

Only what is surely no log is refused. Patterns and addresses of other stores are left to Spark, and so are paths where
Spark may take them for those of another store, or is running already.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from blendp.engines.spark.session import SparkSettings
from blendp.errors import LogError

MAGIC = b"PAR1", b"PARE"
"""How Parquet begins and ends, the second with an encrypted footer."""

_PATTERN = re.compile(r"[*?\[\]{}\\]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_FILE = re.compile(r"file:(?://[^/]*)?(/.*)")

_ELSEWHERE = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME")
"""Variables that name a configuration in which plain paths may mean another store."""


def require_local_files(paths: Sequence[str], settings: SparkSettings) -> None:
    """Raise for a path of this machine that does not exist, or is a file that is no Parquet."""
    if session_runs():
        return
    for path in paths:
        local = _on_this_machine(path, settings)
        if local is None or local.is_dir():
            continue
        if not local.exists():
            raise LogError(f"{path} does not exist: check the path.")
        require_parquet(local, path)


def session_runs() -> bool:
    """Whether this process has a Spark session, which has settings of its own and tells soon."""
    module = sys.modules.get("pyspark.sql")
    return module is not None and module.SparkSession.getActiveSession() is not None


def _on_this_machine(path: str, settings: SparkSettings) -> Path | None:
    """Where this is on this machine; None if it is a pattern, or may be elsewhere."""
    if not path or _PATTERN.search(path):
        return None
    if _SCHEME.match(path):
        match = _FILE.fullmatch(path)
        return Path(match[1]) if match else None
    is_elsewhere = any("fs.default" in name for name in settings.conf) or any(map(os.environ.get, _ELSEWHERE))
    return None if is_elsewhere else Path(path)


def require_parquet(local: Path, path: str) -> None:
    """Raise for a file that is no Parquet; ``path`` is what it was called."""
    try:
        with local.open("rb") as file:
            first = file.read(4)
            file.seek(max(local.stat().st_size - 4, 0))
            last = file.read(4)
    except OSError as error:
        raise LogError(f"{path} cannot be read ({error.strerror}): check the path and its permissions.") from error
    if first not in MAGIC or last not in MAGIC:
        raise LogError(
            f"{path} is no whole Parquet file (it does not begin and end with PAR1): write or fetch it again, or as "
            "Parquet if it is something else."
        )
