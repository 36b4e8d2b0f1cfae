"""Runs tests on a changed module, in a process forked from one that has loaded the libraries but not the package.

First the tests run on the source as it is, and it is noted which lines each of them runs and how long it takes. A
mutant is then tried by those tests alone that run its statement, the quickest first, until one fails.
"""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import importlib.machinery
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import hypothesis
import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "blendp"
LIBRARIES = ("duckdb", "hypothesis.strategies", "numpy", "pyarrow", "scipy.optimize", "scipy.stats")
"""What the package and its tests load: it is loaded once."""

_SPARE_SECONDS, _TIMES_AS_LONG = 20, 3
_MAX_BYTES = 4 << 30
_LOADING = ""  # stands for a test's name while modules are loaded
_PROBE = "__ran__"


@dataclass(frozen=True)
class Trial:
    """One changed module, and the tests that try it.

    where:
        tests    names them, or whole files of tests, in this order,
        seconds  is how much CPU time they take on the source as it is.
    """

    module: str
    source: str
    tests: tuple[str, ...]
    seconds: float = 10.0


@dataclass
class Coverage:
    """Which lines of which modules each test runs, and how many seconds it takes."""

    lines: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    def trial(self, module: str, source: str, lines: range) -> Trial:
        """The trial of a module that is changed in these lines; what runs as modules are loaded concerns all tests
        that run anything of it.
        """
        if any((module, line) in self.lines.get(_LOADING, ()) for line in lines):
            concerned = [test for test in self.seconds if any(name == module for name, _ in self.lines[test])]
        else:
            concerned = [test for test in self.seconds if any((module, line) in self.lines[test] for line in lines)]
        tests = sorted((test for test in concerned if test not in self.failed), key=self.seconds.__getitem__)
        return Trial(module, source, tuple(tests), sum(map(self.seconds.__getitem__, tests)))


def coverage_of(modules: Iterable[str], tests: Sequence[str], quick: bool = False) -> Coverage:
    """Run these tests on the source as it is, or the quick ones of them. One that fails there cannot try a mutant."""
    with tempfile.NamedTemporaryFile() as file:

        def record() -> int:
            recorder = _Recorder(modules)
            code = _run([*tests, *(["-m", "not statistical"] if quick else [])], recorder)
            Path(file.name).write_bytes(pickle.dumps(recorder.coverage))
            return code

        code = os.waitstatus_to_exitcode(os.waitpid(_forked(record), 0)[1])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise SystemExit(f"The tests do not run on the source as it is (code {code}): {' '.join(tests)}")
        result = pickle.loads(Path(file.name).read_bytes())
        assert isinstance(result, Coverage)
        return result


def tried(trials: Iterable[Trial], jobs: int = 1) -> Iterator[tuple[Trial, bool]]:
    """Every trial, as it ends, and whether the mutant was killed: a test failed, or took far too long."""
    running: dict[int, Trial] = {}
    for trial in trials:
        if not trial.tests:
            yield trial, False
            continue
        running[_forked(functools.partial(_try, trial))] = trial
        if len(running) >= jobs:
            yield _ended(running)
    while running:
        yield _ended(running)


