"""python -m tests.mutation: how many small faults the tests of a room notice. CONTRIBUTING.md says how to read it."""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.mutation.faults import FAULTS, SURVIVORS
from tests.mutation.mutants import Mutant, changed_lines, mutants_of
from tests.mutation.trials import PACKAGE, Trial, coverage_of, load_libraries, tried

OTHER_ROOMS = {"estimate": ("curator",), "curator": ("estimate",)}
"""Rooms whose tests concern this one as well."""


@dataclass(frozen=True)
class Candidate:
    """A mutant of a module."""

    module: str
    source: str
    mutant: Mutant

    @property
    def changed(self) -> str:
        """The changed source."""
        return self.mutant.applied(self.source)

    def __str__(self) -> str:
        line = self.source.encode()[: self.mutant.start].count(b"\n") + 1
        return "\n".join([f"{self.module}:{line}", *changed_lines(self.source, self.changed)])


def candidates(target: str) -> Iterator[Candidate]:
    """The mutants of a room, of a module, or of one line of it: ``estimate``, ``estimate/split.py``,
    ``estimate/split.py:131``.
    """
    name, _, line = target.partition(":")
    path = PACKAGE / name
    inside = (each for each in path.rglob("*.py") if each.name != "__init__.py")
    for each in sorted(inside) if path.is_dir() else [path]:
        source = each.read_text(encoding="utf-8")
        for mutant in mutants_of(source):
            if not line or int(line) in mutant.lines:
                yield Candidate(each.relative_to(PACKAGE).as_posix(), source, mutant)


def tests_of(modules: Sequence[str]) -> list[str]:
    """The folders of tests of these modules' rooms."""
    rooms = dict.fromkeys(module.partition("/")[0] for module in modules)
    folders = [f"tests/unit/{each}" for room in rooms for each in (room, *OTHER_ROOMS.get(room, ()))]
    return list(dict.fromkeys(folders))


def main() -> None:
    """Read the options, try the mutants and report."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("targets", nargs="*", help="rooms, modules or lines: estimate, estimate/split.py[:131]")
    parser.add_argument("--faults", action="store_true", help="try the list that must be noticed, and nothing else")
    parser.add_argument("--sample", type=int, help="try so many of all the mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (default: 1)")
    parser.add_argument("--tests", nargs="+", help="files or folders of tests (default: those of the rooms)")
    parser.add_argument("--quick", action="store_true", help="without the tests that are marked as statistical")
    parser.add_argument("--list", action="store_true", help="show the mutants and try none")
    options = parser.parse_args()
    chosen = [one for target in options.targets for one in candidates(target)]
    if options.sample is not None and options.sample < len(chosen):
        picked = sorted(random.Random(options.seed).sample(range(len(chosen)), options.sample))
        chosen = [chosen[i] for i in picked]
    if options.list:
        print(*chosen, sep="\n")
    elif options.faults:
        sys.exit(_try_faults(options.jobs))
    else:
        _try_all(chosen, options.tests, options.quick, options.jobs)


def _try_faults(jobs: int) -> int:
    """How many faults of the list their tests do not notice."""
    load_libraries()
    sources = {fault.module: (PACKAGE / fault.module).read_text(encoding="utf-8") for fault in FAULTS}
    of_trial = {
        Trial(fault.module, sources[fault.module].replace(fault.fragment, fault.instead), (fault.test,)): fault
        for fault in FAULTS
    }
    unnoticed = [of_trial[trial] for trial, dead in tried(of_trial, jobs) if not dead]
    for fault in unnoticed:
        print(f"{fault.module}: {fault.fragment} -> {fault.instead}, unnoticed by {fault.test}")
    print(f"{len(FAULTS) - len(unnoticed)} of {len(FAULTS)} faults noticed")
    return len(unnoticed)


def _try_all(chosen: list[Candidate], tests: list[str] | None, quick: bool, jobs: int) -> None:
    modules = list(dict.fromkeys(one.module for one in chosen))
    load_libraries()
    coverage = coverage_of(modules, tests or tests_of(modules), quick)
    for test in sorted(coverage.failed):
        print(f"{test} fails on the source as it is, and is left out")
    of_trial = {coverage.trial(one.module, one.changed, one.mutant.lines): one for one in chosen}
    outcomes: dict[str, Counter[str]] = {module: Counter() for module in modules}
    for number, (trial, dead) in enumerate(tried(of_trial, jobs), start=1):
        if sys.stderr.isatty():
            print(f"\r{number} of {len(of_trial)} tried", end="", file=sys.stderr)
        outcome = "killed" if dead else "explained" if _why(trial) else "alive"
        outcomes[trial.module][outcome] += 1
        if not dead:
            print(of_trial[trial])
            print(f" {_why(trial) or ('ALIVE' if trial.tests else 'ALIVE: no test runs it')}", flush=True)
    for module, of_module in outcomes.items():
        print(f"{module}: {_score(of_module)}")
    print(f"all: {_score(sum(outcomes.values(), Counter()))}")


def _why(trial: Trial) -> str | None:
    """Why this mutant may live, if it is explained."""
    source = (PACKAGE / trial.module).read_text(encoding="utf-8")
    known = (one for one in SURVIVORS if one.module == trial.module)
    return next((one.why for one in known if source.replace(one.fragment, one.instead) == trial.source), None)


def _score(outcomes: Counter[str]) -> str:
    size = max(outcomes.total(), 1)
    return f"{outcomes['killed']} of {size} killed ({outcomes['killed'] / size:.1%}), {outcomes['explained']} explained"


if __name__ == "__main__":
    main()
