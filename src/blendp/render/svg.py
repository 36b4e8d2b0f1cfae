"""From a matplotlib figure to SVG that lives inside a page, for plots of many lines that are files too.

Text from a log never reaches matplotlib: figures are drawn with placeholders that are replaced in the finished
drawing, so nothing is read as mathematics, measured in a font that lacks its letters, or broken into lines.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple
from xml.etree import ElementTree

from markupsafe import Markup
from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from blendp.render.drawing import COLOURS

_SPACE = "http://www.w3.org/2000/svg"
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "blendp",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
}
_SHARP = 110
_REFERENCE = re.compile(r"(?:url\()?#([\w.-]+)\)?")


@dataclass(frozen=True)
class DrawingTexts:
    """What a drawing says: ``texts`` replace placeholders and ``tips`` appear over marks, both by artist id."""

    name: str
    title: str
    description: str
    texts: Mapping[str, str]
    tips: Mapping[str, Sequence[str]]


class HouseFigure(Figure):
    """A figure that notebooks show, also where nobody imported ``matplotlib.pyplot``."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=_SHARP, facecolor="white")
        return buffer.getvalue()


class DrawnFigure(NamedTuple):
    """A figure, and what it says."""

    figure: HouseFigure
    texts: DrawingTexts


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in our style, whatever the user's matplotlib settings are."""
    with rc_context():
        rcdefaults()
        rcParams.update(_STYLE)
        yield


def inline_svg(figure: Figure, texts: DrawingTexts) -> Markup:
    """The figure as an ``<svg>`` element: the page's font and colours, ids of its own, a title and a description."""
    buffer = io.BytesIO()
    FigureCanvasSVG(figure)
    with house_style():
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    root = ElementTree.fromstring(buffer.getvalue())
    _speak(root, texts)
    _tidy(root, texts.name)
    view = root.get("viewBox", "")
    root.attrib.clear()
    root.attrib.update(
        {"viewBox": view, "role": "img", "aria-labelledby": f"{texts.name}-title", "class": f"plot {texts.name}"}
    )
    root.set("aria-describedby", f"{texts.name}-desc")
    for index, (tag, text) in enumerate((("title", texts.title), ("desc", texts.description))):
        element = ElementTree.Element(tag, {"id": f"{texts.name}-{tag}"})
        element.text = text
        root.insert(index, element)
    ElementTree.indent(root, "")
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _speak(root: ElementTree.Element, texts: DrawingTexts) -> None:
    """Put the texts in the place of their placeholders, and the tips into their marks."""
    for group in root.iter(f"{{{_SPACE}}}g"):
        name = group.get("id", "")
        if name in texts.texts:
            for text in group.iter(f"{{{_SPACE}}}text"):
                text.text = texts.texts[name]
        marks = group.iter(f"{{{_SPACE}}}use") if name.startswith("marks") else iter([group])
        for mark, tip in zip(marks, texts.tips.get(name, ()), strict=False):
            ElementTree.SubElement(mark, "title").text = tip


def _tidy(root: ElementTree.Element, name: str) -> None:
    """Drop namespaces, metadata, fonts and idle ids; make the other ids the page's own, and colours its variables."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    variables = {colour: f"var(--{key})" for key, colour in COLOURS.items()}
    used = set()
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name_with_space in list(element.attrib):
            value = element.attrib.pop(name_with_space)
            key = name_with_space.rpartition("}")[2]
            if key == "style":
                value = re.sub(r"font-family:[^;]*;? ?", "", value)
                value = re.sub("#[0-9a-f]{6}", lambda match: variables.get(match[0], match[0]), value)
            elif key in ("href", "clip-path") and (match := _REFERENCE.fullmatch(value)):
                used.add(match[1])
                value = value.replace("#", f"#{name}-")
            elif key == "transform" and value.startswith("rotate(-0"):
                continue
            elif key == "d":
                value = " ".join(value.split())
            element.set(key, value)
    for element in root.iter():
        own_id = element.attrib.pop("id", None)
        if own_id in used:
            element.set("id", f"{name}-{own_id}")


__all__ = ["COLOURS", "DrawingTexts", "house_style", "inline_svg"]
