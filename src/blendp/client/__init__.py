"""The device side: what leaves it is already randomised (figure 6), or was agreed to be sent as it is."""

from blendp.client.collector import Campaign, Collector, Listing, Offer
from blendp.client.consent import Consent
from blendp.client.device import Device
from blendp.client.explanation import Explanation, Odds, exact_odds, explain, promised_odds
from blendp.client.http import Http
from blendp.client.ledger import Ledger, LedgerEntry
from blendp.client.outbox import Summary
from blendp.client.policy import Policy
from blendp.client.refusals import EquivocationError, NetworkError, OverspentError, RefusedError
from blendp.client.reports import make_report, make_reports
from blendp.client.store import Item, Participation, Server

__all__ = [
    "Campaign",
    "Collector",
    "Consent",
    "Device",
    "EquivocationError",
    "Explanation",
    "Http",
    "Item",
    "Ledger",
    "LedgerEntry",
    "Listing",
    "NetworkError",
    "Odds",
    "Offer",
    "OverspentError",
    "Participation",
    "Policy",
    "RefusedError",
    "Server",
    "Summary",
    "exact_odds",
    "explain",
    "make_report",
    "make_reports",
    "promised_odds",
]
