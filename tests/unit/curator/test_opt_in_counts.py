"""Released counts as numbers of people: every total in its cell, nobody twice, and the rest in <*,*>."""

import numpy as np
import pytest
from numpy.typing import NDArray

from blendp.curator import NoisyCounts, OptInCounts, counts_of_hold_out, counts_of_list
from blendp.curator.by_weight import Prediction
from blendp.errors import ParameterError
from blendp.headlist import HeadList
from blendp.mechanisms import AsymmetricList, DiscreteLaplace
from blendp.privacy import Budget
from blendp.randomness import SimulationRandom

LIST = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1"), ("c", "1"), ("c", "2"), ("c", "3")])
RECORDS = [0, 1, 3, 5, 6, 7]
WILD = [2, 4, 8]
PEOPLE = [50, 3, 1, 2, 5, 9, 30, 1, 4, 100]
"""How many people hold each cell of LIST: a1 a2 a*  b1 b*  c1 c2 c3 c*  **."""

QUIET = AsymmetricList(Budget(50, 1e-5), falling_share=0.4, wildcard_share=0.4)
"""Noise that is 0 but for one draw in a million."""


def own_cells(people: list[int]) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(people)), people)[:, None]


def counts(people: list[float], noise: list[float] | None = None, head_list: HeadList = LIST) -> OptInCounts:
    spread = np.ones(len(people)) if noise is None else np.array(noise)
    return OptInCounts(head_list, round(sum(people)), np.array(people, dtype=np.float64), spread)


def test_totals_stand_in_their_cells_and_the_rest_in_the_last() -> None:
    mechanism = AsymmetricList(Budget(4, 1e-5))
    totals = np.array([54, 11, 10, 9, 31, 12])
    counts = counts_of_list(LIST, totals, own_cells(PEOPLE), mechanism, SimulationRandom(1))
    assert np.allclose(counts.people[RECORDS], totals - mechanism.noise.mean)
    assert np.allclose(counts.noise_variance[RECORDS], mechanism.noise.variance)
    assert mechanism.wildcard_noise is not None
    assert np.allclose(counts.noise_variance[WILD], mechanism.wildcard_noise.variance)
    assert counts.users == sum(PEOPLE)
    assert counts.people.sum() == pytest.approx(sum(PEOPLE))
    assert counts.noise_variance[-1] == pytest.approx(counts.noise_variance[:-1].sum())
    assert counts.selected_above == mechanism.min_total - mechanism.noise.mean
    assert counts.record_noise is mechanism.noise
    assert (counts.dispersion, counts.query_dispersion) == (1, 1)


def test_wildcards_count_people_whose_record_is_not_listed() -> None:
    counts = counts_of_list(LIST, np.array([50, 3, 2, 9, 30, 1]), own_cells(PEOPLE), QUIET, SimulationRandom(1))
    assert np.allclose(counts.people, PEOPLE, atol=1e-3)


def test_whoever_has_a_listed_record_is_never_counted_again() -> None:
    """The condition of the mechanism's proof: totals may be far off, and records be trimmed away later, but the people
    behind them are not counted in any wildcard. The trimmed ones move there by their released totals alone.
    """
    totals = np.array([90, 13, 12, 19, 60, 11])
    counts = counts_of_list(LIST, totals, own_cells(PEOPLE), QUIET, SimulationRandom(1))
    assert np.allclose(counts.people[WILD], [1, 5, 4], atol=1e-6)
    trimmed = counts.trimmed(3)
    assert trimmed.head_list == HeadList.of_records([("a", "1"), ("c", "1"), ("c", "2")])
    # a* = 1 + the total 13 of a2; c* = 4 + the total 11 of c3; b leaves altogether
    assert np.allclose(trimmed.people[:-1], [90, 14, 19, 60, 15], atol=1e-6)
    assert trimmed.people.sum() == pytest.approx(sum(PEOPLE))


