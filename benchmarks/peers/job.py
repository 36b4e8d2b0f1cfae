"""What the peers' scripts have in common: their arguments, and how they answer."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ListJob:
    """A private list of the queries of a Parquet log with the columns user and query, one row of each user."""

    log: str
    unit: str
    """What is protected: that a user's rows are replaced by others ("replace"), or are there ("presence")."""
    epsilon: float
    delta: float

    @property
    def presence_epsilon(self) -> float:
        """For libraries that protect presence only: a replacement is two steps."""
        return self.epsilon / 2 if self.unit == "replace" else self.epsilon

    @property
    def presence_delta(self) -> float:
        """Two steps of (e, d) are (2 e, d + e^e d)."""
        return self.delta / (1 + math.exp(self.presence_epsilon)) if self.unit == "replace" else self.delta


@dataclass(frozen=True)
class ReportsJob:
    """Reports about the items of an .npy file, and the frequencies estimated from them."""

    own_items: str
    items: int
    epsilon: float
    oracle: str


@dataclass(frozen=True)
class SurveyJob:
    """Reports about all attributes of the people in an .npy file (a row each), and the frequencies of every attribute.

    The values of an attribute are 0, 1, ... The survey is repeated, with the same answers, ``runs`` times.
    """

    answers: str
    values: tuple[int, ...]
    """How many values each attribute has."""
    epsilon: float
    solution: str
    runs: int
    seed: int


@dataclass(frozen=True)
class HeavyHittersJob:
    """The most frequent codes among those of the people in an .npy file, found from reports alone."""

    codes: str
    """Where the people's codes are: whole numbers below 2^bits, one a person."""
    bits: int
    levels: int
    epsilon: float
    protocol: str
    kept: int
    """How many prefixes survive each level."""
    seed: int


def list_job() -> ListJob:
    """The job of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("log")
    parser.add_argument("--unit", choices=("replace", "presence"), required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--delta", type=float, required=True)
    return ListJob(**vars(parser.parse_args()))


def reports_job() -> ReportsJob:
    """The job of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("own_items")
    parser.add_argument("--items", type=int, required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--oracle", required=True)
    return ReportsJob(**vars(parser.parse_args()))


def survey_job() -> SurveyJob:
    """The job of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--answers", required=True)
    parser.add_argument("--values", type=_counts, required=True, help="of each attribute, as in 2,2,5")
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--solution", required=True)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, required=True)
    return SurveyJob(**vars(parser.parse_args()))


def heavy_hitters_job() -> HeavyHittersJob:
    """The job of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("codes")
    parser.add_argument("--bits", type=int, required=True)
    parser.add_argument("--levels", type=int, required=True)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--protocol", required=True)
    parser.add_argument("--kept", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    return HeavyHittersJob(**vars(parser.parse_args()))


def _counts(text: str) -> tuple[int, ...]:
    return tuple(int(count) for count in text.split(","))


def answer(seconds: float, **result: Any) -> None:
    """Print the one line that the benchmark reads."""
    print(json.dumps({"seconds": seconds, **result}), flush=True)


def answer_list(seconds: float, keys: Iterable[str], planning: float | None = None) -> None:
    """Answer a list; ``planning`` is how much of the time went before any data was read, if it can be told."""
    answer(seconds, keys=list(keys), planning=planning)


def answer_estimate(seconds: float, estimate: Iterable[float]) -> None:
    """Answer estimated frequencies."""
    answer(seconds, estimate=[float(value) for value in estimate])


def answer_surveys(seconds: float, estimates: Iterable[Iterable[Iterable[float]]]) -> None:
    """Answer, for each run, the estimated frequencies of each attribute; the seconds are those of all runs."""
    answer(seconds, estimates=[[[float(value) for value in each] for each in run] for run in estimates])


def answer_heavy_hitters(seconds: float, codes: Iterable[int], counts: Iterable[float]) -> None:
    """Answer codes and the estimated number of people who have each, the most frequent first."""
    ranked = sorted(zip(codes, counts, strict=True), key=lambda pair: -pair[1])
    answer(seconds, codes=[int(code) for code, _ in ranked], counts=[float(count) for _, count in ranked])
