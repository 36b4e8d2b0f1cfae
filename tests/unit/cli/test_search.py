"""``blendp search`` as a person meets it: files, output and exit codes."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from blendp.canonical import canonical_json, sha256
from blendp.cli import BAD_PARAMETER, OUTPUT_EXISTS, REFUSED
from blendp.cli.app import app
from blendp.cli.search.query import _read
from blendp.conformance.samples import signing_key
from blendp.render.release.names import DOCUMENT
from blendp.render.search_results import results_table
from blendp.search import build_index
from blendp.wire import Envelope
from blendp.wire.media_types import RELEASE_TYPE, TERMS_TYPE

KEY = signing_key(1)
ROWS = [("weather", "http://a", 0.02), ("weather channel", "http://b", 0.01), ("the weather", "http://c", 0.9)]


def release(campaign: str) -> bytes:
    estimates = [{"query": query, "url": url, "probability": share, "std_error": 0.001} for query, url, share in ROWS]
    document = {"format": "blendp/release/1", "campaign": campaign, "manifest_sha256": "", "released": "2026-12-01"}
    return canonical_json({**document, "card": {}, "trends": [], "groups": {}, "estimates": estimates})


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    """A directory as ``blendp campaign export`` writes it."""
    folder = tmp_path / "signed"
    folder.mkdir()
    envelope = Envelope.sealed(RELEASE_TYPE, release("trends"), (KEY,))
    (folder / "release.dsse.json").write_bytes(envelope.to_bytes())
    return folder


@pytest.fixture
def unsigned(tmp_path: Path) -> Path:
    """A directory as ``blendp run`` writes it."""
    folder = tmp_path / "unsigned"
    folder.mkdir()
    (folder / DOCUMENT).write_bytes(release(""))
    return folder


def blendp(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["search", *map(str, arguments)])


def test_an_index_of_an_unsigned_release(unsigned: Path, tmp_path: Path) -> None:
    out = tmp_path / "index.json"
    done = blendp("build", unsigned, "--out", out)
    assert done.exit_code == 0, done.output
    assert out.read_bytes() == build_index(release(""))
    size = len(out.read_bytes())
    assert done.stdout == f"{out}: 3 records of 3 queries, {size} bytes; the release of 2026-12-01\n"
    assert done.stderr == ""
    assert blendp("build", unsigned, "--out", out).exit_code == OUTPUT_EXISTS
    assert blendp("build", unsigned, "--out", out, "--overwrite").exit_code == 0
    refused = blendp("build", unsigned, "--out", tmp_path / "other", "--key", KEY.public.text)
    assert refused.exit_code == BAD_PARAMETER
    assert "not signed" in refused.stderr
    assert not (tmp_path / "other").exists()


def test_an_index_of_a_signed_release(signed: Path, tmp_path: Path) -> None:
    out = tmp_path / "index.json"
    done = blendp("build", signed, "--out", out, "--key", KEY.public.text, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "campaign": "trends",
        "released": "2026-12-01",
        "release_sha256": sha256(release("trends")),
        "sha256": sha256(out.read_bytes()),
        "records": 3,
        "queries": 3,
        "bytes": len(out.read_bytes()),
        "signature": "verified",
        "out": str(out),
    }
    unchecked = blendp("build", signed, "--out", tmp_path / "same.json")
    assert unchecked.exit_code == 0
    assert "not checked" in unchecked.stderr
    assert (tmp_path / "same.json").read_bytes() == out.read_bytes()


def test_a_signature_that_does_not_hold_is_refused(signed: Path, tmp_path: Path) -> None:
    stranger = blendp("build", signed, "--out", tmp_path / "index.json", "--key", signing_key(2).public.text)
    wrong_type = Envelope.sealed(TERMS_TYPE, release("trends"), (KEY,))
    (signed / "release.dsse.json").write_bytes(wrong_type.to_bytes())
    other = blendp("build", signed, "--out", tmp_path / "index.json", "--key", KEY.public.text)
    assert [stranger.exit_code, other.exit_code] == [REFUSED, REFUSED]
    assert "No trusted key signed" in stranger.stderr
    assert not (tmp_path / "index.json").exists()


def test_a_directory_without_a_release(tmp_path: Path) -> None:
    done = blendp("build", tmp_path, "--out", tmp_path / "index.json")
    assert done.exit_code == BAD_PARAMETER
    assert "blendp run or blendp campaign export" in done.stderr


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "index.json"
    path.write_bytes(build_index(release("trends")))
    return path


def test_a_table_of_results(index: Path) -> None:
    done = blendp("query", index, "Wea")
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["Results", "for", "“Wea”"]
    assert lines[2] == ["weather", "http://a", "2.00", "%", "0.10", "%", "prefix"]
    assert [line[-1] for line in lines[2:5]] == ["prefix", "prefix", "word"]
    assert "Released 2026-12-01 by campaign trends" in done.stdout
    assert "channel" not in blendp("query", index, "wea", "--limit", "1").stdout


def test_nothing_found_offers_the_nearest(index: Path) -> None:
    done = blendp("query", index, "weather on mars")
    assert done.stdout.startswith("Nothing found for “weather on mars”. The nearest:")
    assert "weather channel" in done.stdout


def test_nothing_typed_shows_what_is_most_popular(index: Path) -> None:
    done = blendp("query", index, "")
    assert done.stdout.splitlines()[0].strip() == "Most popular"
    assert "the weather" in done.stdout.splitlines()[2]


def test_results_for_programs(index: Path) -> None:
    done = json.loads(blendp("query", index, "weather", "--limit", "1", "--json").stdout)
    result = {"query": "weather", "url": "http://a", "share": 0.02, "error": 0.001, "match": "exact"}
    assert (done["text"], done["nearest"], done["results"]) == ("weather", False, [result])
    assert (done["campaign"], done["released"], done["records"]) == ("trends", "2026-12-01", 3)
    assert done["sha256"] == sha256(index.read_bytes())


def test_controls_of_a_terminal_do_nothing(tmp_path: Path) -> None:
    data = build_index(release("trends").replace(b"the weather", b"the \\u001b[31m"))
    (tmp_path / "index.json").write_bytes(data)
    done = blendp("query", tmp_path / "index.json", "the\x1b")
    assert "\x1b" not in done.stdout
    assert "⟨U+001B⟩" in done.stdout


def test_bytes_that_are_no_text_and_texts_without_end(index: Path) -> None:
    done = blendp("query", index, "weather\udcff", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["text"] == "weather?"
    assert len(blendp("query", index, "weather" * 10_000).stdout.splitlines()[0]) < 120


def test_what_is_no_index(index: Path, tmp_path: Path) -> None:
    missing = blendp("query", tmp_path / "none.json", "a")
    assert (missing.exit_code, missing.stderr) == (
        BAD_PARAMETER,
        f"Error: {tmp_path / 'none.json'} does not exist (index).\n",
    )
    folder = blendp("query", tmp_path, "a")
    assert (folder.exit_code, folder.stderr) == (BAD_PARAMETER, f"Error: {tmp_path} is a folder, not a file (index).\n")
    index.write_bytes(index.read_bytes() + b"\n")
    assert blendp("query", index, "a").exit_code == BAD_PARAMETER
    assert "Error: index = " in blendp("query", index, "a").stderr
    assert blendp("query", index, "a", "--limit", "0").exit_code == BAD_PARAMETER


def test_results_fit_a_narrow_terminal(unsigned: Path, tmp_path: Path) -> None:
    index = tmp_path / "index.json"
    assert blendp("build", unsigned, "--out", index).exit_code == 0
    table = results_table(_read(index).search("wea", 10), "wea", _read(index))
    with Console(width=36, file=StringIO(), force_terminal=True, color_system=None) as narrow:
        narrow.print(table)
    lines = narrow.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert max(map(len, lines)) <= 36
    assert "Left out, for want of room: match." in lines