def load_libraries() -> None:
    """Load what forked processes need; one thread each, since several run at a time."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = "1"
    for name in LIBRARIES:
        importlib.import_module(name)
    loaded = [name for name in sys.modules if name == "blendp"]
    assert not loaded, "a forked process would not load the changed module"


def _ended(running: dict[int, Trial]) -> tuple[Trial, bool]:
    pid = 0
    while pid not in running:
        pid, status = os.wait()
    trial, code = running.pop(pid), os.waitstatus_to_exitcode(status)
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise SystemExit(f"There are no such tests: {' '.join(trial.tests)}")
    return trial, code != pytest.ExitCode.OK


def _forked(work: Callable[[], int]) -> int:
    """The number of a process that does the work, and ends with its result."""
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    code = 70
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nothing, standard)
        code = work()
    finally:
        os._exit(code)


def _try(trial: Trial) -> int:
    limit = int(_SPARE_SECONDS + _TIMES_AS_LONG * trial.seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (_MAX_BYTES, _MAX_BYTES))
    signal.alarm(10 * limit)  # other processes may be busy, but one that waits for ever ends
    sys.meta_path.insert(0, _Changed(trial.module, ast.parse(trial.source)))
    files = list(dict.fromkeys(test.partition("::")[0] for test in trial.tests))
    return _run(["-x", *files], _Chosen(trial.tests))


def _run(tests: Sequence[str], plugin: object) -> int:
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", f"--basetemp={folder}/tests"]
        return int(pytest.main([*options, *tests], plugins=[plugin]))


class _Changed(importlib.machinery.SourceFileLoader):
    """Finds and loads one module of the package, as other code."""

    def __init__(self, module: str, code: ast.Module, note: Callable[[int], None] | None = None) -> None:
        path = PACKAGE / module
        super().__init__(".".join(("blendp", *Path(module).with_suffix("").parts)), str(path))
        self.code, self.note = code, note

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """What Python asks of everything on ``sys.meta_path``."""
        del path, target
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str) -> CodeType:
        """Compiled anew, and not kept."""
        del fullname
        return compile(self.code, self.path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        """Run it, with what its probes call."""
        setattr(module, _PROBE, self.note)
        super().exec_module(module)


class _Probes(ast.NodeTransformer):
    """Before every statement a call that notes its line; docstrings and imports stay first."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, [each for statement in block for each in (*self.probe(statement), statement)])
        return node

    def probe(self, statement: ast.stmt) -> list[ast.stmt]:
        """The call, unless the statement has to come first."""
        text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if text or isinstance(statement, ast.Import | ast.ImportFrom):
            return []
        (call,) = ast.parse(f"{_PROBE}({statement.lineno})").body
        return [call]


class _Plugin:
    """Properties are not shrunk: one failing example is enough."""

    def pytest_sessionstart(self) -> None:
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutants", hypothesis.settings(), phases=phases)
        hypothesis.settings.load_profile("mutants")


class _Chosen(_Plugin):
    """Runs these tests alone, in their order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.rank = {test: i for i, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The name of a file stands for all of its tests, that of a function for all of its cases."""
        ranks: dict[pytest.Item, int] = {}
        for item in items:
            test = item.nodeid
            for name in (test, test.partition("[")[0], test.partition("::")[0]):
                if name in self.rank:
                    ranks.setdefault(item, self.rank[name])
        items[:] = sorted(ranks, key=lambda item: ranks[item])


class _Recorder(_Plugin):
    """Notes which lines each test runs. What a fixture or a cache has ready from one test concerns others too: lines
    that a test's fixtures run count for all tests of its file, and caches are emptied before each test.
    """

    def __init__(self, modules: Iterable[str]) -> None:
        self.coverage = Coverage(lines={_LOADING: set()})
        self.current = self.coverage.lines[_LOADING]
        self.of_fixtures: dict[str, set[tuple[str, int]]] = {}
        self.caches: list[Any] = []
        for module in modules:
            tree = _Probes().visit(ast.parse((PACKAGE / module).read_text(encoding="utf-8")))
            sys.meta_path.insert(0, _Changed(module, tree, functools.partial(self.note, module)))

    def note(self, module: str, line: int) -> None:
        self.current.add((module, line))

    def pytest_collection_finish(self) -> None:
        self.caches = [one for one in gc.get_objects() if isinstance(one, functools._lru_cache_wrapper)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        for cache in self.caches:
            if getattr(cache, "__module__", "").startswith("blendp"):
                cache.cache_clear()
        started = time.process_time()
        self.current = self.of_fixtures.setdefault(item.nodeid.partition("::")[0], set())
        result = yield
        self.coverage.seconds[item.nodeid] = time.process_time() - started
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        outer = self.current
        self.current = self.coverage.lines.setdefault(item.nodeid, set())
        result = yield
        self.current = outer
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.coverage.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        for test in self.coverage.seconds:
            self.coverage.lines.setdefault(test, set()).update(self.of_fixtures[test.partition("::")[0]])
