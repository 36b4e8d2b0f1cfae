"""Whole methods: from a log and parameters to blended estimates with their guarantee."""

from blendp.methods.groups import GroupSizes
from blendp.methods.guarantee import Guarantee
from blendp.methods.outcome import Outcome, Release, Row, Simulation
from blendp.methods.parameters import Parameters
from blendp.methods.published import run, simulate

__all__ = ["GroupSizes", "Guarantee", "Outcome", "Parameters", "Release", "Row", "Simulation", "run", "simulate"]
