"""A collector and a model of it: every operation is told both, and both must agree on the answer and on what is held.

An operation that gets no answer has happened whole, up to one of its steps, or not at all: the model takes what it
finds after the restart, if it is one of these. A list or a result that was being made is as if it had not been begun.
"""

from __future__ import annotations

import copy
import datetime
import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from blendp.headlist import HeadList
from blendp.methods import Listed, Release, conclude
from blendp.render.release.document import release_card, rows_for_json
from blendp.reports import QUESTIONS, ListScheme, Question, ReportSums, frequency_oracle
from blendp.service.campaigns import SIGNED, keyed, pseudonym_key
from blendp.service.collector import KEYS_FOLDER, CollectorService
from blendp.service.private_files import PrivateFiles
from blendp.service.settings import Settings
from blendp.service.tokens import enrolment_hash
from blendp.wire.campaign import Manifest, Terms
from blendp.wire.envelope import Envelope
from blendp.wire.install import deletion_key, pseudonym
from blendp.wire.keys import Trust
from blendp.wire.media_types import BATCH_TYPE, OPT_IN_TYPE, REPORT_TYPE
from blendp.wire.problems import PROBLEMS
from blendp.wire.reports import ID_BYTES, Binding, UploadedReport, write_batch, write_report
from tests.simulation.database import Databases, Rows, rows_of
from tests.simulation.servers import Answer, Client, NoAnswer, Nursery, Server
from tests.support import WHO

MIN_OPT_IN = MIN_CLIENTS = 3
PEOPLE = 8
PARAMETERS = {"epsilon": 8.0, "delta": 0.05, "opt_in_records": 2}
SINGLE, BATCH = FORMS = ("single", "batch")
NEW, REPLAY, OTHER_BYTES, SAME_INSTALL, IMPOSSIBLE, MALFORMED = KINDS = (
    "new",
    "replay",
    "other-bytes",
    "same-install",
    "impossible",
    "malformed",
)
"""What a report of an upload is, next to those that were sent before."""

_STATUS = {"accepted": 201, "duplicate": 200}
_TOO_MANY_WRONG_TOKENS = 8
_INSTALLS_TO_COME = 4
_CHECKS = 100
_SALTS = 50
OF_RELEASE = {"release", "index", "index-descriptor"}
_BAR = b"barred "


@dataclass
class Held:
    """A report that was kept."""

    report: UploadedReport
    deleted: bool = False


@dataclass
class Model:
    """What must be true of a campaign."""

    name: str
    state: str = "opt-in"
    reports: dict[bytes, Held] = field(default_factory=dict)
    barred: set[bytes] = field(default_factory=set)
    """Pseudonyms of installs that asked for deletion while no report of theirs was held: none is taken any more."""
    people: dict[int, tuple[str, int]] = field(default_factory=dict)
    """The state of each person's token, and which records were sent."""
    documents: set[str] = field(default_factory=lambda: {"terms"})
    sealed: bool = True
    """Whether records are still held."""
    accepted: int = 0
    """Reports that were new, ever."""

    def keep(self, report: UploadedReport) -> bool:
        """Keep a report if it is new."""
        if report.pseudonym in self.barred or self.kept_of(report.pseudonym):
            return False
        assert report.report_id not in self.reports, "no two installs of this world draw the same id"
        self.reports[report.report_id] = Held(report)
        self.accepted += 1
        return True

    def fate(self, report: UploadedReport) -> str:
        """What becomes of a report that is not new."""
        kept = self.kept_of(report.pseudonym)
        if kept is None or kept.deleted:
            return "deleted"
        if kept.report.report_id != report.report_id:
            return "over-quota"
        return "duplicate" if kept.report == report else "conflict"

    def kept_of(self, install: bytes) -> Held | None:
        """The report of this pseudonym, deleted or not."""
        return next((kept for kept in self.reports.values() if kept.report.pseudonym == install), None)

    def forget(self, install: bytes) -> bool:
        """Delete the report of this pseudonym, or bar it; whether one was held."""
        kept = self.kept_of(install)
        if kept is None:
            self.barred.add(install)
            return False
        was_there, kept.deleted = not kept.deleted, True
        return was_there

    def end(self, state: str) -> None:
        """Nothing of people is held any more."""
        self.state, self.reports, self.barred, self.people = state, {}, set(), {}

    @property
    def counted(self) -> list[UploadedReport]:
        """The reports that must count."""
        return [kept.report for kept in self.reports.values() if not kept.deleted]

    @property
    def opt_in_people(self) -> int:
        return sum(state == "used" for state, _ in self.people.values())


