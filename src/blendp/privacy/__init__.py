"""Privacy as values: the budget a person is promised, accounting, and the exact loss of a finite mechanism."""

from blendp.privacy.budget import Budget
from blendp.privacy.exact_loss import hockey_stick, pure_delta, worst_log_ratio

__all__ = ["Budget", "hockey_stick", "pure_delta", "worst_log_ratio"]
