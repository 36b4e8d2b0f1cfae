"""Answers that Spark reaches: counted on the cluster, so that only tables of counts come back.

A person's place is the number of their row, files following each other in the order of their paths. So lots
(:mod:`blendp.lots`) are those that other engines work out for the same rows of one file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from blendp.answers import Questionnaire
from blendp.arrays import Ids
from blendp.engines.spark.failures import spark_errors
from blendp.lots import BIN_BITS, BIN_SHIFT, LOT_BITS, Lots, Part, Tables, borders_by_bin, shape_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CHOICE, POSITION = "opts_in", "position"
"""The columns that say whether a person opts in, and where their row stands."""

_ENTRIES = "array<struct<number:int,cell:bigint>>"


@dataclass(frozen=True, eq=False)
class SparkAnswers:
    """What people answered, on a cluster: see :class:`~blendp.answers.AnswerSource`.

    where:
        rows  has a row for every person: ``position``, ``opts_in`` if the table says so, and for every question the
              number of the answer in its list, in the columns ``0``, ``1``, ...
    """

    questionnaire: Questionnaire
    people: int
    opt_in_people: int | None
    inferred: bool
    where: str
    rows: DataFrame = field(repr=False)
    only_complete: bool = False

    def tables(self, lots: Lots, asked: Sequence[Tables]) -> list[list[Ids]]:
        """How many people of each part gave each combination of answers, for all tables that are asked for."""
        from pyspark.sql import functions as fn

        sizes = self.questionnaire.sizes
        shapes = [[shape_of(sizes, axes) for axes in tables.axes] for tables in asked]
        drawn = self.rows.withColumn("lot", _lot(lots))
        inside = [_holds(tables.part) for tables in asked]
        entries, number = [], 0
        for tables, of_tables, holds in zip(asked, shapes, inside, strict=True):
            cells = []
            for axes, shape in zip(tables.axes, of_tables, strict=True):
                cells.append(fn.struct(fn.lit(number).alias("number"), _cell(axes, shape).alias("cell")))
                number += 1
            entries.append(fn.when(holds, fn.array(*cells)).otherwise(fn.array().cast(_ENTRIES)))
        each = drawn.where(reduce(lambda one, other: one | other, inside)).select(
            fn.explode(fn.flatten(fn.array(*entries))).alias("entry")
        )
        with spark_errors(self.where):
            counted = each.groupBy("entry.number", "entry.cell").count().toArrow()
        flat = [np.zeros(int(np.prod(shape)), dtype=np.int64) for of_tables in shapes for shape in of_tables]
        columns = (counted[name].to_numpy() for name in ("number", "cell", "count"))
        for table, cell, count in zip(*(column.tolist() for column in columns), strict=True):
            flat[table][cell] = count
        filled = iter(flat)
        return [[next(filled).reshape(shape) for shape in of_tables] for of_tables in shapes]

    def client_borders(self, lots: Lots, ranks: Sequence[int]) -> list[int]:
        """For each rank the lot below which so many are of those whom the table says not to opt in."""
        from pyspark.sql import functions as fn

        drawn = self.rows.where(~fn.col(CHOICE)).select(_lot(lots).alias("lot"))
        in_bin = fn.shiftright("lot", BIN_SHIFT)
        with spark_errors(self.where):
            counted = drawn.groupBy(in_bin.alias("bin")).count().toArrow()
        bins = np.zeros(1 << BIN_BITS, dtype=np.int64)
        bins[counted["bin"].to_numpy()] = counted["count"].to_numpy()

        def lots_in(chosen: Ids) -> Ids:
            with spark_errors(self.where):
                column = drawn.where(in_bin.isin(*chosen.tolist())).toArrow()["lot"]
            return np.asarray(column.to_numpy(), dtype=np.int64)

        return borders_by_bin(ranks, bins, lots_in)


def _lot(lots: Lots) -> Column:
    """The lot of a row: the first 60 bits, 15 hexadecimal digits, of AES of its place."""
    from pyspark.sql import functions as fn

    block = fn.unhex(fn.lpad(fn.hex(fn.col(POSITION)), 32, "0"))
    digits = fn.substring(fn.hex(fn.aes_encrypt(block, fn.lit(lots.key), fn.lit("ECB"))), 1, LOT_BITS // 4)
    return fn.conv(digits, 16, 10).cast("bigint")


def _holds(part: Part) -> Column:
    from pyspark.sql import functions as fn

    inside: Column = (fn.col("lot") >= part.low) & (fn.col("lot") < part.high)
    if part.opt_in is None:
        return inside
    return inside & (fn.col(CHOICE) if part.opt_in else ~fn.col(CHOICE))


def _cell(axes: Sequence[int], shape: Sequence[int]) -> Column:
    """The number of a combination of answers."""
    from pyspark.sql import functions as fn

    cell: Column = fn.lit(0).cast("bigint")
    for axis, size in zip(axes, shape, strict=True):
        cell = cell * size + fn.col(f"`{axis}`")
    return cell
