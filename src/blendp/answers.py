"""Surveys: questions with a fixed list of possible answers, and what a group of people answered.

The list of possible answers is public, and must be known before anybody answers: were it read from the answers, a rare
answer in it would reveal that somebody gave it.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import describe_marks
from blendp.canonical import canonical_json
from blendp.errors import DocumentError, ParameterError
from blendp.lots import Block, Lots, Tables, blocks, count_cells, count_tables, find_borders
from blendp.spelling import counted

MAX_VALUES = 1000
"""A question has no more possible answers than this."""

MAX_ATTRIBUTES = 64
"""A questionnaire has no more questions than this."""

MAX_CELLS = 1 << 27
"""A table of counts has no more cells than this."""

_REMEDY = 'Write {"attributes": [{"name": ..., "values": [...]}, ...]}.'
_SHOWN = 5


@dataclass(frozen=True)
class Attribute:
    """One question and its possible answers, in the order of their codes."""

    name: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse texts that no table can hold, and lists that are no choice, too long or double."""
        _require_texts("name", [self.name])
        values: Any = self.values
        if not isinstance(values, tuple):
            raise ParameterError("values", type(values).__name__, "a tuple of texts", f"Correct {self.name!r}.")
        _require_texts(f"values of {self.name!r}", self.values)
        if not 2 <= len(self.values) <= MAX_VALUES:
            raise ParameterError(
                f"number of values of {self.name!r}",
                len(self.values),
                f"from 2 to {MAX_VALUES}",
                "Leave out a question with one answer, and group the answers of one with too many.",
            )
        _require_distinct(f"values of {self.name!r}", self.values)

    @property
    def size(self) -> int:
        """How many answers are possible."""
        return len(self.values)


