"""Vectors as values, as files, and how many there are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blendp.errors import ParameterError

GOOD, BAD = "good", "bad"


@dataclass(frozen=True)
class Vector:
    """One case: what goes in, and what comes out or why it is refused.

    where:
        expected  is the output, or the reason of a bad one.
    """

    name: str
    input: Mapping[str, Any]
    expected: Any


@dataclass(frozen=True)
class VectorFile:
    """Vectors of one kind: one call, and the rules of the specification that they test."""

    group: str
    """good or bad."""

    kind: str
    call: str
    rules: tuple[str, ...]
    vectors: tuple[Vector, ...] = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse names that stand twice."""
        names = [vector.name for vector in self.vectors]
        if len(set(names)) != len(names) or not names:
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ParameterError("vectors", twice, "of different names, at least one", f"Rename those of {self.kind}.")

    def to_text(self) -> str:
        """As JSON for people and programs: a line for each vector."""
        member = "output" if self.group == GOOD else "reason"
        head = {"kind": self.kind, "call": self.call, "rules": list(self.rules)}
        lines = [
            _json({"name": vector.name, "input": vector.input, member: vector.expected}) for vector in self.vectors
        ]
        return _json(head)[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}\n"

    @classmethod
    def read(cls, group: str, text: str) -> VectorFile:
        """From JSON."""
        value = json.loads(text)
        member = "output" if group == GOOD else "reason"
        vectors = tuple(Vector(one["name"], one["input"], one[member]) for one in value["cases"])
        return cls(group, value["kind"], value["call"], tuple(value["rules"]), vectors)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def write_vectors(folder: Path, files: Iterable[VectorFile]) -> None:
    """Write every kind into a file of its own, under good/ and bad/."""
    for group in (GOOD, BAD):
        (folder / group).mkdir(parents=True, exist_ok=True)
    for file in files:
        (folder / file.group / f"{file.kind}.json").write_text(file.to_text(), encoding="ascii")


def read_vectors(folder: Path) -> Iterator[VectorFile]:
    """All kinds of a folder, the good ones first."""
    for group in (GOOD, BAD):
        paths = sorted((folder / group).glob("*.json"))
        if not paths:
            raise ParameterError("vectors", str(folder), "a folder with good/ and bad/ vectors", "Name another folder.")
        for path in paths:
            yield VectorFile.read(group, path.read_text(encoding="ascii"))


def own_vectors() -> Path:
    """The vectors that come with blendp: installed beside this file, or at the root of a checkout."""
    installed = Path(__file__).parent / "data"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "vectors"
