"""The clients of a campaign as they come: most are honest, some lie, and some do not keep to the rules."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import count

from blendp.fleet.fleet import Fleet, FleetError
from blendp.fleet.misfits import MISFITS, lie, misbehave
from blendp.fleet.people import Record
from blendp.wire import UploadedReport
from blendp.wire.reports import ACCEPTED, DUPLICATE

LIAR_EVERY, MISFIT_EVERY = 100, 40
"""One in so many."""

OVER = frozenset({"late", "wrong-state", "not-found"})
"""Outcomes after which nobody need try."""

_BATCH = 250


class Crowd:
    """People who come to a campaign, each with a record; the first to come is honest."""

    def __init__(self, fleet: Fleet) -> None:
        """Nobody has come yet."""
        self._fleet = fleet
        self._people, self._makers = count(1), count(1)
        self._reasons = _reasons(fleet.campaign)
        self._accepted: UploadedReport | None = None

    def come(self, record: Record) -> str:
        """One alone; the outcome."""
        if next(self._people) % MISFIT_EVERY == 0:
            return self._misbehave(record)
        upload = self._upload(record)
        outcome = self._fleet.send(upload)
        if outcome not in OVER:
            _require(ACCEPTED, outcome)
            self._accepted = upload
        return outcome

    def come_all(self, records: Sequence[Record]) -> None:
        """Many: after the first one the misfits, then everybody else in a relay's batches."""
        self.come(records[0])
        for record in records[MISFIT_EVERY - 1 :: MISFIT_EVERY]:
            self._misbehave(record)
        others = [record for number, record in enumerate(records, 1) if number % MISFIT_EVERY][1:]
        for start in range(0, len(others), _BATCH):
            uploads = [self._upload(record) for record in others[start : start + _BATCH]]
            _require(ACCEPTED, *self._fleet.send_batch(uploads))

    def _misbehave(self, record: Record) -> str:
        reason = next(self._reasons)
        if self._accepted is None:
            raise FleetError("Nobody has been accepted whom a misfit could take after.")
        outcome = misbehave(self._fleet, reason, self._accepted, record)
        if outcome not in OVER:
            _require(reason, outcome)
        return outcome

    def _upload(self, record: Record) -> UploadedReport:
        lying = next(self._makers) % LIAR_EVERY == 0
        report = lie(self._fleet.scheme, self._fleet.random) if lying else self._fleet.randomised(record)
        return self._fleet.uploaded(report)


def _reasons(campaign: str) -> Iterator[str]:
    """What misfits do: first everything in turn, then some things more often than others, retries the most."""
    chance = random.Random(campaign)
    weights = [chance.random() + 3 * (reason == DUPLICATE) for reason in MISFITS]
    yield from MISFITS
    while True:
        yield from chance.choices(tuple(MISFITS), weights)


def _require(expected: str, *outcomes: str) -> None:
    if others := set(outcomes) - {expected}:
        raise FleetError(f"Reports should have been {expected} and were {', '.join(sorted(others))}.")
