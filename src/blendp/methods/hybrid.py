"""The blendp method: one list and its counts from the whole opt-in group, split reports, one joint estimate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from blendp.curator import OptInCounts, add_noise, counts_of_hold_out, counts_of_list, counts_of_union
from blendp.errors import ParameterError
from blendp.estimate import (
    Blend,
    CrossCheck,
    GroupEstimate,
    Guard,
    Influence,
    Posterior,
    blend,
    client_estimate,
    counts_estimate,
    cross_check,
    hybrid_blend,
    influence,
    opt_in_posterior,
    split_estimate,
)
from blendp.headlist import HeadList
from blendp.mechanisms import AsymmetricList, DiscreteLaplace, SubsetSelection, TwoStage, WeightedUnion
from blendp.methods.guarantee import Guarantee
from blendp.methods.parameters import Parameters
from blendp.methods.people import People
from blendp.methods.progress import Progress
from blendp.methods.published import Kind
from blendp.methods.query_share import best_query_share
from blendp.privacy import Budget
from blendp.randomness import Random

ListMaker = AsymmetricList | WeightedUnion

LIARS = (0.001, 0.01, 0.05)
"""Shares of lying clients whose influence is stated."""


@dataclass(frozen=True, eq=False)
class _Heard:
    """What the clients said, and the blend with it."""

    guarantee: Guarantee
    client: GroupEstimate
    cells: Blend
    queries: Blend
    query_reporters: float | None = None
    check: CrossCheck | None = None
    influence: tuple[Influence, ...] = ()


def hybrid(kind: type[Kind], people: People, parameters: Parameters, random: Random, progress: Progress) -> Kind:
    """List and counts from the opt-in group, reports against the list, cross-check, blend."""
    progress("making the head list")
    list_maker = parameters.list_maker(people.levels)
    found = _list_and_counts(people, list_maker, parameters, random)
    progress("counting opt-in records")
    counts = found.trimmed(parameters.size, parameters.trim_unit)
    posterior = opt_in_posterior(counts, found, parameters.prior)
    progress("randomising the clients' records")
    if parameters.reports_split:
        heard = _split_reports(people, counts.head_list, posterior, parameters, list_maker, random, progress)
    else:
        heard = _two_stage_reports(people, counts, parameters, list_maker, random, progress)
    return kind(
        parameters=parameters,
        groups=people.sizes,
        candidates=found.head_list.records,
        head_list=counts.head_list,
        opt_in=counts_estimate(counts),
        guarantee=heard.guarantee,
        client=heard.client,
        cells=heard.cells,
        queries=heard.queries,
        query_reporters=heard.query_reporters,
        check=heard.check,
        influence=heard.influence,
    )


def _split_reports(
    people: People,
    head_list: HeadList,
    posterior: Posterior,
    parameters: Parameters,
    list_maker: ListMaker,
    random: Random,
    progress: Progress,
) -> _Heard:
    """Reports by subset selection, some about the query and some about the record."""
    queries = SubsetSelection(parameters.epsilon, head_list.queries + 1)
    cells = SubsetSelection(parameters.epsilon, head_list.cells)
    share = parameters.query_share
    if share is None:
        share = best_query_share(posterior, queries, cells, head_list, people.sizes.client)
    split = people.split(head_list, queries, cells, share, random)

    progress("blending")
    check = cross_check(posterior, split, np.random.Generator(np.random.PCG64(random.key())))
    guard = Guard(parameters.influence_cap, check.kappa)
    of_cells, of_queries = hybrid_blend(posterior, split, guard)
    return _Heard(
        Guarantee.of_split(parameters, list_maker, queries, cells),
        split_estimate(split),
        of_cells,
        of_queries,
        share,
        check,
        tuple(influence(posterior, split, guard, liars) for liars in LIARS),
    )


def _two_stage_reports(
    people: People,
    counts: OptInCounts,
    parameters: Parameters,
    list_maker: ListMaker,
    random: Random,
    progress: Progress,
) -> _Heard:
    """Reports by the published randomiser or its tight version, blended as published."""
    tight = parameters.randomiser == "two-stage-tight"
    randomiser = TwoStage(
        Budget(parameters.epsilon, 0.0 if tight else parameters.delta),
        counts.head_list.cells_per_query,
        parameters.client_query_share,
        tight,
    )
    of_clients = client_estimate(people.two_stage(counts.head_list, randomiser, random), randomiser)
    progress("blending")
    of_opt_in = counts_estimate(counts)
    return _Heard(
        Guarantee.of_two_stage(parameters, list_maker, randomiser),
        of_clients,
        blend(of_opt_in.cells, of_clients.cells, counts.users),
        blend(of_opt_in.queries, of_clients.queries, counts.users),
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
