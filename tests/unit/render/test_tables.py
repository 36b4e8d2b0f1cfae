"""No text in a table can start a formula, however a spreadsheet parts cells; and every text can be had back."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import blendp
from blendp.answers import Answers
from blendp.logs import log_of_table
from blendp.methods import Parameters, run
from blendp.render.release.files import write_release
from blendp.render.survey.files import write_survey
from blendp.render.tables import cell_of_text, text_of_cell, wildcard_text, write_table
from tests.support import KnownKey
from tests.unit.render.survey_samples import fair_answers

SOURCE = Path(blendp.__file__).parent
AWKWARD = "=+-@'\";|,\t\r\n \u200b\ufeff\uff1dab0*\\"
TEXTS = st.one_of(st.text(AWKWARD, max_size=12), st.text(max_size=8))


def starts_formula(cell: str) -> bool:
    """Whether a spreadsheet may take a cell for a formula; a plain number is none."""
    if re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?", cell):
        return False
    shown = [sign for sign in cell if sign.isprintable() and not sign.isspace()]
    return bool(shown) and shown[0] in "=+-@\uff1d\uff0b\uff0d\uff20"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def cells_of(content: str, delimiter: str) -> list[str]:
    return [cell for row in csv.reader(io.StringIO(content, newline=""), delimiter=delimiter) for cell in row]


@given(first=TEXTS, second=TEXTS, number=st.floats(-1e9, 1e9))
@example("=HYPERLINK(0)", '@SUM(1)"', -1.5)
@example("a", 'x;"=cmd', 0.0)
@example("a", "x\n=cmd", 0.0)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_cell_starts_a_formula_and_every_text_comes_back(
    tmp_path: Path, first: str, second: str, number: float
) -> None:
    path = tmp_path / "table.csv"
    write_table(path, ("query", "url", "number"), [(first, second, number), (second, first, None)])
    content = path.read_bytes().decode()
    rows = list(csv.reader(io.StringIO(content, newline="")))
    assert [[text_of_cell(cell) for cell in row] for row in rows[1:]] == [
        [first, second, str(number)],
        [second, first, ""],
    ]
    for delimiter in ",;\t|":
        assert not [cell for cell in cells_of(content, delimiter) if starts_formula(cell)]


@given(st.lists(TEXTS, min_size=2, max_size=10, unique=True))
def test_different_texts_have_different_cells(texts: list[str]) -> None:
    assert len({cell_of_text(wildcard_text(text)) for text in texts}) == len(texts)


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("weather", "weather"),
        ("a=b", "a=b"),
        ("c++", "c++"),
        ("", ""),
        ("=1+1", "'=1+1"),
        ("-5", "'-5"),
        (" @x", "' @x"),
        ("'tis", "''tis"),
        ("don't", "don't"),
        ("a;=b", "a;'=b"),
    ],
)
def test_what_a_cell_looks_like(text: str, cell: str) -> None:
    assert cell_of_text(text) == cell
    assert text_of_cell(cell) == text


def test_releases_and_surveys_hold_no_formula(tmp_path: Path) -> None:
    people = 3_000
    queries = [("=cmd|' /c calc'!a0", "+1", "@sum(1)", "-2+3", "plain")[i % 5] for i in range(people)]
    table = pa.table({"user": [str(i) for i in range(people)], "query": queries, "url": queries})
    write_release(run(log_of_table(table), Parameters(), opt_in=0.3, random=KnownKey(1)), tmp_path / "release")
    asked = blendp.Questionnaire((blendp.Attribute("=1+1", ("@yes", "-no")),))
    answers = Answers(asked, fair_answers(500).codes[:, :1])
    parameters = blendp.SurveyParameters(method="sample")
    write_survey(blendp.run_survey(answers, parameters, opt_in=0.0, random=KnownKey(2)), tmp_path / "survey")
    for path in (
        tmp_path / "release/estimates.csv",
        tmp_path / "release/trends.csv",
        tmp_path / "survey/frequencies.csv",
    ):
        content = path.read_text()
        assert not [cell for cell in cells_of(content, ",") if starts_formula(cell)]
    asked_about = {text_of_cell(row["value"]) for row in rows_of(tmp_path / "survey/frequencies.csv")}
    assert asked_about == {"@yes", "-no"}
    assert {text_of_cell(row["query"]) for row in rows_of(tmp_path / "release/trends.csv")} == {*queries, "*"}


def test_every_table_is_written_in_one_place() -> None:
    """Logs and answers, which blendp reads again, are not tables of results: pyarrow and ``synthetic`` write them."""
    writers = [path for path in SOURCE.rglob("*.py") if re.search(r"csv\.(writer|DictWriter)", path.read_text())]
    assert writers == []
