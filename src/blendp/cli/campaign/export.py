"""``blendp campaign export``: a released campaign as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from blendp.cli.campaign.documents import Documents, trusted_keys
from blendp.cli.campaign.options import CampaignName, CollectorOptions, collector, say, warn
from blendp.cli.panels import output, takes_job
from blendp.headlist import HeadList
from blendp.outputs import refuse_existing, whole
from blendp.render.release.cautions import all_cautions
from blendp.render.release.document import release_of_document
from blendp.render.release.files import write_readable
from blendp.service.clock import utc_today
from blendp.wire import Terms, VerifyKey
from blendp.wire.files import READABLE

EXAMPLES = """Examples:

- `blendp campaign export trends-2026-11 --key 8f0c... --out trends-2026-11`
"""

SIGNED = ("terms", "manifest", "release")
INDEX, INDEX_DESCRIPTOR = "index.json", "index.dsse.json"
FILES = (*(f"{name}.dsse.json" for name in SIGNED), INDEX_DESCRIPTOR, INDEX, *READABLE)


@takes_job
def export(
    job: CollectorOptions,
    campaign: CampaignName,
    out: Annotated[Path, output(help="Directory for the files.")],
    key: Annotated[
        str | None,
        collector(help="Public key of the collector, 64 hexadecimal digits: signatures are verified against it."),
    ] = None,
    overwrite: Annotated[bool, output("--overwrite", help="Replace an earlier export in --out.")] = False,
) -> None:
    """Write a released campaign to a directory: whole or not at all, once its documents are found to fit together.

    estimates.csv, trends.csv, head_list.json, release.json and report.html are as blendp run writes them, made of the
    signed result; terms.dsse.json, manifest.dsse.json and release.dsse.json are the documents as they were signed
    (DSSE envelopes). index.json is the offline index of the release, index.dsse.json its signed descriptor.
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
    release = release_of_document(result, HeadList.from_bytes(documents.head_list))
    index = documents.index(campaign)
    with whole(out, overwrite=overwrite, own_files=FILES) as draft:
        for name in SIGNED:
            (draft / f"{name}.dsse.json").write_bytes(getattr(documents, name).to_bytes())
        if index is not None and documents.index_descriptor is not None:
            (draft / INDEX).write_bytes(index)
            (draft / INDEX_DESCRIPTOR).write_bytes(documents.index_descriptor.to_bytes())
        title = Terms.from_bytes(documents.terms.payload).title
        write_readable(release, result["card"], draft, title=title, collected=True)
    for caution in all_cautions(release):
        warn(f"Caution: {caution}")
    if index is None:
        warn("The release has no offline index: its texts are too long for one.")
    say(
        f"{campaign}: {len(FILES) - 2 * (index is None)} files in {out}"
        + ("." if known is None else f"; signatures verified with key {known.id}.")
    )
    say(f"Next: open {out / 'report.html'}")
