"""What a person is content with, whatever a collector signs."""

from __future__ import annotations

from dataclasses import dataclass

from blendp.client.refusals import RefusedError
from blendp.errors import require_count, require_number
from blendp.wire import Manifest, Terms


@dataclass(frozen=True)
class Policy:
    """Bounds that a campaign must keep before this device takes part."""

    least_records: int = 10
    """On a shorter list a report hides among too few things."""

    least_opt_in: int = 100
    """A list made by fewer people may show single ones of them."""

    most_records: int = 20_000
    """Making a report takes the longer the longer the list; nobody needs one as long as this."""

    most_epsilon: float | None = None
    """The largest epsilon of one campaign; None leaves it to the caps of the ledger."""

    def __post_init__(self) -> None:
        """Refuse bounds that are none."""
        require_count("least_records", self.least_records, least=1, remedy="10 is usual.")
        require_count("most_records", self.most_records, least=self.least_records, remedy="20000 is usual.")
        require_count("least_opt_in", self.least_opt_in, least=1, remedy="100 is usual.")
        if self.most_epsilon is not None:
            require_number(
                "most_epsilon", self.most_epsilon, above=0, legal="above 0", remedy="None leaves it to the caps."
            )

    def require_terms(self, terms: Terms) -> None:
        """Raise unless these terms are within the bounds."""
        if self.most_epsilon is not None and terms.epsilon > self.most_epsilon:
            _refuse(terms, f"asks for epsilon {terms.epsilon:g}, above {self.most_epsilon:g}")
        if terms.minimum_opt_in < self.least_opt_in:
            _refuse(terms, f"makes a list from {terms.minimum_opt_in} opt-in people, below {self.least_opt_in}")

    def require_manifest(self, manifest: Manifest) -> None:
        """Raise unless this manifest is within the bounds."""
        terms = manifest.terms
        if self.most_epsilon is not None and terms.epsilon > self.most_epsilon:
            _refuse(terms, f"asks for epsilon {terms.epsilon:g}, above {self.most_epsilon:g}")
        if manifest.opt_in_people < self.least_opt_in:
            _refuse(terms, f"has a list of {manifest.opt_in_people} opt-in people, below {self.least_opt_in}")
        if manifest.records < self.least_records:
            _refuse(terms, f"has a list of {manifest.records} records, below {self.least_records}")
        if manifest.records > self.most_records:
            _refuse(terms, f"has a list of {manifest.records} records, above {self.most_records}")


def _refuse(terms: Terms, what: str) -> None:
    raise RefusedError("policy", f"{terms.campaign} {what}: this device's policy does not allow it.")
