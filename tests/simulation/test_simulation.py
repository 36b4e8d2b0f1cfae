"""Generated sequences of operations and disasters; see :mod:`tests.simulation.world` for what must hold.

BLENDP_SIMULATIONS says how many sequences are tried on each database; with BLENDP_SHRINK=1 a failing one is made
short, which takes minutes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.service import faults
from tests.service.postgres import Postgres
from tests.simulation.database import Databases
from tests.simulation.named_cases import published
from tests.simulation.servers import Nursery
from tests.simulation.world import BATCH, FORMS, KINDS, NEW, World

SEQUENCES = int(os.environ.get("BLENDP_SIMULATIONS", "4"))
STEPS = 30

_form = st.sampled_from(FORMS)
_kinds = st.lists(st.sampled_from((NEW, *KINDS)), min_size=1, max_size=5)
_pick = st.integers(0, 20)


class Operations(RuleBasedStateMachine):
    """Any operation in any order; what does not fit is refused, or does nothing."""

    make: Callable[[], World]
    outcomes: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.world = type(self).make()

    @initialize(stage=st.sampled_from(("opt-in", "published", "ready", "closing")))
    def begin(self, stage: str) -> None:
        """Most sequences begin where reports can come, some with a release that died on its way."""
        if stage != "opt-in":
            published(self.world)
        if stage in ("ready", "closing"):
            self.world.upload(BATCH, [NEW] * 4)
        if stage == "closing":
            self.world.die_at(faults.AFTER_COMMIT)
            self.world.release()

    @rule(first=_pick, count=st.integers(1, 4), records=st.integers(0, 1))
    def opt_in(self, first: int, count: int, records: int) -> None:
        for person in range(first, first + count):
            self.world.opt_in(person, records)

    @rule(person=_pick)
    def withdraw(self, person: int) -> None:
        self.world.withdraw(person)

    @rule()
    def publish(self) -> None:
        self.world.publish()

    @rule(form=_form, count=st.integers(1, 4))
    def upload_new(self, form: str, count: int) -> None:
        self.world.upload(form, [NEW] * count)

    @rule(form=_form, kinds=_kinds, pick=_pick)
    def upload(self, form: str, kinds: list[str], pick: int) -> None:
        self.world.upload(form, kinds, pick)

    @rule(form=_form, kinds=_kinds)
    def upload_to_other_manifest(self, form: str, kinds: list[str]) -> None:
        self.world.upload(form, kinds, right_manifest=False)

    @rule(form=_form)
    def send_rubbish(self, form: str) -> None:
        self.world.send_rubbish(form)

    @rule(install=_pick)
    def delete_report(self, install: int) -> None:
        self.world.delete_report(install)

    @rule()
    def release(self) -> None:
        self.world.release()

    @rule(sure=st.integers(0, 3))
    def delete_campaign(self, sure: int) -> None:
        if sure == 3:
            self.world.delete_campaign()

    @rule()
    def next_campaign(self) -> None:
        self.world.next_campaign()

    @rule(overlap=st.integers(0, 15))
    def rotate_keys(self, overlap: int) -> None:
        self.world.rotate_keys(overlap)

    @rule(days=st.integers(1, 8))
    def days_pass(self, days: int) -> None:
        self.world.days_pass(days)

    @rule(point=st.sampled_from(faults.PLACES), times=st.integers(1, 3))
    def die_at(self, point: str, times: int) -> None:
        self.world.die_at(point, times)

    @rule(form=_form, count=st.integers(1, 4), point=st.sampled_from((faults.BEFORE_COMMIT, faults.AFTER_COMMIT)))
    def die_in_upload(self, form: str, count: int, point: str) -> None:
        self.world.die_at(point)
        self.world.upload(form, [NEW] * count)

    @rule(graceful=st.booleans())
    def restart(self, graceful: bool) -> None:
        self.world.restart(graceful)

    @rule()
    def unreachable(self) -> None:
        self.world.unreachable([NEW])

    @rule(sure=st.integers(0, 2))
    def database_restart(self, sure: int) -> None:
        if sure == 2:
            self.world.database_restart()

    @rule(form=_form, kinds=_kinds)
    def disk_full(self, form: str, kinds: list[str]) -> None:
        self.world.disk_full(form, kinds)

    def teardown(self) -> None:
        self.world.finish()
        Operations.outcomes.update({"sequences": 1, "steps": self.world.steps, **self.world.outcomes})


def run(nursery: Nursery, databases: Databases) -> None:
    class Here(Operations):
        make = staticmethod(lambda: World(nursery, databases))

    chosen = settings(
        max_examples=SEQUENCES,
        stateful_step_count=STEPS,
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink) if os.environ.get("BLENDP_SHRINK") else (Phase.generate,),
        report_multiple_bugs=False,
        print_blob=False,
    )
    Operations.outcomes.clear()
    run_state_machine_as_test(Here, settings=chosen)
    print(dict(Operations.outcomes))


def test_any_sequence_on_sqlite(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> None:
    run(nursery, Databases(tmp_path_factory.mktemp("sqlite"), None))


@pytest.mark.xdist_group("postgres")
def test_any_sequence_on_postgresql(
    nursery: Nursery, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run(nursery, Databases(tmp_path_factory.mktemp("postgres"), postgres))
