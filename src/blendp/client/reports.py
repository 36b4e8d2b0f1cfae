"""Making one person's reports on their own device: the schemes of :mod:`blendp.reports`, from plain values."""

from __future__ import annotations

from collections.abc import Sequence

from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.privacy import Budget
from blendp.randomness import ReleaseRandom
from blendp.reports import PUBLISHED_QUERY_SHARE, Report, SubsetScheme, TwoStageScheme


def make_report(
    records: Sequence[Record],
    head_list: HeadList,
    epsilon: float,
    query_share: float,
    random: ReleaseRandom,
    *,
    randomiser: str = "split",
) -> Report:
    """One report of a person about one of their records, drawn at random, with the whole epsilon.

    With probability ``query_share`` the report is about the record's query, otherwise about the record. A person
    without records reports about <*,*>. Texts must be normalised as the list's were. All clients use one
    ``randomiser``: split, or apart for reports that name the wildcard alone or not at all.
    """
    return SubsetScheme(head_list, epsilon, query_share, randomiser).randomise(records, random)


def make_reports(
    records: Sequence[Record],
    head_list: HeadList,
    budget: Budget,
    random: ReleaseRandom,
    *,
    records_per_user: int = 1,
    query_share: float = PUBLISHED_QUERY_SHARE,
) -> tuple[Report, ...]:
    """LocalAlg (published method): so many reports about this person's records, each with its part of the budget.

    A person with more records has so many of them drawn at random; one with fewer has theirs repeated in random order;
    one with none reports about <*,*>. So how many reports there are tells nothing about the person. Texts must be
    normalised as the list's were (:func:`blendp.normalise_query`, :func:`blendp.normalise_url`).
    """
    scheme = TwoStageScheme(head_list, budget, query_share, records_per_user=records_per_user)
    return scheme.randomise_all(records, random)
