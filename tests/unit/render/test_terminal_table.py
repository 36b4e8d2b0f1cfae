"""Tables of a terminal: numbers stay whole, texts are harmless and lose their middle."""

from __future__ import annotations

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from blendp.render.terminal_table import FigureTable, Name, cut, names

URL = "http://www.example.org/a/long/path/that/goes/on/and/on?page=17"
ROWS = [
    (("google", URL), ("12.345 %", "0.012 %", "100 %", "0 %")),
    (
        ("中国人民银行的网站在哪里可以找到呢", "\x1b]0;mine\x07\x1b[2J\u202eevil\u200b"),
        ("1.345 %", "0.002 %", "9 %", "91 %"),
    ),
    (("שלום עולם", None), ("−0.100 %", "<0.001 %", "unknown", "unknown")),
]


def drawn(width: int, droppable: tuple[str, ...] = ()) -> str:
    table = FigureTable("Most popular records", droppable=droppable)
    table.add_column("query")
    table.add_column("url")
    for heading in ("estimate", "± std error", "opt-in", "clients"):
        table.add_column(heading, justify="right")
    for texts, figures in ROWS:
        table.add_row(*names(texts), *figures)
    page = io.StringIO()
    Console(file=page, width=width, force_terminal=False).print(table, crop=False)
    return page.getvalue()


@pytest.mark.parametrize("width", [20, 60, 80, 120, 200])
def test_numbers_are_whole_and_lines_fit(width: int) -> None:
    page = drawn(width)
    for _, figures in ROWS:
        assert re.search(r" +".join(map(re.escape, figures)), page)
    if width >= 60:
        assert max(map(cell_len, page.splitlines())) <= width


def test_the_least_columns_are_left_out_with_a_word_where_numbers_would_not_fit() -> None:
    narrow = drawn(40, ("clients", "opt-in"))
    assert max(map(cell_len, narrow.splitlines())) <= 40
    assert "12.345 %" in narrow
    assert "91 %" not in narrow
    assert "Left out, for want of room: clients, opt-in." in " ".join(narrow.split())
    assert drawn(80, ("clients", "opt-in")) == drawn(80)


@pytest.mark.parametrize("width", range(20, 60))
def test_headings_are_whole_however_narrow_it_is(width: int) -> None:
    """Also where a column is left out, and of columns that do not wrap."""
    table = FigureTable(droppable=("middle",))
    table.add_column("name", no_wrap=True)
    for heading in ("middle", "of the\nrecord"):
        table.add_column(heading, justify="right")
    table.add_column("0 to 100 %", no_wrap=True)
    table.add_row("a", "12.3 %", "1", "████")
    page = io.StringIO()
    console = Console(file=page, width=width, force_terminal=False)
    console.print(table, crop=False)
    first = page.getvalue()
    assert "…" not in first
    console.print(table, crop=False)
    assert page.getvalue() == 2 * first
    if width >= 30:
        assert max(map(cell_len, first.splitlines())) <= width


@pytest.mark.parametrize("width", [10, *range(17, 60)])
def test_names_stand_above_their_numbers_where_there_is_little_room_beside_them(width: int) -> None:
    table = FigureTable("Expected", names_above=True)
    table.add_column("")
    for method in ("blendp", "published"):
        table.add_column(method, justify="right")
    table.add_row("error as a share", "1.9 %", "6.2 %")
    table.add_row("  in random order", "0.440", "0.496")
    page = io.StringIO()
    Console(file=page, width=width, force_terminal=False).print(table, crop=False)
    lines = [line.rstrip() for line in page.getvalue().splitlines()]
    assert "0.440" in page.getvalue()
    assert "0.496" in page.getvalue()
    if width >= 17:
        assert max(map(len, lines)) <= width
    if 17 <= width < 31:
        assert [" ".join(line.split()) for line in lines] == [
            "Expected", "blendp published", "error as a share", "1.9 % 6.2 %", "in random order", "0.440 0.496"
        ]  # fmt: skip
    elif width >= 31:
        assert "1.9 %" in next(line for line in lines if line.startswith("error"))


def test_a_title_is_as_wide_as_the_terminal() -> None:
    table = FigureTable("A title that is much longer than the table that it stands over")
    table.add_column("n", justify="right")
    table.add_row("1")
    page = io.StringIO()
    Console(file=page, width=100, force_terminal=False).print(table)
    assert page.getvalue().splitlines()[0].strip() == "A title that is much longer than the table that it stands over"


def test_texts_lose_their_middle_only_where_there_is_no_room() -> None:
    assert URL in drawn(200)
    assert URL not in drawn(80)
    assert "www.example.org…" in drawn(80)
    assert "example.org" in drawn(60)


@pytest.mark.parametrize("width", [60, 200])
def test_nothing_that_people_write_acts_on_the_terminal(width: int) -> None:
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e]", drawn(width))


@pytest.mark.parametrize("width", range(1, 40))
@pytest.mark.parametrize("text", [URL, "中国人民银行的网站在哪里可以找到呢", "e\u0301" * 30, "ab"])
def test_what_is_cut_fits_exactly_or_nearly(text: str, width: int) -> None:
    short = cut(text, width)
    assert cell_len(short) <= width
    assert cell_len(short) >= min(width, cell_len(text)) - 2
    assert short in (text, text.removeprefix("http://")) or "…" in short


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (62, URL),
        (61, URL.removeprefix("http://")),
        (40, "www.example.org…hat/goes/on/and/on?page=17"[:15] + "…" + URL[-24:]),
        (16, "www.example.org…"),
        (15, "example.org…=17"),
        (12, "example.org…"),
        (9, "examp…org"),
    ],
)
def test_of_an_address_the_host_stays_longest(width: int, shown: str) -> None:
    assert cut(URL, width) == shown
    assert cut("http://www.google.com/", 12) == "google.com/"
    assert cut("http://", 4) == "http://"[:2] + "…" + "/"


def test_an_escape_sequence_is_shown() -> None:
    assert Name("\x1b[31m").text == "⟨U+001B⟩[31m"
