"""Lots: exact parts, the same wherever they are worked out, and nothing to do with answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from blendp import lots as module
from blendp.lots import MAX_LOT, Lots, blocks, find_borders
from blendp.randomness import SimulationRandom


@pytest.mark.parametrize("at_once", [1 << 20, 64])
def test_borders_are_exact(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", at_once)  # the second way goes by bins
    lots = Lots.draw(SimulationRandom(1))
    everybody = lots.of(0, 5000)
    ranks = [0, 1, 17, 17, 2500, 4999, 5000]
    borders = lots.borders(5000, ranks)
    assert [int((everybody < border).sum()) for border in borders] == ranks
    assert borders[0] == 0
    assert borders[-1] == MAX_LOT
    some = everybody[::3]
    some_borders = find_borders(len(some), [10, len(some)], lambda: (some[slice(*ends)] for ends in blocks(len(some))))
    assert [int((some < border).sum()) for border in some_borders] == [10, len(some)]


def test_a_lot_depends_on_place_and_key_alone() -> None:
    lots = Lots(bytes(range(16)))
    assert np.array_equal(lots.of(0, 100)[40:60], lots.of(40, 60))
    assert lots.of(0, 1)[0] == 0xC6A13B37878F5B82 >> 4  # AES-128 of sixteen zero bytes under the key 00 01 02 ... 0f
    assert "key" not in repr(lots)


def test_parts_do_not_follow_the_order_of_rows() -> None:
    """Neighbours, even and odd places, and eighths of the table fall into a part as often as chance says."""
    lots = Lots.draw(SimulationRandom(2))
    inside = lots.of(0, 80_000) < lots.borders(80_000, [20_000])[0]
    for part in (np.arange(80_000) % 2, np.arange(80_000) // 10_000, np.roll(inside, 1).astype(int)):
        table = [[int((inside & (part == each)).sum()), int((~inside & (part == each)).sum())] for each in set(part)]
        assert stats.chi2_contingency(table).pvalue > 1e-4
