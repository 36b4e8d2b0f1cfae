"""What axe-core finds on a page."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "clients/js/node_modules/axe-core/axe.min.js"
ENHANCED, USUAL = "color-contrast-enhanced", "color-contrast"
_ALL = """({contrast, other}) => axe.run(document, {
    resultTypes: ["violations"],
    rules: {[contrast]: {enabled: true}, [other]: {enabled: false}, "target-size": {enabled: true}}
}).then(({violations}) => violations.map(({id, impact, nodes}) =>
    `${id} (${impact}): ` + nodes.map(node => node.html.slice(0, 120)).join(" | ")))"""


@cache
def _source() -> str:
    return AXE.read_text(encoding="utf-8")


def violations(page: Page, contrast: str = ENHANCED) -> list[str]:
    """What breaks a rule of any level, with the strictest contrasts unless others are asked for.

    What has the enhanced contrast has the usual one: to measure both takes longer and says no more.
    """
    if page.evaluate("!('axe' in window)"):
        page.evaluate(_source())
    chosen = {"contrast": contrast, "other": USUAL if contrast == ENHANCED else ENHANCED}
    problems: list[str] = page.evaluate(_ALL, chosen)
    return problems
