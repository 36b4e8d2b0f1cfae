"""``blendp evaluate``: how good would a release of this log be?"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from blendp.cli.console import print_json, results, tell_quality
from blendp.cli.options import Job
from blendp.cli.panels import output, takes_job
from blendp.cli.progress import steps
from blendp.errors import ParameterError

EXAMPLES = """Examples:

- `blendp evaluate log.csv --epsilon 4 --size 50 --repeat 20`
- `blendp evaluate log.parquet --opt-in 0.03 --size 500 --repeat 5 --json`
- `blendp evaluate log.parquet --size 0 --opt-in-records many --search`
"""


@takes_job
def evaluate(
    job: Job,
    repeat: Annotated[int, output(help="Independent runs to average over.")] = 10,
    seed: Annotated[int, output(help="Seed of the simulated randomness.")] = 0,
    search: Annotated[
        bool, output("--search", help="Also say what searching the list is worth to people who were not asked.")
    ] = False,
    held_out: Annotated[
        float | None, output(help="Share of the people whom --search does not ask (0.2 if none is said).")
    ] = None,
    as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Compare a method with the log's own truth. NOT PRIVATE: for the eyes of those who hold the log.

    Runs the method several times with simulated randomness and prints means with standard errors: the error on the
    true top M, where what is missing counts as 0, with precision and recall; then L1 and NDCG, beside the score of a
    random order. Nothing is written. If all lists are empty, it says what would list more.

    With --search it runs as often again without some people, who then search the list: how often it answers, and how
    much typing it saves, beside an exact list of equal length.
    """
    from blendp import evaluation
    from blendp.evaluation.planner import EmptyListAdvice
    from blendp.evaluation.search import HELD_OUT
    from blendp.render.release.advice import AdviceText
    from blendp.render.release.terminal import advice_table, scores_table, summary
    from blendp.render.search_value import search_table

    if held_out is not None and not search:
        raise ParameterError("--held-out", held_out, "left out without --search", "Add --search.")
    parameters, opt_in = job.parameters(), job.who_opts_in()
    with steps((repeat + 1) * (1 + search)) as bar:
        bar.start("reading the log")
        log = job.read(bar.rows_read)
        runs: dict[str, Any] = {"opt_in": opt_in, "repeat": repeat, "seed": seed, "progress": bar.start}
        share = HELD_OUT if held_out is None else held_out
        value = evaluation.search_value(log, parameters, held_out=share, **runs) if search else None
        done = evaluation.evaluate(log, parameters, **runs)
    tell_quality(log, job.levels)
    first = replace(done.trials[0].outcome, reading=done.reading)
    advice = None if done.records else EmptyListAdvice.of(first)
    if as_json:
        print_json(
            done.to_dict()
            | ({"search": value.to_dict()} if value else {})
            | ({"advice": advice.to_dict()} if advice else {})
        )
        return
    results.print(summary(first))
    results.print(scores_table(done.to_dict()))
    if value:
        results.print(search_table(value))
    if advice:
        results.print(advice_table(AdviceText.of(advice)))