def test_the_wildcard_noise_reaches_the_wildcards_only_once() -> None:
    mechanism, random = AsymmetricList(Budget(4, 1e-5)), SimulationRandom(3)
    noise = mechanism.wildcard_noise
    assert noise is not None
    none = np.zeros(6, dtype=np.int64)
    drawn = np.array([counts_of_list(LIST, none, own_cells(PEOPLE), mechanism, random).people for _ in range(4_000)])
    assert np.abs(drawn[:, WILD].mean(axis=0) - [1, 5, 4]).max() < 4.5 * np.sqrt(noise.variance / 4_000)
    assert drawn[:, WILD].var(axis=0) == pytest.approx(np.full(3, noise.variance), rel=0.12)
    assert np.ptp(drawn[:, RECORDS]) == 0


def test_a_query_without_any_address_is_a_record_with_the_noise_of_rests() -> None:
    """Its number is counted once: the total by which it was listed, no rest beside it."""
    bare = HeadList.of_records([("a", "1"), ("b", None), ("c", "1"), ("c", "2")])  # a1 a*  b*  c1 c2 c*  **
    mechanism, totals, random = AsymmetricList(Budget(4, 1e-5)), np.array([20, 31, 14, 15]), SimulationRandom(6)
    noise, of_rests = mechanism.noise, mechanism.wildcard_noise
    assert of_rests is not None
    assert mechanism.min_rest is not None
    drawn = [
        counts_of_list(bare, totals, own_cells([20, 7, 999, 14, 15, 0, 40]), mechanism, random) for _ in range(500)
    ]
    for counts in drawn[:3]:
        assert counts.people[[0, 3, 4]] == pytest.approx(totals[[0, 2, 3]] - noise.mean)
        assert counts.people[2] == pytest.approx(31 - of_rests.mean)
        assert counts.noise_variance[[0, 3, 4]] == pytest.approx(np.full(3, noise.variance))
        assert counts.noise_variance[[1, 2, 5]] == pytest.approx(np.full(3, of_rests.variance))
        assert counts.people.sum() == pytest.approx(counts.users)
    assert drawn[0].queries_above == mechanism.min_rest - of_rests.mean
    assert (drawn[0].record_noise, drawn[0].list_noise) == (noise, mechanism.list_noise)
    assert drawn[0].rest_noise is of_rests
    rests = np.array([counts.people[[1, 5]] for counts in drawn])
    assert rests.mean(axis=0) == pytest.approx([7, 0], abs=4 * (of_rests.variance / 500) ** 0.5)


def test_a_list_without_wildcards_counts_none() -> None:
    one_level = HeadList.of_records([("a", None), ("b", None)], levels=1)
    mechanism = AsymmetricList(Budget(4, 1e-5), wildcards=False)
    counts = counts_of_list(one_level, np.array([20, 30]), own_cells([20, 30, 50]), mechanism, SimulationRandom(1))
    assert np.allclose(counts.people[:2], np.array([20, 30]) - mechanism.noise.mean)
    assert np.allclose(counts.noise_variance[:2], mechanism.noise.variance)
    assert counts.people.sum() == pytest.approx(100)
    assert (counts.list_noise, counts.rest_noise, counts.queries_above) == (None, None, None)


def test_trimming_folds_people_and_their_noise() -> None:
    noise = [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 45]
    trimmed = counts([float(x) for x in PEOPLE], noise).trimmed(3)
    assert trimmed.head_list == HeadList.of_records([("a", "1"), ("c", "1"), ("c", "2")])
    assert trimmed.people.tolist() == [50, 4, 9, 30, 5, 107]
    assert trimmed.people.sum() == sum(PEOPLE)
    # <*,*> is what the others leave of a public number: its noise is theirs, and that of b, folded into it, cancels
    assert trimmed.noise_variance.tolist() == [1, 5, 6, 7, 17, 36]
    by_query = counts([float(x) for x in PEOPLE], noise).trimmed(1, "query")
    assert by_query.people.tolist() == [50, 3, 1, 151]
    assert by_query.noise_variance.tolist() == [1, 2, 3, 6]


