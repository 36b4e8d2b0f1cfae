"""What stands between the two phases of a method: the opt-in group has released its list, the clients have not spoken.

A service publishes the list now and releases weeks later; what it keeps meanwhile is a :class:`Listed`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np

from blendp.canonical import canonical_json, sha256
from blendp.curator import NoisyCounts, OptInCounts, only, trim
from blendp.curator.by_weight import Prediction
from blendp.errors import ParameterError, require_count
from blendp.estimate import GroupEstimate, Posterior, counts_estimate, opt_in_estimate, opt_in_posterior
from blendp.headlist import HeadList
from blendp.mechanisms import (
    AsymmetricLaplace,
    AsymmetricList,
    DiscreteLaplace,
    FilteredUnion,
    FrequencyOracle,
    ThresholdList,
    TwoStage,
)
from blendp.mechanisms.filtered_union.two_scale import SHARE_GRID
from blendp.methods.groups import GroupSizes
from blendp.methods.objectives import sharpest
from blendp.methods.parameters import AUTO, MANY, Parameters, one_digit
from blendp.methods.query_share import best_oracle, best_query_share
from blendp.reports import ListScheme, Question, TwoStageScheme, frequency_oracles, report_scheme

FORMAT = "blendp/listed/3"

_FORMATS_BEFORE = ("blendp/listed/1", "blendp/listed/2")

_KNOWN_DISPERSION = 0.05  # the standard deviation up to which a dispersion is taken as known

_REMEDY = "Read what Listed.to_bytes wrote, unchanged, or make the list anew."


ListMaker = ThresholdList | AsymmetricList | FilteredUnion
"""What makes the list, in one method or the other."""


@lru_cache(maxsize=64)
def published_list_maker(parameters: Parameters) -> ThresholdList:
    """The published method's mechanism for the list, derived once."""
    return ThresholdList(parameters.budget, parameters.max_opt_in_records)


@lru_cache(maxsize=64)
def blendp_list_maker(parameters: Parameters, levels: int, *, many: bool) -> AsymmetricList | FilteredUnion:
    """The blendp method's mechanism for the list, derived once."""
    return parameters.list_maker(levels, many=many)


