"""BLENDER (figure 2), as published, with the errata of docs/published.md mended."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from blendp.curator import add_noise, trim
from blendp.estimate import blend, client_estimate, opt_in_estimate
from blendp.headlist import HeadList
from blendp.mechanisms import ThresholdList, TwoStage
from blendp.methods.guarantee import Guarantee
from blendp.methods.outcome import Outcome
from blendp.methods.parameters import Parameters
from blendp.methods.people import People
from blendp.methods.progress import Progress
from blendp.randomness import Random

Kind = TypeVar("Kind", bound=Outcome)


def published(kind: type[Kind], people: People, parameters: Parameters, random: Random, progress: Progress) -> Kind:
    """The list from S, estimates from T and the clients, and their weighted mean."""
    progress("making the head list")
    list_maker = ThresholdList(parameters.budget, parameters.opt_in_records)
    candidates = create_head_list(people, list_maker, random)

    progress("counting opt-in records")
    noisy = add_noise(candidates, people.estimate_cells(candidates), list_maker.noise, random, parameters.wildcard)
    noisy = trim(noisy, parameters.size, parameters.trim_unit)
    head_list = noisy.head_list
    of_opt_in = opt_in_estimate(noisy, parameters.variance)

    progress("randomising the clients' records")
    randomiser = TwoStage(
        parameters.budget.share(1 / parameters.client_records), head_list.cells_per_query, parameters.client_query_share
    )
    tally = people.two_stage(head_list, randomiser, random)
    of_clients = client_estimate(tally, randomiser, parameters.variance)

    progress("blending")
    users = people.sizes.estimate
    return kind(
        parameters=parameters,
        groups=people.sizes,
        guarantee=Guarantee.of_two_stage(parameters, list_maker, randomiser),
        candidates=candidates.records,
        head_list=head_list,
        opt_in=of_opt_in,
        client=of_clients,
        cells=blend(of_opt_in.cells, of_clients.cells, users, parameters.variance),
        queries=blend(of_opt_in.queries, of_clients.queries, users, parameters.variance),
    )


def create_head_list(people: People, list_maker: ThresholdList, random: Random) -> HeadList:
    """CreateHeadList (figure 3): the records of S whose noisy counts pass."""
    records = people.list_records()
    counts = np.bincount(records[records >= 0], minlength=people.distinct_records)
    return HeadList.of_records(people.texts(list_maker.draw(counts, random)), people.levels)
