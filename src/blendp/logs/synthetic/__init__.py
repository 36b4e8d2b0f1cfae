"""Synthetic search logs in the likeness of the two data sets of the BLENDER paper.

They stand in for AOL and Yandex where the real logs cannot be had: as many users and unique queries, the same
probabilities of the named queries, and head lists as long as the paper's. ``aol-sparse`` has AOL's queries, and as few
URLs beside their main ones as real people. See :class:`Law` for the law, :class:`Population` for the users.
"""

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
    from blendp.logs.synthetic.laws import Law, law
    from blendp.logs.synthetic.names import NAMES
    from blendp.logs.synthetic.populations import USERS, Population, population

__all__ = ["NAMES", "USERS", "Law", "Population", "law", "population"]

_HOMES = {
    "blendp.logs.synthetic.laws": ("Law", "law"),
    "blendp.logs.synthetic.names": ("NAMES",),
    "blendp.logs.synthetic.populations": ("USERS", "Population", "population"),
}
"""Where each name lives: who needs one loads what stands behind it."""

if not TYPE_CHECKING:  # a checker that saw this function would believe in any name
    from blendp.lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
