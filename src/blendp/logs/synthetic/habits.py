"""People with habits: some return to one favourite again and again, as real people do.

A person has a habit with probability A. Each of their records is then, independently, their favourite with
probability U, a share of their own; every other record, theirs and everybody else's, comes from what is left
of the law:

    P(favourite = r) = f_r = p_r g_r / G,            G = sum over r of p_r g_r,
    P(other = r)     = (p_r - k f_r) / (1 - k),      k = A E[U] = A b/(b + 1),

so that a record, whosever it is and whichever its place, has exactly the probability

    k f_r + (1 - k) (p_r - k f_r) / (1 - k) = p_r

where:
    A    is the share of people with a habit,
    U    is V^(1/b) with V uniform on (0, 1),
    g_r  is how much people return to the query of r; k g_r is below G, so no probability is negative.

Some queries are returned to and others are not: what people look for tells how they look for it, which no common
factor undoes. :data:`PATTERNS` has the numbers of every population.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from blendp.arrays import Array, Ids
from blendp.logs.synthetic.laws import Law

RANKS = 1_000
"""People return to all queries beyond this rank alike."""


@dataclass(frozen=True)
class Pattern:
    """How the people of a population return to what they look for."""

    habitual: float
    """A."""

    steadiness: float
    """b."""

    returning: tuple[tuple[int, float, float], ...]
    """g as far as which rank: that of queries of odd rank, and of even rank. The last rank is :data:`RANKS`."""

    private: float
    """g of all queries beyond, so rare that a favourite among them is hardly ever anybody else's."""

    def returning_to(self, ranks: Ids) -> Array:
        """g of these queries."""
        lasts, odd, even = zip(*self.returning, strict=True)
        g = np.array([(*even, self.private), (*odd, self.private)])
        return np.asarray(g[ranks % 2, np.searchsorted(lasts, ranks)])

    def kinds(self, ranks: Ids) -> Ids:
        """A number for each of these queries; people return alike to those of one number."""
        values = {self.private, *(g for _, *both in self.returning for g in both)}
        return np.searchsorted(sorted(values), self.returning_to(ranks))


EVERY_OTHER = Pattern(habitual=0.12, steadiness=1.0, returning=((RANKS, 1.0, 0.0),), private=0.0)
"""12 % return to something, all of it popular. The numbers are set so that two things come out as in a real AOL log
(docs/logs.md): the dispersion of listed records, and the error that clipping everybody's shares leaves."""

STEADY = Pattern(habitual=0.33, steadiness=5.0, returning=((60, 1.0, 0.8), (RANKS, 0.65, 0.2)), private=0.2)
"""A third return, most of the time and above all to what is most popular; more than half of these have a favourite that
is hardly anybody else's. The numbers are set so that asking for all records of each person gains as little as it does
on a real AOL log, and that clipping leaves the same error (docs/logs.md)."""

PATTERNS = {"aol": EVERY_OTHER, "yandex": EVERY_OTHER, "aol-sparse": STEADY}


@dataclass(frozen=True)
class Habits:
    """How the people of a law come by favourites."""

    law: Law

    @property
    def pattern(self) -> Pattern:
        """How they return."""
        return PATTERNS[self.law.name]

    @property
    def share(self) -> float:
        """k: the share of all records that are their owners' favourites."""
        return self.pattern.habitual * self.pattern.steadiness / (self.pattern.steadiness + 1)

    @cached_property
    def probabilities(self) -> Array:
        """p_r of the first queries, and last that of all later ones together."""
        first = self.law.query_probabilities[:RANKS]
        return np.append(first, 1 - first.sum())

    @cached_property
    def taken(self) -> Array:
        """k f_r of the first queries, and last of all later ones: the part of their probability that is favourites."""
        weights = self.probabilities * self.pattern.returning_to(np.arange(1, RANKS + 2))
        taken: Array = weights * (self.share / weights.sum())
        return taken

    @cached_property
    def _favourites(self) -> tuple[Array, Array]:
        return _steps(self.taken), _steps(self.probabilities)

    @cached_property
    def _others(self) -> tuple[Array, Array]:
        return _steps(self.probabilities - self.taken), _steps(self.probabilities)

    def favourite_ranks_at(self, levels: Array) -> Ids:
        """The query of each level (from 0 to below 1) among the favourites."""
        return self._ranks_at(levels, self._favourites)

    def other_ranks_at(self, levels: Array) -> Ids:
        """The query of each level (from 0 to below 1) among the others."""
        return self._ranks_at(levels, self._others)

    def _ranks_at(self, levels: Array, steps: tuple[Array, Array]) -> Ids:
        """The query of each level, where the first steps are those of the levels, and the second those of the law."""
        return self.law.ranks_at(np.minimum(np.interp(levels, *steps), np.nextafter(1.0, 0.0)))

    def draw_others(self, generator: np.random.Generator, size: int) -> tuple[Ids, Ids]:
        """Rank and place of ``size`` independent records that are nobody's favourite."""
        ranks = self.other_ranks_at(generator.random(size))
        return ranks, self.law.draw_places(generator, ranks)

    def favour(
        self, generator: np.random.Generator, people: int, owners: Ids, ranks: Ids, places: Ids
    ) -> tuple[Ids, Ids]:
        """These records of so many people, with their owners' favourites instead of some."""
        habitual = generator.random(people) < self.pattern.habitual
        shares = np.where(habitual, generator.random(people) ** (1 / self.pattern.steadiness), 0.0)
        favourites = self.favourite_ranks_at(generator.random(people))
        at = self.law.draw_places(generator, favourites)
        chosen = generator.random(len(owners)) < shares[owners]
        return np.where(chosen, favourites[owners], ranks), np.where(chosen, at[owners], places)


def _steps(probabilities: Array) -> Array:
    """From 0 to 1."""
    ends = np.cumsum(probabilities)
    return np.concatenate(([0.0], ends / ends[-1]))
