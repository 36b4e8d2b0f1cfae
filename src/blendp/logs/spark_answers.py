"""Opening a table of answers on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from blendp.answers import MAX_VALUES, Attribute, Questionnaire
from blendp.engines.spark import SparkSettings, spark_session
from blendp.engines.spark.answers import CHOICE, POSITION, SparkAnswers
from blendp.engines.spark.failures import spark_errors
from blendp.engines.spark.log import columns_of, require_plain
from blendp.errors import LogError, ParameterError, require_choice
from blendp.logs.answer_columns import FALSE, MISSING, NO_QUESTION, TRUE, WAYS, WHITE, in_order, listed_attribute
from blendp.logs.answers_file import asked_names, chosen_columns
from blendp.logs.stored_answers import refuse_faults

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def open_spark_answers(
    source: str | Sequence[str],
    settings: SparkSettings,
    *,
    columns: Sequence[str] | None = None,
    questionnaire: Questionnaire | None = None,
    opt_in_column: str | None = None,
    missing: str = "refuse",
) -> SparkAnswers:
    """Open Parquet files, folders or patterns of answers by the paths or addresses that Spark knows them by.

    The options are those of :func:`blendp.read_answers`. Columns hold texts, whole numbers or truth values. People with
    missing answers cannot be dropped here, since everybody's place counts.
    """
    require_choice("missing", missing, WAYS)
    if missing == "drop":
        raise ParameterError("missing", missing, "refuse or value on Spark", "Drop rows before, or take value.")
    paths = [source] if isinstance(source, str) else list(source)
    if not paths:
        raise LogError("The table has no files: give at least one path.")
    asked = asked_names(columns, questionnaire, opt_in_column)
    session = spark_session(settings)
    kinds = columns_of(session, paths)
    where = paths[0]
    position_of = chosen_columns([name.strip() for name in kinds], asked, opt_in_column, where)
    names = {name: list(kinds)[position] for name, position in position_of.items()}
    require_plain(kinds, names, where)
    with spark_errors(where):
        read = session.read.parquet(*paths)
        table, files = _placed(read, names, opt_in_column, missing)
        if not files:
            raise LogError(f"{where} has no rows: give a file with answers.")
        questions = [name for name in names if name != opt_in_column]
        listed = [
            listed_attribute(questionnaire, name) or _inferred(table, str(number), name, where)
            for number, name in enumerate(questions)
        ]
        coded = _coded(table, listed)
        facts = _facts(coded, questions, opt_in_column is not None)
    _refuse(facts, questions, opt_in_column, where, several=files > 1)
    return SparkAnswers(
        Questionnaire(tuple(listed)),
        facts["people"],
        facts["opt in"] if opt_in_column is not None else None,
        questionnaire is None,
        where,
        coded,
    )


def _placed(
    read: DataFrame, names: Mapping[str, str], opt_in_column: str | None, missing: str
) -> tuple[DataFrame, int]:
    """Everybody's place and texts, and how many files there are."""
    from pyspark.sql import functions as fn

    texts = {}
    numbers = iter(range(len(names)))
    for name, whole_name in names.items():
        quoted = "`" + whole_name.replace("`", "``") + "`"
        text = _trimmed(fn.col(quoted).cast("string"))
        text = fn.when(text != "", text)
        if name == opt_in_column:
            texts["choice"] = text
        else:
            texts[str(next(numbers))] = fn.coalesce(text, fn.lit(MISSING)) if missing == "value" else text
    rows = read.select(
        fn.col("_metadata.file_path").alias("file"),
        fn.col("_metadata.row_index").alias("row"),
        *(text.alias(name) for name, text in texts.items()),
    )
    counted = {row["file"]: row["count"] for row in rows.groupBy("file").count().collect()}
    before, offsets = 0, []
    for file in sorted(counted):
        offsets.append((file, before))
        before += counted[file]
    if not before:
        return rows, 0
    if len(offsets) == 1:
        return rows.withColumn(POSITION, fn.col("row")), 1
    starts = read.sparkSession.createDataFrame(offsets, "file string, start bigint")
    return rows.join(fn.broadcast(starts), "file").withColumn(POSITION, fn.col("start") + fn.col("row")), len(offsets)


