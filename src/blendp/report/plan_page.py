"""A plan as one HTML page that needs nothing else: no network, no script, no fonts of its own."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from blendp._version import __version__
from blendp.evaluation.planner import Overview
from blendp.report import plan_plots, plan_text, text


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
        "version": __version__,
    }
    environment = Environment(
        loader=PackageLoader("blendp", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"visible": text.visible, "number": text.number, "share": plan_text.share}
    return environment.get_template("plan.html.j2").render(page)
