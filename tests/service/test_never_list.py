"""Texts that are never listed: a file of the operator's, read whenever a list is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from blendp.service.audit import AuditFilter
from blendp.service.campaigns import find, list_of
from blendp.service.collector import CollectorService
from blendp.service.never_list import NeverList
from blendp.service.refusal import Refused
from tests.service.helpers import open_collector, records_of, terms_of
from tests.unit.cli.test_serve import blendp


@pytest.fixture
def never(tmp_path: Path) -> Path:
    path = tmp_path / "never.txt"
    path.write_text("\n")
    return path


def opted_in(collector: CollectorService, **fields: object) -> None:
    terms = collector.lifecycle.create(terms_of("c1", **fields))
    for person, token in enumerate(collector.opt_in.enrol("c1", terms.min_opt_in)):
        collector.opt_in.receive("c1", token, records_of(terms, person))


def queries(collector: CollectorService) -> list[str]:
    with collector.store.reading() as connection:
        head_list = list_of(connection, find(connection, "c1").number)
    assert head_list is not None
    return [entry.query for entry in head_list.entries]


def test_lines_count_as_queries_and_as_urls_in_normal_form(never: Path) -> None:
    never.write_text("\ufeff  Some  NAME \r\n\n   \nHTTP://Example.org/#top\n", encoding="utf-8")
    texts = NeverList(never).texts("blendp-1")
    assert not {text for text in texts if text.startswith("\ufeff")}, "the mark of an editor is no part of a text"
    assert {"some name", "http://example.org"} <= texts
    assert "" not in texts
    assert NeverList(never).texts("none") == {"  Some  NAME ", "HTTP://Example.org/#top"}
    assert NeverList().texts("blendp-1") == frozenset()


@pytest.mark.parametrize("text", ["Q1", "HTTP://U1.example/"])
def test_a_list_goes_without_and_is_as_long_as_it_may_be(tmp_path: Path, never: Path, text: str) -> None:
    """The file may change until the list is made; the next best records take the room."""
    collector = open_collector(tmp_path, never_list=never)
    opted_in(collector, size=2)
    never.write_text(f"{text}\n")
    assert collector.lifecycle.publish("c1").records == 2
    assert queries(collector) == ["q0", "q2"]
    assert collector.trail.entries(AuditFilter("c1"))[0].detail == "records left out because they are never listed: 1"
    collector.close()


@pytest.mark.parametrize("content", [None, b"\xff\n"])
def test_no_list_is_made_without_the_file(tmp_path: Path, never: Path, content: bytes | None) -> None:
    collector = open_collector(tmp_path, never_list=never)
    opted_in(collector)
    never.unlink()
    if content is not None:
        never.write_bytes(content)
    with pytest.raises(Refused, match="cannot be read: nothing was published"):
        collector.lifecycle.publish("c1")
    never.write_text("")
    assert collector.lifecycle.publish("c1").records == 3
    assert collector.trail.entries(AuditFilter("c1"))[0].detail == ""
    collector.close()


def test_a_collector_without_its_file_does_not_start(tmp_path: Path) -> None:
    code, _, said = blendp("serve", "--data", str(tmp_path / "data"), "--never-list", str(tmp_path / "none"))
    assert code == 2
    assert said.startswith("Error: --never-list = ")
    assert "No such file" in said
