"""Questionnaires and answers: what they refuse, their bytes, and their counts."""

from __future__ import annotations

import dataclasses
import json
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blendp import answers as module
from blendp.answers import MAX_ATTRIBUTES, MAX_VALUES, Answers, Attribute, Questionnaire
from blendp.errors import ParameterError

COLOUR = Attribute("colour", ("red", "green", "blue"))
SMOKES = Attribute("smokes", ("yes", "no"))
BOTH = Questionnaire((COLOUR, SMOKES))


def labels() -> st.SearchStrategy[str]:
    """Texts an attribute may hold."""
    return st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(lambda t: t == t.strip())


@st.composite
def questionnaires(draw: st.DrawFn) -> Questionnaire:
    names = draw(st.lists(labels(), min_size=1, max_size=4, unique=True))
    values = st.lists(labels(), min_size=2, max_size=4, unique=True).map(tuple)
    return Questionnaire(tuple(Attribute(name, draw(values)) for name in names))


@st.composite
def answers(draw: st.DrawFn) -> Answers:
    asked = draw(questionnaires())
    rows = draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in asked.sizes)), max_size=20))
    codes = np.array(rows, dtype=np.int64).reshape(len(rows), len(asked.sizes))
    opt_in = np.array(draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), dtype=bool)
    return Answers(asked, codes.astype(np.int32), opt_in if draw(st.booleans()) else None)


def some_answers(people: int = 50, **options: Any) -> Answers:
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, size, people) for size in BOTH.sizes])
    return Answers(BOTH, codes.astype(np.int32), **options)


