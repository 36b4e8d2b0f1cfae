"""The table of sizes in docs/operations.md follows from what the page says that it is computed from."""

from __future__ import annotations

import math
import re
from pathlib import Path

from tests.operations.machine import PAGE, commands

TEXT = PAGE.read_text(encoding="utf-8")
FLAT = " ".join(TEXT.split())
WEEK_SECONDS, MB, GB = 604_800, 1e6, 1e9


def rows(mark: str) -> list[list[str]]:
    """The cells of the first table after a mark, without its head."""
    table = TEXT[TEXT.index(f"<!-- {mark} -->") :].split("\n\n")[0].splitlines()[3:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def number(pattern: str) -> int:
    (only,) = re.findall(pattern, FLAT)
    return int(only)


def size(count: float) -> str:
    return f"{count / GB:.1f} GB" if count >= GB else f"{max(1, round(count / MB))} MB"


def test_every_command_of_the_page_is_run() -> None:
    """Each section with commands is one that a test asks for by its heading; figures are made by a benchmark."""
    headings = re.findall(r"^#+ (.+)$", TEXT, flags=re.MULTILINE)
    tests = "\n".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    unasked = [heading for heading in headings if commands(heading) and f'commands("{heading}")' not in tests]
    assert unasked == ["How large a machine"]


def test_sizes_are_computed_as_the_page_says() -> None:
    requests, factor = number(r"A participation is (\d+) requests"), number(r"peak is assumed to be (\d+)\.")
    microseconds = number(r"(\d+) µs of processor a request")
    measured = {row[0]: list(map(float, row[3:7])) for row in rows("measured")[::-1]}  # the shortest list comes last
    sizes = rows("sizes")
    assert len(sizes) == 6
    for devices, mean, peak, cores, database, disk, backup, release in sizes:
        count = int(devices.replace(",", ""))
        at_peak = count / WEEK_SECONDS * requests * factor
        on_disk, in_backup, _, seconds = measured[database.lower()]
        assert mean == f"{count / WEEK_SECONDS:.2f}"
        assert peak == f"{at_peak:,.0f}"
        assert cores == str(max(1, math.ceil(3e-6 * microseconds * at_peak)))
        assert (disk, backup) == (size(2 * count * on_disk), size(2 * count * in_backup))
        assert release == f"{math.ceil(count / 1e6 * seconds)} s"
        assert database == ("SQLite" if count <= 500_000 else "PostgreSQL")
