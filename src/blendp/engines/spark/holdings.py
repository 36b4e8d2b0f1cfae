"""What people hold, on the executors: the exact sums of :mod:`blendp.mechanisms.filtered_union`, in SQL.

Every sum is one of whole numbers: the order in which executors add up has no part in it. Roots are of whole numbers
below 2^20, which doubles hold exactly, and are rounded down:

    floor(v l/|v|) = floor(sqrt(floor(v^2 l^2/|v|^2)))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np

from blendp.arrays import Ids, repeated_in_blocks
from blendp.engines.choice import number_of_rank, user_keys
from blendp.engines.spark import texts
from blendp.engines.spark.listed import located
from blendp.engines.spark.numbered import NumberedRecords
from blendp.engines.spark.tables import SparkTables
from blendp.engines.usable import SPARK, RowRule
from blendp.headlist import HeadList
from blendp.mechanisms.filtered_union import MAX_DIFFERENT, ShareSums
from blendp.mechanisms.filtered_union.holdings import GRID, filter_weights
from blendp.mechanisms.filtered_union.two_scale import CLIP, SHARE_GRID

_GATHERED = """
    SELECT name, usable, query, url, count(*) AS times, {plain} AS is_plain
    FROM (SELECT * FROM ({rows}) JOIN ({chosen}) USING (person)) WHERE {reason} IS NULL
    GROUP BY name, usable, query, url
"""

_NORMALISED = f"""
    SELECT name, usable, query, url, sum(times) AS times FROM (
        SELECT name, usable, query, url, times FROM {{gathered}} WHERE is_plain
        UNION ALL
        SELECT name, usable, {texts.QUERY}(query) AS query, {texts.URL}(url) AS url, times
        FROM {{gathered}} WHERE NOT is_plain)
    GROUP BY name, usable, query, url
"""

_RANKED = """
    SELECT *, count(*) OVER (PARTITION BY person) AS different, sum(times) OVER (PARTITION BY person) AS total,
        row_number() OVER (PARTITION BY person ORDER BY query, url) - 1 AS nth
    FROM (SELECT name AS person, usable, query, url, times FROM ({different}))
"""

_KEPT = "SELECT person, query, url, different FROM {ranked}"

_CHOSEN = f"""
    SELECT person, query, url, different
    FROM (SELECT *, row_number() OVER (PARTITION BY person ORDER BY number) AS turn
        FROM (SELECT *, {{number}} FROM (SELECT *, {{keys}} FROM {{ranked}} WHERE different > {MAX_DIFFERENT})))
    WHERE turn <= {MAX_DIFFERENT}
"""

_WEIGHTS = f"""
    SELECT position, CAST(floor(sqrt((c * c * {GRID**2}) div norm)) AS BIGINT) AS weight
    FROM (SELECT position, c, sum(c * c) OVER (PARTITION BY person) AS norm
        FROM (SELECT person, position, c FROM ({{kept}}) AS kept JOIN {{passing}} AS passing
            ON kept.query = passing.query AND kept.url <=> passing.url))
"""

_SHARES = f"""
    SELECT person, item, ({2 * SHARE_GRID} * sum(times) + total) div (2 * total) AS y
    FROM (SELECT person, {{item}} AS item, times, total FROM ({{cells}}) WHERE cell < {{last}})
    GROUP BY person, item, total
"""

_CUT = "CASE WHEN {norm} > {length}*{length} THEN CAST(floor(sqrt(({v}*{v}*{length}*{length}) div {norm})) AS BIGINT)"

_TWO_SCALES = f"""
    SELECT item, sum(z) AS z, sum({_CUT.format(norm="rest", v="x", length=SHARE_GRID - CLIP)} ELSE x END) AS x
    FROM (SELECT *, sum(x * x) OVER (PARTITION BY person) AS rest
        FROM (SELECT *, y - z AS x
            FROM (SELECT *, {_CUT.format(norm="norm", v="y", length=CLIP)} ELSE y END AS z
                FROM (SELECT *, sum(y * y) OVER (PARTITION BY person) AS norm FROM ({{shares}})))))
    GROUP BY item
"""

_DISPERSION = f"""
    SELECT coalesce(sum(least(norm div {SHARE_GRID}, {SHARE_GRID})), 0) AS dispersion
    FROM (SELECT person, sum(y * y) AS norm FROM ({{shares}}) GROUP BY person)
