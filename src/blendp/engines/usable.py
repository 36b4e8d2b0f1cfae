"""Which rows of a log can be used: one rule, in the words of either engine.

The rule looks at texts as they stand in the log, so that only what is drawn has to be normalised. A text is *blank* if
normalisation leaves nothing of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from blendp.normalise import literal
from blendp.texts import MAX_TEXT_BYTES, WHITE

FILTERED_OUT = "filtered out"
"""Why a row is ignored that a filter does not let count."""

NO_TIME = "time not readable"
"""Why a row is broken of which a filter on times cannot say whether it counts."""

OPT_IN_VALUE = "opt-in value"
"""Why a row is broken that does not say whether its user opts in."""

_TRUE, _FALSE = "('true', '1', 'yes')", "('false', '0', 'no')"
_MISSING = {"person": "no user", "query": "no query", "url": "no URL"}


@dataclass(frozen=True)
class Dialect:
    """Where the SQL of two engines differs: templates with a place for each argument."""

    byte_length: str
    matches: str
    """Whether all of a text matches a regular expression."""

    readable: str | None
    """Whether a text is UTF-8; None where every text is."""

    from_hex: str
    """The number that hexadecimal digits stand for."""

    folded: str
    """A number, exclusive or itself so many bits to the right."""

    trimmed: str
    """A text without spaces at the ends, of Unicode's category Zs."""


_SPACES = " \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"

DUCKDB = Dialect(
    "strlen({0})", "regexp_full_match({0}, {1})", None, "('0x' || {0})::BIGINT", "xor({0}, {0} >> {1})", "trim({0})"
)
SPARK = Dialect(
    "octet_length({0})",
    "({0} RLIKE concat('^(?:', {1}, ')$'))",
    "is_valid_utf8({0})",
    "CAST(conv({0}, 16, 10) AS BIGINT)",
    "({0} ^ shiftright({0}, {1}))",
    f"btrim({{0}}, '{_SPACES}')",
)


@dataclass(frozen=True)
class RowRule:
    """What a log's rows must hold.

    where:
        levels     is 2 for <query, URL> records, 1 for queries alone,
        opt_in     says whether every row must say if its user opts in,
        normalise  is the rule of :mod:`blendp.normalise` for texts,
        filtered   says whether rows have a column ``kept``, which says if a filter lets them count; NULL if their
                   time cannot be read,
        nul        says whether texts may hold a NUL byte, as far as is known.
    """

    levels: int
    opt_in: bool
    normalise: str
    filtered: bool = False
    nul: bool = True

    def reason(self, dialect: Dialect, known: str | None = None) -> str:
        """SQL for why a row with the columns person, query, url and opt_in is broken, NULL if it is usable.

        ``known`` is SQL for what the reader found wrong already.
        """
        return self._reason(["person", *self._record], dialect, known)

    def reason_but_user(self, dialect: Dialect, known: str | None = None) -> str:
        """The same for rows whose user is looked at later, once for all rows of the user."""
        return self._reason(self._record, dialect, known)

    def names_somebody(self, dialect: Dialect) -> str:
        """SQL for whether the id of a user names one."""
        return f"coalesce({self._reason(['person'], dialect, None)} IS NULL, false)"

    @property
    def _record(self) -> list[str]:
        return ["query", "url"][: self.levels]

    def _reason(self, texts: list[str], dialect: Dialect, known: str | None) -> str:
        long = [f"{dialect.byte_length.format(text)} > {MAX_TEXT_BYTES}" for text in texts]
        has_nul = [f"contains({text}, chr(0))" for text in texts] if self.nul else []
        plain = [*(f"NOT {flaw}" for flaw in long + has_nul), *(_ordinary(text) for text in texts)]
        cases = []
        if known:
            plain.append(f"{known} IS NULL")
            cases.append(f"WHEN {known} IS NOT NULL THEN {known}")
        if self.filtered and "query" in texts:
            plain.append("kept")
            cases.append(f"WHEN NOT kept THEN '{FILTERED_OUT}' WHEN kept IS NULL THEN '{NO_TIME}'")
        if dialect.readable:
            readable = " AND ".join(f"coalesce({dialect.readable.format(text)}, true)" for text in texts)
            plain.append(readable)
            cases.append(f"WHEN NOT ({readable}) THEN 'not UTF-8'")
        flaws = {"NUL byte": has_nul, "text too long": long}
        cases += [f"WHEN {' OR '.join(tests)} THEN '{why}'" for why, tests in flaws.items() if tests]
        blank = {text: f"WHEN {self._blank(text, dialect)} THEN '{_MISSING[text]}'" for text in texts}
        cases += [blank[text] for text in ("person", "query") if text in blank]
        if self.opt_in and "query" in texts:
            choice = _choice(dialect)
            known_choice = f"coalesce({choice} IN {_TRUE} OR {choice} IN {_FALSE}, false)"
            plain.append(known_choice)
            cases.append(f"WHEN NOT {known_choice} THEN '{OPT_IN_VALUE}'")
        cases += [blank[text] for text in ("url",) if text in blank]
        return f"CASE WHEN {' AND '.join(plain)} THEN NULL {' '.join(cases)} END"

    def opts_in(self, dialect: Dialect) -> str:
        """SQL for whether a row says that its user opts in."""
        return f"coalesce({_choice(dialect)} IN {_TRUE}, false)" if self.opt_in else "false"

    def _blank(self, text: str, dialect: Dialect) -> str:
        filled = f"coalesce({text}, '')"
        if self.normalise == "none" and text != "person":
            return f"{filled} = ''"
        pattern = f"(?s)[{WHITE}]*(#.*)?" if text == "url" else f"[{WHITE}]*"
        return dialect.matches.format(filled, literal(pattern))


def _choice(dialect: Dialect) -> str:
    return f"lower({dialect.trimmed.format('opt_in')})"


def _ordinary(text: str) -> str:
    """SQL that is true of most texts, and of none that is blank: the first character is visible ASCII and no ``#``."""
    return f"{text} >= '$' AND {text} < chr(127)"
