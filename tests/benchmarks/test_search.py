"""The data of the bench beside MiniSearch is a release that an index can be made of."""

from __future__ import annotations

from pathlib import Path

from benchmarks.search import rows_of, write
from blendp.search import SearchIndex, build_index


def test_the_files_of_the_bench(tmp_path: Path) -> None:
    write(tmp_path, rows_of("aol", 50))
    index = SearchIndex.from_bytes(build_index((tmp_path / "release.json").read_bytes()))
    assert index.records == 50
    assert index.search("goo").results[0].query == "google"
    table = (tmp_path / "table.csv").read_text().splitlines()
    assert table[0] == "query,url,probability,std_error"
    assert len(table) == 51
    assert len((tmp_path / "estimates.csv").read_text().splitlines()) == 52 + len(index.queries)
