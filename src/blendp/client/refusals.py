"""Why a device does not do what it was asked to."""

from __future__ import annotations

from fractions import Fraction

from blendp.errors import ParameterError
from blendp.privacy import Budget


class RefusedError(ValueError):
    """A collector, or what it says, that this device does not believe or agree to.

    where:
        reason  is for programs: signature, document, terms, list, policy, not-published, equivocation or witness.
    """

    def __init__(self, reason: str, sentence: str) -> None:
        """Say why."""
        self.reason = reason
        super().__init__(sentence)


class EquivocationError(RefusedError):
    """Two different documents of one campaign, both signed by the collector: proof that it lies to somebody.

    where:
        envelopes  are the two, each with where it came from.
    """

    def __init__(self, campaign: str, what: str, envelopes: tuple[tuple[str, bytes], tuple[str, bytes]]) -> None:
        """Say which campaign, and keep the proof."""
        self.campaign, self.what, self.envelopes = campaign, what, envelopes
        super().__init__(
            "equivocation",
            f"The collector signed two different versions of the {what} of {campaign}: one seen at {envelopes[0][0]}, "
            f"another at {envelopes[1][0]}. Both are kept as evidence, and this device never takes part in it.",
        )


class NetworkError(ConnectionError):
    """A collector that cannot be reached, or cannot answer now."""


class OverspentError(ParameterError):
    """A participation that would cost more than what remains of the person's caps.

    where:
        yearly  says whether it is the cap for a year that has no room, and
        days    in how many days it has, if nothing else is spent; None if it never has.
    """

    def __init__(
        self, requested: Budget, remaining: tuple[Fraction, Fraction], days: int | None = None, *, yearly: bool = False
    ) -> None:
        """Say what was asked for, what there is, and what is missing."""
        self.yearly, self.days = yearly, days
        self.requested, self.remaining = requested, remaining
        epsilon, delta = (
            max(Fraction(0), Fraction(asked) - left)
            for asked, left in zip((requested.epsilon, requested.delta), remaining, strict=True)
        )
        super().__init__(
            "epsilon" if epsilon else "delta",
            requested.epsilon if epsilon else requested.delta,
            f"at most what remains of the cap for {'a year' if yearly else 'life'}",
            f"Requested: {_pair(requested.epsilon, requested.delta)}. Remaining: {_pair(*remaining)}. "
            f"Difference: {_pair(epsilon, delta)}. Take no part: what is spent is never refunded."
            + ("" if days is None else f" The year has room for it in {days} days."),
        )


def _pair(epsilon: float | Fraction, delta: float | Fraction) -> str:
    return f"(ε = {float(epsilon):g}, δ = {float(delta):g})"
