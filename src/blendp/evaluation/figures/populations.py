"""The populations of the figures, and the parameters that the paper gives each (its figure 11)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from blendp.arrays import Ids
from blendp.engines import Truth
from blendp.errors import require_count
from blendp.evaluation.drawn_people import KnownRecords, RecordLaw
from blendp.headlist.head_list import Record
from blendp.logs.synthetic import NAMES, USERS, law, population
from blendp.logs.synthetic.populations import BLOCK_ROWS
from blendp.logs.synthetic.text import vocabulary
from blendp.methods import Parameters


@dataclass(frozen=True)
class Setting:
    """What the figures vary around: the paper's parameters for one of its two data sets."""

    name: str
    title: str
    delta: float
    opt_in: float
    size: int
    """M, the length of the list where it is not varied."""

    sizes: tuple[int, ...]
    """The lengths of lists that are compared; the paper's own are not legible in its text, but for 10, 50, 100, 500."""

    group_size: int
    """The length of the list of figure 17."""

    tiny_sizes: tuple[int, ...]
    """The lengths of lists for tiny opt-in groups; the first is that of figure 19."""

    def parameters(self, method: str, epsilon: float = 4.0, size: int | None = None, **others: object) -> Parameters:
        """The parameters of a method here; everybody has one record."""
        given = {"method": method, "epsilon": epsilon, "delta": self.delta, "size": size or self.size, **others}
        return Parameters(**{"opt_in_records": 1, **given})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Grid:
    """The values that the knobs of the figures take: all of them, or fewer for a quick look."""

    opt_in: tuple[float, ...]
    tiny: tuple[float, ...]
    epsilon: tuple[float, ...]
    query_share: tuple[float, ...]


FULL = Grid(
    opt_in=(0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.10),
    tiny=(0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.007, 0.008, 0.009, 0.01),
    epsilon=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
    query_share=(0.25, 0.35, 0.45, 0.55, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95),
)
QUICK = Grid(
    opt_in=(0.01, 0.03, 0.05, 0.10),
    tiny=(0.001, 0.003, 0.006, 0.01),
    epsilon=(1.0, 2.0, 4.0, 6.0),
    query_share=(0.25, 0.45, 0.65, 0.85, 0.95),
)

AOL = Setting("aol", "AOL", 1e-5, 0.05, 50, (10, 25, 50), 25, (10, 25))
YANDEX = Setting("yandex", "Yandex", 1e-7, 0.03, 500, (10, 50, 100, 500), 100, (10, 50, 100))

LARGE = 1_000_000
"""From so many people on a log is treated as the paper treats Yandex, below as it treats AOL."""


@dataclass(frozen=True, eq=False)
class FigurePopulation:
    """People to draw from: a setting, how many they are, and the law of their records."""

    setting: Setting
    users: int
    law: RecordLaw = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse a population of nobody."""
        require_count("users", self.users, min_value=2, remedy="Ask for people in both groups.")

    @classmethod
    def synthetic(cls, setting: Setting, users: int | None, seed: int) -> FigurePopulation:
        """The people that ``blendp synthesise`` makes under this name and seed."""
        records = SyntheticRecords(setting.name, USERS[setting.name] if users is None else users, seed)
        return cls(setting, records.users, RecordLaw(records))

    @classmethod
    def of_log(cls, log: KnownRecords, users: int) -> FigurePopulation:
        """The people of a real log, with the parameters of the data set of the paper that is of its size."""
        return cls(replace(YANDEX if users >= LARGE else AOL, name="log", title="Log"), users, RecordLaw(log))


@dataclass(frozen=True)
class SyntheticRecords:
    """The records of a synthetic population with one record each, counted without making their texts.

    They are those of ``population(name, users, seed=seed)``, number for number; ids ascend by the rank of the query,
    then by the place of the URL.
    """

    name: str
    users: int
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no population has."""
        population(self.name, self.users, seed=self.seed)

    @property
    def levels(self) -> int:
        """Records are <query, URL>."""
        return 2

    @property
    def distinct_records(self) -> int:
        """How many different records there are."""
        return len(self._counted[0])

    @cached_property
    def _counted(self) -> tuple[Ids, Ids]:
        """The code of every record that somebody holds, ascending, and how many do."""
        codes = np.empty(self.users, dtype=np.int64)
        for number, start in enumerate(range(0, self.users, BLOCK_ROWS)):
            block = codes[start : start + BLOCK_ROWS]
            key = (NAMES.index(self.name), number)
            generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key)))
            generator.geometric(1.0, size=len(block))  # how many records each has: one
            ranks, places = law(self.name).draw(generator, len(block))
            block[:] = ranks * self._width + places
        return np.unique(codes, return_counts=True)

    @property
    def _width(self) -> int:
        return int(law(self.name).url_shares.shape[1])

    def texts(self, ids: Ids) -> list[Record]:
        """What these records say."""
        ranks, places = np.divmod(self._counted[0][ids], self._width)
        texts = vocabulary(self.name)
        return list(zip(texts.queries(ranks).to_pylist(), texts.urls(ranks, places).to_pylist(), strict=True))

    def truth(self) -> Truth:
        """The probability of every record."""
        codes, counts = self._counted
        record = counts / self.users
        _, query_id = np.unique(codes // self._width, return_inverse=True)
        return Truth(record, query_id, np.bincount(query_id, weights=record).astype(np.float64))
