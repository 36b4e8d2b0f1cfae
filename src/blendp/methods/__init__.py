"""Whole methods: from a log and parameters to blended estimates with their guarantee."""

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
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

_HOMES = {
    "blendp.methods.end_to_end": ("conclude", "make_list", "run", "simulate", "simulate_people"),
    "blendp.methods.groups": ("GroupSizes",),
    "blendp.methods.guarantee": ("Guarantee",),
    "blendp.methods.listed": ("Listed",),
    "blendp.methods.outcome": ("Outcome", "Release", "Row", "Simulation"),
    "blendp.methods.parameters": ("Parameters",),
    "blendp.methods.people": ("LogPeople", "People"),
}
"""Where each name lives: who needs one loads what stands behind it."""

if not TYPE_CHECKING:  # a checker that saw this function would believe in any name
    from blendp.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
