"""Tables of a release in the terminal."""

from __future__ import annotations

import re
from io import StringIO

from rich.console import Console

from blendp.render.release.terminal import clients_table, records_table
from blendp.render.tally.files import client_rows
from tests.unit.render.samples import make_outcome, plain_records


def test_a_query_that_is_listed_without_a_url_is_shown_with_any() -> None:
    outcome, _ = make_outcome([*plain_records(4), ("bare", None)])
    text = StringIO()
    console = Console(width=200, file=text, force_terminal=False)
    console.print(records_table(outcome))
    rows = client_rows(outcome.client, outcome.head_list)
    console.print(clients_table(rows, outcome.head_list, about_records=True))
    lines = [re.split(" {2,}", line.strip())[:2] for line in text.getvalue().splitlines() if "any URL" in line]
    assert lines == [["bare", "✱ (any URL)"]] * 2
