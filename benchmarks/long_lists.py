"""Reports about long lists: encoding, decoding and counting them, and how these grow with the list.

    python -m benchmarks.long_lists [--reports N] [--epsilon E] [--quick]

Prints a table: milliseconds of the processor for one report, their ratio, the exponent of each, and the minutes that a
million reports take to count. Times are those of the process, not of the clock, so that a busy machine disturbs less.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from blendp.mechanisms.subset_selection import SubsetSelection

LENGTHS = (1_000, 3_000, 10_000, 20_000)
_MILLION = 1_000_000


@dataclass(frozen=True)
class LengthRow:
    """Milliseconds a report for one length of list."""

    items: int
    report_bytes: int
    encode: float
    decode: float
    count: float

    @property
    def ratio(self) -> float:
        """Encoding over decoding."""
        return self.encode / self.decode


def measure(items: int, epsilon: float, reports: int, sampled: int = 9) -> LengthRow:
    """The median over ``sampled`` reports of encoding and decoding, and counting of ``reports``."""
    randomiser, generator = SubsetSelection(epsilon, items), np.random.default_rng(items)
    subsets = [sorted(generator.choice(items, randomiser.size, replace=False).tolist()) for _ in range(sampled)]
    encoded = [randomiser.encode(subset) for subset in subsets]
    encode = float(np.median([_seconds(randomiser.encode, subset) for subset in subsets]))
    decode = float(np.median([_seconds(randomiser.decode, data) for data in encoded]))
    count = _seconds(randomiser.supports_of_reports, _uniform(randomiser, reports, generator)) / reports
    return LengthRow(items, randomiser.report_bytes, 1e3 * encode, 1e3 * decode, 1e3 * count)


def exponent(rows: Sequence[LengthRow], name: str) -> float:
    """The slope of log time over log items, by least squares, of the times of this name."""
    items, times = [row.items for row in rows], [getattr(row, name) for row in rows]
    return float(np.polyfit(np.log(items), np.log(times), 1)[0])


def render(rows: Sequence[LengthRow], epsilon: float) -> Table:
    """For the terminal."""
    table = Table(title=f"Reports about long lists, ε = {epsilon:g}: processor time a report")
    for head in ("items", "bytes", "encode, ms", "decode, ms", "ratio", "count, ms", "a million, min"):
        table.add_column(head, justify="right")
    for row in rows:
        minutes = row.count * _MILLION / 60_000
        cells = (f"{row.encode:.2f}", f"{row.decode:.2f}", f"{row.ratio:.2f}", f"{row.count:.3f}", f"{minutes:.1f}")
        table.add_row(f"{row.items:,}", f"{row.report_bytes:,}", *cells)
    if len(rows) > 1:
        encode, decode, count = (f"{exponent(rows, name):.2f}" for name in ("encode", "decode", "count"))
        table.add_row("exponent", "", encode, decode, "", count, "")
    return table


def _uniform(randomiser: SubsetSelection, reports: int, generator: np.random.Generator) -> NDArray[np.uint8]:
    """Reports of which every one is equally likely."""
    width = randomiser.report_bytes
    numbers = (int.from_bytes(generator.bytes(width + 8), "big") % randomiser.subsets for _ in range(reports))
    data = b"".join(number.to_bytes(width, "big") for number in numbers)
    return np.frombuffer(data, dtype=np.uint8).reshape(reports, width)


def _seconds(call: Callable[[Any], object], argument: object) -> float:
    start = time.process_time()
    call(argument)
    return time.process_time() - start


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Reports about long lists.")
    parser.add_argument("--reports", type=int, default=10_000, help="how many are counted for each length")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--quick", action="store_true", help="small, to see that it works")
    options = parser.parse_args(arguments)
    lengths, reports = ((100, 300), 50) if options.quick else (LENGTHS, options.reports)
    Console().print(render([measure(items, options.epsilon, reports) for items in lengths], options.epsilon))


if __name__ == "__main__":
    main()