def test_sizes_and_names() -> None:
    assert (COLOUR.size, BOTH.names, BOTH.sizes) == (3, ("colour", "smokes"), (3, 2))
    assert str(BOTH) == "questionnaire of 2 questions with 5 answers"
    assert hash(BOTH) == hash(Questionnaire((COLOUR, SMOKES)))


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("", ("a", "b"), "name = '' is not allowed: it must be text that is not empty"),
        (" a", ("a", "b"), "neither starts nor ends with white space"),
        (3, ("a", "b"), "name = 3"),
        ("x", ["a", "b"], "values = 'list' is not allowed: it must be a tuple of texts"),
        ("x", "ab", "a tuple of texts"),
        ("x", (), "number of values of 'x' = 0 is not allowed: it must be from 2 to 1000"),
        ("x", ("a",), "number of values of 'x' = 1"),
        ("x", tuple(map(str, range(MAX_VALUES + 1))), "number of values of 'x' = 1001"),
        ("x", ("a", "b", "a"), r"values of 'x' = \('a',\) is not allowed: it must be distinct"),
        ("x", ("a", ""), "values of 'x' = '' is not allowed"),
        ("x", ("a", "b\u3000"), "values of 'x' = 'b\\\\u3000' is not allowed"),
        ("x", ("a", 1), "values of 'x' = 1 is not allowed"),
        ("x", ("a", "\ud800"), "valid Unicode"),
    ],
)
def test_attributes_refused(name: Any, values: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Attribute(name, values)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ((), "number of attributes = 0"),
        ([COLOUR], "a tuple of Attribute"),
        (("colour",), "a tuple of Attribute"),
        ((COLOUR, SMOKES, COLOUR), r"names of attributes = \('colour',\)"),
        (tuple(Attribute(f"q{i}", ("a", "b")) for i in range(MAX_ATTRIBUTES + 1)), "number of attributes = 65"),
    ],
)
def test_questionnaires_refused(attributes: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Questionnaire(attributes)


def test_the_largest_questionnaire() -> None:
    values = tuple(map(str, range(MAX_VALUES)))
    asked = Questionnaire(tuple(Attribute(f"q{i}", values) for i in range(MAX_ATTRIBUTES)))
    assert Questionnaire.from_bytes(asked.to_bytes()) == asked


def test_bytes_are_canonical() -> None:
    asked = Questionnaire((Attribute("é", ("b", "a")),))
    assert asked.to_bytes() == '{"attributes":[{"name":"é","values":["b","a"]}]}'.encode()
    by_hand = json.dumps({"attributes": [{"values": ["b", "a"], "name": "é"}]}, indent=2).encode()
    assert Questionnaire.from_bytes(by_hand) == asked


@given(questionnaires())
def test_bytes_there_and_back(asked: Questionnaire) -> None:
    assert Questionnaire.from_bytes(asked.to_bytes()) == asked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a JSON document"),
        ("{", "a JSON document"),
        ("[" * 100_000, "a JSON document"),
        ("1" * 5000, "a JSON document"),
        ("[]", "an object with the keys attributes"),
        ("null", "questionnaire = None"),
        ("{}", r"keys of questionnaire = \(\)"),
        ('{"attributes": [], "more": 1}', r"keys of questionnaire = \('attributes', 'more'\)"),
        ('{"attributes": [], "attributes": []}', "distinct keys"),
        ('{"attributes": {}}', "attributes = 'dict' is not allowed: it must be a list"),
        ('{"attributes": []}', "number of attributes = 0"),
        ('{"attributes": ["a"]}', "attribute 1 = 'str'"),
        ('{"attributes": [{"name": "a"}]}', r"keys of attribute 1 = \('name',\)"),
        ('{"attributes": [{"name": "a", "values": "ab"}]}', "values of attribute 1 = 'str'"),
        ('{"attributes": [{"name": 1, "values": ["a", "b"]}]}', "name = 1"),
        ('{"attributes": [{"name": "a", "values": ["a", 2]}]}', "values of 'a' = 2"),
        ('{"attributes": [{"name": "a", "values": ["a", null]}]}', "values of 'a' = None"),
        ('{"attributes": [{"name": "a", "values": ["a", "a"]}]}', "distinct"),
        ('{"attributes": [{"name": "a", "values": ["a", "\\ud800"]}]}', "valid Unicode"),
    ],
)
def test_bytes_refused(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Questionnaire.from_bytes(text.encode())


def test_bytes_must_be_utf8() -> None:
    with pytest.raises(ParameterError, match="UTF-8"):
        Questionnaire.from_bytes(BOTH.to_bytes().decode().encode("utf-16"))


def test_answers_cannot_be_changed() -> None:
    codes, opt_in = np.zeros((3, 2), dtype=np.int32), np.zeros(3, dtype=bool)
    survey = Answers(BOTH, codes, opt_in)
    codes[0], opt_in[0] = 1, True
    assert survey.opt_in is not None
    assert not survey.codes.any()
    assert not survey.opt_in.any()
    for array in (survey.codes, survey.opt_in):
        assert not array.flags.writeable
        assert array.flags.f_contiguous
    assert survey.codes.dtype == np.int32
    with pytest.raises(dataclasses.FrozenInstanceError):
        survey.codes = codes  # type: ignore[misc]


def test_answers_that_cannot_change_are_not_copied() -> None:
    codes = np.zeros((3, 2), dtype=np.int32, order="F")
    codes.setflags(write=False)
    assert Answers(BOTH, codes).codes is codes


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_codes_of_any_whole_numbers(kind: Any) -> None:
    survey = Answers(BOTH, np.array([[2, 1], [0, 0]], dtype=kind))
    assert survey.codes.dtype == np.int32
    assert survey.codes.tolist() == [[2, 1], [0, 0]]


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.zeros(2, dtype=np.int32), r"codes = 'int32 of shape \(2,\)'"),
        (np.zeros((2, 3), dtype=np.int32), r"of shape \(people, 2\)"),
        (np.zeros((2, 2)), "codes = 'float64"),
        (np.zeros((2, 2), dtype=bool), "codes = 'bool"),
        (np.array([[0, 0], [0, -1]]), "code of 'smokes' = -1 is not allowed: it must be from 0 to 1"),
        (np.array([[3, 0], [0, 0]]), "code of 'colour' = 3 is not allowed: it must be from 0 to 2"),
        (np.array([[1 << 32, 0]]), "code of 'colour' = 4294967296"),
    ],
)
def test_codes_refused(codes: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Answers(BOTH, codes)


@pytest.mark.parametrize("opt_in", [np.zeros(2, dtype=bool), np.zeros(3), np.zeros((3, 1), dtype=bool)])
def test_opt_in_refused(opt_in: Any) -> None:
    with pytest.raises(ParameterError, match="opt_in"):
        Answers(BOTH, np.zeros((3, 2), dtype=np.int32), opt_in)


@given(survey=answers(), data=st.data())
def test_counts_like_a_loop(survey: Answers, data: st.DataObject) -> None:
    attributes = st.integers(0, len(survey.sizes) - 1)
    chosen = data.draw(st.lists(attributes, min_size=1, max_size=4))
    counts = survey.counts(*chosen)
    assert counts.dtype == np.int64
    assert counts.shape == tuple(survey.sizes[attribute] for attribute in chosen)
    for cell in product(*map(range, counts.shape)):
        assert counts[cell] == sum(tuple(row[chosen].tolist()) == cell for row in survey.codes)


def test_counts_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = some_answers()
    wrong: list[tuple[Any, ...]] = [(), (2,), (-1,), (0, 5), (0.0,), ("colour",)]
    for chosen in wrong:
        with pytest.raises(ParameterError, match="whole numbers from 0 to 1"):
            survey.counts(*chosen)
    assert survey.counts(np.int64(1)).sum() == 50  # type: ignore[arg-type]
    monkeypatch.setattr(module, "MAX_CELLS", 5)
    assert survey.counts(0).shape == (3,)
    with pytest.raises(ParameterError, match="at most 5 combinations"):
        survey.counts(0, 1)


def test_frequencies() -> None:
    survey = Answers(BOTH, np.array([[0, 1], [2, 1], [0, 0], [0, 1]]).astype(np.int32))
    assert [share.tolist() for share in survey.frequencies()] == [[0.75, 0, 0.25], [0.25, 0.75]]
    with pytest.raises(ParameterError, match="nobody has no shares"):
        survey.take(np.array([], dtype=np.int64)).frequencies()


def test_take() -> None:
    survey = some_answers(opt_in=np.arange(50) % 3 == 0, inferred=True)
    rows = np.array([4, 0, 4, 49])
    some = survey.take(rows)
    assert survey.opt_in is not None
    assert some.opt_in is not None
    assert (some.people, some.questionnaire, some.inferred) == (4, BOTH, True)
    np.testing.assert_array_equal(some.codes, survey.codes[rows])
    np.testing.assert_array_equal(some.opt_in, survey.opt_in[rows])
    assert some_answers().take(rows).opt_in is None
    assert survey.take(np.array([])).people == 0
    assert str(some) == "answers of 4 people to 2 questions"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones(50, dtype=bool), "rows = 'bool"),
        (np.array([0.5]), "rows = 'float64"),
        (np.array([[1]]), "rows = 'int64"),
        (np.array([-1, 3]), "rows = -1 is not allowed: it must be from 0 to 49"),
        (np.array([50, 3]), "rows = 50"),
    ],
)
def test_rows_refused(rows: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        some_answers().take(rows)
