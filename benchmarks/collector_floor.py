"""The floor of the collector's benchmark: the same web server and database doing the bare insert.

    python -m benchmarks.collector_floor DATA DATABASE WORKERS CAMPAIGN_NUMBER GROUPED TUNING

Same server and settings, same schema, same durability. It reads a body, cuts it into rows, inserts them and
acknowledges after the commit: in one transaction for all requests in line, or, if GROUPED is 0, one a request. It
validates nothing, hashes nothing, counts nothing, and cannot tell a retry from an attack.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import struct
import sys
import threading
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

import msgspec
import psycopg
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.supervisors import Multiprocess

_SETTINGS = "BLENDP_BENCHMARK_FLOOR"
_DATABASE_FILE = "collector.db"
_HEAD = 4 + 32
_SECTION = struct.Struct(">BHI")
_MAX_IN_GROUP = 20_000
_NUMBER = {"query": 0, "record": 1, "cell": 2}

Row = tuple[int, bytes, bytes, int, bytes]


class Database(Protocol):
    """Keeps rows in one transaction, which is on the disk when it returns."""

    def keep(self, rows: Sequence[Row]) -> None: ...


class Sqlite:
    """The embedded database, as durable as the collector's."""

    def __init__(self, path: Path, tuning: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", *tuning.split(",")):
            self._connection.execute(f"PRAGMA {pragma}").close()

    def keep(self, rows: Sequence[Row]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(
            "INSERT INTO report (campaign, report_id, pseudonym, question, data) VALUES (?, ?, ?, ?, ?)", rows
        )
        self._connection.execute("COMMIT")


class Postgresql:
    """PostgreSQL with the rows packed, as the collector sends them: one statement and one round trip for all."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)

    def keep(self, rows: Sequence[Row]) -> None:
        sections: defaultdict[tuple[int, int], list[bytes]] = defaultdict(list)
        for _, report_id, pseudonym, question, data in rows:
            sections[question, len(data)].append(report_id + pseudonym + data)
        packed = [b"".join(section) for section in sections.values()]
        questions, widths = (list(column) for column in zip(*sections, strict=True))
        starts = list(accumulate(map(len, packed[:-1]), initial=1))
        sizes = [len(section) for section in sections.values()]
        self._connection.execute(
            """INSERT INTO report (campaign, report_id, pseudonym, question, data)
               SELECT %s, substr(packed, at, 16), substr(packed, at + 16, 16), question, substr(packed, at + 32, width)
               FROM (SELECT %s::bytea AS packed) AS sent,
                    unnest(%s::smallint[], %s::int[], %s::int[], %s::int[]) AS section (question, width, start, size),
                    generate_series(start, start + (size - 1) * (32 + width), 32 + width) AS at""",
            (rows[0][0], b"".join(packed), questions, widths, starts, sizes),
            binary=True,
        )


class Grouped:
    """One thread that keeps all that is in line in one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._line: deque[tuple[list[Row], asyncio.Future[None]]] = deque()
        self._changed = threading.Condition()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, daemon=True).start()

    async def keep(self, rows: list[Row]) -> None:
        future: asyncio.Future[None] = self._loop.create_future()
        with self._changed:
            self._line.append((rows, future))
            self._changed.notify()
        await future

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._line:
                    self._changed.wait()
                group: list[tuple[list[Row], asyncio.Future[None]]] = []
                size = 0
                while self._line and (not group or size + len(self._line[0][0]) <= _MAX_IN_GROUP):
                    group.append(self._line.popleft())
                    size += len(group[-1][0])
            self._database.keep([row for rows, _ in group for row in rows])
            self._loop.call_soon_threadsafe(_tell, group)


def _tell(group: list[tuple[list[Row], asyncio.Future[None]]]) -> None:
    for _, future in group:
        if not future.done():
            future.set_result(None)


class Single:
    """A transaction a request, in the event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, rows: list[Row]) -> None:
        self._database.keep(rows)


def rows_of_binary(number: int, body: bytes) -> list[Row]:
    rows: list[Row] = []
    at = _HEAD
    while at < len(body):
        question, width, count = _SECTION.unpack_from(body, at)
        at += _SECTION.size
        end = at + count * (32 + width)
        cut = struct.iter_unpack(f"16s16s{width}s", memoryview(body)[at:end])
        rows += [(number, report_id, pseudonym, question, data) for report_id, pseudonym, data in cut]
        at = end
    return rows


def rows_of_json(number: int, body: bytes) -> list[Row]:
    of_hex = bytes.fromhex
    return [
        (number, of_hex(one["id"]), of_hex(one["pseudonym"]), _NUMBER[one["question"]], of_hex(one["data"]))
        for one in msgspec.json.decode(body)["reports"]
    ]


def row_of_json(number: int, report_id: str, body: bytes) -> Row:
    one = msgspec.json.decode(body)
    of_hex = bytes.fromhex
    return (number, of_hex(report_id), of_hex(one["pseudonym"]), _NUMBER[one["question"]], of_hex(one["data"]))


def worker() -> Starlette:
    """The application of one process."""
    asked: dict[str, Any] = json.loads(os.environ[_SETTINGS])
    number: int = asked["number"]
    keeper: list[Grouped | Single] = []

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        url = asked["database"]
        database = Postgresql(url) if url else Sqlite(Path(asked["data"]) / _DATABASE_FILE, asked["tuning"])
        keeper.append(Grouped(database) if asked["grouped"] else Single(database))
        yield

    async def put(request: Request) -> Response:
        await keeper[0].keep([row_of_json(number, request.path_params["report"], await request.body())])
        return Response(b"", 201)

    async def post(request: Request) -> Response:
        read = rows_of_json if request.headers["content-type"].endswith("json") else rows_of_binary
        await keeper[0].keep(read(number, await request.body()))
        return Response(b"", 201)

    async def ready(_request: Request) -> Response:
        return Response(b"")

    routes = [
        Route("/v1/campaigns/{campaign}/reports/{report}", put, methods=["PUT"]),
        Route("/v1/campaigns/{campaign}/reports", post, methods=["POST"]),
        Route("/health/ready", ready),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


def main() -> None:
    data, database, workers, number, grouped, tuning = sys.argv[1:]
    asked = {"data": data, "database": database, "number": int(number), "grouped": grouped == "1", "tuning": tuning}
    os.environ[_SETTINGS] = json.dumps(asked)
    config = uvicorn.Config(
        "benchmarks.collector_floor:worker",
        factory=True,
        host="127.0.0.1",
        port=0,
        workers=int(workers),
        http="httptools",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
    )
    with config.bind_socket() as socket:
        print(json.dumps({"event": "serving", "url": f"http://127.0.0.1:{socket.getsockname()[1]}"}), file=sys.stderr)
        if config.workers == 1:
            uvicorn.Server(config).run(sockets=[socket])
        else:
            Multiprocess(config, sockets=[socket]).run()


if __name__ == "__main__":
    main()
