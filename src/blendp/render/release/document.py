"""A release as a document: what is signed, and the release read back from it, with the same tables and page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from blendp._version import __version__
from blendp.arrays import Array
from blendp.errors import ParameterError
from blendp.estimate import CONFIDENCE, Blend, CrossCheck, GroupEstimate, Influence, Level
from blendp.headlist import HeadList
from blendp.methods import GroupSizes, Outcome, Parameters, Release, Row
from blendp.methods.guarantee import Guarantee
from blendp.methods.parameters import MANY
from blendp.render.about import About
from blendp.render.release.cautions import all_cautions
from blendp.wire.releases import write_release

_ROUNDING = 1e-6
"""By how much a sum of probabilities may miss 1."""

_REMEDY = "It is damaged, or needs another version of blendp."
_PARAMETERS = frozenset(field.name for field in fields(Parameters))


class ReadRelease(Release):
    """A release whose probabilities are read as they were published."""

    def _published(self, blended: Blend) -> Array:
        return blended.probability


def release_card(
    outcome: Outcome, source: Mapping[str, Any] | None = None, about: About | None = None
) -> dict[str, Any]:
    """What was done, to whom, with which guarantee: everything but the estimates, and nothing unprotected.

    ``about`` says what it is of; the card of a campaign has its terms for that.
    """
    return {
        "blendp": __version__,
        **({} if about is None else {"about": about.to_dict()}),
        "method": outcome.parameters.method,
        "parameters": {
            **outcome.parameters.to_dict(),
            **({} if outcome.reading is None else {"reading": dict(outcome.reading)}),
            **(source or {}),
        },
        "users": outcome.groups.to_dict(),
        "guarantee": outcome.guarantee.to_dict(),
        "delta_statement": f"{outcome.how_delta}.",
        "head_list": {
            "sha256": outcome.head_list.sha256,
            "levels": outcome.head_list.levels,
            "candidate_records": outcome.candidates,
            "records": outcome.head_list.records,
            "queries": outcome.head_list.queries,
            "many_records": outcome.many_records,
            "mean_records": outcome.mean_records,
            "dispersion": outcome.dispersion,
            "statement": outcome.how_listed,
        },
        "confidence": CONFIDENCE,
        "cautions": all_cautions(outcome),
        "identity_gap": outcome.identity_gap,
        "query_reporters": outcome.query_reporters,
        "query_reports": outcome.query_reports,
        "cross_check": None if outcome.check is None else outcome.check.to_dict(),
        "influence": [asdict(line) for line in outcome.influence],
    }


def release_document(
    outcome: Outcome,
    *,
    campaign: str,
    manifest_sha256: str,
    released: str,
    source: Mapping[str, Any] | None = None,
    about: About | None = None,
) -> bytes:
    """The canonical bytes of a release: the card, all estimates, and what they are bound to.

    Campaign and manifest are empty texts where there are none.
    """
    return write_release(
        campaign=campaign,
        manifest_sha256=manifest_sha256,
        released=released,
        card=release_card(outcome, source, about),
        estimates=rows_for_json(outcome.records()),
        trends=rows_for_json(outcome.trends()),
        groups=groups_for_json(outcome),
    )


def rows_for_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows as plain values; the wildcard and unknown numbers are null."""
    return [{name: _known(value) for name, value in asdict(row).items()} for row in rows]


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
        raise ParameterError("release", sorted(document), "a complete release document", _REMEDY) from error


def list_of_document(document: Mapping[str, Any]) -> HeadList:
    """The head list of a release, from its estimates; raises :class:`ParameterError` if it is not the one it names."""
    try:
        levels, name = document["card"]["head_list"]["levels"], document["card"]["head_list"]["sha256"]
        labels = [(row["query"], row["url"]) for row in document["estimates"]]
        listed = HeadList.of_records([label for label in labels if label[0] is not None], levels)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ParameterError("release", sorted(document), "a complete release document", _REMEDY) from error
    if listed.sha256 != name:
        raise ParameterError("release", name, f"about the list that it has ({listed.sha256})", _REMEDY)
    return listed


def _read(document: Mapping[str, Any], head_list: HeadList) -> Release:
    card, groups = document["card"], document["groups"]
    people = card["users"]
    guarantee = {name: value for name, value in card["guarantee"].items() if name != "statement"}
    check = card["cross_check"]
    queries: dict[str | None, int] = {entry.query: i for i, entry in enumerate(head_list.entries)}
    queries[None] = head_list.queries
    cells = [head_list.cell_of(row["query"], row["url"]) for row in document["estimates"]]
    parameters = _parameters(card["parameters"])
    return ReadRelease(
        parameters=parameters,
        groups=GroupSizes(people["opt_in_head_list"], people["opt_in_estimate"], people["client"]),
        guarantee=Guarantee(**guarantee),
        candidates=card["head_list"]["candidate_records"],
        head_list=head_list,
        opt_in=_group(groups["opt_in"]),
        client=_group(groups["client"]),
        cells=_blend(document["estimates"], cells, parameters.project),
        queries=_blend(document["trends"], [queries[row["query"]] for row in document["trends"]], parameters.project),
        query_reporters=card["query_reporters"],
        query_reports=card.get("query_reports"),
        check=None if check is None else _check(check),
        influence=tuple(Influence(**line) for line in card["influence"]),
        mean_records=card["head_list"].get("mean_records"),
        dispersion=card["head_list"].get("dispersion"),
        reading=card["parameters"].get("reading"),
    )


def _parameters(value: Mapping[str, Any]) -> Parameters:
    """The parameters of a card, where how the log was read stands beside them.

    Also of a card from before a list was made of all records of a person.
    """
    given = {name: each for name, each in value.items() if name in _PARAMETERS}
    if "list_budget" in value and given["method"] == "blendp" and given["opt_in_records"] != 1:
        given["opt_in_records"] = MANY
    return Parameters(**given)


def _blend(rows: Sequence[Mapping[str, Any]], at: Sequence[int], projected: bool) -> Blend:
    """The rows in the order of the list; a squared error has the error itself as its root, to the last digit.

    Raises :class:`ValueError` for numbers that no release has.
    """
    if sorted(at) != list(range(len(rows))):
        raise ValueError("rows are missing, or there twice")
    names = ("probability", "std_error", "weight_opt_in", "low", "high")
    columns = {name: np.empty(len(rows)) for name in names}
    for row, index in zip(rows, at, strict=True):
        for name in names:
            columns[name][index] = _number(row[name])
    probability, weight = columns["probability"], columns["weight_opt_in"]
    if (columns["std_error"] < 0).any() or (columns["low"] > columns["high"]).any() or (abs(weight - 0.5) > 0.5).any():
        raise ValueError("an error below 0, an interval without inside, or a weight that is none")
    if projected and ((probability < 0).any() or abs(probability.sum() - 1) > _ROUNDING):
        raise ValueError("probabilities below 0, or that do not sum to 1")
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
    z = np.array(value["z"], dtype=np.float64)
    return CrossCheck(z, value["statistic"], value["p_value"], value["kappa"], value.get("kappa_max"))


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _numbers(values: Array) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)
