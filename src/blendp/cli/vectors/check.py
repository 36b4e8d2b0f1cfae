"""``blendp vectors check``: does a client do what the specification says?"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import typer

from blendp.cli import REFUSED
from blendp.cli.console import errors, print_json, results
from blendp.cli.panels import output
from blendp.cli.vectors.folder import VectorFolder, files_of
from blendp.conformance.check import FAILED, PASSED, UNSUPPORTED, Finding, findings, started
from blendp.conformance.vectors import VectorFile

EXAMPLES = """Examples:

- `blendp vectors check -- python3 my_client.py`
- `blendp vectors check --kind rank --kind report -- ./my-client --vectors`
- `blendp vectors check --json -- node client.mjs`
"""

_SHOWN = 20


def check(
    command: Annotated[builtins.list[str], typer.Argument(help="How the client is started.", metavar="COMMAND")],
    folder: VectorFolder = None,
    kind: Annotated[builtins.list[str] | None, typer.Option(help="Only vectors of this kind; may be repeated.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that an answer may take.")] = 60.0,
    as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Replay the vectors for a client in any language, over its standard input and output.

    The client reads one line of JSON at a time, {"id", "call", "input"}, and answers with one: {"id", "output"},
    {"id", "refused": reason} or {"id", "unsupported": true}. docs/specification.md says what each call takes and gives.
    Exit code 6 if an answer differs or a call is not supported.
    """
    files = files_of(folder, kind)
    with started(command, timeout) as subject:
        done = builtins.list(_shown(findings(subject, files), sum(len(file.vectors) for file in files)))
    if as_json:
        _print_json(done)
    else:
        _print_table(files, done)
    if any(finding.outcome != PASSED for finding in done):
        raise typer.Exit(REFUSED)


def _shown(answers: Iterator[Finding], total: int) -> Iterator[Finding]:
    """The answers, with a bar for whoever waits."""
    from rich.progress import track

    return iter(track(answers, "vectors", total, console=errors, transient=True, disable=not errors.is_terminal))


def _print_json(done: builtins.list[Finding]) -> None:
    counts = Counter(finding.outcome for finding in done)
    differing = [
        {"group": one.group, "kind": one.kind, "name": one.name, "outcome": one.outcome, "detail": one.detail}
        for one in done
        if one.outcome != PASSED
    ]
    print_json({**{name: counts[name] for name in (PASSED, FAILED, UNSUPPORTED)}, "differing": differing})


def _print_table(files: builtins.list[VectorFile], done: builtins.list[Finding]) -> None:
    counts = Counter((one.group, one.kind, one.outcome) for one in done)
    lines = [f"{'kind':24} {'passed':>8} {'failed':>8} {'unsupported':>12}"]
    for file in files:
        passed, failed, unsupported = (counts[file.group, file.kind, one] for one in (PASSED, FAILED, UNSUPPORTED))
        lines.append(f"{file.group + '/' + file.kind:24} {passed:8} {failed:8} {unsupported:12}")
    totals = Counter(one.outcome for one in done)
    lines.append(f"{'all':24} {totals[PASSED]:8} {totals[FAILED]:8} {totals[UNSUPPORTED]:12}")
    results.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
    failures = [one for one in done if one.outcome == FAILED]
    for one in failures[:_SHOWN]:
        line = f"{one.group}/{one.kind}, {one.name}: {one.detail}"
        errors.print(line, style="red", markup=False, highlight=False, soft_wrap=True)
    if len(failures) > _SHOWN:
        errors.print(f"... and {len(failures) - _SHOWN} more (--json has all).", style="red")
