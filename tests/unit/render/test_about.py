from __future__ import annotations

import datetime

import pytest

from blendp.errors import ParameterError
from blendp.render.about import MAX_TITLE, About, file_names

DAY = datetime.date(2026, 11, 17)


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (["/home/somebody/private/log.csv"], "log.csv"),
        (["logs/"], "logs"),
        (["s3a://bucket/2026-11/*.parquet"], "*.parquet"),
        (["a.csv", "b.csv", "c.csv"], "a.csv, b.csv, c.csv"),
        ([f"x/{i}.csv" for i in range(2000)], "0.csv, 1.csv, 2.csv and 1,997 more"),
        (["/"], "log"),
        (["/dev/fd/63"], "pipe"),
        (["/dev/stdin", "a.csv"], "pipe, a.csv"),
        (["bad\udcffname.csv"], "bad?name.csv"),
        ([], None),
    ],
)
def test_a_log_is_called_by_its_files_and_not_by_their_folders(paths: list[str], name: str | None) -> None:
    assert About.of_files(paths).log == file_names(paths) == name
    assert About.of_files(paths, log_name="the log of autumn").log == "the log of autumn"


def test_names_of_any_length_fit() -> None:
    assert len(file_names(["n" * 5000, "m" * 5000, "界" * 5000, "d"]) or "") <= MAX_TITLE


@pytest.mark.parametrize("text", ["", "  ", "x" * (MAX_TITLE + 1), "lone \ud800"])
def test_texts_that_no_page_could_show_are_refused(text: str) -> None:
    for name, about in (("title", {"title": text}), ("log_name", {"log": text})):
        with pytest.raises(ParameterError) as caught:
            About(**about)  # type: ignore[arg-type]
        assert caught.value.parameter == name


def test_a_card_says_what_it_is_of() -> None:
    about = About("T", "log.csv", DAY, "9.9")
    assert About.of_card({"blendp": "9.9", "about": about.to_dict()}) == about
    assert About.of_card({"blendp": "9.9"}) is None
    assert str(about) == "T · log.csv · 2026-11-17 · blendp 9.9"
    assert str(About("odd\u202etitle", None, DAY, "1")) == "odd⟨U+202E⟩title · 2026-11-17 · blendp 1"
