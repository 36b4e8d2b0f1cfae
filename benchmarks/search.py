"""Offline search in Python, and what the bench beside MiniSearch is about: a release of 10 000 records.

    .venv/bin/python -m benchmarks.search [--like aol|yandex] [--records N]    Python's own figures
    .venv/bin/python -m benchmarks.search --out FOLDER                          release.json, estimates.csv, table.csv

The records are the most probable ones of a synthetic population; their shares are drawn around the true ones with the
errors that two million people give. ``estimates.csv`` is what ``blendp run`` would write; ``table.csv`` has the four
columns of the index with as many digits. ``node clients/js/benchmarks/search.mjs`` is the bench.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from dataclasses import asdict
from pathlib import Path
from statistics import median

from blendp.logs.synthetic import NAMES, law
from blendp.methods import Row
from blendp.render.release.document import rows_for_json
from blendp.render.tables import wildcard_text, write_table
from blendp.search import SearchIndex, build_index
from blendp.wire.releases import write_release

RECORDS = 10_000
PEOPLE = 2_000_000
KEYSTROKES = 1_000
COLUMNS = ("query", "url", "probability", "std_error", "low", "high", "weight_opt_in")


def rows_of(like: str, records: int, seed: int = 1) -> list[Row]:
    """Listed records by falling share, then the other URLs of every query, last everything else."""
    table, random_ = law(like).records(records).to_pydict(), random.Random(seed)
    rows = [
        _row(query, url, true_share, random_)
        for query, url, true_share in zip(table["query"], table["url"], table["probability"], strict=True)
    ]
    rows.sort(key=lambda row: -row.probability)
    queries = dict.fromkeys(table["query"])
    return [*rows, *(_row(query, None, 1e-5, random_) for query in queries), _row(None, None, 0.5, random_)]


def _row(query: str | None, url: str | None, share: float, random_: random.Random) -> Row:
    error = math.sqrt(share * (1 - share) / PEOPLE) * random_.uniform(1.0, 1.2)
    estimate = max(0.0, random_.gauss(share, error))
    return Row(query, url, estimate, error, estimate - 1.96 * error, estimate + 1.96 * error, random_.uniform(0, 0.2))


def release_of(rows: list[Row]) -> bytes:
    """The rows as a release."""
    bound = {"campaign": "bench", "manifest_sha256": "00" * 32, "released": "2026-12-01"}
    return write_release(**bound, card={}, estimates=rows_for_json(rows), trends=[], groups={})


def write(folder: Path, rows: list[Row]) -> None:
    """The three files of the bench."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "release.json").write_bytes(release_of(rows))
    texts = [{**asdict(row), "query": wildcard_text(row.query), "url": wildcard_text(row.url)} for row in rows]
    write_table(folder / "estimates.csv", COLUMNS, ([text[name] for name in COLUMNS] for text in texts))
    listed = [row for row in rows if row.url is not None]
    rounded = ((row.query, row.url, round(row.probability, 9), round(row.std_error, 9)) for row in listed)
    write_table(folder / "table.csv", COLUMNS[:4], rounded)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--like", choices=NAMES, default=NAMES[0])
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--out", type=Path, default=None, metavar="FOLDER")
    asked = parser.parse_args()
    rows = rows_of(asked.like, asked.records)
    if asked.out is not None:
        write(asked.out, rows)
        return
    release = release_of(rows)
    begun = time.perf_counter()
    data = build_index(release)
    built = time.perf_counter()
    index = SearchIndex.from_bytes(data)
    index.search("warm up")
    ready = time.perf_counter()
    print(f"{index.records:,} records, release {len(release):,} bytes, index {len(data):,} bytes")
    print(f"build {1000 * (built - begun):.0f} ms, read and first search {1000 * (ready - built):.0f} ms")
    random_, seconds = random.Random(2), list[float]()
    while len(seconds) < KEYSTROKES:
        query = random_.choice(index.queries)
        cut = random_.randrange(len(query))
        typed = query[:cut] + query[cut + len(seconds) % 2 :]
        for end in range(1, len(typed) + 1):
            begun = time.perf_counter()
            index.search(typed[:end])
            seconds.append(time.perf_counter() - begun)
    seconds.sort()
    p99 = seconds[int(0.99 * len(seconds))]
    print(f"{len(seconds):,} keystrokes: p50 {1000 * median(seconds):.2f} ms, p99 {1000 * p99:.1f} ms")


if __name__ == "__main__":
    main()
