"""A plan as one HTML page that needs nothing else: no network, no script, no fonts of its own."""

from __future__ import annotations

from blendp.evaluation.planner import Overview
from blendp.report import plan_plots, plan_text
from blendp.report.templates import fill


def render_plan(view: Overview) -> str:
    """The complete page."""
    listed = any(made.errors for made in view.plans.values())
    page = {
        "title": f"A plan for {view.first.users:,} people",
        "view": view,
        "first": view.first,
        "heading": plan_text.heading(view),
        "warning": None if view.private else plan_text.NOT_PRIVATE,
        "figures": plan_text.figures(view),
        "reaches": plan_text.reaches(view),
        "advice": plan_text.advice(view),
        "rows": list(zip(*view.sweeps.values(), strict=True)),
        "plots": plan_plots.by_opt_in(view),
        "errors": plan_plots.by_place(view) if listed else None,
    }
    return fill("plan.html.j2", page, share=plan_text.share)
