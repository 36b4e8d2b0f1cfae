"""A log that Spark reaches: Parquet on a shared store, an object store, or this machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from blendp.engines.choice import numbered_by_content, require_draw
from blendp.engines.quality import Described, LogQuality
from blendp.engines.spark.contributions import SparkContributions, keep_people
from blendp.engines.spark.failures import spark_errors
from blendp.engines.spark.filters import lenient
from blendp.engines.spark.tables import SparkTables
from blendp.engines.staged import judge, quality_of_drawn, require_people
from blendp.engines.usable import SPARK, RowRule
from blendp.errors import LogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PLAIN = ("string", "boolean", "tinyint", "smallint", "int", "bigint")

_AT_RANDOM = """
    SELECT *, CASE WHEN {reason} IS NULL THEN xxhash64(CAST('{key}' AS BIGINT), file, place) END AS number FROM ({rows})
"""

_ONE = """
    SELECT person, bool_and({opts_in}) AS opts_in, count(*) AS rows, count(number) AS usable,
        filter(array(min_by({one}, number)), one -> one IS NOT NULL) AS lowest
    FROM ({numbered}) GROUP BY person
"""

_SEVERAL = """
    SELECT person, bool_and({opts_in}) AS opts_in, count(*) AS rows, count(number) AS usable,
        array_sort(collect_list(CASE WHEN number IS NOT NULL AND turn <= {per_user} THEN {one} END)) AS lowest
    FROM (SELECT *, row_number() OVER (PARTITION BY person ORDER BY number NULLS LAST) AS turn FROM ({numbered}))
    GROUP BY person
"""

_RECORD = "named_struct('number', CAST(number AS BIGINT), 'query', query, 'url', url)"


@dataclass(frozen=True, eq=False)
class SparkLog:
    """Parquet files or folders, by the paths or addresses that Spark knows them by.

    where:
        names  has the column of each role: user, query, and url and opt_in if the log has them,
        rule   says which rows are usable,
        kept   is Spark's SQL for the rows that count, NULL of those whose time cannot be read; None if all do,
        how    says how the log was read, for people and for a release's card.
    """

    session: SparkSession = field(repr=False)
    paths: Sequence[str]
    names: Mapping[str, str]
    rule: RowRule
    max_broken: float
    kept: str | None = None
    how: Described | None = field(default=None, repr=False)
    _drawn: list[LogQuality] = field(default_factory=list, init=False, repr=False)

    @property
    def quality(self) -> LogQuality:
        """The fate of the rows, known once the log has been drawn from."""
        return quality_of_drawn(self._drawn, self.where)

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""
        return self.rule.levels

    @property
    def where(self) -> str:
        """The log's name in messages."""
        return self.paths[0] if len(self.paths) == 1 else f"the log of {len(self.paths)} paths from {self.paths[0]} on"

    def bound(self, per_user: int, key: int, *, reproducible: bool = False) -> SparkContributions:
        """Contribution bounding of every user (:mod:`blendp.engines.choice`), on the cluster, where it stays."""
        require_draw(per_user, key)
        tables = SparkTables(self.session, partial(spark_errors, self.where))
        rows = f"SELECT * FROM {self._rows(tables)}"
        reason = self.rule.reason_but_user(SPARK)
        numbered = (
            numbered_by_content(rows, reason, key, SPARK)
            if reproducible
            else _AT_RANDOM.format(reason=reason, key=key - (1 << 63), rows=rows)
        )
        numbered = f"SELECT * EXCEPT (person), try_validate_utf8(person) AS person FROM ({numbered})"
        drawn = (_ONE if per_user == 1 else _SEVERAL).format(
            opts_in=self.rule.opts_in(SPARK), numbered=numbered, per_user=per_user, one=_RECORD
        )
        contributions, total, usable = keep_people(tables, self.rule, self.where, drawn, rows, per_user, key)
        broken: Counter[str] = Counter()
        if usable < total:
            why = f"SELECT {self.rule.reason(SPARK)} AS why FROM ({rows})"
            reasons = tables.ask(f"SELECT why, count(*) AS rows FROM ({why}) GROUP BY why").to_pylist()
            broken = Counter({row["why"]: row["rows"] for row in reasons if row["why"] is not None})
        quality = judge(usable, broken, Counter(), self.max_broken, self.where, self.how)
        require_people(contributions.users, quality, self.where)
        self._drawn.append(quality)
        return contributions

    def _rows(self, tables: SparkTables) -> str:
        """The name of the rows, with the file and the place of each."""
        roles = {"user": "person", "query": "query", "url": "url", "opt_in": "opt_in"}
        columns = [
            f"CAST({quoted(self.names[role])} AS STRING) AS {name}"
            if role in self.names
            else f"CAST(NULL AS STRING) AS {name}"
            for role, name in roles.items()
        ]
        if self.kept is not None:
            columns.append(f"{self.kept} AS kept")
        places = ["_metadata.file_path AS file", "_metadata.row_index AS place"]
        with tables.guard(), lenient(self.session) if self.kept is not None else nullcontext():
            return tables.named(self.session.read.parquet(*self.paths).selectExpr(*places, *columns))


def columns_of(session: SparkSession, paths: Sequence[str]) -> dict[str, str]:
    """The columns of Parquet files with their types, in Spark's words."""
    with spark_errors(paths[0]):
        return dict(session.read.parquet(*paths).dtypes)


def require_plain(columns: Mapping[str, str], names: Mapping[str, str], where: str) -> None:
    """Raise unless the named columns hold what reads as the same text everywhere."""
    for name in names.values():
        if columns[name] not in _PLAIN:
            raise LogError(
                f"The column {name!r} of {where} holds {columns[name]}: give text, whole numbers or booleans."
            )


def quoted(name: str) -> str:
    """The name of a column in Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"
