"""The text of a query and of its URLs, from the rank of the query.

Every rank has a text of its own. A rank beyond the named queries is a bijective numeral in base W whose
digits are words:

    n = rank - 1 - (number of named queries),   o_k = W + W^2 + ... + W^{k-1},
    k is the length with o_k <= n < o_{k+1},     m = A (n - o_k) mod W^k,

and the k digits of m pick the words ``noun``, ``modifier noun``, ``modifier noun aspect`` or ``modifier noun
aspect place``,

where:
    W  is the number of words in each of the four lists (64),
    A  is odd, so n -> m is a bijection of each length: it only keeps neighbouring ranks from looking alike.

The number of words tells k, and each word its digit, so the text tells the rank. Texts are made as a *front*
(named, ``noun`` or ``modifier noun``) and a *back* (nothing, ``aspect`` or ``aspect place``): two short
tables that serve millions of ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from blendp.arrays import Ids
from blendp.errors import require_choice
from blendp.logs.synthetic import lexicon
from blendp.logs.synthetic.names import NAMES

BASE = 64
STRIDE = 0x9E3779B1
LENGTHS = ((BASE, 1, 0, 0), (BASE**2, 1, BASE, 0), (BASE**3, BASE, BASE, 1), (BASE**4, BASE**2, BASE, 1 + BASE))
"""For 1 to 4 words: how many phrases, how many of them share a front, and the first front and back."""


@dataclass(frozen=True)
class Vocabulary:
    """The words of one language and the addresses URLs are built from."""

    named: tuple[tuple[str, str], ...]
    modifiers: tuple[str, ...]
    nouns: tuple[str, ...]
    aspects: tuple[str, ...]
    places: tuple[str, ...]
    addresses: tuple[tuple[str, str], ...]

    @cached_property
    def fronts(self) -> tuple[pa.Array, pa.Array]:
        """The front of every text, as a query and as a slug."""
        pairs = [(modifier, noun) for modifier in self.modifiers for noun in self.nouns]
        phrases = [(noun,) for noun in self.nouns] + pairs
        queries = [query for query, _ in self.named] + [" ".join(phrase) for phrase in phrases]
        slugs = [slug for _, slug in self.named] + ["-".join(map(latin, phrase)) for phrase in phrases]
        return pa.array(queries), pa.array(slugs)

    @cached_property
    def backs(self) -> tuple[pa.Array, pa.Array]:
        """The back of every text, as a query and as a slug."""
        pairs = [(aspect, town) for aspect in self.aspects for town in self.places]
        phrases = [(), *((aspect,) for aspect in self.aspects), *pairs]
        queries = ["".join(f" {word}" for word in phrase) for phrase in phrases]
        slugs = ["".join(f"-{latin(word)}" for word in phrase) for phrase in phrases]
        return pa.array(queries), pa.array(slugs)

    @cached_property
    def around(self) -> tuple[pa.Array, pa.Array]:
        """What stands before and after the slug in the j-th URL of a query."""
        return pa.array([before for before, _ in self.addresses]), pa.array([after for _, after in self.addresses])

    def split(self, ranks: Ids) -> tuple[Ids, Ids]:
        """The front and back of the text of every rank (from 1); no two ranks share both."""
        named = len(self.named)
        front, back = ranks - 1, np.zeros_like(ranks)
        first = named
        for phrases, backs, front_before, back_before in LENGTHS:
            here = (ranks > first) & (ranks <= first + phrases)
            numeral = (ranks[here] - 1 - first) * STRIDE % phrases
            front[here] = named + front_before + numeral // backs
            back[here] = back_before + numeral % backs
            first += phrases
        return front, back

    def queries(self, ranks: Ids) -> pa.Array:
        """The query of every rank (from 1)."""
        front, back = self.split(ranks)
        return pc.binary_join_element_wise(self.fronts[0].take(front), self.backs[0].take(back), "")

    def urls(self, ranks: Ids, places: Ids) -> pa.Array:
        """The URL at a place (from 0) of the query of every rank (from 1)."""
        front, back = self.split(ranks)
        before, after = self.around
        slugs = (self.fronts[1].take(front), self.backs[1].take(back))
        return pc.binary_join_element_wise(before.take(places), *slugs, after.take(places), "")


def latin(word: str) -> str:
    """The word in the letters of a host name."""
    return "".join(lexicon.LATIN.get(letter, letter) for letter in word)


def vocabulary(name: str) -> Vocabulary:
    """The vocabulary of a population."""
    require_choice("name", name, NAMES)
    return _VOCABULARIES[name]


def _pair(text: str, mark: str) -> tuple[str, str]:
    before, _, after = text.partition(mark)
    return before, after


def _vocabulary(named: str, modifiers: str, nouns: str, aspects: str, places: str, addresses: str) -> Vocabulary:
    return Vocabulary(
        tuple(_pair(item, "=") for item in named.strip().replace("\n", "  ").split("  ")),
        tuple(modifiers.split()),
        tuple(nouns.split()),
        tuple(aspects.split()),
        tuple(places.split()),
        tuple(_pair(address, "{}") for address in addresses.split()),
    )


_AOL = _vocabulary(
    lexicon.AOL_NAMED,
    lexicon.AOL_MODIFIERS,
    lexicon.AOL_NOUNS,
    lexicon.AOL_ASPECTS,
    lexicon.AOL_PLACES,
    lexicon.AOL_ADDRESSES,
)
_VOCABULARIES = {
    "aol": _AOL,
    "aol-sparse": _AOL,
    "yandex": _vocabulary(
        lexicon.YANDEX_NAMED,
        lexicon.YANDEX_MODIFIERS,
        lexicon.YANDEX_NOUNS,
        lexicon.YANDEX_ASPECTS,
        lexicon.YANDEX_PLACES,
        lexicon.YANDEX_ADDRESSES,
    ),
}
