"""Tables in place of logs and answers: the verbs are the same, and so is what they say."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import blendp
from blendp import Columns, LogError, ParameterError, Parameters, SimulationRandom, SurveyParameters, methods
from tests.unit.render.survey_samples import fair_answers

PEOPLE = 3_000


def log_table() -> pa.Table:
    numbers = np.random.default_rng(2)
    return pa.table(
        {
            "user": [f"u{number}" for number in range(PEOPLE)],
            "query": [f"q{number}" for number in numbers.choice(4, PEOPLE, p=[0.4, 0.3, 0.2, 0.1])],
            "trusts": numbers.random(PEOPLE) < 0.2,
        }
    )


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return log_table().to_pandas()


def the_same(first: blendp.Outcome, second: blendp.Outcome) -> bool:
    return first.groups == second.groups and first.records() == second.records()


def test_an_experiment_on_a_table_is_that_on_its_log(frame: pd.DataFrame) -> None:
    by_hand = methods.simulate(blendp.log_of_table(log_table()), opt_in=0.2, random=SimulationRandom(1))
    again = blendp.simulate(blendp.read_log(frame), opt_in=0.2, random=SimulationRandom(1))
    assert the_same(by_hand, again)
    staged = [
        blendp.simulate(one, opt_in=0.2, random=SimulationRandom(1)) for one in (frame, pl.DataFrame(log_table()))
    ]
    assert the_same(*staged)
    assert staged[0].head_list.records == 4


def test_who_opts_in_is_a_column_marks_of_rows_or_a_share(frame: pd.DataFrame) -> None:
    trusting = int(frame.trusts.sum())
    for opt_in in ("trusts", frame.trusts, frame.trusts.to_numpy(), frame.trusts.tolist()):
        assert blendp.run(frame, opt_in=opt_in).groups.opt_in == trusting
    assert blendp.run(frame, columns=Columns(opt_in="trusts")).groups.opt_in == trusting
    assert blendp.run(frame, opt_in=0.1, seed=1).groups.opt_in == PEOPLE / 10
    assert blendp.run((batch for batch in log_table().to_batches(500)), opt_in="trusts").groups.opt_in == trusting


def test_marks_of_pandas_are_refused_where_their_rows_stand_in_another_order(frame: pd.DataFrame) -> None:
    """By place they would take people into the opt-in group who are not in it."""
    with pytest.raises(ParameterError, match=r"another index.*opt_in=\"trusts\".*to_numpy"):
        blendp.run(frame.sort_values("query"), opt_in=frame.trusts)
    with pytest.raises(ParameterError, match="another index"):
        blendp.run_survey(cyclists(), opt_in=pd.Series([True, False] * 500)[::-1], questionnaire=ASKED)
    some = frame[frame["query"] != "q3"]
    assert blendp.run(some, opt_in=some.trusts).groups.opt_in == int(some.trusts.sum())
    assert blendp.run(pl.DataFrame(log_table()), opt_in=frame.trusts).groups.opt_in == int(frame.trusts.sum())
    marked = blendp.run(blendp.read_log(log_table()), opt_in=frame.trusts)
    assert marked.groups.opt_in == int(frame.trusts.sum())


def test_a_person_opts_in_whose_rows_are_all_marked() -> None:
    table = pa.table({"user": ["a", "a", "b", "b"] * 5, "query": ["q"] * 20})
    marks = np.array([True, False, True, True] * 5)
    assert blendp.run(table, opt_in=marks).groups.opt_in == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"opt_in": [True, False]}, "True or False for each of the 3000 rows"),
        ({"opt_in": np.ones(PEOPLE)}, "opt_in = '3000 marks that are not all True or False"),
        ({"opt_in": "trusts", "columns": Columns(opt_in="query2")}, "query2, as the columns say"),
        ({"opt_in": [True] * PEOPLE, "columns": Columns(opt_in="trusts")}, "Leave one of them out"),
        ({"opt_in": 0.1, "columns": Columns(opt_in="trusts")}, "left out where the log has an opt-in column"),
        ({}, "Say who opts in"),
    ],
)
def test_two_answers_to_one_question_are_refused(frame: pd.DataFrame, options: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        blendp.run(frame, **options)


def test_what_is_neither_log_nor_table_is_refused_with_what_is_accepted(frame: pd.DataFrame) -> None:
    for wrong in (5, None, {"user": ["a"]}, "log.csv"):
        with pytest.raises(ParameterError, match=r"log = '\w+' is not allowed: it must be a log, a table that speaks"):
            blendp.run(wrong, opt_in=0.1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"blendp\.open_log"):
        blendp.run("log.csv", opt_in=0.1)
    with pytest.raises(ParameterError, match="left out with a log"):
        blendp.run(blendp.open_log(frame), opt_in=0.1, columns=Columns())
    with pytest.raises(ParameterError, match="Name the column when the log is opened"):
        blendp.run(blendp.open_log(frame), opt_in="trusts")
    with pytest.raises(ParameterError, match=r"Read it with blendp\.read_log"):
        blendp.evaluate(blendp.open_log(frame), opt_in=0.1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="a share, or the name of a column, for a stream"):
        blendp.run(log_table().to_reader(), opt_in=[True] * PEOPLE)


def test_parameters_are_named(frame: pd.DataFrame) -> None:
    for verb in (blendp.run, blendp.evaluate):
        with pytest.raises(ParameterError, match=r"parameters = 4 is not allowed.*Parameters\(epsilon=4\)"):
            verb(frame, 4, opt_in=0.1)  # type: ignore[arg-type]


def test_the_card_says_which_rows_of_a_table_count(frame: pd.DataFrame, tmp_path: Path) -> None:
    log = blendp.open_log(frame.assign(Datum="2026-05-01"), where="query <> 'q3'", since="2026-04-01")
    blendp.write_release(blendp.run(log, opt_in=0.2), tmp_path / "filtered")
    reading = json.loads((tmp_path / "filtered/release.json").read_text(encoding="utf-8"))["parameters"]["reading"]
    assert reading == {
        "format": "table",
        "columns": {"user": "user", "query": "query", "time": "Datum"},
        "rows": {"where": "query <> 'q3'", "since": "2026-04-01", "until": None, "time_column": None},
    }
    assert blendp.run(frame.rename(columns={"user": "Benutzer"}), opt_in=0.2).reading == {
        "format": "table",
        "columns": {"user": "Benutzer", "query": "query"},
    }


def test_a_population_is_a_table() -> None:
    people = blendp.population("aol", users=2_000, seed=1)
    assert pl.DataFrame(people).equals(pl.DataFrame(people.table()))
    assert blendp.run(people, opt_in=0.1).groups.client == 1_800


def test_evaluations_and_plans_take_tables(frame: pd.DataFrame) -> None:
    parameters = Parameters(size=4)
    by_log = blendp.evaluate(blendp.read_log(frame), parameters, opt_in=0.2, repeat=2)
    assert blendp.evaluate(frame, parameters, opt_in=0.2, repeat=2).to_dict() == by_log.to_dict()
    planned = blendp.plan(5_000, parameters, opt_in=0.2, like=frame)
    assert (planned.private, planned.first.users, list(planned.plans)) == (False, 5_000, ["blendp"])
    assert blendp.plan(parameters=parameters, opt_in=0.2, like=frame).first.users == PEOPLE
    with pytest.raises(ParameterError, match=r"blendp\.read_log"):
        blendp.plan(like="log.csv")


def test_evaluations_and_plans_say_which_rows_of_a_log_count(frame: pd.DataFrame) -> None:
    log = blendp.read_log(frame, where="query <> 'q1'")
    assert log.reading is not None
    assert log.reading["rows"]["where"] == "query <> 'q1'"
    assert blendp.evaluate(log, opt_in=0.2).to_dict()["reading"] == log.reading
    assert blendp.plan(like=log).to_dict()["reading"] == log.reading
    assert "reading" not in blendp.plan().to_dict()


def test_surveys_take_tables() -> None:
    answers = fair_answers(1_500)
    values = [
        np.array(attribute.values)[answers.codes[:, i]] for i, attribute in enumerate(answers.questionnaire.attributes)
    ]
    frame = pd.DataFrame(dict(zip(answers.questionnaire.names, values, strict=True)))
    asked = answers.questionnaire
    parameters = SurveyParameters(epsilon=2)
    by_answers = blendp.simulate_survey(answers, parameters, opt_in=0.2, random=SimulationRandom(1))
    by_table = blendp.simulate_survey(frame, parameters, opt_in=0.2, questionnaire=asked, random=SimulationRandom(1))
    assert by_answers.rows() == by_table.rows()
    marks = np.arange(1_500) < 300
    with_column = frame.assign(trusts=marks)
    for opt_in, table in ((marks, frame), ("trusts", with_column)):
        release = blendp.run_survey(table, parameters, opt_in=opt_in, questionnaire=asked)
        assert release.opt_in_people == 300
    with pytest.raises(ParameterError, match="answers_from_data"):
        blendp.run_survey(frame, parameters, opt_in=0.2)
    with pytest.raises(ParameterError, match="answers = 'int' is not allowed: it must be answers, a table"):
        blendp.run_survey(5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="Say it when reading"):
        blendp.run_survey(answers, opt_in=0.1, missing="drop")
    assert blendp.plan_survey(frame, [parameters], opt_in=0.1, questionnaire=asked).people == 1_500
    trial = blendp.evaluate_survey(frame, parameters, opt_in=0.1, questionnaire=asked, runs=1)
    assert trial.to_pandas()["runs"].tolist() == [1]


class _Elsewhere:
    """Answers that lie where an engine reaches them, as Spark does."""

    def __init__(self, answers: blendp.Answers) -> None:
        self._answers = answers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._answers, name)

    def client_borders(self, *asked: Any) -> Any:
        return self._answers.client_borders(*asked)


def test_answers_of_any_engine_are_surveyed_and_those_not_kept_are_refused_where_all_are_needed() -> None:
    elsewhere: Any = _Elsewhere(fair_answers(300, 0))
    assert blendp.run_survey(elsewhere, opt_in=0.2, answers_from_data=True).people == 300
    for verb in (blendp.plan_survey, blendp.evaluate_survey):
        with pytest.raises(ParameterError, match="answers that are kept"):
            verb(elsewhere)


def test_neither_pandas_nor_polars_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    release = blendp.run(log_table(), opt_in=0.2)
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    assert release.to_arrow().num_rows == 5
    for library in ("pandas", "polars"):
        with pytest.raises(
            blendp.EngineError, match=f"{library} is not installed: install it with: pip install {library}"
        ):
            getattr(release, f"to_{library}")()


def opened_in_many_ways(tmp_path: Path) -> dict[str, blendp.StagedLog]:
    """The same rows where they can be reached as often as needed."""
    table = log_table()
    plain, quoted, lines, parquet = (tmp_path / f"log{end}" for end in (".csv", "2.csv", ".ndjson", ".parquet"))
    table.to_pandas().to_csv(plain, index=False)
    quoted.write_text(plain.read_text().replace("u17,", '"u17",'))
    lines.write_text("\n".join(json.dumps(row) for row in table.to_pylist()))
    pq.write_table(table, parquet)
    files = {path.name: blendp.open_log(path, columns=Columns(levels=1)) for path in (plain, quoted, lines, parquet)}
    filtered = {f"some of {name}": blendp.open_log(one, where="query <> 'q3'") for name, one in TABLES.items()}
    return files | {name: blendp.open_log(one) for name, one in TABLES.items()} | filtered


TABLES = {"pandas": log_table().to_pandas(), "polars": pl.DataFrame(log_table()), "pyarrow": log_table()}


def test_a_log_whose_rows_can_still_be_reached_is_run_again(tmp_path: Path) -> None:
    """A cell that is run again: each run is a release of its own, and none disturbs those before it."""
    for name, log in opened_in_many_ways(tmp_path).items():
        first, second = (blendp.simulate(log, opt_in=0.2, random=SimulationRandom(1)) for _ in range(2))
        assert the_same(first, second), name
        released = [blendp.run(log, Parameters(opt_in_records=one), opt_in=0.3, seed=4) for one in (1, "many")]
        assert {one.groups.opt_in for one in released} == {PEOPLE * 3 / 10}, name
        assert log.quality.rows == PEOPLE, name
        assert log.numbered().users == PEOPLE, name


def test_contributions_of_two_draws_live_side_by_side(tmp_path: Path) -> None:
    for name, log in opened_in_many_ways(tmp_path).items():
        early, late = (log.draw(1, 5, reproducible=True) for _ in range(2))
        everybody = np.arange(PEOPLE)
        holdings = [drawn.holdings(everybody, 9) for drawn in (late, early)]
        np.testing.assert_array_equal(holdings[0].totals, holdings[1].totals, err_msg=name)
        assert late.texts(late.records[:9, 0]) == early.texts(early.records[:9, 0]), name


def test_a_run_that_failed_does_not_spoil_the_log(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("user,query\nu1,\nu2,q\n")
    log = blendp.open_log(tmp_path / "log.csv")
    for _ in range(2):
        with pytest.raises(LogError, match=r"50 %|broken"):
            log.draw(1, 1)


def test_what_can_be_read_only_once_says_so_the_second_time(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log.csv")
    writer = Thread(target=lambda: log_table().to_pandas().to_csv(tmp_path / "log.csv", index=False))
    writer.start()
    reader = pa.RecordBatchReader.from_batches(log_table().schema, log_table().to_batches(500))
    batches = (batch for batch in log_table().to_batches(500))
    piped = blendp.open_log(tmp_path / "log.csv")
    writer.join()
    for log in (piped, blendp.open_log(batches), blendp.open_log(reader)):
        blendp.run(log, opt_in=0.2)
        for again in (lambda log=log: blendp.run(log, opt_in=0.2), log.numbered):
            with pytest.raises(LogError, match=r"come once, .* drawn from: open it again, .*blendp\.read_log"):
                again()


def test_an_impossible_share_costs_no_stream_its_rows(tmp_path: Path, frame: pd.DataFrame) -> None:
    taken: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in pa.Table.from_pandas(frame).to_batches():
            taken.append(batch.num_rows)
            yield batch

    stream = batches()
    with pytest.raises(ParameterError, match=r"opt_in = 1.5 .* a share above 0 and below 1"):
        blendp.run(stream, opt_in=1.5)
    assert not taken
    blendp.run(stream, opt_in=0.5)
    file = tmp_path / "log.parquet"
    frame.to_parquet(file)
    log = blendp.open_log(file)
    file.unlink()
    with pytest.raises(ParameterError, match="opt_in = 0"):  # before the file is missed
        blendp.run(log, opt_in=0)


def test_a_log_that_was_kept_elsewhere_is_opened_anew() -> None:
    log = blendp.open_log(log_table())
    assert log.numbered().users == blendp.run(log, opt_in=0.2).groups.people == PEOPLE


def test_an_opened_log_shows_itself_in_one_short_line(tmp_path: Path, frame: pd.DataFrame) -> None:
    (tmp_path / "log.csv").write_text("user,query,url\nu1,q,v\n")
    assert repr(blendp.open_log(frame)) == "<StagedLog of the table, queries>"
    assert repr(blendp.open_log(tmp_path / "log.csv")) == f"<StagedLog of {tmp_path}/log.csv, <query, URL> records>"


def test_a_plan_of_a_survey_takes_one_way_or_several() -> None:
    one = blendp.plan_survey(fair_answers(), SurveyParameters(epsilon=1), opt_in=0.1)
    several = blendp.plan_survey(fair_answers(), (SurveyParameters(epsilon=1),), opt_in=0.1)
    assert [way.parameters for way in one.methods] == [way.parameters for way in several.methods]


def test_columns_may_be_named_by_a_mapping(frame: pd.DataFrame, tmp_path: Path) -> None:
    renamed = frame.rename(columns={"user": "who", "query": "text"})
    assert blendp.run(renamed, opt_in=0.1, columns={"user": "who", "query": "text"}).groups.people == PEOPLE
    renamed.to_csv(tmp_path / "log.csv", index=False)
    log = blendp.read_log(tmp_path / "log.csv", columns={"user": "who", "query": "text", "opt_in": "trusts"})
    assert log.users == PEOPLE
    wrong: tuple[Any, ...] = ({"users": "who"}, ["who", "text"], "who")
    for columns in wrong:
        with pytest.raises(ParameterError, match=r"blendp\.Columns\("):
            blendp.run(frame, opt_in=0.1, columns=columns)
    with pytest.raises(ParameterError, match=r"columns\.user = 3 "):
        blendp.run(frame, opt_in=0.1, columns={"user": 3})


def test_an_option_that_does_not_exist_is_named_with_its_function_and_the_nearest(frame: pd.DataFrame) -> None:
    functions: dict[str, Any] = {name: getattr(blendp, name) for name in ("open_log", "read_log", "log_of_table")}
    functions["open_spark_log"] = partial(blendp.open_spark_log, settings=blendp.SparkSettings())
    for name, function in functions.items():
        for option, hint in (
            ("levels", r"columns=blendp\.Columns\(levels=\.\.\.\)"),
            ("delimeter", "delimiter"),
            ("zzz", "format, columns, names"),
        ):
            with pytest.raises(TypeError, match=rf"^{name}\(\) has no option '{option}'.*{hint}"):
                function(frame, **{option: 1})


anything: Any = blendp
"""Taken without types, to be called with what stands in the wrong place."""

ASKED = blendp.Questionnaire((blendp.Attribute("cycles", ("no", "yes")),))


def cyclists() -> pd.DataFrame:
    return pd.DataFrame({"cycles": ["yes", "no"] * 500})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: anything.run_survey(cyclists(), 1, opt_in=0.1, questionnaire=ASKED), "parameters = 1 .* SurveyParam"),
        (lambda: anything.run_survey(cyclists(), Parameters(), opt_in=0.1, questionnaire=ASKED), "parameters = Param"),
        (lambda: anything.evaluate_survey(cyclists(), 3, opt_in=0.1, questionnaire=ASKED), "parameters = 3 "),
        (lambda: anything.plan_survey(cyclists(), 3), "parameters = 3 .* SurveyParameters"),
        (lambda: anything.plan_survey(cyclists(), []), r"parameters = \[\] "),
        (lambda: anything.plan_survey(cyclists(), opt_in="trusts"), "opt_in = 'trusts' .* a share of at least 0"),
        (lambda: anything.run_survey(cyclists(), opt_in=0.1, questionnaire={"cycles": ["no"]}), "questionnaire = {"),
        (
            lambda: anything.open_answers(cyclists(), questionnaire=ASKED),
            "source = 'DataFrame' .* a path.*read_answers",
        ),
        (lambda: anything.write_answers(cyclists(), "answers.csv"), "answers = 'DataFrame' .*Answers.*read_answers"),
        (lambda: anything.plan(1_000, 4), "parameters = 4 .* blendp.Parameters"),
        (lambda: anything.plan(1_000, []), r"parameters = \[\] "),
        (lambda: anything.plan(100_000, target=50), "target = 50 .* a Target.* blendp.Target"),
        (lambda: anything.plan(cyclists()), "people = 'DataFrame' .* like="),
        (lambda: anything.plan(-3), "people = -3 "),
        (lambda: anything.plan(Parameters()), r"people = Parameters.* blendp\.plan\(500_000\)"),
        (lambda: anything.run(Parameters(), cyclists()), "parameters = 'DataFrame' is not allowed"),
        (lambda: anything.plan(100_000, columns={"user": "who"}), "columns = .* left out .* population"),
        (lambda: anything.plan(like={"user": [1]}), "like = 'dict' "),
    ],
)
def test_what_stands_in_the_wrong_place_is_named(call: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        call()


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        (pd.Series(["a"]), r"with \.to_frame\(\)"),
        (pl.Series(["a"]), r"with \.to_frame\(\)"),
        ([{"user": 1, "query": "a"}], r"pyarrow\.Table\.from_pylist\("),
        ([(1, "a")], r"pandas\.DataFrame\(.*columns="),
        (np.array([["1", "a"]]), r"pandas\.DataFrame\(.*columns="),
        (pd.DataFrame, "pyarrow.table"),
    ],
)
def test_what_is_no_table_becomes_one_in_the_way_that_is_told(source: Any, remedy: str) -> None:
    with pytest.raises(ParameterError, match=f"^log = .*{remedy}"):
        blendp.run(source, opt_in=0.1)


def test_numbers_that_are_not_pythons_own_are_told_from_wrong_ones(frame: pd.DataFrame) -> None:
    with pytest.raises(ParameterError, match=r"epsilon = 4.0 .* convert it with float\(\)"):
        anything.Parameters(epsilon=np.float32(4))
    with pytest.raises(ParameterError, match=r"opt_in = 0.2\d* .* convert it with float\(\)"):
        anything.run(frame, opt_in=np.float32(0.2))
    with pytest.raises(ParameterError, match=r"opt_in = 0.2\d* .* convert it with float\(\)"):
        anything.run_survey(cyclists(), opt_in=np.float32(0.2), questionnaire=ASKED)


def test_marks_are_refused_without_words_of_numpy(frame: pd.DataFrame) -> None:
    with pytest.raises(ParameterError, match=r"opt_in = '1 mark' .* each of the 3000 rows"):
        blendp.run(frame, opt_in=[True])
    with pytest.raises(ParameterError, match="opt_in = '3000 marks that are not all True or False' "):
        blendp.run(frame, opt_in=frame["query"])
    with pytest.raises(ParameterError, match=r"opt_in = '1 mark' .* True or False for each of the 1000 people"):
        blendp.run_survey(cyclists(), opt_in=[True], questionnaire=ASKED)


def test_one_is_counted_in_the_singular(frame: pd.DataFrame) -> None:
    log = blendp.read_log(frame)
    assert repr(blendp.evaluate(log, opt_in=0.2)).endswith(" 1 run>")
    assert str(ASKED) == "questionnaire of 1 question with 2 answers"
