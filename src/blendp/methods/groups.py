"""Who is in which group. People are drawn without looking at their records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blendp.arrays import describe_marks
from blendp.errors import ParameterError, require_number
from blendp.randomness import Random


@dataclass(frozen=True)
class GroupSizes:
    """How many people took part; these numbers are public."""

    head_list: int
    """|S|: opt-in users whose records made the list."""

    estimate: int
    """|T|: opt-in users whose records were counted for the estimates."""

    client: int
    """|C|: clients."""

    @property
    def opt_in(self) -> int:
        """|O| = |S| + |T|."""
        return self.head_list + self.estimate

    @property
    def people(self) -> int:
        """Everybody: |O| + |C|."""
        return self.opt_in + self.client

    def to_dict(self) -> dict[str, int]:
        """As plain values, for JSON."""
        return {
            "opt_in": self.opt_in,
            "opt_in_head_list": self.head_list,
            "opt_in_estimate": self.estimate,
            "client": self.client,
        }

    def __str__(self) -> str:
        """One line for people."""
        parts = f" ({self.head_list:,} list + {self.estimate:,} estimate)" if self.estimate else ""
        return f"{self.opt_in:,} opt-in{parts}, {self.client:,} clients"


@dataclass(frozen=True, eq=False)
class Groups:
    """The people of the three groups, as positions in the log's user order."""

    head_list: NDArray[np.int64]
    estimate: NDArray[np.int64]
    client: NDArray[np.int64]

    @property
    def sizes(self) -> GroupSizes:
        """How many are in each."""
        return GroupSizes(len(self.head_list), len(self.estimate), len(self.client))


def draw_groups(users: int, opt_in: float | NDArray[np.bool_], head_list_share: float, random: Random | None) -> Groups:
    """Split the users: a share drawn at random, or those who are marked, opt in; a share of those makes the list.

    Without ``random`` the users are in random order already: the first are taken.
    """
    if isinstance(opt_in, np.ndarray):
        if opt_in.shape != (users,) or opt_in.dtype != np.bool_:
            raise ParameterError(
                "opt_in",
                describe_marks(opt_in),
                f"a share, or an array of {users} times True or False",
                "Mark every user of the log.",
            )
        chosen = np.flatnonzero(opt_in)
    else:
        require_share(opt_in)
        chosen = _some(users, round(opt_in * users), random)
    makes_list = np.zeros(len(chosen), dtype=bool)
    makes_list[_some(len(chosen), round(head_list_share * len(chosen)), random)] = True
    is_client = np.ones(users, dtype=bool)
    is_client[chosen] = False
    return Groups(chosen[makes_list], chosen[~makes_list], np.flatnonzero(is_client))


def require_share(opt_in: object) -> None:
    """Raise unless this is a share of the users that leaves somebody in and somebody out.

    Whoever is told a share asks this before a row is read: a stream has its rows once, and a large log takes long.
    """
    require_number(
        "opt_in",
        opt_in,
        above=0,
        below=1,
        legal="a share above 0 and below 1",
        remedy="0.05 means that 5 % of the users opt in.",
    )


def _some(users: int, size: int, random: Random | None) -> NDArray[np.int64]:
    return np.arange(size, dtype=np.int64) if random is None else random.subset(users, size)
