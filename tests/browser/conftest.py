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

expect.set_options(timeout=60_000)
"""Machines may be busy: what is expected comes sooner or later."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()


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
