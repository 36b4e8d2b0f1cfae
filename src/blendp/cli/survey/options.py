"""The options that the survey commands share: what to read, with which method and promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from blendp.answers import Answers, Questionnaire
from blendp.cli.failures import about_file
from blendp.cli.panels import OPT_IN_SHARE, method, privacy
from blendp.cli.reading import FileOptions, reading, tell_how
from blendp.engines.spark import SparkSettings
from blendp.engines.spark.answers import SparkAnswers
from blendp.engines.spark.local_files import require_local_files
from blendp.engines.stored_answers import StoredAnswers
from blendp.errors import LogError, ParameterError, require_count, require_number
from blendp.logs import open_answers, open_spark_answers, read_answers
from blendp.logs.answers_file import AnswersFile
from blendp.logs.dialect import TextOptions
from blendp.randomness import Random
from blendp.survey import METHODS, Model, SurveyParameters
from blendp.survey.models.files import model_from_bytes

ALL = "all"
AUTO = "auto"

_MAX_FILE_BYTES = 1 << 28
"""Bytes beyond which a questionnaire or a model is none."""

_IN_PYTHON = {
    "(columns=...)": "(--columns)",
    "(opt_in_column=...)": "(--opt-in-column)",
    "(encoding=...)": "(--encoding)",
    'missing="drop"': "--missing drop",
    'missing="value"': "--missing value",
}


@dataclass(frozen=True, kw_only=True)
class SurveyOptions(FileOptions):
    """How to treat answers, as given on the command line."""

    epsilon: Annotated[
        float, privacy(help="Privacy loss promised to every person (clients: about every attribute, by the model).")
    ] = SurveyParameters.epsilon
    delta: Annotated[
        float | None,
        privacy(help="By how much a probability may exceed that, opt-in group (below 1/(10 people) if none is said)."),
    ] = SurveyParameters.delta
    opt_in: Annotated[
        float | None, privacy(help=f"Share of people who opt in ({OPT_IN_SHARE} if none is said; 0: nobody).")
    ] = None
    opt_in_column: Annotated[str | None, privacy(help="Column that says who opts in.")] = None
    record_epsilon: Annotated[
        float | None,
        privacy(help="Largest epsilon of a client's whole record, whatever the correlations (no limit if not said)."),
    ] = SurveyParameters.record_epsilon
    confidence: Annotated[
        float, privacy(help="With what probability the model learnt from the opt-in group bounds the truth.")
    ] = SurveyParameters.confidence
    model: Annotated[
        Path | None, privacy(help="A public model, JSON like model.json (learnt from the opt-in group if not said).")
    ] = None

    method: Annotated[str, method(help=f"How clients report: {', '.join(METHODS)}.")] = SurveyParameters.method
    group: Annotated[str, method(help="cbps: how many attributes one client reports, a number or auto.")] = AUTO
    one_strength: Annotated[
        bool, method("--one-strength", help="Report all attributes of a group with the same strength.")
    ] = False
    learn: Annotated[
        str,
        method(
            help="What the opt-in group shows: table (any few attributes, no shape assumed), tree (many attributes, "
            "assumed to form a tree), or auto."
        ),
    ] = SurveyParameters.learn
    project: Annotated[
        bool, method(help="Project an attribute's frequencies on the simplex, so that they sum to 1.")
    ] = SurveyParameters.project
    people: Annotated[
        int | None, method(help="Take so many of the rows, drawn at random without looking at answers.")
    ] = None

    columns: Annotated[str | None, reading(help="The questions, in this order: a,b,c (all columns if not said).")] = (
        None
    )
    questionnaire: Annotated[
        Path | None, reading(help="The possible answers, JSON. They are public; nobody's answers tell them.")
    ] = None
    missing: Annotated[
        str,
        reading(
            help="Missing answers: refuse the file; value: an answer of its own; drop these people: NOT PRIVATE, who "
            "is counted then depends on answers."
        ),
    ] = "refuse"
    format: Annotated[str, reading(help="auto (by file name), csv, tsv, parquet.")] = "auto"
    no_header: Annotated[
        bool, reading("--no-header", help="The first line is a row: --columns names all columns in their order.")
    ] = False

    def parameters(self) -> tuple[SurveyParameters, ...]:
        """Those of the method, or of every method."""
        return tuple(
            SurveyParameters(
                epsilon=self.epsilon,
                delta=self.delta,
                method=name,
                group=self._group() if name == "cbps" or self.method != ALL else None,
                per_attribute=not self.one_strength,
                record_epsilon=self.record_epsilon,
                learn=self.learn,
                confidence=self.confidence,
                project=self.project,
            )
            for name in (METHODS if self.method == ALL else (self.method,))
        )

    def _group(self) -> int | None:
        if self.group == AUTO:
            return None
        try:
            return int(self.group)
        except ValueError:
            raise ParameterError(
                "group",
                self.group,
                "auto, or a whole number of at least 1",
                "It is how many attributes a client tells.",
            ) from None

    def who_opts_in(self) -> float | None:
        """A share of the people, or None for the table's own column."""
        if self.opt_in_column is None:
            share = OPT_IN_SHARE if self.opt_in is None else self.opt_in
            require_number(
                "opt_in",
                share,
                min_value=0,
                below=1,
                legal="a share of at least 0 and below 1",
                remedy="0.05 means that 5 % of the people opt in, 0 that nobody does.",
            )
            return share
        if self.opt_in is not None:
            raise ParameterError(
                "--opt-in", self.opt_in, "left out when --opt-in-column is given", "Give one of the two."
            )
        return None

    def read(self, data: Path) -> Answers:
        """The table of answers, in memory."""
        if self.people is not None:
            require_count("people", self.people, min_value=2, remedy="Ask more people.")
        with _in_options():
            tell_how(self._file(data).how)
            return read_answers(data, missing=self.missing, **self._reading())

    def open(self, data: Path, progress: Callable[[int], None]) -> StoredAnswers:
        """The table of answers, to be surveyed once."""
        with _in_options():
            tell_how(self._file(data).how)
            return open_answers(data, missing=self.missing, progress=progress, **self._reading())

    def open_on_spark(self, data: str, settings: SparkSettings) -> SparkAnswers:
        """The table of answers on a cluster."""
        options = self._reading()
        if options.pop("format") not in ("auto", "parquet"):
            raise ParameterError("format", self.format, "parquet with --engine spark", "Write the table as Parquet.")
        TextOptions(**{name: options.pop(name) for name in ("delimiter", "quotes", "encoding", "header")}).refuse_for(
            "parquet"
        )
        require_local_files([data], settings)
        with _in_options():
            return open_spark_answers(data, settings, missing=self.missing, **options)

    def source(self, data: Path) -> dict[str, Any]:
        """How the answers are read and who opts in, for the release's card."""
        own = {"opt_in": self.who_opts_in(), "opt_in_column": self.opt_in_column}
        return {**own, "reading": self._file(data).how.to_dict()}

    def _file(self, data: Path) -> AnswersFile:
        given = self._reading()
        return AnswersFile.of(data, opt_in=given.pop("opt_in_column"), **given)

    def _reading(self) -> dict[str, Any]:
        text = self.text_options()
        columns = text.pop("names")
        questions = None
        if self.questionnaire is not None:
            with about_file("questionnaire", self.questionnaire):
                questions = Questionnaire.from_bytes(_bytes(self.questionnaire))
        return {
            "columns": columns,
            "questionnaire": questions,
            "opt_in_column": self.opt_in_column,
            "format": self.format,
            **text,
        }

    def drawn(self, answers: Answers, random: Random) -> Answers:
        """So many of the people as were asked for."""
        if self.people is None or self.people == answers.people:
            return answers
        if self.people > answers.people:
            raise ParameterError(
                "people",
                self.people,
                f"at most {answers.people}, the rows of the table",
                "There are no more people than rows.",
            )
        return answers.take(random.subset(answers.people, self.people))

    def public_model(self, questionnaire: Questionnaire) -> Model | None:
        """The model that was given."""
        if self.model is None:
            return None
        with about_file("model", self.model):
            return model_from_bytes(_bytes(self.model), questionnaire)


@dataclass(frozen=True, kw_only=True)
class SurveyJob(SurveyOptions):
    """A table of answers and how to treat it."""

    data: Annotated[
        Path, Argument(help="A table of answers: CSV, TSV or Parquet, also .gz; one row a person.", metavar="DATA")
    ]


@dataclass(frozen=True, kw_only=True)
class SurveyJobs(SurveyJob):
    """The same with several methods to compare."""

    method: Annotated[str, method(help=f"How clients report: {ALL}, {', '.join(METHODS)}.")] = ALL


@contextmanager
def _in_options() -> Iterator[None]:
    """Let errors speak of options where they speak of Python's parameters."""
    try:
        yield
    except LogError as error:
        sentence = str(error)
        for python, option in _IN_PYTHON.items():
            sentence = sentence.replace(python, option)
        mended = LogError(sentence)
        for line in getattr(error, "__notes__", ()):
            mended.add_note(line)
        raise mended from error


def _bytes(path: Path) -> bytes:
    if not path.is_file():
        raise LogError(f"{path} does not exist, or is no file: check the path.")
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise LogError(f"{path} is too large for a questionnaire or a model: name another.")
    return path.read_bytes()
