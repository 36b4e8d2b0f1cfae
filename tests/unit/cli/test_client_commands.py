"""``blendp client`` as a person meets it."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from blendp.cli.app import app
from blendp.cli.client import options
from blendp.cli.client.explain import _name
from blendp.cli.client.people_records import read_records
from blendp.cli.table import GROUPS
from blendp.client import Http
from blendp.client import device as device_module
from blendp.headlist import HeadList
from tests.unit.client.fake_collector import CAMPAIGN, NOW, TERMS, TOKEN, URL, FakeCollector, problem

RUNNER = CliRunner()


class Person:
    """A folder, a collector, and commands."""

    def __init__(self, folder: Path, fake: FakeCollector, now: list[float]) -> None:
        self.folder, self.fake, self.now = folder, fake, now
        self.records = folder / "mine.csv"
        self.records.write_text("query,url\nQuery  3,http://site-0.org/\n\nother,http://else.org\n")
        self.where = ("--server", URL, "--key", fake.key.public.text)

    def blendp(self, *arguments: str, given: str | None = None, **more: str) -> tuple[int, str, str]:
        env: dict[str, str | None] = {
            "COLUMNS": "100",
            "BLENDP_DEVICE": str(self.folder / "device"),
            "BLENDP_SERVER": None,
            **more,
        }
        done = RUNNER.invoke(app, ["client", *arguments], env=env, input=given)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, " ".join(done.stdout.split()), done.stderr

    def json(self, *arguments: str) -> Any:
        code, shown, errors = self.blendp(*arguments, "--json")
        assert (code, errors) == (0, "")
        return json.loads(shown)


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    fake = FakeCollector(dataclasses.replace(TERMS, opt_in_records=2))
    monkeypatch.setattr(options, "Http", lambda: Http(httpx.MockTransport(fake._answer)))
    init, now = device_module.Device.__init__, [NOW]

    def at_noon(self: Any, *arguments: Any, **keywords: Any) -> None:
        init(self, *arguments, **keywords, clock=lambda: now[0])

    monkeypatch.setattr(device_module.Device, "__init__", at_noon)
    return Person(tmp_path, fake, now)


def test_a_whole_life(person: Person) -> None:
    assert person.blendp("consent") == (0, "Consent: off (nothing is made or sent).", "")
    code, _, errors = person.blendp("take-part", CAMPAIGN, *person.where, "--no-records")
    assert code == 2
    assert "consent = 'off' is not allowed: it must be local or opt-in" in errors
    assert not person.fake.requests
    assert person.json("consent", "local")["consent"] == "local"

    code, shown, _ = person.blendp("look", CAMPAIGN, *person.where)
    assert code == 0
    for phrase in (
        "What is searched for", "(ε = 4, δ = 0)", "12 records, made by 200", "witnesses 0", "No witness",
        "ε = 12, δ = 1e-05 left of (ε = 12, δ = 1e-05) this year; ε = 48, δ = 4e-05 left of (ε = 48, δ = 4e-05)",
        "asked by Example Search", "what for A list of popular searches", "contact privacy@example.org",
        "opt-in records until 2026-11-17 at the latest, reports until 2026-12-07",
        "with a probability of 1 %, your report can bring them to",
        "The curator sees the records that you send.", "can bring them to 35.5 % at most",
        "costs ε = 4, δ = 0; after it there is room for 2 more campaigns like this this year, 11 in all",
    ):  # fmt: skip
        assert phrase in shown
    code, shown, _ = person.blendp("take-part", CAMPAIGN, "--records", str(person.records))
    assert code == 0
    assert "one of your records, drawn on 2026-11-06. See what will be sent" in shown
    assert "Remaining: ε = 8, δ = 1e-05 this year, ε = 44, δ = 4e-05 for life." in shown
    first = person.json("take-part", CAMPAIGN, "--no-records")
    assert first == person.json("take-part", CAMPAIGN, "--records", str(person.records))
    assert not person.fake.writes

    (item,) = person.json("show")
    assert (item["state"], json.loads(item["payload"])["data"]) == ("waiting", first["data"])
    assert person.blendp("send") == (0, "Sent 1, refused 0, dropped 0; 0 still waiting.", "")
    assert person.fake.writes[0].content == item["payload"].encode()
    shown = person.blendp("show")[1]
    assert "fate sent (accepted), attempts: 1" in shown
    assert item["payload"].replace(" ", "") in shown.replace(" ", "")

    code, shown, _ = person.blendp("explain", CAMPAIGN)
    assert code == 0
    assert "sends exactly this report with a probability of" in shown
    assert "Named:" in shown
    explanation = person.json("explain", CAMPAIGN)
    assert explanation["within_epsilon"] is True
    assert sum(len(group["cells"]) for group in explanation["likelihoods"]) == person.fake.head_list.cells

    ledger = person.json("ledger")
    assert ledger["spent"] == {"epsilon": 4.0, "delta": 0.0}
    assert [entry["campaign"] for entry in ledger["entries"]] == [CAMPAIGN]
    shown = person.blendp("look", CAMPAIGN)[1]
    assert "costs ε = 4, δ = 0, spent already" in shown
    shown = person.blendp("ledger", "--lower-cap", "5")[1]
    for phrase in (
        "Spent ε = 4, δ = 0 of (ε = 12, δ = 1e-05) in the last 365 days.",
        "Spent ε = 4, δ = 0 of (ε = 5, δ = 4e-05) for life.",
        "Remaining: ε = 1, δ = 1e-05 this year, ε = 1, δ = 4e-05 for life.",
    ):
        assert phrase in shown
    kept = person.json("ledger", "--lower-year", "3", "--lower-year-delta", "1e-6")
    assert kept["yearly"] == {"epsilon": 3.0, "delta": 1e-6}
    assert kept["remaining_this_year"] == {"epsilon": 0.0, "delta": 1e-6}
    code, _, errors = person.blendp("ledger", "--lower-cap", "6")
    assert code == 2
    assert "never raised" in errors

    code, shown, _ = person.blendp("forget", CAMPAIGN)
    assert code == 0
    assert "Sent 1" in shown
    assert "What it cost, (ε = 4, δ = 0), is not refunded" in shown
    assert not person.fake.reports
    assert person.json("forget", CAMPAIGN)["not_refunded"] == {"epsilon": 4.0, "delta": 0.0}
    assert "holds nothing of this device" in person.blendp("forget", CAMPAIGN)[1]
    assert person.json("consent", "off") == {
        "consent": "off",
        "deletions": {"sent": 0, "refused": 0, "dropped": 0, "waiting": 0, "next_due": None},
    }


def test_opt_in_people_enrol_with_a_token_from_a_file(person: Person) -> None:
    token, where = person.folder / "token", f"{URL}/v1/campaigns/{CAMPAIGN}/manifest"
    token.write_text(TOKEN + "\n")
    person.fake.served[where] = None
    arguments = ("enrol", CAMPAIGN, "--token-file", str(token), "--records", str(person.records))
    person.blendp("consent", "opt-in")
    assert "not published yet" in person.blendp("look", CAMPAIGN, *person.where)[1]
    assert person.json("look", CAMPAIGN)["published"] is None
    odds = person.json("look", CAMPAIGN)["odds"]
    assert (odds["exact"], odds["prior"], round(odds["posterior"], 4)) == (False, 0.01, 0.3555)
    code, shown, errors = person.blendp(*arguments)
    assert (code, errors) == (0, "")
    assert "enrolled on 2026-11-06. See what will be sent" in shown
    assert person.json(*arguments)["group"] == "opt-in"
    shown = person.blendp(*arguments)[1]
    assert "enrolled on 2026-11-06 already; this token and these records were not used. See" in shown
    text = person.blendp("show")[1]
    assert "query 3" in text
    assert TOKEN not in text
    assert person.json("send", "--wait")["sent"] == 1
    assert list(person.fake.opt_in) == [TOKEN]
    assert "payload wiped" in person.blendp("show")[1]
    code, shown, _ = person.blendp("consent", "off")
    assert "Deletion requests: Sent 1" in shown
    assert not person.fake.opt_in
    assert "It was sent, and its deletion was asked for: nothing more will be sent." in person.blendp(*arguments)[1]
    assert "payload none" in person.blendp("show")[1]


def test_nothing_is_spent_on_a_report_about_nothing_unless_records_are_spoken_of(person: Person) -> None:
    arguments = ("take-part", CAMPAIGN, *person.where)
    person.blendp("consent", "local")
    assert person.blendp(*arguments)[0] == 2
    assert person.json("ledger")["entries"] == []
    assert person.blendp(*arguments, "--no-records")[0] == 0
    assert len(person.json("ledger")["entries"]) == 1


FILES = {
    b"": (0, 0, 0),
    b"query,url\n": (0, 0, 0),
    b",\n": (1, 0, 0),
    b"a query alone\n": (1, 0, 0),
    b"a,b,c\n": (1, 1, 0),
    b"\xff,http://a\n": (1, 1, 0),
    b'"open,http://a\nquery 3,http://b\r\n"5 inch, screen"\n': (3, 1, 1),
    b"\xef\xbb\xbfquery,url\nquery 3,http://b\n" + b"x" * 200_000 + b",http://a\n": (2, 1, 1),
}
"""Files of a person's records: how many lines, how many of them broken, how many records that can be used."""


