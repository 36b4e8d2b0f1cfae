"""A list now, a release later: the same, to the last bit, as a run in one go."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from blendp.curator import OptInCounts
from blendp.engines import EmbeddedLog
from blendp.errors import ParameterError, RandomnessError
from blendp.headlist import HeadList
from blendp.logs import log_of_table
from blendp.logs.synthetic import population
from blendp.mechanisms import SubsetSelection
from blendp.methods import Listed, LogPeople, Outcome, Parameters, Release, conclude, make_list, run
from blendp.methods.listed import _digest
from blendp.randomness import ReleaseRandom, SimulationRandom
from blendp.render.release.document import release_card
from blendp.reports import Question, ReportSums, SubsetScheme, TwoStageScheme
from tests.support import KnownKey
from tests.unit.methods.test_published import marks, small_log

KINDS: dict[str, dict[str, Any]] = {
    "blendp": {},
    "all that pass": {"size": None},
    "three records": {"size": 3, "prior": "none"},
    "several records": {"opt_in_records": "many", "size": 4, "trim_unit": "query"},
    "several, as told": {"records_per_person": 20.0, "objective": "long-list"},
    "held out": {"head_list_share": 0.6},
    "held out, as said": {"head_list_share": 0.6, "opt_in_records": 1, "epsilon": 3},
    "share as said": {"query_share": 0.3},
    "apart": {"randomiser": "apart"},
    "apart, share as said": {"randomiser": "apart", "query_share": 0.3, "size": 3},
    "two-stage": {"randomiser": "two-stage", "query_share": 0.7},
    "tight": {"randomiser": "two-stage-tight", "opt_in_records": "many"},
    "published": {"method": "published"},
    "published, several": {"method": "published", "opt_in_records": 3, "client_records": 2, "size": 3},
    "published, as printed": {"method": "published", "wildcard": "figure-4", "variance": "journal", "size": 2},
    "nothing passes": {"delta": 1e-90, "epsilon": 0.5},
}

MAKERS: dict[str, Callable[[], EmbeddedLog]] = {
    "two levels": small_log,
    "one level": lambda: small_log(levels=1),
    "several URLs": lambda: log_of_table(population("aol", users=6_000, records_per_user=3, seed=5).table()),
}


@pytest.fixture(scope="module", params=MAKERS)
def log(request: pytest.FixtureRequest) -> EmbeddedLog:
    return MAKERS[request.param]()


@cache
def listed_with(**settings: Any) -> Listed:
    return make_list(small_log(), Parameters(**settings), opt_in=0.3, random=KnownKey(1))


def stored(listed: Listed) -> Listed:
    return Listed.from_bytes(listed.to_bytes())


def asked(people: LogPeople, listed: Listed, random: ReleaseRandom) -> tuple[ReportSums, float | None]:
    """The reports of the clients, as a run would have them, and the share that they are told."""
    share = listed.query_share_for(people.sizes.client) if listed.parameters.reports_split else None
    return people.reports(listed.scheme(share), random), share


def arrays(outcome: Outcome) -> list[Any]:
    levels = [outcome.opt_in.cells, outcome.opt_in.queries, outcome.client.cells, outcome.client.queries]
    values: list[Any] = [*levels, outcome.cells, outcome.queries]
    return [getattr(value, field.name).tobytes() for value in values for field in fields(value)]


@pytest.mark.parametrize("kind", KINDS)
def test_two_phases_give_what_a_run_gives(log: EmbeddedLog, kind: str) -> None:
    parameters = Parameters(**KINDS[kind])
    release = run(log, parameters, opt_in=0.4, random=KnownKey(5))

    random = KnownKey(5)
    kept = make_list(log, parameters, opt_in=0.4, random=random).to_bytes()
    people = LogPeople.of(log, parameters, 0.4, KnownKey(5))
    reports, share = asked(people, Listed.from_bytes(kept), random)
    later = conclude(Listed.from_bytes(kept), reports, query_share=share, random=random)

    assert type(later) is Release
    assert bool(release.head_list.records) == (kind != "nothing passes")
    assert later.head_list == release.head_list
    assert later.parameters == release.parameters
    assert later.groups == release.groups
    assert later.guarantee == release.guarantee
    assert later.query_reporters == release.query_reporters == share
    assert arrays(later) == arrays(release)
    assert repr(later.records()) == repr(release.records())  # repr, since nan is not nan
    assert repr(later.trends()) == repr(release.trends())
    assert json.dumps(release_card(later)) == json.dumps(release_card(release))


def test_the_cases_differ_where_they_should() -> None:
    assert listed_with(**KINDS["nothing passes"]).candidates == 0
    assert listed_with(size=3).candidates > listed_with(size=3).head_list.records == 3
    assert listed_with(**KINDS["held out"]).estimate_users == 480
    assert listed_with().estimate_users == 0


def test_a_log_of_opt_in_users_alone_and_clients_elsewhere() -> None:
    log = small_log(1_200)
    listed = make_list(log, Parameters(query_share=0.5), opt_in=marks(log, 1_200), random=KnownKey(1))
    assert listed.sizes(7).to_dict() == {"opt_in": 1_200, "opt_in_head_list": 1_200, "opt_in_estimate": 0, "client": 7}
    queries, cells = listed.split
    reports = ReportSums(
        listed.head_list.sha256,
        listed.questions,
        {"query": 900, "record": 1_100},
        {
            "query": queries.supports(np.zeros(900, dtype=np.int64), KnownKey(2)),
            "record": cells.supports(np.zeros(1_100, dtype=np.int64), KnownKey(2)),
        },
    )
    release = conclude(stored(listed), reports, query_share=0.5)
    assert (release.groups.opt_in, release.groups.client) == (1_200, 2_000)
    assert release.client.cells.probability[0] == pytest.approx(1, abs=0.2)
    assert release.query_reporters == 0.5
    assert release.query_reports == 900
    (caution,) = [one for one in release.cautions if "choose their question" in one]
    assert caution.startswith("900 of 2,000 clients reported the query, where a share of 0.5 was to:")


def test_nobody_has_reported() -> None:
    listed = listed_with(method="published")
    release = conclude(listed, listed.scheme().nothing())
    assert release.groups.client == 0
    assert (release.cells.weight_opt_in == 1).all()


def test_the_share_is_fixed_before_the_clients_are_counted() -> None:
    listed = listed_with()
    assert listed.query_share_for(2_800) == stored(listed).query_share_for(2_800)
    assert listed.query_share_for(1) == 0
    assert listed_with(query_share=0.3).query_share_for(10) == 0.3
    with pytest.raises(ParameterError, match="clients"):
        listed.query_share_for(-1)
    for settings in ({"method": "published"}, {"randomiser": "two-stage"}):
        with pytest.raises(ParameterError, match="two-stage"):
            listed_with(**settings).query_share_for(10)
    with pytest.raises(ParameterError, match="two-stage"):
        _ = listed.two_stage
    with pytest.raises(ParameterError, match="posterior"):
        _ = listed_with(method="published").posterior


def test_both_phases_take_randomness_fit_for_release_alone() -> None:
    listed, seeded = listed_with(), SimulationRandom(1)
    with pytest.raises(RandomnessError):
        make_list(small_log(), opt_in=0.2, random=seeded)  # type: ignore[arg-type]
    with pytest.raises(RandomnessError):
        conclude(listed, split_of(listed), query_share=0.2, random=seeded)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_are_canonical_and_come_back(log: EmbeddedLog, kind: str) -> None:
    listed = make_list(log, Parameters(**KINDS[kind]), opt_in=0.3, random=KnownKey(2))
    data = listed.to_bytes()
    again = Listed.from_bytes(data)
    assert again.to_bytes() == data
    assert again.parameters == listed.parameters
    assert again.head_list == listed.head_list
    assert str(again) == str(listed)
    value = json.loads(data)
    assert value["format"] == "blendp/listed/3"
    assert data == json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    for field in fields(listed.released):
        before, after = getattr(listed.released, field.name), getattr(again.released, field.name)
        if isinstance(before, tuple):
            before, after = np.array(before), np.array(after)
        if isinstance(before, np.ndarray):
            assert (before.dtype, before.tobytes()) == (after.dtype, after.tobytes())
        else:
            assert before == after


@pytest.mark.parametrize("kind", ["three records", "several records", "published"])
def test_damaged_bytes_are_refused(kind: str) -> None:
    data = listed_with(**KINDS[kind]).to_bytes()
    damaged = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(len(data))]
    for bad in [
        b"",
        b"[]",
        b"{}",
        b"null",
        b"7",
        b"\xff",
        b"[" * 100_000,
        data[:-1],
        data + b" ",
        b" " + data,
        *damaged,
    ]:
        with pytest.raises(ParameterError):
            Listed.from_bytes(bad)


def forged(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """Other contents, with the hash that belongs to them."""
    value = json.loads(data)
    del value["sha256"]
    change(value)
    value["sha256"] = _digest(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


FORGERIES: list[Callable[[dict[str, Any]], object]] = [
    lambda v: v.update(format="blendp/listed/1"),
    lambda v: v.update(mean_records=None if v["mean_records"] else 3.0),
    lambda v: v.update(mean_records="3"),
    lambda v: v.update(mean_records=50.0),
    lambda v: v.pop("mean_records"),
    lambda v: v.update(format="blendp/head-list/1"),
    lambda v: v.update(more=1),
    lambda v: v.pop("users"),
    lambda v: v["parameters"].update(epsilon=3.0),
    lambda v: v["parameters"].update(epsilon=-1.0),
    lambda v: v["parameters"].update(opt_in_records=2),
    lambda v: v["parameters"].update(method="published" if v["parameters"]["method"] == "blendp" else "blendp"),
    lambda v: v["parameters"].update(more=1),
    lambda v: v["parameters"].pop("project"),
    lambda v: v["users"].update(estimate=7),
    lambda v: v["users"].update(head_list=True),
    lambda v: v["users"].update(head_list=-1, estimate=-1),
    lambda v: v["released"].update(users=11),
    lambda v: v["released"]["head_list"].update(levels=1),
    lambda v: v["released"]["head_list"]["queries"].pop(),
    lambda v: v["released"]["head_list"]["queries"].reverse(),
    lambda v: v["released"].update(more=1),
    lambda v: _numbers(v).pop(),
    lambda v: _numbers(v).append(1),
    lambda v: _numbers(v).__setitem__(0, "1"),
    lambda v: _numbers(v).__setitem__(0, True),
    lambda v: _numbers(v).__setitem__(0, [1]),
    lambda v: _numbers(v).__setitem__(0, 10**400),
    lambda v: v["released"].update({"noise": "1/0"} if "noise" in v["released"] else {"record_noise": ["1/0", "1"]}),
    lambda v: v["released"].update({"noise": "1/3"} if "noise" in v["released"] else {"record_noise": ["1/3", "1"]}),
]


def _numbers(value: dict[str, Any]) -> list[Any]:
    numbers: list[Any] = value["released"].get("people") or value["released"]["counts"]
    return numbers


@pytest.mark.parametrize("kind", ["blendp", "published"])
@pytest.mark.parametrize("forgery", range(len(FORGERIES)))
def test_other_contents_are_refused(kind: str, forgery: int) -> None:
    data = listed_with(**KINDS[kind]).to_bytes()
    assert forged(data, len) == data
    with pytest.raises(ParameterError):
        Listed.from_bytes(forged(data, FORGERIES[forgery]))


def test_unknown_numbers_are_refused() -> None:
    listed = listed_with()
    value = json.loads(listed.to_bytes())
    text = listed.to_bytes().decode().replace(str(value["released"]["people"][0]), "NaN", 1)
    with pytest.raises(ParameterError, match="document"):
        Listed.from_bytes(text.encode())


def split_of(listed: Listed) -> ReportSums:
    return SubsetScheme(listed.head_list, listed.parameters.epsilon, 0.5).nothing()


def tally_of(listed: Listed, users: int = 60) -> ReportSums:
    cells = np.arange(users)[:, None] % listed.head_list.cells
    return TwoStageScheme(listed.head_list, listed.parameters.budget).sums_of_cells(cells.astype(np.int64))


@pytest.mark.parametrize("settings", [{"method": "published"}, {"randomiser": "two-stage"}])
def test_reports_of_the_other_kind_are_refused(settings: dict[str, Any]) -> None:
    split, other = listed_with(), listed_with(**settings)
    with pytest.raises(ParameterError, match=r"by query, \d+ of \d+ by record"):
        conclude(split, tally_of(split), query_share=0.2)
    with pytest.raises(ParameterError, match=r"about this list"):
        conclude(other, split_of(split), query_share=0.2)
    with pytest.raises(ParameterError, match="NoneType"):
        conclude(other, None)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="query_share"):
        conclude(other, tally_of(other), query_share=0.2)
    assert conclude(other, tally_of(other)).groups.client == 60


def test_reports_against_another_list_are_refused() -> None:
    listed, shorter, weaker = listed_with(), listed_with(size=3), listed_with(epsilon=3.9)
    for other in (shorter, weaker):
        with pytest.raises(ParameterError, match="about this list"):
            conclude(listed, split_of(other), query_share=0.2)
    split = split_of(listed)
    wider = Question("record", (SubsetSelection(4.0, listed.head_list.cells, 2),))
    with pytest.raises(ParameterError, match="about this list"):
        conclude(listed, replace(split, questions={**split.questions, "record": wider}), query_share=0.2)
    published = listed_with(method="published")
    with pytest.raises(ParameterError, match="about this list"):
        conclude(published, tally_of(listed_with(method="published", size=2)))
    several = listed_with(method="published", client_records=2)
    with pytest.raises(ParameterError, match="2 of each client"):
        conclude(several, tally_of(several))


def test_reports_against_a_list_of_the_same_shape_are_refused() -> None:
    """Same epsilon, same numbers of queries and URLs, other texts: only the name tells the lists apart."""
    for settings in ({}, {"method": "published"}, {"randomiser": "two-stage-tight"}):
        listed = listed_with(**settings)
        texts = [(f"other {query}", url) for query, url in listed.head_list.labels if url is not None]
        other = HeadList.of_records(texts)
        assert other.cells_per_query.tolist() == listed.head_list.cells_per_query.tolist()
        own = listed.scheme(0.2 if listed.parameters.reports_split else None)
        foreign = replace(own, head_list=other)  # type: ignore[type-var]
        share = 0.2 if listed.parameters.reports_split else None
        assert conclude(listed, own.nothing(), query_share=share).groups.client == 0
        with pytest.raises(ParameterError, match=f"about this list .{listed.head_list.sha256}"):
            conclude(listed, foreign.nothing(), query_share=share)


def test_clients_are_told_a_share_where_there_is_one() -> None:
    with pytest.raises(ParameterError, match="query_share"):
        listed_with().scheme()
    with pytest.raises(ParameterError, match="query_share"):
        listed_with(method="published").scheme(0.5)


@pytest.mark.parametrize("share", [None, -0.1, 1.0, "0.2", float("nan")])
def test_a_share_that_nobody_was_told_is_refused(share: Any) -> None:
    listed = listed_with()
    with pytest.raises(ParameterError, match="query_share"):
        conclude(listed, split_of(listed), query_share=share)


def test_a_share_other_than_the_parameters_say_is_refused() -> None:
    listed = listed_with(query_share=0.3)
    with pytest.raises(ParameterError, match=r"0\.3, as in the parameters"):
        conclude(listed, split_of(listed), query_share=0.2)
    assert conclude(listed, split_of(listed), query_share=0.3).query_reporters == 0.3


def test_counts_that_do_not_fit_are_refused_at_birth() -> None:
    listed, other = listed_with(), listed_with(method="published")
    with pytest.raises(ParameterError, match="counts of this method"):
        replace(
            listed,
            parameters=Parameters(head_list_share=0.95),
            released=other.released,
            estimate_users=60,
            mean_records=None,
        )
    with pytest.raises(ParameterError, match="noisy mean"):
        replace(listed, mean_records=None)
    with pytest.raises(ParameterError, match="list_users"):
        replace(listed, list_users=-1)
    with pytest.raises(ParameterError, match="people who were counted"):
        replace(listed, list_users=5)


@pytest.mark.parametrize("kind", KINDS)
def test_records_that_are_left_out_are_everything_else(log: EmbeddedLog, kind: str) -> None:
    """A query and a URL that are never listed: the list goes without, as do reports and result."""
    parameters, random = Parameters(**KINDS[kind]), KnownKey(3)
    whole = make_list(log, parameters, opt_in=0.4, random=random)
    records = [whole.released.head_list.labels[cell] for cell in whole.released.head_list.record_cells]
    texts = {"nobody looks for this", *(str(query) for query, _ in records[:1]), *(str(url) for _, url in records[-1:])}
    fewer = stored(whole.without(texts))

    left = [fewer.released.head_list.labels[cell] for cell in fewer.released.head_list.record_cells]
    assert left == [record for record in records if texts.isdisjoint(record)]
    assert (len(left) < len(records)) == bool(records)
    assert whole.without({"nobody looks for this"}) is whole.without(frozenset()) is whole
    if isinstance(fewer.released, OptInCounts):
        assert fewer.released.people.sum() == pytest.approx(fewer.released.users)
    people = LogPeople.of(log, parameters, 0.4, KnownKey(3))
    reports, share = asked(people, fewer, random)
    release = conclude(fewer, reports, query_share=share, random=random)
    assert release.head_list == fewer.head_list
    assert release.cells.probability.sum() == pytest.approx(1, abs=0.5)
