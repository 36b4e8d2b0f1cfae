"""Result directories: whole or not at all, nothing destroyed, and text that cannot forge the wildcard."""

import csv
import datetime
import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blendp._version import __version__
from blendp.errors import OutputExistsError, RandomnessError
from blendp.headlist import HeadList
from blendp.logs import log_of_table
from blendp.methods import Parameters, Release, Simulation, run
from blendp.render.about import About
from blendp.render.release.document import list_of_document, release_of_document, rows_for_json
from blendp.render.release.files import write_release
from blendp.render.release.names import FILES
from blendp.render.tables import wildcard_text
from blendp.wire.releases import read_release
from blendp.wire.text_forms import require_day
from tests.support import KnownKey
from tests.unit.render.samples import make_outcome, plain_records


@pytest.fixture(scope="module")
def release() -> Release:
    names = ["*", "\\*", 'quote " comma , newline', "plain", "<b>"]
    queries = [names[i % 5] for i in range(3_000)]
    table = pa.table({"user": [str(i) for i in range(3_000)], "query": queries, "url": ["*"] * 3_000})
    return run(log_of_table(table), Parameters(), opt_in=0.3, random=KnownKey(1))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_files_say_the_same(release: Release, tmp_path: Path) -> None:
    about = About("A title", "log.csv", datetime.date(2026, 11, 17))
    write_release(release, str(tmp_path / "out"), source={"opt_in": 0.3}, about=about)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)
    estimates, trends = rows_of(tmp_path / "out/estimates.csv"), rows_of(tmp_path / "out/trends.csv")
    assert list(estimates[0]) == ["query", "url", "probability", "std_error", "low", "high", "weight_opt_in"]
    assert list(trends[0]) == ["query", "probability", "std_error", "low", "high"]
    assert len(estimates) == release.head_list.cells
    assert len(trends) == release.head_list.queries + 1
    assert [float(row["probability"]) for row in estimates] == [row.probability for row in release.records()]
    assert HeadList.from_bytes((tmp_path / "out/head_list.json").read_bytes()) == release.head_list
    card = json.loads((tmp_path / "out/release.json").read_text(encoding="utf-8"))
    assert card["method"] == "blendp"
    assert card["about"] == {"title": "A title", "log": "log.csv", "day": "2026-11-17"}
    assert card["blendp"] == __version__
    assert card["delta_statement"] == "δ = 1e-05 is below a tenth of one over the 3,000 people (3.3e-05)."
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "<h1>A title</h1>" in page
    assert f"log.csv · 2026-11-17 · blendp {__version__}" in page
    assert card["parameters"]["opt_in"] == 0.3
    assert card["parameters"]["epsilon"] == 4.0
    assert card["users"] == {"opt_in": 900, "opt_in_head_list": 900, "opt_in_estimate": 0, "client": 2100}
    assert card["head_list"]["sha256"] == release.head_list.sha256
    assert "factor of at most e^4" in card["guarantee"]["statement"]
    assert card["identity_gap"] < 1e-12
    assert 0 <= card["query_reporters"] < 1
    assert 0 < card["cross_check"]["p_value"] <= 1
    assert len(card["cross_check"]["z"]) == release.head_list.cells - 1
    assert [line["share"] for line in card["influence"]] == [0.001, 0.01, 0.05]
    assert all(0 < line["capped"] <= line["clients"] for line in card["influence"])
    document = read_release((tmp_path / "out/release_document.json").read_bytes())
    assert (document["campaign"], document["card"]) == ("", card)
    assert document["estimates"] == rows_for_json(release.records())
    assert require_day("released", document["released"]) == about.day


def test_the_wildcard_and_data_that_looks_like_it_are_told_apart(release: Release, tmp_path: Path) -> None:
    write_release(release, tmp_path / "out")
    cells = {(row["query"], row["url"]) for row in rows_of(tmp_path / "out/estimates.csv")}
    assert ("\\*", "\\*") in cells  # the data <*,*>
    assert ("\\*", "*") in cells  # any other URL of the data query *
    assert ("\\\\*", "\\*") in cells  # the data query \*
    assert ("*", "*") in cells  # everything else
    assert len(cells) == release.head_list.cells
    listed = [row for row in rows_for_json(release.records()) if row["query"] is None]
    assert [row["url"] for row in listed] == [None]


def test_a_query_that_is_listed_without_a_url_is_read_back(tmp_path: Path) -> None:
    outcome, _ = make_outcome([*plain_records(6), ("bare", None)])
    assert isinstance(outcome, Release)
    write_release(outcome, tmp_path / "out")
    listed = rows_of(tmp_path / "out/estimates.csv")[:7]
    assert [row["query"] for row in listed if row["url"] == "*"] == ["bare"]
    document = read_release((tmp_path / "out/release_document.json").read_bytes())
    assert list_of_document(document) == outcome.head_list
    assert release_of_document(document, outcome.head_list).records() == outcome.records()


@given(st.lists(st.text("\\*ab", max_size=6), min_size=2, max_size=20, unique=True))
def test_wildcard_text_is_one_to_one_and_never_the_wildcard(texts: list[str]) -> None:
    written = [wildcard_text(text) for text in texts]
    assert len(set(written)) == len(texts)
    assert wildcard_text(None) not in written


def test_an_earlier_result_is_kept_unless_told_otherwise(release: Release, tmp_path: Path) -> None:
    target = tmp_path / "out"
    write_release(release, target)
    before = (target / "release.json").read_bytes()
    with pytest.raises(OutputExistsError, match="overwrite=True"):
        write_release(release, target)
    assert (target / "release.json").read_bytes() == before
    write_release(release, target, source={"opt_in": 0.5}, overwrite=True)
    assert (target / "release.json").read_bytes() != before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_directory_with_other_files_is_never_touched(release: Release, tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_text("mine")
    with pytest.raises(OutputExistsError, match=r"holiday\.jpg"):
        write_release(release, tmp_path, overwrite=True)
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputExistsError, match="is a file"):
        write_release(release, tmp_path / "file", overwrite=True)
    assert (tmp_path / "holiday.jpg").read_text() == "mine"


def test_a_simulation_is_not_written_as_a_release(release: Release, tmp_path: Path) -> None:
    fields = {name: getattr(release, name) for name in release.__dataclass_fields__}
    with pytest.raises(RandomnessError, match="not for release"):
        write_release(Simulation(**fields), tmp_path / "out")  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_numbers_that_are_unknown_are_empty_or_null(tmp_path: Path) -> None:
    table = pa.table({"user": [str(i) for i in range(600)], "query": ["a"] * 600, "url": ["b"] * 600})
    lonely = run(
        log_of_table(table), Parameters(method="published", head_list_share=0.9999), opt_in=0.9984, random=KnownKey(1)
    )
    assert (lonely.groups.estimate, lonely.groups.client) == (0, 1)
    write_release(lonely, tmp_path / "out")
    assert rows_of(tmp_path / "out/estimates.csv")[0]["std_error"] == ""
    assert rows_for_json(lonely.records())[0]["std_error"] is None
