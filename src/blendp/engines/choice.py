"""Contribution bounding: in which order the rows of a user are drawn. Those with the lowest numbers are chosen.

*At random.* Every row has a place of its own in the log (where its reader knows none, a random number that is drawn for
it), and its number is a hash of the place under a secret key:

    number = hash(hash(place) xor key)

where:
    key  is 64 random bits, drawn anew for every run,
    hash is the database's own. The key must go in between: ordering by hash(place, key) or hash(place) xor key flips
         whole branches of the tree of hashes, and reaches only some orders of three or more rows.

*Reproducibly.* The rows of a user are ranked by their content, the UTF-8 bytes of query, then URL, and the rank is
enciphered under a key of that user, in whole numbers of 31 bits:

    a = (rank + k_1) (k_2 | 1),  b = (a xor a >> 15) (k_3 | 1),  c = (b xor b >> 14) (k_4 | 1),  number = c xor c >> 16

where:
    k_1 .. k_4  are the four parts of MD5(key, user), worked out once a user, not once a row,
    | 1         makes a factor odd; every step is then a permutation, so no two rows of a user tie.

What a user contributes is then a function of the key and of that user's own rows alone, whatever their order and the
files they stand in; equal rows have ranks of their own, so a record counts as often as it occurs. A hash of every
row's text would cost more than all the rest. Ranks are what both engines are good at, and the arithmetic stays within
63 bits: both compute the same numbers.

*Who comes first.* Reproducibly, users are in the order of their lots, the first 60 bits of MD5("lot", key, user id):
as good as shuffled, and every engine can tell the first so many by a threshold. No lot is a part of the user's other
digest: what it hashes starts with another letter. At random, if a share of the users is to come first, they are in the
order of hash(hash(user id) xor key'), with a key' of its own: a hash of the key. Either way the first k are a uniformly
random choice of k users, in which nobody's records have a say.

Where a user's *different* records are chosen among, however often each occurs (:mod:`blendp.engines.second_look`), a
record has no place of its own, so they are always ranked by their content, after normalising; at random the key alone
makes the difference.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import Bools, Ids
from blendp.engines.usable import Dialect
from blendp.errors import ParameterError, require_count

MAX_PER_USER = 999_999
"""The largest sample of a user: a limit of the embedded database."""

LOT_BITS = 60
"""How long a lot is."""

_MASK = (1 << 31) - 1


def require_draw(per_user: int, key: int) -> None:
    """Raise unless this many records of a user can be drawn by this key."""
    require_count("per_user", per_user, min_value=1, remedy="Choose how many records of a user may count.")
    if per_user > MAX_PER_USER:
        raise ParameterError("per_user", per_user, f"at most {MAX_PER_USER}", "Bound contributions lower.")
    require_count("key", key, min_value=0, remedy="Draw a key of 64 random bits.")
    if key >= 1 << 64:
        raise ParameterError("key", key, "a whole number below 2**64", "Draw a key of 64 random bits.")


def number_of_place(position: str, key: int | str) -> str:
    """SQL of the embedded database for the number of a row that has a place of its own."""
    return f"hash(xor(hash({position}), {key}::UBIGINT))"


def number_of_user(user: str, key: int) -> str:
    """SQL of the embedded database for the place of a user in the random order; equal numbers go by the id."""
    return number_of_place(user, int.from_bytes(blake2b(key.to_bytes(8), digest_size=8, person=b"users").digest()))


_BY_CONTENT = """
    SELECT person, query, url, opt_in, CASE WHEN usable THEN number END AS number FROM (
        SELECT *, {number}
        FROM (
            SELECT *, row_number() OVER (PARTITION BY person ORDER BY usable DESC, query, url) - 1 AS nth
            FROM (SELECT *, {reason} IS NULL AS usable FROM ({rows}))
        ) LEFT JOIN (SELECT person, {keys} FROM (SELECT DISTINCT person FROM ({rows}))) USING (person))
"""


def numbered_by_content(rows: str, reason: str, key: int, dialect: Dialect) -> str:
    """SQL for rows with their numbers by content; the same on both engines.

    where:
        rows      is SQL for the rows: person, query, url, opt_in and what ``reason`` asks for,
        reason    is SQL for why a row is broken, NULL for usable ones, which alone have numbers.
    """
    keys = user_keys("person", key, dialect.from_hex)
    return _BY_CONTENT.format(number=number_of_rank("nth", dialect.folded), reason=reason, rows=rows, keys=keys)


def ranked_numbers(ranks: str, key: int, dialect: Dialect) -> str:
    """SQL for the rows of a table (person, nth, which is the rank, and what else) with their numbers."""
    keys = user_keys("person", key, dialect.from_hex)
    return f"""
        SELECT *, {number_of_rank("nth", dialect.folded)}
        FROM {ranks} JOIN (SELECT person, {keys} FROM (SELECT DISTINCT person FROM {ranks})) USING (person)
    """


def lowest_of_each(owner: Ids, number: NDArray[np.integer], at_most: int) -> Bools:
    """Whether a row is among the so many of its owner with the lowest numbers."""
    order = np.lexsort((number, owner))
    inside = owner[order]
    chosen = np.empty(len(order), dtype=bool)
    chosen[order] = np.arange(len(order)) - np.searchsorted(inside, inside) < at_most
    return chosen


def user_keys(user: str, key: int, from_hex: str) -> str:
    """SQL for the columns k1 .. k4 of a user."""
    digits = f"md5(concat('{key:016x}', {user}))"
    parts = (from_hex.format(f"substr({digits}, {start}, 8)") for start in (1, 9, 17, 25))
    return ", ".join(f"{part} & {_MASK} AS k{i}" for i, part in enumerate(parts, start=1))


def lot(name: str, key: int, dialect: Dialect) -> str:
    """SQL for the place of a user, by the normalised id, in the random order of the users; equal lots go by the id."""
    return dialect.from_hex.format(f"substr(md5(concat('lot{key:016x}', {name})), 1, {LOT_BITS // 4})")


def number_of_rank(rank: str, folded: str) -> str:
    """SQL for the column ``number`` of a row by its rank and the columns k1 .. k4."""
    return (
        f"((({rank} + k1) & {_MASK}) * (k2 | 1)) & {_MASK} AS a, "
        f"({folded.format('a', 15)} * (k3 | 1)) & {_MASK} AS b, "
        f"({folded.format('b', 14)} * (k4 | 1)) & {_MASK} AS c, "
        f"{folded.format('c', 16)} AS number"
    )
