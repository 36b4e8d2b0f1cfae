"""Results as Arrow tables. The wildcard is a null, and so is a number that is unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import singledispatch
from typing import Any

import pyarrow as pa

from blendp.errors import require_choice
from blendp.evaluation import Evaluation
from blendp.evaluation.planner import Overview
from blendp.evaluation.surveys import SurveyPlan, SurveyTrial
from blendp.methods import Outcome, Row
from blendp.survey import AnswerRow, SurveyOutcome

Tables = Mapping[str, Callable[[], pa.Table]]
"""The tables of a result by name, the main one first."""

_LENGTHS = ("head_list_records", "head_list_queries", "candidate_records")
_COUNTS = ("opt_in_people", "clients", "place", "run", "runs", *_LENGTHS)
_TYPES = {"many_records": pa.bool_(), **dict.fromkeys(_COUNTS, pa.int64())}
"""The types of the columns without texts that hold no real numbers; values do not decide, 1 may be an epsilon."""


def table_of(result: object, name: str | None) -> pa.Table:
    """One of the tables of a result, the main one unless named."""
    tables = _tables(result)
    name = next(iter(tables)) if name is None else name
    require_choice("table", name, tuple(tables))
    return tables[name]()


@singledispatch
def _tables(result: object) -> Tables:
    raise NotImplementedError(type(result).__name__)


@_tables.register
def _(outcome: Outcome) -> Tables:
    columns = [field.name for field in fields(Row)]
    by_query = [name for name in columns if name != "url"]
    return {
        "records": lambda: _table([asdict(row) for row in outcome.records()], columns, ("query", "url")),
        "trends": lambda: _table([asdict(row) for row in outcome.trends()], by_query, ("query",)),
    }


@_tables.register
def _(outcome: SurveyOutcome) -> Tables:
    columns = [field.name for field in fields(AnswerRow)]
    texts = ("attribute", "value", "value_from")
    return {"frequencies": lambda: _table([asdict(row) for row in outcome.rows()], columns, texts)}


@_tables.register
def _(view: Overview) -> Tables:
    def shares() -> pa.Table:
        rows = [
            {
                "method": name,
                "opt_in": plan.opt_in,
                "opt_in_people": plan.groups.opt_in,
                "clients": plan.groups.client,
                "epsilon": plan.parameters.epsilon,
                "delta": plan.parameters.delta,
                "candidates": plan.candidates,
                "records": plan.records,
                "queries": plan.queries,
                **asdict(plan.scores),
                "many_records": plan.many_records,
            }
            for name, row in view.sweeps.items()
            for plan in row
        ]
        return _table(rows, list(rows[0]), ("method",))

    def places() -> pa.Table:
        rows = [
            {"method": name, "place": error.rank, "probability": error.probability, "std_error": error.std_error}
            for name, plan in view.plans.items()
            for error in plan.errors
        ]
        return _table(rows, ("method", "place", "probability", "std_error"), ("method",))

    return {"shares": shares, "places": places}


@_tables.register
def _(evaluation: Evaluation) -> Tables:
    def runs() -> pa.Table:
        rows = [{"run": number + 1, **_flat(figures)} for number, figures in enumerate(evaluation.runs())]
        return _table(rows, list(rows[0]))

    return {"runs": runs}


@_tables.register
def _(plan: SurveyPlan) -> Tables:
    def ways() -> pa.Table:
        rows = [
            {
                "method": one.parameters.method,
                "epsilon": one.parameters.epsilon,
                "rmse": one.rmse,
                "client_rmse": one.client_rmse,
                "opt_in_rmse": plan.opt_in_rmse,
                "record_epsilon": one.design.losses.record,
            }
            for one in plan.methods
        ]
        return _table(rows, list(rows[0]), ("method",))

    return {"methods": ways}


@_tables.register
def _(trial: SurveyTrial) -> Tables:
    def measured() -> pa.Table:
        names = ("rmse", "client_rmse", "opt_in_rmse", "predicted", "coverage")
        row = {
            "method": trial.parameters.method,
            "epsilon": trial.parameters.epsilon,
            "runs": trial.runs,
            **{name: getattr(trial, name) for name in names},
            "record_epsilon": trial.record,
        }
        return _table([row], list(row), ("method",))

    return {"measured": measured}


def _flat(figures: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Dictionaries within dictionaries as one, names joined: ``opt_in_l1``."""
    flat: dict[str, Any] = {}
    for name, value in figures.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, "" if name == "groups" else f"{before}{name}_")
        else:
            flat[before + name] = value
    return flat


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], texts: Sequence[str] = ()) -> pa.Table:
    """Rows as a table; a column without texts is of truth values, of whole numbers, or of real numbers."""

    def column(name: str) -> pa.Array:
        values = [row[name] for row in rows]
        kind = pa.string() if name in texts else _TYPES.get(name, pa.float64())
        return pa.array(values, kind, from_pandas=True)

    return pa.table({name: column(name) for name in columns})
