"""``blendp evaluate``: how good would a release of this log be?"""

from __future__ import annotations

from typing import Annotated

from blendp import evaluation
from blendp.cli.console import print_json, results, steps, tell_quality
from blendp.cli.options import Job, output, takes_job
from blendp.render.release.terminal import scores_table, summary

EXAMPLES = """Examples:

- `blendp evaluate log.csv --epsilon 4 --size 50 --repeat 20`
- `blendp evaluate log.parquet --opt-in 0.03 --delta 1e-7 --size 500 --repeat 5 --json`
"""


@takes_job
def evaluate(
    job: Job,
    repeat: Annotated[int, output(help="Independent runs to average over.")] = 10,
    seed: Annotated[int, output(help="Seed of the simulated randomness.")] = 0,
    as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Compare a method with the log's own truth. NOT PRIVATE: for the eyes of those who hold the log.

    Runs the method several times with simulated randomness and prints L1 and NDCG as means with standard errors,
    always beside the score of a random order. Nothing is written.
    """
    parameters, opt_in = job.parameters(), job.who_opts_in()
    with steps(repeat + 1) as bar:
        bar.start("reading the log")
        log = job.read(bar.rows_read)
        done = evaluation.evaluate(log, parameters, opt_in=opt_in, repeat=repeat, seed=seed, progress=bar.start)
    tell_quality(log, job.levels)
    if as_json:
        print_json(done.to_dict())
        return
    results.print(summary(done.trials[0].outcome))
    results.print(scores_table(done.to_dict()))
