"""Slow work aside: bounded in time and in line, kept, and told nothing that it does not need."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from blendp.service.board import side_work
from blendp.service.board.side_work import FILES, PLAN, SideWork, plan_request
from blendp.service.refusal import Refused
from blendp.wire.campaign import Terms
from blendp.wire.forecast import CampaignPlan
from tests.service.helpers import terms_of

ECHO = "import sys; sys.stdout.buffer.write(sys.argv[1].encode() + b' ' + sys.stdin.buffer.read())"


def aside(program: str, **seconds: float) -> SideWork:
    """Work that a program of a line does."""
    return SideWork((sys.executable, "-c", program), {PLAN: 60.0, FILES: 60.0, **seconds})


def noting(folder: Path) -> str:
    """A program that notes when it begins and ends, and takes a moment."""
    return (
        f"import sys, time, os; asked = sys.stdin.read(); notes = open({str(folder / 'notes')!r}, 'a')\n"
        "for word in ('begin', 'end'): notes.write(f'{word} {asked}\\n'); notes.flush(); time.sleep(0.05)\n"
        "sys.stdout.write(asked)"
    )


async def refusal(work: Awaitable[bytes]) -> Refused:
    with pytest.raises(Refused) as caught:
        await work
    return caught.value


def test_the_same_question_is_answered_once(tmp_path: Path) -> None:
    async def ask() -> list[bytes]:
        work = aside(noting(tmp_path))
        answers = await asyncio.gather(*(work.result(PLAN, b"one") for _ in range(4)))
        answers.append(await work.result(PLAN, b"one"))
        work.forget()
        return [*answers, await work.result(PLAN, b"one")]

    assert asyncio.run(ask()) == [b"one"] * 6
    assert (tmp_path / "notes").read_text() == "begin one\nend one\n" * 2


def test_one_piece_at_a_time_and_few_in_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_work, "_MAX_IN_LINE", 3)

    async def ask() -> list[bytes | BaseException]:
        work = aside(noting(tmp_path))
        names = (f"{number}".encode() for number in range(5))
        return await asyncio.gather(*(work.result(PLAN, name) for name in names), return_exceptions=True)

    answers = asyncio.run(ask())
    assert answers[:3] == [b"0", b"1", b"2"]
    assert [one.problem.slug for one in answers[3:] if isinstance(one, Refused)] == ["busy", "busy"]
    assert (tmp_path / "notes").read_text() == "".join(f"begin {number}\nend {number}\n" for number in range(3))


def test_one_operator_leaves_room_in_the_line_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And however many ask for the same take the room of one."""
    monkeypatch.setattr(side_work, "_MAX_IN_LINE", 3)
    monkeypatch.setattr(side_work, "_MAX_OF_ONE", 2)

    async def ask() -> list[bytes | BaseException]:
        work = aside(noting(tmp_path))
        asked = [("greedy", b"0"), ("greedy", b"1"), ("greedy", b"2"), ("other", b"3"), ("third", b"4")]
        same = [("greedy", b"1"), *[("third", b"3")] * 9]
        names = (work.result(PLAN, name, whose) for whose, name in (*asked, *same))
        return await asyncio.gather(*names, return_exceptions=True)

    answers = asyncio.run(ask())
    refused = [number for number, one in enumerate(answers) if isinstance(one, Refused) and one.problem.slug == "busy"]
    assert refused == [2, 4]
    assert answers[5:] == [b"1", *[b"3"] * 9]
    assert (tmp_path / "notes").read_text() == "".join(f"begin {number}\nend {number}\n" for number in (0, 1, 3))


def test_who_waits_for_what_fails_does_not_have_it_tried_again(tmp_path: Path) -> None:
    program = f"open({str(tmp_path / 'runs')!r}, 'a').write('x'); raise ValueError"

    async def ask() -> list[bytes | BaseException]:
        work = aside(program)
        return await asyncio.gather(*(work.result(PLAN, b"") for _ in range(20)), return_exceptions=True)

    assert {one.problem.slug for one in asyncio.run(ask()) if isinstance(one, Refused)} == {"internal"}
    assert (tmp_path / "runs").read_text() == "x"


def test_what_takes_too_long_is_ended_and_others_go_on(tmp_path: Path) -> None:
    program = f"import os, sys, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)"

    async def ask() -> Refused:
        work = aside(f"import sys; (sys.argv[1] == 'plan') and exec({program!r}); {ECHO[12:]}", plan=0.4)
        refused = await refusal(work.result(PLAN, b""))
        assert await work.result(FILES, b"next") == b"files next"
        return refused

    refused = asyncio.run(ask())
    assert (refused.problem.slug, refused.retry_after) == ("busy", 600)
    assert not [path for path in tmp_path.glob("pid") if Path(f"/proc/{path.read_text()}/cmdline").exists()]


def test_waiting_for_a_turn_is_no_reason_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work of a low priority waits on a busy machine."""
    monkeypatch.setattr(side_work, "_PATIENCE", 100)
    waits = "import sys, time; time.sleep(1.2); sys.stdout.write('done')"
    assert asyncio.run(aside(waits, plan=1.0).result(PLAN, b"")) == b"done"


def test_what_takes_the_processor_too_long_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody waits for it any more."""
    monkeypatch.setattr(side_work, "_PATIENCE", 100)
    program = (
        "import sys; from blendp.service.board import side_work\n"
        "side_work._WORK = {'plan': lambda _: any(iter(int, 1))}; side_work.main(*sys.argv[1:])"
    )
    refused = asyncio.run(refusal(aside(program, plan=1.0).result(PLAN, b"")))
    assert (refused.problem.slug, refused.retry_after) == ("busy", 600)
    assert "more than 1 seconds of the processor" in refused.detail


