"""The collector against the bare insert: acknowledged reports a second, latency and memory, over real HTTP.

    python -m benchmarks.collector [--database sqlite|postgresql|both] [--seconds 5] [--repeat 3] [--json] [--docs FILE]

A server of its own process (two workers on PostgreSQL) on loopback, a load generator of its own process, a fresh copy
of one campaign's database for every run. The *floor* is the same web server and the same database with the same schema
and durability, doing nothing but cutting bodies into rows and inserting them, all requests in line in one transaction;
the *naive floor* makes a transaction a request. Product and floors run in turns; a ratio is the median of those of the
turns, reports a second over reports a second. The mix has as many invalid requests as valid ones: bodies cut short, a
wrong manifest, impossible reports, replays. It runs in turns with the same valid senders alone, as fast as they can and
at a third of what they reach alone, which leaves room for as many invalid requests of the same cost. The generator's
share of a core shows whether it was the bottleneck: near 1. Processor time a report is the figure that a busy machine
changes least.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.collector_load import BATCH, SINGLE, Load, Order
from benchmarks.collector_servers import CAMPAIGN, FLOOR, NAIVE, PRODUCT, Location, Prepared, Server, prepare, serving
from benchmarks.peers.environment import ROOT, cache

SQLITE, POSTGRESQL = "sqlite", "postgresql"
WORKERS = {SQLITE: 1, POSTGRESQL: 2}
SECONDS, REPEAT = 5.0, 3
ALONE, MIXED = "alone", "mixed"

GOAL_RATIO, GOAL_BATCH, GOAL_SHARE, GOAL_UNHARMED = 0.6, 50_000, 0.5, 0.95

_MEASURED = re.compile(r"(<!-- measured -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Scenario:
    """One kind of traffic."""

    name: str
    kind: str
    reports: int
    senders: int
    sides: tuple[str, ...] = (PRODUCT, FLOOR)


SCENARIOS = (
    Scenario("single uploads", SINGLE, 1, 64, (PRODUCT, FLOOR, NAIVE)),
    Scenario("binary batches of 1000", BATCH, 1000, 8),
    Scenario("binary batches of 10000", BATCH, 10_000, 4),
)
MIXES = (
    Scenario("single uploads", SINGLE, 1, 32, (ALONE, MIXED)),
    Scenario("binary batches of 1000", BATCH, 1000, 4, (ALONE, MIXED)),
)


@dataclass(frozen=True)
class Run:
    """One side for some seconds."""

    rate: float
    """Acknowledged durable reports a second."""

    p50: float
    p99: float
    start_megabytes: float
    peak_megabytes: float
    processor_us: float
    """Processor time of the server's processes a report, in microseconds; PostgreSQL's own is not in it."""

    generator: float
    """Share of a core that the generator used."""

    requests: int
    refused: int
    """Valid requests that were not acknowledged."""

    invalid_requests: int
    exhausted: bool


@dataclass(frozen=True)
class Row:
    """One scenario on one database: the runs of every side, in turns."""

    database: str
    scenario: str
    reports: int
    paced: bool
    runs: dict[str, list[Run]]

    def middle(self, side: str, figure: str) -> float:
        return median(float(getattr(run, figure)) for run in self.runs[side])

    def ratio(self, side: str, other: str, figure: str = "rate") -> float:
        """Side over other, the median over the turns."""
        pairs = zip(self.runs[side], self.runs[other], strict=True)
        return median(float(getattr(one, figure)) / max(1e-9, float(getattr(two, figure))) for one, two in pairs)


@dataclass(frozen=True)
class Claim:
    """A goal, what was measured, and whether it is met."""

    text: str
    goal: float
    measured: float

    @property
    def met(self) -> bool:
        return self.measured >= self.goal


@dataclass(frozen=True)
class Measured:
    """Everything that one run of the benchmark found."""

    cores: int
    seconds: float
    rows: list[Row] = field(default_factory=list)
    mixes: list[Row] = field(default_factory=list)

    def claims(self) -> list[Claim]:
        claims = []
        for row in self.rows:
            where = f"{row.database}, {row.scenario}"
            claims.append(Claim(f"{where}: ratio to the floor", GOAL_RATIO, row.ratio(PRODUCT, FLOOR)))
            if row.reports > 1:
                claims.append(Claim(f"{where}: reports a second", GOAL_BATCH, row.middle(PRODUCT, "rate")))
        for row in self.mixes:
            goal, load = (GOAL_UNHARMED, "a third of the load") if row.paced else (GOAL_SHARE, "full load")
            where = f"{row.database}, {row.scenario}, half of the requests invalid, {load}"
            claims.append(Claim(f"{where}: valid throughput to that alone", goal, row.ratio(MIXED, ALONE)))
        return claims

    def tables(self) -> list[Table]:
        return [
            table
            for table, shown in (
                (_against_floor(self.rows), self.rows),
                (_mixed(self.mixes), self.mixes),
                (_claimed(self.claims()), True),
            )
            if shown
        ]

    def as_json(self) -> str:
        claims = [{**asdict(claim), "met": claim.met} for claim in self.claims()]
        return json.dumps({**asdict(self), "claims": claims}, indent=2)


Beside = Callable[[Server], AbstractContextManager[object]]
"""What else happens to a server while it is loaded."""


def run(
    prepared: Prepared,
    side: str,
    scenario: Scenario,
    database: str,
    seconds: float,
    *,
    rate: float = 0.0,
    beside: Beside = nullcontext,
) -> Run:
    """Serve a fresh copy, and send for some seconds."""
    workers = WORKERS[database]
    with prepared.copy() as location, serving(_server_of(side), prepared, location, workers) as server:
        start = server.megabytes("VmRSS")
        order = Order(
            host=server.host,
            port=server.port,
            campaign=CAMPAIGN,
            binding=prepared.binding,
            kind=scenario.kind,
            reports=scenario.reports,
            senders=scenario.senders,
            possible=prepared.possible,
            impossible=prepared.impossible,
            invalid_senders=scenario.senders if side == MIXED else 0,
            rate=rate,
            warm_seconds=min(1.0, seconds / 4),
            seconds=seconds,
        )
        with beside(server):
            used = server.processor_seconds()
            load = send(order)
            used = server.processor_seconds() - used
        peak = server.megabytes("VmHWM")
    return Run(
        rate=load.accepted / load.seconds,
        p50=load.p50,
        p99=load.p99,
        start_megabytes=start,
        peak_megabytes=peak,
        processor_us=1e6 * used * load.seconds / ((load.seconds + order.warm_seconds) * max(1, load.accepted)),
        generator=load.processor,
        requests=load.requests,
        refused=load.requests - load.accepted // scenario.reports,
        invalid_requests=load.invalid_requests,
        exhausted=load.exhausted,
    )


def _server_of(side: str) -> str:
    return side if side in (FLOOR, NAIVE) else PRODUCT


def send(order: Order) -> Load:
    """The generator, as a process of its own."""
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.collector_load"],
        input=msgspec.json.encode(order),
        stdout=subprocess.PIPE,
        cwd=ROOT,
        check=True,
    )
    return msgspec.json.decode(process.stdout, type=Load)


def measure(
    databases: Sequence[str],
    seconds: float = SECONDS,
    repeat: int = REPEAT,
    scenarios: Sequence[Scenario] = SCENARIOS,
    mixes: Sequence[Scenario] = MIXES,
) -> Measured:
    """All scenarios on these databases."""
    measured = Measured(os.cpu_count() or 1, seconds)
    for database in databases:
        with preparing(database) as prepared:
            for scenario in scenarios:
                measured.rows.append(_turns(prepared, scenario, database, seconds, repeat))
            for scenario in mixes:
                full = _turns(prepared, scenario, database, seconds, repeat)
                third = full.middle(ALONE, "rate") / scenario.reports / 3
                measured.mixes.append(full)
                measured.mixes.append(_turns(prepared, scenario, database, seconds, repeat, rate=third))
    return measured


def _turns(
    prepared: Prepared, scenario: Scenario, database: str, seconds: float, repeat: int, *, rate: float = 0.0
) -> Row:
    runs: dict[str, list[Run]] = {side: [] for side in scenario.sides}
    for _ in range(repeat):
        for side in scenario.sides:
            runs[side].append(run(prepared, side, scenario, database, seconds, rate=rate))
    return Row(database, scenario.name, scenario.reports, rate > 0, runs)


@contextmanager
def preparing(database: str) -> Iterator[Prepared]:
    """A campaign on an empty database of this kind."""
    cache().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=cache()) as folder:
        data = Path(folder) / "made"
        if database == SQLITE:
            yield prepare(Location(data))
            return
        from tests.service.postgres import Postgres, temporary_folder

        home = temporary_folder()
        try:
            postgres = Postgres(home)
            try:
                yield prepare(Location(data, postgres.new_database()))
            finally:
                postgres.stop()
        finally:
            shutil.rmtree(home, ignore_errors=True)


def _against_floor(rows: Sequence[Row]) -> Table:
    table = Table(
        title="The collector against the bare insert",
        caption="reports/s are acknowledged and durable; times are a request's; memory and processor time the server's",
    )
    for heading in ("database", "traffic", "side"):
        table.add_column(heading)
    for heading in ("reports/s", "ratio", "p50, ms", "p99, ms", "start, MB", "peak, MB", "µs/report", "generator"):
        table.add_column(heading, justify="right")
    for row in rows:
        for side in row.runs:
            against = "" if side == PRODUCT else f"{row.ratio(PRODUCT, side):.2f}"
            table.add_row(
                row.database, row.scenario, side, f"{row.middle(side, 'rate'):,.0f}", against, *_rest(row, side)
            )
    return table


def _mixed(rows: Sequence[Row]) -> Table:
    table = Table(
        title="Valid traffic alone, and with as many invalid requests beside it",
        caption="figures are of the valid traffic; ratios are mixed over alone",
    )
    for heading in ("database", "traffic", "load", "side"):
        table.add_column(heading)
    for heading in ("reports/s", "ratio", "p50, ms", "p99, ms", "start, MB", "peak, MB", "µs/report", "generator"):
        table.add_column(heading, justify="right")
    for row in rows:
        for side in row.runs:
            against = f"{row.ratio(MIXED, ALONE):.2f}" if side == MIXED else ""
            labels = (row.database, row.scenario, "third" if row.paced else "full", side)
            table.add_row(*labels, f"{row.middle(side, 'rate'):,.0f}", against, *_rest(row, side))
    return table


def _rest(row: Row, side: str) -> list[str]:
    times = [f"{1000 * row.middle(side, figure):.1f}" for figure in ("p50", "p99")]
    memory = [f"{row.middle(side, figure):,.0f}" for figure in ("start_megabytes", "peak_megabytes")]
    return [*times, *memory, f"{row.middle(side, 'processor_us'):.1f}", f"{row.middle(side, 'generator'):.2f}"]


def _claimed(claims: Sequence[Claim]) -> Table:
    met = sum(claim.met for claim in claims)
    table = Table(title="Goals", caption=f"{met} of {len(claims)} goals met")
    table.add_column("claim")
    for heading in ("goal, at least", "measured"):
        table.add_column(heading, justify="right")
    table.add_column("result")
    for claim in claims:
        number = "{:,.0f}" if claim.goal > 1 else "{:.2f}"
        figures = (number.format(figure) for figure in (claim.goal, claim.measured))
        table.add_row(claim.text, *figures, "met" if claim.met else "NOT met")
    return table


def _markdown(table: Table) -> str:
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    heads = [str(column.header) for column in table.columns]
    marks = ["---:" if column.justify == "right" else "---" for column in table.columns]
    lines = [heads, marks, *(list(row) for row in zip(*columns, strict=True))]
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    caption = str(table.caption)
    return f"**{table.title}**\n\n{body}\n\n{caption[0].upper()}{caption[1:]}.\n"


def write_page(measured: Measured, page: Path) -> None:
    """Replace the tables between the page's marks, or append them with marks."""
    tables = "\n".join(_markdown(table) for table in measured.tables())
    text = page.read_text() if page.exists() else ""
    if not _MEASURED.search(text):
        text += "\n<!-- measured -->\n<!-- end -->\n"
    page.write_text(_MEASURED.sub(lambda mark: f"{mark[1]}\n{tables}\n{mark[2]}", text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=(SQLITE, POSTGRESQL, "both"), default="both")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of every run")
    parser.add_argument("--repeat", type=int, default=REPEAT, help="turns")
    parser.add_argument("--only", default="", metavar="TEXT", help="traffic whose name has this")
    parser.add_argument("--skip-mixes", action="store_true")
    parser.add_argument("--skip-floor", action="store_true")
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    parser.add_argument("--docs", type=Path, metavar="FILE", help="a page whose measured part is replaced")
    asked = parser.parse_args()
    databases = (SQLITE, POSTGRESQL) if asked.database == "both" else (asked.database,)
    scenarios = [] if asked.skip_floor else [one for one in SCENARIOS if asked.only in one.name]
    mixes = [] if asked.skip_mixes else [one for one in MIXES if asked.only in one.name]
    measured = measure(databases, asked.seconds, asked.repeat, scenarios, mixes)
    if asked.json:
        print(measured.as_json())
    else:
        console = Console()
        for table in measured.tables():
            console.print(table)
    if asked.docs:
        write_page(measured, asked.docs)


if __name__ == "__main__":
    main()