@dataclass(frozen=True)
class Questionnaire:
    """The questions of a survey, in order; all of it is public."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        """Refuse a questionnaire with no question, too many, or two of one name."""
        given: Any = self.attributes
        if not isinstance(given, tuple) or not all(isinstance(item, Attribute) for item in given):
            raise ParameterError(
                "attributes", type(given).__name__, "a tuple of Attribute", "Make an Attribute of every question."
            )
        if not 1 <= len(self.attributes) <= MAX_ATTRIBUTES:
            raise ParameterError(
                "number of attributes", len(self.attributes), f"from 1 to {MAX_ATTRIBUTES}", "Ask fewer questions."
            )
        _require_distinct("names of attributes", self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every question."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many answers every question has."""
        return tuple(attribute.size for attribute in self.attributes)

    def to_bytes(self) -> bytes:
        """The canonical bytes, a JSON document: the same questionnaire gives the same bytes everywhere."""
        items = [{"name": attribute.name, "values": list(attribute.values)} for attribute in self.attributes]
        value = {"attributes": items}
        return canonical_json(value)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read the JSON document, which people may write by hand: its layout is free, its content is not."""
        try:
            value = json.loads(data.decode("utf-8"), object_pairs_hook=_members)
        except ParameterError:
            raise
        except (ValueError, RecursionError) as error:
            raise DocumentError("questionnaire", data, "a JSON document in UTF-8", _REMEDY, error) from error
        items = _items(value, "questionnaire", "attributes")["attributes"]
        if not isinstance(items, list):
            raise _unlike("attributes", items, "a list")
        return cls(tuple(_attribute(item, number) for number, item in enumerate(items, 1)))

    def __str__(self) -> str:
        """One line for people."""
        return f"questionnaire of {counted(len(self.attributes), 'question')} with {sum(self.sizes)} answers"


class AnswerSource(Protocol):
    """Answers, wherever they lie, of which a survey asks tables of counts alone."""

    @property
    def questionnaire(self) -> Questionnaire:
        """The questions."""

    @property
    def inferred(self) -> bool:
        """Whether the possible answers were read from the answers."""

    @property
    def only_complete(self) -> bool:
        """Whether people who left an answer out were left out."""

    @property
    def people(self) -> int:
        """How many people answered."""

    @property
    def opt_in_people(self) -> int | None:
        """How many of them the table says to opt in; None if it is silent."""

    def tables(self, lots: Lots, asked: Sequence[Tables]) -> list[list[NDArray[np.int64]]]:
        """How many people of each part gave each combination of answers, for all tables that are asked for."""

    def client_borders(self, lots: Lots, ranks: Sequence[int]) -> list[int]:
        """For each rank the lot below which so many are of those whom the table says not to opt in."""


def is_answers(answers: object) -> bool:
    """Whether a survey can be carried out on this."""
    return hasattr(type(answers), AnswerSource.client_borders.__name__)


@dataclass(frozen=True, eq=False)
class Answers:
    """What people answered: one row a person, one column a question.

    where:
        codes     is the number of every answer in the list of its attribute, of shape (people, attributes),
        opt_in    says of every person whether they trust the curator; None if the table is silent,
        inferred  says whether the possible answers were read from the answers themselves, so that the questionnaire
                  is not public, and is released only by who asks for it,
        only_complete  says whether people who left an answer out were left out, so that who is counted, and how many
                  there are, depends on answers.
    """

    questionnaire: Questionnaire
    codes: NDArray[np.int32] = field(repr=False)
    opt_in: NDArray[np.bool_] | None = field(default=None, repr=False)
    inferred: bool = False
    only_complete: bool = False

    def __post_init__(self) -> None:
        """Refuse codes that stand for no answer, and keep both arrays from being changed."""
        codes, width = np.asarray(self.codes), len(self.sizes)
        if codes.ndim != 2 or codes.shape[1] != width or not np.issubdtype(codes.dtype, np.integer):
            raise ParameterError(
                "codes",
                f"{codes.dtype} of shape {codes.shape}",
                f"whole numbers of shape (people, {width})",
                "Give one row a person and one column a question.",
            )
        if len(codes):
            lowest, highest = codes.min(axis=0), codes.max(axis=0)
            for attribute, low, high in zip(
                self.questionnaire.attributes, lowest.tolist(), highest.tolist(), strict=True
            ):
                if low < 0 or high >= attribute.size:
                    raise ParameterError(
                        f"code of {attribute.name!r}",
                        low if low < 0 else high,
                        f"from 0 to {attribute.size - 1}",
                        "Give the numbers of answers in the list of the attribute.",
                    )
        object.__setattr__(self, "codes", _kept(codes, np.int32))
        if self.opt_in is not None:
            opt_in = np.asarray(self.opt_in)
            if opt_in.shape != (len(codes),) or opt_in.dtype != np.bool_:
                raise ParameterError(
                    "opt_in",
                    describe_marks(opt_in),
                    f"True or False for each of the {len(codes)} people",
                    "Say of every person whether they opt in.",
                )
            object.__setattr__(self, "opt_in", _kept(opt_in, np.bool_))

    @property
    def people(self) -> int:
        """How many people answered."""
        return len(self.codes)

    @property
    def opt_in_people(self) -> int | None:
        """How many of them the table says to opt in; None if it is silent."""
        return None if self.opt_in is None else int(self.opt_in.sum())

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many answers every question has."""
        return self.questionnaire.sizes

    def tables(self, lots: Lots, asked: Sequence[Tables]) -> list[list[NDArray[np.int64]]]:
        """How many people of each part gave each combination of answers, for all tables that are asked for."""
        return count_tables(map(self._block, blocks(self.people)), self.sizes, lots, asked)

    def client_borders(self, lots: Lots, ranks: Sequence[int]) -> list[int]:
        """For each rank the lot below which so many are of those whom the table says not to opt in."""
        assert self.opt_in is not None
        client = ~self.opt_in
        return find_borders(
            int(client.sum()), ranks, lambda: (lots.of(*ends)[client[slice(*ends)]] for ends in blocks(self.people))
        )

    def _block(self, ends: tuple[int, int]) -> Block:
        rows = slice(*ends)
        return ends[0], self.codes[rows], None if self.opt_in is None else self.opt_in[rows]

    def counts(self, *attributes: int) -> NDArray[np.int64]:
        """How many people gave each combination of answers to these questions: one axis a question, in this order."""
        chosen = self._require_attributes(attributes)
        shape = tuple(self.sizes[attribute] for attribute in chosen)
        cells = math.prod(shape)
        if cells > MAX_CELLS:
            raise ParameterError(
                "attributes", attributes, f"questions with at most {MAX_CELLS} combinations", "Count fewer at once."
            )
        return count_cells([self.codes[:, attribute] for attribute in chosen], shape)

    def frequencies(self) -> list[NDArray[np.float64]]:
        """The share of people who gave each answer, for every question."""
        if not self.people:
            raise ParameterError("people", 0, "at least 1", "Give the answers of somebody: nobody has no shares.")
        return [self.counts(attribute) / self.people for attribute in range(len(self.sizes))]

    def take(self, rows: NDArray[np.int64]) -> Answers:
        """The answers of these people, in this order; a person named twice comes twice."""
        rows = np.asarray(rows)
        if rows.ndim != 1 or not (np.issubdtype(rows.dtype, np.integer) or not len(rows)):
            raise ParameterError(
                "rows", f"{rows.dtype} of shape {rows.shape}", "a list of whole numbers", "Give the numbers of people."
            )
        if len(rows) and not 0 <= rows.min() <= rows.max() < self.people:
            wrong = int(rows.min() if rows.min() < 0 else rows.max())
            raise ParameterError("rows", wrong, f"from 0 to {self.people - 1}", "Give the numbers of people.")
        rows = rows.astype(np.int64, copy=False)
        codes = np.empty((len(rows), len(self.sizes)), dtype=np.int32, order="F")
        for attribute in range(len(self.sizes)):
            codes[:, attribute] = self.codes[:, attribute][rows]
        codes.setflags(write=False)
        opt_in = None if self.opt_in is None else self.opt_in[rows]
        return Answers(self.questionnaire, codes, opt_in, self.inferred, self.only_complete)

    def __str__(self) -> str:
        """One line for people."""
        return f"answers of {self.people} people to {len(self.sizes)} questions"

    def _require_attributes(self, attributes: Iterable[int]) -> list[int]:
        try:
            chosen = [operator.index(attribute) for attribute in attributes]
        except TypeError:
            chosen = []
        if not chosen or not all(0 <= attribute < len(self.sizes) for attribute in chosen):
            raise ParameterError(
                "attributes",
                tuple(attributes),
                f"one or more whole numbers from 0 to {len(self.sizes) - 1}",
                "Give the places of questions in the questionnaire.",
            )
        return chosen


