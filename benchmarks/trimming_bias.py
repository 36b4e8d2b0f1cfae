"""How much trimming and estimating from the same counts lifts the estimates at the end of the list.

    python -m benchmarks.trimming_bias [--repeat 60] [--seed 21]

Runs the published method on the synthetic AOL population and compares, for each quarter of the list by true
probability, the mean estimate with the mean truth. Not private.
"""

from __future__ import annotations

import argparse

import numpy as np

from blendp.evaluation import evaluate
from blendp.logs import log_of_table
from blendp.logs.synthetic import population
from blendp.methods import Parameters


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Bias of trimmed lists, by quarter of the list.")
    parser.add_argument("--repeat", type=int, default=60)
    parser.add_argument("--seed", type=int, default=21)
    options = parser.parse_args()
    log = log_of_table(population("aol", seed=1).table())
    print(f"{'opt-in':>6} {'candidates':>10}  quarter  {'truth':>8} {'estimate':>8} {'bias':>6} {'weight':>6} held")
    for share in (0.05, 0.10):
        trials = evaluate(
            log, Parameters(method="published", delta=1e-5), opt_in=share, repeat=options.repeat, seed=options.seed
        ).trials
        candidates = np.mean([trial.outcome.candidates for trial in trials])
        for quarter in range(4):
            rows = []
            for trial in trials:
                listed = trial.outcome.head_list.record_cells
                cells = listed[np.array_split(np.argsort(trial.head.cells[listed]), 4)[quarter]]
                blended, truth = trial.outcome.cells, trial.head.cells[cells]
                covered = np.abs(blended.probability[cells] - truth) < 1.96 * blended.std_error[cells]
                rows.append(
                    (
                        truth.mean(),
                        blended.probability[cells].mean(),
                        blended.weight_opt_in[cells].mean(),
                        covered.mean(),
                    )
                )
            true, estimate, weight, coverage = np.mean(rows, axis=0)
            print(
                f"{share:>6.0%} {candidates:>10.1f}  {quarter + 1:>7}  {true:>8.2e} {estimate:>8.2e} "
                f"{estimate / true - 1:>+6.0%} {weight:>6.2f} {coverage:.3f}"
            )


if __name__ == "__main__":
    main()