class World:
    """A collector in a process of its own, its model, and what clients and operators do to it."""

    def __init__(
        self, nursery: Nursery, databases: Databases, workers: int = 1, today: datetime.date | None = None
    ) -> None:
        folder, database = databases.new()
        self.databases = databases
        self.postgres = databases.postgres
        self.server = Server(nursery, folder, database, workers)
        self.control = self.server.control
        self.control.today = today or self.control.today
        self.closed = False
        self.outcomes: Counter[str] = Counter()
        self.steps = 0
        self.sent: list[UploadedReport] = []
        self.ids: set[bytes] = set()
        """Every report id that was made here: any other was made by the collector."""
        self.bars: dict[bytes, bytes] = {}
        """Ids that the collector made for installs of this campaign that are barred, by keyed pseudonym."""
        self.gone: set[bytes] = set()
        """Pseudonyms of the campaign whose deletion was answered, whatever the model makes of it: none may count."""
        self.installs = 0
        self.known: set[str] = set()
        """Campaigns that the process has looked up since it started; it may forget those that are closed."""
        self.wrong_tokens = 0
        self.seen: dict[tuple[str, str], bytes] = {}
        """The bytes of every document since it was seen first."""
        self.rotations = 0
        self.names = 0
        self.scheme: ListScheme | None = None
        self.manifest: Manifest | None = None
        self.binding: Binding | None = None
        self.listed: Listed | None = None
        self.token = databases.token
        self.trust = self.first = Trust.of(databases.first_key)
        self.server.start()
        self.create()

    def _by_hand(self) -> CollectorService:
        """The collector as the operator's commands open it, next to the one that serves."""
        settings = Settings(self.server.data, database=self.server.database)
        return CollectorService.open(settings, self.control.clock)

    @property
    def today(self) -> datetime.date:
        return self.control.today

    # Campaigns.

    def create(self) -> None:
        """A new campaign, the one before left behind."""
        self.names += 1
        self.control.die(None)
        opens = self.today
        self.opt_in_until, self.reports_until = (opens + datetime.timedelta(days=days) for days in (10, 20))
        name = f"campaign-{self.names}"
        fields = {
            "campaign": name,
            "title": "What people look for",
            **WHO,
            "opens": opens.isoformat(),
            "opt_in_until": self.opt_in_until.isoformat(),
            "reports_until": self.reports_until.isoformat(),
            **PARAMETERS,
            "min_opt_in": MIN_OPT_IN,
            "min_clients": MIN_CLIENTS,
            "expected_clients": 20,
        }
        path = "/v1/campaigns"
        created = self._operator("POST", path, fields)
        assert created.status == 201, created
        assert self._operator("POST", path, fields).problem == "conflict"
        self.model = Model(name)
        self.scheme = self.manifest = self.binding = self.listed = None
        enrolled = self._operator("POST", f"{self.path}/enrolments", {"count": PEOPLE})
        assert enrolled.status == 201, enrolled
        self.tokens: list[str] = enrolled.json["tokens"]
        self.model.people = dict.fromkeys(range(PEOPLE), ("unused", 0))
        self.sent, self.terms_sha256 = [], created.json["terms_sha256"]
        self.bars, self.gone = {}, set()
        key = PrivateFiles(self.server.data / KEYS_FOLDER).get(pseudonym_key(name))
        assert key
        self.pseudonym_key = key

    @property
    def path(self) -> str:
        return f"/v1/campaigns/{self.model.name}"

    def _operator(self, method: str, path: str, body: object = None) -> Answer:
        data, kind = (None, None) if body is None else (json.dumps(body).encode(), "application/json")
        return self.server.client.ask(method, path, data, kind, self.token)

    def publish(self) -> None:
        def happen(model: Model) -> str:
            if model.state != "opt-in":
                return "not-found" if model.state == "deleted" else "wrong-state"
            if model.opt_in_people < MIN_OPT_IN:
                return "too-few"
            model.state, model.sealed = "reporting", False
            model.documents |= {"manifest", "list", "listed"}
            return "done"

        people = self.model.opt_in_people
        answer = self._do(lambda client: self._by(client, "POST", f"{self.path}/publish"), happen)
        if answer is not None and answer.status == 200:
            assert answer.json["opt_in_people"] == people

    def release(self) -> None:
        def happen(model: Model) -> str:
            if model.state != "reporting":
                return "not-found" if model.state == "deleted" else "wrong-state"
            if len(model.counted) < MIN_CLIENTS:
                model.state = "reporting"
                return "too-few"
            model.end("released")
            model.documents |= OF_RELEASE
            return "done"

        counted, before = self.model.counted, self.model.state
        answer = self._do(lambda client: self._by(client, "POST", f"{self.path}/release"), happen)
        if answer is not None and answer.status == 200:
            assert answer.json["clients"] == len(counted)
        if self.model.state == "released" and before != "released":
            self.outcomes["released"] += 1
            self.check_release(counted)

    def delete_campaign(self) -> None:
        def happen(model: Model) -> str:
            if model.state == "deleted":
                return "not-found"
            model.end("deleted")
            model.documents, model.accepted = set(), 0
            return "done"

        self._do(lambda client: self._by(client, "DELETE", self.path), happen)

    def next_campaign(self) -> None:
        """Go on with another campaign, once this one is over."""
        if self.model.state in ("released", "deleted"):
            self._survive(self.create)
            self.check()

    def _by(self, client: Client, method: str, path: str) -> Answer:
        return client.ask(method, path, token=self.token)

    # Opt-in people.

    def opt_in(self, person: int, records: int = 0) -> None:
        """Send records under the nonce of this number: the same again, or others."""
        person %= PEOPLE

        def happen(model: Model) -> str:
            if model.state == "deleted":
                return "not-found"
            if person not in model.people:
                return "unauthorised"
            state, earlier = model.people[person]
            if state == "deleted":
                return "deleted"
            if state == "used":
                return "duplicate" if earlier == records else "conflict"
            if model.state != "opt-in" or self.today > self.opt_in_until:
                return "late"
            model.people[person] = ("used", records)
            return "accepted"

        sent = [
            {"query": f"common {person % 2}", "url": "http://example.org/"},
            {"query": self._marker(person, records), "url": "http://example.org/"},
        ]
        body = json.dumps({"terms": self.terms_sha256, "nonce": f"{records:032x}", "records": sent}).encode()
        self._as_person(happen, "PUT", person, body)

    def withdraw(self, person: int) -> None:
        person %= PEOPLE

        def happen(model: Model) -> str:
            if model.state == "deleted":
                return "not-found"
            if person not in model.people:
                return "unauthorised"
            state, earlier = model.people[person]
            if model.state != "opt-in":
                return "nothing"
            model.people[person] = ("deleted", earlier)
            return "done" if state == "used" else "nothing"

        self._as_person(happen, "DELETE", person)

    def _as_person(self, happen: Callable[[Model], str], method: str, person: int, body: bytes | None = None) -> None:
        if not self.model.people and self.model.state != "deleted":
            if self.wrong_tokens >= _TOO_MANY_WRONG_TOKENS:
                return
            self.wrong_tokens += 1
        token, kind = self.tokens[person], OPT_IN_TYPE if body else None
        self._do(lambda client: client.ask(method, f"{self.path}/opt-in", body, kind, token), happen)

    def _marker(self, person: int, records: int) -> str:
        return f"marker {self.model.name} {person} {records}"

    # Clients.

    def upload(self, form: str, kinds: Sequence[str], pick: int = 0, *, right_manifest: bool = True) -> None:
        """Send reports: new ones, or such as were sent before, changed or not."""
        if form == SINGLE:
            kinds = kinds[:1]
        if form == BATCH:
            kinds = [IMPOSSIBLE if kind == MALFORMED else kind for kind in kinds]
        self.send(form, [self.draw(kind, pick + index) for index, kind in enumerate(kinds)], right_manifest)

    def send(self, form: str, drawn: Sequence[tuple[str, UploadedReport]], right_manifest: bool = True) -> None:
        """Send these reports of these kinds."""
        reports = [report for _, report in drawn]
        self.sent += [report for report in reports if report not in self.sent]
        body, kind, path = self.body(form, drawn, right_manifest)

        def happen(model: Model) -> list[str] | str:
            spoilt = form == SINGLE and drawn[0][0] == MALFORMED
            refusal = self._gate(model, spoilt, right_manifest)
            if refusal:
                return refusal
            if model.state == "signing" and any(kind not in (MALFORMED, IMPOSSIBLE) for kind, _ in drawn):
                return "busy"
            fates = [self._fate(model, *one) for one in drawn]
            outcomes = [fate or model.fate(report) for fate, report in zip(fates, reports, strict=True)]
            return outcomes[0] if form == SINGLE else outcomes

        method = "PUT" if form == SINGLE else "POST"
        self._do(lambda client: client.ask(method, path, body, kind), happen, or_else=_CLOSED.get(self.model.state))

    def body(
        self, form: str, drawn: Sequence[tuple[str, UploadedReport]], right_manifest: bool = True
    ) -> tuple[bytes, str, str]:
        """The body, its type, and where it is sent."""
        binding = self.binding if right_manifest and self.binding else Binding("00" * 32, "00" * 8)
        reports = [report for _, report in drawn]
        if form == SINGLE:
            body, path = write_report(binding, reports[0]), f"{self.path}/reports/{reports[0].report_id.hex()}"
            return body[:-1] if drawn[0][0] == MALFORMED else body, REPORT_TYPE, path
        return write_batch(binding, reports), BATCH_TYPE, f"{self.path}/reports"

    def send_rubbish(self, form: str) -> None:
        """A body that is none."""
        kind = {SINGLE: REPORT_TYPE, BATCH: BATCH_TYPE}[form]
        method, path = (
            ("PUT", f"{self.path}/reports/{'0' * 32}") if form == SINGLE else ("POST", f"{self.path}/reports")
        )
        self._do(
            lambda client: client.ask(method, path, b"blR1 rubbish", kind),
            lambda model: self._gate(model, True, True),
            or_else=_CLOSED.get(self.model.state),
        )

    def _gate(self, model: Model, spoilt: bool, right_manifest: bool) -> str:
        """Why nothing of an upload is looked at; empty if it is."""
        if model.name not in self.known:
            if model.state in _CLOSED:
                return _CLOSED[model.state]
            self.known.add(model.name)
        if spoilt:
            return "malformed"
        if not right_manifest:
            return "wrong-list"
        return "late" if self.today > self.reports_until else ""

    @staticmethod
    def _fate(model: Model, kind: str, report: UploadedReport) -> str:
        """Empty if it is not new, and what it is shows when all others are kept."""
        if kind in (MALFORMED, IMPOSSIBLE):
            return kind
        if model.state != "reporting":
            return "wrong-state" if model.state == "deleted" else "late"
        return "accepted" if model.keep(report) else ""

    def draw(self, kind: str, pick: int) -> tuple[str, UploadedReport]:
        """A report of this kind; a new one if none was sent before."""
        if kind in (REPLAY, OTHER_BYTES, SAME_INSTALL) and not self.sent:
            kind = NEW
        if kind in (NEW, IMPOSSIBLE, MALFORMED):
            self.installs += 1
            report = self._report(self._id(), self.install(self.installs), self.installs + pick)
            if kind == IMPOSSIBLE:
                report = UploadedReport(report.report_id, report.pseudonym, report.question, b"\xff" * 9)
            return kind, report
        before = self.sent[pick % len(self.sent)]
        if len(before.data) == 9:
            return IMPOSSIBLE, before
        if kind == REPLAY:
            return kind, before
        self.installs += 1
        if kind == SAME_INSTALL:
            return kind, self._report(self._id(), before.pseudonym, pick)
        for salt in range(1 - before.question, _SALTS):
            other = self._report(before.report_id, before.pseudonym, salt)
            if (other.question, other.data) != (before.question, before.data):
                return kind, other
        return REPLAY, before  # of an empty list there is one report only

    def _id(self) -> bytes:
        identifier = hashlib.sha256(f"report {self.names} {self.installs}".encode()).digest()[:ID_BYTES]
        self.ids.add(identifier)
        return identifier

    def _secret(self, install: int) -> bytes:
        return hashlib.sha256(f"install {install}".encode()).digest()

    def install(self, install: int) -> bytes:
        return pseudonym(deletion_key(self._secret(install), self.model.name))

    @property
    def asked(self) -> list[int]:
        """The questions that devices of the campaign are asked, by number."""
        chance = None if self.scheme is None else self.scheme.chance
        return [number for number, name in enumerate(QUESTIONS) if chance is None or chance(name)]

    def _report(self, report_id: bytes, install: bytes, salt: int) -> UploadedReport:
        question = self.asked[salt % len(self.asked)]
        form = self.scheme.questions[QUESTIONS[question]] if self.scheme else None
        number = int.from_bytes(hashlib.sha256(f"data {salt}".encode()).digest(), "big")
        data = (number % form.possible_reports).to_bytes(form.report_bytes, "big") if form else b"\0"
        return UploadedReport(report_id, install, question, data)

    def delete_report(self, install: int) -> None:
        """A person wants the report of their install deleted, which may be one of the next that report."""
        install = 1 + install % (self.installs + _INSTALLS_TO_COME)
        owner = self.install(install)

        def happen(model: Model) -> str:
            if model.state == "deleted":
                return "not-found"
            return "done" if model.state == "reporting" and model.forget(owner) else "nothing"

        body, taken = self.deletion(install), self.model.state == "reporting"
        path = f"{self.path}/deletions"
        answer = self._do(lambda client: client.ask("POST", path, body, "application/json"), happen)
        if taken and answer is not None:
            self.gone.add(owner)
            self.outcomes["barred"] += owner in self.model.barred
            self.check()

    def deletion(self, install: int) -> bytes:
        """The request of an install to have its report deleted."""
        return json.dumps({"deletion_key": deletion_key(self._secret(install), self.model.name).hex()}).encode()

    # Operators, time and disasters.

    def rotate_keys(self, overlap: int) -> None:
        collector = self._by_hand()
        collector.lifecycle.rotate_keys(overlap)
        collector.close()
        self.rotations += 1
        self.check()

    def days_pass(self, days: int) -> None:
        self.control.today = self.today + datetime.timedelta(days=days)
        self.check()

    def die_at(self, point: str, times: int = 1) -> None:
        """The process shall die when it comes to this place."""
        self.control.die(point, times)
        self.steps += 1

    def restart(self, graceful: bool = True) -> None:
        armed = self.control.armed
        try:
            self.server.stop() if graceful else self.server.kill()
        except NoAnswer:
            assert armed, self.server.log_text()
        self._start()
        self.check()

    def unreachable(self, kinds: Sequence[str]) -> None:
        """Reports are sent to a server that is not there: nothing is kept."""
        self.server.kill()
        for kind in kinds:
            self.sent.append(self.draw(kind, 0)[1])
            try:
                self.server.client.ask("PUT", f"{self.path}/reports/{'0' * 32}", b"", REPORT_TYPE)
            except NoAnswer:
                continue
            raise AssertionError("Who answered?")
        self._start()
        self.check()

    def database_restart(self) -> None:
        """The database dies and comes back; the collector goes on."""
        if self.postgres is None:
            self.restart(graceful=False)
            return
        self.postgres.stop()
        if self.scheme is not None and self.model.name in self.known and self.today <= self.reports_until:
            body, kind, path = self.body(SINGLE, [self.draw(NEW, 0)])
            with suppress(NoAnswer):
                answer = self.server.client.ask("PUT", path, body, kind)
                assert (answer.status, answer.problem) == (503, "busy")
        with suppress(NoAnswer):
            assert self.server.client.ask("GET", "/health/ready").status == 503
            assert self.server.client.ask("GET", "/health/live").status == 200
        self.postgres.start()
        self.check()

    def disk_full(self, form: str, kinds: Sequence[str]) -> None:
        """The disk is full while an upload comes: it is kept whole or not at all; then there is space again."""
        self.control.full = True
        try:
            self.upload(form, kinds)
        finally:
            self.control.full = False
        self.check()

    # Both sides compared.

    def _do(
        self,
        ask: Callable[[Client], Answer],
        happen: Callable[[Model], str | list[str]],
        *steps: Callable[[Model], None],
        or_else: str | None = None,
    ) -> Answer | None:
        """Ask, and compare the answer with what the model says; without one, find out how far it came."""
        after = copy.deepcopy(self.model)
        possible = [copy.deepcopy(self.model)]
        for step in steps:
            possible.append(copy.deepcopy(possible[-1]))
            step(possible[-1])
        due = happen(after)
        possible.append(after)
        try:
            answer = ask(self.server.client)
        except NoAnswer:
            assert self.server.died(), self.server.log_text()
            self._start()
            self.model = self._which(possible)
            self.outcomes["no answer"] += 1
            self.check()
            return None
        if self.control.full and answer.problem == "storage-full":
            assert answer.headers["retry-after"]
        else:
            if or_else and answer.problem == or_else:
                due = or_else
            assert_answer(answer, due)
            self.model = after
            self.outcomes.update([due] if isinstance(due, str) else due)
        self.check()
        return answer

    def _which(self, possible: Sequence[Model]) -> Model:
        rows = self._rows()
        assert rows
        for model in possible:
            if self._due(model) == rows:
                return model
        raise AssertionError(
            f"held {rows}\nbut it must be one of\n" + "\n".join(str(self._due(one)) for one in possible)
        )

    def _start(self) -> None:
        self.known.clear()
        self.wrong_tokens = 0
        armed = self.control.armed
        try:
            self.server.start()
        except NoAnswer:
            assert armed, self.server.log_text()
            self.server.start()

    def _rows(self) -> Rows | None:
        """What the database holds; a row without contents, under an id made by the collector, goes by its pseudonym."""
        rows = rows_of(self.server.data, self.server.database, self.model.name)
        if rows is None:
            return None
        reports = {}
        for report_id, row in rows.reports.items():
            name = report_id
            if row[2] is None and report_id not in self.ids:
                assert len(report_id) == ID_BYTES
                assert self.bars.setdefault(row[0], report_id) == report_id
                name = _BAR + row[0]
            assert name not in reports, f"two rows {name!r}"
            reports[name] = row
        return replace(rows, reports=reports)

    def _keyed(self, install: bytes) -> bytes:
        return keyed(install, self.pseudonym_key)

    def _due(self, model: Model) -> Rows:
        """What the database must hold."""
        bars: dict[bytes, tuple[bytes, int, bytes | None]] = {
            _BAR + self._keyed(install): (self._keyed(install), 0, None) for install in model.barred
        }
        return Rows(
            model.state,
            bars
            | {
                report_id: (
                    self._keyed(kept.report.pseudonym),
                    kept.report.question,
                    None if kept.deleted else kept.report.data,
                )
                for report_id, kept in model.reports.items()
            },
            {
                enrolment_hash(self.tokens[person]) or b"": (state, state == "used" and model.sealed)
                for person, (state, _) in model.people.items()
            },
            frozenset(model.documents),
            model.accepted,
        )

    def check(self) -> None:
        """What must be true after every step."""
        self.steps += 1
        self._survive(self._check)

    def _survive(self, work: Callable[[], None]) -> None:
        """A process that is to die may do so while it writes down numbers, too."""
        try:
            work()
        except NoAnswer:
            assert self.server.died(), self.server.log_text()
            self._start()
            work()

    def _check(self) -> None:
        rows, due = self._rows(), self._due(self.model)
        assert rows == due, f"held {rows}\nbut it must be {due}"
        gone = {self._keyed(install) for install in self.gone}
        assert not any(data is not None and owner in gone for owner, _, data in rows.reports.values())
        self._check_documents()
        self._check_files()
        assert not self.server.failures()

    def _check_documents(self) -> None:
        """Documents never change, and whoever knows the first key can verify them all, followed late or always."""
        keys = self.server.client.ask("GET", "/v1/keys").json
        assert len(keys["keys"]) == self.rotations + 1
        statements = [Envelope.from_bytes(json.dumps(one).encode()) for one in keys["statements"]]
        self.trust = self.trust.following(statements)
        late = self.first.following(statements)
        for kind, media_type in SIGNED.items():
            answer = self.server.client.ask("GET", f"{self.path}/{kind}")
            if kind not in self.model.documents:
                assert answer.problem == "not-found"
                continue
            envelope = Envelope.from_bytes(answer.body)
            for trust in (self.trust, late):
                data = envelope.verified(media_type, trust.on(self.today))
                assert self.seen.setdefault((self.model.name, kind), data) == data
        if "manifest" in self.model.documents and self.manifest is None:
            self._read_manifest()

    def _read_manifest(self) -> None:
        self.manifest = Manifest.from_bytes(self.seen[self.model.name, "manifest"])
        head_list = HeadList.from_bytes(self.server.client.ask("GET", f"{self.path}/list").body)
        self.manifest.require_list(head_list)
        terms = Terms.from_bytes(self.seen[self.model.name, "terms"])
        assert self.manifest.terms == terms
        self.scheme, self.binding = self.manifest.scheme(head_list), self.manifest.binding(head_list)
        collector = self._by_hand()
        with collector.store.reading() as connection:
            query = "SELECT payload FROM document JOIN campaign ON number = campaign WHERE kind = 'listed' AND name = "
            rows = connection.exec_driver_sql(f"{query} '{self.model.name}'")
            self.listed = Listed.from_bytes(bytes(rows.scalar_one()))
        collector.close()

    def _check_files(self) -> None:
        """No key outlives its use; no record is readable before the list is public, nor afterwards if not on it."""
        keys = {
            path.name for path in (self.server.data / KEYS_FOLDER).iterdir() if not path.name.startswith("signing-")
        }
        own = {f"campaign-{self.model.name}.{kind}.key": states for kind, states in _KEPT.items()}
        assert keys == {name for name, states in own.items() if self.model.state in states}
        listed = {query for query, _ in self.listed.released.head_list.labels} if self.listed else set()
        raw = b"".join(path.read_bytes() for path in self.server.data.rglob("*") if path.is_file())
        for person in range(PEOPLE):
            for records in range(2):
                marker = self._marker(person, records)
                assert marker in listed or marker.encode() not in raw
        if self.postgres is None and self.model.state in ("released", "deleted"):
            for report in self.sent:
                assert report.report_id not in raw, "A report's id is still on the disk."
                assert self._keyed(report.pseudonym) not in raw, "A keyed pseudonym is still on the disk."
            for owner, report_id in self.bars.items():
                assert owner not in raw, "A barred install's pseudonym is still on the disk."
                assert report_id not in raw, "A barred install's row is still on the disk."

    def check_release(self, counted: Sequence[UploadedReport]) -> None:
        """The result is that of the reports which must count, each taken apart here; none of them was to be deleted."""
        assert not self.gone & {report.pseudonym for report in counted}
        assert self.listed
        assert self.manifest
        head_list, epsilon = self.listed.head_list, self.manifest.terms.epsilon
        questions: dict[str, Question] = {}
        sums: dict[str, NDArray[np.int64]] = {}
        numbers: dict[str, int] = {}
        for question, items in enumerate((head_list.queries + 1, head_list.cells)):
            randomiser = frequency_oracle(self.manifest.client_randomiser, epsilon, items)
            supports = np.zeros(items, dtype=np.int64)
            data = [report.data for report in counted if report.question == question]
            for one in data:
                supports[list(randomiser.decode(one))] += 1
            name = QUESTIONS[question]
            questions[name], numbers[name], sums[name] = Question(name, (randomiser,)), len(data), supports
        reports = ReportSums(head_list.sha256, questions, numbers, sums)
        released = json.loads(self.seen[self.model.name, "release"])
        due = self._concluded(reports, released["card"]["cross_check"]["kappa"])
        assert released["card"]["users"]["client"] == len(counted)
        assert released["estimates"] == json.loads(json.dumps(rows_for_json(due.records())))
        assert released["trends"] == json.loads(json.dumps(rows_for_json(due.trends())))
        assert released["card"]["users"] == json.loads(json.dumps(release_card(due)["users"]))
        assert released["manifest_sha256"] == self.manifest.sha256

    def _concluded(self, reports: ReportSums, kappa: float) -> Release:
        """The result whose cross-check, which draws, decides as the service's did: near its bound it may do either."""
        assert self.listed
        assert self.manifest
        for _ in range(_CHECKS):
            due = conclude(self.listed, reports, query_share=self.manifest.query_share)
            if due.check is not None and due.check.kappa == kappa:
                break
        return due

    def finish(self) -> None:
        """A last look, and the end."""
        try:
            self.control.die(None)
            self.restart()
            if self.model.state not in ("deleted",):
                status = self._operator("GET", f"{self.path}/status").json
                assert status["state"] == self.model.state
                if self.model.state != "released":
                    assert status["clients"]["reports"] == len(self.model.counted)
            if self.model.state == "reporting":
                self.release()
            if self.model.state == "released":
                self.publish()
                self.release()
                self.upload(BATCH, [REPLAY, NEW])
        finally:
            self.close()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.server.close()
            self.databases.drop(self.server.database)

    def integrity(self) -> None:
        """SQLite's own look at its file."""
        with closing(sqlite3.connect(self.server.data / "collector.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


_CLOSED = {"opt-in": "wrong-state", "closing": "busy", "released": "late", "deleted": "not-found"}
"""What uploads are told in states that take none, by a process that does not remember the campaign from before."""

_KEPT = {"opt-in": ("opt-in",), "pseudonym": ("opt-in", "reporting", "signing")}
"""The keys of a campaign, and the states in which they are needed."""


def assert_answer(answer: Answer, due: str | list[str]) -> None:
    """Whether the answer is the one that is due."""
    if isinstance(due, list):
        assert (answer.status, answer.json) == (200, {"outcomes": due}), answer
    elif due in _STATUS:
        assert (answer.status, answer.json) == (_STATUS[due], {"outcome": due}), answer
    elif due == "nothing":
        assert (answer.status, answer.json) == (200, {"deleted": False}), answer
    elif due == "done":
        assert answer.status == 200, answer
        assert answer.json.get("deleted", True), answer
    else:
        assert (answer.status, answer.problem) == (PROBLEMS[due].status, due), answer
