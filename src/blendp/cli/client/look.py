"""``blendp client look``: what a campaign asks and promises, verified."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import Any

from blendp.cli.client.options import AsJson, CampaignName, DeviceOptions
from blendp.cli.client.sentences import amount_words, plain, print_pairs, remaining_plain, tell
from blendp.cli.console import print_json
from blendp.cli.panels import takes_job
from blendp.client import Campaign, Device, Ledger, Odds, Offer, RefusedError, exact_odds, promised_odds
from blendp.client.explanation import opt_in_sentence, records_asked
from blendp.client.ledger import Amount
from blendp.wire import Terms

EXAMPLES = """Examples:

- `blendp client look trends-2026-11 --server https://collector.example.org --key 8f0c... --witness https://mirror.org`
- `blendp client look trends-2026-11 --server https://collector.example.org --trust-on-first-use`
- `blendp client look trends-2026-11 --json`
"""


@takes_job
def look(job: DeviceOptions, name: CampaignName, as_json: AsJson = False) -> None:
    """Fetch and verify a campaign's terms, manifest and list, and show who asks, what for, and what they promise.

    Works before consent, since people decide by it: it tells the collector that somebody asked, and nothing more. The
    collector's address, its keys and the witnesses are remembered.
    """
    with job.opened(name) as device:
        seen, ledger = _seen(device, name), device.ledger
    if as_json:
        print_json(_plain(seen, ledger))
        return
    print_pairs(_rows(seen, ledger))
    if isinstance(seen, Campaign) and not seen.witnesses:
        tell("No witness was asked (--witness): whether others are told the same is not known.")


def _seen(device: Device, campaign: str) -> Offer:
    """The campaign, or its terms while there is no list."""
    try:
        return device.look(campaign)
    except RefusedError as error:
        if error.reason != "not-published":
            raise
        return device.terms(campaign)


def _plain(seen: Offer, ledger: Ledger) -> dict[str, Any]:
    published = None
    if isinstance(seen, Campaign):
        manifest = seen.manifest
        published = {
            "manifest_sha256": manifest.sha256,
            "list_sha256": manifest.list_sha256,
            "records": manifest.records,
            "opt_in_people": manifest.opt_in_people,
            "query_share": manifest.query_share,
            "randomiser": manifest.client_randomiser,
            "published": manifest.published,
            "witnesses": seen.witnesses,
        }
    return {
        "server": seen.server,
        "keys": [key.text for key, _ in seen.trust.keys],
        "terms_sha256": seen.terms.sha256,
        "terms": asdict(seen.terms),
        "published": published,
        "kept_until": {"records": seen.terms.records_kept_until, "reports": seen.terms.reports_kept_until},
        "odds": {"exact": isinstance(seen, Campaign), "prior": 0.01, "posterior": float(_odds(seen).posterior(0.01))},
        "cost": plain(seen.terms.client_budget),
        "campaigns_like_this": dict(zip(("this_year", "for_life"), _room(seen.terms, ledger), strict=True)),
        **remaining_plain(ledger),
    }


def _rows(seen: Offer, ledger: Ledger) -> list[tuple[str, str]]:
    terms = seen.terms
    records = "queries and their URLs" if terms.levels == 2 else "queries"
    rows = [
        ("campaign", f"{terms.campaign}: {terms.title}"),
        ("asked by", terms.organisation),
        ("what for", terms.purpose),
        ("contact", terms.contact),
        ("collector", f"{seen.server}, keys {', '.join(key.id for key, _ in seen.trust.keys)}"),
        ("asks for", f"{records}, method {terms.method}"),
        ("clients", f"{terms.client_budget}: one randomised report until {terms.reports_until}"),
        (
            "opt-in",
            f"{terms.budget}: {records_asked(terms)}, to make the list of, {terms.opens} to {terms.opt_in_until}",
        ),
    ]
    rows.append(
        (
            "kept",
            f"opt-in records until {terms.records_kept_until} at the latest, reports until "
            f"{terms.reports_kept_until}; then a result is published from them or not, and they are deleted",
        )
    )
    if terms.participation < 1:
        rows.append(("drawn", f"each device takes part with a probability of {terms.participation:g}"))
    if isinstance(seen, Campaign):
        size = f"{seen.manifest.records} records, made by {seen.manifest.opt_in_people} opt-in people"
        rows += [("list", f"{size}, {seen.manifest.list_sha256[:16]}…"), ("witnesses", f"{seen.witnesses}")]
    else:
        rows.append(("list", "not published yet"))
    odds = [("a report tells", _odds(seen).sentence), ("opting in tells", opt_in_sentence(terms))]
    return [*rows, *odds, *_ledger_rows(terms, ledger)]


def _odds(seen: Offer) -> Odds:
    """What a report can tell at most: exactly, if there is a list."""
    return exact_odds(seen.manifest, seen.head_list) if isinstance(seen, Campaign) else promised_odds(seen.terms)


def _ledger_rows(terms: Terms, ledger: Ledger) -> list[tuple[str, str]]:
    """What taking part would cost this person, and what would be left."""
    year, life = amount_words(ledger.remaining_this_year), amount_words(ledger.remaining)
    rows = [("your ledger", f"{year} left of {ledger.yearly} this year; {life} left of {ledger.cap} for life")]
    if any(entry.campaign == terms.campaign for entry in ledger.entries):
        return [*rows, ("costs", f"{amount_words(_exactly(terms))}, spent already")]
    of_a_year, of_a_life = _room(terms, ledger)
    after = f"after it there is room for {of_a_year - 1} more campaigns like this this year, {of_a_life - 1} in all"
    if not of_a_year:
        days = ledger.days_until_room(terms.client_budget)
        later = f" for {days} days" if days is not None and of_a_life else ""
        after = f"more than is left{later}: this device would refuse"
    return [*rows, ("costs", f"{amount_words(_exactly(terms))}; {after}")]


def _exactly(terms: Terms) -> Amount:
    return Fraction(terms.client_budget.epsilon), Fraction(terms.client_budget.delta)


def _room(terms: Terms, ledger: Ledger) -> tuple[int, int]:
    return ledger.affordable(terms.client_budget)
