"""The ways to run a method on a log: for release, in one go or in two phases, and as an experiment."""

from __future__ import annotations

import numpy as np

from blendp.errors import ParameterError, RandomnessError, require_number
from blendp.estimate import Split, Tally
from blendp.methods import blendp, published
from blendp.methods.listed import Listed
from blendp.methods.log import Log, OptIn
from blendp.methods.outcome import Release, Simulation
from blendp.methods.parameters import Parameters
from blendp.methods.people import LogPeople, People
from blendp.methods.progress import Progress, silent
from blendp.methods.published import Kind
from blendp.randomness import Random, ReleaseRandom, SimulationRandom, require_release


def run(
    log: Log,
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
    people = LogPeople.of(log, parameters, opt_in, choices, reproducible=seed is not None)
    return _method(Release, people, parameters, random, progress)


def make_list(
    log: Log, parameters: Parameters | None = None, *, opt_in: OptIn = None, random: ReleaseRandom | None = None
) -> Listed:
    """The first phase of :func:`run`: the opt-in users' list and counts, to be published.

    Clients report against ``head_list``; what they sent goes to :func:`conclude`. The log may hold opt-in users alone
    (``opt_in`` is then all True); whoever else it holds is left out.
    """
    random = ReleaseRandom() if random is None else random
    require_release(random)
    parameters = parameters or Parameters()
    return _publish(LogPeople.of(log, parameters, opt_in, random), parameters, random, silent)


def conclude(
    listed: Listed, reports: Split | Tally, *, query_share: float | None = None, random: ReleaseRandom | None = None
) -> Release:
    """The second phase of :func:`run`: the release, from the published list and the clients' reports against it.

    ``query_share`` is the share of the clients who were to report the query, told to them with the list
    (:meth:`Listed.query_share_for`); None where there is no such share, with a two-stage randomiser. Reports have the
    shape of their list, but not its name: whoever adds them up must see that each names this one.
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
    listed = _publish(people, parameters, random, progress)
    progress("randomising the clients' records")
    share, reports = _ask(people, listed, random)
    progress("blending")
    return _conclude(kind, listed, reports, share, random)


def _publish(people: People, parameters: Parameters, random: Random, progress: Progress) -> Listed:
    publish = published.publish if parameters.method == "published" else blendp.publish
    return publish(people, parameters, random, progress)


def _ask(people: People, listed: Listed, random: Random) -> tuple[float | None, Split | Tally]:
    """The share of the clients who report the query, if there is one, and all their reports."""
    if not listed.parameters.reports_split:
        return None, people.two_stage(listed.head_list, listed.two_stage, random)
    share = listed.query_share_for(people.sizes.client)
    return share, people.split(listed.head_list, *listed.split, share, random)


def _conclude(
    kind: type[Kind], listed: Listed, reports: Split | Tally, query_share: float | None, random: Random
) -> Kind:
    if listed.parameters.reports_split:
        if not isinstance(reports, Split):
            raise _misfit(type(reports).__name__, "a Split: clients report by subset selection")
        _require_own_split(listed, reports)
        return blendp.conclude_split(kind, listed, reports, _told_share(listed, query_share), random)
    if not isinstance(reports, Tally):
        raise _misfit(type(reports).__name__, "a Tally: clients report by a two-stage randomiser")
    _require_own_tally(listed, reports)
    if query_share is not None:
        raise ParameterError("query_share", query_share, "None with a two-stage randomiser", "Leave it out.")
    blended = published.conclude if listed.parameters.method == "published" else blendp.conclude_two_stage
    return blended(kind, listed, reports)


def _told_share(listed: Listed, query_share: float | None) -> float:
    """The share that clients were told, which the parameters may have fixed."""
    remedy = "Give the share that clients were told with the list."
    require_number("query_share", query_share, min_value=0, below=1, legal="from 0 to below 1", remedy=remedy)
    fixed = listed.parameters.query_share
    if query_share is None or fixed not in (None, query_share):
        raise ParameterError("query_share", query_share, f"{fixed}, as in the parameters of the list", remedy)
    return query_share


def _require_own_split(listed: Listed, split: Split) -> None:
    """Refuse reports with another epsilon, or about a list of another shape."""
    own = listed.split == (split.queries.randomiser, split.cells.randomiser)
    if not own or not np.array_equal(split.query_of_cell, listed.head_list.query_of_cell):
        raise _misfit(f"{split.queries.randomiser}, {split.cells.randomiser}", "about this list, with its epsilon")


def _require_own_tally(listed: Listed, tally: Tally) -> None:
    """Refuse reports about a list of another shape, or another number of them a client."""
    due = (listed.head_list.cells, listed.head_list.queries + 1)
    if (len(tally.cell), len(tally.query)) != due:
        raise _misfit(f"{len(tally.cell)} cells of {len(tally.query)} queries", "about the {} cells of {}".format(*due))
    if tally.users and tally.per_user != listed.parameters.client_records:
        raise _misfit(f"{tally.per_user} a client", f"{listed.parameters.client_records} of each client")


def _misfit(value: str, legal: str) -> ParameterError:
    return ParameterError("reports", value, legal, "Add up the reports that clients made against this list.")
