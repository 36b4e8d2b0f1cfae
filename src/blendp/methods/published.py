"""BLENDER (figure 2), as published, with the errata of docs/published.md mended."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from blendp.curator import add_noise, trim
from blendp.errors import RandomnessError
from blendp.estimate import Tally, blend, client_estimate, opt_in_estimate
from blendp.headlist import HeadList
from blendp.mechanisms import ThresholdList, TwoStage
from blendp.methods.groups import draw_groups
from blendp.methods.guarantee import Guarantee
from blendp.methods.log import Log, OptIn, who_opts_in
from blendp.methods.outcome import Outcome, Release, Simulation
from blendp.methods.parameters import Parameters
from blendp.randomness import Random, ReleaseRandom, SimulationRandom, require_release

Progress = Callable[[str], None]
"""Told the name of each step as it starts."""

_Kind = TypeVar("_Kind", bound=Outcome)


def _silent(step: str) -> None:
    """Tell nobody."""


def run(
    log: Log,
    parameters: Parameters | None = None,
    *,
    opt_in: OptIn = None,
    random: ReleaseRandom | None = None,
    progress: Progress = _silent,
) -> Release:
    """Run the method on a log that one party already holds, with randomness fit for release.

    This plays both sides: in a deployment clients randomise on their devices (:mod:`blendp.client`).
    """
    random = ReleaseRandom() if random is None else random
    require_release(random)
    return _blender(Release, log, parameters or Parameters(), opt_in, random, progress)


def simulate(
    log: Log, parameters: Parameters | None = None, *, opt_in: OptIn = None, random: SimulationRandom
) -> Simulation:
    """Run the method as an experiment that can be repeated from its seed."""
    if not isinstance(random, SimulationRandom):
        raise RandomnessError(f"{type(random).__name__} is not for experiments: pass SimulationRandom(seed).")
    return _blender(Simulation, log, parameters or Parameters(), opt_in, random, _silent)


def _blender(
    kind: type[_Kind], log: Log, parameters: Parameters, opt_in: OptIn, random: Random, progress: Progress
) -> _Kind:
    progress("drawing records")
    chosen = who_opts_in(log, opt_in)
    groups = draw_groups(log.users, chosen, parameters.head_list_share, random)
    curated = log.sample(parameters.opt_in_records, random.key())
    if parameters.client_records == parameters.opt_in_records:
        held = curated
    else:
        held = log.sample(parameters.client_records, random.key())

    progress("making the head list")
    list_maker = ThresholdList(parameters.budget, parameters.opt_in_records)
    candidates = _create_head_list(log, curated[groups.head_list], list_maker, random)

    progress("counting opt-in records")
    cells = log.locate(candidates)[curated[groups.estimate]]
    noisy = add_noise(candidates, cells, list_maker.noise, random, parameters.wildcard)
    noisy = trim(noisy, parameters.size, parameters.trim_unit)
    head_list = noisy.head_list
    of_opt_in = opt_in_estimate(noisy, parameters.variance)

    progress("randomising the clients' records")
    randomiser = TwoStage(
        parameters.budget.share(1 / parameters.client_records), head_list.cells_per_query, parameters.query_share
    )
    cells = log.locate(head_list)[held[groups.client]]
    reports = randomiser.draw(cells.ravel(), random).reshape(cells.shape)
    tally = Tally.of_reports(reports, head_list.cells_per_query)
    of_clients = client_estimate(tally, randomiser, parameters.variance)

    progress("blending")
    users = groups.sizes.estimate
    return kind(
        parameters=parameters,
        groups=groups.sizes,
        guarantee=Guarantee.of(parameters, list_maker, randomiser),
        candidates=candidates.records,
        head_list=head_list,
        opt_in=of_opt_in,
        client=of_clients,
        cells=blend(of_opt_in.cells, of_clients.cells, users, parameters.variance),
        queries=blend(of_opt_in.queries, of_clients.queries, users, parameters.variance),
    )


def _create_head_list(log: Log, records: NDArray[np.int64], list_maker: ThresholdList, random: Random) -> HeadList:
    """CreateHeadList (figure 3): the records of S whose noisy counts pass."""
    counts = np.bincount(records[records >= 0], minlength=log.distinct_records)
    listed = list_maker.draw(counts, random)
    return HeadList.of_records(log.texts(listed), log.levels)
