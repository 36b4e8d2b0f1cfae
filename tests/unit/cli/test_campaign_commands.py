"""``blendp campaign`` as an operator meets it, against a real collector."""

from __future__ import annotations

import csv
import datetime
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import structs

from blendp.cli.campaign.documents import Documents
from blendp.cli.campaign.publish import known_forecast
from blendp.cli.campaign.release import check_rows
from blendp.cli.campaign.status import _rows
from blendp.client import make_report
from blendp.headlist import HeadList
from blendp.randomness import ReleaseRandom
from blendp.reports import QUESTION_NUMBER
from blendp.search import SearchIndex
from blendp.service.operator_client import OperatorClient, OperatorError
from blendp.wire import Envelope, Manifest, SigningKey, Terms, UploadedReport, VerifyKey
from blendp.wire.checks import Agreement, Checks, FlaggedRecord
from blendp.wire.clock import ClockReading
from blendp.wire.envelope import SignatureError
from blendp.wire.forecast import ListForecast
from blendp.wire.media_types import BATCH_TYPE, OPT_IN_TYPE
from blendp.wire.pace import Pace
from blendp.wire.reports import write_batch
from blendp.wire.status import BudgetStatus, ClientProgress, DocumentHashes, ListStatus, NextStep, OptInProgress, Status
from tests.support import WHO_OPTIONS
from tests.unit.cli.test_serve import PATH, Service, blendp

READABLE = ["estimates.csv", "head_list.json", "release.json", "report.html", "trends.csv"]
SIGNED = ["index.dsse.json", "manifest.dsse.json", "release.dsse.json", "terms.dsse.json"]
FILES = sorted([*READABLE, *SIGNED, "index.json"])
DATES = (*WHO_OPTIONS, "--opt-in-until", "+3d", "--reports-until", "+12d", "--opt-in-records", "1")
SMALL = ("--min-opt-in", "1", "--min-clients", "1")
OPT_IN, CLIENTS = 30, 40


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("collector") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def operator_env(service: Service) -> dict[str, str]:
    """The environment of an operator."""
    code, token, _ = blendp("token", "create", "--name", "me", "--data", str(service.data))
    assert code == 0
    return {"BLENDP_SERVER": service.url, "BLENDP_TOKEN": token.strip()}


def succeed(operator_env: dict[str, str], *arguments: str) -> str:
    code, shown, errors = blendp("campaign", *arguments, **operator_env)
    assert code == 0, errors
    return shown


def opt_in(service: Service, name: str, tokens: list[str]) -> None:
    with httpx.Client(base_url=f"{service.url}/v1/campaigns/{name}") as client:
        terms = Terms.from_bytes(Envelope.from_bytes(client.get("/terms").content).payload).sha256
        for number, token in enumerate(tokens):
            query = "weather" if number % 3 else "news"
            records = [{"query": query, "url": f"http://{query}.org"}]
            body = json.dumps({"terms": terms, "nonce": f"{number:032x}", "records": records})
            headers = {"Authorization": f"Bearer {token}", "Content-Type": OPT_IN_TYPE}
            assert client.put("/opt-in", content=body, headers=headers).status_code == 201


def report(service: Service, name: str, count: int, query: str = "weather") -> None:
    with httpx.Client(base_url=f"{service.url}/v1/campaigns/{name}") as client:
        manifest = Manifest.from_bytes(Envelope.from_bytes(client.get("/manifest").content).payload)
        head_list = HeadList.from_bytes(client.get("/list").content)
        uploads = []
        for number in range(count):
            one = make_report(
                [(query, f"http://{query}.org")],
                head_list,
                manifest.terms.epsilon,
                manifest.query_share or 0.0,
                ReleaseRandom(),
            )
            name_of = number.to_bytes(16, "big")
            uploads.append(UploadedReport(name_of, name_of, QUESTION_NUMBER[one.question], one.data))
        body = write_batch(manifest.binding(head_list), uploads)
        for outcome in ("accepted", "duplicate"):
            answer = client.post("/reports", content=body, headers={"Content-Type": BATCH_TYPE})
            assert answer.json() == {"outcomes": [outcome] * count}


