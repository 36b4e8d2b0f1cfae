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


def drawn(width: int) -> str:
    table = FigureTable("Most popular records")
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


def test_texts_lose_their_middle_only_where_there_is_no_room() -> None:
    assert URL in drawn(200)
    assert URL not in drawn(80)
    assert "http://" in drawn(80)
    assert "…" in drawn(80)
    assert "page=17" in drawn(80)


@pytest.mark.parametrize("width", [60, 200])
def test_nothing_that_people_write_acts_on_the_terminal(width: int) -> None:
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e]", drawn(width))


@pytest.mark.parametrize("width", range(1, 40))
@pytest.mark.parametrize("text", [URL, "中国人民银行的网站在哪里可以找到呢", "e\u0301" * 30, "ab"])
def test_what_is_cut_fits_exactly_or_nearly(text: str, width: int) -> None:
    short = cut(text, width)
    assert cell_len(short) <= width
    assert cell_len(short) >= min(width, cell_len(text)) - 2
    assert short == text or "…" in short


def test_an_escape_sequence_is_shown() -> None:
    assert Name("\x1b[31m").text == "⟨U+001B⟩[31m"
