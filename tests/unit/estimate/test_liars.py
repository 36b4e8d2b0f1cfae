"""What is stated of liars is what liars do who choose what they answer: tried one by one, by the blend itself."""

import math
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.curator import OptInCounts
from blendp.estimate import (
    Arm,
    Influence,
    InfluenceGuard,
    Posterior,
    Split,
    hybrid_blend,
    influence,
    opt_in_posterior,
    split_estimate,
)
from blendp.headlist import HeadList
from blendp.reports import frequency_oracle
from tests.unit.estimate.test_hybrid import ROWS, P, clients_of, exact, people_of, posterior_of

SHARES = (0.0, 0.03, 0.15, 0.33, 0.65, 0.97, 1.0)
"""Of the liars, who answer about the record."""


def attacks(split: Split, allocations: Iterable[tuple[int, int]]) -> Iterator[tuple[int, Split]]:
    """Every way in which so many liars raise a query or a record: who joins the reports of both questions (or, if
    numbers are below 0, leaves them), and the query that is meant. Liars name nothing else of the query.
    """
    for of_record, of_query in allocations:
        for query in range(int(ROWS[-1])):
            cells = np.flatnonzero(ROWS[:-1] == query)
            turn = min(1.0, split.cells.randomiser.size / len(cells))
            for named, share in (*((cells[cells == cell], 1.0) for cell in cells), (cells, turn)):
                attacked = Split(
                    joined(split.queries, np.array([query]), of_query, 1.0),
                    joined(split.cells, named, of_record, share),
                    ROWS,
                )
                if min(attacked.queries.supports.min(), attacked.cells.supports.min()) >= 0:
                    yield query, attacked


def joined(arm: Arm, named: NDArray[np.int64], liars: int, share: float) -> Arm:
    supports = arm.supports.copy()
    supports[named] += round(share * liars)
    return Arm(arm.randomiser, arm.users + liars, supports)


def estimates(posterior: Posterior, split: Split, guard: InfluenceGuard) -> tuple[list[Array], list[Array]]:
    """Of the clients alone and blended: of cells and queries, <*,*> left out."""
    own = split_estimate(split)
    blended = hybrid_blend(posterior, split, guard)
    return ([own.cells.probability[:-1], own.queries.probability[:-1]], [level.probability[:-1] for level in blended])


