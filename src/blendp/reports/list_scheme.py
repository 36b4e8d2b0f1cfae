"""Reports about a head list: what both methods have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from blendp.canonical import sha256
from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.randomness import KnownWords, Random, ReleaseRandom, require_release
from blendp.reports.report import Report
from blendp.reports.scheme import ReportScheme
from blendp.reports.sums import ReportSums

SCHEME_BYTES = 8
"""How long the name of a scheme is, which every report carries."""

_PROBES = 8


class ListScheme(ReportScheme[Sequence[Record]]):
    """A scheme whose cells are those of a head list; texts must be normalised as the list's were."""

    head_list: HeadList

    records_per_user: int = 1
    """How many reports every client sends."""

    @property
    def list_sha256(self) -> str:
        """The name of the list."""
        return self.head_list.sha256

    @property
    def cells(self) -> int:
        """How many cells the list has."""
        return self.head_list.cells

    @abstractmethod
    def encoded(self, question: str, cell: int, random: Random) -> bytes:
        """The randomised answer of whoever holds this cell; whoever sends it has checked where the words come from."""

    @abstractmethod
    def numbers(self) -> Iterator[str]:
        """Every number that a report is drawn with: questions, their chances, sizes and coins, a line for each."""

    @abstractmethod
    def draw(self, cells: NDArray[np.int64], random: Random) -> ReportSums:
        """The sums of what people send who hold these cells: a row of them for every client."""

    @abstractmethod
    def draw_from_law(self, clients: int, law: NDArray[np.float64], generator: np.random.Generator) -> ReportSums:
        """The sums of what so many clients send whose cells are drawn from a law, all at once.

        For experiments only, never for data that is released: the generator is not cryptographic.
        """

    def answer(self, question: str, holding: Sequence[Record], random: ReleaseRandom) -> bytes:
        """The randomised answer about one of a person's records, drawn at random; about <*,*> if there are none."""
        require_release(random)
        return self.encoded(question, self._cell(holding, random), random)

    def randomise(self, holding: Sequence[Record], random: ReleaseRandom) -> Report:
        """The one report of a person with these records. Call it once, keep the result, and resend that."""
        require_records(holding)
        if self.records_per_user != 1:
            raise ParameterError(
                "records_per_user", self.records_per_user, "1 for a single report", "Take randomise_all."
            )
        return super().randomise(holding, random)

    def randomise_all(self, records: Sequence[Record], random: ReleaseRandom) -> tuple[Report, ...]:
        """All reports of a person: how many there are tells nothing about the person.

        A person with more records has so many of them drawn at random; one with fewer has theirs repeated in random
        order; one with none reports about <*,*>.
        """
        if self.records_per_user == 1:
            return (self.randomise(records, random),)
        require_release(random)
        require_records(records)
        chosen = [self.head_list.cell_of(None)] * self.records_per_user
        if records:
            order = np.argsort(random.words(len(records)))
            chosen = [self.head_list.cell_of(*records[order[i % len(records)]]) for i in range(self.records_per_user)]
        questions = [self.asked(random) for _ in chosen]
        return tuple(
            Report(self.list_sha256, question, self.encoded(question, cell, random))
            for question, cell in zip(questions, chosen, strict=True)
        )

    def identity(self, manifest_sha256: str) -> str:
        """16 hexadecimal digits by which a client shows that it draws, numbers cells and ranks subsets as this does.

            the first 8 bytes of SHA-256("blendp/scheme/1 " manifest NL  numbers NL ...  probe NL ...)

        where:
            probe  is the question and the bytes of a report, drawn from known words: for six people with one listed
                   record each, for one with a listed query and no URL, and for one without records.

        It is the same for every client of a campaign, so it tells nothing; a client that computes something else would
        send reports that look possible and mean something else.
        """
        known = KnownWords(int(manifest_sha256[:16], 16))
        lines = [f"blendp/scheme/1 {manifest_sha256}", *self.numbers()]
        for holding in self._probes():
            question = self.asked(known)
            lines.append(f"{question} {self.encoded(question, self._cell(holding, known), known).hex()}")
        return sha256("".join(line + "\n" for line in lines).encode("ascii"))[: 2 * SCHEME_BYTES]

    def _probes(self) -> list[list[Record]]:
        """What the people of the probes hold."""
        labels = [self.head_list.labels[cell] for cell in self.head_list.record_cells.tolist()]
        records = [(query, url) for query, url in labels if query is not None]
        if not records:
            return [[]] * _PROBES
        listed = [[records[number * len(records) // (_PROBES - 2)]] for number in range(_PROBES - 2)]
        return [*listed, [(records[0][0], None)], []]

    def count_data(self, data: Mapping[str, Sequence[bytes]]) -> ReportSums:
        """Add up the bytes of many reports about this list, by question, all of a question at once."""
        self._require_single()
        return super().count_data(data)

    def _require_single(self) -> None:
        """Raise where clients send several reports: which of them are one client's must be known."""
        if self.records_per_user != 1:
            legal = "1 where reports are added up one by one"
            raise ParameterError("records_per_user", self.records_per_user, legal, "Take count_clients.")

    def _cell(self, records: Sequence[Record], random: Random) -> int:
        if not records:
            return self.head_list.cell_of(None)
        return self.head_list.cell_of(*records[int(random.below(len(records), 1)[0])])


def require_records(records: Sequence[Record]) -> None:
    """Raise unless these are pairs of texts."""
    given: Sequence[object] = records
    for record in given:
        fine = isinstance(record, tuple) and len(record) == 2 and isinstance(record[0], str)
        if not fine or not isinstance(record[1], str | None):  # type: ignore[index]
            raise ParameterError("records", record, "a list of (query, URL) pairs", 'Give [("query", "http://url")].')
