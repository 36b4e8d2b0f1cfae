"""What the ways to report are called, apart from what makes reports: parameters and options need the names alone."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

RANDOMISERS = ("split", "apart", "two-stage", "two-stage-tight")
"""How clients report.

``split``: subset selection with the whole epsilon, about the query or about the record. ``apart``: the same, with the
wildcard in a report of its own. ``two-stage``: the published LocalAlg. ``two-stage-tight``: the same with its URL stage
raised until the whole epsilon is spent.
"""

RANDOMISER_OF_METHOD: Mapping[str, str] = MappingProxyType({"blendp": "split", "published": "two-stage"})
"""How the clients of a campaign report, by its method."""

METHODS = tuple(RANDOMISER_OF_METHOD)
"""blendp, and BLENDER as it was published, errata mended."""

ORACLES = ("split", "apart")
"""Randomisers that name sets: subset selection among all items, or with the wildcard in a report of its own."""

PUBLISHED_QUERY_SHARE = 0.85
"""f_C of the paper: the share of a client's budget that protects the query."""
