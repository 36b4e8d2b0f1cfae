"""Sizes, coins, exact channels, draws from a tape, and the ranks of sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from blendp.conformance.cases.case import bad, good, some_bytes, tape
from blendp.conformance.vectors import VectorFile
from blendp.mechanisms.subset_selection.ranks import Ranks
from blendp.privacy import Budget
from blendp.reports import apart_randomiser, subset_randomiser, two_stage_randomiser

_HIT, _MISS = 0, (1 << 64) - 1
"""Words for which a coin shows its one side, and its other, whatever its probability between 0 and 1."""

_SHAPES = ([1], [2, 1], [3, 1], [2, 2, 1], [5, 3, 2, 1], [1, 1, 1], [6, 1], [2, 2, 2, 1])


def vector_files() -> Iterator[VectorFile]:
    """Of randomisers."""
    sizes = [(4.0, k) for k in (1, 2, 3, 51, 56, 57, 500, 10_001)] + [(1.0, k) for k in (2, 3, 4, 51, 10_001)]
    sizes += [
        (0.1, 7),
        (0.5, 20_001),
        (50.0, 100),
        (1e-9, 10),
        (5e-15, 3),
        (2.0, 40_001),
        (0.6931471805599453, 9),
        (4, 51),
    ]
    sizes += [(2.0**-power, 2) for power in (40, 45, 50)]
    subset = {f"epsilon {epsilon}, {items} items": {"epsilon": epsilon, "items": items} for epsilon, items in sizes}
    yield good("subset", "subset", "R2 R3 R4", subset)
    yield bad(
        "subset",
        "subset",
        "R2",
        {
            "no epsilon": ("epsilon", {"epsilon": 0.0, "items": 5}),
            "a negative epsilon": ("epsilon", {"epsilon": -1.0, "items": 5}),
            "an epsilon too large": ("epsilon", {"epsilon": 50.1, "items": 5}),
            "an epsilon too small to tell anything": ("epsilon", {"epsilon": 1e-17, "items": 5}),
            "an epsilon just too small": ("epsilon", {"epsilon": 2.0**-51, "items": 2}),
            "no items": ("items", {"epsilon": 1.0, "items": 0}),
            "too many items": ("items", {"epsilon": 1.0, "items": 1_000_001}),
        },
    )
    apart = [(4.0, k) for k in (1, 2, 3, 4, 5, 27, 28, 51, 89, 500, 10_001)] + [(1.0, k) for k in (2, 3, 4, 51, 10_001)]
    apart += [(0.1, 7), (0.5, 20_001), (50.0, 100), (1e-9, 10), (2.0, 40_001), (0.6931471805599453, 9), (4, 51)]
    apart += [(2.0**-40, 2), (2.0**-40, 4), (2.0**-40, 999), (8.0, 257), (36.5, 1_000_000), (40.0, 1_000_000)]
    yield good(
        "apart",
        "apart",
        "R14 R15 R17",
        {f"epsilon {epsilon}, {items} items": {"epsilon": epsilon, "items": items} for epsilon, items in apart},
    )
    yield bad(
        "apart",
        "apart",
        "R14",
        {
            "no epsilon": ("epsilon", {"epsilon": 0.0, "items": 5}),
            "an epsilon too large": ("epsilon", {"epsilon": 50.1, "items": 5}),
            "an epsilon just too small": ("epsilon", {"epsilon": 2.0**-41, "items": 5}),
            "no items": ("items", {"epsilon": 1.0, "items": 0}),
            "too many items": ("items", {"epsilon": 1.0, "items": 1_000_001}),
        },
    )
    yield good("two-stage", "two-stage", "R8 R9", dict(_two_stages()))
    yield bad(
        "two-stage",
        "two-stage",
        "R8",
        {
            "no epsilon": ("epsilon", _stages(0.0, 0.0, 0.85, [2, 1])),
            "an epsilon too small to tell anything": ("epsilon", _stages(1e-17, 0.0, 0.85, [2, 2, 1])),
            "a delta of one": ("delta", _stages(1.0, 1.0, 0.85, [2, 1])),
            "no share": ("query_share", _stages(1.0, 0.0, 0.0, [2, 1])),
            "the whole share": ("query_share", _stages(1.0, 0.0, 1.0, [2, 1])),
        },
    )
    channel = {f"epsilon {e}, {k} items": {"epsilon": e, "items": k} for e in (0.1, 1.0, 4.0) for k in range(1, 8)}
    yield good("channel-subset", "channel-subset", "R1 R5", channel)
    yield good("channel-apart", "channel-apart", "R13 R16", channel)
    yield good("channel-two-stage", "channel-two-stage", "R10", dict(_channels()))
    yield good("draw-subset", "draw-subset", "C1 C2 C3 R5", dict(_subset_draws()))
    yield good("draw-apart", "draw-apart", "C1 C2 C3 R16 R17", dict(_apart_draws()))
    yield good("draw-two-stage", "draw-two-stage", "C1 C2 C3 R10", dict(_two_stage_draws()))
    yield good("rank", "rank", "R6 R7", dict(_sets()))
    yield good("unrank", "unrank", "R6 R7", dict(_ranks()))
    yield bad(
        "unrank",
        "unrank",
        "R7",
        {
            "the first rank too many": ("report", {"items": 10, "size": 3, "data": "78"}),
            "all ones": ("report", {"items": 68, "size": 34, "data": "ff" * 9}),
            "a byte too many": ("report", {"items": 10, "size": 3, "data": "0001"}),
            "no byte": ("report", {"items": 10, "size": 3, "data": ""}),
            "one more than the last of many": ("report", {"items": 68, "size": 34, "data": "018add8278972bc6e4"}),
        },
    )


def _stages(epsilon: float, delta: float, share: float, cells: list[int]) -> dict[str, Any]:
    return {"epsilon": epsilon, "delta": delta, "query_share": share, "cells_per_query": cells}


def _two_stages() -> Iterator[tuple[str, Any]]:
    for epsilon, delta, share in ((4.0, 1e-6, 0.85), (1.0, 0.0, 0.85), (0.5, 1e-5, 0.3), (4, 0.25, 0.5)):
        for cells in _SHAPES[:5] if epsilon == 4.0 else _SHAPES[3:7]:
            yield f"epsilon {epsilon}, delta {delta}, share {share}, {cells}", _stages(epsilon, delta, share, cells)


def _channels() -> Iterator[tuple[str, Any]]:
    for cells in _SHAPES:
        for epsilon, delta in ((1.0, 0.0), (4.0, 1e-5)) if sum(cells) <= 7 else ():
            yield f"epsilon {epsilon}, delta {delta}, {cells}", _stages(epsilon, delta, 0.85, cells)


def _subset_draws() -> Iterator[tuple[str, Any]]:
    def drawn(epsilon: float, items: int, item: int, label: str, count: int = 24, **replaced: int) -> dict[str, Any]:
        return {"epsilon": epsilon, "items": items, "item": item, "tape": tape(label, count, **replaced)}

    yield "one item", drawn(4.0, 1, 0, "one", 2)
    yield "two items, hit", drawn(1.0, 2, 1, "two", 3, w0=_HIT)
    yield "two items, missed", drawn(1.0, 2, 1, "two", 3, w0=_MISS)
    for item in (0, 5, 9):
        yield f"item {item}, hit", drawn(1.0, 10, item, f"hit {item}", w0=_HIT)
        yield f"item {item}, missed", drawn(1.0, 10, item, f"missed {item}", w0=_MISS)
    coin = subset_randomiser(1.0, 10).coin
    yield "the last word that hits", drawn(1.0, 10, 4, "edge", w0=(coin << 11) - 1)
    yield "the first word that misses", drawn(1.0, 10, 4, "edge", w0=coin << 11)
    yield "words that are drawn again", drawn(0.5, 100, 7, "again", 60, w0=_MISS, w1=0, w2=0xFFFFFFFF00000000, w5=0)
    yield "only the low half counts", drawn(1.0, 10, 4, "half", w0=_MISS, w1=0xABCDEF0080000000)
    yield "numbers that are taken", drawn(0.1, 7, 3, "taken", w0=_MISS, w1=1 << 31, w2=1 << 31, w3=1 << 31)
    yield "the held item is drawn", drawn(1.0, 10, 0, "swap", w0=_MISS, w1=1, w2=0x40000001)
    for number in range(8):
        yield f"many items, {number}", drawn(1.0, 361, 45 * number, f"many {number}", 140)
    yield "a set of thousands", drawn(1.0, 10_001, 77, "thousands", 2_700)


def _apart_draws() -> Iterator[tuple[str, Any]]:
    def drawn(epsilon: float, items: int, item: int, label: str, count: int = 24, **replaced: int) -> dict[str, Any]:
        return {"epsilon": epsilon, "items": items, "item": item, "tape": tape(f"apart {label}", count, **replaced)}

    yield "only the wildcard", drawn(4.0, 1, 0, "none", 2)
    for item, word in ((0, _HIT), (0, _MISS), (1, _HIT), (1, _MISS)):
        yield f"item {item} of two, {'alone' if word == _HIT else 'not alone'}", drawn(1.0, 2, item, "two", 4, w0=word)
    for item in (0, 5, 9):
        yield f"item {item}, the wildcard alone", drawn(1.0, 10, item, f"alone {item}", w0=_HIT)
    for item in (0, 5, 8):
        yield f"item {item}, hit", drawn(1.0, 10, item, f"hit {item}", w0=_MISS, w1=_HIT)
        yield f"item {item}, missed", drawn(1.0, 10, item, f"missed {item}", w0=_MISS, w1=_MISS)
    yield "the wildcard, a set that its item is in", drawn(1.0, 10, 9, "set", w0=_MISS, w2=_HIT)
    yield "the wildcard, a set that its item is not in", drawn(1.0, 10, 9, "set", w0=_MISS, w2=_MISS)
    yield "the wildcard, an item that is drawn again", drawn(1.0, 10, 9, "again", w0=_MISS, w1=0)
    edges = apart_randomiser(1.0, 10)
    for name, item, coin in (("listed", 4, edges.other_coin), ("the wildcard", 9, edges.own_coin)):
        yield f"{name}, the last word that is alone", drawn(1.0, 10, item, "edge", w0=(coin << 11) - 1)
        yield f"{name}, the first word that is not", drawn(1.0, 10, item, "edge", w0=coin << 11)
    for number in range(8):
        yield f"many items, {number}", drawn(1.0, 361, min(52 * number, 360), f"many {number}", 160, w0=_MISS)
    yield "a rank of one byte more", drawn(8.0, 257, 256, "more", w0=_HIT)
    yield "a set of thousands", drawn(1.0, 10_001, 77, "thousands", 3_300, w0=_MISS)


def _two_stage_draws() -> Iterator[tuple[str, Any]]:
    def drawn(cells: list[int], cell: int, label: str, **replaced: int) -> dict[str, Any]:
        return {**_stages(1.0, 1e-5, 0.85, cells), "cell": cell, "tape": tape(label, 12, **replaced)}

    yield "one cell", drawn([1], 0, "one cell")
    for cell in (0, 3, 10):
        shape = [5, 3, 2, 1]
        yield f"cell {cell}, the truth", drawn(shape, cell, f"truth {cell}", w0=_HIT, w1=_HIT)
        yield f"cell {cell}, a lie", drawn(shape, cell, f"lie {cell}", w0=_MISS)
        yield f"cell {cell}, another URL", drawn(shape, min(cell, 9), f"turned {cell}", w0=_HIT, w1=_MISS)
    yield "words that are drawn again", drawn([5, 3, 3, 1], 2, "again", w0=_MISS, w1=0, w2=0, w4=0)
    yield "a URL that is drawn again", drawn([4, 1], 2, "again", w0=_HIT, w1=_MISS, w2=0)
    edges = two_stage_randomiser(Budget(1.0, 1e-5), np.array([5, 3, 2, 1]), 0.85)
    query_coin, url_coin = edges.query_coin, int(edges.url_coins[0])
    yield "the last word that keeps the query", drawn([5, 3, 2, 1], 1, "edge", w0=(query_coin << 11) - 1)
    yield "the first word that lies", drawn([5, 3, 2, 1], 1, "edge", w0=query_coin << 11)
    yield "the last word that keeps the URL", drawn([5, 3, 2, 1], 1, "edge", w0=_HIT, w1=(url_coin << 11) - 1)
    yield "the first word that turns", drawn([5, 3, 2, 1], 1, "edge", w0=_HIT, w1=url_coin << 11)
    for number in range(6):
        yield f"any words, {number}", drawn([2, 1, 4, 1, 3, 1], 2 * number, f"any {number}")


def _sets() -> Iterator[tuple[str, Any]]:
    sets = {
        "1, 4, 6 of 10": (10, [1, 4, 6]),
        "the first": (10, [0, 1, 2]),
        "the last": (10, [7, 8, 9]),
        "one item": (300, [299]),
        "one of one": (1, [0]),
        "even items of 68": (68, list(range(0, 68, 2))),
        "16 to 49 of 68": (68, list(range(16, 50))),
        "34 to 67 of 68": (68, list(range(34, 68))),
        "0 to 33 of 68": (68, list(range(34))),
        "an odd number of items": (101, list(range(0, 100, 3))),
        "all in the first half": (200, list(range(20, 60))),
        "all in the second half": (201, list(range(150, 190))),
        "just below 2^64": (67, list(range(0, 66, 2))),
    }
    for name, (items, members) in sets.items():
        yield name, {"items": items, "size": len(members), "members": members}
    for number, (items, size) in enumerate(((361, 97), (500, 9), (501, 135), (1_000, 18), (2_001, 538))):
        order = sorted(range(items), key=lambda item, n=number: some_bytes(f"order {n} {item}", 8))  # type: ignore[misc]
        yield f"{size} of {items}", {"items": items, "size": size, "members": sorted(order[:size])}


def _ranks() -> Iterator[tuple[str, Any]]:
    for items, size in ((10, 3), (68, 34), (101, 34), (300, 1), (361, 97), (1_000, 18), (4, 4)):
        last = Ranks().binomial(items, size) - 1
        width = max(1, (last.bit_length() + 7) // 8)
        for name, rank in (
            ("first", 0),
            ("middle", last // 2),
            ("some", int.from_bytes(some_bytes(f"rank {items}", width), "big") % (last + 1)),
            ("last", last),
        ):
            yield (
                f"{name} of {size} of {items}",
                {"items": items, "size": size, "data": rank.to_bytes(width, "big").hex()},
            )