def test_work_that_is_not_waited_for_any_more_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    program = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"

    async def ask() -> None:
        asking = asyncio.create_task(aside(program).result(PLAN, b""))
        while not (pid.exists() and pid.read_text()):
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(ask())
    assert not Path(f"/proc/{pid.read_text()}/cmdline").exists()


@pytest.mark.parametrize(
    ("program", "slug", "detail"),
    [
        ("raise ValueError('a person wrote this')", "internal", "could not be computed"),
        (
            "import sys; sys.stdout.write('size = 0 is not allowed'); sys.exit(3)",
            "invalid-parameter",
            "size = 0 is not",
        ),
    ],
)
def test_failures_are_refusals_and_nothing_is_kept(program: str, slug: str, detail: str) -> None:
    async def ask() -> list[Refused]:
        work = aside(program)
        return [await refusal(work.result(PLAN, name)) for name in (b"", b"", b"other")]

    for refused in asyncio.run(ask()):
        assert refused.problem.slug == slug
        assert detail in refused.detail
        assert "a person wrote" not in refused.detail


def test_what_is_refused_for_a_while_is_not_tried_again_meanwhile(tmp_path: Path) -> None:
    """Or one console that asks every minute would keep all others waiting for good."""
    now = 0.0
    program = f"open({str(tmp_path / 'runs')!r}, 'a').write('x'); import time; time.sleep(600)"

    async def ask() -> None:
        nonlocal now
        work = aside(program, plan=0.4)
        work.stopwatch = lambda: now
        first = await refusal(work.result(PLAN, b""))
        now = 599.5
        again = await refusal(work.result(PLAN, b""))
        assert (again.problem.slug, again.detail, again.retry_after) == (first.problem.slug, first.detail, 1)
        now = 600.0
        assert (await refusal(work.result(PLAN, b""))).retry_after == 600

    asyncio.run(ask())
    assert (tmp_path / "runs").read_text() == "xx"


def test_memory_is_bounded() -> None:
    """Terms that anybody with the scope manage can write would take all that the machine has."""
    terms = Terms(**terms_of(method="published", epsilon=0.001, delta=1e-300, size=None))
    request = plan_request(terms.to_bytes(), terms.min_opt_in, terms.min_opt_in, terms.expected_clients, "aol")
    refused = asyncio.run(refusal(SideWork().result(PLAN, request)))
    assert (refused.problem.slug, refused.retry_after) == ("busy", 600)
    assert "memory" in refused.detail


def test_the_process_is_told_nothing_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service's variables may hold the database's password, or an operator's token."""
    for name in ("BLENDP_COLLECTOR_SETTINGS", "BLENDP_DATABASE", "BLENDP_TOKEN", "PGPASSWORD"):
        monkeypatch.setenv(name, "secret")
    program = "import json, os, sys; sys.stdout.write(json.dumps([dict(os.environ), os.listdir('/proc/self/fd')]))"
    environment, files = json.loads(asyncio.run(aside(program).result(PLAN, b"")))
    assert "secret" not in environment.values()
    assert environment["OMP_NUM_THREADS"] == "1"
    assert len(files) <= 5, "no file or connection of the service is open in it"


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_work, "_MAX_KEPT_BYTES", 25)

    async def ask() -> SideWork:
        work = aside(ECHO)
        for name in (b"aaaa", b"bbbb", b"cccc"):
            await work.result(PLAN, name)
        return work

    assert list(asyncio.run(ask())._kept.values()) == [b"plan bbbb", b"plan cccc"]


@pytest.mark.parametrize(
    ("fields", "check"),
    [
        ({"min_opt_in": 2000}, lambda plan: [one.rank for one in plan.errors[:3]] == [1, 2, 3]),
        ({"opt_in_records": 3}, lambda plan: (plan.sentence is None) == (not plan.errors)),
        (
            {"opt_in_records": 100, "records_per_person": 20.0},
            lambda plan: (plan.sentence is None) == (not plan.errors),
        ),
        ({"opt_in_records": 100}, lambda plan: (plan.sentence is None) == (not plan.errors)),
        (
            {"size": None, "min_opt_in": 10**9, "expected_clients": 10**9},
            lambda plan: plan.list_forecast.high == 20_000,
        ),
    ],
)
def test_a_plan_of_any_terms_is_made(fields: dict[str, Any], check: Callable[[CampaignPlan], bool]) -> None:
    """Also of terms that no sane operator would write: it ends."""
    terms = Terms(**terms_of(**fields))
    request = plan_request(terms.to_bytes(), terms.min_opt_in, terms.min_opt_in, terms.expected_clients, "aol")
    plan = CampaignPlan.from_bytes(side_work._plan(request))
    assert check(plan), plan
    assert (plan.top_error is None) == (plan.sentence is None)
    assert (plan.people, plan.clients) == (terms.min_opt_in, terms.expected_clients)
