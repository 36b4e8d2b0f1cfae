"""Results where analysts work: one line, a table, a figure, and a cell that loads and runs nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import blendp
from blendp import Parameters, Simulation, SimulationRandom, SurveyParameters
from blendp.errors import ParameterError
from blendp.render.notebook.cells import LONG, MAX_ROWS
from tests.unit.render.samples import HOSTILE, make_outcome, plain_records
from tests.unit.render.survey_samples import fair_answers, hostile_answers

PAGE_CSS = Path(__file__).parents[3] / "src/blendp/render/page.css"


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """One of every kind that analysts get."""
    answers, asked = fair_answers(1_000), SurveyParameters(epsilon=2)
    log = blendp.read_log(blendp.population("aol", users=4_000, seed=1))
    return {
        "release": make_outcome(plain_records(30))[0],
        "simulation": make_outcome(plain_records(3), kind=Simulation)[0],
        "evaluation": blendp.evaluate(log, Parameters(size=5), opt_in=0.2, repeat=2),
        "plan": blendp.plan(20_000, opt_in=0.1),
        "plan of a log": blendp.plan(20_000, Parameters(), opt_in=0.1, like=log),
        "survey": blendp.run_survey(answers, asked, opt_in=0.2),
        "survey simulation": blendp.simulate_survey(answers, asked, opt_in=0.2, random=SimulationRandom(1)),
        "survey plan": blendp.plan_survey(answers, [asked], opt_in=0.2),
        "survey trial": blendp.evaluate_survey(answers, asked, opt_in=0.2, runs=1),
    }


PRIVATE = {"release", "plan", "survey"}
NAMES = {
    "release": "Release",
    "simulation": "Simulation",
    "evaluation": "Evaluation",
    "plan": "Overview",
    "plan of a log": "Overview",
    "survey": "SurveyRelease",
    "survey simulation": "SurveySimulation",
    "survey plan": "SurveyPlan",
    "survey trial": "SurveyTrial",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_one_line_that_says_whether_it_is_private(results: dict[str, Any], name: str) -> None:
    line = repr(results[name])
    assert line.startswith(f"<{NAMES[name]}: ")
    assert len(line) < 200
    assert "\n" not in line
    assert ("not private" in line) == (name not in PRIVATE)


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_a_table_for_every_library(results: dict[str, Any], name: str) -> None:
    result = results[name]
    table = result.to_arrow()
    assert table.num_rows
    assert pa.table(result).equals(table)
    assert result.to_pandas().columns.tolist() == pl.DataFrame(result).columns == table.column_names
    assert result.to_polars().equals(pl.DataFrame(table))
    assert pd.DataFrame.from_arrow(result).shape == table.shape
    assert duckdb.sql("SELECT count(*) FROM result").fetchall() == [(table.num_rows,)]
    with pytest.raises(ParameterError, match="table = 'other' is not allowed: it must be one of"):
        result.to_arrow("other")


def test_the_tables_of_a_release_have_what_its_files_have(results: dict[str, Any]) -> None:
    release = results["release"]
    rows = release.to_arrow().to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (row.query, row.url, row.probability, row.std_error, row.low, row.high, row.weight_opt_in)
        for row in release.records()
    ]
    assert (rows[-1]["query"], rows[-1]["url"]) == (None, None)
    trends = release.to_pandas("trends")
    assert trends["query"].isna().tolist() == [False] * release.head_list.queries + [True]
    assert trends["probability"].tolist() == [row.probability for row in release.trends()]


def test_what_is_unknown_is_null() -> None:
    outcome, _ = make_outcome(plain_records(3), clients=0)
    table = outcome.to_arrow()
    assert not any(np.isnan(value) for value in table["std_error"].drop_null().to_pylist())
    empty, _ = make_outcome([])
    assert empty.to_arrow().num_rows == 1
    assert "Nothing was listed." in [text.get_text() for text in empty.plot().findobj(Text)]
    assert "<svg" not in empty._repr_html_()


class _Parts(HTMLParser):
    """The elements and attributes of a piece of HTML, and that all are closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attributes]
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def check_cell(html: str) -> _Parts:
    """No script, nothing from elsewhere, nothing that acts, and no name that another cell may have."""
    parts = _Parts(html)
    allowed = {"div", "style", "p", "ul", "li", "span", "i", "bdi", "table", "thead", "tbody", "tr", "th", "td"}
    drawn = {"svg", "g", "path", "defs", "clippath", "rect", "circle", "use", "text", "title", "desc", "tspan"}
    assert set(parts.tags) <= allowed | drawn
    assert not [name for name, _ in parts.attributes if name.startswith("on") or name == "src"]
    for name, value in parts.attributes:
        if name in ("href", "xlink:href"):
            assert value.startswith("#blendp-")
        if name == "id":
            assert re.match(r"blendp-[0-9a-f]{12}", value)
    assert not re.search(r"url\((?!#blendp-)|@import|https?://www\.w3", html)
    assert len(html) < 150_000
    return parts


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_loads_and_runs_nothing_and_says_what_is_not_private(results: dict[str, Any], name: str) -> None:
    html = results[name]._repr_html_()
    parts = check_cell(html)
    assert html == results[name]._repr_html_()
    assert ("NOT PRIVATE" in html) == (name not in PRIVATE)
    assert parts.tags.count("svg") == 1
    assert ">name<" not in html
    assert ">value<" not in html


