"""BLENDER (figure 2), as published, with the errata of docs/published.md mended."""

from __future__ import annotations

from typing import TypeVar

from blendp.curator import add_noise
from blendp.estimate import Tally, blend, client_estimate
from blendp.headlist import HeadList
from blendp.mechanisms import ThresholdList
from blendp.methods.guarantee import Guarantee
from blendp.methods.listed import Listed, published_list_maker
from blendp.methods.outcome import Outcome
from blendp.methods.parameters import Parameters
from blendp.methods.people import People, in_blocks
from blendp.methods.progress import Progress
from blendp.randomness import Random
from blendp.reports import ReportSums

Kind = TypeVar("Kind", bound=Outcome)


def publish(people: People, parameters: Parameters, random: Random, progress: Progress) -> Listed:
    """The list from S, and its counts from T."""
    progress("making the head list")
    list_maker = published_list_maker(parameters)
    candidates = create_head_list(people, list_maker, random)
    progress("counting opt-in records")
    cells = people.estimate_cells(candidates)
    noisy = add_noise(candidates, cells, list_maker.noise, random, parameters.wildcard)
    return Listed(parameters, people.sizes.head_list, people.sizes.estimate, noisy)


def conclude(
    kind: type[Kind],
    listed: Listed,
    reports: ReportSums,
    query_share: float | None,  # noqa: ARG001
    random: Random,  # noqa: ARG001
) -> Kind:
    """Estimates from the counts of T and the clients' reports, and their weighted mean."""
    tally = Tally.of_sums(reports, listed.head_list)
    parameters, users = listed.parameters, listed.estimate_users
    of_opt_in, of_clients = listed.opt_in, client_estimate(tally, listed.two_stage, parameters.variance)
    return kind(
        parameters=parameters,
        groups=listed.sizes(tally.users),
        guarantee=Guarantee.of_two_stage(parameters, listed.list_maker, listed.two_stage),
        candidates=listed.candidates,
        head_list=listed.head_list,
        opt_in=of_opt_in,
        client=of_clients,
        cells=blend(of_opt_in.cells, of_clients.cells, users, parameters.variance),
        queries=blend(of_opt_in.queries, of_clients.queries, users, parameters.variance),
    )


def create_head_list(people: People, list_maker: ThresholdList, random: Random) -> HeadList:
    """CreateHeadList (figure 3): the records of S whose noisy counts pass."""
    (listed,) = in_blocks(people.list_counts(), lambda counts: (list_maker.draw(counts, random),))
    return HeadList.of_records(people.texts(listed), people.levels)
