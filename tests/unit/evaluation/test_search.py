"""What local search is worth: ranks and keystrokes as the index gives them, people who are not asked, honest errors."""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from blendp.engines import EmbeddedLog
from blendp.errors import ParameterError
from blendp.evaluation import search_value
from blendp.evaluation.search import (
    ANSWERS,
    SHOWN,
    ClusteredRatio,
    HeldOutSearches,
    RankedList,
    _run_without,
    _sizes,
    keystrokes_saved,
    most_frequent,
    people_not_asked,
    rank_of_whole_query,
)
from blendp.logs import log_of_table
from blendp.methods import Parameters
from blendp.randomness import SimulationRandom
from blendp.render.release.document import rows_for_json
from blendp.search import SearchIndex
from blendp.wire.releases import write_release

Rows = list[tuple[str, str, str]]


def log_of_rows(rows: Rows, levels: int = 2) -> EmbeddedLog:
    names = ("user", "query", "url")[: levels + 1]
    return log_of_table(pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)}))


def rows_of_people(people: int, seed: int) -> Rows:
    """Several records a person, of a few popular queries that begin alike; seven URLs each, one has a URL a person."""
    generator = random.Random(seed)
    queries = ["a", "ab", "abc", "ab c", "ab cd", "b", "ba", "abcde", "ab cde"]
    weights = [2.0**-i for i in range(len(queries))]
    rows = []
    for person in range(people):
        for _ in range(generator.randint(1, 4)):
            query = generator.choices(queries, weights)[0]
            url = generator.choices("pqrstuv", [64, 32, 16, 8, 4, 2, 1])[0]
            rows.append((f"u{person:05}", query, f"http://{person if query == 'abc' else url}"))
    return rows


@dataclass(frozen=True)
class PlainIndex:
    """Records by falling share, searched one by one: equal queries, then queries that begin with the text."""

    queries: list[str]

    def rank(self, record: int, text: str) -> int:
        typed = text.rstrip(" ")
        results = [i for i, query in enumerate(self.queries) if query == typed]
        results += [i for i, query in enumerate(self.queries) if query != typed and query.startswith(typed)]
        return results.index(record) + 1

    def saved(self, record: int) -> int:
        query = self.queries[record]
        shown = [c for c in range(1, len(query) + 1) if self.rank(record, query[:c]) <= SHOWN]
        return len(query) - min(shown, default=len(query))


def nasty_lists() -> list[list[str]]:
    generator = random.Random(17)
    lists = []
    for size in (1, 2, 7, 30, 120):
        letters = "ab" if size < 100 else "aß𝔸 "
        texts = ["".join(generator.choices(letters, k=generator.randint(1, 6))) for _ in range(size)]
        lists.append([" ".join(text.split()) or "a" for text in texts])
    return [*lists, ["ab"] * 14, ["ab c"] * 5 + ["ab"] * 3 + ["ab cd"] * 6]


@pytest.mark.parametrize("queries", nasty_lists(), ids=len)
def test_ranks_and_keystrokes_are_those_of_searching_one_by_one(queries: list[str]) -> None:
    index, column = PlainIndex(queries), pa.array(queries)
    records = range(len(queries))
    assert rank_of_whole_query(column).tolist() == [index.rank(i, queries[i]) for i in records]
    assert keystrokes_saved(column).tolist() == [index.saved(i) for i in records]


def labels_of(log: EmbeddedLog, ranked: RankedList) -> list[tuple[str, str | None]]:
    """What the index has of these records: a query without any URL where the log has no record for it."""
    queries = ranked.query.to_pylist()
    return [
        (queries[i], None) if record < 0 else log.texts(np.array([record]))[0] for i, record in enumerate(ranked.record)
    ]


@pytest.mark.parametrize("levels", [1, 2])
def test_ranks_and_keystrokes_are_those_of_the_index(levels: int) -> None:
    """Every prefix of every listed query is searched in the index of the release."""
    log = log_of_rows(rows_of_people(2_000, seed=3), levels)
    outcome = _run_without(log, people_not_asked(2_000, 0.2, SimulationRandom(1)), PARAMETERS, 0.3, SimulationRandom(2))
    estimates = rows_for_json(outcome.records())
    release: dict[str, Any] = {
        "campaign": "c",
        "manifest_sha256": "",
        "released": "2026-11-01",
        "card": {},
        "trends": [],
        "groups": {},
    }
    index = SearchIndex.of_release(write_release(estimates=estimates, **release))
    ranked = RankedList.of_outcome(log, outcome)
    labels, column = labels_of(log, ranked), ranked.query
    assert len(labels) == index.records > (15 if levels == 2 else 5)
    assert any(url is None for _, url in labels)  # also queries that are listed without any URL
    ranks, saved = rank_of_whole_query(column), keystrokes_saved(column)
    for (query, url), rank, less in zip(labels, ranks, saved, strict=True):
        ranks_by_typed = {
            typed: [(one.query, one.url) for one in index.search(query[:typed], 1_000).results].index((query, url)) + 1
            for typed in range(1, len(query) + 1)
        }
        assert ranks_by_typed[len(query)] == rank
        assert (
            min((typed for typed in ranks_by_typed if ranks_by_typed[typed] <= SHOWN), default=len(query))
            == len(query) - less
        )