def test_what_noises_share_adds_up_when_cells_are_folded() -> None:
    """(sum c)^2, not sum c^2: of the cells that <q,*> takes in, and of all the others for <*,*>."""
    noise, common = np.full(10, 10.0), np.array([3.0, 1, 1, 2, 2, 1, 2, 1, 1, -14])
    people = np.array(PEOPLE, dtype=np.float64)
    trimmed = OptInCounts(LIST, sum(PEOPLE), people, noise, common_noise=common).trimmed(3)
    # a1 a* (with a2) c1 c2 c* (with c3) <*,*> (with b)
    assert trimmed.common_noise is not None
    assert trimmed.common_noise.tolist() == [3, 2, 1, 2, 2, -10]
    assert trimmed.noise_variance[:-1].tolist() == [10, 9 + 9 + 4, 10, 10, 9 + 9 + 4]
    assert trimmed.noise_variance[-1] == 1 + 18 + 9 + 6 + 18 + 10**2
    assert trimmed.people.sum() == sum(PEOPLE)


def test_queries_without_a_url_fill_what_records_leave() -> None:
    """They are not what a list of so many records is asked for, however many people they have."""
    mixed = HeadList.of_records([("a", "1"), ("a", "2"), ("b", None), ("c", None), ("d", "1")])
    people = [9.0, 2, 1, 30, 50, 4, 1, 100]  # a1 a2 a*  b*  c*  d1 d*  **
    for size, kept in ((2, {"a", "d"}), (3, {"a", "d"}), (4, {"a", "c", "d"})):
        trimmed = counts(people, head_list=mixed).trimmed(size)
        assert {entry.query for entry in trimmed.head_list.entries} == kept
        assert trimmed.head_list.records == size
    by_query = counts(people, head_list=mixed).trimmed(2, "query").head_list
    assert {entry.query for entry in by_query.entries} == {"b", "c"}


@pytest.mark.parametrize("size", [None, 6, 100])
def test_a_list_that_is_short_enough_stays(size: int | None) -> None:
    whole = counts([float(x) for x in PEOPLE])
    assert whole.trimmed(size) is whole


@pytest.mark.statistical
def test_the_noise_after_trimming_is_as_stated() -> None:
    """Against simulation: totals of records that pass for sure, one of them trimmed away for sure."""
    mechanism, random = AsymmetricList(Budget(2, 1e-5)), SimulationRandom(5)
    people = [500, 100, 20, 100, 30, 400, 300, 100, 40, 410]
    samples = []
    for _ in range(3_000):
        totals = np.array(people)[RECORDS] + mechanism.noise.draw(6, random)
        samples.append(counts_of_list(LIST, totals, own_cells(people), mechanism, random).trimmed(3))
    assert len({one.head_list.sha256 for one in samples}) == 1
    seen = np.array([one.people for one in samples])
    stated = samples[0].noise_variance
    true = np.array([500, 120, 400, 300, 140, 540])
    assert np.abs((seen.mean(axis=0) - true) / np.sqrt(stated / len(samples))).max() < 4.5
    assert seen.var(axis=0) == pytest.approx(stated, rel=0.15)


def test_the_counts_of_people_who_were_held_out() -> None:
    noise = DiscreteLaplace.for_counts(4, 2)
    noisy = NoisyCounts(LIST, np.array([50, 4, 2, 2, 6, 9, 30, 1, 4, 100]), np.ones(10, dtype=np.int64), 103, 2, noise)
    counts = counts_of_hold_out(noisy)
    assert counts.users == 103
    assert counts.people[:-1].tolist() == [25, 2, 1, 1, 3, 4.5, 15, 0.5, 2]
    assert counts.people.sum() == pytest.approx(103)
    assert np.allclose(counts.noise_variance[:-1], noise.variance / 4)
    assert counts.noise_variance[-1] == pytest.approx(9 * noise.variance / 4)
    assert counts.selected_above is None


