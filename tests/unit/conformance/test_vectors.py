"""The vectors are those that this code makes, and they reach every rule, every reason and every problem."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from blendp.conformance.calls import CALLS
from blendp.conformance.cases import all_vectors
from blendp.conformance.tape import Tape, TapeError
from blendp.conformance.vectors import BAD, GOOD, Vector, VectorFile, own_vectors, read_vectors, write_vectors
from blendp.errors import ParameterError
from blendp.wire.campaign import Terms
from blendp.wire.messages import field_forms
from blendp.wire.problems import PROBLEMS

ROOT = Path(__file__).parents[3]
SPECIFICATION = (ROOT / "docs/specification.md").read_text(encoding="utf-8")
RULE = re.compile(r"^\*\*([BSDNCRWELQPI][0-9]+)\. ", re.MULTILINE)


@cache
def kept() -> tuple[VectorFile, ...]:
    return tuple(read_vectors(own_vectors()))


def reasons() -> set[str]:
    return {vector.expected for file in kept() if file.group == BAD for vector in file.vectors}


def test_one_command_makes_the_same_bytes_again(tmp_path: Path) -> None:
    write_vectors(tmp_path, all_vectors())
    assert own_vectors() == ROOT / "vectors"
    for group in (GOOD, BAD):
        names = {path.name for path in (own_vectors() / group).iterdir()}
        assert names == {path.name for path in (tmp_path / group).iterdir()}
        for name in names:
            assert (own_vectors() / group / name).read_bytes() == (tmp_path / group / name).read_bytes(), name


def test_there_are_enough() -> None:
    counts = Counter(file.group for file in kept() for _ in file.vectors)
    assert counts[GOOD] >= 150
    assert counts[BAD] >= 100


def test_files_say_the_same_when_they_are_read() -> None:
    for file in kept():
        assert VectorFile.read(file.group, file.to_text()) == file


def rules() -> dict[str, set[str]]:
    """The rules of the specification, and the kinds of vectors that each names."""
    parts = RULE.split(SPECIFICATION)[1:]
    named = {}
    for rule, text in zip(parts[::2], parts[1::2], strict=True):
        match = re.search(r"\*Vectors:\s(.*?)\.\*", text, re.DOTALL)
        assert match, f"{rule} names no vectors"
        named[rule] = {kind.strip() for kind in match[1].replace("\n", " ").split(",")}
    return named


def test_every_rule_has_vectors_and_every_vector_a_rule() -> None:
    named, kinds = rules(), {file.kind for file in kept()}
    assert len(RULE.findall(SPECIFICATION)) == len(named), "a rule stands twice"
    assert set().union(*named.values()) == kinds
    for file in kept():
        assert set(file.rules) <= set(named), file.kind
        for rule in file.rules:
            assert file.kind in named[rule], f"{rule} does not name {file.kind}, which tests it"
    tested = {(rule, file.kind) for file in kept() for rule in file.rules}
    assert {(rule, kind) for rule, some in named.items() for kind in some} == tested


def test_whatever_must_be_is_part_of_a_rule() -> None:
    """A rule goes from its number to the vectors that it names."""
    numbered = re.compile(r"^\*\*[A-Z][0-9]+\. .*?\*Vectors:\s.*?\.\*", re.MULTILINE | re.DOTALL)
    loose = numbered.sub("", SPECIFICATION.partition("## Bytes")[2])
    assert re.findall(r".*\b(?:MUST|SHOULD)\b.*", loose) == []


def test_every_refusal_that_the_text_names_has_a_vector() -> None:
    rules_alone = SPECIFICATION.partition("## Vectors")[0]
    named = re.findall(r"\brefused?\s\(`([a-z_ -]+)`\)", rules_alone)
    named += re.findall(r"\b(?:else|elsewhere:?)\srefuse\s`([a-z_ -]+)`", rules_alone)
    assert len(set(named)) > 20
    assert set(named) <= reasons()


def test_every_fate_in_a_queue_has_a_vector() -> None:
    """But for the quota, which 501 campaigns are too many for: tests of each language reach it."""
    devices = [vector for file in kept() if (file.group, file.kind) == (GOOD, "device") for vector in file.vectors]
    fates = {(state, reason) for vector in devices for _, state, reason in vector.expected["queue"]}
    assert fates >= {
        ("waiting", ""),
        ("waiting", "network"),
        ("waiting", "http-302"),
        ("sent", "accepted"),
        ("sent", "duplicate"),
        ("sent", "deleted"),
        ("refused", "wrong-scheme"),
        ("dropped", "forgotten"),
        ("dropped", "consent withdrawn"),
        ("dropped", "equivocation"),
        ("dropped", "too old"),
    }


def test_every_call_has_vectors_and_is_described() -> None:
    assert {file.call for file in kept()} == set(CALLS)
    described = set(re.findall(r"^- `([a-z-]+)`: ", SPECIFICATION.partition("## Vectors")[2], re.MULTILINE))
    assert described == set(CALLS)


def test_every_reason_of_a_device_has_a_vector() -> None:
    source = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "src/blendp/client").glob("*.py")]
    calls = [node for tree in source for node in ast.walk(tree) if isinstance(node, ast.Call)]
    known = {
        node.args[0].value
        for node in calls
        if getattr(node.func, "id", "") == "RefusedError" and isinstance(node.args[0], ast.Constant)
    }
    known |= {
        node.args[1].value
        for node in calls
        if getattr(node.func, "id", "") == "_refusing" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
    }
    assert known >= {"signature", "list", "witness", "policy", "released"}
    assert known | {"equivocation"} <= reasons()


def test_every_field_of_the_terms_has_a_bad_vector() -> None:
    assert set(field_forms(Terms)) <= reasons()


def test_every_problem_has_an_answer() -> None:
    answers = [vector for file in kept() if file.kind == "answer" for vector in file.vectors]
    types = {str(json.loads(vector.input["body"]).get("type")) for vector in answers if vector.input["body"][:1] == "{"}
    assert {problem.type for problem in PROBLEMS.values()} <= types


def test_some_draws_are_rejected_and_some_sets_are_long() -> None:
    """What is easy to get wrong is there: words that are drawn again, k = 1, sets of hundreds, a lie, a turned URL."""
    files = {(file.group, file.kind): {vector.name: vector for vector in file.vectors} for file in kept()}
    subset, stages = files[GOOD, "draw-subset"], files[GOOD, "draw-two-stage"]
    again = subset["words that are drawn again"]
    assert again.expected["used"] > len(again.expected["members"]) + 1
    assert len(subset["a set of thousands"].expected["members"]) > 100
    assert subset["one item"].expected == {"members": [0], "data": "00", "used": 1}
    assert stages["cell 0, a lie"].expected["cell"] > 4
    assert 0 < stages["cell 0, another URL"].expected["cell"] < 5
    ranks = files[GOOD, "rank"]
    assert any(int(vector.expected["rank"]) > 1 << 64 for vector in ranks.values())


def test_no_tape_has_a_word_twice_where_words_are_sorted() -> None:
    for file in kept():
        if file.kind == "enrol":
            for vector in file.vectors:
                tape = np.frombuffer(bytes.fromhex(vector.input["tape"]), dtype="<u8")
                assert len(tape) - len(set(tape.tolist())) <= 1, vector.name


def test_a_tape_gives_its_words_and_ends() -> None:
    tape = Tape(bytes.fromhex("0100000000000000ffffffffffffffff"))
    assert tape.words(1).tolist() == [1]
    assert tape.words(0).tolist() == []
    assert tape.words(1).tolist() == [(1 << 64) - 1]
    assert tape.used == 2
    with pytest.raises(TapeError, match="2 words"):
        tape.words(1)


def test_a_file_has_each_name_once() -> None:
    twice = (Vector("same", {}, {}), Vector("same", {}, {}))
    for vectors in ((), twice):
        with pytest.raises(ParameterError):
            VectorFile(GOOD, "kind", "rank", ("R6",), vectors)


def test_a_folder_without_vectors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="good/ and bad/"):
        list(read_vectors(tmp_path))
