from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from blendp.errors import ParameterError
from blendp.methods import Outcome, Parameters, Release, Simulation
from blendp.render.release.page import MAX_ROWS, SEEDED, TOP, TRUE_VALUES, KnownTruth, render_release
from tests.unit.render.samples import HOSTILE, make_outcome, only_script, plain_records

VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """What a page says: tags in balance, ids, attributes that could load something, and text by table."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: Counter[str] = Counter()
        self.names: list[str] = []
        self.loads: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            self.names.append(name)
            if name == "id":
                self.ids[value or ""] += 1
            if name in ("src", "href", "action", "data", "srcset") and not (value or "").startswith("#"):
                self.loads.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def drawings(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg[^>]*role=\"img\".*?</svg>", page, re.DOTALL)]


def marks(page: str) -> list[ElementTree.Element]:
    """Of the last drawing."""
    return [element for element in drawings(page)[-1].iter() if element.get("class") == "mark"]


def body_rows(page: str, name: str) -> list[str]:
    table = re.search(rf'id="{name}-caption".*?</table>', page, re.DOTALL)
    assert table
    return re.findall(r"<tr><th scope=\"row\">.*?</tr>", table[0], re.DOTALL)


def shown(page: str) -> str:
    return re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)


@pytest.fixture(scope="module")
def hostile() -> tuple[Outcome, KnownTruth]:
    return make_outcome([*HOSTILE, *plain_records(12)], kind=Simulation)


@pytest.fixture(scope="module")
def hostile_page(hostile: tuple[Outcome, KnownTruth]) -> str:
    return render_release(hostile[0], title='<i>"Odd" & title</i>', truth=hostile[1])


def test_page_is_self_contained(hostile_page: str) -> None:
    page = Page(hostile_page)
    assert page.loads == ["data:,"]
    assert page.tags["script"] == 1
    assert only_script(hostile_page)
    assert not [name for name in page.names if name.startswith("on")]
    assert "default-src 'none'; script-src &#39;sha256-" in hostile_page.replace("&#39;none&#39;", "'none'")
    assert "@import" not in hostile_page
    assert "url(http" not in hostile_page


def test_ids_are_unique_and_every_reference_has_one(hostile_page: str) -> None:
    ids = Page(hostile_page).ids
    assert max(ids.values()) == 1
    named = re.findall(r'aria-(?:labelledby|describedby)="([^"]*)"', hostile_page)
    linked = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', hostile_page)
    assert set(" ".join(named).split()) | {a or b for a, b in linked} <= set(ids)


def test_same_outcome_gives_same_bytes(hostile: tuple[Outcome, KnownTruth], hostile_page: str) -> None:
    assert render_release(hostile[0], title='<i>"Odd" & title</i>', truth=hostile[1]) == hostile_page


def test_hostile_text_is_shown_and_never_interpreted(hostile_page: str) -> None:
    assert only_script(hostile_page)
    assert "&lt;script&gt;alert(&#39;ran&#39;)&lt;/script&gt;" in hostile_page
    assert "<title>&lt;i&gt;&#34;Odd&#34; &amp; title&lt;/i&gt;</title>" in hostile_page
    assert "costs $5 and $x_1^2$ \\frac{1}{2} under_score" in hostile_page
    assert "{{ 7 * 7 }} {% raw %}" in hostile_page
    assert "tab⟨U+0009⟩null⟨U+0000⟩bell⟨U+0007⟩line⟨U+000A⟩end⟨U+009B⟩⟨U+202E⟩evil⟨U+FFFE⟩" in hostile_page
    assert "<bdi>  spaces   kept  </bdi>" in hostile_page
    assert "w" * 1500 in hostile_page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", hostile_page)


def test_wildcard_differs_from_the_text_that_looks_like_it(hostile_page: str) -> None:
    rows = body_rows(hostile_page, "records")
    wild = '<span class="wild">✱ (everything else)</span>'
    assert sum("<bdi>*</bdi>" in row for row in rows) == 2
    assert sum(row.count(wild) for row in rows) == 19 + 2
    assert rows[-1].count(wild) == 2
    assert body_rows(hostile_page, "queries")[-1].count(wild) == 1


def test_plots_carry_titles_names_and_values(hostile: tuple[Outcome, KnownTruth], hostile_page: str) -> None:
    plots = drawings(hostile_page)
    assert len(plots) == 4
    for plot in plots:
        assert plot.find("title") is not None
        assert plot.find("desc") is not None
    texts = [text.text or "" for text in plots[0].iter("text")]
    best = hostile[0].records()[0]
    assert sum("±" in text for text in texts) == TOP
    assert f"{100 * best.probability:.2f} ± {100 * best.std_error:.2f} %" in texts
    assert any(text.startswith("\u2068costs $5 and $") for text in texts)
    assert "rgb" not in hostile_page
    assert "font-family" not in "".join(text.get("style", "") for plot in plots for text in plot.iter("text"))


def test_truth_points_have_tips(hostile_page: str) -> None:
    tips = [mark.findtext("title") for mark in marks(hostile_page)]
    assert len([tip for tip in tips if tip and "truth" in tip]) == len(HOSTILE) + 12


def test_truth_of_nothing_stands_at_the_edge() -> None:
    outcome, truth = make_outcome(plain_records(6))
    page = render_release(outcome, title="t", truth=KnownTruth(0 * truth.cells, 0 * truth.queries, {"L1": np.nan}))
    assert [bool(mark.findtext("title")) for mark in marks(page)] == [True] * 6
    assert "<dt>L1</dt><dd>unknown</dd>" in page


def test_estimates_of_a_group_beyond_the_scale_are_explained() -> None:
    noisy, _ = make_outcome(plain_records(40), estimating=40, clients=1_000_000)
    calm, _ = make_outcome(plain_records(6), estimating=100_000, clients=100_000)
    assert "beyond the scale" in render_release(noisy, title="t")
    assert "beyond the scale" not in render_release(calm, title="t")


@pytest.mark.parametrize(
    ("kind", "with_truth", "banner"),
    [
        (Simulation, True, TRUE_VALUES),
        (Release, True, TRUE_VALUES),
        (Simulation, False, SEEDED),
        (Release, False, None),
    ],
)
def test_banner(kind: type[Outcome], with_truth: bool, banner: str | None) -> None:
    outcome, truth = make_outcome(plain_records(6), kind=kind)
    page = render_release(outcome, title="t", truth=truth if with_truth else None)
    assert re.findall(r'<p class="banner" role="note">(.*?)</p>', page) == ([] if banner is None else [banner])
    assert ("Estimate and truth" in page) == with_truth
    assert (">Truth</th>" in page) == with_truth
    assert ("This page keeps no promise" in page) == (banner is not None)


def test_tables_hold_the_numbers_and_scores() -> None:
    outcome, truth = make_outcome(plain_records(6), estimating=20_000)
    page = render_release(outcome, title="t", truth=truth)
    first, last = outcome.records()[0], outcome.records()[-1]
    rows = body_rows(page, "records")
    for row, line, true in ((first, rows[0], None), (last, rows[-1], truth.cells[-1])):
        values = re.findall(r'<td class="number[^"]*">([^<]*)</td>', line)
        assert len(values) == 6
        expected = [row.probability, row.std_error, row.low, row.high, row.weight_opt_in]
        np.testing.assert_allclose([float(v) / 100 for v in values[:5]], expected, atol=0.0051)
        assert true is None or abs(float(values[5]) / 100 - true) < 1e-3
    assert len(rows) == outcome.head_list.cells
    assert len(body_rows(page, "queries")) == outcome.head_list.queries + 1
    assert "<dt>L1</dt><dd>0.1235</dd>" in page
    assert "<dt>intervals that hold the truth</dt>" in page


def test_promise_and_parameters_are_complete() -> None:
    outcome, _ = make_outcome(
        plain_records(6), parameters=Parameters(method="published", epsilon=2.5, delta=1e-6, size=None)
    )
    page = shown(render_release(outcome, title="t"))
    for text in (
        "What is not protected",
        "Real clients randomise on their own devices",
        outcome.head_list.sha256,
        f"{outcome.guarantee.threshold:.6g}",
        f"{outcome.guarantee.client_epsilon_exact:.6g}",
        "e^2.5",
        "1e-6",
        *outcome.parameters.to_dict(),
    ):
        assert text in page
    assert re.search(r"\bsize\s+all\b", page)


def test_empty_list_is_told_in_plain_words() -> None:
    outcome, truth = make_outcome([])
    for page in (render_release(outcome, title="t"), render_release(outcome, title="t", truth=truth)):
        assert "The list is empty" in page
        assert "like those of the AOL log" in page
        assert not drawings(page)
        Page(page)


def test_one_record() -> None:
    outcome, truth = make_outcome([("one", "http://one.example/")])
    page = render_release(outcome, title="t", truth=truth)
    assert len(drawings(page)) == 4
    assert "1 of 1 listed record." in page


def test_a_query_that_is_listed_without_a_url_is_shown_with_any() -> None:
    """Among the listed records; what is left of other queries and of everything is named as before."""
    outcome, truth = make_outcome([*plain_records(6), ("bare", None), ("too", None)])
    page = render_release(outcome, title="t", truth=truth)
    rows = body_rows(page, "records")
    any_url = [row for row in rows if '<span class="wild">✱ (any URL)</span>' in row]
    assert [re.sub("<.*?>", "", row.split("</th>")[0]) for row in any_url] in (["bare", "too"], ["too", "bare"])
    assert set(any_url) < set(rows[:8])
    assert all("✱ (everything else)" in row for row in rows[8:])
    assert "✱ (any URL)" not in "".join(body_rows(page, "queries"))
    assert "8 of 8 listed records." in page


def test_one_level_list_has_no_urls() -> None:
    outcome, truth = make_outcome([(f"query {i}", None) for i in range(30)], levels=1)
    page = render_release(outcome, title="t", truth=truth)
    assert ">URL</th>" not in page
    assert len(drawings(page)) == 3
    assert len(body_rows(page, "records")) == 31
    assert "Top queries" in page


def test_no_clients() -> None:
    outcome, _ = make_outcome(plain_records(30), clients=0)
    page = render_release(outcome, title="t")
    assert "No clients took part" in page
    assert "clients alone" not in page
    assert not re.search(r"\b(nan|inf)\b", shown(page))


def test_no_opt_in_users_to_estimate() -> None:
    outcome, _ = make_outcome(plain_records(30), estimating=0)
    page = render_release(outcome, title="t")
    assert "No opt-in users were left" in page
    assert not re.search(r"\b(nan|inf)\b", shown(page))


@pytest.mark.parametrize(("estimating", "clients"), [(1, 1), (0, 1), (1, 0), (0, 0)])
def test_unknown_errors(estimating: int, clients: int) -> None:
    outcome, truth = make_outcome(plain_records(30), estimating=estimating, clients=clients)
    page = render_release(outcome, title="t", truth=truth)
    assert '<span class="quiet">unknown</span>' in page
    assert not re.search(r"\b(nan|inf)\b", shown(page))


@pytest.mark.parametrize("variance", ["journal", "conference"])
def test_printed_formulas_with_weights_of_any_size(variance: str) -> None:
    parameters = Parameters(method="published", variance=variance, wildcard="figure-4")
    outcome, truth = make_outcome(plain_records(60), estimating=50, clients=300, parameters=parameters)
    page = render_release(outcome, title="t", truth=truth)
    assert not re.search(r"\b(nan|inf)\b", shown(page))
    Page(page)


def test_long_lists_are_cut() -> None:
    outcome, truth = make_outcome(plain_records(700))
    page = render_release(outcome, title="t", truth=truth)
    assert len(body_rows(page, "records")) == MAX_ROWS + 1
    assert f"{outcome.head_list.cells - MAX_ROWS - 1} more rows are left out." in page


def test_truth_of_another_list_is_refused() -> None:
    outcome, _ = make_outcome(plain_records(6))
    _, other = make_outcome(plain_records(8))
    with pytest.raises(ParameterError, match="own head list"):
        render_release(outcome, title="t", truth=other)
