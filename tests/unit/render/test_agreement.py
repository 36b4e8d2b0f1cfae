"""The page of the blendp method tells whether the groups agree, and what lying clients could do."""

from __future__ import annotations

import unicodedata
from io import StringIO

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from blendp.logs import Columns, log_of_table
from blendp.methods import Outcome, Parameters, Simulation, simulate
from blendp.randomness import SimulationRandom
from blendp.render.release.cautions import all_cautions
from blendp.render.release.document import release_card
from blendp.render.release.page import render_release
from blendp.render.release.terminal import summary


def simulated(odd: bool, **settings: object) -> Simulation:
    """A population of 20 000, a tenth of whom opt in; if ``odd``, no opt-in user has the first of ten records."""
    draw = np.random.default_rng(3)
    staff = np.arange(20_000) < 2_000
    record = draw.integers(0, 10, len(staff))
    record[staff & (record == 0) & odd] = 1
    table = pa.table(
        {
            "user": [str(i) for i in range(len(staff))],
            "query": [f"q<{i}>" for i in record],
            "url": [f"http://{i}" for i in record],
            "staff": ["yes" if one else "no" for one in staff],
        }
    )
    log = log_of_table(table, columns=Columns(opt_in="staff"))
    return simulate(log, Parameters(delta=1e-6, **settings), random=SimulationRandom(1))  # type: ignore[arg-type]


def test_groups_that_agree() -> None:
    page = render_release(simulated(odd=False), title="t")
    assert "tell the same story, as far as can be seen" in page
    assert "No record stands out" in page
    assert "3 standard errors away" in page


def test_records_that_differ_are_named_and_escaped() -> None:
    outcome = simulated(odd=True)
    assert outcome.check is not None
    assert outcome.check.differ
    page = render_release(outcome, title="t")
    assert "do not tell the same story" in page
    section = page[page.index("Do the two groups agree?") : page.index('id="promise"')]
    assert "q&lt;1&gt;" in section
    assert "<bdi>q<" not in section


@pytest.mark.parametrize("settings", [{"influence_cap": None}])
def test_a_cap_that_is_off_is_said_to_be_off(settings: dict[str, object]) -> None:
    assert "The cap on the clients' influence is off." in render_release(
        simulated(odd=False, **settings), title="t"
    ).replace("&#39;", "'")


def test_the_published_method_makes_no_such_claims() -> None:
    assert "Do the two groups agree?" not in render_release(simulated(odd=False, method="published"), title="t")


def test_the_alarm_stands_wherever_the_result_does() -> None:
    """In the card that is signed, on the page above the estimates, and in the terminal; without an invisible sign."""
    outcome = simulated(odd=True)
    (alarm,) = [caution for caution in all_cautions(outcome) if "do not tell the same story" in caution]
    assert not [sign for sign in alarm if unicodedata.category(sign) == "Cf"]
    assert alarm in release_card(outcome)["cautions"]
    page = render_release(outcome, title="t")
    assert page.index("do not tell the same story") < page.index("Top records")
    assert "do not tell the same story" in shown_in_terminal(outcome)
    assert not [caution for caution in all_cautions(simulated(odd=False)) if "same story" in caution]


def shown_in_terminal(outcome: Outcome) -> str:
    console = Console(width=1000, file=StringIO(), force_terminal=False)
    console.print(summary(outcome))
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]
