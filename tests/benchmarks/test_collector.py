"""The collector's benchmark runs, and tells what it should; how fast anything is, no test asserts."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.collector import MIXED, MIXES, SCENARIOS, SQLITE, Measured, Row, preparing, run, write_page
from benchmarks.collector_servers import FLOOR, PRODUCT, Prepared

SECONDS = 0.6


@pytest.fixture(scope="module")
def prepared() -> Iterator[Prepared]:
    with preparing(SQLITE) as prepared:
        yield prepared


def test_a_short_run_against_the_floor_has_every_figure(prepared: Prepared, tmp_path: Path) -> None:
    single = replace(SCENARIOS[0], senders=4)
    runs = {side: [run(prepared, side, single, SQLITE, SECONDS)] for side in (PRODUCT, FLOOR)}
    for (one,) in runs.values():
        assert one.rate > 0
        assert 0 < one.p50 <= one.p99
        assert 0 < one.start_megabytes <= one.peak_megabytes
        assert one.refused == 0
    measured = Measured(2, SECONDS, [Row(SQLITE, single.name, 1, paced=False, runs=runs)])
    document = json.loads(measured.as_json())
    assert [claim["goal"] for claim in document["claims"]] == [0.6]
    page = tmp_path / "page.md"
    write_page(measured, page)
    write_page(measured, page)
    assert page.read_text().count("**The collector against the bare insert**") == 1


def test_half_of_a_mix_is_invalid_and_spoils_no_valid_request(prepared: Prepared) -> None:
    mix = replace(MIXES[1], reports=20, senders=2)
    one = run(prepared, MIXED, mix, SQLITE, SECONDS)
    assert one.refused == 0
    assert 0 < one.invalid_requests <= one.requests + 2 * mix.senders
