"""Invented people who take part in campaigns of a real collector over HTTP: for trials and for the demonstration.

Who they are is seeded; what protects them is not. Their devices, and the collector, draw as they always do.
"""

from blendp.fleet.fleet import Fleet
from blendp.fleet.people import invented_records

__all__ = ["Fleet", "invented_records"]
