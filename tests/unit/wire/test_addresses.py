"""Addresses: each is spelt once, and the service answers at exactly these."""

import re
from pathlib import Path

import pytest

import blendp
from blendp.errors import ParameterError
from blendp.service.http.app import ENDPOINTS
from blendp.wire import addresses
from blendp.wire.addresses import of_campaign, of_report

TEMPLATES = {name: value for name, value in vars(addresses).items() if isinstance(value, str) and name.isupper()}
SOURCE = Path(blendp.__file__).parent


def test_the_service_answers_at_every_address_and_nowhere_else() -> None:
    assert sorted(TEMPLATES.values()) == sorted({endpoint.path for endpoint in ENDPOINTS})


def test_no_other_module_spells_an_address() -> None:
    spelt = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r'"/(v1|health|metrics)\b|/v1/', path.read_text("utf-8"))
    ]
    assert spelt == ["wire/addresses.py"]


def test_no_other_module_spells_a_media_type() -> None:
    spelt = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r'"(application|text)/[a-z]', path.read_text("utf-8"))
    ]
    assert spelt == ["wire/media_types.py"]


def test_addresses_of_a_campaign() -> None:
    assert of_campaign(addresses.TERMS, "trends-2026-11") == "/v1/campaigns/trends-2026-11/terms"
    assert of_campaign(addresses.CAMPAIGN, "c1") == "/v1/campaigns/c1"
    assert of_report("c1", b"\xab" * 16) == "/v1/campaigns/c1/reports/" + "ab" * 16


@pytest.mark.parametrize("campaign", ["", "A", "a/b", "../keys", "a b", "a\n", "-a", "a" * 65])
def test_what_names_no_campaign_makes_no_address(campaign: str) -> None:
    with pytest.raises(ParameterError):
        of_campaign(addresses.TERMS, campaign)
    with pytest.raises(ParameterError):
        of_report(campaign, bytes(16))


@pytest.mark.parametrize("report_id", [b"", bytes(15), bytes(17)])
def test_what_is_no_report_id_makes_no_address(report_id: bytes) -> None:
    with pytest.raises(ParameterError):
        of_report("c1", report_id)
