"""Work that is done meanwhile helps, or harms nobody."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from blendp.meanwhile import meanwhile


def test_the_task_is_done_beside_and_can_be_waited_for() -> None:
    go_on, threads = threading.Event(), list[int]()

    def task() -> None:
        go_on.wait(10)
        threads.append(threading.get_ident())

    thread = meanwhile(task)
    assert threads == []
    go_on.set()
    thread.join()
    assert threads == [thread.ident] != [threading.get_ident()]


@pytest.mark.parametrize("error", [ValueError, ImportError, MemoryError, RecursionError])
def test_a_task_that_fails_harms_nobody(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[object] = []
    hook: Callable[[object], None] = seen.append
    monkeypatch.setattr(threading, "excepthook", hook)

    def task() -> None:
        raise error("no")

    meanwhile(task).join()
    assert seen == []
    assert capsys.readouterr() == ("", "")
