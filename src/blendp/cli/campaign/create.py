"""``blendp campaign create``: the terms of a new campaign, fixed and signed."""

from __future__ import annotations

import datetime
import re
from dataclasses import MISSING, dataclass
from typing import Annotated, Any, TypeVar

from typer import Argument

from blendp.cli.campaign.forecast import LIKE, Like, warn_of_forecast
from blendp.cli.campaign.options import AsJson, CollectorOptions, say, warn
from blendp.cli.console import print_json
from blendp.cli.panels import asked_size, method, privacy, takes_job
from blendp.errors import ParameterError, require_choice
from blendp.logs.synthetic import NAMES
from blendp.privacy.delta import fitting_delta
from blendp.render.plan.forecast import error_words, forecast_words
from blendp.service.board.cautions import cautions_of_terms, statements_of_terms
from blendp.service.clock import utc_today
from blendp.service.new_terms import new_terms
from blendp.wire.campaign import Terms
from blendp.wire.messages import field_forms
from blendp.wire.text_forms import require_day

EXAMPLES = """Examples:

- `blendp campaign create trends-2026-11 --title 'What people search' --organisation 'Example Search' --purpose
  'A list of popular searches on our start page' --contact privacy@example.org --opt-in-until +14d --reports-until +44d`
- `blendp campaign create words-2026-11 --title 'What people search' --organisation 'Example Search' --purpose
  'A list of popular searches' --contact privacy@example.org --opt-in-until +14d --reports-until +44d --levels 1
  --records-per-person 20 --objective long-list`
"""

_RELATIVE = re.compile(r"\+([0-9]{1,4})d")


_PRIVACY = ("epsilon", "delta", "min_opt_in", "min_clients")
_SPELT = {
    "delta": "By how much a probability may exceed that (below 1/(10 expected clients) if none is said).",
    "opens": "First day: 2026-11-16, or +3d for in three days (today).",
    "opt_in_until": "Last day (UTC) for opt-in records: 2026-11-30, or +14d for 14 days after --opens.",
    "reports_until": "Last day for clients' reports: 2026-12-31, or +44d for 44 days after --opens.",
    "size": "Records that the list keeps at most; 0 keeps all.",
}
"""What is written otherwise on the command line than in the terms."""

_Options = TypeVar("_Options")


def _with_terms(cls: type[_Options]) -> type[_Options]:
    """With an option for every field of the terms: its type, default and meaning are those of the field."""
    cls.__annotations__ = {}
    for form in field_forms(Terms).values():
        panel = privacy if form.name in _PRIVACY else method
        option = panel(help=_SPELT.get(form.name, form.meta.description))
        kind, default = form.kind, form.default
        if form.name == "campaign":
            option = Argument(help=form.meta.description, metavar="CAMPAIGN")
        elif form.name == "opens":
            kind, default = str | None, None
        elif form.name == "delta":
            kind, default = float | None, None
        elif form.name == "opt_in_records":
            kind, default = int | None, None
        elif form.name == "size":
            kind, default = int, Terms.size or 0
        cls.__annotations__[form.name] = Annotated[kind, option]
        if default is not MISSING:
            setattr(cls, form.name, default)
    return cls


@dataclass(frozen=True, kw_only=True)
@_with_terms
class NewCampaign(CollectorOptions):
    """The terms, as given on the command line."""

    def terms(self, today: datetime.date) -> Terms:
        """The terms in full, refused if nobody could keep them."""
        given: dict[str, Any] = {name: getattr(self, name) for name in field_forms(Terms)}
        if given["opt_in_records"] is None:
            del given["opt_in_records"]
        if given["delta"] is None:
            given["delta"] = fitting_delta(max(given["expected_clients"], 0), Terms.delta)
        opens = _day("opens", given["opens"] or "+0d", today)
        days = {name: _day(name, given[name], opens).isoformat() for name in ("opt_in_until", "reports_until")}
        return new_terms({**given, **days, "opens": opens.isoformat(), "size": asked_size(given["size"])})


@takes_job
def create(job: NewCampaign, like: Like = LIKE, as_json: AsJson = False) -> None:
    """Fix and sign the terms of a new campaign. They never change: another promise or date is another campaign.

    Tells what the list will probably hold if it is made of the minimum of opt-in people.
    """
    terms = job.terms(utc_today())
    require_choice("like", like, NAMES)  # before anything is created
    with job.client() as client:
        created = client.create(terms)
    from blendp.service.board.forecast import forecast_of, planned_at_least

    forecast, plan = forecast_of(terms, terms.min_opt_in, like), planned_at_least(terms, like)
    for caution in cautions_of_terms(terms):
        warn(caution)
    warn_of_forecast(forecast)
    if as_json:
        error = None if plan is None else plan.errors[0]
        best = None if error is None else {"probability": error.probability, "std_error": error.std_error}
        top = None if plan is None else plan.scores.top_error
        print_json({**created.to_dict(), "forecast": forecast.to_dict(), "top_error": top, "most_popular": best})
        return
    for statement in statements_of_terms(terms):
        say(statement)
    say(f"At its minimum: {forecast_words(forecast)}")
    if plan is not None:
        say(f"With {terms.expected_clients:,} clients: {error_words(plan)}")
    say(f"Terms {created.terms_sha256}.")
    say(f"Next: blendp campaign enrol {terms.campaign} --count {terms.min_opt_in}")


def _day(parameter: str, text: str, start: datetime.date) -> datetime.date:
    """A day by its date, or so many days after another."""
    if match := _RELATIVE.fullmatch(text):
        return start + datetime.timedelta(days=int(match[1]))
    try:
        return require_day(parameter, text)
    except ParameterError:
        legal = "a day such as 2026-11-30, or +14d"
        raise ParameterError(parameter, text, legal, "Days are those of UTC.") from None
