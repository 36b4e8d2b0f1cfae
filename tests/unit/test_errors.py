"""Messages are for people: plain numbers, and no endless values."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from blendp import Budget, HeadList, ParameterError, Parameters, SurveyParameters
from blendp.answers import Answers, Attribute, Questionnaire
from blendp.logs.synthetic import population
from blendp.mechanisms import DiscreteLaplace, RoundedGaussian
from blendp.privacy import gaussian
from blendp.randomness import SimulationRandom


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.float64(-1.5), "-1.5"),
        (np.int64(-1), "-1"),
        (np.bool_(True), "True"),
        (np.str_("x"), "'x'"),
        (np.array([1.5, 2]), "[1.5, 2.0]"),
        ([np.int32(1), (np.float32(0.5), "a")], "[1, (0.5, 'a')]"),
        ({"a": np.int8(1)}, "{'a': 1}"),
        (Fraction(1, 3), "Fraction(1, 3)"),
        (None, "None"),
        (b'{"a": [', """'{"a": ['"""),
        (b"\xff", r"'\\xff'"),
        ("\x1b[31m\u202e", r"'\x1b[31m\u202e'"),
    ],
)
def test_values_are_shown_as_python_writes_them_without_numpy(value: object, shown: str) -> None:
    error = ParameterError("x", value, "another", "Do that.")
    assert str(error) == f"x = {shown} is not allowed: it must be another. Do that."
    assert type(error.value).__module__ != "numpy"


def test_no_row_of_a_table_stands_in_a_message() -> None:
    message = str(ParameterError("x", pd.DataFrame({"user": ["Ada", "Bob"]}), "another", "Do that."))
    assert message == "x = 'DataFrame' is not allowed: it must be another. Do that."


def test_a_long_value_is_cut_in_its_middle() -> None:
    message = str(ParameterError("x", np.arange(10_000), "another", "Do that."))
    assert message.startswith("x = [0, 1, 2, ")
    assert "…" in message
    assert "9998, 9999] is not allowed" in message
    assert len(message) < 300


QUESTIONS = Questionnaire((Attribute("a", ("x", "y")),))

CALLS: list[Callable[[], object]] = [
    lambda: Parameters(epsilon=np.float64(-1)),
    lambda: Parameters(delta=np.float64(2)),
    lambda: Parameters(size=np.int64(-3)),  # type: ignore[arg-type]
    lambda: Parameters(opt_in_records=np.int64(-3)),  # type: ignore[arg-type]
    lambda: Parameters(head_list_share=np.float32(3)),  # type: ignore[arg-type]
    lambda: Parameters(query_share=np.float32(3)),  # type: ignore[arg-type]
    lambda: Budget(np.float64(0), np.float64(0)),
    lambda: SurveyParameters(epsilon=np.float64(np.nan)),
    lambda: HeadList(((np.int64(1), ()),), levels=np.int64(3)),  # type: ignore[arg-type]
    lambda: population("aol", np.int64(-1)),  # type: ignore[arg-type]
    lambda: RoundedGaussian(np.float64(-1)),  # type: ignore[arg-type]
    lambda: DiscreteLaplace(np.float64(-1)),  # type: ignore[arg-type]
    lambda: gaussian.gaussian_mu(np.float64(-1), np.float64(2)),
    lambda: Answers(QUESTIONS, np.array([[7]]), None),
    lambda: SimulationRandom(np.int64(-1)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_no_message_has_a_type_of_numpy(number: int) -> None:
    with pytest.raises(ParameterError) as caught:
        CALLS[number]()
    assert not any(word in str(caught.value) for word in ("np.", "numpy", "array("))


def test_a_number_that_would_do_is_told_from_one_that_would_not() -> None:
    with pytest.raises(ParameterError, match=r"size = 50 .*convert it with int\(\)"):
        Parameters(size=np.int64(50))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"size = -3 .*keeps all"):
        Parameters(size=np.int64(-3))  # type: ignore[arg-type]
