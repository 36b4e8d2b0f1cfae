"""The blendp method against the published one, on the same people with the same promise.

    python -m benchmarks.against_published [--populations 4] [--repeat 20] [--seed 9301] [--only aol]

Makes populations that nothing was tuned on (of the seeds --seed, --seed + 1, ...), runs both methods on each with the
parameters of the paper's figure 11, and prints what is left of the published method's error, as ratios of means with
their standard errors: first the error on the true top M, where what is missing counts as 0, with precision and recall;
then the paper's L1 and NDCG. Also the floors: what the list itself costs (the NDCG of its records in perfect order),
and the L1 that all people in the curator's hands would give on the same list. Not private.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence

import numpy as np

from blendp.arrays import Array
from blendp.engines import EmbeddedLog
from blendp.evaluation import evaluate
from blendp.evaluation.metrics import l1, score
from blendp.evaluation.trials import Trial
from blendp.logs import log_of_table
from blendp.logs.synthetic import population
from blendp.mechanisms import DiscreteLaplace
from blendp.methods import Parameters
from blendp.randomness import SimulationRandom

PAPER = {"aol": (1e-5, 50, 0.05), "yandex": (1e-7, 500, 0.03)}
"""delta, size and opt-in share of figure 11."""

ERRORS: tuple[tuple[str, Callable[[Trial], float]], ...] = (
    ("error on the true top M", lambda trial: trial.blended.top_error),
    ("L1 of trends", lambda trial: trial.blended.l1),
)
"""Of which less is better: the first measure and the paper's."""


def ratio(ours: Array, theirs: Array) -> str:
    """The ratio of two means and its standard error."""
    a, b = ours.mean(), theirs.mean()
    errors = [x.std(ddof=1) / math.sqrt(len(x)) / x.mean() if x.mean() else 0.0 for x in (ours, theirs)]
    return f"{a / b:.3f} ± {a / b * math.hypot(*errors):.3f}"


def mean(values: Array, digits: int = 4) -> str:
    """A mean and its standard error."""
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1) / math.sqrt(len(values)):.{digits}f}"


def of(trials: Sequence[Trial], what: Callable[[Trial], float]) -> Array:
    """One number of every run."""
    return np.array([what(trial) for trial in trials])


def list_floor(trial: Trial) -> float:
    """1 - NDCG of the list in its true order: what no estimate on this list can avoid."""
    return 1 - score(trial.outcome.head_list, trial.head.cells, trial.head.queries, trial.head).ndcg


def full_trust(trial: Trial, epsilon: float, random: SimulationRandom) -> float:
    """The L1 on the same list if as many people, all in the curator's hands, were drawn anew and counted with noise."""
    groups = trial.outcome.groups
    users = groups.opt_in + groups.client
    truth = np.maximum(trial.head.queries, 0)
    counts = random.generator.multinomial(users, truth / truth.sum())
    noisy = counts + DiscreteLaplace.for_counts(epsilon, 1).draw(len(counts), random)
    return l1((noisy / users)[:-1], trial.head.queries[:-1])


def covered(trial: Trial) -> float:
    """The share of listed records whose interval holds the truth."""
    cells = trial.outcome.head_list.record_cells
    blended, truth = trial.outcome.cells, trial.head.cells
    return float(((blended.low <= truth) & (truth <= blended.high))[cells].mean())


def compare(logs: Sequence[EmbeddedLog], name: str, epsilon: float, repeat: int, seed: int) -> None:
    """Print the table of some populations and one budget, with one record of each person."""
    delta, size, opt_in = PAPER[name]

    def trials(method: str) -> list[Trial]:
        parameters = Parameters(epsilon=epsilon, delta=delta, size=size, method=method, opt_in_records=1)
        runs = [evaluate(log, parameters, opt_in=opt_in, repeat=repeat, seed=seed).trials for log in logs]
        return [trial for some in runs for trial in some]

    ours, theirs = trials("blendp"), trials("published")
    print(f"\n{len(ours)} runs, {len(logs)} x {name}, {logs[0].users:,} people, {100 * opt_in:g} % opt in, M = {size}")
    print(f"epsilon {epsilon:g}, delta {delta:g}")
    lines: list[tuple[str, Callable[[Trial], float], int]] = [
        (*ERRORS[0], 4),
        ("precision", lambda t: t.blended.precision, 3),
        ("recall", lambda t: t.blended.recall, 3),
        (*ERRORS[1], 4),
        ("1 - ndcg_list", lambda t: 1 - t.blended.ndcg_list, 5),
        ("1 - ndcg", lambda t: 1 - t.blended.ndcg, 4),
        ("  of which the list", list_floor, 4),
        ("  above the list's floor", lambda t: 1 - t.blended.ndcg - list_floor(t), 5),
        ("records that pass", lambda t: float(t.outcome.candidates), 1),
        ("intervals that hold", covered, 3),
    ]
    for label, what, digits in lines:
        a, b = of(ours, what), of(theirs, what)
        print(f"  {label:25} {mean(a, digits):22} {mean(b, digits):22} ratio {ratio(a, b)}")
    random = SimulationRandom(seed)
    bound = of(ours, lambda t: full_trust(t, epsilon, random))
    print(
        f"  {'L1 under full trust':25} {mean(bound):22} {'':22} ratio {ratio(of(ours, lambda t: t.blended.l1), bound)}"
    )


def several(name: str, users: int | None, repeat: int, seed: int) -> None:
    """Print what all records of each opt-in person give."""
    delta, size, opt_in = PAPER[name]
    log = log_of_table(population(name, users, records_per_user=20, seed=seed).table())
    print(f"\n{name}, {log.users:,} people with 20 records on average, epsilon 4, delta {delta:g}")

    def trials(**changes: object) -> Sequence[Trial]:
        parameters = Parameters(delta=delta, **changes)  # type: ignore[arg-type]
        return evaluate(log, parameters, opt_in=opt_in, repeat=repeat, seed=seed).trials

    base = trials(method="published", opt_in_records=20, size=None)
    single = trials(method="published", size=size)
    for objective in ("balanced", "long-list"):
        listed = trials(opt_in_records="many", size=None, objective=objective)
        trimmed = trials(opt_in_records="many", size=size, objective=objective)
        print(f"  {objective}")
        passing, they = (of(x, lambda t: float(t.outcome.candidates)) for x in (listed, base))
        print(f"    records that pass       {mean(passing, 1):22} {mean(they, 1):22} ratio {ratio(passing, they)}")
        print(f"    intervals that hold     {mean(of(listed, covered), 3)}")
        for label, what in ERRORS:
            a, b = (of(x, what) for x in (trimmed, single))
            print(f"    {label}, M = {size} (published with its m_O = 1) {mean(a)} {mean(b)} ratio {ratio(a, b)}")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description="blendp against the published method.")
    parser.add_argument("--populations", type=int, default=4, help="how many of AOL size; one is of Yandex size")
    parser.add_argument("--repeat", type=int, default=20, help="runs on each")
    parser.add_argument("--seed", type=int, default=9301)
    parser.add_argument("--only", choices=tuple(PAPER))
    options = parser.parse_args()
    print(f"{'':27} {'blendp':22} {'published':22}")
    for name in (options.only,) if options.only else PAPER:
        many = options.populations if name == "aol" else 1
        logs = [log_of_table(population(name, seed=options.seed + i).table()) for i in range(many)]
        for epsilon in (4.0, 1.0):
            compare(logs, name, epsilon, options.repeat, options.seed)
        logs.clear()
        several(name, None if name == "aol" else 1_000_000, max(3, options.repeat // 2), options.seed)


if __name__ == "__main__":
    main()
