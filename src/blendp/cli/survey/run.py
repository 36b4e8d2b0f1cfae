"""``blendp survey run``: a release from a table of answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from blendp.answers import AnswerSource
from blendp.cli.console import errors, print_json, results
from blendp.cli.options import ENGINES, refuse_spark_options, spark_settings
from blendp.cli.panels import machine, output, takes_job
from blendp.cli.progress import steps
from blendp.cli.promised import Promised, remember
from blendp.cli.reading import reading
from blendp.cli.survey.options import SurveyOptions
from blendp.errors import ParameterError, require_choice
from blendp.logs.filters import RowFilter
from blendp.logs.reading import HowRead
from blendp.outputs import refuse_existing
from blendp.randomness import ReleaseRandom
from blendp.render.about import About
from blendp.render.survey.files import SURVEY_FILES, frequency_rows, survey_card, write_survey
from blendp.render.survey.terminal import frequency_table, survey_summary
from blendp.render.text import visible
from blendp.survey import METHODS, SurveyRelease, run_survey

EXAMPLES = """Examples:

- `blendp survey run answers.csv --questionnaire questionnaire.json --opt-in 0.05 --out survey`
- `blendp survey run answers.parquet --questionnaire questionnaire.json --opt-in-column is_staff --record-epsilon 4`
- `blendp survey run 's3a://answers/*.parquet' --questionnaire questionnaire.json --engine spark --master spark://host:7077`
- `blendp survey run answers.csv --columns smokes,sleep --answers-from-data --method split --opt-in 0 --json`
"""


@dataclass(frozen=True, kw_only=True)
class SurveyRunJob(SurveyOptions):
    """A table of answers of any size, how to treat it, and where that runs."""

    data: Annotated[
        str,
        Argument(
            help="A table of answers: CSV, TSV or Parquet, also .gz; one row a person. With --engine spark: Parquet "
            "files, a folder or a pattern, by an address that Spark knows.",
            metavar="DATA",
        ),
    ]
    engine: Annotated[str, machine(help="embedded, or spark: Parquet wherever Spark reads it (blendp[spark]).")] = (
        "embedded"
    )
    memory_limit: Annotated[str | None, machine(help="spark: memory of the driver, such as 4GB.")] = None
    master: Annotated[str | None, machine(help="spark: where it runs (local[*] if none is said).")] = None
    spark_conf: Annotated[
        list[str] | None, machine(help="spark: a setting of its own, KEY=VALUE; may be repeated.")
    ] = None

    def answers(self, progress: Callable[[int], None]) -> AnswerSource:
        """The answers, to be surveyed once."""
        require_choice("engine", self.engine, ENGINES)
        refuse_spark_options(self.engine, self.master, self.spark_conf)
        if self.engine == "embedded":
            if self.memory_limit is not None:
                raise ParameterError(
                    "memory_limit", self.memory_limit, "left out without --engine spark", "Little memory is needed."
                )
            if self.people is None:
                return self.open(Path(self.data), progress)
            return self.drawn(self.read(Path(self.data)), ReleaseRandom())
        if self.people is not None:
            raise ParameterError("people", self.people, "left out with --engine spark", "Give a table of these people.")
        settings = spark_settings([self.data], self.master, self.memory_limit, self.spark_conf)
        return self.open_on_spark(self.data, settings)

    def card_source(self) -> dict[str, Any]:
        """How the answers were read and who opted in, for the release's card."""
        if self.engine == "embedded":
            return self.source(Path(self.data))
        how = HowRead("parquet", {}, None, RowFilter())
        return {"opt_in": self.who_opts_in(), "opt_in_column": self.opt_in_column, "reading": how.to_dict()}


@takes_job
def run(
    job: SurveyRunJob,
    answers_from_data: Annotated[
        bool,
        reading(
            "--answers-from-data",
            help="Instead of --questionnaire: read the possible answers from the data. NOT PRIVATE: an answer that "
            "only one person gave is published as it is.",
        ),
    ] = False,
    out: Annotated[Path, output(help="Directory for the results.")] = Path("blendp-survey"),
    title: Annotated[str | None, output(help="What the survey is called, on its page and in its card.")] = None,
    log_name: Annotated[
        str | None, output(help="What the card calls the answers (the name of their file if none is said).")
    ] = None,
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
    about = About.of_files([str(job.data)], title, log_name)
    refuse_existing(out, overwrite=overwrite, own_files=SURVEY_FILES)
    with steps(8) as bar:
        bar.start("reading the answers")
        answers = job.answers(bar.rows_read)
        model = job.public_model(answers.questionnaire)
        release = run_survey(
            answers, parameters, opt_in=opt_in, model=model, progress=bar.start, answers_from_data=answers_from_data
        )
        bar.start("writing the results")
        source = job.card_source()
        write_survey(release, out, source=source, about=about, overwrite=overwrite)
    promised = _remembered(str(job.data), release, about)
    if promised is not None:
        errors.print(promised.sentence, style="yellow", markup=False, highlight=False, soft_wrap=True)
    if as_json:
        for caution in release.cautions:
            errors.print(visible(caution), style="yellow", markup=False, highlight=False, soft_wrap=True)
        before = None if promised is None else promised.to_dict()
        document = {**survey_card(release, source, about), "frequencies": frequency_rows(release)}
        print_json({**document, "out": str(out), "released_before": before})
        return
    results.print(survey_summary(release, about))
    results.print(frequency_table(release.rows(), release.last_step))
    results.print(f"Results in {out}: open {out / 'report.html'}", highlight=False, markup=False, soft_wrap=True)


def _remembered(data: str, release: SurveyRelease, about: About) -> Promised | None:
    """Write down what holds for everybody, whatever the correlations are."""
    epsilon = release.design.losses.record
    if not release.opt_in_people:
        return remember([data], epsilon, 0.0, about.day.isoformat())
    spent = release.parameters.budget
    return remember([data], max(epsilon, spent.epsilon), spent.delta, about.day.isoformat())


def _require_answers_known(questionnaire: Path | None, answers_from_data: bool) -> None:
    """Raise unless the possible answers are given, or their publication was asked for in so many words."""
    if questionnaire is None and not answers_from_data:
        raise ParameterError(
            "questionnaire",
            None,
            "given unless --answers-from-data is",
            "Name a JSON file with the possible answers; --answers-from-data reads them from the answers themselves, "
            "which is not private: an answer that only one person gave is published as it is.",
        )
    if questionnaire is not None and answers_from_data:
        raise ParameterError(
            "answers_from_data", True, "left out where --questionnaire is given", "Give one of the two."
        )
