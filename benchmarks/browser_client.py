"""How long a participation takes in a browser: verify, draw, encode, commit; and beside it what fetching alone takes.

    .venv/bin/python -m benchmarks.browser_client

For lists of 50, 500 and 10 000 records a real Chromium takes part with clients/js/dist/index.js, against documents that
are served on this machine. The floor is the same documents fetched, hashed and parsed, and nothing else. Medians; the
ratio is what to look at.
"""

from __future__ import annotations

import http.server
import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import sync_playwright

from blendp.conformance.samples import TERMS, signing_key
from blendp.headlist import HeadList
from blendp.wire import Envelope, Manifest
from blendp.wire.addresses import CAMPAIGN, KEYS, of_campaign
from blendp.wire.media_types import MANIFEST_TYPE, TERMS_TYPE

CLIENT = Path(__file__).parents[1] / "clients/js/dist/index.js"
SIZES = (50, 500, 10_000)
EPSILONS = (4.0, 1.0)
NOON = 1_794_657_600
"""2026-11-14, on which the campaign is open."""

PAGE = """
import { Device } from "/client.js";
const addresses = ["terms", "manifest", "list"];
const floor = async (path) => {
  const start = performance.now();
  for (const name of addresses) {
    const bytes = new Uint8Array(await (await fetch(`${path}/${name}`, { cache: "no-store" })).arrayBuffer());
    await crypto.subtle.digest("SHA-256", bytes);
    JSON.parse(new TextDecoder().decode(bytes));
  }
  return performance.now() - start;
};
const participation = async (collector, campaign, number) => {
  const device = await Device.open({
    collector, name: `${campaign} ${number}`, acceptVolatileStorage: true, clock: () => NOON,
  });
  await device.setConsent("local");
  const start = performance.now();
  await device.takePart(campaign, [["query 3", "http://b.example"]]);
  const taken = performance.now() - start;
  device.close();
  return taken;
};
window.measure = async (key, campaign, path, runs) => {
  const times = [];
  for (let number = 0; number < runs; number++)
    times.push([await floor(path), await participation({ url: location.origin, keys: [key] }, campaign, number)]);
  return times;
};
window.ready = true;
""".replace("NOON", str(NOON))


@dataclass(frozen=True)
class Case:
    """A campaign with a list of this length."""

    records: int
    epsilon: float

    @property
    def name(self) -> str:
        return f"list-{self.records}-epsilon-{self.epsilon:g}"

    def documents(self) -> dict[str, bytes]:
        """What a collector serves of it."""
        head_list = HeadList.of_records([(f"query {n // 2}", f"http://{n}.example/{n}") for n in range(self.records)])
        terms = replace(TERMS, campaign=self.name, epsilon=self.epsilon)
        manifest = Manifest(terms, head_list.sha256, self.records, 250, 0.4, "2026-11-12")
        keys = (signing_key(1),)
        return {
            "terms": Envelope.sealed(TERMS_TYPE, terms.to_bytes(), keys).to_bytes(),
            "manifest": Envelope.sealed(MANIFEST_TYPE, manifest.to_bytes(), keys).to_bytes(),
            "list": head_list.to_bytes(),
        }


@contextmanager
def served(cases: list[Case]) -> Iterator[str]:
    """The page, the client and the campaigns, on this machine."""
    key = {"key": signing_key(1).public.text, "since": "2026-01-01", "until": None}
    files = {
        "/": (b'<!doctype html><title>.</title><script type="module" src="/page.js"></script>', "text/html"),
        "/page.js": (PAGE.encode(), "text/javascript"),
        "/client.js": (CLIENT.read_bytes(), "text/javascript"),
        KEYS: (json.dumps({"keys": [key], "statements": []}).encode(), "application/json"),
    }
    for case in cases:
        for name, data in case.documents().items():
            files[f"{of_campaign(CAMPAIGN, case.name)}/{name}"] = (data, "application/json")

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet

        def do_GET(self) -> None:
            data, kind = files.get(self.path, (b"", ""))
            self.send_response(200 if kind else 404)
            self.send_header("content-type", kind or "text/plain")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def main(runs: int = 9) -> None:
    cases = [Case(records, epsilon) for epsilon in EPSILONS for records in SIZES]
    print(f"{'records':>8} {'epsilon':>8} {'fetch, hash, parse':>20} {'take part':>12} {'ratio':>8}")
    with served(cases) as url, sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        page = browser.new_page()
        page.goto(url)
        page.wait_for_function("() => window.ready")
        for case in cases:
            given = [signing_key(1).public.text, case.name, of_campaign(CAMPAIGN, case.name), runs]
            times = page.evaluate("(given) => window.measure(...given)", given)
            floor, taken = (median(column) for column in zip(*times, strict=True))
            print(f"{case.records:8} {case.epsilon:8g} {floor:17.1f} ms {taken:9.1f} ms {taken / floor:8.1f}")
        browser.close()


if __name__ == "__main__":
    main()
