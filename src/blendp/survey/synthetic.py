"""People who do not exist, with answers that hang together as a model says. For experiments only."""

from __future__ import annotations

import numpy as np

from blendp.answers import Answers, Attribute, Questionnaire
from blendp.errors import ParameterError, require_count
from blendp.randomness import SimulationRandom
from blendp.survey.models.tree import Tree


def draw_answers(tree: Tree, people: int, random: SimulationRandom) -> Answers:
    """Answers of so many people, drawn from a known tree; questions are named a1, a2, ... and values 0, 1, ..."""
    require_count("people", people, min_value=1, remedy="Draw somebody.")
    if tree.margins is None or not tree.known:
        raise ParameterError("tree", tree.nodes, "known with its margins", "Make it with Tree.of_tables.")
    generator = random.generator
    codes: dict[int, np.ndarray] = {}

    def start(node: int) -> None:
        codes[node] = generator.choice(tree.nodes[node], size=people, p=tree.margins[node])  # type: ignore[index]

    for parent, child, edge in tree.downwards:
        if parent not in codes:
            start(parent)
        steps = edge.toward(parent).low.cumsum(axis=1)
        uniform = generator.random(people)
        codes[child] = np.minimum((uniform[:, None] >= steps[codes[parent]]).sum(axis=1), tree.nodes[child] - 1)
    for node in range(len(tree.sizes)):
        if node not in codes:
            start(node)
    attributes = tuple(
        Attribute(f"a{j + 1}", tuple(str(value) for value in range(size))) for j, size in enumerate(tree.sizes)
    )
    table = np.stack([codes[j] for j in range(len(tree.sizes))], axis=1)
    return Answers(Questionnaire(attributes), table.astype(np.int32))
