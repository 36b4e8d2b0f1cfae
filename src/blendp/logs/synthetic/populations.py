"""A synthetic population: users who draw their records from a law.

A user has

    1 + G records,   P(G = g) = (1 - 1/R)^g / R,   so R records on average.

The first is drawn from the law. Each later one repeats the first with probability 0.3 and is otherwise a
fresh draw, so every record, whichever its place, follows the law,

where:
    R  is ``records_per_user``; with R = 1 everybody has exactly one record.

With habits some of these give way to a favourite (:mod:`blendp.logs.synthetic.habits`), and a record still follows the
law.

Users are made in blocks of about 131,072 rows. A block has a random stream of its own, named by the seed, the
population and the number of the block, so the rows do not depend on how they are fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from blendp.arrays import Ids
from blendp.errors import ParameterError, require_choice, require_count, require_number
from blendp.logs.synthetic.habits import Habits
from blendp.logs.synthetic.laws import law
from blendp.logs.synthetic.names import NAMES
from blendp.logs.synthetic.text import vocabulary
from blendp.logs.synthetic.write import write_blocks

USERS = {"aol": 519_371, "yandex": 4_970_073, "aol-sparse": 519_371}
"""Users of figure 8; ``aol-sparse`` has as many as ``aol``."""

SCHEMA = pa.schema([("user", pa.string()), ("query", pa.string()), ("url", pa.string())])

REPEAT = 0.3
BLOCK_ROWS = 131_072
MAX_ROWS = 10_000_000


MAX_USERS = 1_000_000_000
MAX_RECORDS_PER_USER = 1_000


@dataclass(frozen=True)
class Population:
    """A reproducible log: the same fields give the same rows."""

    name: str
    users: int
    records_per_user: float = 1.0
    seed: int = 0
    habits: bool = False
    """Whether some people return to a favourite; without, concentration does not depend on what people look for."""

    def __post_init__(self) -> None:
        """Check every field."""
        require_choice("name", self.name, NAMES)
        require_count("users", self.users, min_value=1, remedy="Ask for at least one user.")
        require_number(
            "users", self.users, max_value=MAX_USERS, legal=f"at most {MAX_USERS:,}", remedy="Ask for fewer people."
        )
        require_number(
            "records_per_user",
            self.records_per_user,
            min_value=1,
            max_value=MAX_RECORDS_PER_USER,
            legal=f"a number from 1 to {MAX_RECORDS_PER_USER}",
            remedy="It is the mean number of records of a user.",
        )
        require_count("seed", self.seed, min_value=0, remedy="Any whole number from 0 names a population.")
        if not isinstance(self.habits, bool):
            raise ParameterError("habits", self.habits, "True or False", "Say whether people have habits.")

    def batches(self, rows: int = 1_000_000) -> Iterator[pa.RecordBatch]:
        """The log as batches of ``rows`` rows (the last may be shorter), columns user, query, url."""
        require_count("rows", rows, min_value=1, remedy="Ask for at least one row per batch.")
        if rows > MAX_ROWS:
            raise ParameterError("rows", rows, f"at most {MAX_ROWS}", "Ask for smaller batches.")
        return self._batches(rows)

    def table(self) -> pa.Table:
        """The whole log in memory."""
        return pa.Table.from_batches(list(self._blocks()), SCHEMA)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The log, block by block, for any library that speaks Arrow's C stream."""
        return pa.RecordBatchReader.from_batches(SCHEMA, self._blocks()).__arrow_c_stream__(requested_schema)

    def write(
        self, path: str | PathLike[str], progress: Callable[[int, int], None] | None = None, *, overwrite: bool = False
    ) -> int:
        """Write the log to a file, block by block, and return the number of rows.

        The ending tells the format: .csv, .tsv, .ndjson or .jsonl, each with or without .gz, or .parquet.
        The file appears only when complete. ``progress`` is told the users written so far and all users.
        """
        done = 0

        def blocks() -> Iterator[pa.RecordBatch]:
            nonlocal done
            for batch in self._blocks():
                yield batch
                done = min(done + self._block_users, self.users)
                if progress is not None:
                    progress(done, self.users)

        return write_blocks(path, blocks(), SCHEMA, overwrite=overwrite)

    def draw(self, generator: np.random.Generator, users: int) -> tuple[Ids, Ids, Ids]:
        """So many of its users, drawn anew: how many records each has, and rank and place of all of these in a row."""
        counts = generator.geometric(1 / self.records_per_user, size=users)
        ends = np.cumsum(counts)
        owners = np.repeat(np.arange(users), counts)
        habits = Habits(law(self.name)) if self.habits else None
        draw = law(self.name).draw if habits is None else habits.draw_others
        ranks, places = draw(generator, len(owners))
        source = np.where(generator.random(len(owners)) < REPEAT, (ends - counts)[owners], np.arange(len(owners)))
        ranks, places = ranks[source], places[source]
        if habits is not None:
            ranks, places = habits.favour(generator, users, owners, ranks, places)
        return counts, ranks, places

    @property
    def _block_users(self) -> int:
        return max(1, int(BLOCK_ROWS / self.records_per_user))

    def _blocks(self) -> Iterator[pa.RecordBatch]:
        for number in range(-(-self.users // self._block_users)):
            yield self._block(number)

    def _batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        for block in self._blocks():
            waiting.append(block)
            count = sum(batch.num_rows for batch in waiting)
            if count < rows:
                continue
            whole = pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]
            full = count - count % rows
            for start in range(0, full, rows):
                yield whole.slice(start, rows)
            waiting = [whole.slice(full)] if full < count else []
        if waiting:
            yield pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]

    def _block(self, number: int) -> pa.RecordBatch:
        start = number * self._block_users
        users = min(self._block_users, self.users - start)
        key = (NAMES.index(self.name), number)
        generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key)))
        counts, ranks, places = self.draw(generator, users)
        owners = np.repeat(np.arange(users), counts)
        texts = vocabulary(self.name)
        columns = [self._ids(start + 1 + owners), texts.queries(ranks), texts.urls(ranks, places)]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)

    def _ids(self, numbers: Ids) -> pa.Array:
        digits = max(7, len(str(self.users)))
        return pc.binary_replace_slice(pc.cast(pa.array(numbers + 10**digits), pa.string()), 0, 1, "u")


def population(
    name: str, users: int | None = None, records_per_user: float = 1.0, seed: int = 0, *, habits: bool = False
) -> Population:
    """The population of this name (:data:`NAMES`), with as many users as in figure 8 unless told otherwise."""
    require_choice("name", name, NAMES)
    return Population(name, USERS[name] if users is None else users, records_per_user, seed, habits)