def test_arrays_of_another_list_are_refused_and_all_are_frozen() -> None:
    with pytest.raises(ParameterError, match="10 cells"):
        counts([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        counts([1.0] * 10).people[0] = 2


MANY = HeadList.of_records((f"q{i // 3}", f"u{i % 3}") for i in range(12))


def predicted_counts(seed: int, dispersion: float = 0.6) -> OptInCounts:
    """Twelve records of four queries: noisy numbers, and what is predicted of all but two of them."""
    generator = np.random.default_rng(seed)
    records = MANY.record_cells
    prediction = Prediction(*(np.full(MANY.cells, np.nan) for _ in Prediction._fields))
    for values, low, high in zip(prediction, (10, 0.2, 0.2, 0.0), (30, 0.6, 0.6, 0.2), strict=True):
        values[records[:-2]] = generator.uniform(low, high, 10)
    cells = np.zeros(MANY.cells)
    cells[records] = generator.uniform(10, 30, 12)
    cells[-1] = 1_000 - cells.sum()
    noise = np.ones(MANY.cells)
    noise[records] = generator.uniform(5, 40, 12)
    return OptInCounts(MANY, 1_000, cells, noise, dispersion, prediction=prediction)


def test_the_largest_are_chosen_by_numbers_and_predictions_together() -> None:
    """By precision: z with (phi - 2c) P + s^2, P with (t P)^2; by z alone where nothing is predicted."""
    for seed in range(6):
        counts = predicted_counts(seed)
        assert counts.prediction is not None
        z, noise = counts.people[MANY.record_cells], counts.noise_variance[MANY.record_cells]
        p, t, _, c = (values[MANY.record_cells] for values in counts.prediction)
        own, other = 1 / ((counts.dispersion - 2 * c) * p + noise), 1 / (t * p) ** 2
        likely = np.where(np.isnan(p), z, (z * own + p * other) / (own + other))
        order = np.argsort(-likely)
        assert not np.array_equal(order, np.argsort(-z))
        for size in range(1, 12):
            kept = HeadList.of_records((f"q{i // 3}", f"u{i % 3}") for i in order[:size])
            assert counts.trimmed(size).head_list == kept


def test_what_is_kept_keeps_its_prediction_and_wildcards_have_none() -> None:
    counts = predicted_counts(1)
    kept = MANY.record_cells[[1, 4, 7, 11]]
    trimmed = counts.only(kept)
    assert counts.prediction is not None
    assert trimmed.prediction is not None
    for fewer, values in zip(trimmed.prediction, counts.prediction, strict=True):
        assert fewer[trimmed.head_list.record_cells[:3]].tolist() == values[kept[:3]].tolist()
        assert np.isnan(np.delete(fewer, trimmed.head_list.record_cells[:3])).all()
    assert trimmed.people.sum() == pytest.approx(1_000)
    assert trimmed.noise_variance[-1] == pytest.approx(trimmed.noise_variance[:-1].sum())
    with pytest.raises(ValueError, match="read-only"):
        counts.prediction.people[0] = 1.0


def test_queries_are_chosen_by_their_sums() -> None:
    counts = predicted_counts(2)
    plain = OptInCounts(MANY, 1_000, counts.people.copy(), counts.noise_variance.copy())
    sums = np.bincount(MANY.query_of_cell, weights=plain.people)[:-1]
    for size in (1, 2, 3):
        kept = sorted(f"q{i}" for i in np.argsort(-sums)[:size])
        assert [entry.query for entry in plain.trimmed(size, "query").head_list.entries] == kept
        assert plain.trimmed(size, "query").head_list.records == 3 * size


def test_several_records_of_a_person_who_was_held_out_and_folded_cells() -> None:
    noise = DiscreteLaplace.for_counts(4, 3)
    counts, terms = np.array([30, 6, 3, 3, 6, 9, 30, 3, 6, 90]), np.array([1, 1, 2, 1, 3, 1, 1, 1, 4, 1])
    out = counts_of_hold_out(NoisyCounts(LIST, counts, terms, 70, 3, noise))
    assert out.people[:-1] == pytest.approx(counts[:-1] / 3)
    assert out.people[-1] == pytest.approx(70 - 96 / 3)
    assert out.noise_variance[:-1] == pytest.approx(terms[:-1] * noise.variance / 9)
    assert out.noise_variance[-1] == pytest.approx(15 * noise.variance / 9)
