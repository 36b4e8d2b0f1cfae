"""Counting over logs that outgrow a machine: the verbs of the embedded engine on Apache Spark."""

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
    from blendp.engines.spark.log import SparkLog
    from blendp.engines.spark.session import SparkSettings, spark_session

__all__ = ["SparkLog", "SparkSettings", "spark_session"]

_HOMES = {"blendp.engines.spark.log": ("SparkLog",), "blendp.engines.spark.session": ("SparkSettings", "spark_session")}
"""Where each name lives: who needs one loads what stands behind it."""

if not TYPE_CHECKING:  # a checker that saw this function would believe in any name
    from blendp.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
