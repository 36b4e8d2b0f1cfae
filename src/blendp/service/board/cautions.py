"""What an operator is told before and after an act: the same on the command line and on the console."""

from __future__ import annotations

import math

from blendp.client import Ledger, Policy
from blendp.client.explanation import records_asked
from blendp.client.ledger import CAP, YEARLY
from blendp.curator.mean_records import mean_noise
from blendp.methods.parameters import MEAN_SHARE
from blendp.service.new_terms import parameters_of
from blendp.spelling import counted
from blendp.wire.campaign import Terms

SMALL_GROUP = 100

_VAGUE_MEAN = 2.0
"""Standard deviation of the mean number of records, from which on it hardly decides how a list is made."""


def cautions_of_terms(terms: Terms) -> list[str]:
    """What to think over before people take part."""
    sentences = []
    if terms.epsilon > YEARLY.epsilon:
        sentences.append(
            f"epsilon {terms.epsilon:g} is above {YEARLY.epsilon:g}, all that a device spends in a year by default: "
            f"devices will refuse to take part."
        )
    if terms.delta * terms.expected_clients >= 1:
        sentences.append(
            f"delta {terms.delta:g} is not below one over the {terms.expected_clients:,} clients expected "
            f"({1 / terms.expected_clients:.2g}): choose a smaller one for real people."
        )
    for name in ("min_opt_in", "min_clients"):
        if getattr(terms, name) < SMALL_GROUP:
            sentences.append(f"{name} {getattr(terms, name)} is below {SMALL_GROUP}: single people come into sight.")
    return [*sentences, *_cautions_of_records(terms)]


def _cautions_of_records(terms: Terms) -> list[str]:
    """Whether devices are asked for fewer records than would serve, or for more than are used."""
    parameters = parameters_of(terms)
    if terms.method == "published":
        return []
    if terms.opt_in_records > 1 and parameters.many_records is False:
        return [
            f"opt_in_records {terms.opt_in_records}: the list is made of one record of each person, so devices are "
            f"asked for more than is used: leave it out."
        ]
    if parameters.many_records is None:
        deviation = math.sqrt(mean_noise(parameters.mean_epsilon).variance) / terms.min_opt_in
        if deviation <= _VAGUE_MEAN:
            return []
        return [
            f"records_per_person is not given: with {terms.min_opt_in} opt-in people the noisy mean that stands for "
            f"it is known to ± {deviation:.2g} alone, so one record of each is taken unless it is far above. Give it, "
            f"if it is public."
        ]
    return [] if parameters.better_otherwise is None else [parameters.better_otherwise]


def helps_a_list(levels: int) -> str:
    """What makes an empty list longer: what its campaign can still change."""
    fewer_levels = ", one level (queries alone)," if levels == 2 else ""
    return f"more opt-in people{fewer_levels} or a larger epsilon"


def cautions_of_list(records: int, people: int, levels: int) -> list[str]:
    """What keeps devices from reporting about a list."""
    sentences = []
    if not records:
        sentences.append(f"No record passed the threshold: what helps is {helps_a_list(levels)}.")
    elif records < Policy.min_records:
        sentences.append(
            f"The list has {counted(records, 'record', 'records')}: devices refuse fewer than {Policy.min_records} "
            f"unless they are told otherwise (--min-records)."
        )
    if people < Policy.min_opt_in:
        sentences.append(
            f"{counted(people, 'person', 'people')} made the list: devices refuse fewer than {Policy.min_opt_in} "
            f"unless they are told otherwise (--min-opt-in)."
        )
    return sentences


def statements_of_terms(terms: Terms) -> list[str]:
    """When people are asked, what happens by itself, and how many campaigns like this a device takes part in."""
    return [
        f"{terms.campaign}: opt-in from {terms.opens} to {terms.opt_in_until}, reports until {terms.reports_until}.",
        f"By itself, if you do not act before: the list after {terms.records_kept_until}, the result after "
        f"{terms.reports_kept_until}; where people are missing, everything is deleted.",
        records_statement(terms),
        room(terms),
    ]


def records_statement(terms: Terms) -> str:
    """How many records an opt-in person's device sends, and how the list is made of them."""
    sent = records_asked(terms, "their")
    parameters = parameters_of(terms)
    mean = parameters.records_per_person
    if terms.method == "published":
        return f"An opt-in person's device sends {sent}; all of them make the list."
    if parameters.many_records is None:
        way = (
            f"the list is made of all of them, or of one of each person, whichever serves better: a noisy mean of "
            f"their number decides, for {100 * MEAN_SHARE:g} % of epsilon"
        )
    elif parameters.many_records:
        way = f"all of them make the list, as people have {mean:g} on average"
    else:
        decides = mean is not None and parameters.better_otherwise is None
        way = "one of each person makes the list" + (f", as people have {mean:g} on average" if decides else "")
    return f"An opt-in person's device sends {sent}; {way}."


def room(terms: Terms) -> str:
    """How many campaigns like this a device takes part in."""
    clients, opt_in = (Ledger().affordable(budget) for budget in (terms.client_budget, terms.budget))
    other = (
        "" if opt_in == clients else f" An opt-in person's, which spends δ too: {opt_in[0]} a year, {opt_in[1]} in all."
    )
    return (
        f"A device spends at most {YEARLY} a year and {CAP} in its life, unless its owner lowers that: "
        f"room for {clients[0]} campaigns like this a year, {clients[1]} in all.{other}"
    )
