"""The media types of everything that travels, once each. Those of signed documents are covered by their signatures."""

from __future__ import annotations

JSON_TYPE = "application/json"
"""Operators' requests, deletion requests, and answers."""

PROBLEM_TYPE = "application/problem+json"
"""Refusals (RFC 9457)."""

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Numbers for Prometheus."""

ENVELOPE_TYPE = "application/vnd.dsse.envelope.v1+json"
"""A signed document, whatever it says."""

TERMS_TYPE = "application/vnd.blendp.terms.v1+json"
MANIFEST_TYPE = "application/vnd.blendp.manifest.v1+json"
RELEASE_TYPE = "application/vnd.blendp.release.v1+json"
INDEX_TYPE = "application/vnd.blendp.search-index.v1+json"
KEY_TYPE = "application/vnd.blendp.key.v1+json"
BACKUP_TYPE = "application/vnd.blendp.backup.v1+json"
"""What is signed: the payload types of envelopes."""

LIST_TYPE = "application/vnd.blendp.head-list.v1+json"
"""A head list in its canonical bytes, which the manifest names by their hash."""

OPT_IN_TYPE = "application/vnd.blendp.opt-in.v1+json"
"""An opt-in person's records."""

REPORT_TYPE = "application/vnd.blendp.report.v1+json"
"""One report, put under its id."""

BATCH_TYPE = "application/vnd.blendp.reports.v1"
"""Many reports, in the binary form."""

CSV_TYPE = "text/csv; charset=utf-8"
"""Tables of a release."""

HTML_TYPE = "text/html; charset=utf-8"
STYLE_TYPE = "text/css; charset=utf-8"
SCRIPT_TYPE = "text/javascript; charset=utf-8"
ICON_TYPE = "image/svg+xml"
WEB_APP_TYPE = "application/manifest+json"
"""Pages, and what they are made of."""
