"""The paper's figure 12, measured: records that other libraries find without any opt-in people, beside blendp's.

    python -m benchmarks.heavy_hitters_against_peers [--runs 2] [--seed 2024] [--json FILE]

Everybody is a client and sends one report about the own record, with pure epsilon-LDP; nobody trusts anybody. As many
people as the AOL log has are drawn from the law of the synthetic log of this seed, the very law that ``blendp
reproduce 12 --seed 2024`` draws from, and scored by the same measure with the same head of ten.

The peers search trees of bits, so each record needs a code. Two kinds, both kinder than what a purely local method can
have, since in the end every code is looked up in the list of all records of the log, and those that are no record's are
passed over:

- *known texts*: everybody knows that list beforehand, and the code is the place in it, shuffled: 19 bits, two levels.
- *unknown texts*: nobody does, and the code is a hash of 48 bits: five levels. (The texts themselves are far longer.)

20 prefixes are kept of each level. What is found is ordered by the peers' own estimates.

``--json`` writes what ``blendp reproduce`` draws: src/blendp/evaluation/figures/peers.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.peers.environment import Peer, PeerError, attempt, cache
from blendp.arrays import Ids
from blendp.evaluation.drawn_people import RecordLaw
from blendp.evaluation.figures import AOL, Experiment, FigurePopulation, Laboratory, Mean
from blendp.evaluation.metrics import Scores, score, true_head
from blendp.headlist import HeadList
from blendp.randomness import SimulationRandom

SIZE = 10
EPSILONS = (1.0, 2.0, 3.0, 4.0, 5.0)
RUNS, SEED = 2, 2024
KEPT = 20
TIMEOUT = 3600.0

PEM = Peer("PEM", "pure-ldp", "pure-ldp", "heavy_hitters_pure_ldp", ("--protocol", "PEM"))
TREE_HIST = Peer("TreeHist", "pure-ldp", "pure-ldp", "heavy_hitters_pure_ldp", ("--protocol", "TreeHist"))

HASH_BITS = 48
LEVELS = {"known": 2, "unknown": 5}
JOBS = ((PEM, "known"), (PEM, "unknown"), (TREE_HIST, "known"), (TREE_HIST, "unknown"))


@dataclass(frozen=True)
class Codebook:
    """A code for every record."""

    codes: Ids
    bits: int

    @classmethod
    def of(cls, texts: str, records: int, seed: int) -> Codebook:
        """Shuffled places in the list of all records if their texts are known, else as random as a hash is."""
        generator = np.random.default_rng(seed)
        if texts == "known":
            return cls(generator.permutation(records), max(1, (records - 1).bit_length()))
        return cls(generator.integers(1 << HASH_BITS, size=records), HASH_BITS)

    def records(self, codes: Sequence[int], estimates: Sequence[float]) -> list[tuple[int, float]]:
        """The record and estimate of every code that is one's, in the same order."""
        record_of = {code: record for record, code in enumerate(self.codes.tolist())}
        pairs = zip(codes, estimates, strict=True)
        return [(record_of[code], estimate) for code, estimate in pairs if code in record_of]


@dataclass(frozen=True)
class RecordsFound:
    """One run: what one method found at one epsilon."""

    tool: str
    version: str
    protocol: str
    texts: str
    """Whether the texts of all records are known beforehand."""
    epsilon: float
    run: int
    records: int
    hits: int
    """How many of the ten most frequent records are among them."""
    ndcg: float
    ndcg_random: float
    ndcg_list: float
    ndcg_list_random: float
    seconds: float


def scores(law: RecordLaw, ranked: Sequence[tuple[int, float]], size: int = SIZE) -> Scores:
    """The scores of records with estimated probabilities, by the measure of the figures."""
    texts = law.texts(np.array([record for record, _ in ranked], dtype=np.int64))
    head_list = HeadList.of_records(texts)
    cells = np.zeros(head_list.cells)
    for (query, url), (_, estimate) in zip(texts, ranked, strict=True):
        cells[head_list.cell_of(query, url)] = estimate
    queries = np.bincount(head_list.query_of_cell, weights=cells).astype(np.float64)
    return score(head_list, cells, queries, true_head(head_list, law.locate(head_list), law.truth, size))


