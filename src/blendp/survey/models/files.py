"""A public model as a JSON document: written in one way only, read strictly.

An attribute is named by its text, a hidden cause by its place among the hidden causes (0, 1, ...).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from blendp.answers import MAX_ATTRIBUTES, MAX_VALUES, Questionnaire
from blendp.arrays import Array
from blendp.canonical import canonical_json
from blendp.errors import DocumentError, ParameterError
from blendp.survey.models.base import Model
from blendp.survey.models.joint import Joint
from blendp.survey.models.tree import Box, Edge, Tree

_REMEDY = "Take a model.json of a survey with the same questions in the same order, or write it like one."
_AGREE = 1e-6


def model_to_bytes(model: Tree | Joint, questionnaire: Questionnaire) -> bytes:
    """The canonical bytes: the same model gives the same bytes everywhere."""
    if model.sizes != questionnaire.sizes:
        raise ParameterError(
            "model", model.sizes, f"for attributes of {questionnaire.sizes} values", "It is about other questions."
        )
    value: dict[str, Any] = {"attributes": list(questionnaire.names)}
    if isinstance(model, Joint):
        value |= {"kind": "joint", "probabilities": model.probabilities.tolist()}
    else:
        names = _node_names(questionnaire, model.hidden)
        margins = None if model.margins is None else [margin.tolist() for margin in model.margins]
        edges = [
            {
                "first": names[edge.first],
                "second": names[edge.second],
                "second_given_first": _box_values(edge.second_given_first),
                "first_given_second": _box_values(edge.first_given_second),
            }
            for edge in model.edges
        ]
        hidden = list(model.nodes[len(questionnaire.names) :])
        value |= {"kind": "tree", "hidden": hidden, "edges": edges, "margins": margins}
    return canonical_json(value)


def model_from_bytes(data: bytes, questionnaire: Questionnaire) -> Model:
    """Read the JSON document of a model about these questions; anything else is refused in one sentence."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_members, parse_constant=_no_number)
    except ParameterError:
        raise
    except (ValueError, RecursionError) as error:
        raise DocumentError("model", data, "a JSON document in UTF-8", _REMEDY, error) from error
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind == "joint":
        joint = _object(value, "model", "kind", "attributes", "probabilities")
        _require_names(joint["attributes"], questionnaire)
        return Joint(_numbers(joint["probabilities"], questionnaire.sizes, "probabilities"))
    if kind == "tree":
        return _tree(_object(value, "model", "kind", "attributes", "hidden", "edges", "margins"), questionnaire)
    raise _unlike("kind of the model", kind, "tree or joint")


def _tree(document: dict[str, Any], questionnaire: Questionnaire) -> Tree:
    _require_names(document["attributes"], questionnaire)
    hidden = document["hidden"]
    fine = isinstance(hidden, list) and len(hidden) <= MAX_ATTRIBUTES
    if not fine or not all(type(size) is int and 2 <= size <= MAX_VALUES for size in hidden):
        raise _unlike(
            "hidden causes", hidden, f"a list of at most {MAX_ATTRIBUTES} whole numbers from 2 to {MAX_VALUES}"
        )
    nodes = (*questionnaire.sizes, *hidden)
    names = _node_names(questionnaire, len(hidden))
    if not isinstance(document["edges"], list):
        raise _unlike("edges", document["edges"], "a list")
    edges = tuple(_edge(item, number, nodes, names) for number, item in enumerate(document["edges"], 1))
    margins = None if document["margins"] is None else _margins(document["margins"], nodes)
    tree = Tree(nodes, edges, hidden=len(hidden), margins=margins)
    for number, edge in enumerate(edges, 1):
        _require_agreement(tree, edge, f"edge {number}")
    return tree


def _edge(value: Any, number: int, nodes: tuple[int, ...], names: Sequence[str | int]) -> Edge:
    where = f"edge {number}"
    item = _object(value, where, "first", "second", "second_given_first", "first_given_second")
    ends = []
    for end in ("first", "second"):
        ids = [node for node, name in enumerate(names) if type(name) is type(item[end]) and name == item[end]]
        if not ids:
            raise _unlike(f"{end} of {where}", item[end], "the name of an attribute, or the place of a hidden cause")
        ends.append(ids[0])
    shape = nodes[ends[0]], nodes[ends[1]]
    boxes = {}
    for name, size in (("second_given_first", shape), ("first_given_second", shape[::-1])):
        bounds = _object(item[name], f"{name} of {where}", "low", "high")
        low, high = (_numbers(bounds[side], size, f"{side} {name} of {where}") for side in ("low", "high"))
        boxes[name] = Box(low, high)
    return Edge(ends[0], ends[1], **boxes)


