"""``blendp reproduce survey``: the comparisons of the survey paper, as figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from blendp.cli.console import results
from blendp.cli.progress import steps
from blendp.errors import ParameterError
from blendp.evaluation.figures.survey_figures import (
    SURVEY_FIGURES,
    SURVEY_FULL,
    SURVEY_QUICK,
    SurveyLaboratory,
    make_survey_figures,
    survey_steps,
)
from blendp.outputs import refuse_existing
from blendp.render.figures.files import ALL_FILES, write_reproduction
from blendp.spelling import counted

PEOPLE, RUNS, QUICK_RUNS = 20_000, 100, 25


def reproduce_survey(
    names: Sequence[str],
    logs: Sequence[Path] | None,
    *,
    out: Path,
    quick: bool,
    people: int | None,
    runs: int | None,
    seed: int,
    overwrite: bool,
) -> None:
    """Measure every comparison on people who do not exist, and draw it."""
    if len(set(names)) > 1:
        other = next(name for name in names if name != "survey")
        raise ParameterError("figure", other, "left out with survey", "Make figures of the two papers one by one.")
    if logs:
        raise ParameterError("log", str(logs[0]), "left out with survey", "These people are synthetic.")
    grid = SURVEY_QUICK if quick else SURVEY_FULL
    people = PEOPLE if people is None else people
    runs = (QUICK_RUNS if quick else RUNS) if runs is None else runs
    refuse_existing(out, overwrite=overwrite, own_files=ALL_FILES)
    with steps(survey_steps(grid) + len(SURVEY_FIGURES)) as bar:
        laboratory = SurveyLaboratory(people, runs, seed, bar.start)
        figures = list(make_survey_figures(grid, laboratory))
        about = {
            "lead": f"The comparisons of the survey paper (UDLDP, CBP, CBPS): {people:,} people who do not exist "
            "answer yes/no questions, of which every two have one correlation. All methods ask the same people within "
            "the same promise.",
            "runs": runs,
            "seed": seed,
            "quick": quick,
            "people": people,
        }
        write_reproduction(figures, out, about=about, overwrite=overwrite, progress=bar.start)
    results.print(
        f"{counted(len(figures), 'figure', 'figures')} in {out}: open {out / 'index.html'}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
