"""What people and devices send in tests of the kit."""

from __future__ import annotations

import os

from blendp.randomness import ReleaseRandom
from blendp.reports import QUESTION_NUMBER
from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
from blendp.wire import UploadedReport
from blendp.wire.reports import write_batch

RECORD = ("news", "https://news.example")


def new_reports(settings: Settings, campaign: str, count: int) -> bytes:
    """A batch of reports of as many new devices, to the collector of these settings."""
    service = CollectorService.open(settings)
    reporting = service.book.reporting(campaign)
    service.close()
    drawn = [reporting.scheme.randomise([RECORD], ReleaseRandom()) for _ in range(count)]
    return write_batch(
        reporting.binding,
        [UploadedReport(os.urandom(16), os.urandom(16), QUESTION_NUMBER[one.question], one.data) for one in drawn],
    )
