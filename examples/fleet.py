"""A simulated fleet: invented people who opt in to a campaign of a running collector, or report to it, over real HTTP.

    python examples/fleet.py opt-in trends --tokens tokens.txt
    python examples/fleet.py clients trends --people 5000

Each person holds one invented record (:mod:`blendp.fleet`).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path

from rich.progress import track

from blendp.fleet import Fleet, invented_records


def shown(sent: Iterable[None], people: int) -> Iterable[None]:
    """With a progress bar."""
    return track(sent, "sending", total=people, transient=True)


def main() -> None:
    """Play the people."""
    parser = argparse.ArgumentParser(description="Invented people for a trial of a collector.")
    parser.add_argument("group", choices=("opt-in", "clients"))
    parser.add_argument("campaign")
    parser.add_argument("--server", default=os.environ.get("BLENDP_SERVER", "http://127.0.0.1:8321"))
    parser.add_argument("--tokens", type=Path, help="opt-in: the file that `blendp campaign enrol --out` wrote")
    parser.add_argument("--batch", type=int, default=1, help="clients: how many reports a relay sends at a time")
    parser.add_argument("--people", type=int, default=5000, help="clients: how many")
    options = parser.parse_args()
    if options.group == "opt-in" and options.tokens is None:
        parser.error("opt-in needs --tokens FILE")
    with Fleet(options.server, options.campaign, shown) as fleet:
        if options.group == "clients":
            fleet.report(invented_records(options.people, seed=2), options.batch)
            print(f"{options.people} people reported")
        else:
            tokens = options.tokens.read_text().split()
            fleet.opt_in(tokens, invented_records(len(tokens), seed=1))
            print(f"{len(tokens)} people opted in")


if __name__ == "__main__":
    main()
