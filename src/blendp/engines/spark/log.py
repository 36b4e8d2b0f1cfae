"""A log that Spark reaches: Parquet on a shared store, an object store, or this machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING

import pyarrow as pa

from blendp.engines.choice import numbered_by_content, require_draw
from blendp.engines.contributions import Contributions
from blendp.engines.database import connect
from blendp.engines.quality import Described, LogQuality
from blendp.engines.second_look import CHOSEN, GATHERED
from blendp.engines.spark.filters import lenient
from blendp.engines.staged import counted, judge, quality_of_drawn, require_people
from blendp.engines.usable import SPARK, RowRule
from blendp.errors import EngineError, LogError

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import SparkSession

_PLAIN = ("string", "boolean", "tinyint", "smallint", "int", "bigint")

_AT_RANDOM = """
    SELECT *, CASE WHEN {reason} IS NULL THEN xxhash64(CAST('{key}' AS BIGINT), file, place) END AS number FROM ({rows})
"""

_ONE = """
    SELECT try_validate_utf8(person) AS person, bool_and({opts_in}) AS opts_in, count(*) AS rows,
        count(number) AS usable, min_by(struct(number, query, url), number) AS lowest
    FROM ({numbered}) GROUP BY try_validate_utf8(person)
"""

_FACTS = """
    SELECT try_validate_utf8(person) AS person, bool_and({opts_in}) AS opts_in, count(*) AS rows,
        count(number) AS usable
    FROM ({numbered}) GROUP BY try_validate_utf8(person)
"""

_SEVERAL = """
    SELECT person, number, query, url
    FROM (SELECT *, row_number() OVER (PARTITION BY person ORDER BY number) AS turn
        FROM (SELECT person, number, query, url FROM ({numbered}) WHERE number IS NOT NULL AND is_valid_utf8(person)))
    WHERE turn <= {per_user}
"""

_GATHER = """
    SELECT owner, query, url, count(*) AS times
    FROM (SELECT * FROM ({rows}) JOIN {chosen} USING (person)) WHERE {reason} IS NULL GROUP BY owner, query, url
"""

_TOGETHER = """
    CREATE OR REPLACE TABLE drawn AS
    FROM drawn LEFT JOIN
        (SELECT person, list(struct_pack(number, query, url)) AS lowest FROM several GROUP BY person) USING (person)
"""


@dataclass(frozen=True, eq=False)
class SparkLog:
    """Parquet files or folders, by the paths or addresses that Spark knows them by.

    where:
        names  has the column of each role: user, query, and url and opt_in if the log has them,
        rule   says which rows are usable,
        kept   is Spark's SQL for the rows that count, None if all do,
        how    says how the log was read, for people and for a release's card.
    """

    session: SparkSession = field(repr=False)
    paths: Sequence[str]
    names: Mapping[str, str]
    rule: RowRule
    max_broken: float
    memory_limit: str | None = None
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

    def draw(self, per_user: int, key: int, *, reproducible: bool = False, holdings: bool = True) -> Contributions:
        """Contribution bounding of every user (:mod:`blendp.engines.choice`), on the cluster; only that comes back.

        Without ``holdings`` nobody's holdings can be asked for later.
        """
        require_draw(per_user, key)
        reason = self.rule.reason_but_user(SPARK)
        connection = connect(self.memory_limit)
        with self._rows() as rows:
            numbered = (
                numbered_by_content(rows, reason, key, SPARK)
                if reproducible
                else _AT_RANDOM.format(reason=reason, key=key - (1 << 63), rows=rows)
            )
            facts = _ONE if per_user == 1 else _FACTS
            connection.register("facts", self._ask(facts.format(opts_in=self.rule.opts_in, numbered=numbered)))
            connection.execute("CREATE TABLE drawn AS FROM facts")
            connection.unregister("facts")
            if per_user > 1:
                connection.register("several", self._ask(_SEVERAL.format(numbered=numbered, per_user=per_user)))
                connection.execute(_TOGETHER)
                connection.unregister("several")
            total, usable = counted(connection, self.rule)
            broken: Counter[str] = Counter()
            if usable < total:
                why = f"SELECT {self.rule.reason(SPARK)} AS why FROM ({rows})"
                reasons = self._ask(f"SELECT why, count(*) AS rows FROM ({why}) GROUP BY why").to_pylist()
                broken = Counter({row["why"]: row["rows"] for row in reasons if row["why"] is not None})
        quality = judge(usable, broken, Counter(), self.max_broken, self.where)
        gather = partial(self._gather, connection) if holdings else None
        contributions = Contributions.of_drawn(connection, per_user, self.rule, quality, self.where, gather)
        require_people(contributions.users, quality, self.where)
        self._drawn.append(quality)
        return contributions

    def _gather(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Of the chosen people every usable row, counted on the cluster (:mod:`blendp.engines.second_look`)."""
        chosen = f"blendp_{token_hex(8)}"
        people = connection.execute(f"FROM {CHOSEN}").to_arrow_table()
        with spark_errors(self.where):
            self.session.createDataFrame(people).createOrReplaceTempView(chosen)
        try:
            with self._rows() as rows:
                reason = self.rule.reason_but_user(SPARK)
                connection.register("counted", self._ask(_GATHER.format(rows=rows, chosen=chosen, reason=reason)))
        finally:
            self.session.catalog.dropTempView(chosen)
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {GATHERED} AS FROM counted")
        connection.unregister("counted")

    @contextmanager
    def _rows(self) -> Iterator[str]:
        """SQL for the rows, while it may be asked."""
        roles = {"user": "person", "query": "query", "url": "url", "opt_in": "opt_in"}
        columns = [
            f"CAST({_quoted(self.names[role])} AS STRING) AS {name}"
            if role in self.names
            else f"CAST(NULL AS STRING) AS {name}"
            for role, name in roles.items()
        ]
        if self.kept is not None:
            columns.append(f"coalesce({self.kept}, false) AS kept")
        places = ["_metadata.file_path AS file", "_metadata.row_index AS place"]
        view = f"blendp_{token_hex(8)}"
        with lenient(self.session) if self.kept is not None else nullcontext():
            with spark_errors(self.where):
                self.session.read.parquet(*self.paths).selectExpr(*places, *columns).createOrReplaceTempView(view)
            try:
                yield f"SELECT * FROM {view}"
            finally:
                self.session.catalog.dropTempView(view)

    def _ask(self, sql: str) -> pa.Table:
        with spark_errors(self.where):
            return self.session.sql(sql).toArrow()


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


@contextmanager
def spark_errors(where: str) -> Iterator[None]:
    """Turn what Spark raises into a sentence."""
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, PySparkException

    try:
        yield
    except AnalysisException as error:
        raise LogError(f"Spark cannot read {where} ({_first_line(error)}): check paths, format and columns.") from error
    except (PySparkException, Py4JError) as error:
        raise EngineError(f"Spark failed on {where} ({_first_line(error)}): see its logs.") from error


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).strip().splitlines()[0].rstrip(".")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