def test_an_empty_list_ranks_nothing() -> None:
    assert len(rank_of_whole_query(pa.array([], pa.string()))) == 0
    assert len(keystrokes_saved(pa.array([], pa.string()))) == 0


PARAMETERS = Parameters(size=None, delta=1e-4)


@pytest.fixture(scope="module")
def log() -> EmbeddedLog:
    return log_of_rows(rows_of_people(2_000, seed=3))


def test_figures_are_those_of_searching_one_by_one(log: EmbeddedLog) -> None:
    """One run, every search looked up in the list by itself."""
    value = search_value(log, PARAMETERS, opt_in=0.3, seed=5)
    stream = SimulationRandom(5)
    not_asked = people_not_asked(log.users, 0.2, stream.spawn())
    ranked = RankedList.of_outcome(log, _run_without(log, not_asked, PARAMETERS, 0.3, stream.spawn()))
    labels = labels_of(log, ranked)
    index = PlainIndex([query for query, _ in labels])
    names = sorted({user for user, _, _ in rows_of_people(2_000, seed=3)})
    out = {names[i] for i in not_asked}
    searches = [(query, url) for user, query, url in rows_of_people(2_000, seed=3) if user in out]
    ranks, saved = [], 0
    for query, url in searches:
        if (query, url) in labels:
            record = labels.index((query, url))
            rank = index.rank(record, query)
            ranks += [rank] if rank <= ANSWERS else []
            saved += index.saved(record)
    figures = value.to_dict()
    assert value.people == 400
    assert value.searches == len(searches)
    assert value.keystrokes == pytest.approx(np.mean([len(query) for query, _ in searches]))
    assert figures["records"] == len(labels) > 10
    assert figures["answered"] == pytest.approx(len(ranks) / len(searches))
    assert figures["mean_rank"] == pytest.approx(np.mean(ranks))
    assert figures["keystrokes_saved"] == pytest.approx(saved / len(searches))
    assert figures["keystrokes_saved_share"] == pytest.approx(saved / sum(len(query) for query, _ in searches))
    assert figures["std_error"] == dict.fromkeys(figures["std_error"])  # one run tells nothing of the noise
    assert [row["records"] for row in figures["by_list_size"]] == [10, len(labels)]


def test_the_exact_list_is_that_of_the_people_who_were_asked(log: EmbeddedLog) -> None:
    not_asked = people_not_asked(log.users, 0.2, SimulationRandom(1))
    searches, asked = HeldOutSearches.of(log, not_asked)
    rows = rows_of_people(2_000, seed=3)
    names = sorted({user for user, _, _ in rows})
    out = {names[i] for i in not_asked}
    own: dict[str, list[tuple[str, str]]] = {}
    for user, query, url in rows:
        own.setdefault(user, []).append((query, url))
    share: dict[tuple[str, str | None], float] = {}
    for user, records in own.items():
        for record in records if user not in out else []:
            share[record] = share.get(record, 0) + 1 / len(records) / (len(own) - len(out))
    best = sorted(share, key=lambda record: (-round(share[record], 12), record))
    assert RankedList.of(log, most_frequent(12, asked)).query.to_pylist() == [query for query, _ in best[:12]]
    assert log.texts(most_frequent(12, asked)) == best[:12]
    assert asked.record.sum() == pytest.approx(1)
    assert searches.times.sum() == sum(len(own[user]) for user in out)
    assert len(most_frequent(10**6, asked)) == len(share)


def test_people_who_are_held_out_have_no_part_in_the_list() -> None:
    rows = rows_of_people(500, seed=8)
    not_asked = people_not_asked(500, 0.2, SimulationRandom(1))
    out = {f"u{i:05}" for i in not_asked}

    def listed(changed: set[str]) -> list[float]:
        swapped = [(user, "a" if user in changed else query, url) for user, query, url in rows]
        everything = [("u99999", query, url) for _, query, url in rows]  # the same records, whoever changes
        log = log_of_rows([*swapped, *everything])
        outcome = _run_without(log, not_asked, PARAMETERS, 0.4, SimulationRandom(2))
        assert outcome.groups.opt_in + outcome.groups.client == 401
        probabilities: list[float] = outcome.cell_probability.tolist()
        return probabilities

    before = listed(set())
    assert listed(out) == before
    assert listed({f"u{i:05}" for i in range(500)} - out) != before


