"""A frequency oracle as published: first the query, then the URL, each kept or replaced at random."""

from blendp.mechanisms.two_stage.two_stage import TwoStage

__all__ = ["TwoStage"]
