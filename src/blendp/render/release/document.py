"""A release read back from its signed document: the same tables and the same page, wherever it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from blendp.arrays import Array
from blendp.errors import ParameterError
from blendp.estimate import Blend, CrossCheck, GroupEstimate, Influence, Level
from blendp.headlist import HeadList
from blendp.methods import GroupSizes, Outcome, Parameters, Release
from blendp.methods.guarantee import Guarantee


class ReadRelease(Release):
    """A release whose probabilities are read as they were published."""

    def _published(self, blended: Blend) -> Array:
        return blended.probability


def groups_for_json(outcome: Outcome) -> dict[str, Any]:
    """What each group says by itself: of every cell, and of every query, in the order of the list."""
    return {
        name: {
            "users": group.users,
            "cells": _numbers(group.cells.probability),
            "queries": _numbers(group.queries.probability),
        }
        for name, group in (("opt_in", outcome.opt_in), ("client", outcome.client))
    }


def release_of_document(document: Mapping[str, Any], head_list: HeadList) -> Release:
    """The release that a document is about; raises :class:`ParameterError` if it is not complete."""
    try:
        return _read(document, head_list)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        remedy = "It needs another version of blendp."
        raise ParameterError("release", sorted(document), "a complete release document", remedy) from error


def _read(document: Mapping[str, Any], head_list: HeadList) -> Release:
    card, groups = document["card"], document["groups"]
    people = card["users"]
    guarantee = {name: value for name, value in card["guarantee"].items() if name != "statement"}
    check = card["cross_check"]
    queries: dict[str | None, int] = {entry.query: i for i, entry in enumerate(head_list.entries)}
    queries[None] = head_list.queries
    cells = [head_list.cell_of(row["query"], row["url"]) for row in document["estimates"]]
    return ReadRelease(
        parameters=Parameters(**card["parameters"]),
        groups=GroupSizes(people["opt_in_head_list"], people["opt_in_estimate"], people["client"]),
        guarantee=Guarantee(**guarantee),
        candidates=card["head_list"]["candidate_records"],
        head_list=head_list,
        opt_in=_group(groups["opt_in"]),
        client=_group(groups["client"]),
        cells=_blend(document["estimates"], cells),
        queries=_blend(document["trends"], [queries[row["query"]] for row in document["trends"]]),
        query_reporters=card["query_reporters"],
        check=None if check is None else _check(check),
        influence=tuple(Influence(**line) for line in card["influence"]),
    )


def _blend(rows: Sequence[Mapping[str, Any]], at: Sequence[int]) -> Blend:
    """The rows in the order of the list; a squared error has the error itself as its root, to the last digit."""
    if sorted(at) != list(range(len(rows))):
        raise ValueError("rows are missing, or there twice")
    names = ("probability", "std_error", "weight_opt_in", "low", "high")
    columns = {name: np.empty(len(rows)) for name in names}
    for row, place in zip(rows, at, strict=True):
        for name in names:
            columns[name][place] = _number(row[name])
    return Blend(
        columns["probability"], columns["std_error"] ** 2, columns["weight_opt_in"], columns["low"], columns["high"]
    )


def _group(value: Mapping[str, Any]) -> GroupEstimate:
    """Errors of single groups are in no document, and unknown."""
    levels = []
    for name in ("cells", "queries"):
        probability = np.array([_number(one) for one in value[name]], dtype=np.float64)
        unknown = np.full(len(probability), np.inf)
        levels.append(Level(probability, unknown, unknown.copy()))
    return GroupEstimate(value["users"], *levels)


def _check(value: Mapping[str, Any]) -> CrossCheck:
    return CrossCheck(np.array(value["z"], dtype=np.float64), value["statistic"], value["p_value"], value["kappa"])


def _numbers(values: Array) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)