@pytest.mark.parametrize("data", FILES, ids=range(len(FILES)))
def test_whether_a_person_takes_part_does_not_depend_on_the_records_in_the_file(person: Person, data: bytes) -> None:
    person.records.write_bytes(data)
    lines, _broken, usable = FILES[data]
    person.blendp("consent", "local")
    code, shown, errors = person.blendp("take-part", CAMPAIGN, *person.where, "--records", str(person.records))
    assert (code, errors) == (0, "")
    noun = "1 line" if lines == 1 else f"{lines} lines"
    assert f"Of {noun} of records {usable} can be used by this campaign" in shown
    assert ("somebody who searched for nothing" in shown) == (not usable)
    assert len(person.json("ledger")["entries"]) == 1
    assert person.json("send")["sent"] == 1


@pytest.mark.parametrize("data", FILES, ids=range(len(FILES)))
def test_whether_a_person_enrols_does_not_depend_on_the_records_in_the_file(person: Person, data: bytes) -> None:
    token = person.folder / "token"
    token.write_text(TOKEN)
    person.records.write_bytes(data)
    lines, broken, usable = FILES[data]
    person.blendp("consent", "opt-in")
    arguments = ("enrol", CAMPAIGN, *person.where, "--records", str(person.records), "--token-file", str(token))
    assert person.json(*arguments)["records"] == {
        "lines": lines, "broken": broken, "usable": usable, "queued": usable
    }  # fmt: skip
    assert person.json("send")["sent"] == 1
    assert len(json.loads(person.fake.opt_in[TOKEN])["records"]) == usable


