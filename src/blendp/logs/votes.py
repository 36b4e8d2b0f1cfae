"""In which encoding people's rows are, decided so that no single person can turn one encoding into another.

Every person whose row is not ASCII has one vote, in a group by their id; every group has one, too:

    X        if all groups but one at most find X, and :data:`ENOUGH` people or more voted,
    UTF-8    if at most one group finds that its rows are not UTF-8, or fewer than half as many people voted,
    refused  otherwise: an option has to say it.

A person is in one group, so that what they write changes one group's vote and the number of people by one at most: an
encoding may become a refusal, or a refusal an encoding, and nothing else.

A group finds an encoding other than UTF-8 if most of its people's rows are not UTF-8 and this encoding alone makes
common text of them: nine in ten characters are common where it is used, and one in ten is not so elsewhere. Only
encodings of many characters can be told like this. Windows code pages make some text of anything, so they are asked
for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Self
from zlib import crc32

from blendp.errors import LogError
from blendp.logs.encodings import ENCODINGS, UTF_8, decodes
from blendp.spelling import option

GROUPS = 8
ENOUGH = 32

CANDIDATES = ("cp1252", "cp1250", "cp1251", "gb18030", "big5", "cp932", "euc_jp", "cp949", "iso8859-15")
"""Encodings that are tried, where text is not UTF-8."""

_COMMON = 0.9
_TELLING_SHARE = 0.1
"""How many characters must have bytes that no other encoding gives to its common ones."""

_KANA = re.compile("[\u3041-\u30ff]")


class UndecidedError(LogError):
    """A file whose encoding has to be said."""

    encodings: Sequence[str] = ()

    @classmethod
    def of(cls, what: str, encodings: Sequence[str]) -> Self:
        """The error for what is not UTF-8, and may be in any of these encodings."""
        if encodings:
            names = ", ".join(ENCODINGS[encoding] for encoding in encodings)
            error = cls(f"{what}; it decodes as {names}: say which it is ({option('encoding', *encodings)}).")
        else:
            error = cls(f"{what}, nor text in any encoding that is tried: say which it is ({option('encoding')}).")
        error.encodings = encodings
        return error


def vote(owners: Sequence[bytes], rows: Sequence[bytes], where: str) -> str:
    """The encoding of rows that are not ASCII, given whose they are; raises :class:`UndecidedError` if it is not clear.

    The first row of a person counts.
    """
    row_of: dict[bytes, bytes] = {}
    for owner, row in zip(owners, rows, strict=True):
        row_of.setdefault(owner, row)
    groups: list[list[bytes]] = [[] for _ in range(GROUPS)]
    for owner, row in row_of.items():
        groups[crc32(owner) % GROUPS].append(row)
    votes = Counter(_vote_of(group) for group in groups if group)
    if not votes:
        return UTF_8
    winner, count = votes.most_common(1)[0]
    if winner not in (None, UTF_8) and count >= GROUPS - 1 and len(row_of) >= ENOUGH:
        assert winner is not None
        return winner
    if votes.total() - votes[UTF_8] <= 1 or len(row_of) < ENOUGH / 2:
        return UTF_8
    unread = [row for row in row_of.values() if not decodes(row, UTF_8)]
    possible = [name for name in CANDIDATES if all(decodes(row, name) for row in unread)]
    what = f"Of {len(row_of)} people at the start of {where} whose text is not ASCII, {len(unread)} have text that is"
    raise UndecidedError.of(f"{what} not UTF-8", possible)


def _vote_of(rows: Sequence[bytes]) -> str | None:
    """What a group finds; None if it is not UTF-8 and not clear either."""
    unread = [row for row in rows if not decodes(row, UTF_8)]
    if 2 * len(unread) <= len(rows):
        return UTF_8
    likely = [encoding for encoding, is_common in _TELLING.items() if _is_text(unread, encoding, is_common)]
    return likely[0] if len(likely) == 1 else None


def _is_text(rows: Sequence[bytes], encoding: str, is_common: Callable[[str], bool]) -> bool:
    texts = [row.decode(encoding) for row in rows if decodes(row, encoding)]
    signs = "".join(sign for text in texts for sign in text if not sign.isascii())
    return len(texts) >= _COMMON * len(rows) and bool(signs) and is_common(signs)


def _leads(signs: str, encoding: str) -> bytes:
    """The first bytes of the characters that have two in an encoding."""
    return signs.encode(encoding, "ignore")[::2]


def _share(some: bytes, first: int, last: int, signs: str) -> float:
    return sum(first <= byte <= last for byte in some) / len(signs)


def _is_chinese(signs: str) -> bool:
    """The common characters of GB 2312, not only those whose bytes are also Korean syllables or Japanese kanji."""
    leads = _leads(signs, "gb2312")
    return _share(leads, 0xB0, 0xD7, signs) >= _COMMON and _share(leads, 0xD0, 0xD7, signs) >= _TELLING_SHARE


def _is_traditional_chinese(signs: str) -> bool:
    """The common characters of Big5, not only those whose second byte could be one in Korea or Japan too."""
    pairs = signs.encode("big5", "ignore")
    is_common = _share(pairs[::2], 0xA4, 0xC6, signs) >= _COMMON
    return is_common and _share(pairs[1::2], 0x40, 0x7E, signs) >= _TELLING_SHARE


def _is_japanese(signs: str) -> bool:
    """Kana, and the common characters of JIS X 0208."""
    kana = len(_KANA.findall(signs)) / len(signs)
    return kana >= 0.2 and kana + _share(_leads(signs, "euc_jp"), 0xB0, 0xCF, signs) >= _COMMON


_TELLING = {"gb18030": _is_chinese, "big5": _is_traditional_chinese, "cp932": _is_japanese, "euc_jp": _is_japanese}
