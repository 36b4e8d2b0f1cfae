"""The clients' side: what one client sends, and what the reports of all say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from blendp.errors import ParameterError
from blendp.estimate import Level
from blendp.randomness import Random, ReleaseRandom, require_release
from blendp.survey.design import Design
from blendp.survey.grouping import assign, numbered

Supports = list[NDArray[np.int64]]


def respond(design: Design, group: int, record: Sequence[int], random: ReleaseRandom) -> tuple[tuple[int, ...], ...]:
    """What a client of this group sends: for every attribute of the group, the values that its report names.

    where:
        record  are the client's true values, a number for every attribute of the survey.

    Call it once for every survey and keep the result: a second draw would tell more.
    """
    require_release(random)
    codes = np.asarray(record)
    if codes.shape != (len(design.sizes),) or not all(0 <= v < m for v, m in zip(codes, design.sizes, strict=True)):
        raise ParameterError(
            "record", list(record), f"one value for each of {len(design.sizes)} attributes", "Count values from 0."
        )
    if not 0 <= group < len(design.groups):
        raise ParameterError("group", group, f"from 0 to {len(design.groups) - 1}", "Take the client's own group.")
    if design.hidden is not None:
        return tuple((int(value),) for value in design.hidden.release(codes[None], random)[0])
    asked = design.groups[group]
    return tuple(
        tuple(np.flatnonzero(randomiser.release(codes[[attribute]], random)[0]).tolist())
        for attribute, randomiser in zip(asked.attributes, asked.randomisers, strict=True)
    )


def collect(design: Design, codes: NDArray[np.int32], random: Random) -> Supports:
    """How many reports name each value of every attribute, if these are the clients.

    where:
        codes  is the true record of every client, a row each; a keyed hash of the row's number, under a fresh key,
               decides who is in which group.
    """
    if len(codes) != design.clients:
        raise ParameterError("codes", len(codes), f"{design.clients} records, the design's clients", "Design anew.")
    if design.hidden is not None:
        return design.hidden.supports(codes, random)
    supports: Supports = [np.zeros(size, dtype=np.int64) for size in design.sizes]
    key = random.words(2).tobytes()
    of_client = assign(numbered(len(codes)), key, [group.clients for group in design.groups])
    for number, group in enumerate(design.groups):
        rows = np.flatnonzero(of_client == number)
        for attribute, randomiser in zip(group.attributes, group.randomisers, strict=True):
            supports[attribute] = randomiser.supports(codes[rows, attribute], random)
    return supports


def client_level(design: Design, supports: Supports) -> Level:
    """The frequencies of all attributes one after the other, without bias, with their exact variances.

    The variance formula of :meth:`Design.variances` is taken at the estimate, cut to [0, 1].
    """
    estimates: list[NDArray[np.float64]] = [np.empty(0)] * len(design.sizes)
    for group in design.groups:
        for place, attribute in enumerate(group.attributes):
            counted = supports[attribute]
            if design.hidden is None:
                estimates[attribute] = group.randomisers[place].estimate(counted, group.clients)
            else:
                estimates[attribute] = design.hidden.estimate(attribute, counted, group.clients)
    variances = design.variances([np.clip(each, 0.0, 1.0) for each in estimates])
    floors = design.variances([np.zeros(size) for size in design.sizes])
    return Level(np.concatenate(estimates), np.concatenate(variances), np.concatenate(floors))
