"""docs/embedding.md, line by line: a real collector, the page as it is printed there, and a real browser."""

from __future__ import annotations

import http.server
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.forked import SHELL_FUNCTION, shell_environment

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("pages")]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/embedding.md").read_text(encoding="utf-8")
SHELL = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
LOOK_AT = """async (url) => {
    const { Device } = await import("./blendp.js");
    const device = await Device.open({ collector: { url, trustOnFirstUse: true }, name: "another" });
    return device.look("trends").catch(({ reason }) => reason);
}"""
FUNCTIONS = SHELL_FUNCTION + 'python() { $PYTHON "$@"; }\n'


def block(kind: str) -> str:
    (text,) = re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    return str(text)


def shell(script: str, folder: Path, url: str, **environment: str) -> str:
    for name in ("examples", "clients"):
        script = script.replace(f"{name}/", f"{ROOT}/{name}/")
    known = {**os.environ, **shell_environment(), "BLENDP_SERVER": url, "PYTHON": sys.executable, **environment}
    known["PYTHONPATH"] = str(ROOT)
    command = ["bash", "-ec", FUNCTIONS + script]
    done = subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def collector(command: str, folder: Path) -> Iterator[str]:
    """The collector that the page starts, on a port of its own."""
    program, *arguments = shlex.split(command)
    assert (program, arguments.pop()) == ("blendp", "&")
    started = [sys.executable, "-m", "blendp", *arguments, "--port", "0"]
    with subprocess.Popen(started, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        url = next(json.loads(line)["url"] for line in server.stderr if "serving" in line and line.startswith("{"))
        drain = threading.Thread(target=server.stderr.read, daemon=True)
        drain.start()
        try:
            yield url
        finally:
            server.terminate()
            server.wait()
            drain.join()


@contextmanager
def site(command: str, folder: Path) -> Iterator[str]:
    """The page's own server, on a port of its own."""
    program, *arguments = shlex.split(command)
    assert (program, arguments.pop()) == ("python", "&")
    arguments[arguments.index("8000")] = "0"
    started = [sys.executable, "-u", *arguments]
    with subprocess.Popen(started, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout
        port = re.search(r"port (\d+)", server.stdout.readline())
        assert port
        try:
            yield f"http://127.0.0.1:{port[1]}"
        finally:
            server.terminate()


@contextmanager
def redirecting() -> Iterator[str]:
    """A server that sends everybody elsewhere, and lets every page read that."""

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(307)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            paths.append(self.path)

        def log_message(self, *_: Any) -> None:
            pass

    paths: list[str] = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
    assert "/elsewhere" not in paths
    assert paths


@contextmanager
def opened(browser: Browser, address: str) -> Iterator[Page]:
    """The page; whatever it complains about fails the test."""
    page = browser.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    try:
        yield page
    finally:
        page.close()
        assert complaints == []


def test_every_line_of_the_page(browser: Browser, tmp_path: Path) -> None:
    """With fewer opt-in people, but enough for a list that no device refuses as too short."""
    first, second, third, fourth = SHELL
    setup, path, serve, script = first.split("\n", 3)
    assert setup == "scripts/setup run"  # was done before the tests
    assert path == "export PATH=$PWD/.venv/bin:$PATH"
    assert "--count 1000" in script
    script = script.replace("--count 1000", "--count 600")
    with collector(serve, tmp_path) as url:
        shell(script + 'echo "$BLENDP_TOKEN" > token', tmp_path, url)
        token = (tmp_path / "token").read_text(encoding="utf-8").strip()
        shell(second, tmp_path, url)
        (tmp_path / "page/index.html").write_text(block("html"), encoding="utf-8")
        (tmp_path / "page/main.js").write_text(block("js"), encoding="utf-8")
        with site(third, tmp_path) as address, opened(browser, f"{address}/?collector={url}") as page:
            expect(page.locator("#terms")).to_contain_text("Example Search asks: Popular searches")
            expect(page.locator("#terms")).to_contain_text("it never proves anything")
            page.locator("#agree").click()
            expect(page.locator("#told li").first).to_have_text("Sent 1, waiting 0, refused 0.")
            expect(page.locator("#told")).to_contain_text("drawn at random on your device")
            status = json.loads(shell(fourth.strip() + " --json", tmp_path, url, BLENDP_TOKEN=token))
            assert status["intake"] == {"accepted": 1}
            page.locator("#agree").click()
            expect(page.locator("#told li").first).to_have_text("Sent 0, waiting 0, refused 0.")
            page.reload()
            expect(page.locator("#terms")).to_contain_text("it never proves anything")
            page.locator("#agree").click()
            expect(page.locator("#told li").first).to_have_text("Sent 0, waiting 0, refused 0.")
            status = json.loads(shell(fourth.strip() + " --json", tmp_path, url, BLENDP_TOKEN=token))
            assert status["intake"] == {"accepted": 1}
            page.locator("#leave").click()
            expect(page.locator("#told li").first).to_have_text("Nothing is sent any more. Deletions sent: 1.")
            status = json.loads(shell(fourth.strip() + " --json", tmp_path, url, BLENDP_TOKEN=token))
            assert status["clients"]["reports"] == 0
            with redirecting() as elsewhere:
                assert page.evaluate(LOOK_AT, elsewhere) == "document"
