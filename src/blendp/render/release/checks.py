"""What an operator should look at before a result is signed: the groups, whether they agree, and what to be wary of."""

from __future__ import annotations

import math
from dataclasses import asdict

from blendp.methods import Outcome
from blendp.render.release.cautions import all_cautions
from blendp.wire.checks import Agreement, Checks, FlaggedRecord, InfluenceLine

MAX_FLAGGED = 20
"""How many flagged records are shown; their number is always told."""


def release_checks(outcome: Outcome) -> Checks:
    """Numbers of both groups, the cross-check in words, flagged records, what lying clients could do, cautions."""
    return Checks(
        opt_in_people=outcome.groups.opt_in,
        clients=outcome.groups.client,
        records=outcome.head_list.records,
        agreement=_agreement(outcome),
        influence=[InfluenceLine(**asdict(line)) for line in outcome.influence],
        cautions=all_cautions(outcome),
    )


def _agreement(outcome: Outcome) -> Agreement | None:
    """The cross-check; None for a method that makes none."""
    check = outcome.check
    if check is None:
        return None
    flagged = []
    for i in check.flagged[:MAX_FLAGGED]:
        query, url = outcome.head_list.labels[i]
        opt_in, client = (_known(group.cells.probability[i]) for group in (outcome.opt_in, outcome.client))
        flagged.append(FlaggedRecord(query, url, opt_in, client, _known(check.z[i])))
    return Agreement(
        differ=check.differ,
        p_value=check.p_value,
        kappa=check.kappa,
        kappa_max=check.kappa_max,
        statement=check.statement,
        flagged_records=len(check.flagged),
        flagged=flagged,
    )


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
