"""The machine that makes faults, and the faults that must be noticed from now on."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.mutation.faults import FAULTS, SURVIVORS, Fault, Survivor
from tests.mutation.mutants import changed_lines, mutants_of
from tests.mutation.trials import PACKAGE, ROOT

SOURCE = '''
"""Text + text."""
LIMIT: int = 3

@cache(8)
def share(x: int | None, most: float = 0.5) -> float | None:
    """1 + 1"""
    if not (x) >= 2 and most:
        raise ValueError("a" + "b")
    total[0] = sqrt(-x)
    total += min(a, b) - f(é, b)
    log.append(True)
    return (x) * (1.5)

def name(x: int) -> str:
    return "a" * (x + 1)
'''


def test_mutants_are_single_changes_of_what_counts() -> None:
    """Neither of texts, annotations and decorators nor of errors; and each is Python."""
    lines = []
    for mutant in mutants_of(SOURCE):
        changed = mutant.applied(SOURCE)
        compile(changed, "changed", "exec")
        old, new = changed_lines(SOURCE, changed)
        assert SOURCE.splitlines().index(old[1:]) + 1 in mutant.lines
        lines.append(new[1:].strip())
    assert sorted(lines) == sorted(
        [
            "LIMIT: int = 4",
            "def share(x: int | None, most: float = 1.0) -> float | None:",
            "if (not (not (x) >= 2 and most)):",
            "if ((x) >= 2) and most:",
            "if not (x) > 2 and most:",
            "if not (x) >= 3 and most:",
            "if not (x) >= 2 or most:",
            "pass",
            "total[1] = sqrt(-x)",
            "total[0] = (-x)",
            "total[0] = sqrt((x))",
            "pass",
            "total -= min(a, b) - f(é, b)",
            "total += max(a, b) - f(é, b)",
            "total += (min(a, b))",
            "total += min(a, b) + f(é, b)",
            "total += min(a, b) - f(b, é)",
            "pass",
            "log.append(False)",
            "return None",
            "return (x) / (1.5)",
            "return (x) * (3.0)",
        ]
    )


@pytest.mark.parametrize("fault", [*FAULTS, *SURVIVORS], ids=lambda fault: f"{fault.module}: {fault.fragment}")
def test_faults_are_still_possible(fault: Fault | Survivor) -> None:
    """A list that names code of the past, or a test that is gone, would guard nothing."""
    source = (PACKAGE / fault.module).read_text(encoding="utf-8")
    assert source.count(fault.fragment) == 1
    compile(source.replace(fault.fragment, fault.instead), fault.module, "exec")
    if isinstance(fault, Fault):
        path, _, test = fault.test.partition("::")
        tests = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^def {test}\(", tests, re.MULTILINE)


def test_faults_are_noticed() -> None:
    """Every fault of the list fails the quick test that it names."""
    command = [sys.executable, "-m", "tests.mutation", "--faults"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout + result.stderr