def test_people_are_told_how_many_records_are_sent_and_what_for(person: Person) -> None:
    token = person.folder / "token"
    token.write_text(TOKEN)
    person.records.write_text("".join(f"query {number},http://a\n" for number in range(5)))
    _, shown, _ = person.blendp("look", CAMPAIGN, *person.where)
    assert "at most 2 of your records, drawn at random, to make the list of," in " ".join(shown.split())
    person.blendp("consent", "opt-in")
    arguments = ("enrol", CAMPAIGN, *person.where, "--records", str(person.records), "--token-file", str(token))
    code, shown, _ = person.blendp(*arguments)
    assert code == 0
    assert "Of 5 lines of records 5 can be used by this campaign" in shown
    assert "2 of them, drawn at random, are for the curator, who makes the list of such records." in shown
    code, shown, _ = person.blendp(*arguments)
    assert code == 0
    assert "drawn at random" not in shown, "nothing was drawn the second time"


def test_records_come_from_standard_input_too(person: Person) -> None:
    person.blendp("consent", "local")
    assert person.blendp("take-part", CAMPAIGN, *person.where, "--records", "-", given="query 1,http://a\n")[0] == 0


def test_a_refusal_has_a_code_of_its_own_and_bad_files_another(person: Person) -> None:
    stranger = FakeCollector().key.public.text
    code, _, errors = person.blendp("look", CAMPAIGN, "--server", URL, "--key", stranger)
    assert code == 6
    assert "do not use it" in errors
    assert person.blendp("look", CAMPAIGN, *person.where, "--min-records", "13")[0] == 6
    assert person.blendp("look", CAMPAIGN, *person.where, "--max-records", "11")[0] == 6
    person.blendp("consent", "local")
    assert person.blendp("take-part", CAMPAIGN, *person.where, "--records", str(person.folder))[0] == 3
    arguments = ("enrol", CAMPAIGN, *person.where, "--records", "-", "--token-file")
    code, _, errors = person.blendp(*arguments, str(person.folder / "none"), given="")
    assert (code, errors) == (2, f"Error: {person.folder / 'none'} does not exist (--token-file).\n")
    token = person.folder / "token"
    token.write_text(TOKEN)
    person.blendp("consent", "opt-in")
    assert person.blendp(*arguments, str(token), given="")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("look", CAMPAIGN), "--server is missing: it must be given on the first visit"),
        (("look", CAMPAIGN, "--server", "http://far.example"), "--server = 'http://far.example'"),
        (("look", CAMPAIGN, "--server", "http://far.example"), "unless it is allowed (--allow-http)"),
        (("look", CAMPAIGN, "--server", URL), "--key is missing: it must be given. Ask"),
        (("take-part", CAMPAIGN, "--server", URL), "--records is missing: it must be given unless --no-records is"),
        (("take-part", CAMPAIGN, "--records", "x", "--no-records"), "--records = 'x'"),
        (("ledger", "--lower-cap", "49"), "--lower-cap = 49.0 is not allowed: it must be at most 48"),
        (("ledger", "--lower-year", "20"), "--lower-year = 20.0 is not allowed: it must be at most 12"),
        (("ledger", "--lower-year", "1", "--lower-year-delta", "1"), "--lower-year-delta = 1.0 is not allowed"),
        (("ledger", "--lower-year-delta", "0"), "left out without --lower-year"),
        (("ledger", "--lower-cap", "-1"), "--lower-cap = -1.0 is not allowed"),
        (("look", CAMPAIGN, "--server", URL, "--key", "ab"), "--key = 'ab'"),
        (("look", "No Name", "--server", URL, "--trust-on-first-use"), "campaign = 'No Name'"),
        (("forget", CAMPAIGN), "nothing to forget"),
        (("explain", CAMPAIGN), "made none"),
        (("ledger", "--lower-delta", "0"), "--lower-delta"),
        (("consent", "maybe"), "maybe"),
    ],
)
def test_wrong_parameters_are_told(person: Person, arguments: tuple[str, ...], message: str) -> None:
    code, _, errors = person.blendp(*arguments)
    assert code == 2
    assert message in errors


