from __future__ import annotations

import math

import pytest

from blendp.render.text import decimals, label, number, percent, shorten, visible, with_error


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain $x_1$ <b>", "plain $x_1$ <b>"),
        ("a\tb\n", "a⟨U+0009⟩b⟨U+000A⟩"),
        ("\u202eevil", "⟨U+202E⟩evil"),
        ("zero\u200bwidth\xa0space", "zero⟨U+200B⟩width⟨U+00A0⟩space"),
        ("می\u200cخواهم 👩\u200d👧", "می\u200cخواهم 👩\u200d👧"),
        ("\uffff\U0001fffe", "⟨U+FFFF⟩⟨U+1FFFE⟩"),
        ("e" + "\u0301" * 10 + "x\u0301", "e" + "\u0301" * 8 + "⟨U+0301⟩" * 2 + "x\u0301"),
        ("\u0f67\u0f90\u0fb5\u0fa8\u0fb3\u0fba\u0fbc\u0fbb\u0f82",) * 2,
    ],
)
def test_unseen_characters_become_visible(text: str, seen: str) -> None:
    assert visible(text) == seen


def test_short_text_stays_and_long_text_is_cut() -> None:
    assert shorten("google", 10) == "google"
    assert shorten("", 0) == ""
    assert shorten("w" * 1000, 10) == "w" * 9 + "…"
    assert len(shorten("i" * 1000, 10)) > 20
    assert shorten("天" * 50, 10) == "天" * 6 + "…"


def test_label_leaves_room_for_both_parts() -> None:
    assert label("query", "url") == "\u2068query\u2069 · \u2068url\u2069"
    assert label(None, None) == "\u2068✱ (everything else)\u2069"
    assert label("*", None) == "\u2068*\u2069"
    assert label("", "") == "\u2068(empty)\u2069 · \u2068(empty)\u2069"
    query, url = label("q" * 500, "u" * 500, 30).split(" · ")
    assert 10 < len(query) < 40
    assert 10 < len(url) < 40
    short, long = label("q", "u" * 500, 30).split(" · ")
    assert short == "\u2068q\u2069"
    assert len(long) > len(url)


@pytest.mark.parametrize(
    ("errors", "digits"),
    [([0.0002], 2), ([0.00015], 3), ([0.003], 1), ([0.2], 1), ([1e-12], 7), ([math.inf, math.nan, 0.0002], 2)],
)
def test_decimals_follow_the_errors(errors: list[float], digits: int) -> None:
    assert decimals(errors, [0.1]) == digits


def test_decimals_without_errors() -> None:
    assert decimals([math.inf], [0.01, math.nan]) == 2
    assert decimals([], []) == 2


def test_percent() -> None:
    assert percent(0.0213, 2) == "2.13"
    assert percent(-0.0213, 1) == "−2.1"
    assert percent(-1e-9, 2) == "0.00"
    assert percent(1e-9, 2) == "<0.01"
    assert percent(0.0, 2) == "0.00"
    assert percent(math.inf, 2) == "unknown"


def test_with_error() -> None:
    assert with_error(0.0213, 0.0002, 2) == "2.13 ± 0.02 %"
    assert with_error(0.0213, math.inf, 2) == "2.13 % ± unknown"
    assert with_error(math.nan, math.inf, 2) == "unknown"


def test_number() -> None:
    assert number(1e-5) == "1e-5"
    assert number(6.7564627) == "6.75646"
    assert number(4.0) == "4"
    assert number(math.nan) == "unknown"