@dataclass(frozen=True, eq=False)
class Listed:
    """What the opt-in group has released, and all that a release needs of it.

    It holds noisy numbers alone, protected already: whatever is made of them costs no privacy, and they may be kept
    or published.
    """

    parameters: Parameters
    list_users: int
    """|S|: opt-in users whose records made the list."""

    estimate_users: int
    """|T|: opt-in users held out of it, whose records were counted; 0 where those who made the list are counted."""

    released: OptInCounts | NoisyCounts
    """The counts of all records that passed, before trimming; :class:`NoisyCounts` in the published method."""

    mean_records: float | None = None
    """The noisy mean number of different records an opt-in person has, where it decided how the list was made."""

    def __post_init__(self) -> None:
        """Refuse counts of other people, or with other noise than the parameters give."""
        for name, users in (("list_users", self.list_users), ("estimate_users", self.estimate_users)):
            require_count(name, users, min_value=0, remedy="Count the people of the group.")
        held_out = self.parameters.holds_out
        asked = self.parameters.method == "blendp" and self.parameters.many_records is None
        _require(self.mean_records is not None, asked, "a noisy mean only where it decides")
        _require(
            self.released.users, self.estimate_users if held_out else self.list_users, "the people who were counted"
        )
        _require(held_out or not self.estimate_users, True, "held-out people only where the parameters hold out some")
        _require(isinstance(self.released, NoisyCounts), self.parameters.method == "published", "counts of this method")
        if isinstance(self.released, NoisyCounts):
            cells = (self.released.head_list.cells,)
            _require(
                self.released.noise, published_list_maker(self.parameters).noise, "with the noise of the parameters"
            )
            _require(
                self.released.records_per_user, self.parameters.max_opt_in_records, "with as many records a person"
            )
            _require(
                (self.released.counts.shape, self.released.terms.shape), (cells, cells), "one number for every cell"
            )
        else:
            known, due = self.released.record_noise, self._record_noise
            before = self.released.list_noise is None and self.levels == 2  # a list from before had other shares
            if known is None or due is None or not before:
                _require(known, due, "with the noise of the parameters")
            _require(self.released.prediction is not None, self.many_records, "a prediction where many records count")

    @property
    def _record_noise(self) -> AsymmetricLaplace | None:
        """The law of a listed record's noise where it is not taken as normal."""
        maker = self.list_maker
        return maker.noise if isinstance(maker, AsymmetricList) and not self.parameters.holds_out else None

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""
        return self.released.head_list.levels

    @property
    def candidates(self) -> int:
        """Records that passed the threshold, before trimming."""
        return self.released.head_list.records

    @property
    def many_records(self) -> bool:
        """Whether the list was made of many records of each person."""
        return self.parameters.uses_many(self.mean_records, self.list_users)

    @property
    def dispersion(self) -> float | None:
        """The released dispersion of people, where it was released and its noise leaves it known; 1 with one record."""
        maker, released = self.list_maker, self.released
        if not isinstance(maker, FilteredUnion) or isinstance(released, NoisyCounts):
            return None
        listed = released.users - float(released.people[-1])
        deviation = math.sqrt(maker.counts.dispersion_noise.variance) / SHARE_GRID
        return released.dispersion if deviation <= _KNOWN_DISPERSION * listed else None

    @property
    def list_maker(self) -> ListMaker:
        """The mechanism that made the list."""
        if isinstance(self.released, NoisyCounts):
            return published_list_maker(self.parameters)
        return blendp_list_maker(self.parameters, self.levels, many=self.many_records)

    @cached_property
    def counts(self) -> OptInCounts | NoisyCounts:
        """The counts of the final list."""
        size, unit = self.parameters.size, self.parameters.trim_unit
        return (
            trim(self.released, size, unit)
            if isinstance(self.released, NoisyCounts)
            else self.released.trimmed(size, unit)
        )

    def without(self, texts: Set[str]) -> Self:
        """Leave out the records whose query or URL is one of these texts: clients report them as everything else."""
        released, labels = self.released, self.released.head_list.labels
        cells = released.head_list.record_cells
        kept = cells[[texts.isdisjoint(labels[cell]) for cell in cells]] if texts else cells
        if len(kept) == len(cells):
            return self
        fewer = only(released, kept) if isinstance(released, NoisyCounts) else released.only(kept)
        return replace(self, released=fewer)

    @property
    def head_list(self) -> HeadList:
        """The final list: what clients report against."""
        return self.counts.head_list

    @cached_property
    def opt_in(self) -> GroupEstimate:
        """The opt-in group's own estimates."""
        if isinstance(self.counts, NoisyCounts):
            return opt_in_estimate(self.counts, self.parameters.variance)
        return counts_estimate(self.counts)

    @cached_property
    def posterior(self) -> Posterior:
        """What the opt-in group says of every cell (blendp method)."""
        if isinstance(self.released, NoisyCounts) or isinstance(self.counts, NoisyCounts):
            raise ParameterError("method", "published", "blendp for a posterior", "Take the estimate of the counts.")
        return opt_in_posterior(self.counts, self.released, self.parameters.prior)

    def scheme(self, query_share: float | None = None) -> ListScheme:
        """How clients report about the list; if they name sets, they are told the share of the query's reporters."""
        parameters = self.parameters
        if parameters.reports_split == (query_share is None):
            legal = "given if clients name sets, None with a two-stage randomiser"
            raise ParameterError("query_share", query_share, legal, "Take query_share_for if clients report by split.")
        share = parameters.client_query_share if query_share is None else query_share
        return report_scheme(self.head_list, self.randomiser, parameters.budget, share, parameters.client_records)

    @cached_property
    def randomiser(self) -> str:
        """How clients report: as said, or what promises the smaller errors. That depends on released counts alone."""
        said = self.parameters.client_randomiser
        if said != AUTO:
            return said
        aim = sharpest(self.parameters.objective)
        return best_oracle(self.posterior, self.parameters.epsilon, self.head_list, aim)

    def settled(self) -> Self:
        """The same, with how clients report as if it had been said: for whoever keeps this while they do."""
        if self.parameters.client_randomiser != AUTO:
            return self
        return replace(self, parameters=replace(self.parameters, randomiser=self.randomiser))

    @cached_property
    def questions(self) -> Mapping[str, Question]:
        """What clients are asked about the list, whatever the share of the query's reporters."""
        return self.scheme(0.0 if self.parameters.reports_split else None).questions

    @cached_property
    def split(self) -> tuple[FrequencyOracle, FrequencyOracle]:
        """How clients report queries, and cells, by sets."""
        if not self.parameters.reports_split:
            how = self.parameters.client_randomiser
            raise ParameterError("randomiser", how, "split or apart", "Only then do some clients report the query.")
        return frequency_oracles(self.randomiser, self.parameters.epsilon, self.head_list)

    @cached_property
    def two_stage(self) -> TwoStage:
        """How clients report cells by the published randomiser or its tight version."""
        scheme = None if self.parameters.reports_split else self.scheme()
        if not isinstance(scheme, TwoStageScheme):
            how = self.parameters.client_randomiser
            raise ParameterError("randomiser", how, "a two-stage one", "This list is reported by subsets.")
        return scheme.randomiser

    def query_share_for(self, clients: int) -> float:
        """The share of the clients who report the query, if so many are expected: as said, or the best one.

        Clients are told it with the list, so it is fixed before they are counted.
        """
        oracles = self.split
        require_count("clients", clients, min_value=0, remedy="Say how many clients are expected to report.")
        if self.parameters.query_share is not None:
            return self.parameters.query_share
        known = None
        if self.randomiser == "apart":
            known = frequency_oracles("split", self.parameters.epsilon, self.head_list)
        aim = sharpest(self.parameters.objective)
        return best_query_share(self.posterior, *oracles, self.head_list, clients, aim, no_worse_than=known)

    def sizes(self, clients: int) -> GroupSizes:
        """The groups, once so many clients have reported."""
        return GroupSizes(self.list_users, self.estimate_users, clients)

    def to_bytes(self) -> bytes:
        """The canonical bytes: the same value gives the same bytes everywhere, numbers to their last digit."""
        value = self._to_dict()
        return canonical_json({**value, "sha256": _digest(value)})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read canonical bytes; refuses any other form. The hash in them is against damage, not against forgery.

        What was written in the formats before is read; in the first, where the list was made of one record each.
        """
        try:
            value: dict[str, Any] = json.loads(data)
            if value["format"] not in (FORMAT, *_FORMATS_BEFORE):
                raise ParameterError("format", value["format"], FORMAT, "It needs another version of blendp.")
            if value.pop("sha256") != _digest(value):
                raise ParameterError("listed", data[:40], "undamaged", _REMEDY)
            if value["format"] in _FORMATS_BEFORE:
                value = _of_format_before(value)
                data = canonical_json({**value, "sha256": _digest(value)})
            users = value["users"]
            listed = cls(
                Parameters(**value["parameters"]),
                users["head_list"],
                users["estimate"],
                _read_counts(value["released"]),
                value["mean_records"],
            )
            canonical = listed.to_bytes()
        except ParameterError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
            raise ParameterError("listed", data[:40], f"a {FORMAT} document", _REMEDY) from error
        if canonical != data:
            raise ParameterError("listed", data[:40], "in canonical form", _REMEDY)
        return listed

    def _to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "parameters": asdict(self.parameters),
            "users": {"head_list": self.list_users, "estimate": self.estimate_users},
            "released": _write_counts(self.released),
            "mean_records": self.mean_records,
        }

    def __str__(self) -> str:
        """One line for people."""
        return f"{self.head_list}, by {self.sizes(0).opt_in:,} opt-in users, {self.parameters}"


def _of_format_before(value: Mapping[str, Any]) -> dict[str, Any]:
    """What the formats before said, in this one."""
    value = _of_one_record(value) if value["format"] == _FORMATS_BEFORE[0] else value
    parameters, released = dict(value["parameters"]), dict(value["released"])
    if parameters["method"] == "blendp":
        released |= dict.fromkeys(("list_noise", "rest_noise", "queries_above", "common_noise"))
        if released["prediction"] is not None:
            released["prediction"] = {**released["prediction"], "seen_spread": released["prediction"]["spread"]}
    said = parameters["records_per_person"]
    if said is not None and said != one_digit(said):
        # what was decided by the mean as it was said is kept, though the mean is rounded now
        parameters |= {"records_per_person": one_digit(said)}
        if parameters["opt_in_records"] == AUTO:
            parameters["opt_in_records"] = 1 if released["prediction"] is None else MANY
    return {**value, "format": FORMAT, "parameters": parameters, "released": released}


def _of_one_record(value: Mapping[str, Any]) -> dict[str, Any]:
    """What the first format said, in the second; lists of several records were made by a mechanism that is gone."""
    parameters, released = dict(value["parameters"]), dict(value["released"])
    del parameters["list_budget"]
    if parameters["method"] == "blendp":
        if parameters["opt_in_records"] != 1:
            raise ParameterError(
                "opt_in_records",
                parameters["opt_in_records"],
                f"1 in a {_FORMATS_BEFORE[0]} document",
                "Have the version of blendp release it that made its list.",
            )
        released["prediction"] = None
    later = {"records_per_person": Parameters.records_per_person, "objective": Parameters.objective}
    changed = {
        "format": _FORMATS_BEFORE[1],
        "parameters": {**parameters, **later},
        "released": released,
        "mean_records": None,
    }
    return {**value, **changed}


def _write_counts(counts: OptInCounts | NoisyCounts) -> dict[str, Any]:
    """Released counts as plain values; fractions as text."""
    plain: dict[str, Any] = {"head_list": json.loads(counts.head_list.to_bytes()), "users": counts.users}
    if isinstance(counts, NoisyCounts):
        return plain | {
            "counts": counts.counts.tolist(),
            "terms": counts.terms.tolist(),
            "records_per_user": counts.records_per_user,
            "noise": str(counts.noise.rate),
        }
    return plain | {
        "people": counts.people.tolist(),
        "noise_variance": counts.noise_variance.tolist(),
        "dispersion": counts.dispersion,
        "query_dispersion": counts.query_dispersion,
        "selected_above": counts.selected_above,
        "min_people": counts.min_people,
        "record_noise": _write_noise(counts.record_noise),
        "list_noise": _write_noise(counts.list_noise),
        "rest_noise": _write_noise(counts.rest_noise),
        "queries_above": counts.queries_above,
        "prediction": None if counts.prediction is None else _write_prediction(counts.prediction, counts.head_list),
        "common_noise": None if counts.common_noise is None else counts.common_noise.tolist(),
    }


def _write_noise(noise: AsymmetricLaplace | None) -> list[str] | None:
    return None if noise is None else [str(noise.falling), str(noise.rising)]


def _read_noise(rates: list[str] | None) -> AsymmetricLaplace | None:
    return None if rates is None else AsymmetricLaplace(*map(Fraction, rates))


def _write_prediction(prediction: Prediction, head_list: HeadList) -> dict[str, list[float]]:
    """What is predicted of the list's records; there is nothing of other cells."""
    return {name: each[head_list.record_cells].tolist() for name, each in prediction._asdict().items()}


