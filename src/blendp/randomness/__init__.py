"""Where random bits come from.

Two types that cannot stand in for each other: :class:`ReleaseRandom`, a cryptographic stream, for everything
that leaves the curator or a device; :class:`SimulationRandom`, seeded and reproducible, for experiments.
"""

from blendp.randomness.random import Random
from blendp.randomness.release import ReleaseRandom, require_release
from blendp.randomness.simulation import SimulationRandom

__all__ = ["Random", "ReleaseRandom", "SimulationRandom", "require_release"]
