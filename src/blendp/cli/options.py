"""The options that ``run`` and ``evaluate`` share: what to read, with which method and promise; and where runs run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from blendp.cli.panels import OPT_IN_SHARE, asked_size, machine, method, privacy
from blendp.cli.reading import LogOptions, tell_how
from blendp.errors import ParameterError, require_choice
from blendp.methods import Parameters
from blendp.methods.groups import require_share

if TYPE_CHECKING:  # engines are loaded when a log is opened, not to say which options there are
    from blendp.engines import EmbeddedLog, StagedLog
    from blendp.engines.spark import SparkLog, SparkSettings
    from blendp.logs.reading import ReadingOptions

ENGINES = ("embedded", "spark")

_SMALL = 1 << 20
"""Values in Parquet, some hundred thousand rows, that are read sooner than Java has compiled itself well."""

_SHORT_LIVED = {"spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Spark's configuration for a Java that compiles quickly, not well."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Job(LogOptions):
    """A log and how to treat it, as given on the command line."""

    logs: Annotated[list[str], Argument(help="A file, several files, a quoted pattern, or a directory.", metavar="LOG")]

    opt_in: Annotated[
        float | None, privacy(help=f"Share of users who opt in, drawn at random ({OPT_IN_SHARE} if none is said).")
    ] = None
    opt_in_column: Annotated[str | None, privacy(help="Column that says who opts in.")] = None
    epsilon: Annotated[float, privacy(help="Privacy loss promised to every person.")] = Parameters.epsilon
    delta: Annotated[
        float | None, privacy(help="By how much a probability may exceed that (below 1/(10 people) if none is said).")
    ] = Parameters.delta

    method: Annotated[str, method(help="blendp, or published: BLENDER with its errata mended.")] = Parameters.method
    size: Annotated[int, method(help="M: records in the final list; 0 keeps all.")] = Parameters.size or 0
    trim_unit: Annotated[str, method(help="What --size counts: record or query.")] = Parameters.trim_unit
    opt_in_records: Annotated[
        str,
        method(
            help="Records an opt-in user contributes: 1, many (all of them) or auto, whichever serves better. "
            "published: m_O, 1 if none is said."
        ),
    ] = str(Parameters.opt_in_records)
    records_per_person: Annotated[
        float | None,
        method(
            help="blendp: mean number of records a person has, if known; it decides auto (else 2 % of epsilon do, with "
            "noise). Published, rounded to one digit: a mean taken from the log is not private."
        ),
    ] = Parameters.records_per_person
    objective: Annotated[
        str, method(help="blendp: what is to be best: balanced, long-list, or trends (frequent queries).")
    ] = Parameters.objective
    head_list_share: Annotated[
        float | None,
        method(help="f_O: share of opt-in users who make the list; the others estimate (blendp: 1, published: 0.95)."),
    ] = Parameters.head_list_share
    query_share: Annotated[
        float | None,
        method(
            help="blendp: share of clients who report the query, the others report the record (chosen if none is "
            "said). published: f_C, share of the client budget for the query (0.85)."
        ),
    ] = Parameters.query_share
    randomiser: Annotated[
        str, method(help="blendp: how clients report: auto, split, apart, two-stage or two-stage-tight.")
    ] = Parameters.randomiser
    prior: Annotated[str, method(help="blendp: what is assumed of listed records: power-law or none.")] = (
        Parameters.prior
    )
    influence_cap: Annotated[
        float, method(help="blendp: how many standard errors clients may pull an estimate; 0 for no cap.")
    ] = Parameters.influence_cap or 0.0
    client_records: Annotated[
        int, method(help="published: m_C, records each client reports about; they share the budget.")
    ] = Parameters.client_records
    variance: Annotated[
        str, method(help="published: mended; journal or conference: as printed, to reproduce only.")
    ] = Parameters.variance
    wildcard: Annotated[
        str,
        method(
            help="published: opt-in records with a listed query and another URL count as shared (as clients count "
            "them) or figure-4."
        ),
    ] = Parameters.wildcard
    project: Annotated[bool, method(help="Project probabilities on the simplex.")] = Parameters.project

    memory_limit: Annotated[
        str | None,
        machine(help="Memory of the engine, such as 4GB; what is more goes to disk (most of what there is)."),
    ] = None

    def parameters(self) -> Parameters:
        """The method's parameters."""
        given = {field.name: getattr(self, field.name) for field in fields(Parameters)}
        m = self.opt_in_records
        asked = {"size": asked_size(self.size), "influence_cap": self.influence_cap or None}
        return Parameters(**{**given, **asked, "opt_in_records": int(m) if m.isdecimal() else m})

    def who_opts_in(self) -> float | None:
        """A share of the users, or None for the log's own column."""
        if self.opt_in_column is None:
            share = OPT_IN_SHARE if self.opt_in is None else self.opt_in
            require_share(share)
            return share
        if self.opt_in is not None:
            raise ParameterError(
                "--opt-in", self.opt_in, "left out when --opt-in-column is given", "Give one of the two."
            )
        return None

    def source(self) -> dict[str, Any]:
        """Who opted in and whether texts were normalised, for the release card."""
        return {"opt_in": self.who_opts_in(), "opt_in_column": self.opt_in_column, "normalise": self.normalise}

    def read(self, progress: Callable[[int], None]) -> EmbeddedLog:
        """The log, kept for many runs."""
        from blendp.logs import read_log

        return read_log(self.logs, memory_limit=self.memory_limit, progress=progress, tell=tell_how, **self._options())

    def _options(self) -> ReadingOptions:
        return self.reading_options(self.opt_in_column)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunJob(Job):
    """The same on either engine."""

    engine: Annotated[str, machine(help="embedded, or spark: Parquet wherever Spark reads it (blendp[spark]).")] = (
        "embedded"
    )
    master: Annotated[str | None, machine(help="spark: where it runs (local[*] if none is said).")] = None
    spark_conf: Annotated[
        list[str] | None, machine(help="spark: a setting of its own, KEY=VALUE; may be repeated.")
    ] = None

    def open(self, progress: Callable[[int], None]) -> StagedLog | SparkLog:
        """The log, to be drawn from once."""
        require_choice("engine", self.engine, ENGINES)
        refuse_spark_options(self.engine, self.master, self.spark_conf)
        if self.engine == "embedded":
            from blendp.logs import open_log

            return open_log(
                self.logs, memory_limit=self.memory_limit, progress=progress, tell=tell_how, **self._options()
            )
        if self.format not in ("auto", "parquet"):
            raise ParameterError("format", self.format, "parquet with --engine spark", "Write the log as Parquet.")
        from blendp.logs import open_spark_log

        settings = spark_settings(self.logs, self.master, self.memory_limit, self.spark_conf)
        log = open_spark_log(self.logs, settings, **self._options())
        if log.how is not None:
            tell_how(log.how)
        return log


