"""A person's own records, brought to the form of a campaign.

Whether a device reports or enrols must not depend on them: silence would tell more than any report. So a record that
the campaign cannot use is as if it were not there, whatever is wrong with it, and a person without any record takes
part like everybody, as one who holds <*,*>.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from unicodedata import normalize

from blendp.errors import ParameterError
from blendp.headlist.head_list import Record
from blendp.normalise import normalise_query, normalise_url
from blendp.randomness import Random
from blendp.randomness.random import COIN_BITS
from blendp.texts import is_usable
from blendp.wire import Terms
from blendp.wire.messages import MAX_BODY_BYTES
from blendp.wire.opt_in import OptInRecords, record_bytes


def campaign_records(records: Iterable[Record], terms: Terms) -> list[Record]:
    """The records as the campaign spells them, without those that it cannot use. No record makes this fail.

    Left out is what is no pair of texts, lacks a query, or a URL where one is asked for, or has a text that is too
    long, before or after normalisation, or holds a NUL. Whoever makes lists from logs leaves out the same, so devices
    and curator speak of the same records.
    """
    given: object = records
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ParameterError("records", type(given).__name__, "a list", 'Give [("query", "http://url")], or [].')
    spelt = (_spelt(record, terms) for record in given)
    return [record for record in spelt if record is not None]


def _spelt(record: object, terms: Terms) -> Record | None:
    """One record in the campaign's form; None if it cannot be used."""
    if not isinstance(record, tuple | list) or len(record) != 2:
        return None
    of_query, of_url = (normalise_query, normalise_url) if terms.normalise == "blendp-1" else (_nfc, _nfc)
    query = _text(record[0], of_query)
    url = _text(record[1], of_url) if terms.levels == 2 else None
    return None if query is None or (url is None and terms.levels == 2) else (query, url)


def _text(text: object, normalised: Callable[[str], str]) -> str | None:
    """The text in its normal form; None if there is none that a collector takes."""
    if not isinstance(text, str) or not is_usable(text):
        return None
    normal = normalised(text)
    return normal if normal and is_usable(normal) else None


def drawn(records: Sequence[Record], max_records: int, random: Random) -> list[Record]:
    """At most so many of the records, every choice equally likely, in their order.

    Floyd's algorithm: the step for ``last`` adds a number drawn from 0 .. last, or ``last`` if that number is taken.
    """
    chosen: set[int] = set()
    for last in range(max(0, len(records) - max_records), len(records)):
        number = int(random.below(last + 1, 1)[0])
        chosen.add(last if number in chosen else number)
    return [records[number] for number in sorted(chosen)]


def participates(terms: Terms, random: Random) -> bool:
    """Draw whether a client takes part, which no record has a say in."""
    return bool(random.coins(round(terms.participation * (1 << COIN_BITS)), 1)[0])


def enrolment_body(
    terms: Terms, records: Sequence[Record], nonce: bytes, random: Random, max_bytes: int = MAX_BODY_BYTES
) -> bytes:
    """What an opt-in person sends: some of the records, drawn at random, and the nonce by which a retry is known."""
    chosen = drawn(records, terms.opt_in_records, random)
    room = max_bytes - len(OptInRecords.of(terms.sha256, nonce, []).to_bytes())
    return OptInRecords.of(terms.sha256, nonce, fitting(chosen, record_bytes, room)).to_bytes()


def fitting(records: Sequence[Record], size: Callable[[Record], int], room: int) -> list[Record]:
    """Those of the records that fit, in their order, into so many bytes; one that does not is as if not there."""
    kept = []
    for record in records:
        if size(record) <= room:
            room -= size(record)
            kept.append(record)
    return kept


def _nfc(text: str) -> str:
    return normalize("NFC", text)
