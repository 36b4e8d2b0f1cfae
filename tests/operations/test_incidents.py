"""The incident pages of docs/operations.md: their commands run, and what they say of the product is so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.operations.machine import CAMPAIGN, PAGE, Machine, commands

ROOT = PAGE.parents[1]
TEXT = " ".join(PAGE.read_text(encoding="utf-8").split())


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with Machine(tmp_path) as machine:
        yield machine


def requests(machine: Machine) -> int:
    """How many the collector has answered."""
    headers = {"authorization": f"Bearer {machine.environment['BLENDP_TOKEN']}"}
    with urlopen(Request(f"{machine.url}/metrics", headers=headers)) as answer:
        numbers = re.findall(r"^blendp_requests_total\{.*\} (.+)$", answer.read().decode(), flags=re.MULTILINE)
    return int(sum(map(float, numbers)))


def test_every_page_in_turn(machine: Machine) -> None:
    machine.prepare()
    (machine.folder / "keys").mkdir()
    (signing_key,) = (machine.data / "keys").glob("signing-*")
    moved = signing_key.rename(machine.folder / "keys" / signing_key.name)
    said = machine.run("/opt/blendp/bin/blendp serve --data /var/lib/blendp --port 8322", code=5)
    assert re.search(r"The private part of signing key \w+ is missing: put the keys folder back\.", said)
    moved.rename(signing_key)
    assert machine.key in machine.run(*commands("The signing key is lost"))

    machine.start()
    before = requests(machine)
    machine.report("one")
    a_participation = requests(machine) - before - 1
    assert f"A participation is {a_participation} requests" in TEXT
    machine.report("two")
    assert "ready" in machine.run(*commands("The database is gone"))
    assert "2 clients of at least 2" in machine.run(*commands("The disk is full"))
    assert "liars" in machine.run(*commands("Clients lie"))
    assert "rotate-key" in machine.run(*commands("The signing key is stolen"))
    machine.report("three")
    assert "In doubt" not in "".join(map(machine.run, commands("The clock is wrong")))
    assert CAMPAIGN in machine.run(*commands("A deadline passed while everybody slept"))
    (machine.environment["TOKEN_ID"],) = re.findall(
        r"^(\w{12,16}) ", machine.run("blendp token list --data /var/lib/blendp"), re.M
    )
    machine.environment["BLENDP_TOKEN"] = machine.run(*commands("A token leaked")).split()[-1]
    assert "the token has read" in machine.run(commands("The list has something on it that must go")[0], code=6)


def test_a_text_that_must_go(machine: Machine) -> None:
    """The campaign is deleted, and another one lists all the rest."""
    delete, never = commands("The list has something on it that must go")
    machine.prepare()
    machine.start()
    machine.run(delete)
    machine.run(never.replace("the text that must go", "  Query 3"))
    machine.stop()
    machine.prepare("again", publish=False)
    machine.start("--never-list", f"{machine.folder}/etc/blendp/never-list.txt")
    assert "a list of 11 records" in machine.run("blendp campaign publish again --yes")
    with urlopen(f"{machine.url}/v1/campaigns/again/list") as answer:
        queries = {entry["query"] for entry in json.load(answer)["queries"]}
    assert queries == {f"query {number}" for number in range(12)} - {"query 3"}
    assert "never listed: 1" in machine.run("blendp campaign audit again")


def test_what_the_log_says_is_what_the_page_says() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/blendp/service").rglob("*.py"))
    sentences = re.findall(r"log says `([^`]+)`", TEXT)
    assert len(sentences) >= 5
    assert [sentence for sentence in sentences if f'"{sentence}"' not in source] == []


def test_alerts_that_are_named_exist() -> None:
    rules = (ROOT / "deploy/prometheus/rules/alerts.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"`(Blendp\w+)`", TEXT))
    assert len(named) > 5
    assert named <= set(re.findall(r"alert: (\w+)", rules))
