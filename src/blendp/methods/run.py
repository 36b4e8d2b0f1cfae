"""The two ways to run a method on a log: for release, and as an experiment."""

from __future__ import annotations

from blendp.errors import RandomnessError
from blendp.methods.hybrid import hybrid
from blendp.methods.log import Log, OptIn
from blendp.methods.outcome import Release, Simulation
from blendp.methods.parameters import Parameters
from blendp.methods.people import LogPeople, People
from blendp.methods.progress import Progress, silent
from blendp.methods.published import Kind, published
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
    method = published if parameters.method == "published" else hybrid
    return method(kind, people, parameters, random, progress)