def test_the_same_seed_gives_the_same_figures_and_several_runs_have_errors(log: EmbeddedLog) -> None:
    started: list[str] = []
    value = search_value(log, PARAMETERS, opt_in=0.3, repeat=3, seed=5, progress=started.append)
    assert value == search_value(log, PARAMETERS, opt_in=0.3, repeat=3, seed=5)
    assert value != search_value(log, PARAMETERS, opt_in=0.3, repeat=3, seed=6)
    assert started == [*(f"search: run {i} of 3" for i in (1, 2, 3)), "searching the lists"]
    for row in value.rows:
        assert 0.5 < row.released.answered.value <= row.exact.answered.value + 0.02 < 1
        assert all(0 < error < 0.2 for error in row.to_dict()["std_error"].values())
    assert value.rows[0].released.answered.value < value.rows[-1].released.answered.value


def test_without_urls_the_query_is_the_answer(log: EmbeddedLog) -> None:
    rows = rows_of_people(1_000, seed=3)
    value = search_value(log_of_rows(rows, levels=1), PARAMETERS, opt_in=0.3, repeat=2)
    figures = value.to_dict()
    assert figures["mean_rank"] == 1
    assert figures["answered"] > search_value(log, PARAMETERS, opt_in=0.3, repeat=2).to_dict()["answered"]


def test_an_empty_list_answers_nothing() -> None:
    rows = rows_of_people(40, seed=1)
    figures = search_value(log_of_rows(rows), Parameters(delta=1e-12), opt_in=0.2, repeat=2).to_dict()
    assert (figures["records"], figures["answered"], figures["mean_rank"]) == (0, 0, None)
    assert figures["std_error"]["answered"] == 0
    assert figures["exact"]["answered"] == 0


def test_marks_say_who_opts_in(log: EmbeddedLog) -> None:
    marks = np.arange(log.users) % 2 == 0
    not_asked = people_not_asked(log.users, 0.2, SimulationRandom(1))
    outcome = _run_without(log, not_asked, PARAMETERS, marks, SimulationRandom(2))
    assert outcome.groups.opt_in == 1_000 - np.count_nonzero(marks[not_asked])
    assert outcome.groups.opt_in + outcome.groups.client == 1_600


@pytest.mark.parametrize("share", [0.0, 1.0, 0.0001, 0.9999, float("nan")])
def test_somebody_is_held_out_and_somebody_asked(log: EmbeddedLog, share: float) -> None:
    with pytest.raises(ParameterError, match="held_out"):
        search_value(log, opt_in=0.3, held_out=share)


def test_at_least_one_run(log: EmbeddedLog) -> None:
    with pytest.raises(ParameterError, match="repeat"):
        search_value(log, opt_in=0.3, repeat=0)


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [
        ([0], []),
        ([9, 9], []),
        ([10, 10], []),
        ([10, 11], [10]),
        ([50, 50], [10, 20]),
        ([260, 512], [10, 20, 50, 100, 200]),
    ],
)
def test_sizes_stop_before_whole_lists(lengths: list[int], sizes: list[int]) -> None:
    assert _sizes(lengths) == sizes


@pytest.mark.statistical
def test_errors_hold_where_people_and_runs_differ_and_errors_of_single_searches_would_not() -> None:
    """The mean of the stated variances beside the variance of the estimates, over many drawn logs."""
    generator = np.random.default_rng(4)
    people, runs, trials = 80, 6, 1_500
    values, variances, plain = [], [], []
    for _ in range(trials):
        searches = generator.geometric(0.2, people).astype(np.float64)
        habit = generator.beta(0.4, 0.8, people)[:, None] * generator.normal(1, 0.1, runs)
        hits = generator.binomial(searches[:, None].astype(np.int64), np.clip(habit, 0, 1)).astype(np.float64)
        per_run = np.full(runs, searches.sum())
        ratio = ClusteredRatio.of((hits.sum(axis=1), runs * searches), (hits.sum(axis=0), per_run))
        values.append(ratio.value)
        variances.append(ratio.std_error**2)
        plain.append(ratio.value * (1 - ratio.value) / (runs * searches.sum()))
    variance = np.var(values)
    assert np.mean(variances) == pytest.approx(variance, rel=0.12)
    assert np.mean(plain) < variance / 5


def test_a_ratio_of_nothing_is_not_known() -> None:
    nothing = np.zeros(3)
    ratio = ClusteredRatio.of((nothing, nothing), (nothing, nothing))
    assert np.isnan([ratio.value, ratio.std_error]).all()
