"""Search logs: readers for the common formats, one rule of normal text, and a report on broken rows."""

from blendp.engines.quality import LogQuality
from blendp.logs.columns import Columns
from blendp.logs.normalise import normalise_query, normalise_url
from blendp.logs.readers import log_of_table, read_log

__all__ = ["Columns", "LogQuality", "log_of_table", "normalise_query", "normalise_url", "read_log"]
