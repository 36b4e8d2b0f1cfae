"""A plan as one HTML page that needs nothing else: no network, no fonts of its own."""

from __future__ import annotations

from blendp.evaluation.planner import Overview
from blendp.render.plan import plots, text
from blendp.render.templates import fill


def render_plan(view: Overview) -> str:
    """The complete page."""
    listed = any(one.errors for one in view.plans.values())
    page = {
        "title": f"A plan for {view.first.users:,} people",
        "view": view,
        "first": view.first,
        "heading": text.heading(view),
        "warning": None if view.private else text.NOT_PRIVATE,
        "filtered": text.filtered(view),
        "figures": text.figures(view),
        "reaches": text.reaches(view),
        "advice": text.advice(view),
        "cautions": text.cautions(view),
        "people": text.assumed_people(view),
        "rows": list(zip(*view.sweeps.values(), strict=True)),
        "plots": plots.by_opt_in(view),
        "errors": plots.by_place(view) if listed else None,
    }
    return fill("plan/page.html.j2", page, share=text.share)