def measure(people: FigurePopulation, run: int, seed: int) -> Iterator[RecordsFound | str]:
    """One run of every job at every epsilon, on the same people; a sentence for a peer that fails."""
    law = people.law
    drawn = law.draw(people.users, SimulationRandom(seed + run))
    books = {texts: Codebook.of(texts, law.log.distinct_records, seed) for texts in LEVELS}
    with TemporaryDirectory(dir=cache()) as folder:
        for texts, book in books.items():
            np.save(Path(folder) / f"{texts}.npy", book.codes[drawn])
        for epsilon in EPSILONS:
            for peer, texts in JOBS:
                book = books[texts]
                shape = ("--bits", str(book.bits), "--levels", str(LEVELS[texts]), "--kept", str(KEPT))
                path = str(Path(folder) / f"{texts}.npy")
                answer = attempt(peer, (path, *shape, "--epsilon", repr(epsilon), "--seed", str(seed + run)), TIMEOUT)
                if isinstance(answer, PeerError):
                    yield f"{peer.name}, {texts} texts, epsilon {epsilon:g}: {answer}"
                    continue
                shares = [count / people.users for count in answer.result["counts"]]
                ranked = book.records(answer.result["codes"], shares)[:SIZE]
                yield _scored(law, ranked, peer, texts, epsilon, run, answer.seconds)


def _scored(
    law: RecordLaw,
    ranked: Sequence[tuple[int, float]],
    peer: Peer,
    texts: str,
    epsilon: float,
    run: int,
    seconds: float,
) -> RecordsFound:
    scored = scores(law, ranked)
    return RecordsFound(
        tool=peer.package,
        version=peer.version,
        protocol=peer.name,
        texts=texts,
        epsilon=epsilon,
        run=run,
        records=len(ranked),
        hits=len(set(law.truth.head(SIZE).tolist()) & {record for record, _ in ranked}),
        ndcg=scored.ndcg,
        ndcg_random=scored.ndcg_random,
        ndcg_list=scored.ndcg_list,
        ndcg_list_random=scored.ndcg_list_random,
        seconds=round(seconds, 1),
    )


def document(results: Sequence[RecordsFound], people: FigurePopulation, runs: int, seed: int) -> dict[str, object]:
    """What is stored: how it was measured, and every run; not how long it took, which is the machine's."""
    return {
        "command": f"python -m benchmarks.heavy_hitters_against_peers --runs {runs} --seed {seed}",
        "population": people.setting.name,
        "users": people.users,
        "seed": seed,
        "size": SIZE,
        "runs": [{name: value for name, value in asdict(each).items() if name != "seconds"} for each in results],
    }


def render(results: Sequence[RecordsFound], laboratory: Laboratory) -> Table:
    """Means over the runs; ours on people drawn from the same law."""
    users = laboratory.populations[AOL.name].users
    table = Table(title=f"Ten records of {users:,} people; NDCG ± standard error (of their random order)")
    for heading in ("method", "opt in", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)):
        table.add_column(heading)
    for protocol, texts in dict.fromkeys((each.protocol, each.texts) for each in results):
        cells = []
        for epsilon in EPSILONS:
            runs = [r for r in results if (r.protocol, r.texts, r.epsilon) == (protocol, texts, epsilon)]
            cells.append(_cell(*(Mean.of([getattr(r, name) for r in runs]) for name in ("ndcg", "ndcg_random"))))
        table.add_row(f"{protocol}, {texts} texts", "0 %", *cells)
    for method in ("published", "blendp"):
        cells = []
        for epsilon in EPSILONS:
            experiment = Experiment(AOL.name, AOL.opt_in, AOL.parameters(method, epsilon, SIZE))
            means = laboratory.measure(experiment).means
            cells.append(_cell(means["ndcg"], means["ndcg_random"]))
        table.add_row(method, f"{100 * AOL.opt_in:g} %", *cells)
    return table


def _cell(mean: Mean, chance: Mean) -> str:
    return f"{mean.value:.3f} ± {mean.error:.3f} ({chance.value:.3f})"


def main() -> None:
    """Measure run by run; what is measured so far is written after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--users", type=int, default=None, help="as many as the real log has, if none is said")
    parser.add_argument("--json", type=Path, help="also write all runs to this file")
    asked = parser.parse_args()
    people = FigurePopulation.synthetic(AOL, asked.users, asked.seed)
    console, results = Console(), list[RecordsFound]()
    for run in range(asked.runs):
        for each in measure(people, run, asked.seed):
            console.print(str(each), highlight=False)
            if isinstance(each, RecordsFound):
                results.append(each)
        if asked.json:
            stored = document(results, people, run + 1, asked.seed)
            asked.json.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    console.print(render(results, Laboratory({AOL.name: people}, 20, asked.seed)))


if __name__ == "__main__":
    main()
