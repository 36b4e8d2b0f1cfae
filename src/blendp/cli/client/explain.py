"""``blendp client explain``: what this device's report tells about its owner."""

from __future__ import annotations

from blendp.cli.client.options import FOLDER, AsJson, CampaignName, DeviceFolder, opened
from blendp.cli.client.words import tell
from blendp.cli.console import print_json
from blendp.headlist.head_list import Label

EXAMPLES = """Examples:

- `blendp client explain trends-2026-11`
- `blendp client explain trends-2026-11 --json`
"""

_SHOWN = 10


def explain(name: CampaignName, device: DeviceFolder = FOLDER, as_json: AsJson = False) -> None:
    """Say, exactly, how likely this very report was for everything you might hold, and what others learn from it."""
    with opened(device) as held:
        told = held.explain(name)
    if as_json:
        print_json(
            {
                "campaign": name,
                "question": told.question,
                "epsilon": told.budget.epsilon,
                "delta": told.budget.delta,
                "likelihoods": [
                    {"description": one.description, "cells": one.cells.tolist(), "probability": str(one.probability)}
                    for one in told.likelihoods
                ],
                "ratio": str(told.ratio),
                "within_epsilon": told.within_epsilon,
                "sentences": list(told.sentences),
            }
        )
        return
    for sentence in told.sentences:
        tell(sentence)
    if told.named:
        more = f" and {len(told.named) - _SHOWN} more" if len(told.named) > _SHOWN else ""
        tell(f"Named: {', '.join(map(_label, told.named[:_SHOWN]))}{more}.")


def _label(label: Label) -> str:
    return "anything else" if label[0] is None else f"<{label[0]}, {'another URL' if label[1] is None else label[1]}>"
