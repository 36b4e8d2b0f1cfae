"""Texts that are never listed, such as a person's name that many would look for: a file of the operator's.

Leaving records out of a list is post-processing of what was drawn with noise, so it costs no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

from blendp.errors import ParameterError
from blendp.normalise import normalise_query, normalise_url
from blendp.service.refusal import Refused


@dataclass(frozen=True)
class NeverList:
    """A file with a query or URL on every line, read whenever a list is made; None for none."""

    path: Path | None = None

    def require_readable(self) -> None:
        """Raise :class:`ParameterError` if the file cannot be read."""
        try:
            self._lines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            legal = "a text file with a query or URL on every line"
            raise ParameterError("never_list", str(self.path), legal, f"It cannot be read: {reason}.") from None

    def texts(self, rule: str) -> frozenset[str]:
        """The texts under a rule of normal text, as queries and as URLs; no list is made without them."""
        try:
            lines = self._lines()
        except (OSError, UnicodeDecodeError):
            sentence = f"{self.path} (--never-list) cannot be read: nothing was published; put the file back."
            raise Refused("internal", sentence) from None
        forms = (normalise_query, normalise_url) if rule == "blendp-1" else (_nfc,)
        return frozenset(form(line) for line in lines for form in forms)

    def _lines(self) -> list[str]:
        text = "" if self.path is None else self.path.read_text(encoding="utf-8-sig")
        return [line for line in text.split("\n") if line.strip()]


def _nfc(text: str) -> str:
    return normalize("NFC", text)
