"""Whole methods: from a log and parameters to blended estimates with their guarantee."""

from blendp.methods.end_to_end import conclude, make_list, run, simulate, simulate_people
from blendp.methods.groups import GroupSizes
from blendp.methods.guarantee import Guarantee
from blendp.methods.listed import Listed
from blendp.methods.outcome import Outcome, Release, Row, Simulation
from blendp.methods.parameters import Parameters
from blendp.methods.people import LogPeople, People

__all__ = [
    "GroupSizes",
    "Guarantee",
    "Listed",
    "LogPeople",
    "Outcome",
    "Parameters",
    "People",
    "Release",
    "Row",
    "Simulation",
    "conclude",
    "make_list",
    "run",
    "simulate",
    "simulate_people",
]