def test_texts_of_people_stay_texts() -> None:
    outcome, _ = make_outcome(HOSTILE)
    html = outcome._repr_html_()
    check_cell(html)
    assert "&lt;script&gt;" in html
    assert "\u202e" not in html
    assert "\x00" not in html
    assert "w" * (LONG + 1) not in re.sub(r"<svg.*?</svg>", "", html, flags=re.DOTALL)
    check_cell(blendp.run_survey(hostile_answers(1_000), opt_in=0.2)._repr_html_())


def test_a_text_is_cut_as_it_is_seen_so_that_no_sign_makes_a_cell_long() -> None:
    table = pa.table({"user": [f"u{i}" for i in range(600)], "query": ["e" + "\u0301" * 300] * 600})
    html = blendp.run(table, opt_in=0.3)._repr_html_()
    (shown,) = re.findall(r"<bdi>(.*?)</bdi>…", html)
    assert (len(shown), shown.count("\u0301")) == (80, 8)


def test_a_cell_shows_so_many_rows_and_says_where_the_others_are(results: dict[str, Any]) -> None:
    html = results["release"]._repr_html_()
    assert html.count("<tr>") == MAX_ROWS + 1
    assert "10 more: to_pandas()" in html


def test_a_query_that_is_listed_without_a_url_is_shown_with_any() -> None:
    outcome, _ = make_outcome([*plain_records(4), ("bare", None)])
    cell = str(outcome._repr_html_())
    assert cell.count("✱ (any URL)") == 1
    assert re.search(r"<bdi>bare</bdi></td>\s*<td>✱ \(any URL\)</td>", cell)


def test_cautions_stand_in_the_cell() -> None:
    outcome, _ = make_outcome(plain_records(3), parameters=Parameters(method="published", delta=0.01))
    assert outcome.cautions
    assert outcome.cautions[0].split(":")[0] in outcome._repr_html_()


def test_colours_are_those_of_the_pages() -> None:
    """In light and in dark, so that plots in cells look like those of pages."""
    palette = re.compile(r"--[\w-]+: #[0-9a-f]+")
    page = palette.findall(PAGE_CSS.read_text(encoding="utf-8"))
    cell = palette.findall((PAGE_CSS.parent / "notebook/cell.css").read_text(encoding="utf-8"))
    assert set(cell) <= set(page)


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_stands_alone(results: dict[str, Any], name: str) -> None:
    figure = results[name].plot()
    assert isinstance(figure, Figure)
    texts = [text.get_text() for text in figure.findobj(Text)]
    assert "name" not in texts
    assert "value" not in texts
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_texts_of_people_are_drawn_as_they_are() -> None:
    """Nothing is read as mathematics, and letters that no font has are boxes: matplotlib warns of none."""
    outcome, _ = make_outcome(HOSTILE)
    figure = outcome.plot()
    figure._repr_png_()
    texts = {text.get_gid(): text for text in figure.findobj(Text) if text.get_gid()}
    names = [text.get_text() for gid, text in texts.items() if gid.startswith("text-")]
    assert any("$5 and $x_" in name for name in names)
    assert any("□" in name for name in names)
    assert not any(text.get_parse_math() for gid, text in texts.items() if gid.startswith("text-"))
    assert not any(sign in name for name in names for sign in "\n\x00\u202e")


def test_types_of_columns_do_not_depend_on_values() -> None:
    def schemas(epsilon: float) -> list[pa.Schema]:
        parameters, ways, answers = Parameters(epsilon=epsilon), SurveyParameters(epsilon=epsilon), fair_answers()
        plan = blendp.plan(100_000, parameters, opt_in=0.05)
        survey = blendp.plan_survey(answers, ways), blendp.evaluate_survey(answers, ways, opt_in=0.1, runs=2)
        return [plan.to_arrow().schema, *(one.to_arrow().schema for one in survey)]

    assert schemas(1) == schemas(1.5)
    for schema in schemas(1):
        assert schema.field("epsilon").type == pa.float64()


def test_a_survey_says_what_each_group_is_promised() -> None:
    parameters = SurveyParameters(epsilon=1, delta=1e-7, method="cbps", record_epsilon=1)
    both, clients = (
        blendp.simulate_survey(fair_answers(), parameters, opt_in=opt_in, random=SimulationRandom(1))
        for opt_in in (0.1, 0.0)
    )
    promised = "(ε = 1, δ = 1e-07) to opt-in people, ε = 1 to clients"
    assert (both.promised, clients.promised) == (promised, "ε = 1 to clients")
    assert promised in repr(both)
    assert promised in both._repr_html_()
    by_model = blendp.simulate_survey(
        fair_answers(), SurveyParameters(epsilon=1, delta=1e-7, method="cbp"), opt_in=0.1, random=SimulationRandom(1)
    )
    assert by_model.keeps_without_model == (not by_model.promised.endswith("about each attribute, by the model"))
