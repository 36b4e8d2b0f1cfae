"""What open consoles cost: how long status takes of a large campaign, and the intake with and without consoles.

    python -m benchmarks.console_polling [--reports 300000] [--consoles 20] [--seconds 5] [--repeat 5] [--json]

A campaign with so many reports on the embedded database. *Status* is asked for by the code that serves it: with all
reports counted each time, and as it is. The *intake* is loaded as in ``benchmarks.collector`` by single uploads, as
fast as they go and at a third of that, in turns alone and beside the consoles, each of which asks every ten seconds for
the status of the campaign or for all campaigns, in turns. They have asked before: the slow hash of a token and the
first count are not in the figures. Ratios are medians of those of the turns.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.collector import ALONE, SQLITE, Row, Run, Scenario, preparing, run
from benchmarks.collector_load import SINGLE
from benchmarks.collector_servers import CAMPAIGN, Prepared, Server
from blendp.service.board.status import StatusBoard
from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
from blendp.service.store.reports import keep_reports

BESIDE = "consoles"
POLL_SECONDS = 10.0
UPLOADS = Scenario("single uploads", SINGLE, 1, 32, (ALONE, BESIDE))

_LOOKS = 20
_GROUP = 10_000
_PATHS = (f"/v1/campaigns/{CAMPAIGN}/status", "/v1/overview")


@dataclass(frozen=True)
class StatusCost:
    """Milliseconds for one look at the status of a campaign, the median."""

    reports: int
    counted: float
    """With all reports counted."""

    shown: float
    """As it is served."""

    @property
    def ratio(self) -> float:
        return self.counted / self.shown


@dataclass(frozen=True)
class PollingCost:
    """What one run of the benchmark found."""

    consoles: int
    status: StatusCost
    rows: list[Row]

    def ratio(self, row: Row, figure: str = "rate") -> float:
        return row.ratio(BESIDE, ALONE, figure)

    def tables(self) -> list[Table]:
        return [self._status(), self._intake()]

    def _status(self) -> Table:
        table = Table(title="One look at the status of a campaign")
        for heading in ("reports", "counted each time, ms", "as it is, ms", "ratio"):
            table.add_column(heading, justify="right")
        cost = self.status
        table.add_row(f"{cost.reports:,}", f"{cost.counted:.1f}", f"{cost.shown:.1f}", f"{cost.ratio:.0f}")
        return table

    def _intake(self) -> Table:
        table = Table(
            title=f"The intake alone, and beside {self.consoles} consoles", caption="ratios: beside over alone"
        )
        table.add_column("load")
        table.add_column("side")
        for heading in ("reports/s", "ratio", "p50, ms", "p99, ms", "µs/report", "ratio"):
            table.add_column(heading, justify="right")
        for row in self.rows:
            for side in row.runs:
                ratios = [f"{self.ratio(row, one):.3f}" if side == BESIDE else "" for one in ("rate", "processor_us")]
                times = [f"{1000 * row.middle(side, one):.1f}" for one in ("p50", "p99")]
                table.add_row(
                    "third" if row.paced else "full",
                    side,
                    f"{row.middle(side, 'rate'):,.0f}",
                    ratios[0],
                    *times,
                    f"{row.middle(side, 'processor_us'):.1f}",
                    ratios[1],
                )
        return table


def measure(reports: int, consoles: int, seconds: float, repeat: int) -> PollingCost:
    """Fill a campaign, look at it, and load it."""
    with preparing(SQLITE) as prepared:
        token = _fill(prepared, reports)
        status = _status_cost(prepared, reports)
        full = _turns(prepared, token, consoles, seconds, repeat)
        third = _turns(prepared, token, consoles, seconds, repeat, rate=full.middle(ALONE, "rate") / 3)
    return PollingCost(consoles, status, [full, third])


def _fill(prepared: Prepared, reports: int) -> str:
    """Give the campaign its reports, and whoever asks a token."""
    collector = CollectorService.open(Settings(prepared.location.data))
    data = [bytes.fromhex(one) for one in prepared.possible[1]]
    for start in range(0, reports, _GROUP):
        size = min(_GROUP, reports - start)
        rows = [(os.urandom(16), os.urandom(16), 1, data[number % len(data)]) for number in range(size)]
        with collector.store.writing() as connection:
            keep_reports(connection, {prepared.number: rows}, collector.clock().isoformat(), Counter())
    token = collector.tokens.create("benchmark", ["read"])
    collector.close()
    return token


def _status_cost(prepared: Prepared, reports: int) -> StatusCost:
    collector = CollectorService.open(Settings(prepared.location.data))
    board = StatusBoard(collector.store, collector.clock)
    board.status(CAMPAIGN)
    cold = [_milliseconds(StatusBoard(collector.store, collector.clock)) for _ in range(_LOOKS)]
    warm = [_milliseconds(board) for _ in range(_LOOKS)]
    collector.close()
    return StatusCost(reports, median(cold), median(warm))


def _milliseconds(board: StatusBoard) -> float:
    begun = time.perf_counter()
    board.status(CAMPAIGN)
    return 1000 * (time.perf_counter() - begun)


def _turns(prepared: Prepared, token: str, consoles: int, seconds: float, repeat: int, *, rate: float = 0.0) -> Row:
    runs: dict[str, list[Run]] = {ALONE: [], BESIDE: []}
    for _ in range(repeat):
        runs[ALONE].append(run(prepared, ALONE, UPLOADS, SQLITE, seconds, rate=rate))
        beside = partial(polling, token=token, consoles=consoles)
        runs[BESIDE].append(run(prepared, BESIDE, UPLOADS, SQLITE, seconds, rate=rate, beside=beside))
    return Row(SQLITE, UPLOADS.name, 1, rate > 0, runs)


@contextmanager
def polling(server: Server, token: str, consoles: int) -> Iterator[None]:
    """So many consoles ask meanwhile, and have asked before; raises if one was refused."""
    begun, over, statuses = threading.Event(), threading.Event(), Counter[int]()
    thread = threading.Thread(target=_poll, args=(server, token, POLL_SECONDS / consoles, begun, over, statuses))
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if set(statuses) != {200}:
        raise RuntimeError(f"the consoles were answered {dict(statuses)}")


def _poll(
    server: Server, token: str, pause: float, begun: threading.Event, over: threading.Event, statuses: Counter[int]
) -> None:
    """One request after the other, as many as the consoles make together."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    try:
        for number in count():
            connection.request("GET", _PATHS[number % 2], headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            answer.read()
            statuses[answer.status] += 1
            if number:
                begun.set()
            if over.wait(pause):
                break
    finally:
        begun.set()  # also if nobody answers: whoever waits goes on, and sees that
        connection.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print tables or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=300_000)
    parser.add_argument("--consoles", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=5.0, help="of every run")
    parser.add_argument("--repeat", type=int, default=5, help="turns")
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    asked = parser.parse_args(arguments)
    cost = measure(asked.reports, asked.consoles, asked.seconds, asked.repeat)
    if asked.json:
        print(json.dumps(asdict(cost), indent=2))
        return
    for table in cost.tables():
        Console().print(table)


if __name__ == "__main__":
    main()