def test_what_the_system_does_not_give(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("away", request=request)

    device = person.folder / "broken"
    device.mkdir()
    (device / "device.sqlite").write_text("no database " * 100)
    code, _, errors = person.blendp("show", "--device", str(device))
    assert code == 5
    assert "cannot be used" in errors
    monkeypatch.setattr(options, "Http", lambda: Http(httpx.MockTransport(away)))
    code, _, errors = person.blendp("look", CAMPAIGN, *person.where)
    assert code == 5
    assert "cannot be reached" in errors


def test_a_second_report_is_not_drawn_and_what_was_dropped_is_not_sent(person: Person) -> None:
    arguments = ("take-part", CAMPAIGN, *person.where, "--records", str(person.records))
    person.blendp("consent", "local")
    person.blendp(*arguments)
    shown = person.blendp(*arguments)[1]
    assert "drawn on 2026-11-06 already; these records were not looked at. See what will be sent" in shown
    person.blendp("consent", "off")
    shown = person.blendp(*arguments)[1]
    assert "It was dropped (consent withdrawn): nothing will be sent." in shown
    assert "client send" not in shown
    assert not person.fake.writes


def test_the_published_method_asks_about_a_record(person: Person) -> None:
    fake = person.fake
    fake.terms = dataclasses.replace(fake.terms, method="published", opt_in_records=1)
    fake.change_manifest(terms=fake.terms)
    person.blendp("consent", "local")
    code, shown, errors = person.blendp("take-part", CAMPAIGN, *person.where, "--records", str(person.records))
    assert (code, errors) == (0, "")
    assert "one report about one of your records, drawn" in shown
    assert "cell" not in shown


def test_what_waits_or_was_refused_is_told_with_a_code(person: Person) -> None:
    def taken_part() -> None:
        person.blendp("consent", "local")
        person.blendp("take-part", CAMPAIGN, *person.where, "--records", str(person.records))

    taken_part()
    person.fake.failures = [httpx.ConnectError("away"), problem("late"), problem("late")]
    code, shown, errors = person.blendp("send")
    assert (code, errors) == (5, "")
    assert "trends: report waits (its collector cannot be reached); the next try is due 2026-11-0" in shown
    assert shown.endswith("Sent 0, refused 0, dropped 0; 1 still waiting.")
    code, shown, _ = person.blendp("send", "--json")
    assert (code, json.loads(shown)["waiting"]) == (5, 1)
    person.now[0] += 60
    code, shown, _ = person.blendp("send")
    assert code == 5
    assert "trends: report waits (late: The campaign takes no more of these); the next try is due" in shown
    person.now[0] += 25 * 86_400
    code, shown, _ = person.blendp("send")
    assert code == 6
    assert "trends: report refused (late: The campaign takes no more of these)." in shown
    assert person.blendp("send") == (0, "Sent 0, refused 0, dropped 0; 0 still waiting.", "")
    shown = person.blendp("take-part", CAMPAIGN, "--no-records")[1]
    assert "It was refused (late: The campaign takes no more of these): nothing more will be sent." in shown
    assert "exit code 6" in person.blendp("send", "--help")[1]


def test_the_collector_may_be_named_in_the_environment(person: Person) -> None:
    assert person.blendp("look", CAMPAIGN, "--trust-on-first-use", BLENDP_SERVER=URL)[0] == 0


def test_a_campaign_that_the_year_has_no_room_for_is_told_before(person: Person) -> None:
    person.blendp("ledger", "--lower-year", "3")
    assert (
        "costs ε = 4, δ = 0; more than is left: this device would refuse"
        in person.blendp("look", CAMPAIGN, *person.where)[1]
    )
    assert person.json("look", CAMPAIGN)["campaigns_like_this"] == {"this_year": 0, "for_life": 12}
    person.blendp("consent", "local")
    code, _, errors = person.blendp("take-part", CAMPAIGN, "--no-records")
    assert code == 2
    assert "at most what remains of the cap for a year" in errors


def test_the_odds_are_told_before_consent_and_are_those_that_explain_tells_afterwards(person: Person) -> None:
    before = person.blendp("look", CAMPAIGN, *person.where)[1]
    assert not person.fake.writes
    person.blendp("consent", "local")
    person.blendp("take-part", CAMPAIGN, "--no-records")
    after = person.blendp("explain", CAMPAIGN)[1]
    belief = re.search(r"can bring them to ([0-9.]+) % at most", after)
    assert belief is not None
    exact = re.search(r"your report can bring them to ([0-9.]+) % at most", before)
    assert exact is not None
    assert float(belief[1]) <= float(exact[1]) <= 35.5


def test_the_campaigns_of_a_collector_are_listed_with_what_this_device_did(person: Person) -> None:
    fake = person.fake
    assert person.json("list", *person.where)["campaigns"] == [
        {
            "campaign": CAMPAIGN, "title": TERMS.title, "organisation": TERMS.organisation, "state": "reporting",
            "until": TERMS.reports_until, "you": None, "problem": None,
        }
    ]  # fmt: skip
    assert not fake.writes
    person.blendp("consent", "local")
    person.blendp("take-part", CAMPAIGN, "--no-records")
    fake.overview[0]["state"] = "opt-in"
    fake.overview.append({"campaign": "gone", "title": "x", "state": "reporting"})
    code, shown, errors = person.blendp("list")
    assert (code, errors) == (0, "")
    assert {CAMPAIGN, "Example", "opt-in", "until", "you"} <= set(shown.split())
    first = person.json("list")["campaigns"][0]
    assert (first["until"], first["you"]) == (TERMS.opt_in_until, "reported 2026-11-06")
    assert "gone is not believed: campaign = 'gone' is not allowed: it must be known to" in shown
    fake.overview.clear()
    assert person.blendp("list")[1] == "There is no campaign yet."


def test_a_device_that_did_nothing_says_so(person: Person) -> None:
    assert "Nothing has left this device" in person.blendp("show")[1]
    assert "Spent ε = 0" in person.blendp("ledger")[1]
    assert person.json("send")["waiting"] == 0


def test_silence_is_told(person: Person) -> None:
    fake = person.fake
    fake.terms = dataclasses.replace(fake.terms, participation=1e-15)
    fake.change_manifest(terms=fake.terms)
    person.blendp("consent", "local")
    arguments = ("take-part", CAMPAIGN, *person.where, "--no-records")
    assert person.blendp(*arguments)[1].endswith("keeps silent; that costs nothing.")
    assert "decided on 2026-11-06 already; these records were not looked at" in person.blendp(*arguments)[1]
    assert "drawn each device takes part" in person.blendp("look", CAMPAIGN)[1]
    assert person.json("take-part", CAMPAIGN, "--no-records")["silent"] is True


@pytest.mark.parametrize("name", list(GROUPS["client"].commands))
def test_every_command_has_help_and_examples(name: str) -> None:
    done = RUNNER.invoke(app, ["client", name, "--help"], env={"COLUMNS": "160"})
    assert done.exit_code == 0
    assert f"blendp client {name}" in " ".join(done.stdout.split())


def test_lines_of_records_end_with_line_feeds_alone(tmp_path: Path) -> None:
    """As those of logs do, so that device and curator speak of the same records."""
    file = tmp_path / "mine.csv"
    file.write_bytes(b"query,url\r\na,http://a\r\nb\rc,http://b\nd,http://d")
    own = read_records(file)
    assert (own.records, own.broken) == ((("a", "http://a"), ("d", "http://d")), 1)


def test_what_a_report_names_is_told_apart() -> None:
    """Whatever is left of a query, a query that is listed without any URL, and one of a list of queries alone."""
    mixed = HeadList.of_records([("a", "u"), ("b", None)])
    names = ["<a, u>", "<a, another URL>", "<b, any URL>", "anything else"]
    assert [_name(mixed, cell) for cell in range(mixed.cells)] == names
    assert _name(HeadList.of_records([("a", None)], levels=1), 0) == "<a>"