def _trimmed(text: Column) -> Column:
    """The text without white space around it: most texts begin and end with visible ASCII, which is quickly seen."""
    from pyspark.sql import functions as fn

    is_bare = text.between("!", "~") & fn.substring(text, -1, 1).between("!", "~")
    return fn.when(is_bare, text).otherwise(fn.btrim(text, fn.lit(WHITE)))


def _inferred(table: DataFrame, column: str, name: str, where: str) -> Attribute:
    """The question with the answers that people gave."""
    distinct = table.select(f"`{column}`").distinct().limit(MAX_VALUES + 2).collect()
    values = {row[0] for row in distinct} - {None}
    trouble = f"The column {name!r} of {where} has"
    if len(values) > MAX_VALUES:
        raise LogError(f"{trouble} more than {MAX_VALUES} different answers: {NO_QUESTION}.")
    if len(values) == 1:
        raise LogError(f"{trouble} one answer: everybody answers the same: leave the column out (columns=...).")
    return Attribute(name, tuple(in_order(values)))


def _coded(table: DataFrame, listed: Sequence[Attribute]) -> DataFrame:
    """Numbers in place of texts: -1 where an answer is not listed, null where it is missing."""
    from pyspark.sql import functions as fn

    codes = [
        (fn.array_position(fn.array(*map(fn.lit, attribute.values)), fn.col(f"`{number}`")) - 1).alias(str(number))
        for number, attribute in enumerate(listed)
    ]
    left_out = [(fn.col(f"`{number}`") == MISSING).alias(f"{number} missing") for number in range(len(listed))]
    if "choice" in table.columns:
        lower = fn.lower("choice")
        codes.append(fn.when(lower.isin(*TRUE), True).when(lower.isin(*FALSE), False).alias(CHOICE))
        codes.append(fn.col("choice").isNull().alias("no choice"))
    return table.select("file", "row", POSITION, *codes, *left_out)


def _facts(coded: DataFrame, questions: Sequence[str], says_opt_in: bool) -> dict[str, Any]:
    """How many people there are, and how many rows have each fault, with the first of them."""
    from pyspark.sql import functions as fn

    at = fn.struct("file", "row")
    faults: dict[tuple[str, int], Column] = {}
    for number in range(len(questions)):
        code = fn.col(f"`{number}`")
        missing = fn.coalesce(fn.col(f"`{number} missing`"), fn.lit(False))
        faults |= {
            ("missing", number): code.isNull(),
            ("missing unlisted", number): missing & (code < 0),
            ("unlisted", number): (code < 0) & ~missing,
        }
    if says_opt_in:
        faults["no choice", -1] = fn.col("no choice")
        faults["choice", -1] = fn.col(CHOICE).isNull() & ~fn.col("no choice")
    sums = [fn.count("*").alias("people")]
    sums += [fn.count_if(CHOICE).alias("opt in")] if says_opt_in else []
    for index, bad in enumerate(faults.values()):
        sums += [fn.count_if(bad).alias(f"bad {index}"), fn.min(fn.when(bad, at)).alias(f"first {index}")]
    row = coded.agg(*sums).collect()[0]
    return {
        "people": row["people"],
        "opt in": row["opt in"] if says_opt_in else None,
        "faults": {key: (row[f"bad {n}"], row[f"first {n}"]) for n, key in enumerate(faults) if row[f"bad {n}"]},
    }


def _refuse(
    facts: Mapping[str, Any], questions: Sequence[str], opt_in_column: str | None, where: str, *, several: bool
) -> None:
    faults = {}
    for (fault, number), (rows, first) in facts["faults"].items():
        stands = f"row {first['row'] + 1}" + (f" of {first['file']}" if several else "")
        faults[fault, questions[number] if number >= 0 else str(opt_in_column)] = rows, stands
    refuse_faults(faults, where)
