"""Write a synthetic log to a file that appears only when it is complete."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from blendp.errors import ParameterError
from blendp.outputs import whole

Sink = Callable[[pa.RecordBatch], None]

ROWS = {
    ".csv": ("", ",", ",", "\n"),
    ".tsv": ("", "\t", "\t", "\n"),
    ".ndjson": ('{"user":"', '","query":"', '","url":"', '"}\n'),
    ".jsonl": ('{"user":"', '","query":"', '","url":"', '"}\n'),
}
"""What stands before, between and after the three fields of a row.

Synthetic text holds no quote, comma, tab, backslash or control character, so it needs no escapes."""


def write_blocks(
    path: str | os.PathLike[str], blocks: Iterable[pa.RecordBatch], schema: pa.Schema, *, overwrite: bool
) -> int:
    """Write batches of (user, query, url) to ``path`` in the format of its ending; return the number of rows.

    The file appears only when it is complete.
    """
    target = Path(path)
    ending, packed = _ending(target)
    rows = 0
    with whole(target, overwrite=overwrite) as part, _sink(part, ending, packed, schema) as sink:
        for batch in blocks:
            sink(batch)
            rows += batch.num_rows
    return rows


def _sink(part: Path, ending: str, packed: bool, schema: pa.Schema) -> AbstractContextManager[Sink]:
    return _parquet(part, schema) if ending == ".parquet" else _text(part, ending, packed, schema)


def _ending(target: Path) -> tuple[str, bool]:
    packed = target.suffix.lower() == ".gz"
    ending = (Path(target.stem) if packed else target).suffix.lower()
    if ending not in ROWS and (packed or ending != ".parquet"):
        legal = "a name ending in .csv, .tsv, .ndjson or .jsonl (each also with .gz) or .parquet"
        raise ParameterError("path", str(target), legal, "Change the ending: it tells the format.")
    return ending, packed


@contextmanager
def _parquet(part: Path, schema: pa.Schema) -> Iterator[Sink]:
    with pq.ParquetWriter(part, schema, compression="zstd") as writer:
        yield writer.write_batch


@contextmanager
def _text(part: Path, ending: str, packed: bool, schema: pa.Schema) -> Iterator[Sink]:
    marks = ROWS[ending]

    def sink(batch: pa.RecordBatch) -> None:
        user, query, url = batch.columns
        lines = pc.binary_join_element_wise(marks[0], user, marks[1], query, marks[2], url, marks[3], "")
        stream.write(lines.buffers()[2].slice(0, pc.sum(pc.binary_length(lines)).as_py()))

    with part.open("wb") as file:
        # An empty name and time keep the bytes of equal logs equal.
        stream = cast(BinaryIO, gzip.GzipFile("", "wb", 6, file, mtime=0)) if packed else file
        with stream:
            if not marks[0]:
                stream.write((marks[1].join(schema.names) + "\n").encode())
            yield sink
