"""``blendp show``: a release or survey again, from the files it was written to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from blendp.cli.console import errors, print_json, results
from blendp.cli.panels import output, privacy
from blendp.cli.released import SURVEY_DOCUMENT, release_in, survey_in, undamaged
from blendp.errors import ParameterError
from blendp.methods import Release
from blendp.outputs import refuse_existing, whole
from blendp.render.about import About
from blendp.render.release.advice import AdviceText
from blendp.render.release.cautions import all_cautions
from blendp.render.release.document import list_of_document, release_of_document
from blendp.render.release.files import TITLE
from blendp.render.release.terminal import advice_table, records_table, summary
from blendp.render.text import visible
from blendp.wire import VerifyKey
from blendp.wire.releases import read_release

if TYPE_CHECKING:
    from blendp.evaluation.planner import EmptyListAdvice

EXAMPLES = """Examples:

- `blendp show release`
- `blendp show release --json`
- `blendp show trends-2026-11 --key 8f0c... --page trends.html`
- `blendp show survey`
"""


def show(
    release: Annotated[
        Path,
        Argument(
            help="Directory that blendp run, blendp survey run or blendp campaign export wrote.", metavar="RELEASE_DIR"
        ),
    ],
    page: Annotated[Path | None, output(help="Also draw the page of a release anew, into this file.")] = None,
    key: Annotated[
        str | None,
        privacy(help="Public key of the collector, 64 hexadecimal digits: the signature is verified against it."),
    ] = None,
    overwrite: Annotated[bool, output("--overwrite", help="Replace an earlier --page.")] = False,
    as_json: Annotated[bool, output("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Print a result again as its command did: what it is of, the promise, cautions, and the first rows.

    A release is read from release_document.json, or from the signed release.dsse.json of a campaign, alone; a survey
    from survey.json. No log is read, and nothing that is not in the document is shown.
    """
    if page is not None:
        refuse_existing(page, overwrite=overwrite)
    survey = survey_in(release)
    if survey is not None:
        _show_survey(survey, release, page, key, as_json)
        return
    payload, signature = release_in(release, None if key is None else VerifyKey.of_text(key), or_survey=True)
    document = read_release(payload)
    with undamaged(release):
        outcome = release_of_document(document, list_of_document(document))
        about, cautions = About.of_card(document["card"]), all_cautions(outcome)
        shown = summary(outcome, about)
        advice = None if outcome.head_list.records else _advice(outcome)
        table = records_table(outcome) if advice is None else advice_table(AdviceText.of(advice))
    if page is not None:
        with undamaged(release):
            drawn = _drawn(outcome, document, about)
        with whole(page, overwrite=overwrite) as draft:
            draft.write_text(drawn, encoding="utf-8")
    if as_json:
        _caution(cautions)
        helps = {} if advice is None else {"advice": advice.to_dict()}
        tables = {name: document[name] for name in ("estimates", "trends")}
        known = {name: document[name] for name in ("campaign", "released")}
        print_json({**document["card"], **tables, **helps, **known, "signature": signature, "out": str(release)})
        return
    if document["campaign"]:
        _say(f"campaign {visible(str(document['campaign']))}, released {visible(str(document['released']))}")
    results.print(shown)
    results.print(table)
    if page is not None:
        _say(f"Page: open {page}")


def _advice(outcome: Release) -> EmptyListAdvice:
    from blendp.evaluation.planner import EmptyListAdvice

    return EmptyListAdvice.of(outcome)


def _drawn(outcome: Release, document: Mapping[str, Any], about: About | None) -> str:
    from blendp.render.release.page import render_release

    title = document["campaign"] or (about and about.title) or TITLE
    return render_release(outcome, title=title, collected=bool(document["campaign"]), about=about)


def _show_survey(survey: Mapping[str, Any], folder: Path, page: Path | None, key: str | None, as_json: bool) -> None:
    from blendp.render.survey.files import rows_of_document
    from blendp.render.survey.terminal import card_summary, frequency_table

    for name, value in (("page", page), ("key", key)):
        if value is not None:
            remedy = "Its page is report.html, beside survey.json." if name == "page" else "Nobody signs a survey."
            raise ParameterError(name, str(value), "left out for a survey", remedy)
    with undamaged(folder / SURVEY_DOCUMENT):
        shown, table = card_summary(survey), frequency_table(rows_of_document(survey), str(survey["last_step"]))
    if as_json:
        _caution([str(caution) for caution in survey["cautions"]])
        print_json({**survey, "out": str(folder)})
        return
    results.print(shown)
    results.print(table)


def _caution(cautions: list[str]) -> None:
    for caution in cautions:
        errors.print(visible(caution), style="yellow", markup=False, highlight=False, soft_wrap=True)


def _say(sentence: str) -> None:
    results.print(sentence, highlight=False, markup=False, soft_wrap=True)
