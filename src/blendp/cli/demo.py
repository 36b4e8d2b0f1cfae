"""``blendp demo``: the whole job on a synthetic population, in a report or alive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from blendp.errors import ParameterError

EXAMPLES = """Examples:

- `blendp demo`
- `blendp demo yandex --users 1000000 --seed 3 --out my-demo`
- `blendp demo --serve`
"""


def demo(
    name: Annotated[str, Argument(help="aol, yandex or aol-sparse.", metavar="[aol|yandex|aol-sparse]")] = "aol",
    users: Annotated[
        int | None,
        Option(help="How many people (as many as the real log has, if none is said; with --serve 5000 a campaign)."),
    ] = None,
    seed: Annotated[int, Option(help="The same seed gives the same result; with --serve the same people.")] = 0,
    out: Annotated[Path | None, Option(help="Directory for report.html (a new one if none is said).")] = None,
    serve: Annotated[
        bool, Option("--serve", help="Run a collector on this machine, with invented people who take part in it.")
    ] = False,
    no_browser: Annotated[bool, Option("--no-browser", help="With --serve: open no browser.")] = False,
) -> None:
    """Make a population, run the blendp method on it, and compare with the truth.

    The people are invented, so the truth may be shown beside the estimates. NOT PRIVATE, were they real: a release
    never has it.

    With --serve the whole system is shown alive instead: a collector with campaigns that are released and one that is
    open, to which clients keep reporting over HTTP. It prints the addresses of its pages, keeps everything in a
    temporary folder, and removes that when you stop it with Ctrl-C.
    """
    if serve:
        if out is not None:
            raise ParameterError("out", str(out), "left out with --serve", "Everything is kept in a temporary folder.")
        from blendp.cli.demo_live import play

        play(name, users, seed, browser=not no_browser)
        return
    if no_browser:
        raise ParameterError("no_browser", True, "given with --serve", "Without it no browser is opened anyway.")
    from blendp.cli.demo_report import report

    report(name, users, seed, out)
