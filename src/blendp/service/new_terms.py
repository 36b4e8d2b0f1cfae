"""The terms of a new campaign, and how they set the library's method.

Devices are asked for no more records than are used: where one of each person makes the list, for one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from blendp.errors import ParameterError
from blendp.methods import Parameters
from blendp.methods.listed import blendp_list_maker
from blendp.methods.objectives import many_from
from blendp.methods.parameters import AUTO
from blendp.wire.campaign import Terms


def new_terms(fields: Mapping[str, Any]) -> Terms:
    """The terms that these fields give; refuses those for which nothing is proved.

    How many records a device sends at most is chosen if it is left out: one, if one of each person is all that is used.
    The mean number of records a person is rounded to one digit, as terms are public and the method does so.
    """
    unknown = sorted(set(fields) - set(Terms.__dataclass_fields__))
    if unknown:
        raise ParameterError(unknown[0], fields[unknown[0]], "left out", "The terms know no such name.")
    try:
        terms = Terms(**fields)
    except TypeError as error:
        raise ParameterError("terms", sorted(fields), "complete", f"{error}.".replace("Terms.__init__()", "")) from None
    parameters = parameters_of(terms)
    terms = replace(terms, records_per_person=parameters.records_per_person)
    if "opt_in_records" not in fields and (terms.method == "published" or parameters.many_records is False):
        terms = replace(terms, opt_in_records=1)
        parameters = parameters_of(terms)
    if terms.method != "published" and parameters.many_records is not False:
        blendp_list_maker(parameters, terms.levels, many=True)  # refuses what it proves nothing of
    return terms


def parameters_of(terms: Terms) -> Parameters:
    """How the library's method is set by these terms; refuses terms for which nothing is proved.

    A bound so low that many records of a person cannot be better than one makes the list of one, and pays for no mean.
    """
    least = many_from(terms.size, Parameters.trim_unit, terms.epsilon)
    several = terms.opt_in_records > 1 and terms.opt_in_records >= least
    return Parameters(
        epsilon=terms.epsilon,
        delta=terms.delta,
        method=terms.method,
        size=terms.size,
        opt_in_records=terms.opt_in_records if terms.method == "published" else AUTO if several else 1,
        records_per_person=terms.records_per_person,
        objective=terms.objective,
    )