@pytest.fixture(scope="module")
def released(service: Service, operator_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A campaign that went the whole way, looked at on every step."""
    name, folder = "trends-1", tmp_path_factory.mktemp("way")
    strong = ("--epsilon", "6", "--delta", "1e-4", "--expected-clients", "5000", "--size", "5")
    code, shown, errors = blendp(
        "campaign", "create", name, "--title", "What [people] ask", *DATES, *strong, "--min-opt-in", "30",
        "--min-clients", "40", **operator_env,
    )  # fmt: skip
    assert code == 0, errors
    today = datetime.datetime.now(datetime.UTC).date()
    assert f"opt-in from {today} to {today + datetime.timedelta(3)}" in shown
    assert "room for 2 campaigns like this a year, 8 in all" in shown
    assert "An opt-in person's, which spends δ too: 0 a year, 0 in all." in shown
    assert "min_clients 40 is below 100" in errors
    assert "delta 0.0001 is" not in errors
    assert "epsilon 6 is" not in errors

    out = folder / "tokens.txt"
    succeed(operator_env, "enrol", name, "--count", str(OPT_IN), "--out", str(out))
    assert out.stat().st_mode & 0o777 == 0o600
    tokens = out.read_text().splitlines()
    assert len(set(tokens)) == OPT_IN
    assert blendp("campaign", "enrol", name, "--count", "1", "--out", str(out), **operator_env)[0] == 4
    (extra,) = succeed(operator_env, "enrol", name, "--count", "1").splitlines()
    assert extra.startswith("blendp-in-")

    opt_in(service, name, tokens[:-1])
    code, shown, errors = blendp("campaign", "publish", name, "--yes", **operator_env)
    assert (code, shown) == (6, "")
    assert errors.endswith("Error: 1 more opt-in people are needed: 29 of 30 are there.\n")
    opt_in(service, name, tokens[-1:])
    shown = " ".join(succeed(operator_env, "status", name).split())
    assert "What [people] ask" in shown
    assert f"{'█' * 24} 30 people of at least 30; until {today + datetime.timedelta(3)}, 3 days left" in shown
    assert "31 tokens, 1 not used yet" in shown
    assert "spent by nobody yet" in shown

    assert "30 opt-in people like those of aol make a list of about 0.0 records" in shown
    assert "No number of people is enough." in shown
    state = httpx.get(f"{service.url}/v1/campaigns").json()
    for options, code in (((), 2), (("--preview",), 0), (("--preview", "--json"), 0), (("--like", "log", "--yes"), 2)):
        assert blendp("campaign", "publish", name, *options, **operator_env)[0] == code
    assert httpx.get(f"{service.url}/v1/campaigns").json() == state

    code, shown, errors = blendp("campaign", "publish", name, "--yes", **operator_env)
    assert code == 0
    assert "30 opt-in people like those of aol make a list of about 0.0 records" in errors
    assert "The list will probably be too short" in errors
    assert "30 opt-in people made a list of 2 records" in shown
    assert "The list has 2 records: devices refuse fewer than 10 unless they are told otherwise" in errors
    assert "30 people made the list: devices refuse fewer than 100 unless they are told otherwise" in errors
    shown = " ".join(succeed(operator_env, "status", name).split())
    assert "missing" in shown
    assert "30 people of at least 30; closed" in shown
    assert shown.count("days left") == 1
    assert blendp("campaign", "release", name, "--yes", **operator_env)[0] == 6
    assert blendp("campaign", "export", name, "--out", str(folder / "early"), **operator_env)[0] == 6
    report(service, name, CLIENTS)
    shown = " ".join(succeed(operator_env, "status", name).split())
    assert "reporting: the list is public" in shown
    assert "accepted 40" in shown
    assert shown.count("50.0 %") == 2
    assert "2 records of 2 queries" in shown
    assert "spent by the opt-in people and 40 clients" in shown

    assert blendp("campaign", "release", name, **operator_env)[0] == 2
    preview = succeed(operator_env, "release", name, "--preview")
    assert "30 opt-in people, 40 clients; a list of 2 records" in preview
    assert "Opt-in users and clients" in preview
    assert json.loads(succeed(operator_env, "release", name, "--preview", "--json"))["clients"] == 40
    assert httpx.get(f"{service.url}/v1/campaigns/{name}/release").status_code == 404
    assert "reporting: the list is public" in " ".join(succeed(operator_env, "status", name).split())
    code, shown, errors = blendp("campaign", "release", name, "--yes", **operator_env)
    assert (code, "30 opt-in people, 40 clients; a list of 2 records" in errors) == (0, True)
    assert "the result of 40 clients is public" in shown
    shown = " ".join(succeed(operator_env, "status", name).split())
    assert "released" in shown
    assert "left" not in shown
    assert "deleted" not in shown
    assert not (folder / "early").exists()
    return name


def public_key(service: Service) -> str:
    return str(httpx.get(f"{service.url}/v1/keys").json()["keys"][-1]["key"])


def test_an_export_is_verified_and_whole(
    service: Service, operator_env: dict[str, str], released: str, tmp_path: Path
) -> None:
    out, key = tmp_path / "out", public_key(service)
    code, shown, errors = blendp("campaign", "export", released, "--key", key, "--out", str(out), **operator_env)
    assert code == 0
    assert "not verified" not in errors
    first, next_step = shown.splitlines()
    assert first == f"{released}: 10 files in {out}; signatures verified with key {VerifyKey.of_text(key).id}."
    assert next_step == f"Next: open {out / 'report.html'}"
    assert sorted(path.name for path in out.iterdir()) == FILES
    manifest = Manifest.from_bytes(Envelope.from_bytes((out / "manifest.dsse.json").read_bytes()).payload)
    manifest.require_list(HeadList.from_bytes((out / "head_list.json").read_bytes()))
    release = json.loads(Envelope.from_bytes((out / "release.dsse.json").read_bytes()).payload)
    assert json.loads((out / "release.json").read_text()) == release["card"]
    index = SearchIndex.from_bytes((out / "index.json").read_bytes())
    assert index.campaign == released
    assert index.search("wea").results[0].query == "weather"
    assert blendp("search", "build", str(out), "--key", key, "--out", str(tmp_path / "index.json"))[0] == 0
    assert (tmp_path / "index.json").read_bytes() == (out / "index.json").read_bytes()
    page = (out / "report.html").read_text()
    assert "<title>What [people] ask</title>" in page
    assert "Opt-in users and clients" in page
    assert "Clients randomised on their own devices" in page
    assert "blendp run" not in page
    with (out / "estimates.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["query", "url", "probability", "std_error", "low", "high", "weight_opt_in"]
    assert (rows[0]["query"], rows[-1]["query"], rows[-1]["url"]) == ("weather", "*", "*")
    assert float(rows[0]["probability"]) == release["estimates"][0]["probability"]
    assert (out / "trends.csv").read_text().splitlines()[0] == "query,probability,std_error,low,high"
    assert blendp("campaign", "export", released, "--out", str(out), **operator_env)[0] == 4
    code, _, errors = blendp("campaign", "export", released, "--out", str(out), "--overwrite", **operator_env)
    assert code == 0
    assert "not verified" in errors


def test_an_export_that_no_known_key_signed_is_refused(
    operator_env: dict[str, str], released: str, tmp_path: Path
) -> None:
    strange = SigningKey.new().public.text
    code, _, errors = blendp(
        "campaign", "export", released, "--key", strange, "--out", str(tmp_path / "out"), **operator_env
    )
    assert code == 6
    assert "No trusted key signed" in errors
    assert (
        blendp("campaign", "export", released, "--key", "8f0c", "--out", str(tmp_path / "out"), **operator_env)[0] == 2
    )
    assert list(tmp_path.iterdir()) == []


def test_documents_that_do_not_fit_are_refused(operator_env: dict[str, str], released: str) -> None:
    with OperatorClient(operator_env["BLENDP_SERVER"], operator_env["BLENDP_TOKEN"]) as client:
        export = client.export(released)
    good = Documents.of_export(export)
    assert good.result(released)["campaign"] == released
    others = Terms.from_bytes(good.terms.payload).to_bytes().replace(b"What [people] ask", b"What is asked")
    forged = Envelope(good.terms.media_type, others, good.terms.signatures)
    for bad in (
        Documents(forged, good.manifest, good.release, good.head_list),
        Documents(good.terms, good.manifest, good.release, good.head_list.replace(b"weather", b"whether")),
        Documents(good.terms, good.manifest, good.manifest, good.head_list),
    ):
        with pytest.raises(SignatureError):
            bad.result(released)
    with pytest.raises(SignatureError, match="campaign"):
        good.result("another")


def test_after_rotation_the_old_key_leads_to_the_new(
    service: Service, operator_env: dict[str, str], released: str, tmp_path: Path
) -> None:
    old = public_key(service)
    code, new, _ = blendp("key", "rotate", "--data", str(service.data))
    assert code == 0
    assert new.strip() == public_key(service) != old
    for key in (old, new.strip()):
        done = blendp("campaign", "export", released, "--key", key, "--out", str(tmp_path / key[:4]), **operator_env)
        assert done[0] == 0, done


def test_refusals_have_exit_codes_of_their_own(service: Service, operator_env: dict[str, str], tmp_path: Path) -> None:
    _, reader, _ = blendp("token", "create", "--name", "r", "--scope", "read", "--data", str(service.data))
    file = tmp_path / "token"
    file.write_text(reader)
    new = ("create", "refused", "--title", "x")
    wrong = {**operator_env, "BLENDP_TOKEN": "blendp-op-000000000000-" + "0" * 64}
    closed = {**operator_env, "BLENDP_SERVER": "http://127.0.0.1:9"}
    for arguments, environment, code, message in (
        (("status", "nothing"), operator_env, 6, "There is no campaign 'nothing'."),
        ((*new, *DATES), wrong, 6, "not valid"),
        ((*new, *DATES, "--token-file", str(file)), operator_env, 6, "'manage'"),
        (
            (*new, *DATES, "--token-file", str(tmp_path / "none")),
            operator_env,
            2,
            "none does not exist (--token-file).",
        ),
        ((*new, *DATES), {**operator_env, "BLENDP_TOKEN": ""}, 2, "--token-file is missing: it must be given where"),
        ((*new, *DATES), {**operator_env, "BLENDP_TOKEN": "two words"}, 2, "(not shown)"),
        ((*new, *DATES), closed, 5, "cannot be reached"),
        (
            (*new, *DATES, "--server", "http://collector.example.org"),
            operator_env,
            2,
            "token must not travel unencrypted",
        ),
        (("enrol", "nothing", "--count", "0"), operator_env, 2, "--count = 0 is not allowed"),
        ((*new, *DATES, "--epsilon", "-1"), operator_env, 2, "--epsilon"),
        ((*new, *WHO_OPTIONS, "--opt-in-until", "soon", "--reports-until", "+3d"), operator_env, 2, "--opt-in-until"),
        ((*new, *WHO_OPTIONS, "--opt-in-until", "+3d", "--reports-until", "+2d"), operator_env, 2, "--reports-until"),
        ((*new, "--opens", "2020-01-01", *DATES), operator_env, 2, "--opt-in-until = "),
        (("status", "../keys"), operator_env, 2, "campaign"),
        (("delete", "nothing"), operator_env, 2, "--yes is missing: it must be given where nobody can be asked."),
        (("delete", "nothing", "--yes"), operator_env, 6, "There is no campaign"),
        (("publish", "nothing"), operator_env, 2, "--yes is missing: it must be given where nobody can be asked."),
        (("release", "nothing"), operator_env, 2, "--preview shows the checks alone."),
        (("release", "nothing", "--preview"), operator_env, 6, "There is no campaign"),
        ((*new, *DATES, "--like", "log.csv"), operator_env, 2, "--like = 'log.csv'"),
    ):
        ended, shown, errors = blendp("campaign", *arguments, **environment)
        assert (ended, shown) == (code, ""), (arguments, errors)
        *_, last = errors.splitlines()
        assert message in last
        assert last.startswith("Error: ")


def test_a_careless_campaign_is_cautioned_compared_and_deleted(
    service: Service, operator_env: dict[str, str], released: str
) -> None:
    code, shown, errors = blendp(
        "campaign", "create", "careless", "--title", "x", *DATES, *SMALL, "--epsilon", "13", "--delta", "1e-3",
        "--json", **operator_env,
    )  # fmt: skip
    assert code == 0
    assert len(json.loads(shown)["terms_sha256"]) == 64
    cautioned = [line.split()[0] for line in errors.splitlines()]
    assert cautioned == ["epsilon", "delta", "min_opt_in", "min_clients", "Forecast:"]
    assert json.loads(shown)["forecast"]["people"] == 1
    assert "epsilon 13 is above 12, all that a device spends in a year by default" in errors
    opt_in(service, "careless", succeed(operator_env, "enrol", "careless", "--count", "1").splitlines())
    code, shown, errors = blendp("campaign", "publish", "careless", "--json", "--yes", **operator_env)
    assert json.loads(shown)["records"] == 0
    assert json.loads(shown)["forecast"]["too_short"]
    assert "No record passed" in errors
    assert "1 person made the list" in errors
    assert f"since {released}: 0 added, 2 removed, 0 kept" in succeed(operator_env, "status", "careless")
    stands = json.loads(succeed(operator_env, "status", "careless", "--json"))
    assert (stands["state"], stands["forecast"]) == ("reporting", None)
    assert list((service.data / "keys").glob("campaign-careless.*"))
    assert succeed(operator_env, "delete", "careless", "--yes") == "careless is deleted.\n"
    assert blendp("campaign", "status", "careless", **operator_env)[0] == 6
    assert not list((service.data / "keys").glob("campaign-careless.*"))


def test_the_campaigns_are_listed_without_a_token(
    service: Service, operator_env: dict[str, str], released: str
) -> None:
    code, shown, errors = blendp("campaign", "list", BLENDP_SERVER=service.url, BLENDP_TOKEN="")
    assert (code, errors) == (0, "")
    header, *rows = shown.splitlines()
    assert header.split() == ["name", "title", "state"]
    assert f"{released} What [people] ask released" in [" ".join(row.split()) for row in rows]
    listed = json.loads(succeed(operator_env, "list", "--json"))["campaigns"]
    assert {"campaign": released, "title": "What [people] ask", "state": "released"} in listed


def test_single_people_and_deleted_reports_are_told() -> None:
    pace = Pace("on-course", 2.5, full_days=2, today=1, reached="2026-11-17", by_deadline=9, sentence="It goes well.")
    status = Status(
        campaign="x", title="X", state="reporting", today="2026-11-16",
        opt_in=OptInProgress(people=1, minimum=1, missing=0, until="2026-11-20", enrolments=1, unused=0, pace=pace),
        clients=ClientProgress(reports=1, minimum=1, missing=0, until="2026-11-17", expected=10, pace=pace),
        intake={"accepted": 3}, intake_by_day=[],
        head_list=ListStatus("", records=1, queries=1, churn=None),
        budget=BudgetStatus(epsilon=1.0, delta=0.0, opt_in_spent=False, clients_spent=1),
        documents=DocumentHashes(None, None, None), by_itself=None,
        clock=ClockReading("2026-11-16", "2026-11-16", None),
        opens="2026-11-14", published="2026-11-15", released=None, opt_in_by_day=[],
        next_step=NextStep("Wait.", None, urgent=False),
    )  # fmt: skip
    rows = list(_rows(status))
    text = "\n".join(" ".join(phrase.split()) for _, phrase in rows)
    for phrase in (
        "1 person of at least 1; closed",
        "1 token, 0",
        "1 client of at least 1",
        "It goes well.",
        "Wait.",
        "1 day left",
        "deleted 2 at",
        "1 record of 1 query",
        "spent by 1 client",
    ):
        assert phrase in text
    assert "deleted" not in "".join(phrase for _, phrase in _rows(structs.replace(status, state="released")))


def test_deleting_asks_first(operator_env: dict[str, str]) -> None:
    succeed(operator_env, "create", "doomed", "--title", "x", *DATES)
    for answer, state in (("n", 200), ("y", 404)):
        theirs, ours = pty.openpty()
        command = [sys.executable, "-m", "blendp", "campaign", "delete", "doomed"]
        os.write(theirs, f"{answer}\n".encode())
        done = subprocess.run(command, env=PATH | operator_env, stdin=ours, capture_output=True, text=True, check=True)
        os.close(theirs)
        os.close(ours)
        assert "Delete everything of doomed for good?" in done.stderr
        assert done.stdout.strip() == ("Nothing was deleted." if answer == "n" else "doomed is deleted.")
        assert httpx.get(f"{operator_env['BLENDP_SERVER']}/v1/campaigns/doomed/terms").status_code == state
    code, _, errors = blendp("campaign", "create", "doomed", "--title", "x", *DATES, **operator_env)
    assert code == 6
    assert "name another" in errors


def answered(operator_env: dict[str, str], reply: str, *arguments: str) -> tuple[str, str]:
    """What a command says to somebody at a terminal who gives this answer."""
    theirs, ours = pty.openpty()
    os.write(theirs, f"{reply}\n".encode())
    command = [sys.executable, "-m", "blendp", "campaign", *arguments]
    done = subprocess.run(command, env=PATH | operator_env, stdin=ours, capture_output=True, text=True, check=True)
    os.close(theirs)
    os.close(ours)
    return done.stdout, done.stderr


def test_publishing_and_releasing_show_and_ask_first(
    service: Service, operator_env: dict[str, str], tmp_path: Path
) -> None:
    """Clients all claim what few of the opt-in people have: that is said before anything is signed."""
    name = "liars"
    strong = ("--epsilon", "6", "--delta", "1e-4", "--min-opt-in", "30", "--min-clients", "400")
    succeed(operator_env, "create", name, "--title", "x", *DATES, *strong)
    opt_in(service, name, succeed(operator_env, "enrol", name, "--count", "30").splitlines())
    shown, errors = answered(operator_env, "n", "publish", name)
    assert shown.strip() == "Nothing was drawn."
    assert errors.index("will probably be too short") < errors.index("Draw and publish the list of liars for good?")
    shown, errors = answered(operator_env, "y", "publish", name)
    assert "30 opt-in people made a list of 2 records" in shown

    report(service, name, 400, "news")
    shown, errors = answered(operator_env, "n", "release", name)
    assert shown.strip() == "Nothing was released."
    question = errors.index("Sign and publish the result of liars for good?")
    for phrase in ("do not tell the same story", "flagged", "news", "lying together", "Caution: "):
        assert errors.index(phrase) < question
    assert httpx.get(f"{service.url}/v1/campaigns/{name}/release").status_code == 404
    shown, _ = answered(operator_env, "y", "release", name)
    assert "the result of 400 clients is public" in shown
    code, _, errors = blendp("campaign", "export", name, "--out", str(tmp_path / "out"), **operator_env)
    assert (code, "do not tell the same story" in errors) == (0, True)
    code, shown, _ = blendp("campaign", "release", name, "--preview", **operator_env)
    assert (code, shown) == (6, "")


@pytest.mark.parametrize(("slug", "preview"), [("busy", False), ("busy", True), ("wrong-state", False)])
def test_a_forecast_that_is_not_to_be_had_keeps_nobody_from_publishing(
    capsys: pytest.CaptureFixture[str], slug: str, preview: bool
) -> None:
    class Refusing:
        def forecast(self, _campaign: str, _like: str) -> ListForecast:
            raise OperatorError(503, slug, "Too many wait for slow work: try again.")

    if slug != "busy" or preview:
        with pytest.raises(OperatorError):
            known_forecast(Refusing(), "trends", "aol", is_all=preview)  # type: ignore[arg-type]
        return
    assert known_forecast(Refusing(), "trends", "aol", is_all=preview) is None  # type: ignore[arg-type]
    assert "There is no forecast. Too many wait for slow work" in " ".join(capsys.readouterr().err.split())


def test_checks_of_a_method_that_makes_none_are_told() -> None:
    checks = Checks(opt_in_people=1, clients=1, records=1, agreement=None, influence=[], cautions=[])
    rows = dict(check_rows(checks))
    assert rows["people"] == "1 opt-in person, 1 client; a list of 1 record"
    assert rows["groups"].startswith("not compared")
    assert rows["cautions"] == "none"
    flagged = FlaggedRecord("a\x1b[31mb", None, opt_in=None, client=0.5, z=None)
    agreement = Agreement(True, 0.001, 0.0, 0.2, "They differ.", flagged_records=3, flagged=[flagged])
    text = "\n".join(value for _, value in check_rows(structs.replace(checks, agreement=agreement)))
    assert "opt-in people say nothing, clients 50.00 % (z = unknown)" in text
    assert "and 2 more" in text
    assert "\x1b" not in text


def answering(status: int, **how: Any) -> OperatorClient:
    return OperatorClient(
        "https://x.org", "token", transport=httpx.MockTransport(lambda _: httpx.Response(status, **how))
    )


def test_the_client_tells_problems_from_strangers() -> None:
    problem = {"type": "urn:blendp:problem:too-few", "status": 409, "detail": "7 more are needed.", "missing": 7}
    with pytest.raises(OperatorError, match="7 more") as caught:
        answering(409, json=problem).publish("x")
    assert (caught.value.status, caught.value.slug, caught.value.missing) == (409, "too-few", 7)
    with pytest.raises(OperatorError) as caught:
        answering(502, json={"type": "about:blank", "title": "Bad gateway", "status": 502}).publish("x")
    assert (caught.value.slug, caught.value.detail, caught.value.missing) == ("http-502", "Bad gateway", None)
    answers: list[Any] = [{"text": ""}, {"text": "<html>"}, {"json": {}}, {"json": [1]}]
    for status, how in product((200, 302, 404), answers):
        with pytest.raises(ConnectionError, match="not as a collector does"):
            answering(status, **how).status("x")
