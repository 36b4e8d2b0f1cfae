"""The blendp method: one list and its counts from the whole opt-in group, split reports, one joint estimate."""

from __future__ import annotations

from functools import partial

import numpy as np

from blendp.arrays import Ids
from blendp.curator import (
    OptInCounts,
    add_noise,
    counts_of_hold_out,
    counts_of_list,
    counts_of_shares,
    noisy_mean_records,
)
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
from blendp.headlist.head_list import Record
from blendp.meanwhile import meanwhile
from blendp.mechanisms import AsymmetricList, DiscreteLaplace, FilteredUnion
from blendp.mechanisms.filtered_union import HeldRecords
from blendp.methods.guarantee import Guarantee
from blendp.methods.listed import Listed, blendp_list_maker
from blendp.methods.parameters import Parameters
from blendp.methods.people import People, in_blocks
from blendp.methods.progress import Progress
from blendp.methods.published import Kind
from blendp.randomness import Random
from blendp.reports import ReportSums

_SOON_SIGMA = 10_000
"""Up to this sigma tables of noise are made before it is known whether they are needed: a fraction of a second."""

LIARS = (0.001, 0.01, 0.05)
"""Shares of lying clients whose influence is stated."""


def publish(people: People, parameters: Parameters, random: Random, progress: Progress) -> Listed:
    """List and counts from the opt-in group."""
    progress("making the head list")
    holdings, mean, derived = None, None, None
    if parameters.many_records is not False:
        derived = meanwhile(partial(_derive_union, parameters, people.levels))
        holdings = people.holdings()
    if holdings is not None and parameters.many_records is None:
        mean = noisy_mean_records(holdings, parameters.mean_epsilon, random)
    many = parameters.uses_many(mean, people.sizes.head_list)
    if many and derived is not None:
        derived.join()
    list_maker = blendp_list_maker(parameters, people.levels, many=many)
    if isinstance(list_maker, FilteredUnion) and holdings is not None:
        counts = _many_records(people, holdings, list_maker, random)
    elif isinstance(list_maker, AsymmetricList):
        counts = _one_record(people, list_maker, parameters, random)
    progress("counting opt-in records")
    return Listed(parameters, people.sizes.head_list, people.sizes.estimate, counts, mean)


def _derive_union(parameters: Parameters, levels: int) -> None:
    """Derive the mechanism for many records, which may be the one, and what it draws from if that is soon done."""
    list_maker = blendp_list_maker(parameters, levels, many=True)
    if isinstance(list_maker, FilteredUnion) and list_maker.filter_noise.sigma <= _SOON_SIGMA:
        list_maker.get_ready()


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
    cells, queries = hybrid_blend(posterior, split, guard, _variance_of_sum(listed))
    return kind(
        parameters=parameters,
        groups=listed.sizes(split.users),
        guarantee=Guarantee.of_split(
            parameters, blendp_list_maker(parameters, listed.levels, many=listed.many_records), *listed.split
        ),
        candidates=listed.candidates,
        head_list=listed.head_list,
        opt_in=listed.opt_in,
        client=split_estimate(split),
        cells=cells,
        queries=queries,
        query_reporters=query_share,
        query_reports=split.queries.users,
        check=check,
        influence=tuple(influence(posterior, split, guard, liars) for liars in LIARS),
        mean_records=listed.mean_records,
        dispersion=listed.dispersion,
    )


def _variance_of_sum(listed: Listed) -> float:
    """That of the sum of all cells in the opt-in group: the released sum's, and (moved/2)^2, where ``moved`` is by how
    much the prior lowers the sum. The prior is right about each cell within its error; the sum of all shows how right.
    """
    released = listed.opt_in.queries
    moved = 1 - float(released.probability[-1]) - float(listed.posterior.mean.sum())
    return float(released.variance[-1]) + (moved / 2) ** 2


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
        mean_records=listed.mean_records,
        dispersion=listed.dispersion,
    )


def _many_records(people: People, holdings: HeldRecords, list_maker: FilteredUnion, random: Random) -> OptInCounts:
    """The list of all that pass, and its counts, from all records of everybody."""
    listed, weights = list_maker.draw(holdings, random)
    candidates, order = _in_order(people.texts(listed), people.levels)
    released = list_maker.counts.noisy(people.share_sums(holdings, candidates), random)
    return counts_of_shares(candidates, holdings.people, released, weights[order], list_maker)


def _by_rests(people: People, list_maker: AsymmetricList, listed: set[str], random: Random) -> tuple[list[Record], Ids]:
    """The queries that are listed by their rests alone, as no record of theirs is listed, and these noisy rests."""
    queries, totals = in_blocks(people.query_counts(), lambda counts: list_maker.draw_queries(counts, random))
    names = people.query_texts(queries)
    bare = [i for i, name in enumerate(names) if name not in listed]
    return [(names[i], None) for i in bare], totals[bare]


def _in_order(records: list[Record], levels: int) -> tuple[HeadList, Ids]:
    """The list of these records, and the order in which it has them."""
    candidates = HeadList.of_records(records, levels)
    return candidates, np.argsort([candidates.cell_of(*record) for record in records])


def _one_record(people: People, list_maker: AsymmetricList, parameters: Parameters, random: Random) -> OptInCounts:
    """The list of all that pass, with the counts of the people who made it, or of those held out."""
    sizes = people.sizes
    if parameters.holds_out and sizes.opt_in and not sizes.estimate:
        raise ParameterError(
            "head_list_share",
            parameters.head_list_share,
            f"so small that some of the {sizes.opt_in} opt-in users are left to estimate",
            "Lower it, or leave it out: then all of them make the list and estimate.",
        )
    listed, totals = in_blocks(people.list_counts(), lambda counts: list_maker.draw(counts, random))
    records = people.texts(listed)
    if list_maker.wildcards:
        queries, rests = _by_rests(people, list_maker, {query for query, _ in records}, random)
        records, totals = records + queries, np.concatenate((totals, rests))
    candidates, order = _in_order(records, people.levels)
    if not parameters.holds_out:
        return counts_of_list(candidates, totals[order], people.list_cells(candidates), list_maker, random)
    noise = DiscreteLaplace.for_counts(parameters.epsilon, 1)
    return counts_of_hold_out(add_noise(candidates, people.estimate_cells(candidates), noise, random))
