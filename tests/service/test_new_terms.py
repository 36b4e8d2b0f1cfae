"""Terms of a new campaign: devices are asked for no more records than are used, and operators are told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from blendp.errors import ParameterError
from blendp.methods import Parameters
from blendp.service.board.cautions import cautions_of_terms, records_statement, statements_of_terms
from blendp.service.new_terms import new_terms, parameters_of
from blendp.wire import Terms
from tests.service.helpers import terms_of


def fields(**more: Any) -> dict[str, Any]:
    """Terms without a bound on records, unless one is given."""
    usual = terms_of(min_opt_in=1000, min_clients=1000)
    del usual["opt_in_records"]
    return {**usual, **more}


@pytest.mark.parametrize(
    ("given", "bound"),
    [
        ({}, 100),
        ({"records_per_person": 20.0}, 100),
        ({"records_per_person": 1.5}, 1),
        ({"records_per_person": 9.0}, 100),
        ({"records_per_person": 3.0, "objective": "trends"}, 1),
        ({"records_per_person": 1.5, "opt_in_records": 7}, 7),
        ({"records_per_person": 20.0, "opt_in_records": 1}, 1),
        ({"epsilon": 0.01}, 1),
        ({"delta": 1e-200}, 1),
        ({"method": "published"}, 1),
        ({"method": "published", "opt_in_records": 4}, 4),
    ],
    ids=str,
)
def test_devices_are_asked_for_one_record_where_one_is_used(given: dict[str, Any], bound: int) -> None:
    assert new_terms(fields(**given)).opt_in_records == bound


@pytest.mark.parametrize(
    ("given", "records", "many"),
    [
        ({"opt_in_records": 1}, 1, False),
        ({"opt_in_records": 1, "records_per_person": 20.0}, 1, False),
        ({"opt_in_records": 100}, "auto", None),
        ({"opt_in_records": 100, "records_per_person": 20.0}, "auto", True),
        ({"opt_in_records": 100, "records_per_person": 2.0}, "auto", False),
        ({"opt_in_records": 3}, 1, False),
        ({"opt_in_records": 5}, "auto", None),
        ({"opt_in_records": 3, "method": "published"}, 3, False),
    ],
    ids=str,
)
def test_terms_set_the_method(given: dict[str, Any], records: int | str, many: bool | None) -> None:
    terms = Terms(**fields(**given))
    parameters = parameters_of(terms)
    assert parameters.opt_in_records == records
    assert parameters.objective == terms.objective
    assert parameters.records_per_person == terms.records_per_person
    if terms.method == "blendp":
        assert parameters.many_records is many


@pytest.mark.parametrize(
    ("wrong", "parameter"),
    [
        ({"delta": 0.0}, "delta"),
        ({"method": "published", "objective": "trends"}, "objective"),
        ({"method": "published", "records_per_person": 3.0}, "records_per_person"),
        ({"objective": "counts"}, "objective"),
        ({"records_per_person": 0.0}, "records_per_person"),
        ({"opt_in_records": 0}, "opt_in_records"),
        ({"more": 1}, "more"),
    ],
    ids=str,
)
def test_terms_of_which_nothing_is_proved_are_refused(wrong: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError) as refused:
        new_terms(fields(**wrong))
    assert refused.value.parameter == parameter


@pytest.mark.parametrize(
    ("given", "statement"),
    [
        ({"opt_in_records": 1}, "sends one of their records, drawn at random; one of each person makes the list."),
        ({"records_per_person": 2.0}, "random; one of each person makes the list, as people have 2 on average."),
        ({"records_per_person": 20.0}, "random; all of them make the list, as people have 20 on average."),
        ({}, "whichever serves better: a noisy mean of their number decides, for 2 % of epsilon."),
        ({"method": "published", "opt_in_records": 3}, "sends at most 3 of their records, drawn at random; all of "
         "them make the list."),
        ({"opt_in_records": 1, "records_per_person": 20.0}, "one of each person makes the list."),
    ],
    ids=str,
)  # fmt: skip
def test_operators_are_told_how_the_list_is_made(given: dict[str, Any], statement: str) -> None:
    terms = new_terms(fields(**given))
    assert records_statement(terms).endswith(statement), records_statement(terms)
    assert records_statement(terms) in statements_of_terms(terms)


@pytest.mark.parametrize(
    ("given", "caution"),
    [
        ({"opt_in_records": 1}, None),
        ({"opt_in_records": 1, "records_per_person": 2.0}, None),
        ({"opt_in_records": 1, "records_per_person": 20.0}, "opt_in_records is 1, though a person has 20 records"),
        ({"opt_in_records": 3}, "opt_in_records 3: the list is made of one record of each person"),
        ({"opt_in_records": 30, "records_per_person": 2.0}, "opt_in_records 30: the list is made of one record"),
        ({}, None),
        ({"min_opt_in": 100}, "records_per_person is not given: with 100 opt-in people"),
        ({"min_opt_in": 100, "records_per_person": 20.0}, None),
        ({"method": "published", "opt_in_records": 3}, None),
    ],
    ids=str,
)
def test_operators_are_warned_of_bounds_that_do_not_serve(given: dict[str, Any], caution: str | None) -> None:
    cautions = cautions_of_terms(new_terms(fields(**given, delta=1e-6)))
    assert [caution] == [one[: len(caution or "")] for one in cautions] if caution else cautions == []


def test_the_mean_of_records_stands_in_the_terms_to_one_digit() -> None:
    assert new_terms(fields(records_per_person=12.345)).records_per_person == 10
    signed = replace(Terms(**fields()), records_per_person=12.345)
    assert b"12.345" in signed.to_bytes()
    assert "as people have 10 on average" in records_statement(signed)


def test_signed_before_there_were_objectives_is_read_as_it_was() -> None:
    """Terms of a campaign that runs while blendp is upgraded: same bytes, same name, one record."""
    before = replace(Terms(**fields()), opt_in_records=1)
    assert b"objective" not in before.to_bytes()
    assert b"records_per_person" not in before.to_bytes()
    assert parameters_of(before) == Parameters(
        epsilon=before.epsilon, delta=before.delta, size=before.size, opt_in_records=1
    )
