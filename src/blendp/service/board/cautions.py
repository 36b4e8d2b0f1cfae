"""What an operator is told before and after an act: the same on the command line and on the console."""

from __future__ import annotations

from blendp.client import Ledger, Policy
from blendp.client.ledger import CAP, YEARLY
from blendp.render.text import counted
from blendp.wire.campaign import Terms

SMALL_GROUP = 100


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
    return sentences


def cautions_of_list(records: int, people: int) -> list[str]:
    """What keeps devices from reporting about a list."""
    sentences = []
    if not records:
        remedy = "more opt-in people, one level (queries alone), or a larger epsilon"
        sentences.append(f"No record passed the threshold: what helps is {remedy}.")
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
        room(terms),
    ]


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
