"""Answers on Spark are counted as those in memory are, and refused in the same words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blendp import Attribute, Questionnaire, SimulationRandom, SurveyParameters, simulate_survey
from blendp.answers import Answers
from blendp.engines.spark import SparkSettings
from blendp.errors import LogError, ParameterError
from blendp.logs import open_answers, open_spark_answers, read_answers, write_answers
from blendp.lots import MAX_LOT, Lots, Part, Tables

ASKED = Questionnaire((Attribute("a", ("no", "yes")), Attribute("b", ("1", "2", "10"))))
LOCAL = SparkSettings("local[2]")

pytestmark = pytest.mark.usefixtures("spark")


def people(number: int) -> Answers:
    generator = np.random.default_rng(3)
    codes = np.stack([generator.integers(0, size, number) for size in ASKED.sizes], axis=1)
    return Answers(ASKED, codes.astype(np.int32), generator.random(number) < 0.3)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("answers") / "answers.parquet"
    write_answers(people(300), path)
    return path


def test_tables_and_borders_are_those_of_the_rows(table: Path) -> None:
    on_spark = open_spark_answers(str(table), LOCAL, questionnaire=ASKED, opt_in_column="opt_in")
    in_memory = people(300)
    assert (on_spark.people, on_spark.opt_in_people) == (300, in_memory.opt_in_people)
    lots = Lots(bytes(range(16)))
    ranks = [0, 10, 100, 300 - (in_memory.opt_in_people or 0)]
    assert on_spark.client_borders(lots, ranks) == in_memory.client_borders(lots, ranks)
    asked = [
        Tables(Part(), ((0,), (1, 0))),
        Tables(Part(MAX_LOT // 3, MAX_LOT // 2), ((1,),)),
        Tables(Part(high=MAX_LOT // 2, opt_in=False), ((0, 1),)),
    ]
    for one, other in zip(on_spark.tables(lots, asked), in_memory.tables(lots, asked), strict=True):
        assert all(np.array_equal(first, second) for first, second in zip(one, other, strict=True))


@pytest.mark.parametrize(("method", "share"), [("cbps", 0.25), ("rsfd", None)])
def test_the_same_seed_gives_the_same_survey(table: Path, method: str, share: float | None) -> None:
    sources = (
        open_spark_answers(str(table), LOCAL, questionnaire=ASKED, opt_in_column="opt_in"),
        read_answers(table, questionnaire=ASKED, opt_in_column="opt_in"),
    )
    parameters = SurveyParameters(method=method, delta=1e-4)
    first, second = (
        simulate_survey(source, parameters, opt_in=share, random=SimulationRandom(5)) for source in sources
    )
    assert np.array_equal(first.frequency, second.frequency)
    assert first.opt_in_people == second.opt_in_people


def test_files_follow_each_other_by_their_paths(tmp_path: Path) -> None:
    both = people(40)
    for name, rows in (("1.parquet", np.arange(25)), ("2.parquet", np.arange(25, 40))):
        write_answers(both.take(rows), tmp_path / name)
    on_spark = open_spark_answers(str(tmp_path), LOCAL, opt_in_column="opt_in")
    assert on_spark.inferred
    assert on_spark.questionnaire == ASKED
    lots, asked = Lots(bytes(16)), [Tables(Part(high=MAX_LOT // 2), ((0, 1),))]
    assert np.array_equal(on_spark.tables(lots, asked)[0][0], both.tables(lots, asked)[0][0])
    pq.write_table(pa.table({"a": ["no", "perhaps"], "b": ["1", "2"], "opt_in": [True, True]}), tmp_path / "3.parquet")
    with pytest.raises(LogError, match=r"'a' .* has 1 answer that the .* does not list \(on row 2 of .*3\.parquet\)"):
        open_spark_answers(str(tmp_path), LOCAL, questionnaire=ASKED)


@pytest.mark.parametrize(
    "columns",
    [
        {"a": ["no", None, " ", "yes"], "b": [1, 2, 10, 1]},
        {"a": ["no", "yes", "maybe", "perhaps"], "b": ["1", "2", "10", "3"]},
        {"a": ["no", "yes"], "b": ["1", "2"], "c": ["yes", None]},
        {"a": ["no", "yes"], "b": ["1", "2"], "c": ["yes", "perhaps"]},
        {"a": ["no", "yes"]},
    ],
)
def test_faults_are_told_in_the_same_words(tmp_path: Path, columns: dict[str, list[object]]) -> None:
    path = tmp_path / "answers.parquet"
    pq.write_table(pa.table(columns), path)
    opt_in_column = "c" if "c" in columns else None
    messages = []
    for read in (
        lambda: open_answers(path, questionnaire=ASKED, opt_in_column=opt_in_column),
        lambda: open_spark_answers(str(path), LOCAL, questionnaire=ASKED, opt_in_column=opt_in_column),
    ):
        with pytest.raises(LogError) as refused:
            read()
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


def test_what_spark_cannot_do_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.parquet"
    pq.write_table(pa.table({"a": [0.5, 1.5], "b": ["x", "x"]}), path)
    with pytest.raises(ParameterError, match="refuse or value on Spark"):
        open_spark_answers(str(path), LOCAL, missing="drop")
    with pytest.raises(LogError, match="holds double"):
        open_spark_answers(str(path), LOCAL)
    with pytest.raises(LogError, match="has one answer"):
        open_spark_answers(str(path), LOCAL, columns=["b"])
    pq.write_table(pa.table({"a": pa.array([], pa.string())}), path)
    with pytest.raises(LogError, match="has no rows"):
        open_spark_answers(str(path), LOCAL)


def test_white_space_around_answers_is_taken_off(tmp_path: Path) -> None:
    answers = ["no", " no", "no\u3000", "\tno", "\xa0no ", "\u2028no\n", "yés", " yés", "yés\x85", "é", "\u2003é", "~"]
    pq.write_table(pa.table({"a": answers, "b": ["1", "2"] * 6}), tmp_path / "log.parquet")
    on_spark, in_memory = (
        open_spark_answers(str(tmp_path / "log.parquet"), LOCAL),
        read_answers(tmp_path / "log.parquet"),
    )
    assert on_spark.questionnaire == in_memory.questionnaire
    assert in_memory.questionnaire.sizes == (4, 2)
    lots, asked = Lots(bytes(16)), [Tables(Part(), ((0, 1),))]
    assert np.array_equal(on_spark.tables(lots, asked)[0][0], in_memory.tables(lots, asked)[0][0])
