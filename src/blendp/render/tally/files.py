"""The clients' own estimates, from counted reports: rows for people and programs, and files."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from blendp._version import __version__
from blendp.engines.spool import CountedReports
from blendp.estimate import CONFIDENCE, Blend, GroupEstimate, Level
from blendp.headlist import HeadList
from blendp.outputs import whole
from blendp.render.tables import wildcard_text, write_table

TALLY_FILES = ("clients.csv", "tally.json")


@dataclass(frozen=True)
class ClientRow:
    """What the clients alone say of one record. ``query`` and ``url`` are None for the wildcard."""

    query: str | None
    url: str | None
    probability: float
    std_error: float
    low: float
    high: float


def client_rows(estimate: GroupEstimate, head_list: HeadList) -> list[ClientRow]:
    """Every cell: listed records by falling probability, then the <q,*>, then <*,*>."""
    listed = np.zeros(head_list.cells, dtype=np.int64)
    listed[head_list.record_cells] = 2
    listed[-1] -= 1
    order = np.lexsort((-estimate.cells.probability, -listed))
    return _rows(estimate.cells, head_list.labels, order.tolist())


def client_trends(estimate: GroupEstimate, head_list: HeadList) -> list[ClientRow]:
    """Every query over all its URLs, by falling probability, the wildcard last."""
    labels = [*((entry.query, None) for entry in head_list.entries), (None, None)]
    order = np.argsort(-estimate.queries.probability[:-1], kind="stable")
    return _rows(estimate.queries, labels, [*order.tolist(), head_list.queries])


def _rows(level: Level, labels: Sequence[tuple[str | None, str | None]], order: Sequence[int]) -> list[ClientRow]:
    """Rows with intervals of the normal law."""
    shown = Blend.normal(level.probability, level.variance, np.zeros(len(level.variance)))
    columns = np.stack([shown.probability, shown.std_error, shown.low, shown.high], axis=1)
    return [ClientRow(*labels[i], *columns[i].tolist()) for i in order]


def tally_card(counted: CountedReports, delta: float | None) -> dict[str, Any]:
    """What was counted, with the sums from which anybody can estimate anew; all of it follows from the reports."""
    head_list = counted.form.head_list
    return {
        "blendp": __version__,
        "method": "published" if counted.by_cell else "blendp",
        "epsilon": counted.form.epsilon,
        "delta": delta,
        "head_list": {
            "sha256": head_list.sha256,
            "levels": head_list.levels,
            "records": head_list.records,
            "queries": head_list.queries,
        },
        "confidence": CONFIDENCE,
        **counted.to_dict(),
    }


def plain_rows(rows: Sequence[ClientRow]) -> list[dict[str, Any]]:
    """Rows as plain values; the wildcard and unknown numbers are null."""
    return [{name: _known(value) for name, value in asdict(row).items()} for row in rows]


def write_tally(rows: Sequence[ClientRow], card: dict[str, Any], directory: Path, *, overwrite: bool) -> None:
    """Write clients.csv and tally.json, both or neither."""
    with whole(directory, overwrite=overwrite, own_files=TALLY_FILES) as draft:
        cells = ((wildcard_text(row.query), wildcard_text(row.url), *astuple(row)[2:]) for row in rows)
        write_table(draft / "clients.csv", [field.name for field in fields(ClientRow)], cells)
        text = json.dumps(card, ensure_ascii=False, indent=2, allow_nan=False)
        (draft / "tally.json").write_text(text + "\n", encoding="utf-8")


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
