"""The exact channels of the vectors, cell by cell, are those of the code that devices run, on every path of a draw."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from blendp.conformance.vectors import GOOD, Vector, own_vectors, read_vectors
from blendp.mechanisms import TwoStage
from blendp.privacy import Budget
from blendp.randomness import Random
from blendp.reports import apart_randomiser, subset_randomiser, two_stage_randomiser
from tests.support import branches


def vectors(kind: str) -> list[Vector]:
    (file,) = [file for file in read_vectors(own_vectors()) if (file.group, file.kind) == (GOOD, kind)]
    return list(file.vectors)


def law(draw: Callable[[Random], int]) -> dict[int, Fraction]:
    """The exact probability of every outcome of a draw."""
    probabilities: defaultdict[int, Fraction] = defaultdict(Fraction)
    for outcome, probability in branches(draw):
        probabilities[outcome] += probability
    assert sum(probabilities.values()) == 1
    return probabilities


def require(table: Mapping[str, list[str]], inputs: int, number_of: Callable[[str], int], draw: Any) -> None:
    """Raise unless every column of the table is the law of a draw for that input."""
    for carried in range(inputs):
        probabilities = law(lambda random, carried=carried: draw(carried, random))  # type: ignore[misc]
        for report, row in table.items():
            assert Fraction(row[carried]) == probabilities.pop(number_of(report), Fraction(0)), (report, carried)
        assert not probabilities, "a report that the table does not know"


def test_all_numbers_of_items_up_to_seven_are_there() -> None:
    for kind in ("channel-subset", "channel-apart"):
        assert {vector.input["items"] for vector in vectors(kind)} == set(range(1, 8))
    assert max(sum(vector.input["cells_per_query"]) for vector in vectors("channel-two-stage")) == 7


@pytest.mark.parametrize("vector", vectors("channel-subset"), ids=lambda vector: vector.name)
def test_subset_selection(vector: Vector) -> None:
    randomiser = subset_randomiser(vector.input["epsilon"], vector.input["items"])

    def draw(carried: int, random: Random) -> int:
        return int.from_bytes(randomiser.encode(randomiser.draw([carried], random)[0].nonzero()[0].tolist()), "big")

    require(vector.expected, vector.input["items"], lambda report: int(report, 16), draw)


@pytest.mark.parametrize("vector", vectors("channel-apart"), ids=lambda vector: vector.name)
def test_wildcard_apart(vector: Vector) -> None:
    randomiser = apart_randomiser(vector.input["epsilon"], vector.input["items"])

    def draw(carried: int, random: Random) -> int:
        return int.from_bytes(randomiser.encode(randomiser.draw([carried], random)[0].nonzero()[0].tolist()), "big")

    require(vector.expected, vector.input["items"], lambda report: int(report, 16), draw)


@pytest.mark.parametrize("vector", vectors("channel-two-stage"), ids=lambda vector: vector.name)
def test_two_stages(vector: Vector) -> None:
    given = vector.input
    cells = np.array(given["cells_per_query"])
    randomiser = two_stage_randomiser(Budget(given["epsilon"], given["delta"]), cells, given["query_share"])

    require(vector.expected, int(cells.sum()), int, partial(_drawn_cell, randomiser))


def shapes(max_cells: int) -> list[list[int]]:
    """Every number of cells in each row, up to so many cells; the row of <*,*> comes last and has one."""
    some: list[list[int]] = [[]]
    complete = []
    for rows in some:
        complete.append([*rows, 1])
        some += [[*rows, cells] for cells in range(1, max_cells - sum(rows))]
    return complete


def _drawn_cell(randomiser: TwoStage, own: int, random: Random) -> int:
    return int(randomiser.draw([own], random)[0])


def test_every_shape_has_the_channel_of_the_rule() -> None:
    """R10: own cell t t_q, another of the row t (1 - t_q) / (k_q - 1), another row's (1 - t) / ((k - 1) k_q)."""
    every = shapes(7)
    assert len(every) == 2**6
    for rows in every:
        randomiser = two_stage_randomiser(Budget(0.7, 1e-3), np.array(rows), 0.4)
        coins = [Fraction(coin, 1 << 53) for coin in (randomiser.query_coin, *randomiser.url_coins.tolist())]
        t, row_of = coins[0], [row for row, cells in enumerate(rows) for _ in range(cells)]
        for own, row in enumerate(row_of):
            probabilities = law(partial(_drawn_cell, randomiser, own))
            for cell, other in enumerate(row_of):
                if cell == own:
                    expected = t * coins[1 + row]
                elif other == row:
                    expected = t * (1 - coins[1 + row]) / (rows[row] - 1)
                else:
                    expected = (1 - t) / ((len(rows) - 1) * rows[other])
                assert probabilities[cell] == expected, (rows, own, cell)
