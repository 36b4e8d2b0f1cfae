"""Closed forms of errors against those of the randomisers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blendp.mechanisms import SubsetSelection
from blendp.survey.errors_of_reports import ReportErrors


@settings(max_examples=100)
@given(epsilon=st.floats(0.01, 8), m=st.integers(2, 60), single=st.booleans(), seed=st.integers(0, 1 << 32))
def test_errors_are_the_mean_variance_of_the_randomiser(epsilon: float, m: int, single: bool, seed: int) -> None:
    generator = np.random.default_rng(seed)
    f = generator.dirichlet(np.full(m, generator.choice([0.1, 1, 10])))
    errors, widths = ReportErrors((m,), (f,)).best(np.array([epsilon]), np.array([single]))
    assert widths[0] == 1 or not single
    error, randomiser = errors[0], SubsetSelection(epsilon, m, int(widths[0]))
    assert error == pytest.approx(randomiser.variance(f, 1).mean(), rel=1e-7)
    even = ReportErrors((m,)).of(np.array([epsilon]), np.array([single]))[0]
    assert even == pytest.approx(randomiser.variance(np.full(m, 1 / m), 1).mean(), rel=1e-7)
    assert even >= error - 1e-12


@settings(max_examples=100)
@given(epsilon=st.floats(0.01, 8), m=st.integers(2, 60), single=st.booleans(), seed=st.integers(0, 1 << 32))
def test_errors_are_the_least_mean_variance_of_both_sizes(epsilon: float, m: int, single: bool, seed: int) -> None:
    """From the probabilities of a report, for every size of subsets next to m/(e^epsilon + 1)."""
    generator = np.random.default_rng(seed)
    f = generator.dirichlet(np.full(m, generator.choice([0.1, 1, 10])))
    ideal = m / (math.exp(epsilon) + 1)
    smallest = math.inf
    for width in {1} if single else {min(max(w, 1), m - 1) for w in (math.floor(ideal), math.ceil(ideal))}:
        p = width * math.exp(epsilon) / (width * math.exp(epsilon) + m - width)
        q = (width - p) / (m - 1)
        each = [(x * p * (1 - p) + (1 - x) * q * (1 - q)) / (p - q) ** 2 + x * (1 - x) for x in f.tolist()]
        smallest = min(smallest, sum(each) / m)
    assert ReportErrors((m,), (f,)).of(np.array([epsilon]), np.array([single]))[0] == pytest.approx(smallest, rel=1e-7)


def test_many_rows_and_attributes_at_once() -> None:
    sizes, frequencies = (2, 3, 30), (np.array([0.1, 0.9]), np.array([0.2, 0.3, 0.5]), np.full(30, 1 / 30))
    errors = ReportErrors(sizes, frequencies)
    epsilons = np.array([[1.0, 2.0, 0.5], [0.3, 0.0, 4.0]])
    single = np.array([True, False, False])
    best_errors, widths = errors.best(epsilons, single)
    for row, each, width in zip(epsilons, best_errors, widths, strict=True):
        for j, m in enumerate(sizes):
            if row[j] == 0:
                assert each[j] == math.inf
            else:
                randomiser = SubsetSelection(float(row[j]), m, int(width[j]))
                assert each[j] == pytest.approx(randomiser.variance(frequencies[j], 1).mean(), rel=1e-9)


def test_noisy_frequencies_outside_0_and_1_are_cut() -> None:
    cut = ReportErrors((2,), (np.array([0.0, 1.0]),)).drawing
    assert ReportErrors((2,), (np.array([-0.3, 1.4]),)).drawing == pytest.approx(cut)
    assert cut == pytest.approx([0.0])
    assert ReportErrors((2,)).drawing == pytest.approx([0.25])


@settings(max_examples=100)
@given(epsilon=st.floats(0.01, 6), more=st.floats(0.01, 2), m=st.integers(2, 60), single=st.booleans())
def test_stronger_reports_leave_less_error(epsilon: float, more: float, m: int, single: bool) -> None:
    errors = ReportErrors((m,))
    weak, strong = (errors.of(np.array([e]), [single])[0] for e in (epsilon, epsilon + more))
    assert strong < weak
