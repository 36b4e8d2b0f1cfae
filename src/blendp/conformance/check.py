"""Holding a client in any language to the vectors, over its standard input and output.

A line of JSON for each vector, and a line back:

    to the client    {"id": 7, "call": "rank", "input": {...}}
    from the client  {"id": 7, "output": {...}}  or  {"id": 7, "refused": "reason"}  or  {"id": 7, "unsupported": true}

The next line is sent when the answer is there. The client ends when its input does.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any

from blendp.conformance.vectors import GOOD, Vector, VectorFile
from blendp.errors import EngineError, ParameterError

MAX_ANSWER_BYTES = 16 << 20
_SHOWN = 200
_FAREWELL_SECONDS = 5.0

PASSED, FAILED, UNSUPPORTED = "passed", "failed", "unsupported"


@dataclass(frozen=True)
class Finding:
    """What a client answered to one vector.

    where:
        outcome  is passed, failed or unsupported,
        detail   says what was expected and what came, if it failed.
    """

    group: str
    kind: str
    name: str
    outcome: str
    detail: str = ""


class Subject:
    """A client that runs in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        """Wait for each answer at most so many seconds."""
        self._process, self._seconds = process, seconds
        self._answers: queue.Queue[bytes] = queue.Queue()
        self._asked = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with _stream(self._process.stdout) as answers:
            while line := answers.readline(MAX_ANSWER_BYTES):
                self._answers.put(line)
        self._answers.put(b"")

    def ask(self, call: str, given: Any) -> dict[str, Any]:
        """The answer to a call; raises :class:`EngineError` if there is none."""
        self._asked += 1
        line = json.dumps({"id": self._asked, "call": call, "input": given}) + "\n"
        try:
            calls = _stream(self._process.stdin)
            calls.write(line.encode("ascii"))
            calls.flush()
            answer = self._answers.get(timeout=self._seconds)
        except queue.Empty:
            raise EngineError(f"The client did not answer a {call} call within {self._seconds:g} seconds.") from None
        except OSError as error:
            raise EngineError(f"The client ended before a {call} call: {error.strerror}.") from None
        if not answer:
            raise EngineError(f"The client ended at a {call} call, without an answer.")
        return self._checked(answer, call)

    def _checked(self, answer: bytes, call: str) -> dict[str, Any]:
        try:
            value = json.loads(answer)
        except ValueError:
            value = None
        if not isinstance(value, dict) or value.get("id") != self._asked:
            raise EngineError(
                f"The client answered a {call} call with {answer[:_SHOWN]!r}: it must be one line of JSON with the "
                f"call's id, {self._asked}."
            )
        return value


@contextmanager
def started(command: Sequence[str], seconds: float) -> Iterator[Subject]:
    """A client, ended afterwards."""
    if not command:
        raise ParameterError("command", None, "given", "Name the client's command after --.")
    try:
        process = subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        raise ParameterError("command", command[0], "a program that can be started", f"{error.strerror}.") from None
    try:
        yield Subject(process, seconds)
    finally:
        with suppress(OSError):
            _stream(process.stdin).close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_FAREWELL_SECONDS)
        process.kill()
        process.wait()


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise EngineError("The client was started without its streams.")
    return stream


def findings(subject: Subject, files: Iterable[VectorFile]) -> Iterator[Finding]:
    """What the client answers to every vector, in their order."""
    for file in files:
        for vector in file.vectors:
            answer = subject.ask(file.call, vector.input)
            outcome, detail = _judged(file.group, vector, answer)
            yield Finding(file.group, file.kind, vector.name, outcome, detail)


def _judged(group: str, vector: Vector, answer: dict[str, Any]) -> tuple[str, str]:
    if answer.get("unsupported") is True:
        return UNSUPPORTED, ""
    member, other = ("output", "refused") if group == GOOD else ("refused", "output")
    if member in answer and other not in answer and answer[member] == vector.expected:
        return PASSED, ""
    given = {name: answer[name] for name in (member, other) if name in answer}
    return FAILED, f"expected {_short({member: vector.expected})}, answered {_short(given)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
