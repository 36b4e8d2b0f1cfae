"""Which values an option can have, for shells that complete them; commands check for themselves, in their own words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

_POPULATIONS = ("aol", "yandex", "aol-sparse")
_METHODS = ("blendp", "published")
_SURVEY_METHODS = ("cbps", "cbp", "split", "sample", "rsfd")

CHOICES: Mapping[str, Sequence[str]] = {
    "demo name": _POPULATIONS,
    "engine": ("embedded", "spark"),
    "evaluate method": _METHODS,
    "format": ("auto", "csv", "tsv", "parquet", "ndjson", "aol", "yandex"),
    "learn": ("auto", "table", "tree"),
    "levels": ("1", "2"),
    "like": _POPULATIONS,
    "missing": ("refuse", "drop", "value"),
    "normalise": ("blendp-1", "none"),
    "objective": ("balanced", "long-list", "trends"),
    "opt_in_records": ("auto", "1", "many"),
    "plan method": ("both", *_METHODS),
    "prior": ("power-law", "none"),
    "randomiser": ("auto", "split", "apart", "two-stage", "two-stage-tight"),
    "run method": _METHODS,
    "survey evaluate format": ("auto", "csv", "tsv", "parquet"),
    "survey evaluate method": ("all", *_SURVEY_METHODS),
    "survey plan format": ("auto", "csv", "tsv", "parquet"),
    "survey plan method": ("all", *_SURVEY_METHODS),
    "survey run format": ("auto", "csv", "tsv", "parquet"),
    "survey run method": _SURVEY_METHODS,
    "synthesise name": _POPULATIONS,
    "trim_unit": ("record", "query"),
    "variance": ("mended", "journal", "conference"),
    "wildcard": ("shared", "figure-4"),
}
"""By the parameter's name, after the command's where it matters."""


def completion(command: str, parameter: str) -> Callable[[str], list[str]] | None:
    """What Typer asks when somebody completes this parameter; None leaves it to the shell, which knows files."""
    values = CHOICES.get(f"{command} {parameter}", CHOICES.get(parameter))
    if values is None:
        return None

    def going_on(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return going_on
