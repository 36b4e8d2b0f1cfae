"""``blendp campaign export``: a released campaign as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from blendp.cli.campaign.documents import Documents, trusted_keys
from blendp.cli.campaign.options import CampaignName, Where, collector, say, warn
from blendp.cli.options import output, takes_job
from blendp.outputs import refuse_existing, whole
from blendp.report.files import wildcard_text
from blendp.report.tables import write_table
from blendp.service.clock import utc_today
from blendp.wire import VerifyKey

EXAMPLES = """Examples:

- `blendp campaign export trends-2026-11 --key 8f0c... --out trends-2026-11`
"""

FILES = ("manifest.json", "terms.json", "release.json", "head_list.json", "estimates.csv", "trends.csv")
_TREND = ("query", "probability", "std_error", "low", "high")
_ESTIMATE = ("query", "url", *_TREND[1:], "weight_opt_in")


@takes_job
def export(
    job: Where,
    campaign: CampaignName,
    out: Annotated[Path, output(help="Directory for the files.")],
    key: Annotated[
        str | None,
        collector(help="Public key of the collector, 64 hexadecimal digits: signatures are verified against it."),
    ] = None,
    overwrite: Annotated[bool, output("--overwrite", help="Replace an earlier export in --out.")] = False,
) -> None:
    """Write a released campaign to a directory: whole or not at all, once its documents are found to fit together.

    terms.json, manifest.json and release.json are as they were signed (DSSE envelopes), head_list.json is the list
    in its canonical bytes, estimates.csv and trends.csv are the result as tables.
    """
    refuse_existing(out, overwrite=overwrite, own_files=FILES)
    known = None if key is None else VerifyKey.of_text(key)
    with job.client() as client:
        documents = Documents.of_export(client.export(campaign))
        if known is None:
            warn("Signatures were not verified: give the collector's public key (--key, see blendp key list).")
        else:
            documents.verify(trusted_keys(known, client.keys(), utc_today()))
    result = documents.result(campaign)
    with whole(out, overwrite=overwrite, own_files=FILES) as made:
        for name in ("terms", "manifest", "release"):
            (made / f"{name}.json").write_bytes(getattr(documents, name).to_bytes())
        (made / "head_list.json").write_bytes(documents.head_list)
        _write_csv(made / "estimates.csv", _ESTIMATE, result["estimates"])
        _write_csv(made / "trends.csv", _TREND, result["trends"])
    say(
        f"{campaign}: {len(FILES)} files in {out}"
        + ("." if known is None else f"; signatures verified with key {known.id}.")
    )


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    texts = ({**row, "query": wildcard_text(row["query"]), "url": wildcard_text(row["url"])} for row in rows)
    write_table(path, columns, ([values[name] for name in columns] for values in texts))
