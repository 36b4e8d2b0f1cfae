"""Counting over logs that outgrow a machine: the verbs of the embedded engine on Apache Spark."""

from blendp.engines.spark.log import SparkLog
from blendp.engines.spark.session import SparkSettings, spark_session

__all__ = ["SparkLog", "SparkSettings", "spark_session"]
