"""Synthetic search logs in the likeness of the two data sets of the BLENDER paper.

They stand in for AOL and Yandex where the real logs cannot be had: as many users and unique queries, the same
probabilities of the named queries, and head lists as long as the paper's. See :class:`Law` for the law,
:class:`Population` for the users.
"""

from blendp.logs.synthetic.laws import Law, law
from blendp.logs.synthetic.populations import USERS, Population, population
from blendp.logs.synthetic.text import NAMES

__all__ = ["NAMES", "USERS", "Law", "Population", "law", "population"]
