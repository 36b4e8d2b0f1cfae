"""The ways to run a method on a log: for release, in one go or in two phases, and as an experiment."""

from __future__ import annotations

from typing import Protocol

from blendp.errors import ParameterError, RandomnessError, require_number
from blendp.methods import blendp, published
from blendp.methods.counted_people import people_of
from blendp.methods.listed import Listed
from blendp.methods.log import CountingLog, Log, OptIn
from blendp.methods.outcome import Release, Simulation
from blendp.methods.parameters import Parameters
from blendp.methods.people import LogPeople, People
from blendp.methods.progress import Progress, silent
from blendp.methods.published import Kind
from blendp.randomness import Random, ReleaseRandom, SimulationRandom, require_release
from blendp.reports import ReportSums


class _Conclude(Protocol):
    """The second phase of a method."""

    def __call__(
        self, kind: type[Kind], listed: Listed, reports: ReportSums, query_share: float | None, random: Random
    ) -> Kind: ...


_PUBLISH = {"blendp": blendp.publish, "published": published.publish}
_CONCLUDE: dict[str, _Conclude] = {"blendp": blendp.conclude, "published": published.conclude}


def run(
    log: Log | CountingLog,
    parameters: Parameters | None = None,
    *,
    opt_in: OptIn = None,
    random: ReleaseRandom | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> Release:
    """Run the method on a log that one party already holds, with randomness fit for release.

    This plays both sides: in a deployment clients randomise on their devices (:mod:`blendp.client`).

    With a ``seed``, who opts in (if a share is drawn) and which records of each person count are the same in every run
    and on every engine; the guarantee holds for any such choice. All noise is fresh whatever the seed.
    """
    random = ReleaseRandom() if random is None else random
    require_release(random)
    parameters = parameters or Parameters()
    progress("drawing records")
    choices = random if seed is None else SimulationRandom(seed)
    people = people_of(log, parameters, opt_in, choices, reproducible=seed is not None)
    return _method(Release, people, parameters, random, progress)


def make_list(
    log: Log | CountingLog,
    parameters: Parameters | None = None,
    *,
    opt_in: OptIn = None,
    random: ReleaseRandom | None = None,
) -> Listed:
    """The first phase of :func:`run`: the opt-in users' list and counts, to be published.

    Clients report against ``head_list``; what they sent goes to :func:`conclude`. The log may hold opt-in users alone
    (``opt_in`` is then all True); whoever else it holds is left out. Where no delta is said, it fits the people of the
    log: if many more will report, say how many (``parameters.fitted(people)``).
    """
    random = ReleaseRandom() if random is None else random
    require_release(random)
    parameters = parameters or Parameters()
    return _publish(people_of(log, parameters, opt_in, random), parameters, random, silent)


def conclude(
    listed: Listed, reports: ReportSums, *, query_share: float | None = None, random: ReleaseRandom | None = None
) -> Release:
    """The second phase of :func:`run`: the release, from the published list and the clients' reports against it.

    ``query_share`` is the share of the clients who were to report the query, told to them with the list
    (:meth:`Listed.query_share_for`); None where there is no such share, with a two-stage randomiser. The sums know
    which list their reports are about, and with which epsilon: others are refused. :meth:`Listed.scheme` adds reports
    up.
    """
    random = ReleaseRandom() if random is None else random
    require_release(random)
    return _conclude(Release, listed, reports, query_share, random)


def simulate(
    log: Log, parameters: Parameters | None = None, *, opt_in: OptIn = None, random: SimulationRandom
) -> Simulation:
    """Run the method as an experiment that can be repeated from its seed."""
    _require_simulation(random)
    parameters = parameters or Parameters()
    return _method(Simulation, LogPeople.of(log, parameters, opt_in, random), parameters, random, silent)


def simulate_people(people: People, parameters: Parameters, random: SimulationRandom) -> Simulation:
    """Run the method as an experiment on people who are already in their groups."""
    _require_simulation(random)
    return _method(Simulation, people, parameters, random, silent)


def _require_simulation(random: object) -> None:
    if not isinstance(random, SimulationRandom):
        raise RandomnessError(f"{type(random).__name__} is not for experiments: pass SimulationRandom(seed).")


def _method(kind: type[Kind], people: People, parameters: Parameters, random: Random, progress: Progress) -> Kind:
    """Both phases, with the clients' reports in between."""
    listed = _publish(people, parameters, random, progress).settled()
    progress("randomising the clients' records")
    share, reports = _ask(people, listed, random)
    progress("blending")
    return _conclude(kind, listed, reports, share, random)


def _publish(people: People, parameters: Parameters, random: Random, progress: Progress) -> Listed:
    fitted = parameters.fitted(people.sizes.people)
    return _PUBLISH[fitted.method](people, fitted, random, progress)


def _ask(people: People, listed: Listed, random: Random) -> tuple[float | None, ReportSums]:
    """The share of the clients who report the query, if there is one, and all their reports."""
    share = listed.query_share_for(people.sizes.client) if listed.parameters.reports_split else None
    return share, people.reports(listed.scheme(share), random)


def _conclude(kind: type[Kind], listed: Listed, reports: ReportSums, query_share: float | None, random: Random) -> Kind:
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
