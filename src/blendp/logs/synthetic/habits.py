"""People with habits: some return to one favourite again and again, as real people do.

A person has a habit with probability A. Each of their records is then, independently, their favourite with
probability U, a share of their own; every other record, theirs and everybody else's, comes from what is left
of the law:

    P(favourite = r) = f_r = p_r / P_F        for r in F,
    P(other = r)     = (p_r - A/2 f_r) / (1 - A/2),

so that a record, whosever it is and whichever its place, has exactly the probability

    A/2 f_r + (1 - A/2) (p_r - A/2 f_r) / (1 - A/2) = p_r

where:
    A    is :data:`HABITUAL`, the share of people with a habit,
    U    is uniform on (0, 1), half of the records on average,
    F    are the favourites: the queries of odd rank among the first :data:`RANKS`, each URL with its share of p_r,
    P_F  is the sum of p_r over F; A/2 is below it, so no probability is negative.

Half of the queries are returned to and half are not: what people look for tells how they look for it, which no
common factor undoes. The numbers are set so that two things come out as in the real AOL log (docs/logs.md): the
dispersion of listed records, and the error that clipping everybody's shares leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from blendp.arrays import Array, Ids
from blendp.logs.synthetic.laws import Law

HABITUAL = 0.12
RANKS = 1_000


@dataclass(frozen=True)
class Habits:
    """How the people of a law come by favourites."""

    law: Law

    @cached_property
    def taken(self) -> Array:
        """A/2 f_r of the first queries: the part of each one's probability that is somebody's favourite."""
        probabilities = self.law.query_probabilities[:RANKS].copy()
        probabilities[1::2] = 0
        taken: Array = probabilities * (HABITUAL / 2 / probabilities.sum())
        return taken

    @cached_property
    def _favourite_steps(self) -> Array:
        steps: Array = np.cumsum(self.taken[::2]) / self.taken.sum()
        steps[-1] = 1.0
        return steps

    @cached_property
    def _bend(self) -> tuple[Array, Array]:
        """Where the steps of the others are, and where the law's: what lies between is stretched alike."""
        probabilities = self.law.query_probabilities[:RANKS]
        others = np.cumsum(probabilities - self.taken) / (1 - HABITUAL / 2)
        return np.concatenate(([0.0], others, [1.0])), np.concatenate(([0.0], np.cumsum(probabilities), [1.0]))

    def draw_others(self, generator: np.random.Generator, size: int) -> tuple[Ids, Ids]:
        """Rank and place of ``size`` independent records that are nobody's favourite."""
        ranks = self.other_ranks_at(generator.random(size))
        return ranks, self.law.draw_places(generator, ranks)

    def other_ranks_at(self, levels: Array) -> Ids:
        """The query of each level (from 0 to below 1) among the others."""
        return self.law.ranks_at(np.minimum(np.interp(levels, *self._bend), np.nextafter(1.0, 0.0)))

    def favour(
        self, generator: np.random.Generator, people: int, owners: Ids, ranks: Ids, places: Ids
    ) -> tuple[Ids, Ids]:
        """These records of so many people, with their owners' favourites instead of some."""
        shares = np.where(generator.random(people) < HABITUAL, generator.random(people), 0.0)
        favourites = 2 * np.searchsorted(self._favourite_steps, generator.random(people), side="right") + 1
        at = self.law.draw_places(generator, favourites)
        chosen = generator.random(len(owners)) < shares[owners]
        return np.where(chosen, favourites[owners], ranks), np.where(chosen, at[owners], places)
