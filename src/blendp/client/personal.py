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
from blendp.texts import is_usable
from blendp.wire import Terms


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
