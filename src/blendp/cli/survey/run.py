"""``blendp survey run``: a release from a table of answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from blendp.cli.console import errors, print_json, results, steps
from blendp.cli.options import output, takes_job
from blendp.cli.reading import reading
from blendp.cli.survey.options import SurveyJob
from blendp.errors import ParameterError, require_choice
from blendp.outputs import refuse_existing
from blendp.randomness import ReleaseRandom
from blendp.render.release.page import load_plots_meanwhile
from blendp.render.survey.files import SURVEY_FILES, frequency_rows, survey_card, write_survey
from blendp.render.survey.terminal import frequency_table, survey_summary
from blendp.render.text import visible
from blendp.survey import METHODS, run_survey

EXAMPLES = """Examples:

- `blendp survey run answers.csv --questionnaire questionnaire.json --opt-in 0.05 --out survey`
- `blendp survey run answers.parquet --questionnaire questionnaire.json --opt-in-column is_staff --record-epsilon 4`
- `blendp survey run answers.csv --columns smokes,sleep --answers-from-data --method split --opt-in 0 --json`
"""


@takes_job
def run(
    job: SurveyJob,
    answers_from_data: Annotated[
        bool,
        reading(
            "--answers-from-data",
            help="Instead of --questionnaire: read the possible answers from the data. NOT PRIVATE: an answer that "
            "only one person gave is published as it is.",
        ),
    ] = False,
    out: Annotated[Path, output(help="Directory for the results.")] = Path("blendp-survey"),
    overwrite: Annotated[bool, output("--overwrite", help="Replace an earlier result in --out.")] = False,
    as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Release the frequencies of all answers.

    Writes frequencies.csv, survey.json, questionnaire.json, report.html and, if a tree was learnt, model.json.
    Everything written is protected by the promise in survey.json, except what it names as not protected: the possible
    answers with --answers-from-data, which also leaves out questionnaire.json and model.json, and how many people are
    counted with --missing drop.

    This command plays BOTH sides on answers that one party already holds. In a deployment clients randomise on their
    own devices, and the table of all answers exists nowhere.
    """
    require_choice("method", job.method, METHODS)
    _require_answers_known(job.questionnaire, answers_from_data)
    (parameters,), opt_in = job.parameters(), job.who_opts_in()
    refuse_existing(out, overwrite=overwrite, own_files=SURVEY_FILES)
    load_plots_meanwhile()
    with steps(8) as bar:
        bar.start("reading the answers")
        answers = job.read(job.data)
        model = job.public_model(answers.questionnaire)
        answers = job.drawn(answers, ReleaseRandom())
        release = run_survey(
            answers, parameters, opt_in=opt_in, model=model, progress=bar.start, answers_from_data=answers_from_data
        )
        bar.start("writing the results")
        source = job.source(job.data)
        write_survey(release, out, source=source, overwrite=overwrite)
    if as_json:
        for caution in release.cautions:
            errors.print(visible(caution), style="yellow", markup=False, highlight=False, soft_wrap=True)
        print_json({**survey_card(release, source), "frequencies": frequency_rows(release), "out": str(out)})
        return
    results.print(survey_summary(release))
    results.print(frequency_table(release))
    results.print(f"Results in {out}: open {out / 'report.html'}", highlight=False, markup=False, soft_wrap=True)


def _require_answers_known(questionnaire: Path | None, answers_from_data: bool) -> None:
    """Raise unless the possible answers are given, or their publication was asked for in so many words."""
    if questionnaire is None and not answers_from_data:
        raise ParameterError(
            "questionnaire",
            None,
            "a file with the possible answers",
            "Give one; or say --answers-from-data to read them from the answers themselves, which is not private: an "
            "answer that only one person gave is published as it is.",
        )
    if questionnaire is not None and answers_from_data:
        raise ParameterError(
            "answers_from_data", True, "left out where --questionnaire is given", "Give one of the two."
        )
