"""The peers' search for records without opt-in people: their codes, how they are scored, and what is stored."""

import json
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pytest

from benchmarks import heavy_hitters_against_peers as bench
from benchmarks.peers.environment import Answer, Peer, PeerError
from blendp.evaluation.figures import AOL, FigurePopulation
from blendp.evaluation.figures.peers import MEASURES, Peers, read_peers

USERS = 20_000


@pytest.fixture(scope="module")
def people() -> FigurePopulation:
    return FigurePopulation.synthetic(AOL, USERS, 3)


@pytest.mark.parametrize(("texts", "bits"), [("known", 10), ("unknown", 48)])
def test_every_record_has_a_code_of_its_own_and_is_found_by_it(texts: str, bits: int) -> None:
    book = bench.Codebook.of(texts, 1000, seed=1)
    assert book.bits == bits
    assert book.codes.max() < 2**bits
    assert len(set(book.codes.tolist())) == 1000
    stray = next(code for code in range(2**10) if code not in set(book.codes.tolist()))
    codes = [int(book.codes[7]), stray, int(book.codes[3])]
    assert book.records(codes, [0.3, 0.2, 0.1]) == [(7, 0.3), (3, 0.1)]
    first = book.codes >> (bits - 3)
    assert np.bincount(first, minlength=8).max() < 0.25 * 1000


def test_the_true_head_scores_best_and_its_reverse_far_less(people: FigurePopulation) -> None:
    law = people.law
    head = law.truth.head(bench.SIZE).tolist()
    truly = [(record, float(law.truth.record[record])) for record in head]
    perfect = bench.scores(law, truly)
    assert 0.99 < perfect.ndcg <= 1
    assert perfect.ndcg_random < 0.9
    shares = [share for _, share in truly]
    reverse = bench.scores(law, list(zip(head, reversed(shares), strict=True)))
    assert reverse.ndcg < perfect.ndcg - 0.2
    assert bench.scores(law, []).ndcg == 0.0


def test_a_run_scores_what_a_peer_answers(people: FigurePopulation, monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that knew the truth would have all ten; one that fails is told and left out."""
    law = people.law
    head = law.truth.head(bench.SIZE)

    def attempt(peer: Peer, arguments: Sequence[str], timeout: float) -> Answer | PeerError:
        del timeout
        if peer.name == "TreeHist":
            return PeerError("does not install")
        codes, bits = np.load(arguments[0]), int(arguments[2])
        assert len(codes) == USERS
        assert codes.max() < 2**bits
        known = bits < bench.HASH_BITS
        book = bench.Codebook.of("known" if known else "unknown", law.log.distinct_records, 3)
        counts = law.truth.record[head] * USERS
        return Answer(1.0, {"codes": [2**bits - 1, *book.codes[head].tolist()], "counts": [USERS, *counts.tolist()]})

    monkeypatch.setattr(bench, "attempt", attempt)
    answers = list(bench.measure(people, run=0, seed=3))
    assert len(answers) == len(bench.EPSILONS) * len(bench.JOBS)
    failed = [answer for answer in answers if isinstance(answer, str)]
    results = [answer for answer in answers if isinstance(answer, bench.RecordsFound)]
    assert all("does not install" in answer for answer in failed)
    assert {(each.hits, each.records) for each in results} == {(10, 10)}
    assert all(0.99 < each.ndcg <= 1 for each in results)
    stored = json.loads(json.dumps(bench.document(results, people, 1, 3)))
    peers = Peers(**stored)
    assert peers.are_about(people)
    assert len(peers.points()) == 2 * len(bench.EPSILONS)
    assert "seconds" in asdict(results[0])
    assert "seconds" not in stored["runs"][0]


def test_what_is_stored_is_a_whole_measurement_at_the_size_of_the_real_log() -> None:
    peers = read_peers()
    assert (peers.population, peers.users, peers.size) == ("aol", 519_371, bench.SIZE)
    numbers = sorted({run["run"] for run in peers.runs})
    assert numbers == list(range(len(numbers)))
    assert peers.command.endswith(f"--runs {len(numbers)} --seed {peers.seed}")
    jobs = {(peer.name, texts, epsilon) for peer, texts in bench.JOBS for epsilon in bench.EPSILONS}
    assert len(peers.runs) == len(jobs) * len(numbers)
    assert {(run["protocol"], run["texts"], run["epsilon"]) for run in peers.runs} == jobs
    assert {(run["tool"], run["version"]) for run in peers.runs} == {("pure-ldp", bench.PEM.version)}
    for run in peers.runs:
        assert set(MEASURES) <= set(run)
        assert run["hits"] <= run["records"] <= bench.SIZE
        assert all(0 <= run[name] <= 1 for name in MEASURES if name.startswith("ndcg"))
