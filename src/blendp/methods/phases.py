"""The two phases of a method, and both in one go, for people who are in their groups."""

from __future__ import annotations

from typing import Protocol

from blendp.errors import ParameterError, require_number
from blendp.methods import blendp, published
from blendp.methods.listed import Listed
from blendp.methods.parameters import Parameters
from blendp.methods.people import People
from blendp.methods.progress import Progress
from blendp.methods.published import Kind
from blendp.randomness import Random
from blendp.reports import ReportSums


class _Conclude(Protocol):
    """The second phase of a method."""

    def __call__(
        self, kind: type[Kind], listed: Listed, reports: ReportSums, query_share: float | None, random: Random
    ) -> Kind: ...


_PUBLISH = {"blendp": blendp.publish, "published": published.publish}
_CONCLUDE: dict[str, _Conclude] = {"blendp": blendp.conclude, "published": published.conclude}


def both(kind: type[Kind], people: People, parameters: Parameters, random: Random, progress: Progress) -> Kind:
    """Both phases, with the clients' reports in between."""
    listed = publish(people, parameters, random, progress).settled()
    progress("randomising the clients' records")
    share, reports = _ask(people, listed, random)
    progress("blending")
    return conclude(kind, listed, reports, share, random)


def publish(people: People, parameters: Parameters, random: Random, progress: Progress) -> Listed:
    """The list and the counts of the opt-in group; delta fits the people if none was said."""
    fitted = parameters.fitted(people.sizes.people)
    return _PUBLISH[fitted.method](people, fitted, random, progress)


def _ask(people: People, listed: Listed, random: Random) -> tuple[float | None, ReportSums]:
    """The share of the clients who report the query, if there is one, and all their reports."""
    share = listed.query_share_for(people.sizes.client) if listed.parameters.reports_split else None
    return share, people.reports(listed.scheme(share), random)


def conclude(kind: type[Kind], listed: Listed, reports: ReportSums, query_share: float | None, random: Random) -> Kind:
    """The result, from the list and the sums of the clients' reports, which must be about it."""
    given: object = reports
    if not isinstance(given, ReportSums):
        raise _misfit(type(given).__name__, "sums of reports")
    listed = listed.settled()
    reports.require(listed.head_list.sha256, listed.questions)
    if reports.users and reports.per_user != listed.parameters.client_records:
        raise _misfit(f"{reports.per_user} a client", f"{listed.parameters.client_records} of each client")
    if listed.parameters.reports_split:
        _require_share(listed, query_share)
    elif query_share is not None:
        raise ParameterError("query_share", query_share, "None with a two-stage randomiser", "Leave it out.")
    return _CONCLUDE[listed.parameters.method](kind, listed, reports, query_share, random)


def _require_share(listed: Listed, query_share: float | None) -> None:
    """Refuse a share that clients were not told; the parameters may have fixed it."""
    remedy = "Give the share that clients were told with the list."
    require_number("query_share", query_share, min_value=0, below=1, legal="from 0 to below 1", remedy=remedy)
    fixed = listed.parameters.query_share
    if fixed not in (None, query_share):
        raise ParameterError("query_share", query_share, f"{fixed}, as in the parameters of the list", remedy)


def _misfit(value: str, legal: str) -> ParameterError:
    return ParameterError("reports", value, legal, "Add up the reports that clients made against this list.")
