"""``blendp search build``: the offline index of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from blendp.cli.console import print_json, results
from blendp.cli.panels import output, privacy
from blendp.cli.released import release_in
from blendp.outputs import refuse_existing, whole
from blendp.search import SearchIndex, build_index
from blendp.wire import VerifyKey

EXAMPLES = """Examples:

- `blendp search build release --out index.json`
- `blendp search build trends-2026-11 --key 8f0c... --out trends.index.json --overwrite`
"""


def build(
    release: Annotated[
        Path, Argument(help="Directory that blendp run or blendp campaign export wrote.", metavar="RELEASE_DIR")
    ],
    out: Annotated[Path, output(help="File for the index.")],
    key: Annotated[
        str | None,
        privacy(help="Public key of the collector, 64 hexadecimal digits: the signature is verified against it."),
    ] = None,
    overwrite: Annotated[bool, output("--overwrite", help="Replace an earlier index.")] = False,
    as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Make the offline index of a release: a function of its bytes alone, so everybody makes the same.

    It has the listed records with their shares and errors, and nothing that the release has not. A collector serves the
    same bytes with a signed descriptor.
    """
    refuse_existing(out, overwrite=overwrite)
    payload, signature = release_in(release, None if key is None else VerifyKey.of_text(key))
    data = build_index(payload)
    index = SearchIndex.from_bytes(data)
    with whole(out, overwrite=overwrite) as draft:
        draft.write_bytes(data)
    if as_json:
        names = ("campaign", "released", "release_sha256", "sha256", "records")
        figures = {"queries": len(index.queries), "bytes": len(data), "signature": signature, "out": str(out)}
        print_json({**{name: getattr(index, name) for name in names}, **figures})
        return
    name = index.campaign or "the release"
    line = f"{out}: {index.records:,} records of {len(index.queries):,} queries, {len(data):,} bytes"
    results.print(f"{line}; {name} of {index.released}", highlight=False, markup=False, soft_wrap=True)
