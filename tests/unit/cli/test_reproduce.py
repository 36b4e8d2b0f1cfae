"""``blendp reproduce`` as a user meets it: files, page, pictures, and errors."""

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from blendp.evaluation.figures import RECIPES, Figure, Line, Mean, Panel, Point
from blendp.render.figures import plots
from blendp.render.figures.files import FILES, as_document, write_reproduction
from tests.forked import run as blendp
from tests.unit.render.samples import only_script

TINY = ("--quick", "--runs", "2", "--users", "20000")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all figures of tiny populations."""
    root = tmp_path_factory.mktemp("reproduce")
    done = blendp("reproduce", *TINY, "--seed", "4", "--out", "all", cwd=root)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{len(RECIPES)} figures in all: open all/index.html\n"
    return root


def test_every_figure_has_data_and_pictures(folder: Path) -> None:
    assert sorted(path.name for path in (folder / "all").iterdir()) == sorted(FILES)
    for name in RECIPES:
        target = folder / "all" / f"figure-{name}"
        document = json.loads(target.with_suffix(".json").read_text(encoding="utf-8"))
        with target.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), list(reader.fieldnames or [])
        assert len(columns) == len(set(columns)), name
        assert len(rows) == len(document["points"])
        assert document["private"] is False
        assert (document["runs"], document["seed"], document["quick"]) == (2, 4, True)
        for row, point in zip(rows, document["points"], strict=True):
            assert row["method"] == point["method"]
            opt_in = row.get("parameter_opt_in", row.get("opt_in"))
            assert opt_in in (None, "", str(point.get("opt_in")))
            for key, value in point["mean"].items():
                assert row[key] == ("" if value is None else str(value))
        assert ElementTree.fromstring(target.with_suffix(".svg").read_bytes()).tag.endswith("svg")
        assert target.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_the_page_shows_all_and_needs_nothing_else(folder: Path) -> None:
    page = (folder / "all/index.html").read_text(encoding="utf-8")
    for recipe in RECIPES.values():
        assert f'id="f{recipe.name}"' in page
        assert recipe.title in page
        assert recipe.name == "ladder" or f">Figure {recipe.name}: " in page
    assert "Every figure of the BLENDER paper" in page
    assert page.count('role="img"') == len(RECIPES)
    assert "Not private" in page
    assert only_script(page)
    assert not re.search(r"(src|href)=\"(https?:)?//", page)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'href="(figure-[^"]+)"', page):
        assert (folder / "all" / target).exists()


def test_printed_values_stand_beside_ours(folder: Path) -> None:
    with (folder / "all/figure-9.csv").open(encoding="utf-8", newline="") as file:
        google = next(row for row in csv.DictReader(file) if row["query"] == "www.google.com")
    names = ("truth", "blended", "opt_in", "client", "client_sum")
    assert [google[f"{name}_printed"] for name in names] == ["0.0034", "0.0004", "0.0004", "0.0032", "0.0098"]
    points = json.loads((folder / "all/figure-13.json").read_text(encoding="utf-8"))["points"]
    lists = [point for point in points if (point["population"], point["size"]) == ("aol", 50)]
    assert {point["mean"].get("candidates_printed_min") for point in lists if point["opt_in"] >= 0.05} == {50.0}
    assert {point["mean"].get("candidates_printed_below") for point in lists if point["opt_in"] < 0.05} == {50.0}
    assert b"as printed" in (folder / "all/figure-9.svg").read_bytes()
    page = (folder / "all/index.html").read_text(encoding="utf-8")
    assert page.count("<caption><span>What the paper prints about this figure") == 5
    assert "<td>as printed</td><td>0.0034</td><td>0.0004</td>" in page


def test_the_same_seed_gives_the_same_figure_alone(folder: Path) -> None:
    done = blendp("reproduce", "12", *TINY, "--seed", "4", "--out", "alone", cwd=folder)
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (folder / "alone").iterdir())
    assert names == ["figure-12.csv", "figure-12.json", "figure-12.png", "figure-12.svg", "index.html"]
    for kind in ("csv", "svg", "png"):
        name = f"figure-12.{kind}"
        assert (folder / "alone" / name).read_bytes() == (folder / "all" / name).read_bytes()
    again = blendp("reproduce", "12", *TINY, "--out", "alone", cwd=folder)
    assert again.returncode == 4
    assert "--overwrite" in again.stderr
    other = blendp("reproduce", "12", *TINY, "--seed", "5", "--out", "alone", "--overwrite", cwd=folder)
    assert other.returncode == 0
    assert (folder / "alone/figure-12.csv").read_bytes() != (folder / "all/figure-12.csv").read_bytes()


def test_a_log_of_one_s_own(folder: Path) -> None:
    synthesised = blendp(
        "synthesise", "aol", "--users", "8000", "--records-per-user", "2", "--out", "log.csv", cwd=folder
    )
    assert synthesised.returncode == 0, synthesised.stderr
    figures = ("9", "12", "17")
    done = blendp("reproduce", *figures, "--quick", "--runs", "2", "--log", "log.csv", "--out", "own", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "rows" in done.stderr
    points = json.loads((folder / "own/figure-17.json").read_text(encoding="utf-8"))["points"]
    assert {point["population"] for point in points} == {"log"}
    assert {point["users"] for point in points} == {8_000}
    assert "8,000 people of the log" in (folder / "own/index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("11",), 2, "figure = '11'"),
        (("--runs", "0"), 2, "--runs = 0"),
        (("--seed", "-1"), 2, "--seed = -1"),
        (("--users", "1"), 2, "--users = 1"),
        (("--log", "log.csv", "--users", "10"), 2, "--users = 10"),
        (("--log", "nothing.csv"), 3, "nothing.csv"),
        (("--out", "."), 4, "current directory"),
    ],
)
def test_mistakes_are_told_in_one_sentence(folder: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    done = blendp("reproduce", *arguments, cwd=folder)
    assert done.returncode == code
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (folder / "blendp-figures").exists()


def hostile() -> Figure:
    """A figure whose queries are meant to do harm, with means that are unknown."""
    names = ("$x^2$", "<script>alert(1)</script>", "\u202eevil\x00", "лента" * 40, "")
    unknown = Mean(float("nan"), float("nan"))
    means = (Mean(0.1, 0.01), Mean(0.2, float("nan")), unknown, Mean(0.0, 0.0), Mean(0.3, 0.5))
    line = Line("blended", "blended", (0.0, 1.0, 2.0, 3.0, 4.0), means)
    nothing = Line("truth", "truth", (0.0,), (unknown,))
    grid = (
        (Panel("rows", "query", "probability", (line, nothing), rows=names),),
        (Panel("log", "x", "y", (line,), log=True),),
    )
    return Figure("9", "t", "s.", "p.", grid, (Point({"query": None, "method": "blendp"}, {"l1": unknown}),))


def test_texts_of_a_log_do_no_harm(tmp_path: Path) -> None:
    figure = hostile()
    pictures = plots.pictures(figure)
    assert b"<script" not in pictures.svg
    assert pictures.png.startswith(b"\x89PNG")
    write_reproduction([figure], tmp_path / "out", about={"runs": 1, "seed": 0, "quick": True, "populations": []})
    page = (tmp_path / "out/index.html").read_text(encoding="utf-8")
    assert only_script(page)
    assert "\u202e" not in page
    assert (tmp_path / "out/figure-9.csv").read_text().splitlines()[1] == "*,blendp,,"
    assert as_document(figure, {})["points"][0]["mean"] == {"l1": None}
