"""Search logs and tables of answers: readers for the common formats, and a report on broken rows."""

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
    from blendp.engines.quality import LogQuality
    from blendp.logs.answers import read_answers, write_answers
    from blendp.logs.columns import Columns
    from blendp.logs.readers import log_of_table, open_log, read_log
    from blendp.logs.spark_answers import open_spark_answers
    from blendp.logs.spark_source import open_spark_log
    from blendp.logs.stored_answers import open_answers

__all__ = [
    "Columns",
    "LogQuality",
    "log_of_table",
    "open_answers",
    "open_log",
    "open_spark_answers",
    "open_spark_log",
    "read_answers",
    "read_log",
    "write_answers",
]

_HOMES = {
    "blendp.engines.quality": ("LogQuality",),
    "blendp.logs.answers": ("read_answers", "write_answers"),
    "blendp.logs.columns": ("Columns",),
    "blendp.logs.readers": ("log_of_table", "open_log", "read_log"),
    "blendp.logs.spark_answers": ("open_spark_answers",),
    "blendp.logs.spark_source": ("open_spark_log",),
    "blendp.logs.stored_answers": ("open_answers",),
}
"""Where each name lives: who reads a log loads no reader of answers, and nothing of Spark."""

if not TYPE_CHECKING:  # a checker that saw this function would believe in any name
    from blendp.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
