"""Model files: what is written is read again; anything else gets one sentence."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blendp.answers import Attribute, Questionnaire
from blendp.errors import ParameterError
from blendp.survey import Box, Edge, Joint, Perturbation, Tree, udldp_loss
from blendp.survey.models.files import model_from_bytes, model_to_bytes

ASKED = Questionnaire((Attribute("smokes", ("no", "yes")), Attribute("région", ("a", "b", "c"))))


def questions(sizes: tuple[int, ...]) -> Questionnaire:
    return Questionnaire(
        tuple(Attribute(f"q{j}", tuple(str(value) for value in range(size))) for j, size in enumerate(sizes))
    )


@st.composite
def known_trees(draw: st.DrawFn) -> Tree:
    """Trees of known tables that agree, perhaps through a hidden cause."""
    if draw(st.booleans()):
        return Tree.equicorrelated(draw(st.integers(1, 5)), draw(st.floats(0, 0.99)), draw(st.integers(2, 4)))
    sizes = tuple(draw(st.lists(st.integers(2, 4), min_size=2, max_size=4)))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    chain: dict[tuple[int, int], Any] = {}
    margin = generator.dirichlet(np.ones(sizes[0]))
    for j in range(1, len(sizes)):
        table = margin[:, None] * generator.dirichlet(np.ones(sizes[j]), sizes[j - 1])
        chain[j - 1, j] = table
        margin = table.sum(axis=0)
    return Tree.of_tables(sizes, chain)


@st.composite
def boxed_trees(draw: st.DrawFn) -> Tree:
    """Trees of laws that are only bounded, as learnt ones are."""
    known = draw(known_trees())
    slack = draw(st.floats(0, 0.3))

    def widened(box: Box) -> Box:
        return Box(np.clip(box.low - slack, 0, 1), np.clip(box.high + slack, 0, 1))

    edges = tuple(
        Edge(edge.first, edge.second, widened(edge.second_given_first), widened(edge.first_given_second))
        for edge in known.edges
    )
    return Tree(known.nodes, edges, hidden=known.hidden)


@given(st.one_of(known_trees(), boxed_trees()))
@settings(max_examples=60, deadline=None)
def test_trees_come_back(tree: Tree) -> None:
    asked = questions(tree.sizes)
    data = model_to_bytes(tree, asked)
    again = model_from_bytes(data, asked)
    assert isinstance(again, Tree)
    assert (again.nodes, again.hidden, len(again.edges)) == (tree.nodes, tree.hidden, len(tree.edges))
    for one, other in zip(tree.edges, again.edges, strict=True):
        assert (one.first, one.second) == (other.first, other.second)
        for a, b in (
            (one.second_given_first, other.second_given_first),
            (one.first_given_second, other.first_given_second),
        ):
            np.testing.assert_allclose(a.low, b.low, atol=1e-12)
            np.testing.assert_allclose(a.high, b.high, atol=1e-12)
    assert (tree.margins is None) == (again.margins is None)
    assert again.known == tree.known
    perturbation = Perturbation((0.7,) * len(tree.sizes), tree.sizes)
    np.testing.assert_allclose(
        udldp_loss(again, perturbation).by_attribute, udldp_loss(tree, perturbation).by_attribute, rtol=1e-9
    )
    if tree.known:
        assert model_to_bytes(again, asked) == data


@given(st.integers(0, 2**32), st.lists(st.integers(2, 4), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_tables_come_back_bit_by_bit(seed: int, sizes: list[int]) -> None:
    cells = np.random.default_rng(seed).dirichlet(np.ones(int(np.prod(sizes)))).reshape(sizes)
    joint, asked = Joint(cells), questions(tuple(sizes))
    again = model_from_bytes(model_to_bytes(joint, asked), asked)
    assert isinstance(again, Joint)
    assert (again.probabilities == joint.probabilities).all()


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.binary(max_size=80) | VALUES.map(lambda value: json.dumps(value).encode()))
@settings(max_examples=200, deadline=None)
def test_noise_is_refused_in_a_sentence(data: bytes) -> None:
    unlike, no_document = "is not allowed: it must be ", r"is not a JSON document in UTF-8: .+\. Take a model\.json"
    with pytest.raises(ParameterError, match=f"{unlike}|{no_document}"):
        model_from_bytes(data, ASKED)


def tree_document() -> dict[str, Any]:
    tree = Tree.of_tables((2, 3), {(0, 1): [[0.3, 0.1, 0.1], [0.1, 0.1, 0.3]]})
    document: dict[str, Any] = json.loads(model_to_bytes(tree, ASKED))
    return document


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [path, *(inner_path for key, item in inner for inner_path in places(item, (*path, key)))]


@given(st.data(), VALUES)
@settings(max_examples=200, deadline=None)
def test_a_document_with_any_part_replaced_is_a_model_or_refused(data: st.DataObject, part: Any) -> None:
    document: Any = tree_document()
    path = data.draw(st.sampled_from(places(document)))
    if path:
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        parent[path[-1]] = part
    else:
        document = part
    with suppress(ParameterError):
        assert model_from_bytes(json.dumps(document).encode(), ASKED).sizes == ASKED.sizes


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "forest"}, "kind of the model = 'forest'"),
        ({"more": 1}, "keys of model"),
        ({"attributes": ["smokes", "region"]}, "the questions of the survey in their order (smokes, région)"),
        ({"hidden": [1]}, "hidden causes"),
        ({"hidden": 3}, "hidden causes"),
        ({"edges": {}}, "edges = 'dict'"),
        ({"edges": [{}]}, "keys of edge 1"),
        ({"margins": [[0.5, 0.5]]}, "margins"),
        ({"margins": [[0.5, 0.6], [0.4, 0.2, 0.4]]}, "margin 1"),
        ({"margins": [[0.9, 0.1], [0.4, 0.2, 0.4]]}, "the same law in both directions"),
        ({"margins": [[float("nan"), 0.5], [0.4, 0.2, 0.4]]}, "number in the model = 'NaN'"),
    ],
)
def test_every_mistake_has_its_sentence(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError) as raised:
        model_from_bytes(json.dumps({**tree_document(), **change}).encode(), ASKED)
    assert says in str(raised.value)


def test_mistakes_within_an_edge_have_theirs() -> None:
    for change, says in (
        ({"first": "drinks"}, "first of edge 1 = 'drinks'"),
        ({"second": 0}, "second of edge 1 = 0"),
        ({"second": True}, "second of edge 1 = True"),
        ({"second": "smokes"}, "edge 1"),
        ({"second_given_first": {"low": [[0.5, 0.5]], "high": []}}, "of the shape 2 x 3"),
        ({"second_given_first": {"low": [["1", 0, 0]] * 2, "high": [[1, 0, 0]] * 2}}, "finite numbers"),
        ({"second_given_first": {"low": [[10**400, 0, 0]] * 2, "high": [[1, 0, 0]] * 2}}, "a number of many digits"),
        ({"second_given_first": {"low": [[0.6, 0.6, 0.0]] * 2, "high": [[1, 1, 1]] * 2}}, "bounds"),
    ):
        document = tree_document()
        document["edges"][0] |= change
        with pytest.raises(ParameterError) as raised:
            model_from_bytes(json.dumps(document).encode(), ASKED)
        assert says in str(raised.value)


def test_doubled_keys_and_other_questions_are_refused() -> None:
    with pytest.raises(ParameterError, match="distinct keys"):
        model_from_bytes(b'{"kind": "tree", "kind": "joint"}', ASKED)
    with pytest.raises(ParameterError, match="other questions"):
        model_to_bytes(Tree.equicorrelated(3, 0.2), ASKED)
    with pytest.raises(ParameterError, match="JSON"):
        model_from_bytes(b"[" * 100_000, ASKED)
