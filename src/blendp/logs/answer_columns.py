"""A column of answers as it was read, whichever file or table it comes from."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from blendp.answers import MAX_VALUES, Attribute, Questionnaire
from blendp.errors import LogError
from blendp.logs.delimited import unquoted
from blendp.logs.tabular import as_bytes, decoded_views, is_dictionary_of_views, is_uuid

MISSING = "(missing)"
"""The answer of those who gave none, where that is an answer of its own."""

WAYS = ("refuse", "drop", "value")
"""What to do about missing answers."""

TRUE, FALSE = ("true", "1", "yes"), ("false", "0", "no")
"""How it is written that somebody opts in, or does not."""

WHITE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
"""White space, which is taken off around answers."""

NO_QUESTION = "it may be an id or a number, so leave it out (columns=...) or group its answers"
"""What to do about a column with too many different answers."""

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class AnswerColumn:
    """A column as it was read: the texts there are, and the number of each row's text, -1 where it is missing."""

    name: str
    where: str
    texts: pa.Array
    codes: NDArray[np.int32]
    row_name: Callable[[int], str] = field(repr=False)
    """Where a row stands in the file, in words."""

    @classmethod
    def of_bytes(
        cls,
        name: str,
        where: str,
        column: pa.DictionaryArray,
        row_name: Callable[[int], str],
        *,
        quotes: bool,
        remedy: str,
    ) -> AnswerColumn:
        """The column of what the file holds, its distinct values as bytes; what to do if they are not UTF-8."""
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
        raw = cls(name, where, column.dictionary, codes, row_name)
        texts = raw.texts
        if quotes:
            texts, stray = unquoted(texts)
            raw.refuse(stray, "text after a closing quote", "double the quotes within answers")
        try:
            texts = texts.cast(pa.string())
        except pa.ArrowInvalid:
            unread = np.array([not _is_utf8(text) for text in texts.to_pylist()])
            raw.refuse(unread, "text that is not UTF-8", remedy)
            raise
        texts = pc.utf8_trim(texts, characters=WHITE)
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts).dictionary_encode()
        number = np.append(texts.indices.fill_null(-1).to_numpy(zero_copy_only=False), -1).astype(np.int32)
        return cls(name, where, texts.dictionary, number[codes], row_name)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Whose answer is missing."""
        return self.codes < 0

    def filled(self) -> AnswerColumn:
        """The column with an answer of its own for those that are missing."""
        if not self.missing.any():
            return self
        code, texts = self.texts.index(MISSING).as_py(), self.texts
        if code < 0:
            code, texts = len(texts), pa.concat_arrays([texts, pa.array([MISSING])])
        return replace(self, texts=texts, codes=np.where(self.missing, np.int32(code), self.codes))

    def error(self, trouble: str, remedy: str) -> LogError:
        """The error for what is wrong with this column."""
        return LogError(f"The column {self.name!r} of {self.where} {trouble}: {remedy}.")

    def refuse(self, wrong: NDArray[np.bool_], what: str, remedy: str) -> None:
        """Raise if a row holds one of the texts marked as wrong."""
        if wrong.any():
            rows = np.flatnonzero(np.append(wrong, False)[self.codes])
            raise self.error(f"has {what} on {self.row_name(int(rows[0]))}", remedy)

    def some(self, rows: NDArray[np.bool_], what: str, ending: str = "") -> str:
        """How many rows there are of a kind, and where the first stands."""
        number = int(rows.sum())
        first = self.row_name(int(np.flatnonzero(rows)[0]))
        return f"has {number} {what}{'s' if number > 1 else ''}{ending} ({'first ' if number > 1 else ''}on {first})"

    def choices(self) -> NDArray[np.bool_]:
        """Who opts in."""
        if self.missing.any():
            raise self.error(self.some(self.missing, "missing value"), "say of every person whether they opt in")
        lower = pc.utf8_lower(self.texts)
        true, false = (
            pc.is_in(lower, pa.array(spellings)).to_numpy(zero_copy_only=False) for spellings in (TRUE, FALSE)
        )
        unknown = ~(true | false)[self.codes]
        if unknown.any():
            raise self.error(self.some(unknown, "unreadable value"), "write true or false, 1 or 0, yes or no")
        chosen: NDArray[np.bool_] = true[self.codes]
        return chosen

    def inferred(self, kept: NDArray[np.bool_]) -> tuple[Attribute, NDArray[np.int32]]:
        """The attribute with the answers that the people kept gave, and the number in it of each text."""
        used = np.flatnonzero(np.bincount(self.codes[kept], minlength=len(self.texts)))
        if len(used) > MAX_VALUES:
            raise self.error(f"has {len(used)} different answers, more than {MAX_VALUES}", NO_QUESTION)
        if len(used) == 1:
            raise self.error("has one answer: everybody answers the same", "leave the column out (columns=...)")
        code_of = dict(zip(self.texts.take(pa.array(used)).to_pylist(), used.tolist(), strict=True))
        values = in_order(set(code_of))
        number = np.full(len(self.texts), -1, dtype=np.int32)
        number[[code_of[value] for value in values]] = np.arange(len(values))
        return Attribute(self.name, tuple(values)), number

    def listed(self, attribute: Attribute, kept: NDArray[np.bool_]) -> NDArray[np.int32]:
        """The number of each text among the answers of the questionnaire; refuses a text that is not there."""
        index_of_text = pc.index_in(self.texts, pa.array(attribute.values, pa.string()))
        number: NDArray[np.int32] = index_of_text.fill_null(-1).to_numpy(zero_copy_only=False)
        missing = kept & (self.codes == self.texts.index(MISSING).as_py())
        if MISSING not in attribute.values and missing.any():
            raise self.error(
                f"{self.some(missing, 'missing answer')} and the questionnaire does not list {MISSING!r}",
                'list it there, or use missing="drop"',
            )
        unknown = kept.copy()
        unknown[kept] = number[self.codes[kept]] < 0
        if unknown.any():
            trouble = self.some(unknown, "answer", " that the questionnaire does not list")
            raise self.error(trouble, "correct the answers or the questionnaire")
        return number


def distinct_bytes(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """The column with the text of every distinct value, as bytes not yet known to be UTF-8."""
    if is_uuid(column.type):
        return as_bytes(column).dictionary_encode()
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.cast(column.type.storage_type)
    if is_dictionary_of_views(column.type):
        column = decoded_views(column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    encoded = column.dictionary_encode().combine_chunks()
    return pa.DictionaryArray.from_arrays(encoded.indices, as_bytes(encoded.dictionary))


def in_order(values: set[str]) -> list[str]:
    """Answers by number if all are numbers, else by code point; the missing answer comes last."""
    present = values - {MISSING}
    numbers = all(_NUMBER.fullmatch(value) for value in present)
    in_order = sorted(present, key=lambda value: (float(value), value)) if numbers else sorted(present)
    return [*in_order, *(values & {MISSING})]


def listed_attribute(questionnaire: Questionnaire | None, name: str) -> Attribute | None:
    """The possible answers, where a questionnaire lists them."""
    return None if questionnaire is None else questionnaire.attributes[questionnaire.names.index(name)]


def _is_utf8(text: bytes | None) -> bool:
    try:
        (text or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
