"""Every address of a collector, once: templates for the table of those who serve, filled in by those who ask."""

from __future__ import annotations

from blendp.wire.campaign import require_campaign_id
from blendp.wire.reports import ID_BYTES
from blendp.wire.text_forms import of_hex

LIVE, READY, METRICS = "/health/live", "/health/ready", "/metrics"
OPENAPI, KEYS, AUDIT, CLOCK, CAMPAIGNS = "/v1/openapi.json", "/v1/keys", "/v1/audit", "/v1/clock", "/v1/campaigns"
TOKEN, OVERVIEW, REASONS, DRAFTS = "/v1/token", "/v1/overview", "/v1/reasons", "/v1/drafts"

CAMPAIGN = f"{CAMPAIGNS}/{{campaign}}"
TERMS, MANIFEST, LIST, RELEASE = (f"{CAMPAIGN}/{name}" for name in ("terms", "manifest", "list", "release"))
"""The documents; the result is computed where the release is read."""

INDEX, INDEX_DESCRIPTOR = f"{CAMPAIGN}/index", f"{CAMPAIGN}/index-descriptor"
"""The offline index of the release, and what is signed about it."""

REPORTS = f"{CAMPAIGN}/reports"
REPORT = f"{REPORTS}/{{report}}"
DELETIONS, OPT_IN = f"{CAMPAIGN}/deletions", f"{CAMPAIGN}/opt-in"
"""What people send."""

ENROLMENTS, FORECAST, PUBLISH = (f"{CAMPAIGN}/{name}" for name in ("enrolments", "forecast", "publish"))
PREVIEW, STATUS, EXPORT = (f"{CAMPAIGN}/{name}" for name in ("preview", "status", "export"))
PLAN, CHANGES, FILE = (f"{CAMPAIGN}/{name}" for name in ("plan", "changes", "files/{file}"))
"""What operators do, and look at."""


HOME, CONSOLE, CAMPAIGN_PAGE, ASSET = "/", "/console", "/campaigns/{campaign}", "/assets/{asset}"
SEARCH_PAGE, SEARCH_WORKER, SEARCH_APP = (
    f"{CAMPAIGN_PAGE}/{name}" for name in ("search", "search-worker.js", "search.webmanifest")
)
"""Pages for people's browsers, and what they are made of."""


def of_campaign(template: str, campaign: str) -> str:
    """The address of this kind of one campaign."""
    require_campaign_id(campaign)
    return template.format(campaign=campaign)


def of_report(campaign: str, report_id: bytes) -> str:
    """Where a report is put."""
    report = report_id.hex()
    of_hex(report, "report id", ID_BYTES)
    require_campaign_id(campaign)
    return REPORT.format(campaign=campaign, report=report)
