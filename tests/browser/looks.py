"""What every page has to look like."""

from __future__ import annotations

from playwright.sync_api import Page

_BEYOND = """() => [...document.querySelectorAll("body *")]
    .filter(e => !e.closest(".scroll, .plot") && e.getBoundingClientRect().right > window.innerWidth + 0.5)
    .map(e => e.outerHTML.slice(0, 80))"""

_MISPLACED = """() => [...document.querySelectorAll(".plot")].flatMap(plot => {
    const box = plot.getBoundingClientRect();
    const texts = [...plot.querySelectorAll("text")].filter(t => t.checkVisibility())
        .map(t => [t.textContent, t.getBoundingClientRect()]);
    const clipped = texts.filter(([_, t]) => t.left < box.left - 1 || t.right > box.right + 1
        || t.top < box.top - 1 || t.bottom > box.bottom + 1);
    const touching = texts.filter(([_, a], i) => texts.some(([_, b], j) => i < j
        && a.left < b.right && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2));
    return [...clipped, ...touching].map(([text]) => text);
})"""

_SMALL = """() => [...document.querySelectorAll(".plot")].flatMap(plot => {
    const scale = plot.getBoundingClientRect().width / plot.viewBox.baseVal.width;
    return [...plot.querySelectorAll("text")]
        .filter(text => parseFloat(getComputedStyle(text).fontSize) * scale < 10.5).map(text => text.textContent);
})"""


def beyond_the_edge(page: Page) -> list[str]:
    """Elements that reach out of the window and cannot be scrolled to."""
    labels: list[str] = page.evaluate(_BEYOND)
    return labels


def misplaced_labels(page: Page) -> list[str]:
    """Texts of plots that are clipped, or lie upon each other."""
    labels: list[str] = page.evaluate(_MISPLACED)
    return labels


def small_labels(page: Page) -> list[str]:
    """Texts of plots that are smaller than people read, on a phone too."""
    labels: list[str] = page.evaluate(_SMALL)
    return labels
