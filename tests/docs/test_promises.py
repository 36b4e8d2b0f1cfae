"""What is said of the promise is true: of delta, of clients, and of commands that show raw numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from blendp.cli.app import app
from blendp.mechanisms import TwoStage
from blendp.methods.parameters import Parameters
from blendp.privacy import Budget
from blendp.reports import ORACLES, RANDOMISERS
from blendp.wire import campaign

ROOT = Path(__file__).parents[2]
PRIVACY = (ROOT / "docs/privacy.md").read_text(encoding="utf-8")
TEXTS = [
    path
    for pattern in ("*.md", "docs/**/*.md", "src/**/*.md", "src/**/*.py", "src/**/*.j2")
    for path in ROOT.glob(pattern)
]
WRONG = re.compile(
    r"probability (that|with which) (the|this|its) (promise|guarantee|bound)\b[^.]{0,60}\bfails?\b", re.IGNORECASE
)


def commands(group: Any, name: str = "blendp") -> Iterator[tuple[str, Any]]:
    """Every command with its full name."""
    if hasattr(group, "commands"):
        for part in group.commands:
            yield from commands(group.load(part), f"{name} {part}")
    else:
        yield name, group


def help_of(command: Any) -> str:
    options = [getattr(parameter, "help", None) or "" for parameter in command.params]
    return " ".join([command.help or "", *options])


def row_of(beginning: str) -> str:
    (row,) = [line for line in PRIVACY.splitlines() if line.startswith(beginning)]
    return row


def test_delta_is_never_called_the_probability_of_a_failure() -> None:
    assert WRONG.search("The probability that the promise may fail")
    assert WRONG.search("bounds the probability that this bound fails")
    guilty = [str(path) for path in TEXTS if WRONG.search(" ".join(path.read_text(encoding="utf-8").split()))]
    assert guilty == []


def test_delta_is_told_as_what_it_is() -> None:
    assert "a record that one person alone holds is listed with a probability of at most δ" in " ".join(PRIVACY.split())
    for text in (Budget.__doc__, Path(campaign.__file__).read_text(encoding="utf-8")):
        assert "may exceed e^epsilon times" in " ".join((text or "").split())


@pytest.mark.parametrize("randomiser", RANDOMISERS)
def test_clients_are_promised_delta_0_only_where_that_is_so(randomiser: str) -> None:
    row = row_of(
        "| clients (`--randomiser auto`, `split` or `apart`"
        if randomiser in ORACLES
        else f"| clients with `--randomiser {randomiser}`"
    )
    parameters = Parameters(randomiser=randomiser, delta=1e-2)
    spends = False
    if not parameters.reports_split:
        tight = randomiser == "two-stage-tight"
        two_stage = TwoStage(Budget(4.0, 0.0 if tight else parameters.budget.delta), np.array([40, 40, 1]), 0.85, tight)
        spends = two_stage.budget.delta > 0
        assert (two_stage.loss() > 4.0) == spends
        assert two_stage.delta_at(4.0) <= two_stage.budget.delta / 2
    promised = row.rstrip(" |").rpartition("| ")[2]
    assert promised.startswith("(ε, δ/2)") == spends
    assert (promised == "(ε, 0)") != spends


def test_the_commands_that_show_unprotected_numbers_are_all_listed_and_say_it() -> None:
    listed = set(re.findall(r"^  \| `(blendp [a-z ]+)` \|", PRIVACY, flags=re.MULTILINE))
    known = dict(commands(typer.main.get_command(app)))
    saying = {name for name, command in known.items() if "NOT PRIVATE" in help_of(command)}
    assert listed == saying
    assert {"blendp plan", "blendp survey plan", "blendp survey evaluate", "blendp reproduce"} <= listed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw")
    rows = [f"u{i},{('weather', 'news', 'maps')[i % 3]}" for i in range(3000)]
    (folder / "log.csv").write_text("user,query\n" + "\n".join(rows) + "\n")
    answers = [f"{('yes', 'no')[i % 2]},{('a', 'b', 'c')[i % 3]}" for i in range(600)]
    (folder / "answers.csv").write_text("x,y\n" + "\n".join(answers) + "\n")
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "evaluate {folder}/log.csv --repeat 1 --opt-in 0.3",
        "plan --like {folder}/log.csv --opt-in 0.3",
        "survey plan {folder}/answers.csv --opt-in 0.3 --method sample",
        "survey evaluate {folder}/answers.csv --opt-in 0.3 --method sample --runs 1",
        "reproduce 9 --log {folder}/log.csv --quick --runs 1 --out {folder}/figures",
    ],
)
def test_what_is_computed_from_raw_records_says_so_in_its_output(folder: Path, command: str) -> None:
    arguments = command.format(folder=folder).split()
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.output
    assert "Not private: computed from the raw" in " ".join(done.stdout.split())
    if "reproduce" not in arguments:
        done = CliRunner().invoke(app, [*arguments, "--json"], env={"COLUMNS": "160"})
        assert '"private": false' in done.stdout
