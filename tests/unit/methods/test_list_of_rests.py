"""The list of one record a person, step by step as it is proved: who is counted where, once noise is taken away."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from blendp.headlist import HeadList
from blendp.logs import log_of_table
from blendp.mechanisms import AsymmetricList
from blendp.methods import Parameters
from blendp.methods.blendp import publish
from blendp.methods.people import LogPeople
from blendp.randomness import SimulationRandom

Counts = NDArray[np.int64]

PARAMETERS = Parameters(epsilon=4, delta=1e-6, opt_in_records=1, size=None)

TOTAL, REST = 30, 25
"""T and T' here."""


@dataclass
class Holders:
    """How many people have each of some records."""

    people: Counter[tuple[str, str]]

    @classmethod
    def of(cls, **queries: dict[str, int]) -> Holders:
        """By query and address; of ``own`` each of so many people has an address for themselves."""
        people: Counter[tuple[str, str]] = Counter()
        for query, addresses in queries.items():
            for address, count in addresses.items():
                if address == "own":
                    people.update({(query, f"{query}-{i}"): 1 for i in range(count)})
                else:
                    people[query, address] = count
        return cls(people)

    def draw(self, parameters: Parameters) -> LogPeople:
        rows = [record for record, count in self.people.items() for _ in range(count)]
        table = pa.table(
            {
                "user": [f"u{i}" for i in range(len(rows))],
                "query": [query for query, _ in rows],
                "url": [url for _, url in rows],
            }
        )
        log = log_of_table(table, normalise="none")
        return LogPeople.of(log, parameters, np.ones(len(rows), dtype=bool), SimulationRandom(1))


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """No noise: what reaches its threshold is listed, and counts are exact. Which counts were asked for is kept."""
    asked: dict[str, Any] = {}

    def lists(name: str, least: int) -> None:
        def draw(_: AsymmetricList, counts: Counts, random: object) -> tuple[Counts, Counts]:  # noqa: ARG001
            asked[name] = sorted(counts[counts > 0].tolist())
            which = np.flatnonzero(counts >= least)
            return which, counts[which]

        monkeypatch.setattr(AsymmetricList, name, draw)

    def wildcards(_: AsymmetricList, counts: Counts, random: object) -> Counts:  # noqa: ARG001
        asked["wildcards"] = counts.tolist()
        return counts

    lists("draw", TOTAL)
    lists("draw_queries", REST)
    monkeypatch.setattr(AsymmetricList, "draw_wildcards", wildcards)
    return asked


def people_of(head_list: HeadList, people: NDArray[np.float64], maker: AsymmetricList) -> dict[Any, float]:
    """What is released of every cell, with the mean of its noise."""
    assert maker.wildcard_noise is not None
    means = np.full(head_list.cells, maker.wildcard_noise.mean)
    means[np.setdiff1d(head_list.record_cells, head_list.bare_cells)] = maker.noise.mean
    return dict(zip(head_list.labels[:-1], np.round(people + means, 9)[:-1].tolist(), strict=True))


PEOPLE = Holders.of(
    rare={"own": 25},  # all addresses too rare: listed by its rest, of everybody who has it
    few={"own": 24},
    alone={"u": 31},  # listed, without a rest
    both={"u": 40, "v": 30, "own": 24},
    many={"u": 30, "v": 29, "own": 30},  # its rest alone would be enough, but it has a listed record
    split={"u": 13, "v": 12},
)


def test_people_are_counted_once_and_queries_are_listed_by_their_rests(quiet: dict[str, Any]) -> None:
    listed = publish(PEOPLE.draw(PARAMETERS), PARAMETERS, SimulationRandom(2), lambda _: None)
    maker = listed.list_maker
    assert isinstance(maker, AsymmetricList)
    released = listed.released
    assert people_of(released.head_list, released.people, maker) == {  # type: ignore[union-attr]
        ("alone", "u"): 31,
        ("alone", None): 0,
        ("both", "u"): 40,
        ("both", "v"): 30,
        ("both", None): 24,
        ("many", "u"): 30,
        ("many", None): 59,
        ("rare", None): 25,
        ("split", None): 25,
    }
    by_query: Counter[str] = Counter()
    for (query, _), count in PEOPLE.people.items():
        by_query[query] += count
    assert quiet["draw"] == sorted(PEOPLE.people.values())
    assert quiet["draw_queries"] == sorted(by_query.values())
    assert quiet["wildcards"] == [0, 24, 59], "of queries that have a listed record, 0 included, and of no other"


def test_rests_are_counted_before_the_list_is_trimmed(quiet: dict[str, Any]) -> None:
    """People of a record that is trimmed away enter <q,*> by its released total, and are not counted anew."""
    parameters = replace(PARAMETERS, size=2)
    listed = publish(PEOPLE.draw(parameters), parameters, SimulationRandom(2), lambda _: None)
    maker = listed.list_maker
    assert isinstance(maker, AsymmetricList)
    assert maker.wildcard_noise is not None
    assert quiet["wildcards"] == [0, 24, 59]
    assert [label for label in listed.head_list.labels if label[1]] == [("alone", "u"), ("both", "u")]
    rest = listed.head_list.cell_of("both")
    means = maker.noise.mean + maker.wildcard_noise.mean
    assert listed.counts.people[rest] == pytest.approx(30 + 24 - means)  # type: ignore[union-attr]


def test_where_people_are_held_out_queries_are_not_listed_by_their_rests(quiet: dict[str, Any]) -> None:
    """Rests of the list makers would be paid for, and the others are counted anyway."""
    parameters = replace(PARAMETERS, head_list_share=0.9)
    listed = publish(PEOPLE.draw(parameters), parameters, SimulationRandom(2), lambda _: None)
    assert len(listed.released.head_list.bare_cells) == 0
    assert listed.released.head_list.records
    assert set(quiet) == {"draw"}
