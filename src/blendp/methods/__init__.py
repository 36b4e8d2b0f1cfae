"""Whole methods: from a log and parameters to blended estimates with their guarantee."""

from blendp.methods.groups import GroupSizes
from blendp.methods.outcome import Outcome, Release, Simulation
from blendp.methods.parameters import Parameters
from blendp.methods.published import run, simulate

__all__ = ["GroupSizes", "Outcome", "Parameters", "Release", "Simulation", "run", "simulate"]
