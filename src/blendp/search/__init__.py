"""Offline search in a release: the index, a pure function of the release, and answers to what somebody types."""

from blendp.search.index import SearchIndex, build_index
from blendp.search.matching import MATCHES, Answer, Result

__all__ = ["MATCHES", "Answer", "Result", "SearchIndex", "build_index"]
