"""The clients' side: what one client sends, and what the reports of all say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from blendp.answers import AnswerSource
from blendp.errors import ParameterError
from blendp.estimate import Level
from blendp.lots import Lots, Part, Tables
from blendp.randomness import Random, ReleaseRandom, require_release
from blendp.survey.designs import Design
from blendp.survey.scheme import SurveyScheme, question_of

Supports = list[NDArray[np.int64]]


def respond(design: Design, group: int, record: Sequence[int], random: ReleaseRandom) -> tuple[tuple[int, ...], ...]:
    """What a client of this group sends: for every attribute of the group, the values that its report names.

    where:
        record  are the client's true values, a number for every attribute of the survey.

    Call it once for every survey and keep the result: a second draw would tell more.
    """
    require_release(random)
    if not 0 <= group < len(design.groups):
        raise ParameterError("group", group, f"from 0 to {len(design.groups) - 1}", "Take the client's own group.")
    scheme, question = SurveyScheme(design), question_of(group)
    return scheme.questions[question].decode(scheme.answer(question, record, random))


def collect(design: Design, codes: NDArray[np.int32], random: Random) -> Supports:
    """How many reports name each value of every attribute, if these are the clients.

    where:
        codes  is the true record of every client, a row each; a keyed hash of the row's number, under a fresh key,
               decides who is in which group.
    """
    scheme = SurveyScheme(design)
    return scheme.by_attribute(scheme.draw(codes, random))


def collect_counted(
    design: Design, answers: AnswerSource, lots: Lots, opt_in_people: int | None, random: Random
) -> Supports:
    """The same if clients are those of a table, who is in which group being decided by lots.

    where:
        opt_in_people  are those with the lowest lots, who are no clients; None: those whom the table says to opt in.
    """
    scheme = SurveyScheme(design)
    parts = scheme.parts(random)
    ends = [0, *accumulate(clients for clients, _ in parts)]
    if opt_in_people is None:
        borders, opts_in = answers.client_borders(lots, ends), False
    else:
        borders, opts_in = lots.borders(answers.people, [opt_in_people + end for end in ends]), None
    asked = [
        Tables(Part(low, high, opts_in), tuple((attribute,) for attribute in attributes))
        for low, high, (_, attributes) in zip(borders, borders[1:], parts, strict=False)
    ]
    return scheme.by_attribute(scheme.draw_counted(answers.tables(lots, asked), random))


def client_level(design: Design, supports: Supports) -> Level:
    """The frequencies of all attributes one after the other, without bias, with their exact variances.

    The variance formula of :meth:`Design.variances` is taken at the estimate, cut to [0, 1].
    """
    estimates: list[NDArray[np.float64]] = [np.empty(0)] * len(design.sizes)
    for group in design.groups:
        for rank, attribute in enumerate(group.attributes):
            counted = supports[attribute]
            if design.hidden is None:
                estimates[attribute] = group.randomisers[rank].estimate(counted, group.clients)
            else:
                estimates[attribute] = design.hidden.estimate(attribute, counted, group.clients)
    variances = design.variances([np.clip(each, 0.0, 1.0) for each in estimates])
    floors = design.variances([np.zeros(size) for size in design.sizes])
    return Level(np.concatenate(estimates), np.concatenate(variances), np.concatenate(floors))
