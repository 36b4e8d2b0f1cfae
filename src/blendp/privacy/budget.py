"""The promise made to one person."""

from __future__ import annotations

from dataclasses import dataclass

from blendp.errors import require_number


@dataclass(frozen=True)
class Budget:
    """An (epsilon, delta) differential-privacy promise to one person, for all they contribute.

    For all pairs of inputs that differ in one person's records, and all sets Y of outputs,

        P[A(D) in Y] <= e^epsilon P[A(D') in Y] + delta

    where:
        D, D'    are neighbours (adjacency): the same people, all records of one of them replaced (user level),
        epsilon  bounds how much the odds of any conclusion about the person can change,
        delta    is added: by so much the probability of any set of outputs may exceed e^epsilon times what it is with
                 D'. So a record that one person alone holds is listed with a probability of at most delta.
    """

    epsilon: float
    """In (0, 50]; 0.5 to 4 are usual."""

    delta: float = 0.0
    """In [0, 1); keep it well below one over the number of people."""

    def __post_init__(self) -> None:
        """Refuse budgets that promise nothing or cannot be computed with."""
        require_number(
            "epsilon",
            self.epsilon,
            above=0,
            max_value=50,
            legal="a number above 0 and at most 50",
            remedy="Values from 0.5 to 4 are usual.",
        )
        require_number(
            "delta",
            self.delta,
            min_value=0,
            below=1,
            legal="a number from 0 to 1 (1 excluded)",
            remedy="Use a value well below one over the number of people, such as 1e-5.",
        )

    def share(self, fraction: float) -> Budget:
        """The part of this budget that a fraction of it makes."""
        require_number(
            "fraction",
            fraction,
            above=0,
            max_value=1,
            legal="above 0 and at most 1",
            remedy="Spend a part of the budget.",
        )
        return Budget(self.epsilon * fraction, self.delta * fraction)

    def __str__(self) -> str:
        """As it is written in papers."""
        return f"(ε = {self.epsilon:g}, δ = {self.delta:g})"
