"""Tables that stay on the cluster while they are asked about."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TYPE_CHECKING, Self
from weakref import finalize

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, eq=False)
class SparkTables:
    """Views of a session, by names of their own, forgotten with this object.

    What is kept lies in the memory and on the disks of executors. What one of them loses is computed again from the
    log: all that is asked is a function of the rows and their places, so it comes out the same.

    where:
        guard  turns what Spark raises into a sentence.
    """

    session: SparkSession
    guard: Callable[[], AbstractContextManager[None]] = field(repr=False)
    _views: dict[str, DataFrame] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Forget all at the end; not when the whole process ends, and Java with it."""
        finalize(self, _forget, self.session, self._views).atexit = False

    def view(self, sql: str, *, keep: bool = False) -> str:
        """The name of what SQL says; with ``keep`` it is computed once."""
        with self.guard():
            return self.named(self.session.sql(sql), keep=keep)

    def of(self, table: pa.Table) -> str:
        """The name of a small table of this process, there."""
        with self.guard():
            return self.named(self.session.createDataFrame(table))

    def named(self, frame: DataFrame, *, keep: bool = False) -> str:
        """The name of a frame."""
        name = f"blendp_{token_hex(8)}"
        self._views[name] = frame.persist() if keep else frame
        frame.createOrReplaceTempView(name)
        return name

    def ask(self, sql: str) -> pa.Table:
        """The answer, here."""
        with self.guard():
            return self.session.sql(sql).toArrow()

    def drop(self, *names: str) -> Self:
        """Forget some tables early."""
        _forget(self.session, {name: self._views.pop(name) for name in names})
        return self


def _forget(session: SparkSession, views: dict[str, DataFrame]) -> None:
    """Drop views, and what executors keep of them; if Spark has ended, it has done so."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, AttributeError, OSError):
        while views:
            name, frame = views.popitem()
            session.catalog.dropTempView(name)
            frame.unpersist()
