"""The files of a release that are for readers, by name; an export has them all."""

from __future__ import annotations

from types import MappingProxyType

from blendp.wire.media_types import CSV_TYPE, HTML_TYPE, JSON_TYPE

READABLE = MappingProxyType(
    {
        "estimates.csv": CSV_TYPE,
        "trends.csv": CSV_TYPE,
        "head_list.json": JSON_TYPE,
        "release.json": JSON_TYPE,
        "report.html": HTML_TYPE,
    }
)
"""And the media type of each."""
