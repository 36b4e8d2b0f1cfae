"""A person's own records, brought to the form of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import normalize

from blendp.client.reports import _require_record
from blendp.headlist.head_list import Record
from blendp.normalise import normalise_query, normalise_url
from blendp.wire import Terms

LONGEST_TEXT = 8192
"""A query or URL of more bytes than this is none."""


def campaign_records(records: Sequence[Record], terms: Terms) -> list[Record]:
    """The records as the campaign spells them, without those that lack a query, or a URL where one is asked for.

    Whoever makes lists from logs leaves out the same, so devices and curator speak of the same records.
    """
    for record in records:
        _require_record(record)
    of_query, of_url = (normalise_query, normalise_url) if terms.normalise == "blendp-1" else (_nfc, _nfc)
    if terms.levels == 1:
        return [(of_query(query), None) for query, _ in records if _usable(query) and of_query(query)]
    pairs = [(of_query(query), of_url(url)) for query, url in records if url and _usable(query) and _usable(url)]
    return [(query, url) for query, url in pairs if query and url]


def _nfc(text: str) -> str:
    return normalize("NFC", text)


def _usable(text: str) -> bool:
    try:
        return "\0" not in text and len(text.encode("utf-8")) <= LONGEST_TEXT
    except UnicodeEncodeError:
        return False
