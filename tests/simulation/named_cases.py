"""Sequences worth a name: the classic ones, and those that once failed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from blendp.wire.reports import UploadedReport
from tests.service import faults
from tests.simulation.servers import Answer, Client
from tests.simulation.world import (
    BATCH,
    FORMS,
    IMPOSSIBLE,
    KINDS,
    MIN_CLIENTS,
    NEW,
    OF_RELEASE,
    OTHER_BYTES,
    REPLAY,
    SAME_INSTALL,
    SINGLE,
    World,
)


def published(world: World, people: int = 4) -> None:
    for person in range(people):
        world.opt_in(person)
    world.publish()
    assert world.model.state == "reporting"


def ready(world: World) -> None:
    published(world)
    world.upload(BATCH, [NEW] * MIN_CLIENTS)


def released(world: World) -> None:
    world.release()
    assert world.model.state == "released"


def whole_flow(world: World) -> None:
    for form in FORMS:
        world.upload(form, [NEW])
    world.publish()
    published(world)
    for form in FORMS:
        world.send_rubbish(form)
        world.upload(form, [NEW], right_manifest=False)
        for kind in KINDS:
            world.upload(form, [kind])
        world.upload(form, KINDS, 2)
    world.rotate_keys(5)
    released(world)
    world.publish()
    world.release()
    for form in FORMS:
        world.upload(form, [REPLAY, NEW])
    world.restart()
    for form in FORMS:
        world.upload(form, [REPLAY, NEW])
    world.next_campaign()
    ready(world)
    released(world)
    world.delete_campaign()
    world.delete_campaign()
    world.upload(BATCH, [NEW])


def replay_across_restart(world: World) -> None:
    ready(world)
    world.restart(graceful=False)
    world.upload(BATCH, [REPLAY] * 3)
    world.restart()
    world.upload(SINGLE, [REPLAY])
    released(world)


def crash_before_commit_then_retry_is_accepted(world: World) -> None:
    published(world)
    world.die_at(faults.BEFORE_COMMIT)
    world.upload(BATCH, [NEW] * 3)
    assert not world.model.reports
    again(world, "accepted")
    released(world)


def crash_after_commit_then_retry_is_duplicate(world: World) -> None:
    published(world)
    world.die_at(faults.AFTER_COMMIT)
    world.upload(BATCH, [NEW] * 3)
    assert len(world.model.reports) == 3
    again(world, "duplicate")
    released(world)


def again(world: World, due: str) -> None:
    """All that was sent, once more."""
    body, kind, path = world.body(BATCH, [(NEW, report) for report in world.sent])
    answer = world.server.client.ask("POST", path, body, kind)
    assert answer.json == {"outcomes": [due] * len(world.sent)}
    for report in world.sent:
        world.model.keep(report)
    world.check()


def crash_around_opt_in(world: World) -> None:
    for person, point in enumerate((faults.BEFORE_COMMIT, faults.AFTER_COMMIT)):
        world.die_at(point)
        world.opt_in(person)
        assert world.model.people[person][0] == ("unused", "used")[person]
        world.opt_in(person)
        world.die_at(point)
        world.withdraw(person)
        world.withdraw(person)
        world.opt_in(person)
    world.opt_in(2)
    world.opt_in(3)
    world.publish()
    world.opt_in(4)
    world.publish()
    assert world.model.state == "reporting"


def crash_everywhere_in_publish(world: World) -> None:
    for person in range(4):
        world.opt_in(person)
    for person, (point, times) in enumerate(
        ((faults.BEFORE_COMMIT, 1), (faults.AFTER_COMMIT, 1), (faults.BEFORE_COMMIT, 2)), 4
    ):
        world.die_at(point, times)
        world.publish()
        assert world.model.state == "opt-in", "open again"
        world.opt_in(0)
        world.opt_in(person)
        world.upload(SINGLE, [NEW])
    world.withdraw(3)
    world.die_at(faults.AFTER_COMMIT, 2)
    world.publish()
    assert world.model.state == "reporting"
    assert world.manifest
    assert world.manifest.opt_in_people == 6
    world.publish()


def too_few_after_withdrawal_and_a_crash(world: World) -> None:
    for person in range(3):
        world.opt_in(person)
    world.die_at(faults.AFTER_COMMIT)
    world.publish()
    assert world.model.state == "opt-in"
    world.withdraw(0)
    world.publish()
    assert world.model.state == "opt-in"
    world.opt_in(4)
    world.publish()
    assert world.model.state == "reporting"


def crash_before_opt_in_key_is_destroyed(world: World) -> None:
    for person in range(3):
        world.opt_in(person)
    world.die_at(faults.DESTROY_KEY)
    world.publish()
    assert world.model.state == "reporting"


def crash_everywhere_in_release(world: World) -> None:
    ready(world)
    for point, times in (
        (faults.BEFORE_COMMIT, 1),
        (faults.AFTER_COMMIT, 1),
        (faults.BEFORE_COMMIT, 2),
        (faults.AFTER_COMMIT, 2),
        (faults.BEFORE_COMMIT, 3),
    ):
        world.die_at(point, times)
        world.release()
        assert world.model.state == "reporting", "open again"
        world.upload(BATCH, [REPLAY, NEW])
    world.die_at(faults.AFTER_COMMIT, 3)
    world.release()
    assert world.model.state == "released"
    world.release()


def crash_before_pseudonym_key_is_destroyed(world: World) -> None:
    ready(world)
    world.die_at(faults.DESTROY_KEY)
    released(world)


def crash_before_deleted_reports_are_overwritten(world: World) -> None:
    """Reports that the release deleted stay in no file, even if the process died before it had them overwritten."""
    ready(world)
    world.die_at(faults.FORGET)
    released(world)


def crash_in_deletion_of_a_campaign(world: World) -> None:
    ready(world)
    for point in (faults.BEFORE_COMMIT, faults.AFTER_COMMIT):
        world.die_at(point)
        world.delete_campaign()
    assert world.model.state == "deleted"
    world.next_campaign()
    ready(world)
    world.die_at(faults.FORGET)
    world.delete_campaign()
    assert world.model.state == "deleted"


def crash_while_a_report_is_deleted(world: World) -> None:
    ready(world)
    for point in (faults.BEFORE_COMMIT, faults.AFTER_COMMIT):
        world.die_at(point)
        world.delete_report(0)
    assert len(world.model.counted) == MIN_CLIENTS - 1
    world.upload(BATCH, [REPLAY] * 3)
    world.upload(SINGLE, [SAME_INSTALL], 0)
    world.release()
    world.upload(SINGLE, [NEW])
    released(world)


def deletion_while_closing(world: World) -> None:
    """A report that was to be deleted while a release died does not count; nor is the release made with too few."""
    ready(world)
    world.upload(SINGLE, [NEW])
    world.die_at(faults.AFTER_COMMIT)
    world.release()
    assert world.model.state == "reporting"
    world.delete_report(0)
    world.die_at(faults.BEFORE_COMMIT, 2)
    world.release()
    world.delete_report(1)
    world.release()
    assert world.model.state == "reporting"
    world.upload(SINGLE, [NEW])
    released(world)


def deletion_overtakes_its_report(world: World) -> None:
    """Whoever asks for deletion before the report arrives is told that none was held, and the report never counts."""
    ready(world)
    for form in FORMS:
        drawn = overtaken(world)
        world.send(form, [drawn])
        assert world.outcomes["deleted"], world.outcomes
        again_refused(world, drawn[1])
    first, second = overtaken(world), overtaken(world)
    world.send(BATCH, [world.draw(NEW, 0), first, world.draw(NEW, 0), second, first])
    assert len(world.model.counted) == MIN_CLIENTS + 2
    assert len(world.model.barred) == len(FORMS) + 2
    released(world)


def deletion_overtakes_a_replay(world: World) -> None:
    """A report is lost, its install asks for deletion, and the device sends the report again."""
    ready(world)
    kept = list(world.sent)
    world.die_at(faults.BEFORE_COMMIT)
    world.upload(BATCH, [NEW] * 2)
    lost = world.sent[len(kept) :]
    for report in lost:
        world.delete_report(install_of(world, report) - 1)
    assert world.model.barred == {report.pseudonym for report in lost}
    for form in FORMS:
        world.send(form, [(REPLAY, report) for report in ([lost[0]] if form == SINGLE else [*kept, *lost, *lost])])
    world.restart(graceful=False)
    for report in lost:
        again_refused(world, report)
    assert world.model.counted == kept
    released(world)


def crash_while_a_deletion_overtakes_its_report(world: World) -> None:
    """A request that was lost bars nobody until it is repeated; one that was kept does, whether it was answered."""
    ready(world)
    for point in (faults.BEFORE_COMMIT, faults.AFTER_COMMIT):
        _, report = drawn = world.draw(NEW, 0)
        install = world.installs
        world.die_at(point)
        world.delete_report(install - 1)
        assert (report.pseudonym in world.model.barred) == (point == faults.AFTER_COMMIT)
        world.delete_report(install - 1)
        world.die_at(faults.BEFORE_COMMIT)
        world.send(SINGLE, [drawn])
        world.send(SINGLE, [drawn])
        again_refused(world, report)
    _, report = drawn = world.draw(NEW, 0)
    world.die_at(faults.BEFORE_COMMIT)
    world.delete_report(world.installs - 1)
    world.send(SINGLE, [drawn])
    assert report in world.model.counted
    world.delete_report(install_of(world, report) - 1)
    assert len(world.model.counted) == MIN_CLIENTS
    assert len(world.model.barred) == 2
    world.die_at(faults.FORGET)
    released(world)


def deletion_overtakes_its_report_while_closing(world: World) -> None:
    """The campaign takes reports again, because too few are left: not that of the install which asked meanwhile."""
    ready(world)
    world.die_at(faults.AFTER_COMMIT)
    world.release()
    drawn = overtaken(world)
    world.send(SINGLE, [drawn])
    world.delete_report(0)
    world.release()
    assert world.model.state == "reporting"
    world.send(BATCH, [drawn])
    again_refused(world, drawn[1])
    world.release()
    assert world.model.state == "reporting"
    world.upload(SINGLE, [NEW])
    released(world)


def overtaken(world: World) -> tuple[str, UploadedReport]:
    """A report that has not arrived, and will not: its install has asked for deletion, twice."""
    drawn = world.draw(NEW, 0)
    for _ in range(2):
        world.delete_report(world.installs - 1)
    assert drawn[1].pseudonym in world.model.barred
    return drawn


def again_refused(world: World, report: UploadedReport) -> None:
    """The report of a barred install comes again: as it was, with other contents, and under another id."""
    before, count = world.outcomes["deleted"], len(world.model.reports)
    pick = world.sent.index(report)
    for kind in (REPLAY, OTHER_BYTES, SAME_INSTALL):
        world.upload(SINGLE, [kind], pick)
    assert world.outcomes["deleted"] == before + 3
    assert len(world.model.reports) == count


def install_of(world: World, report: UploadedReport) -> int:
    return next(number for number in range(1, world.installs + 1) if world.install(number) == report.pseudonym)


def deletions_race_their_reports(world: World) -> None:
    """Reports and the requests to delete them come at once: each request wins, and both answers agree on the order."""
    ready(world)
    drawn, installs = [], []
    for _ in range(24):
        drawn.append(world.draw(NEW, 0))
        installs.append(world.installs)
    reports = [report for _, report in drawn]
    world.sent += reports
    uploads = [world.body(BATCH, drawn[start : start + 4]) for start in range(0, len(drawn), 4)]
    deletions = [(world.deletion(install), "application/json", f"{world.path}/deletions") for install in installs]
    start = threading.Barrier(len(uploads) + len(deletions))

    def send(asked: tuple[bytes, str, str]) -> Answer:
        body, kind, path = asked
        client = Client(world.server.port)
        start.wait()
        answer = client.ask("POST", path, body, kind)
        while answer.status == 503:
            answer = client.ask("POST", path, body, kind)
        client.close()
        return answer

    with ThreadPoolExecutor(len(uploads) + len(deletions)) as pool:
        answers = list(pool.map(send, [*uploads, *deletions]))
    outcomes = [outcome for answer in answers[: len(uploads)] for outcome in answer.json["outcomes"]]
    deleted = [answer.json["deleted"] for answer in answers[len(uploads) :]]
    assert outcomes == ["accepted" if was_there else "deleted" for was_there in deleted]
    for report, was_there in zip(reports, deleted, strict=True):
        if was_there:
            world.model.keep(report)
        assert world.model.forget(report.pseudonym) == was_there
        world.gone.add(report.pseudonym)
    world.check()
    assert len(world.model.counted) == MIN_CLIENTS
    world.restart(graceful=False)
    world.upload(BATCH, [REPLAY] * len(world.sent))
    released(world)


def duplicate_ids_in_a_batch(world: World) -> None:
    published(world)
    _, first = world.draw(NEW, 0)
    _, second = world.draw(NEW, 0)
    world.sent = [first]
    _, other = world.draw(OTHER_BYTES, 0)
    _, same_install = world.draw(SAME_INSTALL, 0)
    for _ in range(2):
        world.send(BATCH, [(NEW, one) for one in (first, first, other, same_install, second, first)])
    world.upload(BATCH, [NEW])
    released(world)


def taken_install_with_an_id_that_another_takes(world: World) -> None:
    """In one batch, an id comes first from an install that has reported, then from a new one: only the second counts.

    PostgreSQL told the first that it was accepted.
    """
    ready(world)
    _, taken = world.draw(SAME_INSTALL, 0)
    _, fresh = world.draw(NEW, 0)
    same_id = UploadedReport(taken.report_id, fresh.pseudonym, fresh.question, fresh.data)
    for _ in range(2):
        world.send(BATCH, [(SAME_INSTALL, taken), (NEW, same_id)])
    released(world)


def last_day_and_the_day_after(world: World) -> None:
    world.opt_in(0)
    world.days_pass(10)
    for person in range(4):
        world.opt_in(person)
    world.days_pass(1)
    for person in range(6):
        world.opt_in(person)
    world.publish()
    world.upload(BATCH, [NEW] * 3)
    world.days_pass(9)
    world.upload(BATCH, [NEW] * 3)
    world.days_pass(1)
    for form in FORMS:
        world.upload(form, [NEW, REPLAY])
        world.upload(form, [REPLAY])
    world.delete_report(0)
    released(world)


def keys_rotate_and_retire(world: World) -> None:
    ready(world)
    world.rotate_keys(0)
    world.rotate_keys(3)
    world.days_pass(4)
    world.restart()
    world.rotate_keys(30)
    released(world)
    world.days_pass(40)
    world.restart()
    world.rotate_keys(1)


def impossible_reports_spoil_no_other(world: World) -> None:
    published(world)
    world.upload(BATCH, [NEW, IMPOSSIBLE, IMPOSSIBLE, NEW, IMPOSSIBLE, NEW])
    assert len(world.model.reports) == 3
    released(world)


def disk_full_then_replays(world: World) -> None:
    """A full disk is told as such for new reports and for such as were sent before, and then it goes on."""
    ready(world)
    world.control.full = True
    try:
        for number in range(60):
            kinds = [NEW] * 20 if number % 2 else [REPLAY, *([NEW] * 19)]
            world.upload(BATCH, kinds)
    finally:
        world.control.full = False
    world.upload(BATCH, [REPLAY, NEW])
    world.restart(graceful=False)
    released(world)


def database_dies_in_between(world: World) -> None:
    ready(world)
    world.database_restart()
    world.upload(BATCH, [REPLAY, NEW, REPLAY])
    world.database_restart()
    released(world)
    world.database_restart()


def release_while_batches_are_in_flight(world: World) -> None:
    """Whatever was acknowledged before the door closed counts; whatever was not is late, or may come back."""
    ready(world)
    batches = [[world.draw(NEW, 0) for _ in range(20)] for _ in range(12)]
    world.sent += [report for batch in batches for _, report in batch]
    start = threading.Barrier(len(batches) + 1)

    def send(batch: list[tuple[str, UploadedReport]]) -> Answer:
        client = Client(world.server.port)
        body, kind, path = world.body(BATCH, batch)
        start.wait()
        answer = client.ask("POST", path, body, kind)
        client.close()
        return answer

    with ThreadPoolExecutor(len(batches)) as pool:
        waiting = [pool.submit(send, batch) for batch in batches]
        start.wait()
        released = world.server.client.ask("POST", f"{world.path}/release", token=world.token)
        answers = [one.result() for one in waiting]
    assert released.status == 200, released
    for batch, answer in zip(batches, answers, strict=True):
        outcomes = answer.json.get("outcomes") or [answer.problem] * len(batch)
        assert set(outcomes) in ({"accepted"}, {"late"}, {"busy"})
        if outcomes[0] == "accepted":
            for _, report in batch:
                world.model.keep(report)
    counted = world.model.counted
    assert released.json["clients"] == len(counted)
    world.model.end("released")
    world.model.documents |= OF_RELEASE
    world.check()
    world.check_release(counted)


def deletions_while_releasing(world: World) -> None:
    """People delete their reports while the result is computed: whoever was told so does not count."""
    published(world)
    world.upload(BATCH, [NEW] * 40)
    first = world.installs - 39
    asked = [world.deletion(install) for install in range(first, first + 20)]

    def delete(body: bytes) -> bool:
        client = Client(world.server.port)
        answer = client.ask("POST", f"{world.path}/deletions", body, "application/json")
        client.close()
        assert answer.status == 200 or answer.problem == "busy", answer
        return answer.status == 200 and bool(answer.json["deleted"])

    with ThreadPoolExecutor(4) as pool:
        release = pool.submit(world.server.client.ask, "POST", f"{world.path}/release", token=world.token)
        deleted = list(pool.map(delete, asked))
    answer = release.result()
    assert answer.status == 200, answer
    for install, gone in zip(range(first, first + 20), deleted, strict=True):
        if gone:
            owner = world.install(install)
            next(one for one in world.model.reports.values() if one.report.pseudonym == owner).deleted = True
    counted = world.model.counted
    assert answer.json["clients"] == len(counted) == 40 - sum(deleted)
    world.model.end("released")
    world.model.documents |= OF_RELEASE
    world.check()
    world.check_release(counted)


def two_releases_at_once(world: World) -> None:
    """One of them releases; the others are refused, or asked to come back."""
    ready(world)
    counted = world.model.counted

    def release(_number: int) -> Answer:
        client = Client(world.server.port)
        answer = client.ask("POST", f"{world.path}/release", token=world.token)
        client.close()
        return answer

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(release, range(4)))
    assert sorted(one.status for one in answers)[0] == 200, answers
    others = [one for one in answers if one.status != 200]
    assert len(others) == 3, answers
    assert {(one.status, one.problem) for one in others} <= {(409, "wrong-state"), (503, "busy")}, answers
    world.model.end("released")
    world.model.documents |= OF_RELEASE
    world.check()
    world.check_release(counted)


def same_report_at_once(world: World) -> None:
    """Many connections, and all workers there are, get the same reports at once: each is accepted once."""
    published(world)
    batch = [world.draw(NEW, 0) for _ in range(10)]
    orders = [batch, batch[::-1]] * 5
    start = threading.Barrier(len(orders))

    def send(reports: list[tuple[str, UploadedReport]]) -> list[str]:
        client = Client(world.server.port)
        body, kind, path = world.body(BATCH, reports)
        start.wait()
        answer = client.ask("POST", path, body, kind)
        while answer.status == 503:
            answer = client.ask("POST", path, body, kind)
        client.close()
        return [str(one) for one in json.loads(answer.body)["outcomes"]]

    for _, report in batch:
        world.model.keep(report)
    with ThreadPoolExecutor(len(orders)) as pool:
        outcomes = list(pool.map(send, orders))
    by_report = [
        [fates[index] if one is batch else fates[-1 - index] for one, fates in zip(orders, outcomes, strict=True)]
        for index in range(len(batch))
    ]
    for fates in by_report:
        assert sorted(fates) == ["accepted", *["duplicate"] * 9]
    world.check()
    released(world)


CASES: tuple[Callable[[World], None], ...] = (
    whole_flow,
    replay_across_restart,
    crash_before_commit_then_retry_is_accepted,
    crash_after_commit_then_retry_is_duplicate,
    crash_around_opt_in,
    crash_everywhere_in_publish,
    too_few_after_withdrawal_and_a_crash,
    crash_before_opt_in_key_is_destroyed,
    crash_everywhere_in_release,
    crash_before_pseudonym_key_is_destroyed,
    crash_before_deleted_reports_are_overwritten,
    crash_in_deletion_of_a_campaign,
    crash_while_a_report_is_deleted,
    deletion_while_closing,
    deletion_overtakes_its_report,
    deletion_overtakes_a_replay,
    deletion_overtakes_its_report_while_closing,
    crash_while_a_deletion_overtakes_its_report,
    deletions_race_their_reports,
    duplicate_ids_in_a_batch,
    taken_install_with_an_id_that_another_takes,
    last_day_and_the_day_after,
    keys_rotate_and_retire,
    impossible_reports_spoil_no_other,
    disk_full_then_replays,
    database_dies_in_between,
    release_while_batches_are_in_flight,
    deletions_while_releasing,
    two_releases_at_once,
    same_report_at_once,
)
