"""A report as one HTML page that needs nothing else: no network, no fonts of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError
from blendp.methods import Outcome, Simulation
from blendp.methods.outcome import Row
from blendp.render import plots, text
from blendp.render.about import About
from blendp.render.release.advice import CHANGE, EXPECTED, AdviceText
from blendp.render.release.cautions import all_cautions
from blendp.render.templates import fill

TEMPLATE = "release/page.html.j2"

TOP = 20
"""How many records or queries a plot shows."""

MAX_ROWS = 500
"""How many rows a table shows, besides the one for everything else."""

LONG = 160
"""Texts of more characters than this are folded in tables."""

TRUE_VALUES = "Simulation - this page shows true values computed from the raw log without protection. Not private."
SEEDED = (
    "Simulation - drawn with seeded randomness, which protects from nobody who knows the seed. Not private: "
    "do not publish this page."
)

_MEANING = {
    "epsilon": "ε: the privacy loss each person is promised at most",
    "delta": "δ: by how much probability may exceed that bound",
    "method": "how list, reports and estimates are made",
    "size": "M: how many records or queries the list keeps",
    "trim_unit": "what the size counts",
    "opt_in_records": "records taken from each opt-in user (m_O in the published method)",
    "records_per_person": "how many records a person has on average, as was said",
    "objective": "what is to be best",
    "client_records": "m_C: records each client reports about",
    "head_list_share": "f_O: the share of the opt-in users who make the list; with 1 all of them also estimate",
    "query_share": "the share of the clients who report the query (published: f_C, that of a client's budget)",
    "randomiser": "how clients report",
    "prior": "what is assumed of listed records before their counts are seen",
    "influence_cap": "how many standard errors clients may pull an estimate away from the opt-in users'",
    "variance": "which variance formulas and weights",
    "wildcard": "what an opt-in record with a listed query and an unlisted URL counts for",
    "project": "whether published probabilities are moved to the nearest ones that sum to 1",
}

_NOTHING = {"query_share": "chosen", "influence_cap": "none", "records_per_person": "not said"}
"""What it means that nothing was given."""


@dataclass(frozen=True, eq=False)
class KnownTruth:
    """What the raw log says, and how close the estimates come. Not private: for demonstrations and evaluations."""

    cells: NDArray[np.float64]
    """The true probability of every cell of the head list."""

    queries: NDArray[np.float64]
    """The true probability of every query, the wildcard last."""

    scores: Mapping[str, float]
    """Figures to show by name, such as L1 or NDCG."""


def render_release(
    outcome: Outcome,
    *,
    title: str,
    truth: KnownTruth | None = None,
    collected: bool = False,
    about: About | None = None,
) -> str:
    """The complete page. With ``truth`` it is not private, and says so at the top.

    ``collected`` says that clients sent their reports to a collector, and no party ever held a log; ``about`` what the
    release is of.
    """
    head_list = outcome.head_list
    if truth is not None and (len(truth.cells), len(truth.queries)) != (head_list.cells, head_list.queries + 1):
        raise ParameterError(
            "truth",
            (len(truth.cells), len(truth.queries)),
            f"about {head_list.cells} cells and {head_list.queries + 1} queries",
            "Compute it for the outcome's own head list.",
        )
    rows = outcome.records()
    listed = rows[: head_list.records]
    digits = text.decimals([row.std_error for row in listed], [row.probability for row in listed])
    thing, things = ("query", "queries") if head_list.levels == 1 else ("record", "records")
    page = {
        "title": title,
        "collected": collected,
        "about": about,
        "outcome": outcome,
        "warning": _warning(outcome, truth),
        "cautions": all_cautions(outcome),
        "one_level": head_list.levels == 1,
        "thing": thing,
        "things": things,
        "notes": _notes(outcome),
        "advice": None if listed else AdviceText.after(outcome),
        "headings": (CHANGE, EXPECTED),
        "plots": _plots(outcome, listed, truth, digits) if listed else {},
        "top": TOP,
        "long": LONG,
        "records": _table(outcome, rows, digits, truth, by_query=False),
        "queries": _table(outcome, outcome.trends(), digits, truth, by_query=True),
        "agreement": _agreement(outcome, digits),
        "scores": {} if truth is None else _scores(outcome, listed, truth),
        "parameters": [
            (name, _plain(name, value), _MEANING.get(name, "")) for name, value in outcome.parameters.to_dict().items()
        ],
    }
    return fill(TEMPLATE, page)


def _warning(outcome: Outcome, truth: KnownTruth | None) -> str | None:
    if truth is not None:
        return TRUE_VALUES
    return SEEDED if isinstance(outcome, Simulation) else None


def _notes(outcome: Outcome) -> list[str]:
    """What a reader of the estimates should know about this run."""
    notes = [] if outcome.how_filtered is None else [outcome.how_filtered]
    if not outcome.groups.client and not outcome.opt_in.users:
        notes.append("Nobody was left to estimate: neither clients nor opt-in users.")
    elif not outcome.groups.client:
        notes.append("No clients took part: every estimate comes from the opt-in users.")
    elif not outcome.opt_in.users:
        notes.append("No opt-in users were left to estimate: every estimate comes from the clients.")
    if outcome.candidates > outcome.head_list.records > 0 and outcome.parameters.method == "published":
        notes.append(
            f"The list kept {outcome.head_list.records} of {outcome.candidates} candidates by the very counts that the "
            f"opt-in estimates come from, so estimates of records near the end of the list tend to be too high."
        )
    if outcome.parameters.project and np.isfinite(outcome.cells.probability).all():
        notes.append(
            "Estimates are moved to the nearest probabilities that sum to 1; intervals are not. So a dot need not "
            "be in the middle of its line, and a line may reach below 0."
        )
    return notes


def _agreement(outcome: Outcome, digits: int) -> dict[str, Any] | None:
    """What the cross-check of the groups found, and what lying clients could do."""
    check = outcome.check
    if check is None or check.p_value is None:
        return None
    labels, two = outcome.head_list.labels, outcome.head_list.levels == 2
    groups = [group.cells.probability for group in (outcome.opt_in, outcome.client)]
    unlisted = _unlisted_urls(outcome)
    flagged = []
    for i in check.flagged[:TOP]:
        opt_in, client = (text.percent(float(group[i]), digits) for group in groups)
        line = {"query": labels[i][0], "url": labels[i][1], "unlisted": unlisted[i], "two": two}
        line |= {"opt_in": opt_in, "client": client}
        flagged.append({**line, "z": f"{check.z[i]:+.1f}".replace("-", "−")})
    liars = [
        {
            "share": text.number(100 * line.share),
            **{name: f"{100 * getattr(line, name):.2g}" for name in ("clients", "blended", "capped")},
        }
        for line in outcome.influence
    ]
    return {"statement": check.statement, "flagged": flagged, "liars": liars}


def _plots(outcome: Outcome, listed: Sequence[Row], truth: KnownTruth | None, digits: int) -> dict[str, Any]:
    head_list = outcome.head_list
    nowhere = np.full(head_list.cells, np.nan)

    def marks(rows: Sequence[Row], by_query: bool) -> list[plots.Mark]:
        opt_in, client = (
            (group.queries if by_query else group.cells).probability for group in (outcome.opt_in, outcome.client)
        )
        true = nowhere if truth is None else truth.queries if by_query else truth.cells
        return [
            plots.Mark(**asdict(row), opt_in=float(opt_in[i]), client=float(client[i]), truth=float(true[i]))
            for row, i in zip(rows, _places(outcome, rows, by_query), strict=True)
        ]

    records = marks(listed, by_query=False)
    queries = marks(outcome.trends()[:-1], by_query=True)
    things = "queries" if head_list.levels == 1 else "records"
    drawn: dict[str, Any] = {
        "beyond": {"records": plots.beyond_scale(records[:TOP]), "queries": plots.beyond_scale(queries[:TOP])},
        "records": plots.dot_plot(records[:TOP], digits, "plot-records", f"The most popular {things}"),
        "shares": plots.share_plot(records[:TOP], "plot-shares", "Where each estimate comes from"),
    }
    if head_list.levels == 2:
        drawn["queries"] = plots.dot_plot(queries[:TOP], digits, "plot-queries", "The most popular queries")
    if truth is not None:
        drawn["truth"] = plots.truth_plot(records, digits, "plot-truth", f"Estimate and truth of all listed {things}")
    return drawn


def _scores(outcome: Outcome, listed: Sequence[Row], truth: KnownTruth) -> dict[str, str]:
    scores = {name: f"{value:.4f}" if math.isfinite(value) else text.UNKNOWN for name, value in truth.scores.items()}
    known = [
        row.low <= truth.cells[i] <= row.high
        for row, i in zip(listed, _places(outcome, listed, by_query=False), strict=True)
        if math.isfinite(row.std_error)
    ]
    if known:
        scores["intervals that hold the truth"] = f"{sum(known):,} of {len(known):,}"
    return scores


def _places(outcome: Outcome, rows: Sequence[Row], by_query: bool) -> list[int]:
    """Where each row stands in the arrays of cells, or of queries."""
    if not by_query:
        return [outcome.head_list.cell_of(row.query, row.url) for row in rows]
    index_of: dict[str | None, int] = {entry.query: i for i, entry in enumerate(outcome.head_list.entries)}
    index_of[None] = outcome.head_list.queries
    return [index_of[row.query] for row in rows]


def _table(
    outcome: Outcome, rows: Sequence[Row], digits: int, truth: KnownTruth | None, *, by_query: bool
) -> dict[str, Any]:
    """The rows with their numbers as text; the last one, for everything else, is always kept."""
    kept = [*rows[: min(MAX_ROWS, len(rows) - 1)], rows[-1]]
    true = None if truth is None else truth.queries if by_query else truth.cells
    unlisted = _unlisted_urls(outcome)
    lines = []
    for row, i in zip(kept, _places(outcome, kept, by_query), strict=True):
        numbers = [text.percent(x, digits) for x in (row.probability, row.std_error, row.low, row.high)]
        numbers.append(text.percent(row.weight_opt_in, 0))
        if true is not None:
            numbers.append(text.percent(float(true[i]), digits))
        lines.append({"query": row.query, "url": row.url, "unlisted": unlisted[i], "numbers": numbers})
    return {
        "lines": lines,
        "left_out": len(rows) - len(kept),
        "with_url": outcome.head_list.levels == 2 and not by_query,
        "with_truth": truth is not None,
        "rest": text.with_error(rows[-1].probability, rows[-1].std_error, digits),
    }


def _unlisted_urls(outcome: Outcome) -> list[str]:
    """What stands for the URL of every cell without one: all URLs of a query, or all but those that are listed."""
    names = np.full(outcome.head_list.cells, text.WILDCARD, dtype=object)
    names[outcome.head_list.bare_cells] = text.ANY_URL
    return list(names)


def _plain(name: str, value: object) -> str:
    if value is None:
        return _NOTHING.get(name, "all")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return text.number(value) if isinstance(value, float) else str(value)
