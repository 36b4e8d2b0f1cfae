"""The result of a method: the list, both groups' estimates, and the blend."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blendp.curator.mean_records import MAX_COUNTED
from blendp.estimate import Blend, CrossCheck, GroupEstimate, Influence, project_on_simplex
from blendp.headlist import HeadList
from blendp.mechanisms.filtered_union.holdings import MAX_DIFFERENT
from blendp.methods.filtered import rows_that_count
from blendp.methods.groups import GroupSizes
from blendp.methods.guarantee import Guarantee
from blendp.methods.parameters import AUTO, MANY, Parameters
from blendp.methods.query_share import MISFIT, fits
from blendp.privacy.delta import delta_beside_people
from blendp.shown import Shown
from blendp.texts import printable

_FEW_RECORDS = 0.7
"""Dispersion above which people have too few records for many to be better than one: two on average, or fewer."""


@dataclass(frozen=True)
class Row:
    """One line of a table of estimates. ``query`` and ``url`` are None for the wildcard."""

    query: str | None
    url: str | None
    probability: float
    std_error: float
    low: float
    high: float
    weight_opt_in: float


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Shown):
    """What a run of a method gives. Nothing in it needs the log any more; a :class:`Release` may be published."""

    parameters: Parameters
    groups: GroupSizes
    guarantee: Guarantee
    candidates: int
    """Records that passed the threshold, before trimming."""

    head_list: HeadList
    opt_in: GroupEstimate
    client: GroupEstimate
    cells: Blend
    queries: Blend

    query_reporters: float | None = None
    """The share of the clients who were to report the query; the others the record. None with other randomisers."""

    query_reports: int | None = None
    """How many clients did report the query, where that share is known."""

    check: CrossCheck | None = None
    """Whether the two groups tell the same story (blendp method)."""

    influence: tuple[Influence, ...] = ()
    """How far lying clients could raise a record or query of it (blendp method)."""

    mean_records: float | None = None
    """The noisy mean number of records an opt-in person has, where it decided how the list was made."""

    dispersion: float | None = None
    """How much one opt-in person's records resemble each other, where all of them were counted and it is known."""

    reading: Mapping[str, Any] | None = None
    """How the log was read, and which of its rows count: for the card."""

    @cached_property
    def cell_probability(self) -> NDArray[np.float64]:
        """The published probability of every cell: the blend, projected if that was asked for."""
        return self._published(self.cells)

    @cached_property
    def query_probability(self) -> NDArray[np.float64]:
        """The published probability of every query, the wildcard last; in the blendp method the sum of its cells."""
        if self.check is None:
            return self._published(self.queries)
        return np.bincount(self.head_list.query_of_cell, weights=self.cell_probability).astype(np.float64)

    def _published(self, blended: Blend) -> NDArray[np.float64]:
        p = blended.probability
        if self.check is not None:  # <*,*> is estimated for itself; what that says must not be spread over the others
            p = np.append(p[:-1], 1 - p[:-1].sum())
        return project_on_simplex(p) if self.parameters.project and np.isfinite(p).all() else p

    @property
    def many_records(self) -> bool:
        """Whether the list was made of many records of each opt-in person (blendp method)."""
        return self.parameters.uses_many(self.mean_records, self.groups.head_list)

    @property
    def how_listed(self) -> str:
        """Of which records the list was made, and why, in words."""
        parameters, said = self.parameters, self.parameters.records_per_person
        if parameters.method == "published":
            most = parameters.max_opt_in_records
            return f"The list was made of {'one record' if most == 1 else f'{most} records'} of each opt-in person."
        which = f"all records (at most {MAX_DIFFERENT} different ones)" if self.many_records else "one record"
        why = ""
        if self.mean_records is not None:
            why = (
                f", since they have about {min(max(self.mean_records, 0.0), MAX_COUNTED):.3g} different ones on "
                f"average (with noise; at most {MAX_COUNTED} of a person counted)"
                if parameters.tells_mean(self.mean_records, self.groups.head_list)
                else ", since there was too much noise to tell how many different ones they have"
            )
        elif said is not None and parameters.opt_in_records == AUTO:
            why = f", since they were said to have {said:g} on average"
        return f"The list was made of {which} of each opt-in person{why}. The objective was {parameters.objective}."

    @property
    def how_filtered(self) -> str | None:
        """Which rows of the log count, in words, and of whom shares are then; None if all rows do."""
        return rows_that_count(self.reading)

    @property
    def how_delta(self) -> str:
        """How delta compares with the number of people, in words."""
        return delta_beside_people(self.parameters.budget.delta, self.groups.people)

    @property
    def identity_gap(self) -> float:
        """The largest |sum_u p_C[q,u] - p_C[q]|: 0 up to rounding in every run, whatever the data."""
        if not self.client.users:
            return 0.0
        sums = np.bincount(self.head_list.query_of_cell, weights=self.client.cells.probability)
        if not np.isfinite(sums).all():  # so few clients that nobody was asked for the record
            return 0.0
        return float(np.abs(sums - self.client.queries.probability).max())

    @property
    def arms_fit(self) -> bool:
        """Whether as many clients reported the query as their coins let expect: none seem to choose their question."""
        if self.query_reporters is None or self.query_reports is None:
            return True
        return fits(self.query_reporters, self.query_reports, self.client.users)

    @property
    def cautions(self) -> list[str]:
        """What a reader of this outcome should be warned of; from public numbers alone."""
        parameters = self.parameters
        warnings = []
        if parameters.budget.delta * self.groups.people >= 1:
            warnings.append(f"{self.how_delta}: choose a smaller one for a release about real people.")
        if parameters.epsilon > 10:
            factor = math.exp(parameters.epsilon)
            warnings.append(f"epsilon = {parameters.epsilon:g} promises next to nothing: a factor of {factor:.1g}.")
        if parameters.variance != "mended":
            warnings.append(f"The {parameters.variance} formulas are wrong where they differ: for reproduction only.")
        if parameters.wildcard == "figure-4":
            warnings.append(
                "With wildcard = figure-4 the two groups estimate different things for queries and wildcards, so "
                "intervals of these do not hold: for reproduction only."
            )
        if parameters.better_otherwise is not None:
            warnings.append(parameters.better_otherwise)
        elif parameters.opt_in_records == MANY and self.dispersion is not None and self.dispersion > _FEW_RECORDS:
            warnings.append(
                f"opt_in_records is many, though people seem to have few records each (dispersion "
                f"{self.dispersion:.2f}, where 1 is one record): auto may serve better."
            )
        if not self.arms_fit:
            warnings.append(
                f"{self.query_reports:,} of {self.client.users:,} clients reported the query, where a share of "
                f"{self.query_reporters:g} was to: chance does that in fewer than one of {1 / MISFIT:,.0f} releases. "
                f"Some clients may choose their question, as liars would."
            )
        if not self.head_list.records:
            why = "the list is empty" if self.groups.opt_in else "nobody opted in"
            warnings.append(f"No record passed the threshold: {why}.")
        return warnings

    def records(self) -> list[Row]:
        """Every cell: listed records by falling probability, then the <q,*>, then <*,*>."""
        listed = np.zeros(self.head_list.cells, dtype=np.int64)
        listed[self.head_list.record_cells] = 2
        listed[-1] -= 1
        order = np.lexsort((-self.cell_probability, -listed))
        labels = self.head_list.labels
        return [self._row(labels[i], self.cells, self.cell_probability, i) for i in order]

    def trends(self) -> list[Row]:
        """Every query by falling probability, the wildcard last."""
        labels = [entry.query for entry in self.head_list.entries]
        order = np.argsort(-self.query_probability[:-1], kind="stable")
        rows = [self._row((labels[i], None), self.queries, self.query_probability, i) for i in order]
        return [*rows, self._row((None, None), self.queries, self.query_probability, len(labels))]

    @staticmethod
    def _row(
        label: tuple[str | None, str | None], blended: Blend, published: NDArray[np.float64], i: int | np.intp
    ) -> Row:
        shown = (published, blended.std_error, blended.low, blended.high, blended.weight_opt_in)
        return Row(*label, *(float(values[i]) for values in shown))

    def _brief(self) -> str:
        return f"{self.head_list.records:,} listed, {self.parameters.budget} promised, {self.groups}"

    def __str__(self) -> str:
        """The parameters and the ten most probable records."""
        lines = [str(self.parameters), str(self.groups), str(self.head_list)]
        for row in self.records()[: min(10, self.head_list.records)]:
            name = "  ".join(printable(text) for text in (row.query, row.url) if text)
            lines.append(f"  {row.probability:9.6f} ± {row.std_error:.6f}  {name}")
        return "\n".join(lines)


class Release(Outcome):
    """An outcome drawn with cryptographic randomness: it may be published."""


class Simulation(Outcome):
    """An outcome drawn with seeded randomness: an experiment, protected from nobody who knows the seed."""

    def _brief(self) -> str:
        return f"not private, {super()._brief()}"
