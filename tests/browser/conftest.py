"""A real browser for the pages, and a real collector for those that one serves."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from blendp.service.collector import CollectorService
from blendp.service.settings import Settings
from tests.browser.collectors import Library, library_terms, publish, release
from tests.browser.windows import Windows

expect.set_options(timeout=60_000)
"""Machines may be busy: what is expected comes sooner or later."""

_BY_PLAYWRIGHT = (
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
_UNSEEN = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess")
_SWITCHES = ("--no-sandbox", "--disable-gpu", "--disable-features=" + ",".join((*_BY_PLAYWRIGHT, *_UNSEEN)))
"""Every window would load two pages for its address bar, which cost more than the page that is tested, and every page
start a process for one that may follow: nobody sees them. This switch counts once, so it repeats Playwright's own."""


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One for all tests of this folder that follow each other: most are in one group."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=_SWITCHES)
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def windows(browser: Browser) -> Windows:
    """Its windows, for tests that need nothing that only a new one has."""
    return Windows(browser)


@pytest.fixture(scope="session")
def library_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collector's folder, with a campaign in every state: made once for all who copy it."""
    folder = tmp_path_factory.mktemp("library")
    collector = CollectorService.open(Settings(folder / "data"), lambda: datetime.datetime.now(datetime.UTC).date())
    collector.lifecycle.create(library_terms("collecting"))
    publish(collector, "reporting")
    publish(collector, "done")
    release(collector, "done")
    collector.lifecycle.create(library_terms("gone"))
    collector.lifecycle.delete("gone")
    collector.close()
    return folder


@pytest.fixture(scope="module")
def library(library_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A running collector of these campaigns."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copytree(library_data / "data", folder / "data")
    running = Library(folder)
    yield running
    running.stop()
