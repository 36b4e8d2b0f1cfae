"""The records of a synthetic law by number: their texts and probabilities are the law's own."""

from __future__ import annotations

import numpy as np
import pytest

from blendp.evaluation.law_records import HEAD_QUERIES, LawRecords
from blendp.logs.synthetic import NAMES, law
from blendp.logs.synthetic.text import vocabulary


@pytest.mark.parametrize("name", NAMES)
def test_ids_tell_text_and_probability(name: str) -> None:
    records = LawRecords.of_ranks(law(name), np.array([3, 1_000_000, 30_001, 1_000_000]))
    assert records.ranks[-2:].tolist() == [30_001, 1_000_000]
    assert len(records.ranks) == HEAD_QUERIES + 2
    ranks, places = np.array([1, 3, 25, 30_001, 1_000_000, 1_000_000]), np.array([0, 2, 9, 1, 0, 2])
    places = np.minimum(places, np.count_nonzero(law(name).url_shares[law(name).profile_of(ranks)], axis=1) - 1)
    ids = records.ids(ranks, places)
    assert ids[0] == 0
    assert ids[-1] == records.distinct_records - 1
    texts = vocabulary(name)
    expected = zip(texts.queries(ranks).to_pylist(), texts.urls(ranks, places).to_pylist(), strict=True)
    assert records.texts(ids) == list(expected)
    truth = records.truth()
    shares = law(name).url_shares[law(name).profile_of(ranks), places]
    assert truth.record[ids] == pytest.approx(law(name).query_probabilities[ranks - 1] * shares)
    assert len(truth.record) == records.distinct_records
    assert truth.query[truth.query_id[ids]] == pytest.approx(law(name).query_probabilities[ranks - 1])
    assert np.bincount(truth.query_id, weights=truth.record) == pytest.approx(truth.query)


@pytest.mark.parametrize("name", NAMES)
def test_the_head_is_the_law_s(name: str) -> None:
    records = LawRecords.of_ranks(law(name), np.array([], dtype=np.int64))
    truth, (_, _, p) = records.truth(), law(name).top_records(2_000)
    assert truth.record[truth.head(2_000)] == pytest.approx(p)