def _read_prediction(value: Mapping[str, list[float]] | None, head_list: HeadList) -> Prediction | None:
    """Undo :func:`_write_prediction`."""
    if value is None:
        return None
    prediction = Prediction(**{name: np.full(head_list.cells, np.nan) for name in value})
    for name, of_records in value.items():
        getattr(prediction, name)[head_list.record_cells] = of_records
    return prediction


def _read_counts(value: Mapping[str, Any]) -> OptInCounts | NoisyCounts:
    """Undo :func:`_write_counts`; what is not as it would write it shows when it is written again."""
    head_list = HeadList.from_bytes(canonical_json(value["head_list"]))
    if "counts" in value:
        counts, terms = (np.array(value[name], dtype=np.int64) for name in ("counts", "terms"))
        noise = DiscreteLaplace(Fraction(value["noise"]))
        return NoisyCounts(head_list, counts, terms, value["users"], value["records_per_user"], noise)
    above, queries_above = (
        None if value[name] is None else float(value[name]) for name in ("selected_above", "queries_above")
    )
    return OptInCounts(
        head_list,
        value["users"],
        np.array(value["people"], dtype=np.float64),
        np.array(value["noise_variance"], dtype=np.float64),
        float(value["dispersion"]),
        float(value["query_dispersion"]),
        above,
        float(value["min_people"]),
        _read_noise(value["record_noise"]),
        _read_noise(value["list_noise"]),
        _read_noise(value["rest_noise"]),
        queries_above,
        _read_prediction(value["prediction"], head_list),
        None if value["common_noise"] is None else np.array(value["common_noise"], dtype=np.float64),
    )


def _digest(value: Mapping[str, Any]) -> str:
    return sha256(canonical_json(value))


def _require(given: object, due: object, legal: str) -> None:
    if given != due:
        raise ParameterError("released", given, f"{legal} ({due})", _REMEDY)
