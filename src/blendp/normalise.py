"""The rules that make two spellings of the same query or URL one record.

Rule ``"blendp-1"``, for queries:
    1. Unicode normal form NFC;
    2. every run of white space becomes one space, and none stays at the ends;
    3. lower case, code point by code point (the simple mapping of Unicode 14.0: ``İ`` becomes ``i``, ``Σ`` always
       ``σ``, and a letter that got a lower case later stays), then NFC again.

Rule ``"blendp-1"``, for URLs:
    1. NFC;
    2. the fragment, from the first ``#`` on, is removed;
    3. white space at the ends is removed;
    4. in a text ``scheme://user@host:port/rest``, the scheme and the host become lower case as above, the port
       is removed if it is 80 under http or 443 under https, and a rest that is only ``/`` is removed; then NFC
       again. A text of any other form stays as it is.

White space means the 25 code points with the Unicode property White_Space.

Rule ``"none"`` is NFC alone, for queries and URLs.

Each rule is written three times: for devices in Python and in TypeScript, and for logs in SQL. Tests hold them
together. They agree on every code point of Unicode 14.0: of a later one the normal form NFC may differ.
"""

from __future__ import annotations

import re
from unicodedata import normalize

from blendp.texts import WHITE

RULES = ("blendp-1", "none")

_LATER = re.compile("([\u1c89\ua7cb\ua7cc\ua7ce\ua7d2\ua7d4\ua7da\ua7dc\U00010d50-\U00010d65\U00016ea0-\U00016eb8])")
"""Letters that got a lower case after Unicode 14.0."""

_SPACE = f"[{WHITE}]+"
_URL = (
    r"(?s)([A-Za-z][A-Za-z0-9+.\-]*://)((?:[^/?]*@)?)"
    rf"(\[[^\]/?@{WHITE}]*\]|[^\[\]/?:@{WHITE}]+)((?::[0-9]*)?)((?:[/?].*)?)"
)
_PLAIN_QUERY = r"[!-@\[-~]+( [!-@\[-~]+)*"
PLAIN_URL = r'https?://[a-z0-9.\-]+(/[!-"$-~]+)?'
"""URLs that stay as they are."""

PLAIN_USER = "[!-~]+"
"""User ids that stay as they are."""


def normalise_query(query: str) -> str:
    """The query under rule ``"blendp-1"``, as a device must send it."""
    spaced = re.sub(_SPACE, " ", normalize("NFC", query)).strip(" ")
    return normalize("NFC", _lower(spaced))


def normalise_url(url: str) -> str:
    """The URL under rule ``"blendp-1"``, as a device must send it."""
    text = normalize("NFC", url).partition("#")[0]
    text = re.sub(rf"^{_SPACE}|{_SPACE}\Z", "", text)
    match = re.fullmatch(_URL, text)
    if match is None:
        return text
    scheme, person, host, port, rest = match.groups()
    scheme = scheme.lower()
    if (scheme, port) in (("http://", ":80"), ("https://", ":443")):
        port = ""
    return normalize("NFC", scheme + person + _lower(host) + port + ("" if rest == "/" else rest))


def normalise_user(user: str) -> str:
    """A user id: NFC and without white space at the ends."""
    return normalize("NFC", re.sub(rf"^{_SPACE}|{_SPACE}\Z", "", user))


def _lower(text: str) -> str:
    """Lower case code point by code point: Python alone would look at the neighbours of a sigma."""
    parts = _LATER.split(text.replace("İ", "i").replace("Σ", "σ"))
    parts[::2] = [part.lower() for part in parts[::2]]
    return "".join(parts)


def literal(text: str) -> str:
    """The text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def query_sql(rule: str, text: str) -> str:
    """SQL for the query in the SQL expression ``text`` under ``rule``."""
    if rule == "none":
        return f"nfc_normalize({text})"
    spaced = f"trim(regexp_replace(nfc_normalize({text}), {literal(_SPACE)}, ' ', 'g'))"
    return (
        f"CASE WHEN regexp_full_match({text}, {literal(_PLAIN_QUERY)}) THEN {text}"
        f" ELSE nfc_normalize(lower({spaced})) END"
    )


def url_sql(rule: str, text: str) -> str:
    """SQL for the URL in the SQL expression ``text`` under ``rule``."""
    if rule == "none":
        return f"nfc_normalize({text})"
    bare = trim_sql(f"regexp_replace(nfc_normalize({text}), '(?s)#.*', '')")
    match = f"regexp_extract(bare, {literal(f'^{_URL}$')}, ['scheme', 'person', 'host', 'port', 'rest'])"
    port = "(lower(m.scheme), m.port) IN (('http://', ':80'), ('https://', ':443'))"
    joined = f"""
        lower(m.scheme) || m.person || lower(m.host)
        || CASE WHEN {port} THEN '' ELSE m.port END || CASE WHEN m.rest = '/' THEN '' ELSE m.rest END
    """
    normal = f"CASE WHEN m.scheme = '' THEN bare ELSE nfc_normalize({joined}) END"
    slow = _let("bare", bare, _let("m", match, normal))
    return f"CASE WHEN regexp_full_match({text}, {literal(PLAIN_URL)}) THEN {text} ELSE {slow} END"


def _let(name: str, value: str, body: str) -> str:
    """SQL for ``body`` with ``name`` bound to ``value``, which is worked out once."""
    return f"list_transform([{value}], lambda {name}: {body})[1]"


def trim_sql(text: str) -> str:
    """SQL for the SQL expression ``text`` without white space at the ends."""
    return f"regexp_replace({text}, {literal(f'^{_SPACE}|{_SPACE}$')}, '', 'g')"


def user_sql(text: str) -> str:
    """SQL for a user id: a person is the same however the id is spelt, NFC and without white space at the ends."""
    is_plain = f"regexp_full_match({text}, {literal(PLAIN_USER)})"
    return f"CASE WHEN {is_plain} THEN {text} ELSE nfc_normalize({trim_sql(text)}) END"
