"""``blendp demo --serve``: a collector, invented people who take part in it, and where to look."""

from __future__ import annotations

import os
import sys
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager

from blendp.cli.console import results
from blendp.cli.failures import require_server
from blendp.cli.interrupts import heeded
from blendp.cli.progress import steps
from blendp.cli.serve import note
from blendp.engines.database import hold_temporary
from blendp.fleet.collector_process import CollectorProcess
from blendp.fleet.stage import LiveCampaign, Stage, scenes
from blendp.fleet.story import USUAL_PEOPLE, Story
from blendp.leftovers import FolderName
from blendp.service.clock import utc_today
from blendp.service.operator_client import OperatorClient
from blendp.wire import addresses
from blendp.wire.addresses import of_campaign

FOLDER = FolderName("blendp-demo-", ".served")

STORY, YOU = "the demonstration", "you"
"""Whose tokens there are, as the audit trail names them."""

_EVERYTHING = ("read", "manage", "release")
"""What both tokens may do. Reading would be enough to look; but there are invented people only, on this machine only,
until the demonstration ends, and whoever sees a console wants to try its buttons."""

_LOOK_SECONDS = 1.0


def play(like: str, users: int | None, seed: int, *, browser: bool) -> None:
    """Show everything until somebody stops it; nothing stays."""
    require_server()
    story = Story(utc_today(), USUAL_PEOPLE if users is None else users, like, seed)
    folder = hold_temporary(FOLDER)
    operators = {STORY: _EVERYTHING, YOU: _EVERYTHING}
    try:
        with CollectorProcess(folder.path, operators) as collector, _tidying_in_peace(), collector.explaining():
            live = _prepared(collector, story)
            _tell(collector, story, live)
            if browser:
                open_browser(collector.url + addresses.CONSOLE)
            _stay(collector, live)
    finally:
        folder.remove()


@contextmanager
def _tidying_in_peace() -> Iterator[None]:
    """However this ends, the interrupt that ended it is not repeated while others tidy up."""
    try:
        yield
    finally:
        heeded()


def _prepared(collector: CollectorProcess, story: Story) -> LiveCampaign:
    with steps(1 + scenes(story)) as bar:
        bar.start("starting a collector")
        with OperatorClient(collector.url, collector.tokens[STORY]) as operator:
            return Stage(collector, operator, bar.start).play(story)


def _tell(collector: CollectorProcess, story: Story, live: LiveCampaign) -> None:
    """Where to look, and how to get in: the token is no part of an address, since browsers remember those."""
    newest = story.released[-1].name
    for name, value in (
        ("Console", collector.url + addresses.CONSOLE),
        ("Campaign", collector.url + of_campaign(addresses.CAMPAIGN_PAGE, newest)),
        ("Search", collector.url + of_campaign(addresses.SEARCH_PAGE, newest)),
        ("Token", collector.tokens[YOU]),
    ):
        results.print(f"{name:<9} {value}", highlight=False, markup=False, soft_wrap=True)
    note("The console asks for the token. It may do everything here, and is worth nothing when this ends.")
    note(f"{len(story.released)} campaigns are released. {live.name} is open, and clients keep reporting to it.")
    note("Everybody is invented. The days before today were played just now, with the collector's clock put back.")
    note("Stop with Ctrl-C: then the collector and all that it kept are gone.")


def open_browser(address: str) -> None:
    """Show a page, if there is a display: a browser for terminals would take this one."""
    if sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")):
        webbrowser.open(address)


def _stay(collector: CollectorProcess, live: LiveCampaign) -> None:
    """Let clients come, then wait, until somebody says stop, which is how this ends well."""
    try:
        for _ in live.visits():
            time.sleep(live.pause)
        note(f"Nobody comes to {live.name} any more: all have reported, or it is over. The pages stay.")
        while True:
            collector.require_running()
            time.sleep(_LOOK_SECONDS)
    except KeyboardInterrupt:
        heeded()
        note("Stopped.")
