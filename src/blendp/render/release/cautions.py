"""What a reader of a release has to be wary of, in sentences."""

from __future__ import annotations

from blendp.methods import Outcome
from blendp.render.text import plain_label

_MAX_NAMED = 3  # flagged records that a sentence names


def all_cautions(outcome: Outcome) -> list[str]:
    """What a reader of the estimates has to know: of the parameters, and of what the cross-check found."""
    return [*outcome.cautions, *_alarms(outcome)]


def _alarms(outcome: Outcome) -> list[str]:
    """What the cross-check of the groups found, if it is not that they agree."""
    check = outcome.check
    if check is None:
        return []
    flagged = [outcome.head_list.labels[i] for i in check.flagged]
    if check.p_value is None or not (check.differ or flagged):
        return [] if check.p_value is not None else [check.statement]
    if not flagged:
        return [check.statement]
    named = ", ".join(plain_label(query, url, 60) for query, url in flagged[:_MAX_NAMED])
    more = f" and {len(flagged) - _MAX_NAMED:,} more" if len(flagged) > _MAX_NAMED else ""
    which = "record is" if len(flagged) == 1 else "records are"
    return [f"{check.statement} {len(flagged):,} {which} flagged: {named}{more}."]
