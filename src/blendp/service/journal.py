"""What the service writes about itself: a JSON object a line, about events and failures, never about people.

No line tells of a single report: neither when it came, nor from where. Failures are told by their kind and place in
the code, without their messages, which might hold what somebody sent.
"""

from __future__ import annotations

import datetime
import json
import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_OWN = ("blendp.service", "uvicorn.error")
_logger = logging.getLogger(_OWN[0])
_logger.addHandler(logging.NullHandler())


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        time = datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="seconds")
        event, members = record.getMessage(), getattr(record, "members", {})
        if record.name not in _OWN:
            event, members = "a library complains", {"library": record.name}
        line = {"time": time, "level": record.levelname.lower(), "event": event, **members}
        return json.dumps(line, ensure_ascii=False)


def _tells_no_request(record: logging.LogRecord) -> bool:
    """The web server warns of single requests that it does not understand: of a report, too, that asks for HTTP/2."""
    return (record.name, record.levelno) != ("uvicorn.error", logging.WARNING)


def start_journal() -> None:
    """Write lines to standard error, those of the web server too; of other libraries, that they complain."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    handler.addFilter(_tells_no_request)
    logging.getLogger().handlers = [handler]
    for name in _OWN:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False


@contextmanager
def journal() -> Iterator[None]:
    """Write lines meanwhile. Other commands that use the store tell people themselves what they have to know."""
    root = logging.getLogger()
    before = root.handlers
    start_journal()
    try:
        yield
    finally:
        root.handlers = before
        for name in _OWN:
            logger = logging.getLogger(name)
            logger.handlers = [logging.NullHandler()]
            logger.propagate = True


def tell(event: str, **members: Any) -> None:
    """An event."""
    _logger.info(event, extra={"members": members})


def warn(event: str, **members: Any) -> None:
    """Something that operators should look at."""
    _logger.warning(event, extra={"members": members})


def tell_failure(event: str, error: BaseException, **members: Any) -> None:
    """A failure, by its kind and place."""
    frames = traceback.extract_tb(error.__traceback__)
    position = f"{frames[-1].name}:{frames[-1].lineno}" if frames else "?"
    _logger.error(event, extra={"members": {"error": type(error).__name__, "at": position, **members}})
