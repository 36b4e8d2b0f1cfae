"""The ways to run a method on a log: for release, in one go or in two phases, and as an experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blendp.errors import RandomnessError
from blendp.methods.counted_people import people_of
from blendp.methods.log import CountingLog, Log, OptIn
from blendp.methods.parameters import Parameters
from blendp.methods.people import LogPeople, People
from blendp.methods.progress import Progress, silent
from blendp.randomness import ReleaseRandom, SimulationRandom, require_release

if TYPE_CHECKING:  # what comes after the draw is loaded after it, or meanwhile (blendp.meanwhile)
    from blendp.methods.listed import Listed
    from blendp.methods.outcome import Release, Simulation
    from blendp.reports import ReportSums


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
    from blendp.methods.outcome import Release
    from blendp.methods.phases import both

    return both(Release, people, parameters, random, progress)


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
    people = people_of(log, parameters, opt_in, random)
    from blendp.methods.phases import publish

    return publish(people, parameters, random, silent)


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
    from blendp.methods import phases
    from blendp.methods.outcome import Release

    return phases.conclude(Release, listed, reports, query_share, random)


def simulate(
    log: Log, parameters: Parameters | None = None, *, opt_in: OptIn = None, random: SimulationRandom
) -> Simulation:
    """Run the method as an experiment that can be repeated from its seed."""
    _require_simulation(random)
    parameters = parameters or Parameters()
    return _simulated(LogPeople.of(log, parameters, opt_in, random), parameters, random)


def simulate_people(people: People, parameters: Parameters, random: SimulationRandom) -> Simulation:
    """Run the method as an experiment on people who are already in their groups."""
    _require_simulation(random)
    return _simulated(people, parameters, random)


def _require_simulation(random: object) -> None:
    if not isinstance(random, SimulationRandom):
        raise RandomnessError(f"{type(random).__name__} is not for experiments: pass SimulationRandom(seed).")


def _simulated(people: People, parameters: Parameters, random: SimulationRandom) -> Simulation:
    from blendp.methods.outcome import Simulation
    from blendp.methods.phases import both

    return both(Simulation, people, parameters, random, silent)
