"""Which code a PROOF.md is about, and whether that code is still what was read beside it.

The last section of every PROOF.md names files and, of some, the classes, functions and constants that matter, each file
with a fingerprint: the start of a SHA-256 over what the code does. Comments, layout, docstrings, annotations, the
wording of errors and the methods that only describe a mechanism do not count; names do.

``scripts/proofs`` says which proofs have to be read again, ``scripts/proofs --reviewed`` that they have been.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "blendp"
HEADING = "## The code that this proves\n"
WIDTH = 100

_DIGITS = 16
_DESCRIBING = {"__str__", "__repr__", "description", "description_per"}
_WORDING = {"legal", "remedy"}
_IGNORED_FIELDS = {"annotation", "returns", "type_comment", "type_params", "ctx", "kind"}
_ENTRY = re.compile(r"- `(?P<file>[^`]+)`(?: \((?P<names>[^)]*)\))?: fingerprint\s`(?P<fingerprint>[^`]*)`\.")
_Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class NamedCode:
    """A file that a proof names, and what of it; all of it if nothing is named."""

    file: str
    names: tuple[str, ...]
    fingerprint: str

    @property
    def now(self) -> str:
        """The fingerprint of the code as it is; raises LookupError if it is not there."""
        path = SOURCE / self.file
        if not path.exists():
            raise LookupError(f"{self.file} is not there")
        return fingerprint(path.read_text(encoding="utf-8"), self.names)

    @property
    def state(self) -> str:
        """What has become of the code since the proof was read; empty if it is the same."""
        try:
            return "" if self.now == self.fingerprint else f"{self.file} has changed"
        except LookupError as error:
            return f"{error.args[0]}: name the code where it is now in the last section"

    def __str__(self) -> str:
        """As it stands in a proof."""
        names = f" ({', '.join(f'`{name}`' for name in self.names)})" if self.names else ""
        text = f"- `{self.file}`{names}: fingerprint `{self.fingerprint}`."
        return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def proofs() -> list[Path]:
    """Every proof."""
    return sorted(SOURCE.rglob("PROOF.md"))


def named_code(proof: str) -> list[NamedCode]:
    """What the last section of a proof names."""
    _, heading, section = proof.partition(HEADING)
    text = re.sub(r"\n  +", " ", section)
    return [
        NamedCode(entry["file"], tuple(re.findall(r"`([^`]+)`", entry["names"] or "")), entry["fingerprint"])
        for entry in _ENTRY.finditer(text)
        if heading
    ]


def reviewed(proof: str) -> str:
    """The proof with the fingerprints of the code as it is."""
    before, heading, section = proof.partition(HEADING)
    if not heading:
        return proof
    introduction = section[: section.find("\n- ") + 1]
    entries = [str(replace(code, fingerprint=code.now)) if code.state else str(code) for code in named_code(proof)]
    return before + heading + introduction + "\n".join(entries) + "\n"


def fingerprint(source: str, names: tuple[str, ...] = ()) -> str:
    """The start of the SHA-256 of what these definitions do, or of all that the module defines."""
    module = ast.parse(source)
    nodes = [_definition(module, name) for name in names] if names else [node for node in module.body if _counts(node)]
    text = "\n".join("".join(_shape(node)) for node in nodes)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:_DIGITS]


def _definition(module: ast.Module, name: str) -> ast.AST:
    """A function, class, constant, or method (``Class.method``)."""
    first, _, rest = name.partition(".")
    for node in module.body:
        if first in _defined(node):
            return _definition(ast.Module(node.body, []), rest) if rest and isinstance(node, ast.ClassDef) else node
    raise LookupError(f"{name} is not defined")


def _defined(node: ast.stmt) -> set[str]:
    """The names that a statement defines."""
    if isinstance(node, _Definition):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}


def _counts(node: object) -> bool:
    """Whether a part of the code does anything that a proof could be about."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    describes = isinstance(node, _Definition) and node.name in _DESCRIBING
    advises = isinstance(node, ast.keyword) and node.arg in _WORDING
    return not (is_text or describes or advises or isinstance(node, ast.Import | ast.ImportFrom))


def _shape(node: object) -> Iterator[str]:
    """A node without what does not count, the same in every version of Python."""
    if isinstance(node, list):
        for each in node:
            if _counts(each):
                yield from _shape(each)
    elif isinstance(node, ast.AST):
        yield f"{type(node).__name__}("
        for name, value in ast.iter_fields(node):
            if name not in _IGNORED_FIELDS and value not in (None, []) and not _is_wording(node, name):
                yield f"{name}="
                yield from _shape(value)
        yield ")"
    else:
        yield repr(node)


def _is_wording(node: ast.AST, field: str) -> bool:
    """What an error says."""
    raised = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ParameterError"
    return raised and field in ("args", "keywords")


def main(arguments: list[str]) -> int:
    """Say which proofs have to be read again; with ``--reviewed``, note that they have been."""
    if arguments not in ([], ["--reviewed"]):
        print(__doc__, file=sys.stderr)
        return 2
    changed = [f"{path.relative_to(SOURCE)}: {state}" for path in proofs() for state in states(path)]
    print(*changed, sep="\n", end="\n" if changed else "")
    if not arguments:
        print("Read these proofs beside the code, then run scripts/proofs --reviewed." if changed else "All are fresh.")
        return 1 if changed else 0
    for path in proofs():
        path.write_text(reviewed(path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def states(path: Path) -> list[str]:
    """What has become of the code that a proof names, where that is not what was read."""
    return [code.state for code in named_code(path.read_text(encoding="utf-8")) if code.state]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
