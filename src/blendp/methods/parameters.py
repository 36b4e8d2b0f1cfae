"""The knobs of a run, validated at birth."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from blendp.curator.noisy_counts import TRIM_UNITS, WILDCARDS
from blendp.errors import require_choice, require_count, require_number
from blendp.estimate.group import VARIANCES
from blendp.mechanisms import ThresholdList
from blendp.privacy import Budget

METHODS = ("published",)


@dataclass(frozen=True)
class Parameters:
    """What BLENDER (figure 2) is told besides the people: the defaults are the paper's for the AOL log."""

    epsilon: float = 4.0
    """The privacy loss each person is promised at most; the same for both groups."""

    delta: float = 1e-5
    """The probability that the promise may fail; keep it well below one over the number of people."""

    method: str = "published"

    size: int | None = 50
    """M: how many records (or queries) the final list keeps; None keeps all that pass the threshold."""

    trim_unit: str = "record"
    """Whether ``size`` counts records or queries."""

    opt_in_records: int = 1
    """m_O: records taken from each opt-in user."""

    client_records: int = 1
    """m_C: records each client reports about; the budget is divided among them."""

    head_list_share: float = 0.95
    """f_O: the share of the opt-in users who make the list; the others estimate."""

    query_share: float = 0.85
    """f_C: the share of a client's budget that protects the query; the rest protects the URL."""

    variance: str = "mended"
    """Which variance formulas and weights: mended, or as printed in the journal or conference version."""

    wildcard: str = "shared"
    """What an opt-in record with a listed query and an unlisted URL counts for: <q,*> (shared) or <*,*> (figure-4)."""

    project: bool = True
    """Whether the published probabilities are projected on the simplex; intervals never are."""

    def __post_init__(self) -> None:
        """Refuse what is out of range, one clear sentence each."""
        require_choice("method", self.method, METHODS)
        if self.size is not None:
            require_count("size", self.size, least=1, remedy="Ask for at least one record; None (--size 0) keeps all.")
        require_choice("trim_unit", self.trim_unit, TRIM_UNITS)
        require_count("opt_in_records", self.opt_in_records, least=1, remedy="1 is the published choice.")
        require_count("client_records", self.client_records, least=1, remedy="1 is the published choice.")
        for name, usual in (("head_list_share", 0.95), ("query_share", 0.85)):
            require_number(
                name,
                getattr(self, name),
                above=0,
                below=1,
                legal="above 0 and below 1",
                remedy=f"{usual} is the published choice.",
            )
        require_choice("variance", self.variance, VARIANCES)
        require_choice("wildcard", self.wildcard, WILDCARDS)
        ThresholdList(self.budget, self.opt_in_records)  # refuses budgets for which nothing is proved

    @property
    def budget(self) -> Budget:
        """What each person is promised."""
        return Budget(self.epsilon, self.delta)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """One line for people."""
        size = "all records" if self.size is None else f"{self.size} {self.trim_unit}s"
        return (
            f"{self.method} {self.budget}, list of {size}, f_O = {self.head_list_share:g}, f_C = {self.query_share:g}"
        )
