"""What a person is content with, whatever a collector signs."""

from __future__ import annotations

from dataclasses import dataclass

from blendp.client.refusals import RefusedError
from blendp.errors import require_count, require_number
from blendp.wire import Manifest, Terms


@dataclass(frozen=True)
class Policy:
    """Bounds that a campaign must keep before this device takes part."""

    min_records: int = 10
    """On a shorter list a report hides among too few things."""

    min_opt_in: int = 100
    """A list made by fewer people may show single ones of them."""

    max_records: int = 20_000
    """Making a report takes the longer the longer the list; nobody needs one as long as this."""

    max_epsilon: float | None = None
    """The largest epsilon of one campaign; None leaves it to the caps of the ledger."""

    def __post_init__(self) -> None:
        """Refuse bounds that are none."""
        require_count("min_records", self.min_records, min_value=1, remedy="10 is usual.")
        require_count("max_records", self.max_records, min_value=self.min_records, remedy="20000 is usual.")
        require_count("min_opt_in", self.min_opt_in, min_value=1, remedy="100 is usual.")
        if self.max_epsilon is not None:
            require_number(
                "max_epsilon", self.max_epsilon, above=0, legal="above 0", remedy="None leaves it to the caps."
            )

    def require_terms(self, terms: Terms) -> None:
        """Raise unless these terms are within the bounds."""
        if self.max_epsilon is not None and terms.epsilon > self.max_epsilon:
            _refuse(terms, f"asks for epsilon {terms.epsilon:g}, above {self.max_epsilon:g}")
        if terms.min_opt_in < self.min_opt_in:
            _refuse(terms, f"makes a list from {terms.min_opt_in} opt-in people, below {self.min_opt_in}")

    def require_manifest(self, manifest: Manifest) -> None:
        """Raise unless this manifest is within the bounds."""
        terms = manifest.terms
        if self.max_epsilon is not None and terms.epsilon > self.max_epsilon:
            _refuse(terms, f"asks for epsilon {terms.epsilon:g}, above {self.max_epsilon:g}")
        if manifest.opt_in_people < self.min_opt_in:
            _refuse(terms, f"has a list of {manifest.opt_in_people} opt-in people, below {self.min_opt_in}")
        if manifest.records < self.min_records:
            _refuse(terms, f"has a list of {manifest.records} records, below {self.min_records}")
        if manifest.records > self.max_records:
            _refuse(terms, f"has a list of {manifest.records} records, above {self.max_records}")


def _refuse(terms: Terms, what: str) -> None:
    raise RefusedError("policy", f"{terms.campaign} {what}: this device's policy does not allow it.")
