"""The delta that fits a number of people: small enough that nobody's own record is likely to be listed."""

from __future__ import annotations

from blendp.errors import require_count


def fitting_delta(people: int, max_delta: float) -> float:
    """The largest round number that is below a tenth of one over the number of people, and at most ``max_delta``.

        delta = min(max_delta, d 10^-k),   d in {1, 2, 5} and k such that it is the largest with d 10^-k < 1/(10 n)

    where:
        n  is the number of people. It is public: neighbours differ in one person's records, never in who takes part,
           so what is chosen by it tells nothing about anybody.
    """
    require_count("people", people, min_value=0, remedy="Say how many people there are.")
    k = len(str(10 * people))
    digit = next(digit for digit in (5, 2, 1) if digit * 10 * people < 10**k)
    return min(max_delta, float(f"{digit}e-{k}"))


def delta_beside_people(delta: float, people: int) -> str:
    """How delta compares with the number of people, in words."""
    if not people:
        return f"δ = {delta:g}, and nobody takes part"
    for parts, share in ((10, "a tenth of one over"), (1, "one over")):
        if delta * parts * people < 1:
            return f"δ = {delta:g} is below {share} the {people:,} people ({1 / (parts * people):.2g})"
    return f"δ = {delta:g} is not below one over the {people:,} people ({1 / people:.2g})"
