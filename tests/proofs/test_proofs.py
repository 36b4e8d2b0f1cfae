"""Every proof names its code, and none is older than the code that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proofs.fingerprints import (
    HEADING,
    SOURCE,
    WIDTH,
    NamedCode,
    fingerprint,
    main,
    named_code,
    proofs,
    reviewed,
    states,
)

CODE = '''
LIMIT = 3

class Noise:
    """A law."""

    rate: float

    def __post_init__(self) -> None:
        """Refuse."""
        if self.rate > LIMIT:
            raise ParameterError("rate", self.rate, "at most 3", "Lower it.")

    def draw(self, count: int) -> int:
        require_count("count", count, remedy="Give one.")
        kept = count + 1  # more
        return kept

    def __str__(self) -> str:
        return "noise"
'''


@pytest.mark.parametrize("path", proofs(), ids=lambda path: path.parent.name)
def test_the_proof_is_of_the_code_as_it_is(path: Path) -> None:
    assert states(path) == [], "read the proof beside the code, then run scripts/proofs --reviewed"


@pytest.mark.parametrize("path", proofs(), ids=lambda path: path.parent.name)
def test_the_proof_names_the_code_beside_it(path: Path) -> None:
    proof = path.read_text(encoding="utf-8")
    files = [code.file for code in named_code(proof)]
    assert len(files) == len(set(files)) == proof.partition(HEADING)[2].count("\n- ")
    own = path.parent.relative_to(SOURCE).as_posix()
    assert any(file.startswith(f"{own}/") for file in files)
    if own.startswith("mechanisms/"):
        beside = {each.relative_to(SOURCE).as_posix() for each in path.parent.glob("*.py")}
        assert beside - {f"{own}/__init__.py"} <= set(files)
    assert max(map(len, proof.partition(HEADING)[2].splitlines())) <= WIDTH


def test_there_is_a_proof_in_every_folder_of_a_mechanism() -> None:
    folders = {path.parent for path in (SOURCE / "mechanisms").glob("*/__init__.py")}
    assert folders <= {path.parent for path in proofs()}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A law."""', '"""Another wording."""'),
        ("  # more", ""),
        ("count: int", "count: float"),
        ("rate: float", "rate: int"),
        ('"at most 3", "Lower it."', '"3 at most", "Lower it, please."'),
        ('remedy="Give one."', 'remedy="Say how many."'),
        ('return "noise"', 'return "some noise"'),
        ("kept = count + 1", "kept = (count\n            + 1)"),
        ("LIMIT = 3", "import math\nLIMIT = 3"),
    ],
)
def test_wording_and_layout_do_not_count(old: str, new: str) -> None:
    assert CODE.count(old) == 1
    assert fingerprint(CODE.replace(old, new)) == fingerprint(CODE)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("count + 1", "count + 2", "Noise.draw"),
        ("count + 1", "count - 1", "Noise"),
        ("kept = count", "more = kept = count", "Noise.draw"),
        ("self.rate > LIMIT", "self.rate >= LIMIT", "Noise.__post_init__"),
        ("LIMIT = 3", "LIMIT = 4", "LIMIT"),
        ("rate: float", "rate: float = 1", "Noise"),
    ],
)
def test_what_the_code_does_counts(old: str, new: str, name: str) -> None:
    changed = CODE.replace(old, new)
    assert fingerprint(changed) != fingerprint(CODE)
    assert fingerprint(changed, (name,)) != fingerprint(CODE, (name,))


def test_only_what_is_named_counts_and_it_has_to_be_there() -> None:
    changed = CODE.replace("count + 1", "count + 2")
    assert fingerprint(changed, ("LIMIT", "Noise.__post_init__")) == fingerprint(CODE, ("LIMIT", "Noise.__post_init__"))
    with pytest.raises(LookupError, match="is not defined"):
        fingerprint(CODE, ("Noise.release",))
    assert "is not there: name the code" in NamedCode("mechanisms/none.py", (), "0").state
    assert "release is not defined" in NamedCode("mechanisms/exact.py", ("release",), "0").state


def test_reviewing_writes_the_fingerprint_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    proof = (SOURCE / "mechanisms" / "threshold" / "PROOF.md").read_text(encoding="utf-8")
    code = named_code(proof)[0]
    stale = proof.replace(code.fingerprint, "0" * 16)
    assert named_code(stale)[0].fingerprint == "0" * 16
    assert reviewed(stale) == reviewed(proof) == proof
    assert reviewed("# A proof of nothing\n") == "# A proof of nothing\n"
    assert main([]) == 0
    assert main(["--unknown"]) == 2
    assert "scripts/proofs" in capsys.readouterr().err