def most(one: list[Array], other: list[Array], query: int) -> float:
    """The most that a cell of a query, or the query itself, is higher in one."""
    cells = ROWS[:-1] == query
    return max(float((one[0] - other[0])[cells].max()), float((one[1] - other[1])[query]))


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
@pytest.mark.parametrize(("cap", "liars"), [(None, 0.05), (3.0, 0.001), (3.0, 0.05)])
def test_it_is_what_the_worst_attack_does(
    epsilon: float, share: float, cap: float | None, liars: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of those that are compared; liars who come, and liars who may be there."""
    monkeypatch.setattr("blendp.estimate.liars.STEPS", 4)
    generator, guard = np.random.default_rng(round(100 * (epsilon + share + liars))), InfluenceGuard(cap)
    posterior = posterior_of(people_of(P, 20_000, generator), 20_000)
    split = clients_of(P, 100_000, generator, share, epsilon)
    own, blended = estimates(posterior, split, guard)
    worst_own, worst = 0.0, 0.0
    for sign, number in ((1, math.ceil(liars / (1 - liars) * split.users)), (-1, math.ceil(liars * split.users))):
        quarters = [math.ceil(number * i / 4) for i in range(5)]
        granted = list(zip(quarters[1:], quarters[:0:-1], strict=True)) if share else [(number, 0)]
        for query, attacked in attacks(split, [(sign * a, sign * b) for a, b in granted]):
            other_own, other = estimates(posterior, attacked, guard)
            worst_own = max(worst_own, most(other_own, own, query) if sign > 0 else most(own, other_own, query))
            worst = max(worst, most(other, blended, query) if sign > 0 else most(blended, other, query))
    said = influence(posterior, split, guard, liars)
    assert said.clients == pytest.approx(worst_own, rel=1e-9)
    assert said.capped == pytest.approx(worst, rel=1e-9)
    assert said.blended >= said.capped


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize(("share", "liars"), [(0.5, 0.01), (0.95, 0.001), (0.95, 0.01)])
def test_a_release_with_liars_in_it_says_what_they_have_done(epsilon: float, share: float, liars: float) -> None:
    """They know all reports, and choose query, record and question in the worst way, on shares of their own."""
    generator, guard, clients = np.random.default_rng(7), InfluenceGuard(3.0), 200_000
    number, ratios = round(liars * clients), np.empty((10, 2))
    allocations = [(round(one * number), number - round(one * number)) for one in SHARES]
    for run in range(len(ratios)):
        posterior = posterior_of(people_of(P, 10_000, generator), 10_000)
        honest = clients_of(P, clients - number, generator, share, epsilon)
        usual = estimates(posterior, honest, guard)
        tried = []
        for query, attacked in attacks(honest, allocations):
            after = estimates(posterior, attacked, guard)
            tried.append((attacked, [most(new, old, query) for new, old in zip(after, usual, strict=True)]))
        for kind, name in enumerate(("clients", "capped")):
            attacked, risen = max(tried, key=lambda one: one[1][kind])
            ratios[run, kind] = getattr(influence(posterior, attacked, guard, liars), name) / risen[kind]
    assert ratios.min() > 1 - 1e-9
    assert (np.median(ratios, axis=0) < 2).all()


@pytest.mark.parametrize("liars", [0.001, 0.05])
def test_that_the_groups_seem_to_differ_counts_as_the_liars_doing(liars: float) -> None:
    """Clients who say 20 % more of all records, believed with kappa, and held back without. A few in a thousand can be
    why: one precise record can decide whether groups seem to differ.
    """
    posterior, theirs = posterior_of(P[:-1] * 20_000, 20_000), P * 1.2
    theirs[-1] = 1 - theirs[:-1].sum()
    split = exact(theirs, 400_000, 0.5)
    believed, held_back = (
        hybrid_blend(posterior, split, InfluenceGuard(3.0, kappa))[0].probability[:-1] for kappa in (0.5, 0.0)
    )
    said = influence(posterior, split, InfluenceGuard(3.0, 0.5), liars)
    difference = float((believed - held_back).max())
    assert difference > 0.004
    assert said.capped > difference


def test_who_joins_few_is_many() -> None:
    """A twentieth answers about the record: a thousandth of all clients are a fiftieth of those."""
    posterior = posterior_of(P[:-1] * 20_000, 20_000)
    even, uneven = (influence(posterior, exact(P, 400_000, share), InfluenceGuard(3.0), 0.001) for share in (0.5, 0.95))
    assert uneven.clients > 0.001 * 20 * 0.8
    assert uneven.clients > 5 * even.clients


def test_the_cap_bounds_what_any_number_of_liars_can_do() -> None:
    posterior, split = posterior_of(P[:-1] * 20_000, 20_000), exact(P, 400_000, 0.5)
    few, many, half = (influence(posterior, split, InfluenceGuard(3.0), share) for share in (0.01, 0.1, 0.5))
    assert few.blended < many.blended < half.blended
    assert few.capped < half.capped < 1.2 * many.capped  # the more they are, the surer the clients seem
    deviation = np.sqrt(np.bincount(ROWS[:-1], weights=posterior.variance)).max()
    assert half.capped < 3 * 3 * deviation
    assert half.blended > 20 * half.capped
    free = influence(posterior, split, InfluenceGuard(), 0.1)
    assert free.capped == free.blended == many.blended


def test_where_groups_differ_clients_have_more_say_and_so_have_liars() -> None:
    posterior, split = posterior_of(P[:-1] * 20_000, 20_000), exact(P, 400_000, 0.5)
    alike, apart = (influence(posterior, split, InfluenceGuard(3.0, kappa), 0.01) for kappa in (0.0, 0.5))
    assert apart.clients == alike.clients
    assert apart.capped > 2 * alike.capped


def test_without_clients_or_without_a_list_there_is_nothing_to_raise() -> None:
    nobody = clients_of(P, 0, np.random.default_rng(1))
    assert influence(posterior_of(P[:-1] * 300, 300), nobody, InfluenceGuard(), 0.1) == Influence(0.1, 0, 0, 0)
    empty = HeadList.of_records([])
    split = clients_of(np.ones(1), 50, np.random.default_rng(1), rows=empty.query_of_cell)
    assert influence(posterior_of(np.zeros(0), 100, empty), split, InfluenceGuard(), 0.1) == Influence(0.1, 0, 0, 0)


@pytest.mark.parametrize("clients", [1, 2, 7])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_few_clients_have_a_finite_influence(clients: int, share: float) -> None:
    split = clients_of(P, clients, np.random.default_rng(clients), share)
    said = influence(posterior_of(P[:-1] * 300, 300), split, InfluenceGuard(3.0), 0.01)
    assert 0 < said.capped <= said.blended <= said.clients < 10


def test_liars_reach_less_far_where_the_wildcard_is_apart() -> None:
    """A long list, which few hold."""
    long = HeadList.of_records((f"q{i:02}", "u") for i in range(88))
    p = np.append(np.full(long.cells - 1, 0.1 / (long.cells - 1)), 0.9)
    counts = OptInCounts(long, 20_000, p * 20_000, np.full(long.cells, 2.0))
    posterior = opt_in_posterior(counts, counts, "none")
    share, users, generator = 0.01, 400_000, np.random.default_rng(6)
    rises = {}
    for oracle in ("split", "apart"):
        randomiser = frequency_oracle(oracle, 4.0, long.cells)
        nobody = frequency_oracle(oracle, 4.0, long.queries + 1)
        supports = randomiser.supports_of_counts(np.rint(p * users).astype(np.int64), generator)
        none_asked = Arm(nobody, 0, np.zeros(nobody.items, dtype=np.int64))
        split = Split(none_asked, Arm(randomiser, users, supports), long.query_of_cell)
        rises[oracle] = influence(posterior, split, InfluenceGuard(), share)
        # the record and its query's rest are named together
        assert rises[oracle].clients == pytest.approx(2 * share * randomiser.gain, rel=0.03)
    assert rises["apart"].clients < 0.7 * rises["split"].clients
    assert rises["apart"].blended < 1.1 * rises["split"].blended  # the blend believes sharper clients more
