"""The blendp method: one list and its counts from the whole opt-in group, split reports, one joint estimate."""

from __future__ import annotations

import numpy as np

from blendp.curator import OptInCounts, add_noise, counts_of_hold_out, counts_of_list, counts_of_union
from blendp.errors import ParameterError
from blendp.estimate import (
    InfluenceGuard,
    Split,
    Tally,
    blend,
    client_estimate,
    cross_check,
    hybrid_blend,
    influence,
    split_estimate,
)
from blendp.headlist import HeadList
from blendp.mechanisms import AsymmetricList, DiscreteLaplace, WeightedUnion
from blendp.methods.guarantee import Guarantee
from blendp.methods.listed import Listed, blendp_list_maker
from blendp.methods.parameters import Parameters
from blendp.methods.people import People
from blendp.methods.progress import Progress
from blendp.methods.published import Kind
from blendp.randomness import Random
from blendp.reports import ReportSums

ListMaker = AsymmetricList | WeightedUnion

LIARS = (0.001, 0.01, 0.05)
"""Shares of lying clients whose influence is stated."""


def publish(people: People, parameters: Parameters, random: Random, progress: Progress) -> Listed:
    """List and counts from the opt-in group."""
    progress("making the head list")
    list_maker = blendp_list_maker(parameters, people.levels)
    counts = _list_and_counts(people, list_maker, parameters, random)
    progress("counting opt-in records")
    return Listed(parameters, people.sizes.head_list, people.sizes.estimate, counts)


def conclude(kind: type[Kind], listed: Listed, reports: ReportSums, query_share: float | None, random: Random) -> Kind:
    """The release, from reports that name sets (of which a share is about the query), or by two stages."""
    if query_share is None:
        return _conclude_two_stage(kind, listed, Tally.of_sums(reports, listed.head_list))
    return _conclude_split(kind, listed, Split.of_sums(reports, listed.head_list), query_share, random)


def _conclude_split(kind: type[Kind], listed: Listed, split: Split, query_share: float, random: Random) -> Kind:
    """Cross-check and blend with reports that name sets, some of queries and some of records."""
    parameters, posterior = listed.parameters, listed.posterior
    check = cross_check(posterior, split, np.random.Generator(np.random.PCG64(random.key())))
    guard = InfluenceGuard(parameters.influence_cap, check.kappa)
    cells, queries = hybrid_blend(posterior, split, guard)
    return kind(
        parameters=parameters,
        groups=listed.sizes(split.users),
        guarantee=Guarantee.of_split(parameters, blendp_list_maker(parameters, listed.levels), *listed.split),
        candidates=listed.candidates,
        head_list=listed.head_list,
        opt_in=listed.opt_in,
        client=split_estimate(split),
        cells=cells,
        queries=queries,
        query_reporters=query_share,
        check=check,
        influence=tuple(influence(posterior, split, guard, liars) for liars in LIARS),
    )


def _conclude_two_stage(kind: type[Kind], listed: Listed, tally: Tally) -> Kind:
    """Blend, as published, with reports by the published randomiser or its tight version."""
    of_opt_in, of_clients = listed.opt_in, client_estimate(tally, listed.two_stage)
    users = listed.counts.users
    return kind(
        parameters=listed.parameters,
        groups=listed.sizes(tally.users),
        guarantee=Guarantee.of_two_stage(listed.parameters, listed.list_maker, listed.two_stage),
        candidates=listed.candidates,
        head_list=listed.head_list,
        opt_in=of_opt_in,
        client=of_clients,
        cells=blend(of_opt_in.cells, of_clients.cells, users),
        queries=blend(of_opt_in.queries, of_clients.queries, users),
    )


def _list_and_counts(people: People, list_maker: ListMaker, parameters: Parameters, random: Random) -> OptInCounts:
    """The list of all that pass, with the counts of the people who made it, or of those held out."""
    sizes = people.sizes
    if parameters.holds_out and sizes.opt_in and not sizes.estimate:
        raise ParameterError(
            "head_list_share",
            parameters.head_list_share,
            f"so small that some of the {sizes.opt_in} opt-in users are left to estimate",
            "Lower it, or leave it out: then all of them make the list and estimate.",
        )
    records = people.list_records()
    if isinstance(list_maker, WeightedUnion):
        listed = list_maker.draw(list_maker.totals(records, people.distinct_records), random)
        candidates = HeadList.of_records(people.texts(listed), people.levels)
        if not parameters.holds_out:
            return counts_of_union(candidates, people.list_cells(candidates), list_maker, random)
    else:
        counts = np.bincount(records[records >= 0], minlength=people.distinct_records).astype(np.int64)
        listed, totals = list_maker.draw(counts, random)
        texts = people.texts(listed)
        candidates = HeadList.of_records(texts, people.levels)
        if not parameters.holds_out:
            at = np.array([candidates.cell_of(*text) for text in texts], dtype=np.int64)
            in_order = totals[np.argsort(at)]
            return counts_of_list(candidates, in_order, people.list_cells(candidates), list_maker, random)
    noise = DiscreteLaplace.for_counts(parameters.epsilon, parameters.opt_in_records)
    return counts_of_hold_out(add_noise(candidates, people.estimate_cells(candidates), noise, random))
