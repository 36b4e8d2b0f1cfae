"""A field of the terms is defined once: what is accepted, what is documented and what can be typed follow from it."""

from dataclasses import MISSING, dataclass, fields
from types import UnionType
from typing import Annotated, Any, get_args, get_type_hints

import msgspec
import pytest
from msgspec import Meta

from blendp.cli.campaign.create import NewCampaign
from blendp.errors import ParameterError
from blendp.service.http.app import ENDPOINTS
from blendp.service.http.openapi import openapi
from blendp.wire import Terms
from blendp.wire.campaign import NewTerms, read_new_terms
from blendp.wire.messages import field_forms, json_form

FORMS = field_forms(Terms)
SCHEMA = openapi(ENDPOINTS)["components"]["schemas"]["NewTerms"]
BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
}
JSON_NAMES = {str: "string", int: "integer", float: "number"}
TYPED = {
    "opens": (str | None, None),
    "delta": (float | None, None),
    "size": (int, Terms.size),
    "opt_in_records": (int | None, None),
}
"""What is typed otherwise on the command line: a day and numbers that are chosen may be left out, 0 is no limit."""


def test_all_views_have_the_same_names() -> None:
    names = [field.name for field in fields(Terms)]
    assert list(FORMS) == list(NewTerms.__struct_fields__) == list(SCHEMA["properties"]) == names
    assert set(names) <= {field.name for field in fields(NewCampaign)}
    assert SCHEMA["required"] == [name for name, form in FORMS.items() if form.default is MISSING]
    assert SCHEMA["additionalProperties"] is False


@pytest.mark.parametrize("name", FORMS)
def test_the_schema_says_type_default_bounds_and_meaning(name: str) -> None:
    form, schema = FORMS[name], SCHEMA["properties"][name]
    if isinstance(form.kind, UnionType):
        kind, _ = get_args(form.kind)
        assert schema["anyOf"] == [{"type": JSON_NAMES[kind]}, {"type": "null"}]
    else:
        assert schema["type"] == JSON_NAMES[form.kind]
    assert schema.get("default", MISSING) == form.default
    assert schema["description"] == form.meta.description
    for attribute, keyword in BOUNDS.items():
        assert schema.get(keyword) == getattr(form.meta, attribute)


@pytest.mark.parametrize("name", FORMS)
def test_the_command_line_has_type_and_default(name: str) -> None:
    kind, option = get_args(get_type_hints(NewCampaign, include_extras=True)[name])
    (default,) = (field.default for field in fields(NewCampaign) if field.name == name)
    assert (kind, default) == TYPED.get(name, (FORMS[name].kind, FORMS[name].default))
    assert option.help


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, value)
        for name, form in FORMS.items()
        for value in (
            *([form.meta.ge - 1] if form.meta.ge is not None else []),
            *([form.meta.gt] if form.meta.gt is not None else []),
            *([form.meta.le + 1] if form.meta.le is not None else []),
            *([form.meta.lt] if form.meta.lt is not None else []),
            *(["a" * (form.meta.max_length + 1), ""] if form.meta.max_length is not None else []),
        )
    ],
)
def test_terms_keep_the_bounds_that_are_documented(name: str, value: Any) -> None:
    days = {"opens": "2026-01-01", "opt_in_until": "2026-02-01", "reports_until": "2027-01-01"}
    some: dict[str, Any] = {"campaign": "c", "title": "t", "organisation": "o", "purpose": "p", "contact": "c", **days}
    Terms(**some)
    with pytest.raises(ParameterError) as refused:
        Terms(**{**some, name: value})
    assert refused.value.parameter == name


def test_a_new_field_is_one_line() -> None:
    @dataclass(frozen=True)
    class MoreTerms(Terms):
        days_of_notice: Annotated[int, Meta(ge=2, le=5, description="More.")] = 3

    form = json_form(MoreTerms, "MoreTerms", "More.")
    schema = msgspec.json.schema_components([form])[1]["MoreTerms"]["properties"]["days_of_notice"]
    assert schema == {"type": "integer", "minimum": 2, "maximum": 5, "default": 3, "description": "More."}
    assert "days_of_notice" in field_forms(MoreTerms)


def test_only_what_is_given_is_read() -> None:
    given = {name: "x" for name, form in FORMS.items() if form.default is MISSING}
    assert read_new_terms(msgspec.json.encode(given)) == given
    assert read_new_terms(msgspec.json.encode({**given, "size": None, "epsilon": 2})) == {
        **given,
        "size": None,
        "epsilon": 2.0,
    }


@pytest.mark.parametrize(
    "change", [{"more": 1}, {"epsilon": "4"}, {"levels": 2.5}, {"size": "all"}, {"title": None}, {"grace_days": True}]
)
def test_other_members_and_types_are_refused(change: dict[str, Any]) -> None:
    given = {name: "x" for name, form in FORMS.items() if form.default is MISSING}
    with pytest.raises(ParameterError):
        read_new_terms(msgspec.json.encode({**given, **change}))
    for name in given:
        with pytest.raises(ParameterError):
            read_new_terms(msgspec.json.encode({other: given[other] for other in given if other != name}))
