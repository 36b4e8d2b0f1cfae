"""Laws, perturbations and promises that cannot be: each is refused with a sentence that says why."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

from blendp.errors import ParameterError
from blendp.survey import (
    AnyLaw,
    Box,
    Clusters,
    Edge,
    Joint,
    Perturbation,
    Promise,
    SurveyParameters,
    Tree,
    assign,
    design,
    udldp_loss,
)

EVEN = [[0.25, 0.25], [0.25, 0.25]]
SAME = [[0.5, 0.0], [0.0, 0.5]]


@pytest.mark.parametrize(
    ("first", "second", "correlation"), [(0.5, 0.5, 0.3), (0.1, 0.2, 0.6), (0.3, 0.3, 1.0), (0.3, 0.7, -1.0)]
)
def test_two_attributes_have_the_frequencies_and_correlation_asked_for(
    first: float, second: float, correlation: float
) -> None:
    table = Joint.of_pair(first, second, correlation).probabilities
    assert table.sum() == pytest.approx(1)
    assert table[1].sum() == pytest.approx(first)
    assert table[:, 1].sum() == pytest.approx(second)
    deviation = math.sqrt(first * (1 - first) * second * (1 - second))
    assert (table[1, 1] - first * second) / deviation == pytest.approx(correlation)


@pytest.mark.parametrize(
    ("first", "second", "correlation"), [(0.1, 0.5, 0.9), (0.1, 0.5, -0.9), (0.2, 0.9, 0.5), (0.05, 0.05, -0.5)]
)
def test_a_correlation_that_no_two_attributes_have_is_refused_with_the_range_they_can_have(
    first: float, second: float, correlation: float
) -> None:
    deviation = math.sqrt(first * (1 - first) * second * (1 - second))
    low = (max(0.0, first + second - 1) - first * second) / deviation
    high = (min(first, second) - first * second) / deviation
    legal = f"from {low:.4g} to {high:.4g} for frequencies {first:g} and {second:g}"
    with pytest.raises(ParameterError, match=re.escape(legal)):
        Joint.of_pair(first, second, correlation)
    for possible in (low * 0.9999, high * 0.9999):
        assert Joint.of_pair(first, second, possible).sizes == (2, 2)
    for impossible in (low - 1e-6, high + 1e-6):
        with pytest.raises(ParameterError, match="correlation"):
            Joint.of_pair(first, second, impossible)


@pytest.mark.parametrize("correlation", [1.2, -1.0001, math.nan, math.inf, "1"])
def test_a_correlation_beyond_1_is_refused(correlation: float) -> None:
    with pytest.raises(ParameterError, match=r"correlation = .* a number from -1 to 1"):
        Joint.of_pair(0.5, 0.5, correlation)


@pytest.mark.parametrize("frequency", [0.0, 1.0, -0.1, 1.1, math.nan])
def test_frequencies_of_nobody_and_everybody_are_refused(frequency: float) -> None:
    with pytest.raises(ParameterError, match=r"first = .* above 0 and below 1"):
        Joint.of_pair(frequency, 0.5, 0.0)
    with pytest.raises(ParameterError, match=r"second = .* above 0 and below 1"):
        Joint.of_pair(0.5, frequency, 0.0)


def test_tables_that_are_no_law_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"values of attribute 1 = 1 .* at least 2"):
        Joint(np.array([[0.5], [0.5]]))
    for table in ([0.5, 0.4], [0.5, 0.5 + 1e-6], [1.5, -0.5], [math.nan, 1.0], [[0.5, 0.5], [0.5, 0.5]], 1.0):
        with pytest.raises(ParameterError, match="at least 0 that sum to 1"):
            Joint(np.array(table))
    with pytest.raises(ParameterError, match=r"value 2 of attribute 1 = 0.0 .* above 0"):
        Joint(np.array([[0.25, 0.25, 0.0], [0.25, 0.25, 0.0]]))
    with pytest.raises(ParameterError, match="at most 65536 cells"):
        Joint(np.full((2,) * 17, 2.0**-17))
    assert Joint(np.full((2,) * 16, 2.0**-16)).sizes == (2,) * 16


def test_a_law_cannot_be_changed_afterwards() -> None:
    given = np.array(EVEN)
    joint = Joint(given)
    given[0, 0] = 7
    assert joint.probabilities[0, 0] == 0.25
    with pytest.raises(ValueError, match="read-only"):
        joint.probabilities[0, 0] = 1


def test_independent_attributes_are_the_product_of_their_frequencies() -> None:
    joint = Joint.independent([0.2, 0.8], [0.1, 0.2, 0.7])
    assert joint.probabilities == pytest.approx(np.outer([0.2, 0.8], [0.1, 0.2, 0.7]))


def test_trees_that_are_none_are_refused() -> None:
    circle = {(0, 1): EVEN, (1, 2): EVEN, (2, 0): EVEN}
    with pytest.raises(ParameterError, match=r"edges = \(2, 0\) .* not connected otherwise"):
        Tree.of_tables((2, 2, 2), circle)
    with pytest.raises(ParameterError, match="not connected otherwise"):
        Tree((2, 2), (Edge.of_table(0, 0, EVEN),))
    with pytest.raises(ParameterError, match="not connected otherwise"):
        Tree((2, 2), (Edge.of_table(0, 5, EVEN),))
    with pytest.raises(ParameterError, match="a row and a column for each value"):
        Tree.of_tables((2, 3), {(0, 1): EVEN})
    with pytest.raises(ParameterError, match="a law for every value of both"):
        Tree((2, 3), (Edge.of_table(0, 1, EVEN),))
    with pytest.raises(ParameterError, match="agree on the frequencies of a shared attribute"):
        Tree.of_tables((2, 2, 2), {(0, 1): EVEN, (1, 2): [[0.1, 0.2], [0.3, 0.4]]})
    with pytest.raises(ParameterError, match="values of attribute 1 = 1"):
        Tree.of_tables((2, 1), {(0, 1): [[0.5], [0.5]]})
    with pytest.raises(ParameterError, match="hidden = 2"):
        Tree((2, 2), (), hidden=2)
    with pytest.raises(ParameterError, match="hidden = -1"):
        Tree((2, 2), (), hidden=-1)


@pytest.mark.parametrize(
    "table",
    [[[0.5, 0.0], [0.5, 0.0]], [[0.0, 0.0], [0.5, 0.5]], [[-0.1, 0.6], [0.2, 0.3]], [[math.nan, 1], [1, 1]], []],
)
def test_tables_of_neighbours_that_are_no_law_are_refused(table: list[list[float]]) -> None:
    with pytest.raises(ParameterError, match="table of attributes 0 and 1"):
        Edge.of_table(0, 1, table)


@pytest.mark.parametrize("tables", [{(0, 5): EVEN}, {(0, 1): np.full((2, 3), 1 / 6), (1, 2): EVEN}])
def test_tables_of_attributes_that_do_not_exist_are_refused(tables: dict[tuple[int, int], list[list[float]]]) -> None:
    with pytest.raises(ParameterError, match=r"edges|tables"):
        Tree.of_tables((2, 2, 2), tables)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ([[0.6, 0.6]], [[0.7, 0.7]]),
        ([[0.1, 0.1]], [[0.4, 0.4]]),
        ([[0.5, 0.4]], [[0.4, 0.6]]),
        ([[-0.1, 0.4]], [[0.4, 0.6]]),
        ([[0.1, 0.4]], [[0.4, 1.6]]),
        ([0.5, 0.5], [0.5, 0.5]),
        ([[math.nan, 0.5]], [[0.5, 0.5]]),
    ],
)
def test_boxes_that_hold_no_law_are_refused(low: list[list[float]], high: list[list[float]]) -> None:
    with pytest.raises(ParameterError, match="low <= high with a law between them"):
        Box(np.array(low), np.array(high))


def test_boxes_are_tightened_by_what_they_imply() -> None:
    box = Box(np.array([[0.2, 0.3]]), np.array([[0.9, 0.9]]))
    assert box.low == pytest.approx(np.array([[0.2, 0.3]]))
    assert box.high == pytest.approx(np.array([[0.7, 0.8]]))
    box = Box(np.array([[0.0, 0.0, 0.1]]), np.array([[0.3, 0.2, 1.0]]))
    assert box.low == pytest.approx(np.array([[0.0, 0.0, 0.5]]))
    assert box.high == pytest.approx(np.array([[0.3, 0.2, 1.0]]))


@pytest.mark.parametrize("correlation", [-0.1, 1.2, math.nan])
def test_a_hidden_cause_gives_no_negative_correlation(correlation: float) -> None:
    with pytest.raises(ParameterError, match=r"correlation = .* a number from 0 to 1"):
        Tree.equicorrelated(3, correlation)


def test_a_hidden_cause_needs_attributes_of_two_values() -> None:
    with pytest.raises(ParameterError, match="attributes = 0"):
        Tree.equicorrelated(0, 0.5)
    with pytest.raises(ParameterError, match="sizes = 1"):
        Tree.equicorrelated(2, 0.5, sizes=1)


def test_clusters_share_out_the_attributes() -> None:
    law = Joint(np.array(EVEN))
    for parts in ((((0, 1), law), ((1, 2), law)), (((0, 2), law),), (((0, 1, 2), law),)):
        with pytest.raises(ParameterError, match="every attribute from 0 on in one cluster"):
            Clusters(parts)


@pytest.mark.parametrize("epsilons", [(-0.1, 1.0), (1.0, 50.1), (math.nan, 1.0), (math.inf, 1.0), (1.0,), (1.0,) * 3])
def test_perturbations_out_of_range_are_refused(epsilons: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match=r"epsilons = .* 2 numbers from 0 to 50"):
        Perturbation(epsilons, (2, 2))


@pytest.mark.parametrize(("truth", "m"), [(0.49, 2), (1.0, 2), (1.1, 2), (0.3, 3), (math.nan, 2)])
def test_truths_out_of_range_are_refused(truth: float, m: int) -> None:
    with pytest.raises(ParameterError, match=f"truths = .* from 1/{m} to 1"):
        Perturbation.of_truth([truth], [m])


def test_perturbations_of_another_law_are_refused() -> None:
    with pytest.raises(ParameterError, match="values of attribute 0 = 1"):
        Perturbation((1.0,), (1,))
    for model in (Joint(np.array(EVEN)), Tree.equicorrelated(2, 0.5), AnyLaw((2, 2))):
        with pytest.raises(ParameterError, match=r"perturbation = \(2, 3\) .* \(2, 2\) values"):
            udldp_loss(model, Perturbation((1.0, 1.0), (2, 3)))


def test_a_tree_is_written_as_a_table_only_if_it_is_known_and_small() -> None:
    unknown = Box(np.zeros((2, 2)), np.ones((2, 2)))
    for tree in (
        Tree((2, 2), (Edge(0, 1, unknown, unknown),), margins=(np.full(2, 0.5),) * 2),
        Tree((2, 2), (Edge.of_table(0, 1, SAME),)),
        Tree.equicorrelated(17, 0.5),
    ):
        with pytest.raises(ParameterError, match="at most 65536 cells"):
            tree.joint()


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Promise(0.0), "epsilon = 0.0"),
        (lambda: Promise(51.0), "epsilon = 51.0"),
        (lambda: Promise(math.nan), "epsilon"),
        (lambda: Promise(1.0, 0.5), "record_epsilon = 0.5 .* at least epsilon, 1"),
        (lambda: SurveyParameters(epsilon=0), "epsilon"),
        (lambda: SurveyParameters(delta=0.0), "delta"),
        (lambda: SurveyParameters(delta=1.0), "delta"),
        (lambda: SurveyParameters(method="other"), "method .* one of cbps, cbp, split, sample, rsfd"),
        (lambda: SurveyParameters(record_epsilon=0.5), "record_epsilon"),
        (lambda: SurveyParameters(confidence=0.4), "confidence"),
        (lambda: SurveyParameters(confidence=1.0), "confidence"),
        (lambda: SurveyParameters(group=0), "group = 0 .* at least 1"),
        (lambda: SurveyParameters(group=2, method="cbp"), "unless it is cbps"),
    ],
)
def test_parameters_out_of_range_are_refused(make: Callable[[], object], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        make()


def test_designs_out_of_range_are_refused() -> None:
    model, promise = Tree.equicorrelated(3, 0.5), Promise(1.0)
    for group in (0, 4):
        with pytest.raises(ParameterError, match=f"group = {group} .* from 1 to 3"):
            design(model, 100, promise, group=group)
    with pytest.raises(ParameterError, match="unless it is cbps"):
        design(model, 100, promise, method="sample", group=1)
    with pytest.raises(ParameterError, match="method"):
        design(model, 100, promise, method="best")
    for clients in (0, -1, 1.5):
        with pytest.raises(ParameterError, match="clients"):
            design(model, clients, promise)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"clients = 2 .* at least 3"):
        design(model, 2, promise, method="sample")


def test_identifiers_of_the_wrong_shape_are_refused() -> None:
    for shape in ((9, 16), (10, 15), (160,)):
        with pytest.raises(ParameterError, match=r"identifiers = .* 10 rows of 16 bytes"):
            assign(np.zeros(shape, dtype=np.uint8), bytes(16), (4, 6))


def test_laws_that_contradict_each_other_are_refused() -> None:
    close = Box(np.array([[0.99, 0.01], [0.01, 0.99]]), np.array([[0.99, 0.01], [0.01, 0.99]]))
    even = Box(np.full((2, 2), 0.5), np.full((2, 2), 0.5))
    with pytest.raises(ParameterError, match="contradict"):
        Edge(0, 1, close, even)
    generator = np.random.default_rng(3)
    for _ in range(50):  # those of one table never are
        cells = generator.gamma(0.3, size=(3, 4)) * (generator.random((3, 4)) < 0.8) + np.eye(3, 4) * 1e-3
        if cells.sum(axis=0).min() > 0:
            Edge.of_table(0, 1, cells)
    Edge.of_table(0, 1, np.eye(3))


def test_bounds_stay_within_0_and_1_however_they_are_tightened() -> None:
    row = np.random.default_rng(1).dirichlet([1, 1, 1])
    for low in (row, row + 3e-10):
        box = Box(np.array([[*low, 0.0]]), np.array([[*low, 0.3]]))
        assert box.low.min() >= 0
        assert box.high.min() >= 0
