"""The identity of a scheme: equal for clients that draw alike, another one for each way to be wrong."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from blendp.headlist import HeadList
from blendp.mechanisms import SubsetSelection, TwoStage
from blendp.mechanisms.subset_selection.ranks import Ranks
from blendp.privacy import Budget
from blendp.randomness import KnownWords, Random
from blendp.reports import SubsetScheme, TwoStageScheme
from blendp.reports.list_scheme import ListScheme

LIST = HeadList.of_records([(f"q{i}", f"u{j}") for i in range(9) for j in range(1 + i % 3)])
OTHER = HeadList.of_records([(f"q{i}", f"v{j}") for i in range(9) for j in range(1 + i % 3)])
NAME, NEXT = "ab" * 32, "cd" * 32


def schemes() -> dict[str, ListScheme]:
    return {
        "subset": SubsetScheme(LIST, 1.0, 0.4),
        "apart": SubsetScheme(LIST, 1.0, 0.4, "apart"),
        "two-stage": TwoStageScheme(LIST, Budget(1.0, 1e-5), 0.85),
    }


def test_known_words_are_those_of_splitmix64() -> None:
    """The first words of seed 0, as they are published with the generator."""
    known = KnownWords(0)
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    assert known.words(2).tolist() + known.words(0).tolist() + known.words(2).tolist() == expected
    assert KnownWords((1 << 64) - 1).words(1).tolist() != KnownWords(0).words(1).tolist()


@pytest.mark.parametrize("name", ["subset", "apart", "two-stage"])
def test_it_is_the_same_again_and_depends_on_all_that_is_public(name: str) -> None:
    scheme = schemes()[name]
    identity = scheme.identity(NAME)
    assert identity == schemes()[name].identity(NAME)
    assert len(identity) == 16
    others: list[ListScheme] = [
        SubsetScheme(LIST, 1.0, 0.5),
        SubsetScheme(LIST, 1.0 + 2**-52, 0.4),
        TwoStageScheme(LIST, Budget(1.0, 2e-5), 0.85),
        TwoStageScheme(LIST, Budget(1.0, 1e-5), 0.86),
        *(one for other, one in schemes().items() if other != name),
    ]
    assert identity not in {other.identity(NAME) for other in others}
    assert identity != scheme.identity(NEXT)


def _lexicographic(_: Ranks, chosen: Any, items: int) -> int:
    return list(combinations(range(items), len(chosen))).index(tuple(chosen))


def _from_the_last(self: Ranks, chosen: Any, items: int) -> int:
    return (
        self.binomial(items, len(chosen)) - 1 - Ranks._rank(self, chosen, 0, items, self.binomial(items, len(chosen)))
    )


def _little_endian(self: SubsetSelection, subset: Any) -> bytes:
    rank = self._ranks.rank(sorted(subset), self.items)
    return rank.to_bytes(self.report_bytes, "little")


def _wildcard_first(self: HeadList, query: str | None, url: str | None = None) -> int:
    row = None if query is None else self._row.get(query)
    if row is None:
        return self.cells - 1
    urls = self.entries[row].urls
    return int(self.first_cell[row]) + (1 + urls.index(url) if url in urls else 0)


def _high_half(self: Random, bounds: Any, count: int) -> Any:
    return ((self.words(count) >> np.uint64(32)) * np.uint64(bounds) >> np.uint64(32)).astype(np.int64)


def _url_coin_first(self: TwoStage, cells: Any, random: Random) -> None:
    random.words(1)
    _honest(self, cells, random)


_honest = TwoStage._randomise

MISTAKES: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "ranks in lexicographic order": ("subset", "blendp.mechanisms.subset_selection.ranks.Ranks.rank", _lexicographic),
    "ranks from the last": ("subset", "blendp.mechanisms.subset_selection.ranks.Ranks.rank", _from_the_last),
    "the least significant byte first": ("subset", "blendp.mechanisms.SubsetSelection.encode", _little_endian),
    "wildcards before URLs": ("subset", "blendp.headlist.HeadList.cell_of", _wildcard_first),
    "wildcards before URLs, two stages": ("two-stage", "blendp.headlist.HeadList.cell_of", _wildcard_first),
    "the upper half of a word": ("subset", "blendp.randomness.Random.below", _high_half),
    "a word too many": ("two-stage", "blendp.mechanisms.TwoStage._randomise", _url_coin_first),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_client_that_is_wrong_has_another_identity(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these makes reports that are possible, and mean something else."""
    name, where, wrong = MISTAKES[mistake]
    right = schemes()[name].identity(NAME)
    monkeypatch.setattr(where, wrong)
    assert schemes()[name].identity(NAME) != right


def test_lists_without_records_have_one() -> None:
    for scheme in (SubsetScheme(HeadList(()), 4.0, 0.5), TwoStageScheme(HeadList(()), Budget(4.0))):
        assert len(scheme.identity(NAME)) == 16


def test_texts_count_only_by_their_order() -> None:
    """The list's own texts are in the manifest's hash; the identity checks how they are numbered."""
    assert SubsetScheme(LIST, 1.0, 0.4).identity(NAME) == SubsetScheme(OTHER, 1.0, 0.4).identity(NAME)
