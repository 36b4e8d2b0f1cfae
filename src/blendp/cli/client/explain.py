"""``blendp client explain``: what this device's report tells about its owner."""

from __future__ import annotations

from blendp.cli.client.options import FOLDER, AsJson, CampaignName, DeviceFolder, opened
from blendp.cli.client.sentences import tell
from blendp.cli.console import print_json
from blendp.headlist import HeadList

EXAMPLES = """Examples:

- `blendp client explain trends-2026-11`
- `blendp client explain trends-2026-11 --json`
"""

_SHOWN = 10


def explain(name: CampaignName, device: DeviceFolder = FOLDER, as_json: AsJson = False) -> None:
    """Say, exactly, how likely this very report was for everything you might hold, and what others learn from it."""
    with opened(device) as own_device:
        explanation = own_device.explain(name)
    if as_json:
        print_json(
            {
                "campaign": name,
                "question": explanation.question,
                "epsilon": explanation.budget.epsilon,
                "delta": explanation.budget.delta,
                "likelihoods": [
                    {"description": one.description, "cells": one.cells.tolist(), "probability": str(one.probability)}
                    for one in explanation.likelihoods
                ],
                "ratio": str(explanation.ratio),
                "within_epsilon": explanation.within_epsilon,
                "sentences": list(explanation.sentences),
            }
        )
        return
    for sentence in explanation.sentences:
        tell(sentence)
    if explanation.named:
        more = f" and {len(explanation.named) - _SHOWN} more" if len(explanation.named) > _SHOWN else ""
        cells = explanation.likelihoods[0].cells[:_SHOWN].tolist()
        tell(f"Named: {', '.join(_name(explanation.head_list, cell) for cell in cells)}{more}.")


def _name(head_list: HeadList, cell: int) -> str:
    query, url = head_list.labels[cell]
    if query is None:
        return "anything else"
    if head_list.levels == 1:
        return f"<{query}>"
    return f"<{query}, {url if url is not None else 'any URL' if cell in head_list.bare_cells else 'another URL'}>"
