"""What a report about one question looks like: which bytes are possible, and how bytes are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError

Counts = NDArray[np.int64]

_DROP = "It was made for another list or epsilon, or is damaged: drop it."


class AnswerFormat(Protocol):
    """One answer, a set of some of ``items`` items, as a number below ``subsets`` in ``report_bytes`` bytes.

    The most significant byte comes first. A :class:`~blendp.mechanisms.FrequencyOracle` is one, :class:`SingleItem` is
    another.
    """

    @property
    def items(self) -> int:
        """How many items there are to choose from."""

    @property
    def size(self) -> int:
        """How many of them every answer names (but for one that names the last alone, where there is such)."""

    @property
    def subsets(self) -> int:
        """How many different answers there are."""

    @property
    def limit(self) -> str:
        """That number, in the form of a formula."""

    @property
    def report_bytes(self) -> int:
        """How many bytes every answer takes."""

    def encode(self, subset: Sequence[int]) -> bytes:
        """The bytes that name these items."""

    def decode(self, data: bytes) -> tuple[int, ...]:
        """The items that these bytes name; raises :class:`~blendp.errors.ParameterError` if they are impossible."""

    def supports_of_reports(self, data: NDArray[np.uint8]) -> Counts:
        """How many of many answers, a row of bytes each, name each item."""

    def adds_up(self, supports: Counts, reports: int) -> bool:
        """Whether so many answers can name each item so often."""


@dataclass(frozen=True)
class SingleItem:
    """An answer that names exactly one of ``items``, by its number."""

    items: int

    def __post_init__(self) -> None:
        """Refuse a choice of nothing."""
        if self.items < 1:
            raise ParameterError("items", self.items, "at least 1", "Give how many there are to choose from.")

    @property
    def size(self) -> int:
        """One item."""
        return 1

    @property
    def subsets(self) -> int:
        """As many answers as items."""
        return self.items

    @property
    def limit(self) -> str:
        """As many answers as items."""
        return f"C({self.items}, 1)"

    @property
    def report_bytes(self) -> int:
        """As many bytes as the largest number takes, at least 1."""
        return max(1, ((self.items - 1).bit_length() + 7) // 8)

    def encode(self, subset: Sequence[int]) -> bytes:
        """The item's number."""
        (item,) = subset
        return int(item).to_bytes(self.report_bytes, "big")

    def decode(self, data: bytes) -> tuple[int, ...]:
        """The one item."""
        item = int.from_bytes(data, "big")
        if len(data) != self.report_bytes or item >= self.items:
            raise _impossible(data, f"a number below {self.items} in {self.report_bytes} bytes")
        return (item,)

    def supports_of_reports(self, data: NDArray[np.uint8]) -> Counts:
        """How often each item is named."""
        return np.bincount(self.numbers(data), minlength=self.items)

    def adds_up(self, supports: Counts, reports: int) -> bool:
        """Whether each names one."""
        return int(supports.sum()) == reports

    def numbers(self, data: NDArray[np.uint8]) -> Counts:
        """The item that each of many answers names, a row of bytes each."""
        powers = 256 ** np.arange(data.shape[1] - 1, -1, -1, dtype=np.int64)
        items: Counts = data.astype(np.int64) @ powers
        if len(items) and int(items.max()) >= self.items:
            raise _impossible(data[int(items.argmax())].tobytes(), f"a number below {self.items}")
        return items


