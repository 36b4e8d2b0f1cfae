"""``blendp show``: what was written is shown again, and what is damaged is refused in one sentence."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from blendp.cli import released
from blendp.cli.app import app
from blendp.cli.promised import SWITCH
from blendp.logs import log_of_table
from blendp.methods import Parameters, run
from blendp.render.about import About
from blendp.render.release.document import release_document
from blendp.render.release.files import write_release
from blendp.render.survey.files import write_survey
from blendp.survey import SurveyParameters, run_survey
from blendp.wire import Envelope, SigningKey
from blendp.wire.media_types import RELEASE_TYPE
from tests.support import KnownKey
from tests.unit.render.survey_samples import hostile_answers

RUNNER = CliRunner()
ABOUT = About("An <odd> title\u202e", "log.csv", datetime.date(2026, 11, 17))


def blendp(*arguments: str) -> tuple[int, str, str]:
    done = RUNNER.invoke(app, list(arguments), env={"COLUMNS": "160"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("show")
    rows = [(f"u{i}", f"q{i % 5}", f"http://{i % 7}") for i in range(2_000)]
    lines = ["user,query,url", *(",".join(row) for row in rows)]
    (root / "log.csv").write_text("\n".join(lines) + "\n")
    table = pa.table(dict(zip(("user", "query", "url"), map(list, zip(*rows, strict=True)), strict=True)))
    release = run(log_of_table(table), Parameters(), opt_in=0.3, random=KnownKey(1))
    write_release(release, root / "release", source={"opt_in": 0.3, "delimiter": ";"}, about=ABOUT)
    alone = run(log_of_table(table.drop(["url"])), Parameters(), opt_in=0.3, random=KnownKey(2))
    write_release(alone, root / "alone", about=ABOUT)
    (root / "campaign").mkdir()
    document = release_document(release, campaign="c1", manifest_sha256="ab" * 32, released="2026-11-16")
    sealed = Envelope.sealed(RELEASE_TYPE, document, [KEY])
    (root / "campaign/release.dsse.json").write_bytes(sealed.to_bytes())
    survey = run_survey(hostile_answers(), SurveyParameters(epsilon=2), opt_in=0.3, random=KnownKey(1))
    write_survey(survey, root / "survey", source={"opt_in": 0.3}, about=ABOUT)
    return root


KEY = SigningKey.of_raw(bytes(range(32)))


@pytest.mark.parametrize("name", ["release", "alone"])
def test_a_release_is_shown_again_and_its_page_is_the_same(folder: Path, tmp_path: Path, name: str) -> None:
    code, shown, errors = blendp("show", str(folder / name), "--page", str(tmp_path / "again.html"))
    assert (code, errors) == (0, "")
    assert "An <odd> title⟨U+202E⟩ · log.csv · 2026-11-17 · blendp" in shown
    assert "people 600 opt-in, 1,400 clients" in shown
    assert "q1" in shown
    assert (tmp_path / "again.html").read_bytes() == (folder / name / "report.html").read_bytes()
    code, _, errors = blendp("show", str(folder / name), "--page", str(tmp_path / "again.html"))
    assert (code, "--overwrite" in errors) == (4, True)


def test_json_has_the_card_and_both_tables(folder: Path) -> None:
    code, printed, _ = blendp("show", str(folder / "release"), "--json")
    value = json.loads(printed)
    card = json.loads((folder / "release/release.json").read_text())
    assert code == 0
    assert {name: value[name] for name in card} == card
    assert len(value["estimates"]) > len(value["trends"]) > 1
    assert (value["campaign"], value["released"], value["signature"]) == ("", "2026-11-17", "none")


def test_a_signed_release_of_a_campaign_is_shown_too(folder: Path) -> None:
    code, shown, errors = blendp("show", str(folder / "campaign"))
    assert (code, "not checked" in errors) == (0, True)
    assert "campaign c1, released 2026-11-16" in shown
    code, shown, errors = blendp("show", str(folder / "campaign"), "--key", KEY.public.text)
    assert (code, errors) == (0, "")
    code, _, errors = blendp("show", str(folder / "campaign"), "--key", SigningKey.new().public.text)
    assert code == 6
    code, _, errors = blendp("show", str(folder / "release"), "--key", KEY.public.text)
    assert (code, "is not signed" in errors) == (2, True)


def test_a_survey_is_shown_again(folder: Path, tmp_path: Path) -> None:
    code, shown, errors = blendp("show", str(folder / "survey"))
    assert (code, errors) == (0, "")
    assert "An <odd> title⟨U+202E⟩ · log.csv · 2026-11-17 · blendp" in shown
    assert "in any case" in shown
    assert "\u202e" not in shown
    code, printed, _ = blendp("show", str(folder / "survey"), "--json")
    assert json.loads(printed)["frequencies"] == json.loads((folder / "survey/survey.json").read_text())["frequencies"]
    code, _, errors = blendp("show", str(folder / "survey"), "--page", str(tmp_path / "p.html"))
    assert (code, "report.html" in errors) == (2, True)


def test_nothing_in_a_card_of_others_acts_on_the_terminal(folder: Path, tmp_path: Path) -> None:
    card = json.loads((folder / "survey/survey.json").read_text(encoding="utf-8"))
    trap = "\x1b]0;trap\x07"
    card |= {"method": trap, "last_step": trap, "cautions": [trap]}
    card["guarantee"] |= {"model": trap, "delta_statement": trap, "not_protected": [trap], "record_epsilon": 99.0}
    (tmp_path / "survey.json").write_text(json.dumps(card), encoding="utf-8")
    code, shown, _ = blendp("show", str(tmp_path))
    assert (code, shown.count("⟨U+001B⟩"), "\x1b]" in shown) == (0, 6, False)


DAMAGE = {
    "nothing": None,
    "empty": "",
    "no JSON": "{",
    "another kind": "[1]",
    "deep": "[" * 100_000,
    "no members": '{"format":"blendp/release/1"}',
    "another list": ('"q1"', '"q9"'),
    "a text for a number": ('"client":1400', '"client":"many"'),
    "a parameter that is wrong": ('"epsilon":4.0', '"epsilon":-4.0'),
    "a day that is none": ('"day":"2026-11-17"', '"day":"2026-99-17"'),
    "a number for a title": ('"title":"An <odd> title\u202e"', '"title":7'),
    "a probability below 0": ('"probability":0.', '"probability":-0.'),
    "an error below 0": ('"std_error":0.', '"std_error":-0.'),
    "a weight that is none": ('"weight_opt_in":0.', '"weight_opt_in":-0.'),
    "a card that is a list": ('"card":{', '"card":[],"cards":{'),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_damaged_is_refused_in_one_sentence(folder: Path, tmp_path: Path, damage: str) -> None:
    change = DAMAGE[damage]
    whole = (folder / "release/release_document.json").read_text(encoding="utf-8")
    if change is not None:
        assert isinstance(change, str) or change[0] in whole
        text = change if isinstance(change, str) else whole.replace(*change)
        (tmp_path / "release_document.json").write_text(text, encoding="utf-8")
    code, shown, errors = blendp("show", str(tmp_path))
    assert (code, shown) == (2, "")
    assert "release" in errors
    assert not any(word in errors for word in ("Traceback", "b'", "\\n"))


@pytest.mark.parametrize(
    "change",
    [
        ("{", "["),
        ('"frequencies"', '"numbers"'),
        ('"client": ', '"clients": '),
        ('"frequency": ', '"frequency": "x", "f": '),
        ('"frequency": ', '"frequency": 1.495, "f": '),
        ('"frequency": ', '"frequency": -0.1, "f": '),
        ('"frequency": ', '"frequency": 0.0, "f": '),
        ('"frequency": ', '"frequency": Infinity, "f": '),
        ('"std_error": ', '"std_error": -0.1, "s": '),
        ('"low": ', '"low": 3.0, "l": '),
        ('"weight_opt_in": ', '"weight_opt_in": 1.2, "w": '),
        ('"frequencies": ', '"frequencies": [], "f": '),
        ('"cautions": ', '"cautions": "all is well", "c": '),
        ('"cautions": ', '"cautions": [3], "c": '),
        ('"blendp": ', '"blendp": null, "b": '),
    ],
)
def test_a_damaged_survey_is_refused_too(folder: Path, tmp_path: Path, change: tuple[str, str]) -> None:
    whole = (folder / "survey/survey.json").read_text(encoding="utf-8")
    (tmp_path / "survey.json").write_text(whole.replace(*change, 1), encoding="utf-8")
    code, shown, errors = blendp("show", str(tmp_path))
    assert (code, shown, "Traceback" in errors) == (2, "", False)


@pytest.mark.parametrize("number", ["Infinity", "NaN", "1e999"])
def test_numbers_that_json_has_not_are_refused_wherever_they_stand(folder: Path, tmp_path: Path, number: str) -> None:
    whole = (folder / "survey/survey.json").read_text(encoding="utf-8")
    (tmp_path / "survey.json").write_text(whole.replace('"opt_in": 0.3', f'"opt_in": {number}', 1), encoding="utf-8")
    for options in ((), ("--json",)):
        code, shown, errors = blendp("show", str(tmp_path), *options)
        assert (code, shown, "a complete document" in errors) == (2, "", True)


def test_what_a_survey_does_not_know_is_shown_as_unknown(folder: Path, tmp_path: Path) -> None:
    card = json.loads((folder / "survey/survey.json").read_text(encoding="utf-8"))
    card["frequencies"][0] |= dict.fromkeys(("frequency", "std_error", "low", "high", "weight_opt_in"))
    (tmp_path / "survey.json").write_text(json.dumps(card), encoding="utf-8")
    code, shown, _ = blendp("show", str(tmp_path))
    assert (code, "unknown" in shown) == (0, True)


def test_a_folder_without_a_result_is_told_what_is_looked_for(tmp_path: Path) -> None:
    code, _, errors = blendp("show", str(tmp_path / "none"))
    said = " ".join(errors.split())
    assert code == 2
    assert "release.dsse.json, release_document.json or survey.json" in said
    assert "Name one that blendp run, blendp survey run or blendp campaign export wrote." in said
    code, _, errors = blendp("search", "build", str(tmp_path / "none"), "--out", str(tmp_path / "i.json"))
    said = " ".join(errors.split())
    assert (code, "survey" in said) == (2, False)
    assert "Name one that blendp run or blendp campaign export wrote." in said


def test_a_document_beyond_all_bounds_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(released, "MAX_BYTES", 1_000)
    code, _, errors = blendp("show", str(folder / "release"))
    assert (code, "at most 1,000 bytes" in errors) == (2, True)


def test_two_runs_on_one_log_are_told_that_promises_add_up(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv(SWITCH)
    log = ("run", str(folder / "log.csv"), "--opt-in", "0.3")
    code, shown, errors = blendp(*log, "--out", str(tmp_path / "a"), "--title", "T", "--log-name", "N")
    assert (code, "released before" in errors) == (0, False)
    assert "T · N · " in shown
    code, printed, errors = blendp(*log, "--out", str(tmp_path / "b"), "--json")
    assert (code, "add up to (ε = 8, δ = 2e-05) with this one" in errors) == (0, True)
    value = json.loads(printed)
    assert value["released_before"] == {"times": 1, "epsilon": 8.0, "delta": 2e-5}
    assert value["about"]["log"] == "log.csv"
    assert "released_before" not in (tmp_path / "b/release.json").read_text()
    code, _, errors = blendp(*log, "--out", str(tmp_path / "c"), "--title", " ")
    assert (code, "--title" in errors) == (2, True)
