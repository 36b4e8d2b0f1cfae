"""The rooms that docs/architecture.md describes are those of the code, in the order in which they may import."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
ROOMS = PAGE[PAGE.index("\n## Rooms\n") : PAGE.index("\n## Beside the package\n")]
NOT_ROOMS = {"__init__.py", "__main__.py", "_version.py", "py.typed", "__pycache__"}

NOT_MODULES = {"draw", "make_list", "conclude", "run", "simulate", "methods"}
"""Functions that rooms are described by, and another room."""


def described() -> list[str]:
    heads = re.findall(r"^- ((?:`[\w.]+/?`(?:, )?)+):", ROOMS, flags=re.MULTILINE)
    return [name for head in heads for name in re.findall(r"`([\w.]+)/?`", head)]


def test_every_room_is_described_once() -> None:
    rooms = {path.name for path in (ROOT / "src/blendp").iterdir()} - NOT_ROOMS
    assert sorted(described()) == sorted(rooms)


def test_rooms_are_listed_from_the_bottom_to_the_top() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    levels = {
        name.strip("() ").removeprefix("blendp."): level
        for level, layer in enumerate(reversed(layers))
        for name in layer.split("|")
    }
    ranks = [levels[stem] for stem in (name.removesuffix(".py") for name in described()) if stem in levels]
    assert len(ranks) > 10
    assert ranks == sorted(ranks)


def test_parts_of_rooms_that_are_named_exist() -> None:
    for room, text in re.findall(r"^- `(\w+)/`:(.*?)(?=^- |\Z)", ROOMS, flags=re.MULTILINE | re.DOTALL):
        for part in re.findall(r"`(\w+)/`", text):
            assert (ROOT / "src/blendp" / room / part).is_dir(), (room, part)
        for part in re.findall(r"`(\w+\.py)`", text):
            assert (ROOT / "src/blendp" / room / part).exists(), (room, part)
        modules = {path.stem for path in (ROOT / "src/blendp" / room).rglob("*")}
        assert set(re.findall(r"`([a-z_]+)`", text)) - NOT_MODULES <= modules, room