@dataclass(frozen=True)
class Question:
    """One thing that people may be asked: its answers stand one after the other in a report.

    About a list there is one answer; a group of a survey gives one for each of its attributes.
    """

    name: str
    answers: tuple[AnswerFormat, ...]
    report_bytes: int = field(init=False, compare=False)
    """How many bytes every report takes."""

    _bounds: tuple[tuple[int, int, int], ...] = field(init=False, repr=False, compare=False)
    _last: bytes = field(init=False, repr=False, compare=False)
    """The largest possible report where there is one answer; else nothing."""

    def __post_init__(self) -> None:
        """Find where each answer begins and ends."""
        if not self.answers:
            raise ParameterError("answers", self.answers, "at least one", "Ask for something.")
        bounds, start = [], 0
        for answer in self.answers:
            bounds.append((start, start + answer.report_bytes, answer.subsets))
            start += answer.report_bytes
        object.__setattr__(self, "_bounds", tuple(bounds))
        object.__setattr__(self, "report_bytes", start)
        last = (bounds[0][2] - 1).to_bytes(start, "big") if len(bounds) == 1 else b""
        object.__setattr__(self, "_last", last)

    @property
    def items(self) -> int:
        """How many items are counted, over all answers."""
        return sum(answer.items for answer in self.answers)

    @property
    def size(self) -> int:
        """How many items every report names, over all answers."""
        return sum(answer.size for answer in self.answers)

    def adds_up(self, supports: Counts, reports: int) -> bool:
        """Whether so many reports can name each item so often."""
        ends = np.cumsum([answer.items for answer in self.answers])[:-1]
        parts = zip(self.answers, np.split(supports, ends), strict=True)
        return all(answer.adds_up(part, reports) for answer, part in parts)

    @property
    def possible_reports(self) -> int:
        """How many different reports there are."""
        count = 1
        for answer in self.answers:
            count *= answer.subsets
        return count

    def possible(self, data: bytes) -> bool:
        """Whether a device can have made this; bytes of one length are in the order of their numbers."""
        if len(data) != self.report_bytes:
            return False
        if self._last:
            return data <= self._last
        return all(int.from_bytes(data[start:end], "big") < limit for start, end, limit in self._bounds)

    @property
    def expectation(self) -> str:
        """What a report about this looks like, in words."""
        limits = [answer.limit for answer in self.answers]
        what = "the rank of a set, a number" if len(limits) == 1 else "ranks of sets, numbers"
        return (
            f"A report about the {self.name} has {self.report_bytes} bytes: {what} below {', '.join(limits)}, "
            "the most significant byte first"
        )

    def require(self, data: bytes) -> None:
        """Raise unless a device can have made this."""
        if not self.possible(data):
            legal = f"one of {self.possible_reports} reports about the {self.name}, {self.report_bytes} bytes long"
            raise _impossible(data, legal)

    def encode(self, chosen: Sequence[Sequence[int]]) -> bytes:
        """The report that gives these answers."""
        return b"".join(answer.encode(items) for answer, items in zip(self.answers, chosen, strict=True))

    def decode(self, data: bytes) -> tuple[tuple[int, ...], ...]:
        """The items that each answer of a report names."""
        self.require(data)
        parts = zip(self.answers, self._bounds, strict=True)
        return tuple(answer.decode(data[start:end]) for answer, (start, end, _) in parts)

    def count(self, data: Sequence[bytes]) -> Counts:
        """How many of these reports name each item, the answers' items one after the other."""
        rows = self._rows(data)
        parts = zip(self.answers, self._bounds, strict=True)
        return np.concatenate([answer.supports_of_reports(rows[:, start:end]) for answer, (start, end, _) in parts])

    def numbers(self, data: Sequence[bytes]) -> Counts:
        """The item that each of these reports names, for a question with one answer that names one."""
        (answer,) = self.answers
        if not isinstance(answer, SingleItem):
            raise ParameterError("question", self.name, "answered by one item", "Count its reports.")
        return answer.numbers(self._rows(data))

    def _rows(self, data: Sequence[bytes]) -> NDArray[np.uint8]:
        """The reports as rows of bytes; raises if one has another length."""
        joined = b"".join(data)
        if len(joined) != self.report_bytes * len(data) or len(set(map(len, data))) > 1:
            wrong = next(each for each in data if len(each) != self.report_bytes)
            raise _impossible(wrong, f"{self.report_bytes} bytes long")
        return np.frombuffer(joined, dtype=np.uint8).reshape(-1, self.report_bytes)


def _impossible(data: bytes, legal: str) -> ParameterError:
    return ParameterError("report", data[:40].hex(), legal, _DROP)
