"""What contribution bounding leaves of a log on Spark: it stays on the executors, and is counted there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from blendp.arrays import BLOCK, Ids, repeated_in_blocks
from blendp.engines.choice import LOT_BITS, lot
from blendp.engines.spark import texts
from blendp.engines.spark.holdings import SparkHoldings
from blendp.engines.spark.listed import located
from blendp.engines.spark.numbered import NumberedRecords
from blendp.engines.spark.tables import SparkTables
from blendp.engines.usable import SPARK, RowRule
from blendp.errors import LogError
from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.mechanisms.filtered_union import ShareSums

_LEAD_BITS = 16  # of lots, by which people are counted to find out who is the so manieth

_SPELLED = """
    SELECT *, {somebody} AS names_somebody, {lot} AS lot,
        {plain_user} AND forall(lowest, one -> {plain_record}) AS is_plain
    FROM ({drawn})
"""

_PEOPLE = "SELECT person AS name, lot, opts_in, usable, lowest FROM {spelled} WHERE names_somebody"

_NORMALISED = f"""
    SELECT person, person AS name, opts_in, usable, lowest FROM {{spelled}} WHERE names_somebody AND is_plain
    UNION ALL
    SELECT person, {texts.USER}(person) AS name, opts_in, usable, {texts.RECORDS}(lowest) AS lowest
    FROM {{spelled}} WHERE names_somebody AND NOT is_plain
"""

_MERGED = """
    SELECT name, {lot} AS lot, bool_and(opts_in) AS opts_in, sum(usable) AS usable,
        array_sort(collect_list(one) FILTER (WHERE turn <= {per_user})) AS lowest
    FROM (SELECT *, row_number() OVER (PARTITION BY name ORDER BY one.number NULLS LAST) AS turn
        FROM (SELECT name, opts_in, if(place > 0, 0, usable) AS usable, one
            FROM {normalised} LATERAL VIEW OUTER posexplode(lowest) AS place, one))
    GROUP BY name
"""


_TAKEN = """
    SELECT name, turn, get(lowest, CAST(turn % nullif(size(lowest), 0) AS INT)) AS one
    FROM ({people}) LATERAL VIEW explode(sequence(0, {last})) AS turn WHERE {group}
