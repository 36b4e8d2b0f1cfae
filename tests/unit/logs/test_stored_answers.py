"""Answers that may be larger than memory: read, refused and counted as those in memory are."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from blendp import Attribute, Questionnaire, SimulationRandom, SurveyParameters, simulate_survey
from blendp.answers import Answers
from blendp.errors import EngineError, LogError
from blendp.logs import fields, open_answers, read_answers, write_answers
from blendp.logs import stored_answers as reader
from blendp.lots import MAX_LOT, Lots, Part, Tables

ASKED = Questionnaire((Attribute("a", ("no", "yes")), Attribute("b", ("1", "2", "10"))))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Batches of a few rows, and a folder for temporary files."""
    monkeypatch.setattr(fields, "BLOCK", 40)
    monkeypatch.setattr(reader, "_BATCH", 3)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def people(number: int = 50, *, opt_in: bool = False) -> Answers:
    generator = np.random.default_rng(3)
    codes = np.stack([generator.integers(0, size, number) for size in ASKED.sizes], axis=1)
    return Answers(ASKED, codes.astype(np.int32), generator.random(number) < 0.3 if opt_in else None)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("listed", [True, False])
def test_they_are_what_is_read_into_memory(small: Path, tmp_path: Path, ending: str, listed: bool) -> None:
    path = tmp_path / f"answers{ending}"
    write_answers(people(opt_in=True), path)
    options: dict[str, Any] = {"questionnaire": ASKED if listed else None, "opt_in_column": "opt_in"}
    rows: list[int] = []
    stored, in_memory = open_answers(path, **options, progress=rows.append), read_answers(path, **options)
    assert (stored.people, stored.inferred, stored.questionnaire) == (50, not listed, in_memory.questionnaire)
    assert stored.opt_in_people == in_memory.opt_in_people
    assert rows[-1] == 50
    assert len(rows) > 5
    lots = Lots(bytes(16))
    ranks = [0, 5, 20, in_memory.people - (in_memory.opt_in_people or 0)]
    assert stored.client_borders(lots, ranks) == in_memory.client_borders(lots, ranks)
    asked = [
        Tables(Part(), ((0,), (1,), (0, 1))),
        Tables(Part(MAX_LOT // 4, MAX_LOT // 2), ((1, 0),)),
        Tables(Part(opt_in=True), ((1,),)),
    ]
    for one, other in zip(stored.tables(lots, asked), in_memory.tables(lots, asked), strict=True):
        assert all(np.array_equal(first, second) for first, second in zip(one, other, strict=True))
    assert list(small.iterdir())
    del stored
    gc.collect()
    assert not list(small.iterdir())


@pytest.mark.usefixtures("small")
def test_a_survey_of_them_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "answers.parquet"
    write_answers(people(400, opt_in=True), path)
    for method in ("cbps", "rsfd"):
        for share in (0.25, None):
            outcomes = [
                simulate_survey(
                    read(path, questionnaire=ASKED, opt_in_column="opt_in"),
                    SurveyParameters(method=method, delta=1e-4),
                    opt_in=share,
                    random=SimulationRandom(5),
                )
                for read in (open_answers, read_answers)
            ]
            assert np.array_equal(outcomes[0].frequency, outcomes[1].frequency)
            assert outcomes[0].design.clients == outcomes[1].design.clients


BAD = {
    "ragged": "a,b\n" + "no,1\n" * 20 + "no,1,2\n" + "no,1\n",
    "quote": "a,b\n" + "no,1\n" * 20 + 'no,"1\n',
    "missing": "a,b\n" + "no,1\n" * 20 + "no,\n" * 3,
    "one missing": "a,b\n" + "no,1\n" * 20 + ",2\n",
    "unlisted": "a,b\n" + "yes,2\n" * 20 + "no,3\n" + "maybe,1\n" * 15,
    "no rows": "a,b\n",
    "no choice": "a,b,c\n" + "no,1,true\n" * 20 + "no,1,\n" * 2,
    "choice": "a,b,c\n" + "no,1,true\n" * 20 + "no,1,perhaps\n",
    "not UTF-8": "a,b\n" + "no,1\n" * 20 + "n\udcff,1\n",
    "no column": "a,d\nno,1\n",
}


@pytest.mark.parametrize("fault", BAD)
def test_what_is_wrong_is_told_in_the_same_words(small: Path, tmp_path: Path, fault: str) -> None:
    path = tmp_path / "answers.csv"
    path.write_bytes(BAD[fault].encode("utf-8", "surrogateescape"))
    opt_in_column = "c" if "choice" in fault else None
    messages = []
    for read in (read_answers, open_answers):
        with pytest.raises(LogError) as refused:
            read(path, questionnaire=ASKED, opt_in_column=opt_in_column)
        messages.append(str(refused.value))
    assert messages[0] == messages[1]
    assert not list(small.iterdir())


@pytest.mark.usefixtures("small")
def test_missing_answers_are_dropped_or_counted(tmp_path: Path) -> None:
    path = tmp_path / "answers.parquet"
    columns = {"a": ["no", None, "yes", "no"] * 5, "b": [1.0, 2.0, float("nan"), 10.0] * 5}
    pq.write_table(pa.table(columns), path)
    dropped = open_answers(path, questionnaire=ASKED, missing="drop")
    assert (dropped.people, dropped.only_complete) == (10, True)
    assert dropped.tables(Lots(bytes(16)), [Tables(Part(), ((1,),))])[0][0].tolist() == [5, 0, 5]
    valued = open_answers(path, missing="value")
    assert valued.people == 20
    assert valued.questionnaire.attributes[1].values == ("1", "2", "10", "(missing)")
    with pytest.raises(LogError, match=r"'a' .* has 5 missing answers \(first on row 2\) and the"):
        open_answers(path, questionnaire=ASKED, missing="value")
    columns["a"] = [None] * 20
    pq.write_table(pa.table({"a": pa.array([None] * 20, pa.string()), "b": columns["b"]}), path)
    with pytest.raises(LogError, match="has a missing answer in every row"):
        open_answers(path, missing="drop")


def test_columns_that_are_no_questions_are_refused_early(small: Path, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("id,a\n" + "\n".join(f"{number},{number % 2}" for number in range(1500)))
    with pytest.raises(LogError, match=r"'id' .* has more than 1000 different answers"):
        open_answers(path)
    path.write_text("a,b\n" + "yes,1\nyes,2\n" * 9)
    with pytest.raises(LogError, match=r"'a' .* has one answer: everybody answers the same"):
        open_answers(path)
    assert not list(small.iterdir())


def test_files_that_vanish_or_do_not_fit_are_told(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "answers.csv"
    write_answers(people(), path)
    stored = open_answers(path, questionnaire=ASKED)
    (folder,) = small.iterdir()
    (folder / "1").write_bytes(b"")
    with pytest.raises(EngineError, match="cut short"):
        stored.tables(Lots(bytes(16)), [Tables(Part(), ((0,),))])
    del stored
    gc.collect()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("blendp.engines.stored_answers.np.ascontiguousarray", full)
    with pytest.raises(EngineError, match="No space left on device"):
        open_answers(path, questionnaire=ASKED)
    assert not list(small.iterdir())


def test_dialects_are_those_of_the_reader_into_memory(small: Path, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_bytes("a;größe\nja;groß\nnein;klein\nja;klein\n".encode("cp1252"))
    said: list[dict[str, Any]] = [{}, {"delimiter": ";", "columns": ["größe"]}]
    for options in ({"encoding": "cp1252", **each} for each in said):
        stored, in_memory = open_answers(path, **options), read_answers(path, **options)
        assert stored.questionnaire == in_memory.questionnaire
        assert stored.people == 3
    del stored
    gc.collect()
    assert not list(small.iterdir())
