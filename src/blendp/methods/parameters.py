"""The knobs of a run, validated at birth."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from blendp.curator.noisy_counts import TRIM_UNITS, WILDCARDS
from blendp.errors import ParameterError, require_choice, require_count, require_number
from blendp.estimate.group import VARIANCES
from blendp.estimate.posterior import PRIORS
from blendp.mechanisms import AsymmetricList, ThresholdList, WeightedUnion
from blendp.privacy import Budget
from blendp.reports import METHODS, ORACLES, PUBLISHED_QUERY_SHARE, RANDOMISER_OF_METHOD, RANDOMISERS

PUBLISHED_LIST_SHARE = 0.95

AUTO = "auto"
"""Leaves it to the list which set-valued randomiser clients use."""

_ONLY_PUBLISHED = ("variance", "wildcard")
_ONLY_BLENDP = ("randomiser", "prior", "influence_cap", "list_budget")


@dataclass(frozen=True)
class Parameters:
    """What a method is told besides the people. What is None is chosen by the method."""

    epsilon: float = 4.0
    """The privacy loss each person is promised at most; the same for both groups."""

    delta: float = 1e-5
    """By how much the probability of any result may exceed e^epsilon times what it is with other records of a person;
    a record that one person alone holds is listed with at most this probability. Keep it well below one over the number
    of people."""

    method: str = "blendp"
    """``blendp``, or ``published``: BLENDER with its errata mended."""

    size: int | None = 50
    """M: how many records (or queries) the final list keeps; None keeps all that pass the threshold."""

    trim_unit: str = "record"
    """Whether ``size`` counts records or queries."""

    opt_in_records: int = 1
    """m_O: how many records an opt-in user may contribute. With several, the blendp method makes the list by a
    weighted Gaussian set union."""

    client_records: int = 1
    """m_C: records each client reports about; the budget is divided among them."""

    head_list_share: float | None = None
    """f_O: the share of the opt-in users who make the list; the others estimate. All of them make the list and
    estimate by default in the blendp method; 0.95 in the published one."""

    query_share: float | None = None
    """blendp: the share of the clients who report the query, the others report the record; by default what promises
    the smallest errors for the list at hand. published: f_C, the share of a client's budget for the query, 0.85."""

    randomiser: str = "auto"
    """How clients report (blendp method): split, apart, two-stage or two-stage-tight; auto takes split or apart,
    whichever promises the smaller errors for the list at hand."""

    prior: str = "power-law"
    """What is assumed of listed records before their counts are seen (blendp method): power-law, or none."""

    influence_cap: float | None = 3.0
    """How many standard errors the clients may pull an estimate away from the opt-in group's (blendp method)."""

    list_budget: float = 0.5
    """With several records of a person: the share of the budget (of mu^2) for the list; the rest is for the counts."""

    variance: str = "mended"
    """Which variance formulas and weights (published method): mended, or as printed in the journal or conference
    version."""

    wildcard: str = "shared"
    """What an opt-in record with a listed query and an unlisted URL counts for (published method): <q,*> (shared) or
    <*,*> (figure-4)."""

    project: bool = True
    """Whether the published probabilities are projected on the simplex; intervals never are."""

    def __post_init__(self) -> None:
        """Refuse what is out of range or belongs to the other method, one clear sentence each."""
        require_choice("method", self.method, METHODS)
        if self.size is not None:
            require_count(
                "size", self.size, min_value=1, remedy="Ask for at least one record; None (--size 0) keeps all."
            )
        require_choice("trim_unit", self.trim_unit, TRIM_UNITS)
        require_count("opt_in_records", self.opt_in_records, min_value=1, remedy="1 is the published choice.")
        require_count("client_records", self.client_records, min_value=1, remedy="1 is the published choice.")
        require_choice("variance", self.variance, VARIANCES)
        require_choice("wildcard", self.wildcard, WILDCARDS)
        require_choice("randomiser", self.randomiser, (AUTO, *RANDOMISERS))
        require_choice("prior", self.prior, PRIORS)
        if self.influence_cap is not None:
            require_number(
                "influence_cap",
                self.influence_cap,
                above=0,
                legal="a number above 0, or None (--influence-cap 0) for no cap",
                remedy="3 moves honest estimates once in 370.",
            )
        _require_share("list_budget", self.list_budget, "0.5 serves both.")
        self._refuse_the_other_method()
        if not self.reports_split:
            _require_share("query_share", self.client_query_share, "0.85 is the published choice.")
        elif self.query_share is not None:
            require_number(
                "query_share",
                self.query_share,
                min_value=0,
                below=1,
                legal="from 0 to below 1",
                remedy="Leave it out to have it chosen.",
            )
        if self.method == "published" or self.head_list_share is not None:
            require_number(
                "head_list_share",
                self.list_makers,
                above=0,
                max_value=1,
                legal="above 0 and below 1 (1 in the blendp method: all make the list and estimate)",
                remedy="0.95 is the published choice.",
            )
        if self.method == "published" and self.list_makers == 1:
            raise ParameterError(
                "head_list_share", 1.0, "below 1 in the published method", "Its estimates need people of their own."
            )
        if self.method == "published":
            ThresholdList(self.budget, self.opt_in_records)  # both refuse budgets for which nothing is proved
        else:
            self.list_maker()

    def _refuse_the_other_method(self) -> None:
        other = _ONLY_BLENDP if self.method == "published" else _ONLY_PUBLISHED
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in other and value != field.default:
                raise ParameterError(
                    field.name,
                    value,
                    f"left at {field.default} with method {self.method}",
                    f"Choose the other method, or leave out {field.name}.",
                )
        if self.method == "blendp" and self.client_records != 1:
            raise ParameterError(
                "client_records",
                self.client_records,
                "1 with method blendp",
                "Several reports would share the budget and say less than one; method published allows them.",
            )

    def list_maker(self, levels: int = 2) -> AsymmetricList | WeightedUnion:
        """The blendp method's mechanism for the list of a log with so many levels."""
        if self.opt_in_records == 1:
            return AsymmetricList(self.budget, wildcards=levels == 2 and not self.holds_out)
        return WeightedUnion(self.budget, self.opt_in_records, 1.0 if self.holds_out else self.list_budget)

    @property
    def lists_different_records(self) -> bool:
        """Whether the list is made of a choice of each person's different records, beside that of occurrences."""
        return self.method == "blendp" and self.opt_in_records > 1

    @property
    def list_makers(self) -> float:
        """f_O, as said or chosen."""
        if self.head_list_share is not None:
            return self.head_list_share
        return PUBLISHED_LIST_SHARE if self.method == "published" else 1.0

    @property
    def holds_out(self) -> bool:
        """Whether some opt-in users do not make the list, and estimate instead."""
        return self.list_makers < 1

    @property
    def reports_split(self) -> bool:
        """Whether clients report sets, some of queries and others of records."""
        return self.client_randomiser in (AUTO, *ORACLES)

    @property
    def client_randomiser(self) -> str:
        """How clients report: as said in the blendp method (auto leaves it to the list), as published in the other."""
        return self.randomiser if self.method == "blendp" else RANDOMISER_OF_METHOD[self.method]

    @property
    def client_query_share(self) -> float:
        """f_C of the two-stage randomiser, as said or published."""
        return PUBLISHED_QUERY_SHARE if self.query_share is None else self.query_share

    @property
    def budget(self) -> Budget:
        """What each person is promised."""
        return Budget(self.epsilon, self.delta)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON; shares left to the method as it chose, but for one that depends on the list."""
        chosen = self.query_share if self.reports_split else self.client_query_share
        return {**asdict(self), "head_list_share": self.list_makers, "query_share": chosen}

    def __str__(self) -> str:
        """One line for people."""
        size = "all records" if self.size is None else f"{self.size} {self.trim_unit}s"
        several = f", {self.opt_in_records} records of an opt-in user" if self.opt_in_records > 1 else ""
        return f"{self.method} {self.budget}, list of {size}{several}"


def _require_share(name: str, value: float, remedy: str) -> None:
    require_number(name, value, above=0, below=1, legal="above 0 and below 1", remedy=remedy)