"""


@dataclass(frozen=True, eq=False)
class SparkContributions:
    """At most ``per_user`` records of each of ``users`` people, in tables on the cluster.

    where:
        marked     is how many people opt in; None if the log is silent,
        spellings  is SQL for whose each spelling of a user id is: person, name,
        people     is SQL for the people: name, lot, opts_in, usable, and lowest, their records (number, query, url),
        rows       is SQL for the rows of the log.
    """

    tables: SparkTables = field(repr=False)
    rule: RowRule
    where: str
    users: int
    marked: int | None
    spellings: str = field(repr=False)
    people: str = field(repr=False)
    rows: str = field(repr=False)

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""
        return self.rule.levels

    def grouped(self, opting: int | None, listing: int) -> SparkGroups:
        """The groups: the first so many by their lots opt in, or who is marked; the first of these make the list."""
        opts_in = "opts_in" if opting is None else self._first(opting, self.users, "true")
        among = self.marked if opting is None else opting
        assert among is not None
        lists = self._first(listing, among, opts_in)
        groups = {
            "head_list": f"({opts_in}) AND ({lists})",
            "estimate": f"({opts_in}) AND NOT ({lists})",
            "client": f"NOT ({opts_in})",
        }
        return SparkGroups(self, groups)

    def _first(self, count: int, people: int, among: str) -> str:
        """SQL for whether somebody is one of the first so many of the people for whom SQL holds, by lot, then by name.

        They are counted by the leading bits of their lots; then those alone are looked at who have the same as the
        last one in.
        """
        if count in (0, people):
            return "true" if count else "false"
        lead = f"shiftright(lot, {LOT_BITS - _LEAD_BITS})"
        heads = self.tables.ask(f"""
            SELECT {lead} AS head, count(*) AS people FROM ({self.people}) WHERE {among} GROUP BY head
        """).sort_by("head")
        ends = np.cumsum(heads["people"].to_numpy())
        which = int(np.searchsorted(ends, count))
        before = int(ends[which - 1]) if which else 0
        alike = self.tables.ask(f"""
            SELECT lot, name FROM ({self.people}) WHERE ({among}) AND {lead} = {heads["head"][which].as_py()}
        """)
        ordered = sorted(zip(alike["lot"].to_pylist(), alike["name"].to_pylist(), strict=True))
        last, name = ordered[count - before - 1]
        spelt = f"decode(unhex('{name.encode().hex()}'), 'UTF-8')"
        return f"lot < {last} OR (lot = {last} AND name <= {spelt})"


@dataclass(eq=False)
class SparkGroups:
    """The people in their groups: SQL for who is in each."""

    drawn: SparkContributions
    groups: dict[str, str] = field(repr=False)
    _numbered: Callable[[], NumberedRecords] | None = field(default=None, init=False, repr=False)
    _queries: NumberedRecords | None = field(default=None, init=False, repr=False)
    _holdings: SparkHoldings | None = field(default=None, init=False, repr=False)

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""
        return self.drawn.levels

    def record_counts(self, per_user: int) -> tuple[Ids, Ids]:
        """How often records occur among so many of each list maker: every count, ascending, and how many have it."""
        numbered = NumberedRecords.of(
            self.drawn.tables,
            f"""
            SELECT query, url, count(*) AS value FROM ({self._taken("head_list", per_user)})
            WHERE query IS NOT NULL GROUP BY query, url
            """,
        )
        self._numbered = lambda: numbered
        return numbered.values, numbered.sizes

    def query_counts(self) -> tuple[Ids, Ids]:
        """The same of the queries of these records, by the counts of the records: people are not looked at again."""
        assert self._numbered is not None
        records = self._numbered().records
        counts = f"SELECT query, CAST(NULL AS STRING) AS url, sum(value) AS value FROM {records} GROUP BY query"
        self._queries = NumberedRecords.of(self.drawn.tables, counts)
        return self._queries.values, self._queries.sizes

    def holdings(self, key: int) -> SparkHoldings:
        """Every different record of the list makers, of which the key draws which are kept."""
        drawn = self.drawn
        chosen = f"""
            SELECT person, name, usable
            FROM ({drawn.spellings}) JOIN (SELECT * FROM ({drawn.people}) WHERE {self.groups["head_list"]}) USING (name)
        """
        self._holdings = holdings = SparkHoldings.of(drawn.tables, drawn.rule, drawn.rows, chosen, self._people(), key)
        if holdings.changed:
            raise LogError("The log changed while it was read: draw from one that stays as it is.")
        self._numbered = lambda: holdings.weighed
        return holdings

    def _people(self) -> tuple[int, int]:
        """How many list makers there are, and how many of them have a record."""
        asked = f"SELECT count(*) AS people, count_if(usable > 0) AS holders FROM ({self.drawn.people})"
        row = self.drawn.tables.ask(f"{asked} WHERE {self.groups['head_list']}").to_pylist()[0]
        return row["people"], row["holders"]

    def texts(self, positions: Ids) -> list[Record]:
        """What the records say that have these positions in the order of the latest counts or totals."""
        assert self._numbered is not None
        return self._numbered().texts(positions)

    def query_texts(self, positions: Ids) -> list[str]:
        """What the queries say that have these positions in the order of the latest counts of queries."""
        assert self._queries is not None
        return [query for query, _ in self._queries.texts(positions)]

    def share_sums(self, head_list: HeadList) -> ShareSums:
        """The shares of the latest holdings in the cells of a list, added up."""
        assert self._holdings is not None
        return self._holdings.share_sums(head_list)

    def cells(self, group: str, head_list: HeadList, per_user: int) -> Ids:
        """How many of so many records of each person of a group fall into each cell."""
        cells = located(self.drawn.tables, self._taken(group, per_user), head_list)
        counted = self.drawn.tables.ask(f"SELECT cell, count(*) AS records FROM ({cells}) GROUP BY cell")
        counts = np.zeros(head_list.cells, dtype=np.int64)
        counts[counted["cell"].to_numpy()] = counted["records"].to_numpy()
        return counts

    def client_cells(self, head_list: HeadList, per_user: int) -> Iterator[Ids]:
        """The cells of so many records of each client, a row for each, in blocks."""
        tables = self.drawn.tables
        cells = located(tables, self._taken("client", per_user), head_list)
        rows = tables.view(
            f"""
            SELECT cells, count(*) AS clients FROM (
                SELECT transform(array_sort(collect_list(struct(turn, cell))), each -> each.cell) AS cells
                FROM ({cells}) GROUP BY name)
            GROUP BY cells
            """,
            keep=True,
        )
        blocks = ceil(self.drawn.users * per_user / BLOCK)
        for block in range(blocks):
            part = tables.ask(f"SELECT cells, clients FROM {rows} WHERE pmod(xxhash64(cells), {blocks}) = {block}")
            different = part["cells"].combine_chunks().flatten().to_numpy().astype(np.int64).reshape(-1, per_user)
            order = np.lexsort(different.T[::-1])
            for some in repeated_in_blocks(order, part["clients"].to_numpy()[order]):
                yield different[some]
        tables.drop(rows)

    def _taken(self, group: str, per_user: int) -> str:
        """SQL for so many records of each person of a group: name, turn, query, url; repeated where there are fewer."""
        taken = _TAKEN.format(people=self.drawn.people, last=per_user - 1, group=self.groups[group])
        return f"SELECT name, turn, one.query AS query, one.url AS url FROM ({taken})"


def keep_people(
    tables: SparkTables, rule: RowRule, where: str, drawn: str, rows: str, per_user: int, key: int
) -> tuple[SparkContributions, int, int]:
    """The people, and how many rows they come from, and how many of these are usable.

    ``drawn`` is SQL for what was drawn for every spelling of a user id: person, opts_in, rows, usable, lowest.
    """
    plain_record = texts.is_plain_record(rule.normalise, rule.levels, "one.query", "one.url")
    spelled = tables.view(
        _SPELLED.format(
            somebody=rule.names_somebody(SPARK),
            lot=lot("person", key, SPARK),
            plain_user=texts.is_plain_user("person"),
            plain_record=plain_record,
            drawn=drawn,
        ),
        keep=True,
    )
    facts = tables.ask(f"""
        SELECT coalesce(sum(rows), 0) AS rows, coalesce(sum(usable) FILTER (WHERE names_somebody), 0) AS usable,
            count_if(names_somebody) AS users, count_if(names_somebody AND opts_in) AS marked,
            count_if(names_somebody AND NOT is_plain) AS odd
        FROM {spelled}
    """).to_pylist()[0]
    users, marked = facts["users"], facts["marked"]
    spellings = f"SELECT person, person AS name FROM {spelled} WHERE names_somebody"
    people = _PEOPLE.format(spelled=spelled)
    if facts["odd"]:
        with tables.guard():
            texts.register(tables.session, rule.normalise)
        normalised = tables.view(_NORMALISED.format(spelled=spelled), keep=True)
        merged = _MERGED.format(lot=lot("name", key, SPARK), normalised=normalised, per_user=per_user)
        people = f"SELECT * FROM {tables.view(merged, keep=True)}"
        spellings = f"SELECT person, name FROM {normalised}"
        asked = tables.ask(f"SELECT count(*) AS users, count_if(opts_in) AS marked FROM ({people})").to_pylist()[0]
        users, marked = asked["users"], asked["marked"]
        tables.drop(spelled)
    contributions = SparkContributions(
        tables, rule, where, users, marked if rule.opt_in else None, spellings, people, rows
    )
    return contributions, facts["rows"], facts["usable"]
