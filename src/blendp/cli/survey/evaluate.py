"""``blendp survey evaluate``: how good would a survey of these people be?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from blendp.cli.console import print_json, results
from blendp.cli.panels import output, takes_job
from blendp.cli.progress import steps
from blendp.cli.survey.options import ALL, SurveyJobs
from blendp.errors import require_choice, require_count
from blendp.evaluation.surveys import evaluate_survey
from blendp.outputs import refuse_existing, whole
from blendp.randomness import SimulationRandom
from blendp.render.survey.terminal import trials_tables
from blendp.render.survey.text import Trials
from blendp.survey import METHODS

EXAMPLES = """Examples:

- `blendp survey evaluate answers.csv --opt-in 0.05 --epsilon 1 --runs 20`
- `blendp survey evaluate answers.parquet --method cbps --record-epsilon 3 --out evaluation`
- `blendp survey evaluate answers.csv --people 5000 --opt-in 0.1 --seed 7 --json`
"""

PAGE = "evaluation.html"


@takes_job
def evaluate(
    job: SurveyJobs,
    runs: Annotated[int, output("--runs", "--repeat", help="Independent surveys to average over.")] = 20,
    seed: Annotated[int, output(help="Seed of the simulated randomness.")] = 0,
    out: Annotated[Path | None, output(help=f"Directory for {PAGE}, the comparison to look at.")] = None,
    overwrite: Annotated[bool, output("--overwrite", help="Replace an earlier evaluation in --out.")] = False,
    as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Compare methods with the people's own answers. NOT PRIVATE: for the eyes of those who hold the answers.

    Carries out the survey several times with simulated randomness: errors against the true frequencies, how often
    intervals hold them, and what the clients' reports really tell about each attribute if people answer like these.
    """
    require_choice("method", job.method, (ALL, *METHODS))
    require_count("runs", runs, min_value=1, remedy="Run it at least once.")
    parameters, opt_in = job.parameters(), job.who_opts_in()
    if out is not None:
        refuse_existing(out, overwrite=overwrite, own_files=(PAGE,))
    with steps(1 + runs * len(parameters) + (out is not None)) as bar:
        bar.start("reading the answers")
        answers = job.read(job.data)
        model = job.public_model(answers.questionnaire)
        answers = job.drawn(answers, SimulationRandom(seed))
        done = [
            evaluate_survey(answers, one, opt_in=opt_in, model=model, runs=runs, seed=seed, progress=bar.start)
            for one in parameters
        ]
        view = Trials(answers.questionnaire, tuple(answers.frequencies()), answers.people, tuple(done), seed)
        if out is not None:
            from blendp.render.survey.page import render_trials

            bar.start("drawing the page")
            with whole(out, overwrite=overwrite, own_files=(PAGE,)) as folder:
                (folder / PAGE).write_text(render_trials(view), encoding="utf-8")
    if as_json:
        print_json({**view.to_dict(), "out": None if out is None else str(out)})
        return
    results.print(trials_tables(view))
    if out is not None:
        results.print(f"Evaluation: open {out / PAGE}", highlight=False, markup=False, soft_wrap=True)