def _kept(values: NDArray[Any], kind: type[np.generic]) -> NDArray[Any]:
    """The array read-only and column by column; one that is so already is not copied."""
    if values.dtype == kind and values.flags.f_contiguous and not values.flags.writeable:
        return values
    kept = np.array(values, dtype=kind, order="F")
    kept.setflags(write=False)
    return kept


def _require_texts(parameter: str, texts: Iterable[Any]) -> None:
    for text in texts:
        if not isinstance(text, str) or not text or text != text.strip():
            legal = "text that is not empty and neither starts nor ends with white space"
            raise ParameterError(parameter, text, legal, "Correct it: answers are read without the space around them.")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ParameterError(parameter, text, "valid Unicode", "Remove lone surrogates.") from error


def _require_distinct(parameter: str, texts: tuple[str, ...]) -> None:
    if len(set(texts)) != len(texts):
        seen: set[str] = set()
        double = [text for text in texts if text in seen or seen.add(text)]  # type: ignore[func-returns-value]
        raise ParameterError(parameter, tuple(double[:_SHOWN]), "distinct", "Give each of these once.")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _unlike("questionnaire", tuple(key[:40] for key, _ in pairs[:_SHOWN]), "objects with distinct keys")
    return members


def _items(value: Any, parameter: str, *keys: str) -> dict[str, Any]:
    """The object, if it has these keys and no others."""
    if not isinstance(value, dict):
        raise _unlike(parameter, value, f"an object with the keys {', '.join(keys)}")
    if set(value) != set(keys):
        own_keys = tuple(key[:40] for key in list(value)[:_SHOWN])
        raise _unlike(f"keys of {parameter}", own_keys, f"{' and '.join(keys)}, no fewer and no others")
    return value


def _attribute(value: Any, number: int) -> Attribute:
    where = f"attribute {number}"
    item = _items(value, where, "name", "values")
    if not isinstance(item["values"], list):
        raise _unlike(f"values of {where}", item["values"], "a list of texts")
    return Attribute(item["name"], tuple(item["values"]))


def _unlike(parameter: str, value: Any, legal: str) -> ParameterError:
    """The error for a document that is no questionnaire, quoting little of it."""
    shown = value if isinstance(value, tuple | int | float | bool | None) else type(value).__name__
    return ParameterError(parameter, shown, legal, _REMEDY)
