"""What axe-core finds on a page."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "clients/js/node_modules/axe-core/axe.min.js"
_ALL = """() => axe.run(document, {
    resultTypes: ["violations"],
    rules: {"color-contrast-enhanced": {enabled: true}, "target-size": {enabled: true}}
}).then(({violations}) => violations.map(({id, impact, nodes}) =>
    `${id} (${impact}): ` + nodes.map(node => node.html.slice(0, 120)).join(" | ")))"""


@cache
def _source() -> str:
    return AXE.read_text(encoding="utf-8")


def violations(page: Page) -> list[str]:
    """What breaks a rule of any level, the strictest contrasts among them."""
    page.evaluate(_source())
    problems: list[str] = page.evaluate(_ALL)
    return problems
