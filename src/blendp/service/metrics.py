"""Numbers for Prometheus: how the service fares, by outcome and route, never by person or peer."""

from __future__ import annotations

import os
from functools import cache

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    multiprocess,
    values,
)

disable_created_metrics()  # type: ignore[no-untyped-call]  # they tell the time of the first report of a kind


@cache
def _know_own_number() -> None:
    """A worker never forks, so it need not ask for its number whenever it counts."""
    number = os.getpid()
    values.ValueClass = values.MultiProcessValue(lambda: number)  # type: ignore[no-untyped-call]


class Metrics:
    """The numbers of one process; with several, what they all say together."""

    def __init__(self) -> None:
        """All at 0."""
        self._registry = CollectorRegistry()
        self._shared = "PROMETHEUS_MULTIPROC_DIR" in os.environ
        if self._shared:
            _know_own_number()
        self._reports = Counter("blendp_reports", "Reports by outcome.", ["outcome"], registry=self._registry)
        self._requests = Counter(
            "blendp_requests", "Requests by route and status.", ["method", "route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "blendp_request_seconds", "Time to answer a request, by route.", ["route"], registry=self._registry
        )
        self._waiting = Gauge(
            "blendp_reports_waiting",
            "Reports in line for the store.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self._refused = Counter(
            "blendp_connections_refused",
            "Connections that were refused, or closed for what was sent or not sent, by reason.",
            ["reason"],
            registry=self._registry,
        )
        self._deadlines = Counter(
            "blendp_deadlines", "What happened to campaigns by itself.", ["act", "outcome"], registry=self._registry
        )
        self._of_outcome = cache(self._reports.labels)
        self._of_request = cache(self._requests.labels)
        self._of_route = cache(self._seconds.labels)

    def report(self, outcome: str, count: int) -> None:
        """So many reports had this outcome."""
        self._of_outcome(outcome).inc(count)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._of_request(method, route, status).inc()
        self._of_route(route).observe(seconds)

    def refused_connection(self, reason: str) -> None:
        """A connection was refused, or closed against its will."""
        self._refused.labels(reason).inc()

    def deadline(self, act: str, outcome: str) -> None:
        """Something happened to a campaign by itself, or could not."""
        self._deadlines.labels(act, outcome).inc()

    def waiting(self, count: int) -> None:
        """So many reports are in line."""
        self._waiting.set(count)

    def exposition(self) -> bytes:
        """All numbers, in Prometheus' text format."""
        if not self._shared:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        multiprocess.MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)
