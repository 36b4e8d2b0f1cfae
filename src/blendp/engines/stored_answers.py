"""Answers of more people than memory holds: their codes, column by column, in files of one or two bytes a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from blendp.answers import Questionnaire
from blendp.arrays import Bools, Ids
from blendp.engines.database import hold_temporary
from blendp.errors import EngineError
from blendp.leftovers import FolderName, HeldFolder
from blendp.lots import Block, Lots, Tables, blocks, count_tables, find_borders

FOLDER = FolderName("blendp-answers-")
"""What folders of codes are called."""

_OPT_IN = "opt-in"


class AnswerSpool:
    """Takes codes in, block by block, and keeps them in a folder that nobody else can look into.

    where:
        bounds  are, for every attribute, the number that its codes stay below.
    """

    def __init__(self, bounds: Sequence[int], *, opt_in: bool) -> None:
        """Open a file for every column."""
        self.people = 0
        self._kinds = [np.min_scalar_type(bound - 1) for bound in bounds]
        self._folder = hold_temporary(FOLDER)
        names = [*map(str, range(len(bounds))), *([_OPT_IN] if opt_in else [])]
        self._files: list[BinaryIO] = []
        try:
            for name in names:
                self._files.append((self._folder.path / name).open("wb"))
        except BaseException:
            self.drop()
            raise

    def add(self, columns: Sequence[NDArray[np.integer]], opt_in: Bools | None) -> None:
        """Keep the codes of some more people, a column for every attribute."""
        kept = [column.astype(kind) for column, kind in zip(columns, self._kinds, strict=True)]
        self.people += len(kept[0])
        try:
            for file, column in zip(self._files, kept if opt_in is None else [*kept, opt_in], strict=True):
                file.write(np.ascontiguousarray(column).data)
        except OSError as error:
            raise _no_room(error) from error

    def drop(self) -> None:
        """Remove what was kept."""
        with suppress(OSError):
            self._close()
        self._folder.remove()

    def finish(
        self,
        questionnaire: Questionnaire,
        number_of: Sequence[NDArray[np.integer]],
        *,
        inferred: bool,
        only_complete: bool,
    ) -> StoredAnswers:
        """The answers: ``number_of`` has the number of an answer in its attribute's list for every code kept."""
        try:
            self._close()
        except OSError as error:
            raise _no_room(error) from error
        kept = tuple(zip(self._kinds, (np.asarray(each, dtype=np.uint16) for each in number_of), strict=True))
        return StoredAnswers(questionnaire, self.people, inferred, only_complete, self._folder, kept)

    def _close(self) -> None:
        for file in self._files:
            file.close()


@dataclass(frozen=True, eq=False)
class StoredAnswers:
    """What people answered, in temporary files that go with this object: see :class:`~blendp.answers.AnswerSource`."""

    questionnaire: Questionnaire
    people: int
    inferred: bool
    only_complete: bool
    _folder: HeldFolder = field(repr=False)
    _kept: tuple[tuple[np.dtype[Any], NDArray[np.uint16]], ...] = field(repr=False)
    """For every attribute the type of the codes kept, and the number of an answer in its list for each of them."""

    def __post_init__(self) -> None:
        """Let the files go with the object."""
        finalize(self, self._folder.remove)

    @cached_property
    def opt_in_people(self) -> int | None:
        """How many of them the table says to opt in; None if it is silent."""
        if not self._path(_OPT_IN).exists():
            return None
        return sum(int(opt_in.sum()) for _, _, opt_in in self._blocks() if opt_in is not None)

    def tables(self, lots: Lots, asked: Sequence[Tables]) -> list[list[Ids]]:
        """How many people of each part gave each combination of answers, for all tables that are asked for."""
        return count_tables(self._blocks(), self.questionnaire.sizes, lots, asked)

    def client_borders(self, lots: Lots, ranks: Sequence[int]) -> list[int]:
        """For each rank the lot below which so many are of those whom the table says not to opt in."""
        assert self.opt_in_people is not None

        def sweep() -> Iterator[Ids]:
            for start, codes, opt_in in self._blocks():
                assert opt_in is not None
                yield lots.of(start, start + len(codes))[~opt_in]

        return find_borders(self.people - self.opt_in_people, ranks, sweep)

    def _path(self, name: str) -> Path:
        return self._folder.path / name

    def _blocks(self) -> Iterator[Block]:
        says_opt_in = self._path(_OPT_IN).exists()
        for start, stop in blocks(self.people, 1 << 19):
            codes = np.empty((stop - start, len(self._kept)), dtype=np.uint16, order="F")
            for index, (kind, number_of) in enumerate(self._kept):
                codes[:, index] = number_of[self._column(str(index), kind, start, stop)]
            yield start, codes, self._column(_OPT_IN, np.dtype(bool), start, stop) if says_opt_in else None

    def _column(self, name: str, kind: np.dtype[Any], start: int, stop: int) -> NDArray[Any]:
        column = np.fromfile(self._path(name), dtype=kind, count=stop - start, offset=start * kind.itemsize)
        if len(column) != stop - start:
            raise EngineError(f"A temporary file of the answers was cut short ({name}): run the survey again.")
        return column


def _no_room(error: OSError) -> EngineError:
    return EngineError(
        f"Temporary files of the answers cannot be written ({error.strerror}): free space, or set TMPDIR to a folder "
        "with more."
    )
