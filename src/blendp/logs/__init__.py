"""Search logs and tables of answers: readers for the common formats, and a report on broken rows."""

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
