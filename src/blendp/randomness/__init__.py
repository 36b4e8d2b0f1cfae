"""Where random bits come from.

Two types that cannot stand in for each other: :class:`ReleaseRandom`, a cryptographic stream, for everything
that leaves the curator or a device; :class:`SimulationRandom`, seeded and reproducible, for experiments. A
:class:`DerivedRandom` is of the first kind: the same stream again for the same secret key and the same data.
:class:`KnownWords` are public: programs that draw alike draw the same from them.
"""

from blendp.randomness.derived import DerivedRandom
from blendp.randomness.known import KnownWords
from blendp.randomness.random import Random
from blendp.randomness.release import ReleaseRandom, require_release
from blendp.randomness.simulation import SimulationRandom

__all__ = ["DerivedRandom", "KnownWords", "Random", "ReleaseRandom", "SimulationRandom", "require_release"]
