"""What a person agreed to."""

from __future__ import annotations

from enum import StrEnum


class Consent(StrEnum):
    """Off unless the person says otherwise; each choice covers the ones before it."""

    OFF = "off"
    """Nothing is made or sent; what was sent before is asked to be deleted."""

    LOCAL = "local"
    """Reports that were randomised on this device."""

    OPT_IN = "opt-in"
    """Also records as they are, to the curator of a campaign that gave this person an enrolment token."""

    def covers(self, other: Consent) -> bool:
        """Whether who agreed to this agreed to the other as well."""
        order = list(Consent)
        return order.index(self) >= order.index(other)
