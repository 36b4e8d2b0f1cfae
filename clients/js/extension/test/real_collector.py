"""A real collector for the tests of the extension: a campaign that takes reports, and is released at a word.

Prints one line of JSON when it is ready, and one after each word on standard input: ``release`` or ``stop``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
from tests.browser.collectors import LIBRARY_PEOPLE, publish, release
from tests.service.real_server import RealServer

CAMPAIGN = "library"
REPORTS_PER_PERSON = 2


def say(**answer: object) -> None:
    """One line for whoever started this."""
    print(json.dumps(answer), flush=True)


def main() -> None:
    """Serve until standard input ends."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(Path(folder) / "data", rate=0.0)
        collector = CollectorService.open(settings)
        publish(collector, CAMPAIGN)
        (key,) = collector.keys.known()
        collector.close()
        with RealServer(Path(folder), "--rate", "0") as server:
            say(url=server.url, key=key.public, campaign=CAMPAIGN)
            for word in sys.stdin:
                if word.strip() == "release":
                    collector = CollectorService.open(settings)
                    release(collector, CAMPAIGN, REPORTS_PER_PERSON)
                    collector.close()
                    say(others=REPORTS_PER_PERSON * sum(LIBRARY_PEOPLE.values()))
                else:
                    server.stop()
                    say(stopped=True)


if __name__ == "__main__":
    main()