"""


@dataclass(frozen=True, eq=False)
class SparkHoldings:
    """Every different record of people on the cluster (:class:`~blendp.mechanisms.filtered_union.HeldRecords`).

    where:
        ranked     names the table of them: person, query, url, times, total (of all records of the person), different
                   (how many these are), nth,
        kept       is SQL for those that may weigh in the list,
        different, holders  are how many different records somebody has, and how many people have so many,
        changed    says whether people have other rows than when the log was drawn from.
    """

    tables: SparkTables = field(repr=False)
    people: int
    ranked: str
    kept: str = field(repr=False)
    different: Ids = field(repr=False)
    holders: Ids = field(repr=False)
    changed: bool

    @classmethod
    def of(cls, tables: SparkTables, rule: RowRule, rows: str, chosen: str, people: tuple[int, int], key: int) -> Self:
        """Of the chosen people (SQL for every spelling of theirs: person, name, usable) among the rows of the log.

        ``people`` is how many they are, and how many of them have a record.
        """
        plain = texts.is_plain_record(rule.normalise, rule.levels, "query", "url")
        gathered = tables.view(
            _GATHERED.format(plain=plain, rows=rows, chosen=chosen, reason=rule.reason_but_user(SPARK)), keep=True
        )
        different = f"SELECT * FROM {gathered}"
        odd = tables.ask(f"SELECT count_if(NOT is_plain) AS odd FROM {gathered}").to_pylist()[0]["odd"]
        if odd:
            with tables.guard():
                texts.register(tables.session, rule.normalise)
            different = _NORMALISED.format(gathered=gathered)
        ranked = tables.view(_RANKED.format(different=different), keep=True)
        facts = tables.ask(f"""
            SELECT different, count(*) AS holders, count_if(total <> usable) AS changed
            FROM {ranked} WHERE nth = 0 GROUP BY different
        """)
        tables.drop(gathered)
        numbers = {name: facts[name].to_numpy().astype(np.int64) for name in ("different", "holders", "changed")}
        kept = _KEPT.format(ranked=ranked)
        if numbers["different"].max(initial=0) > MAX_DIFFERENT:
            keys, number = user_keys("person", key, SPARK.from_hex), number_of_rank("nth", SPARK.folded)
            chosen_of_many = tables.view(_CHOSEN.format(ranked=ranked, keys=keys, number=number), keep=True)
            kept += f" WHERE different <= {MAX_DIFFERENT} UNION ALL SELECT * FROM {chosen_of_many}"
        changed = bool(numbers["changed"].any()) or int(numbers["holders"].sum()) != people[1]
        return cls(tables, people[0], ranked, kept, numbers["different"], numbers["holders"], changed)

    def different_up_to(self, bound: int) -> int:
        """How many different records people have, so many at most of each, all people together."""
        return int((np.minimum(self.different, bound) * self.holders).sum())

    @cached_property
    def weighed(self) -> NumberedRecords:
        """The records that occur, in the order of V of round 1."""
        weights = ", ".join(map(str, filter_weights()[1:].tolist()))
        weight = f"element_at(array({weights}), CAST(least(different, {MAX_DIFFERENT}) AS INT))"
        records = f"SELECT query, url, CAST(sum({weight}) AS BIGINT) AS value FROM ({self.kept}) GROUP BY query, url"
        return NumberedRecords.of(self.tables, records)

    def filter_totals(self) -> Iterator[Ids]:
        """V of round 1 for every record that occurs, ascending, in blocks."""
        return repeated_in_blocks(self.weighed.values, self.weighed.sizes)

    def list_totals(self, passing: Ids, emphasis: Ids) -> Ids:
        """W of round 2 for the records at these positions, all of which pass."""
        totals = np.zeros(len(passing), dtype=np.int64)
        if len(passing):
            there = self.weighed.find(passing, c=emphasis)
            weights = _WEIGHTS.format(kept=self.kept, passing=there)
            added = self.tables.ask(f"SELECT position, sum(weight) AS total FROM ({weights}) GROUP BY position")
            totals[np.searchsorted(passing, added["position"].to_numpy())] = added["total"].to_numpy()
        return totals

    def named(self, positions: Ids) -> Ids:
        """Positions are the records' numbers."""
        return positions

    def share_sums(self, head_list: HeadList) -> ShareSums:
        """The shares of what people hold in the cells of a list, added up."""
        cells, last = located(self.tables, f"SELECT * FROM {self.ranked}", head_list), head_list.cells - 1
        of_cells = self.tables.view(_SHARES.format(item="cell", cells=cells, last=last), keep=True)
        sums = self.tables.ask(_TWO_SCALES.format(shares=f"SELECT * FROM {of_cells}"))
        clipped, excess = np.zeros(last, dtype=np.int64), np.zeros(last, dtype=np.int64)
        clipped[sums["item"].to_numpy()] = sums["z"].to_numpy()
        excess[sums["item"].to_numpy()] = sums["x"].to_numpy()
        of_queries = _SHARES.format(item="query_number", cells=cells, last=last)
        dispersions = [
            int(self.tables.ask(_DISPERSION.format(shares=shares))["dispersion"][0].as_py())
            for shares in (f"SELECT * FROM {of_cells}", of_queries)
        ]
        self.tables.drop(of_cells)
        return ShareSums(clipped, excess, *dispersions)
