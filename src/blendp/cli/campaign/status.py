"""``blendp campaign status``: how a campaign stands."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from msgspec.structs import asdict
from rich.table import Table
from rich.text import Text

from blendp.cli.campaign.forecast import LIKE, Like
from blendp.cli.campaign.options import AsJson, CampaignName, CollectorOptions
from blendp.cli.console import print_json, results
from blendp.cli.panels import takes_job
from blendp.privacy import Budget
from blendp.render.plan.forecast import forecast_words, is_risky
from blendp.render.text import visible
from blendp.spelling import counted
from blendp.wire.campaign import Terms
from blendp.wire.forecast import ListForecast
from blendp.wire.status import BudgetStatus, ByItself, ClientProgress, ListStatus, OptInProgress, Status

EXAMPLES = """Examples:

- `blendp campaign status trends-2026-11`
- `blendp campaign status trends-2026-11 --json`
"""

_BAR = 24
_OPT_IN_OPEN, _CLIENTS_OPEN = ("opt-in",), ("opt-in", "listing", "reporting")
"""The states in which a group sends, or will."""

_MEANS = {
    "opt-in": "records of opt-in people are taken",
    "listing": "the list is being made",
    "reporting": "the list is public, clients' reports are taken",
    "closing": "reports are counted for the result",
    "signing": "the result is being computed and signed",
    "released": "the result is public; records, reports and pseudonyms are gone",
}

_HAPPENS = {"publish": "the list is published", "release": "the result is released"}


@takes_job
def status(job: CollectorOptions, campaign: CampaignName, like: Like = LIKE, as_json: AsJson = False) -> None:
    """Show a campaign's state, how far it is from its minimums, what became of reports, its list and its promise."""
    with job.client() as client:
        answer = client.status(campaign)
        forecast = _forecast(answer, client.terms(campaign), like)
    if as_json:
        print_json({**answer.to_dict(), "forecast": None if forecast is None else forecast.to_dict()})
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, sentence in _rows(answer):
        table.add_row(Text(name, style="bold"), Text(visible(sentence)))
    if forecast is not None:
        table.add_row(Text("forecast", style="bold"), Text(_words(forecast)))
    results.print(table)


def _forecast(answer: Status, terms: Terms, like: str) -> ListForecast | None:
    """What the list would probably hold if it were made now; None once it is made."""
    if answer.state not in _OPT_IN_OPEN:
        return None
    from blendp.service.board.forecast import forecast_of

    return forecast_of(terms, answer.opt_in.people, like)


def _words(forecast: ListForecast) -> str:
    if not is_risky(forecast):
        return forecast_words(forecast)
    needed = forecast.people_needed
    who = "No number of people is enough" if needed is None else f"About {needed:,} people are needed"
    return f"{forecast_words(forecast)} {who}."


def _rows(answer: Status) -> Iterator[tuple[str, str]]:
    opt_in, clients = answer.opt_in, answer.clients
    if answer.clock.doubt is not None:
        yield "clock", f"in doubt: {answer.clock.doubt}"
    yield "campaign", f"{answer.campaign}: {answer.title}"
    yield "state", f"{answer.state}: {_MEANS.get(answer.state, '')}"
    people = _progress(opt_in.people, opt_in.minimum, "person", "people")
    yield "opt-in", f"{people}; {_left(answer, opt_in, _OPT_IN_OPEN)}"
    yield from _pace(opt_in)
    if opt_in.enrolments:
        yield "enrolled", f"{counted(opt_in.enrolments, 'token', 'tokens')}, {opt_in.unused:,} not used yet"
    reports = _progress(clients.reports, clients.minimum, "client", "clients")
    yield "clients", f"{reports}, {clients.expected:,} expected; {_left(answer, clients, _CLIENTS_OPEN)}"
    yield from _pace(clients)
    if answer.by_itself is not None:
        yield from _by_itself(answer.by_itself)
    total = sum(answer.intake.values())
    for number, (outcome, count) in enumerate(sorted(answer.intake.items(), key=lambda pair: -pair[1])):
        yield "" if number else "intake", f"{outcome:<12} {count:>10,}  {count / total:>6.1%}".replace("%", " %")
    deleted = answer.intake.get("accepted", 0) - clients.reports
    if deleted > 0 and answer.state in ("reporting", "closing", "signing"):
        yield "", f"{'deleted':<12} {deleted:>10,}  at their owners' request"
    if answer.head_list is not None:
        yield "list", _list(answer.head_list)
    yield "promise", _promise(answer.budget)
    for kind, name in asdict(answer.documents).items():
        if name is not None:
            yield kind, name
    yield "next", answer.next_step.sentence


def _pace(group: OptInProgress | ClientProgress) -> Iterator[tuple[str, str]]:
    """When the minimum is reached, while that is open."""
    if group.pace.outlook in ("on-course", "too-late", "nothing"):
        yield "", group.pace.sentence


def _by_itself(due: ByItself) -> Iterator[tuple[str, str]]:
    """What happens if the operator does nothing."""
    yield "by itself", f"after {due.after} {_HAPPENS[due.act]}, or all is deleted if people are missing"
    if due.would_be == "delete":
        yield "", "people are missing: unless they come, all will be deleted then"
    last = due.last
    if last is not None and last.outcome != "done":
        yield "", f"tried since {last.time}, could not {last.act}: {last.outcome}: {last.detail}"


def _progress(there: int, min_people: int, one: str, many: str) -> str:
    filled = min(_BAR, _BAR * there // min_people)
    missing = f", {min_people - there:,} missing" if there < min_people else ""
    return f"{'█' * filled}{'░' * (_BAR - filled)} {counted(there, one, many)} of at least {min_people:,}{missing}"


def _left(answer: Status, group: OptInProgress | ClientProgress, open_states: tuple[str, ...]) -> str:
    """How long a group may still send."""
    if answer.state not in open_states:
        return "closed"
    days = (datetime.date.fromisoformat(group.until) - datetime.date.fromisoformat(answer.today)).days
    if days < 0:
        return f"ended {group.until}"
    return f"until {group.until}, " + ("the last day" if days == 0 else f"{days} day{'s' * (days > 1)} left")


def _list(head_list: ListStatus) -> str:
    sentence = f"{counted(head_list.records, 'record', 'records')} of {counted(head_list.queries, 'query', 'queries')}"
    churn = head_list.churn
    if churn is None:
        return sentence
    changes = f"{churn.added:,} added, {churn.removed:,} removed, {churn.kept:,} kept"
    return f"{sentence}; since {churn.previous}: {changes}"


def _promise(budget: BudgetStatus) -> str:
    groups = ["the opt-in people"] if budget.opt_in_spent else []
    if budget.clients_spent:
        groups.append(counted(budget.clients_spent, "client", "clients"))
    spenders = " and ".join(groups) or "nobody yet"
    return f"{Budget(budget.epsilon, budget.delta)} to every person; spent by {spenders}"
