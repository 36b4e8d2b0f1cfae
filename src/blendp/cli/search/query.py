"""``blendp search query``: what an index finds for a text."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument

from blendp.cli.console import print_json, results
from blendp.cli.failures import NoSuchFileError
from blendp.cli.panels import output
from blendp.render.search_results import results_table
from blendp.search import SearchIndex
from blendp.wire.search_index import MAX_INDEX_BYTES

EXAMPLES = """Examples:

- `blendp search query index.json wea`
- `blendp search query index.json "cheep gutar" --limit 3`
- `blendp search query index.json "" --json`
"""


def query(
    index: Annotated[Path, Argument(help="An index that blendp search build wrote.", metavar="INDEX")],
    text: Annotated[str, Argument(help="What somebody types; nothing finds what is most popular.", metavar="TEXT")],
    limit: Annotated[int, output(help="How many results at most, up to 1000.")] = 10,
    as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Show what an index finds for a text: exact, then beginnings, words and typing errors, each by share.

    If nothing matches, the nearest are shown. Works without a network, and tells nobody.
    """
    text = text.encode("utf-8", "replace").decode("utf-8")
    read = _read(index)
    answer = read.search(text, limit)
    if as_json:
        names = ("campaign", "released", "release_sha256", "sha256", "records")
        shown = {"text": text, "nearest": answer.nearest, "results": [asdict(one) for one in answer.results]}
        print_json({**{name: getattr(read, name) for name in names}, **shown})
        return
    results.print(results_table(answer, text, read))


def _read(path: Path) -> SearchIndex:
    if not path.is_file():
        raise NoSuchFileError("index", path)
    with path.open("rb") as file:
        return SearchIndex.from_bytes(file.read(MAX_INDEX_BYTES + 1))
