"""Who is asked for what: the groups, the budgets and the randomness that reach each mechanism of a run.

The mechanisms keep their promises by themselves; these tests see that a run uses them as promised.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from blendp.curator import add_noise
from blendp.headlist import HeadList
from blendp.headlist.head_list import Record
from blendp.mechanisms import DiscreteLaplace, Holdings, ThresholdList, TwoStage
from blendp.methods import Parameters, people, published, run, simulate
from blendp.methods.groups import draw_groups
from blendp.randomness import Random, SimulationRandom
from tests.support import KnownKey, goodness

USERS = 2_000


class OwnRecords:
    """A log in which record i is held by user i alone, but for a popular one that every second user holds."""

    users, levels, opt_in, shuffled = USERS, 2, None, False
    distinct_records = USERS + 1

    def __init__(self) -> None:
        self.keys: list[int] = []
        self.records = np.empty((0, 1), dtype=np.int64)
        self.asked = False

    def draw(
        self,
        per_user: int,
        key: int,
        *,
        reproducible: bool = False,
        holdings: bool = True,
        share: float | None = None,  # noqa: ARG002
    ) -> OwnRecords:
        assert not reproducible
        self.asked = holdings
        self.records = self.sample(per_user, key)
        return self

    def sample(self, per_user: int, key: int) -> NDArray[np.int64]:
        self.keys.append(key)
        ids = np.repeat(np.arange(USERS)[:, None], per_user, axis=1)
        ids[::2] = USERS
        return ids

    @property
    def record_counts(self) -> NDArray[np.int64]:
        return np.ones(self.users, dtype=np.int64)

    def holdings(self, who: NDArray[np.int64], key: int) -> Holdings:
        assert self.asked
        assert key >= 0
        return Holdings.one_each(self.records[who, 0])

    def texts(self, ids: NDArray[np.int64]) -> list[Record]:
        return [(f"q{i}", f"u{i}") for i in ids]

    def queries(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return ids

    def locate(self, head_list: HeadList) -> NDArray[np.int64]:
        cells = [head_list.cell_of(f"q{i}", f"u{i}") for i in range(self.distinct_records)]
        return np.array([*cells, head_list.cells - 1])

    def cells(self, head_list: HeadList, ids: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        return self.locate(head_list)[self.records if ids is None else ids]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What reaches the mechanisms during a run."""
    kept: dict[str, Any] = {"random": []}

    def spy(owner: type, name: str, label: str) -> None:
        original = getattr(owner, name)

        def watched(self: Any, first: Any, random: Random) -> Any:
            kept["random"].append(random)
            kept.setdefault(label, []).append((self, first))
            return original(self, first, random)

        monkeypatch.setattr(owner, name, watched)

    spy(ThresholdList, "draw", "list")
    spy(DiscreteLaplace, "draw", "noise")
    spy(TwoStage, "draw", "reports")

    def groups(*arguments: Any) -> Any:
        kept["random"].append(arguments[-1])
        kept["groups"] = draw_groups(*arguments)
        return kept["groups"]

    def counted(head_list: HeadList, cells: NDArray[np.int64], *rest: Any) -> Any:
        kept["counted"] = (head_list, cells)
        return add_noise(head_list, cells, *rest)

    monkeypatch.setattr(people, "draw_groups", groups)
    monkeypatch.setattr(published, "add_noise", counted)
    return kept


@pytest.mark.parametrize(("opt_in_records", "client_records"), [(1, 1), (3, 1), (1, 3), (3, 2)])
def test_each_group_reaches_its_own_mechanism_with_its_own_budget(
    seen: dict[str, Any], opt_in_records: int, client_records: int
) -> None:
    parameters = Parameters(
        method="published",
        epsilon=2,
        delta=1e-4,
        opt_in_records=opt_in_records,
        client_records=client_records,
        size=None,
    )
    log, random = OwnRecords(), KnownKey(1)
    release = run(log, parameters, opt_in=0.4, random=random)
    groups = seen["groups"]
    everyone = np.concatenate([groups.head_list, groups.estimate, groups.client])
    assert np.array_equal(np.sort(everyone), np.arange(USERS))

    # the list is made of S's records alone, with noise and threshold for m_O records each
    ((list_maker, counts),) = seen["list"]
    expected = np.zeros(USERS + 1, dtype=np.int64)
    np.add.at(expected, log.sample(opt_in_records, 0)[groups.head_list].ravel(), 1)
    assert np.array_equal(counts, expected)
    assert (list_maker.budget, list_maker.records_per_user) == (parameters.budget, opt_in_records)
    assert list_maker.noise.scale == pytest.approx(2 * opt_in_records / 2)
    assert release.guarantee.threshold == list_maker.threshold / opt_in_records

    # T's records alone are counted, and every count of the candidates takes one noise of that scale
    candidates, cells = seen["counted"]
    assert np.array_equal(cells, log.locate(candidates)[log.sample(opt_in_records, 0)[groups.estimate]])
    noises = [number for noise, number in seen["noise"] if noise == list_maker.noise]
    assert noises[-1] == 2 * release.candidates + 1

    # each client sends m_C reports, each with its part of the budget
    ((randomiser, cells),) = seen["reports"]
    assert randomiser.budget == parameters.budget.share(1 / client_records)
    located = log.locate(release.head_list)[log.sample(client_records, 0)[groups.client]]
    assert np.array_equal(cells, located.ravel())
    assert release.client.users == len(groups.client)
    assert release.guarantee.client_epsilon_exact == pytest.approx(client_records * randomiser.loss())
    assert release.guarantee.client_epsilon_exact <= parameters.epsilon

    # and all of it draws from the one stream
    assert all(used is random for used in seen["random"])


def test_the_choice_of_records_takes_a_fresh_key_from_the_stream() -> None:
    log = OwnRecords()
    for seed in (1, 2):
        simulate(log, opt_in=0.4, random=SimulationRandom(seed))
    assert len(set(log.keys)) == 2
    assert all(key > 1 << 32 for key in log.keys)


class OneRecord(OwnRecords):
    """Every user of the list-making group holds one of many records, seven times each."""

    users = 7_000
    distinct_records = 1_000

    def sample(self, per_user: int, key: int) -> NDArray[np.int64]:
        super().sample(per_user, key)
        return np.arange(self.users)[:, None] % 1_000

    def locate(self, head_list: HeadList) -> NDArray[np.int64]:
        return np.full(1_001, head_list.cells - 1)


@pytest.mark.statistical
def test_the_list_of_a_run_is_as_long_as_its_noise_says() -> None:
    """Records of a known count are listed as often as the mechanism's law says, not always and not never."""
    log, lengths = OneRecord(), []
    everyone = np.ones(log.users, dtype=bool)
    for seed in range(12):
        parameters = Parameters(method="published", size=None, head_list_share=0.999999)
        outcome = simulate(log, parameters, opt_in=everyone, random=SimulationRandom(seed))
        lengths.append(outcome.candidates)
    p = float(ThresholdList(Parameters(method="published", delta=1e-5).budget).listing_probability(7))
    assert 0.85 < p < 0.9
    listed = np.array([sum(lengths), 12 * 1_000 - sum(lengths)])
    assert goodness(listed, np.array([p, 1 - p])) > 1e-4
