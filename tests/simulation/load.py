"""Devices that send reports without a pause, and remember what they were told."""

from __future__ import annotations

import random
import threading
import time
from types import TracebackType
from typing import Self

from blendp.reports import QUESTIONS
from blendp.wire.reports import UploadedReport
from tests.simulation.servers import Client, NoAnswer
from tests.simulation.world import BATCH, NEW, SINGLE, World

_FINE = ("accepted", "duplicate")


class Load:
    """Threads that send single reports and batches over connections that they keep."""

    def __init__(self, world: World, seed: int, port: int | None = None, threads: int = 4) -> None:
        self._world = world
        self._port = port or world.server.port
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._going = True
        self.sent: dict[bytes, UploadedReport] = {}
        self.acknowledged: set[bytes] = set()
        self.answers = self.silences = 0
        self.strange: list[str] = []
        self._threads = [threading.Thread(target=self._send) for _ in range(threads)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._going = False
        for thread in self._threads:
            thread.join()

    def _reports(self) -> list[UploadedReport]:
        """Some new ones, and now and then some that were sent before."""
        assert self._world.scheme
        with self._lock:
            chance = self._random
            batch = []
            for _ in range(chance.choice((1, 1, 1, 5, 40))):
                question = chance.choice(self._world.asked)
                form = self._world.scheme.questions[QUESTIONS[question]]
                data = chance.randrange(form.possible_reports).to_bytes(form.report_bytes, "big")
                batch.append(UploadedReport(chance.randbytes(16), chance.randbytes(16), question, data))
            if self.sent and chance.random() < 0.2:
                batch += chance.sample(list(self.sent.values())[-200:], 1)
            self.sent |= {report.report_id: report for report in batch}
        return batch

    def _send(self) -> None:
        client = Client(self._port, timeout=20)
        waiting: list[UploadedReport] = []
        while self._going:
            reports = waiting or self._reports()
            try:
                self.tell(client, reports, BATCH)
                waiting = []
            except NoAnswer:
                self.silences += 1
                waiting = reports if self._random.random() < 0.95 else []
                time.sleep(0.005)
        client.close()

    def tell(self, client: Client, reports: list[UploadedReport], form: str) -> None:
        """Send, and remember who was acknowledged."""
        form = SINGLE if len(reports) == 1 else form
        body, kind, path = self._world.body(form, [(NEW, report) for report in reports])
        answer = client.ask("PUT" if form == SINGLE else "POST", path, body, kind)
        self.answers += 1
        if answer.status == 503:
            return
        content = answer.json
        outcomes = content.get("outcomes") or [content.get("outcome", answer.problem)]
        with self._lock:
            for report, outcome in zip(reports, outcomes, strict=True):
                if outcome in _FINE:
                    self.acknowledged.add(report.report_id)
                else:
                    self.strange.append(outcome)

    def so_far(self) -> set[bytes]:
        """Who was acknowledged until now."""
        with self._lock:
            return set(self.acknowledged)

    def retry(self) -> None:
        """Send again all that was never acknowledged; now everything must be."""
        client = Client(self._world.server.port)
        left = [report for report_id, report in self.sent.items() if report_id not in self.acknowledged]
        for start in range(0, len(left), 500):
            self.tell(client, left[start : start + 500], BATCH)
        client.close()
        assert self.acknowledged == set(self.sent)
        assert not self.strange