def spark_settings(
    sources: Sequence[str], master: str | None, memory_limit: str | None, conf: list[str] | None
) -> SparkSettings:
    """Spark's settings from the command line, for what is to be read.

    A Java that reads little on this machine spends most of its time on compiling itself well: it is told not to.
    """
    from blendp.engines.database import bytes_of
    from blendp.engines.spark import SparkSettings

    pairs = [setting.partition("=") for setting in conf or []]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise ParameterError("spark_conf", name, "KEY=VALUE", "For instance spark.executor.memory=8g.")
    memory = None if memory_limit is None else f"{bytes_of(memory_limit) >> 20}m"
    settings = SparkSettings(master or SparkSettings.master, memory, {name: value for name, _, value in pairs})
    if not settings.is_local or not _are_small(sources):
        return settings
    return replace(settings, conf=_SHORT_LIVED | dict(settings.conf))


def _are_small(sources: Sequence[str]) -> bool:
    """Whether these are files on this machine, and small together; folders, patterns and addresses may be anything.

    Bytes do not tell: a million answers may take one.
    """
    from pyarrow import ArrowException, parquet

    if not all(Path(source).is_file() for source in sources):
        return False
    try:
        footers = [parquet.read_metadata(source) for source in sources]
    except (ArrowException, OSError):
        return True  # what is broken is soon told
    return bool(sum(footer.num_rows * footer.num_columns for footer in footers) <= _SMALL)


def refuse_spark_options(engine: str, master: str | None, conf: list[str] | None) -> None:
    """Raise if Spark is told something and not asked for."""
    for option, value in (("master", master), ("spark_conf", conf)):
        if value and engine != "spark":
            raise ParameterError(option, value, "left out without --engine spark", "Add --engine spark.")