def _margins(value: Any, nodes: tuple[int, ...]) -> tuple[Array, ...]:
    if not isinstance(value, list) or len(value) != len(nodes):
        raise _unlike("margins", value, f"null, or {len(nodes)} lists of frequencies")
    margins = tuple(
        _numbers(item, (size,), f"margin {number}")
        for number, (item, size) in enumerate(zip(value, nodes, strict=True), 1)
    )
    for number, margin in enumerate(margins, 1):
        if abs(margin.sum() - 1) > _AGREE or (margin < 0).any():
            raise _unlike(f"margin {number}", float(margin.sum()), "frequencies of at least 0 that sum to 1")
    return margins


def _require_agreement(tree: Tree, edge: Edge, where: str) -> None:
    """Known laws in both directions have to be those of one table."""
    forward, backward = edge.second_given_first, edge.first_given_second
    if tree.margins is None or not (forward.known and backward.known):
        return
    one = tree.margins[edge.first][:, None] * forward.low
    other = (tree.margins[edge.second][:, None] * backward.low).T
    if np.abs(one - other).max() > _AGREE:
        raise _unlike(where, float(np.abs(one - other).max()), "the same law in both directions, with these margins")


def _node_names(questionnaire: Questionnaire, hidden: int) -> list[str | int]:
    return [*questionnaire.names, *range(hidden)]


def _box_values(box: Box) -> dict[str, Any]:
    """Both bounds; rounding may have let them pass each other, and then both are widened to hold either."""
    return {"low": np.minimum(box.low, box.high).tolist(), "high": np.maximum(box.low, box.high).tolist()}


def _require_names(value: Any, questionnaire: Questionnaire) -> None:
    if value != list(questionnaire.names):
        names = ", ".join(name[:40] for name in questionnaire.names[:5])
        more = ", ..." if len(questionnaire.names) > 5 else ""
        own_names = tuple(str(name)[:40] for name in value[:5]) if isinstance(value, list) else value
        raise _unlike(
            "attributes of the model", own_names, f"the questions of the survey in their order ({names}{more})"
        )


def _numbers(value: Any, shape: tuple[int, ...], where: str) -> Array:
    """Nested lists of finite numbers of exactly this shape."""
    flat: list[Any] = [value]
    for size in shape:
        for item in flat:
            if not isinstance(item, list) or len(item) != size:
                raise _unlike(where, item, f"lists of numbers of the shape {' x '.join(map(str, shape))}")
        flat = [inner for item in flat for inner in item]
    for item in flat:
        if type(item) not in (int, float) or not -1e9 < item < 1e9 or not math.isfinite(item):
            raise _unlike(where, item, "finite numbers")
    return np.array(flat, dtype=np.float64).reshape(shape)


def _object(value: Any, where: str, *keys: str) -> dict[str, Any]:
    """The object, if it has these keys and no others."""
    if not isinstance(value, dict):
        raise _unlike(where, value, f"an object with the keys {', '.join(keys)}")
    if set(value) != set(keys):
        own_keys = tuple(key[:40] for key in list(value)[:8])
        raise _unlike(f"keys of {where}", own_keys, f"{', '.join(keys)}, no fewer and no others")
    return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _unlike("model", tuple(key[:40] for key, _ in pairs[:8]), "objects with distinct keys")
    return members


def _no_number(text: str) -> float:
    raise _unlike("number in the model", text, "finite numbers")


def _unlike(parameter: str, value: Any, legal: str) -> ParameterError:
    """The error for a document that is no model, quoting little of it."""
    if isinstance(value, str):
        value = value[:40]
    elif isinstance(value, int) and not -(10**20) < value < 10**20:
        value = "a number of many digits"
    elif not isinstance(value, tuple | int | float | None):
        value = type(value).__name__
    return ParameterError(parameter, value, legal, _REMEDY)
