"""How far a design's frequencies are from the people's own, over repeated surveys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blendp.answers import Answers
from blendp.arrays import Array
from blendp.estimate import project_on_simplex
from blendp.randomness import SimulationRandom
from blendp.survey import Design, client_level, collect


@dataclass(frozen=True)
class DesignErrors:
    """Mean squared errors of clients' frequencies, one for every survey, over values and then attributes.

    where:
        raw        are those of the unbiased frequencies,
        projected  are those of frequencies that are projected on the simplex,
        predicted  is what the formula says of the first.
    """

    raw: tuple[float, ...]
    projected: tuple[float, ...]
    predicted: float


def squared_error(estimates: Sequence[Array], truth: Sequence[Array]) -> float:
    """The squared error over values and then attributes."""
    return float(np.mean([np.mean((estimate - true) ** 2) for estimate, true in zip(estimates, truth, strict=True)]))


def measure_design(answers: Answers, design: Design, runs: int, random: SimulationRandom) -> DesignErrors:
    """Ask the same people again and again."""
    truth = answers.frequencies()
    ends = np.cumsum(answers.sizes)[:-1]
    raw, projected = [], []
    for _ in range(runs):
        level = client_level(design, collect(design, answers.codes, random.spawn()))
        frequencies = np.split(level.probability, ends)
        raw.append(squared_error(frequencies, truth))
        projected.append(squared_error([project_on_simplex(each) for each in frequencies], truth))
    return DesignErrors(tuple(raw), tuple(projected), design.mean_squared_error(truth, among=answers.people))
