"""The blend of the opt-in posterior and the clients' two answers, and what guards it against other people."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from blendp.arrays import Array
from blendp.curator import OptInCounts
from blendp.estimate import Arm, Blend, InfluenceGuard, Posterior, Split, hybrid_blend, opt_in_posterior
from blendp.estimate.hybrid import capped
from blendp.headlist import HeadList
from blendp.mechanisms import SubsetSelection

LIST = HeadList.of_records([("a", "1"), ("a", "2"), ("b", "1"), ("c", "1"), ("c", "2"), ("c", "3")])
ROWS = LIST.query_of_cell
P = np.array([0.06, 0.03, 0.02, 0.05, 0.01, 0.02, 0.01, 0.01, 0.02, 0.77])
"""a1 a2 a*  b1 b*  c1 c2 c3 c*  **."""
NOISE = 2.0


def posterior_of(people: Array, users: int, head_list: HeadList = LIST) -> Posterior:
    """Without a prior: what is estimated here is not selected."""
    cells = np.append(people, users - people.sum())
    counts = OptInCounts(head_list, users, cells, np.full(len(cells), NOISE))
    return opt_in_posterior(counts, counts, "none")


def people_of(p: Array, users: int, generator: np.random.Generator) -> Array:
    counts = generator.multinomial(users, p)[:-1]
    return np.asarray(counts + generator.normal(0, NOISE**0.5, len(counts)))


def clients_of(
    p: Array,
    users: int,
    generator: np.random.Generator,
    share: float = 0.5,
    epsilon: float = 4.0,
    rows: NDArray[np.int64] = ROWS,
) -> Split:
    arms = []
    asked = round(share * users)
    for items, number, law in ((int(rows[-1]) + 1, asked, np.bincount(rows, weights=p)), (len(rows), users - asked, p)):
        randomiser = SubsetSelection(epsilon, items)
        supports = randomiser.supports_of_counts(generator.multinomial(number, law), generator)
        arms.append(Arm(randomiser, number, supports))
    return Split(arms[0], arms[1], rows)


def exact(p: Array, users: int, share: float = 0.0, rows: NDArray[np.int64] = ROWS, epsilon: float = 4.0) -> Split:
    """Clients whose supports are just what is expected, up to rounding to whole people."""
    arms = []
    asked = round(share * users)
    for items, number, law in ((int(rows[-1]) + 1, asked, np.bincount(rows, weights=p)), (len(rows), users - asked, p)):
        randomiser = SubsetSelection(epsilon, items)
        expected = randomiser.stray + law * (randomiser.hit - randomiser.stray)
        arms.append(Arm(randomiser, number, np.rint(number * expected).astype(np.int64)))
    return Split(arms[0], arms[1], rows)


def same(one: Blend, other: Blend, cell: int) -> None:
    for name in ("probability", "variance", "weight_opt_in", "low", "high"):
        assert getattr(one, name)[cell] == pytest.approx(getattr(other, name)[cell], rel=1e-9)


@settings(max_examples=80)
@given(
    seed=st.integers(0, 10_000),
    opt_in=st.sampled_from([50, 2_000, 100_000]),
    clients=st.sampled_from([0, 3, 500, 50_000, 5_000_000]),
    share=st.sampled_from([0.0, 0.3, 0.95]),
    cap=st.sampled_from([None, 3.0, 0.5]),
    kappa=st.sampled_from([0.0, 0.2, 2.0]),
    alike=st.booleans(),
)
@example(seed=1, opt_in=2_000, clients=5_000_000, share=0.0, cap=None, kappa=0.0, alike=False)
def test_queries_are_sums_and_weights_are_weights(
    seed: int, opt_in: int, clients: int, share: float, cap: float | None, kappa: float, alike: bool
) -> None:
    """Whatever the groups say, however many they are, and however little they agree."""
    generator = np.random.default_rng(seed)
    p = generator.dirichlet(np.full(LIST.cells, 0.4))
    other = p if alike else generator.dirichlet(np.full(LIST.cells, 0.4))
    posterior = posterior_of(people_of(p, opt_in, generator), opt_in)
    split = clients_of(other, clients, generator, share)
    cells, queries = hybrid_blend(posterior, split, InfluenceGuard(cap, kappa))
    assert np.abs(np.bincount(ROWS, weights=cells.probability) - queries.probability).max() < 1e-12
    for level in (cells, queries):
        assert ((level.weight_opt_in >= 0) & (level.weight_opt_in <= 1)).all()
        assert (level.variance > 0).all()
        inside = np.less if cap else np.less_equal  # without a cap, clients may push an estimate off the posterior
        assert (inside(level.low, level.probability) & inside(level.probability, level.high)).all()
    same(cells, queries, -1)


@pytest.mark.parametrize("clients", [100, 20_000, 2_000_000])
@pytest.mark.parametrize("share", [0.0, 0.4, 0.9])
def test_no_source_alone_knows_more_than_the_blend(clients: int, share: float) -> None:
    """Where they agree: then the variance is at most that of the opt-in group, and of the clients, alone."""
    posterior = posterior_of(P[:-1] * 20_000, 20_000)
    split = exact(P, clients, share)
    cells, queries = hybrid_blend(posterior, split, InfluenceGuard(3.0))
    _, v = split.cells.observe(P[:-1])
    _, v_y = split.queries.observe(np.bincount(ROWS, weights=P)[:-1].astype(np.float64))
    for level, own, theirs in (
        (cells, posterior.variance, v),
        (queries, np.bincount(ROWS[:-1], weights=posterior.variance), np.bincount(ROWS[:-1], weights=v)),
    ):
        slack = 1.02  # v is taken at the opt-in mean, and densities are not quite normal
        assert (level.variance[:-1] <= slack * own).all()
        assert (level.variance[:-1] <= slack * theirs).all()
    assert (queries.variance[:-1] <= 1.02 * v_y).all()
    assert np.abs(cells.probability - P).max() < 0.01


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.0])
def test_the_clients_weight_is_how_far_an_estimate_follows_them(ratio: float, share: float) -> None:
    """Also where few opt-in people hold a record and clients say otherwise: there the blend may know less than the
    opt-in group seemed to, and still it follows the clients.
    """
    people, users, clients = np.array([4.0, 9.0, 30.0, 6.0, 100.0, 12.0, 5.0, 40.0, 20.0]), 20_000, 2_000_000
    law = np.append(ratio * people / users, 0.0)
    law[-1] = 1 - law.sum()
    posterior, split = posterior_of(people, users), exact(law, clients, share, epsilon=1.0)
    cells, _ = hybrid_blend(posterior, split, InfluenceGuard())
    for cell, query in enumerate(ROWS[:-1]):
        rise = 1e-4
        low, high = (
            hybrid_blend(posterior, _raised(split, cell, query, by), InfluenceGuard())[0].probability[cell]
            for by in (-rise, rise)
        )
        assert 1 - cells.weight_opt_in[cell] == pytest.approx((high - low) / (2 * rise), abs=0.08)


def _raised(split: Split, cell: int, query: int, by: float) -> Split:
    """The same clients, whose estimates of a cell and its query are so much higher."""
    arms = []
    for arm, item in ((split.queries, query), (split.cells, cell)):
        supports = arm.supports.copy()
        assert isinstance(arm.randomiser, SubsetSelection)
        supports[item] += round(by * arm.users * (arm.randomiser.hit - arm.randomiser.stray))
        arms.append(Arm(arm.randomiser, arm.users, supports))
    return Split(arms[0], arms[1], split.query_of_cell)


def test_without_clients_the_opt_in_group_stands_alone() -> None:
    posterior = posterior_of(P[:-1] * 300, 300)
    cells, queries = hybrid_blend(posterior, clients_of(P, 0, np.random.default_rng(1)), InfluenceGuard(3.0))
    assert np.array_equal(cells.probability[:-1], posterior.mean)
    assert np.array_equal(cells.variance[:-1], posterior.variance)
    assert cells.probability[-1] == 1 - posterior.mean.sum()
    assert cells.variance[-1] == pytest.approx(posterior.variance.sum())
    assert cells.weight_opt_in == pytest.approx(np.ones(10), rel=1e-12)
    assert queries.weight_opt_in == pytest.approx(np.ones(4), rel=1e-12)
    for ends, level in ((cells.low, 0.025), (cells.high, 0.975)):
        assert ends[:-1] == pytest.approx(posterior.quantile(np.full(9, level)), rel=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("clients", [3_000, 50_000])
def test_what_is_listed_nowhere_has_the_variance_of_a_sum(clients: int) -> None:
    """Nine tenths of all people hold something listed, so their numbers go together: cells that were independent would
    vary three times as much in all.
    """
    law, opt_in = np.append(P[:-1] * 0.9 / P[:-1].sum(), 0.1), 20_000
    generator, away, stated = np.random.default_rng(6), [], []
    for _ in range(400):
        posterior = posterior_of(people_of(law, opt_in, generator), opt_in)
        variance = law[-1] * (1 - law[-1]) / opt_in + 9 * NOISE / opt_in**2
        split = clients_of(law, clients, generator)
        cells, queries = hybrid_blend(posterior, split, InfluenceGuard(3.0), variance)
        same(cells, queries, -1)
        away.append(cells.probability[-1] - law[-1])
        stated.append(cells.variance[-1])
    assert abs(np.mean(away)) < 0.2 * np.std(away)
    assert np.mean(stated) == pytest.approx(np.var(away), rel=0.2)


def test_liars_pull_what_is_listed_nowhere_to_the_cap_at_most() -> None:
    """And where the groups differ throughout, the opt-in group speaks for itself."""
    variance = 0.77 * 0.23 / 20_000
    posterior = posterior_of(P[:-1] * 20_000, 20_000)
    nobody = np.append(np.zeros(9), 1.0)
    liars = exact(nobody, 20_000)
    free, guarded = (hybrid_blend(posterior, liars, InfluenceGuard(cap), variance)[0] for cap in (None, 2.0))
    _, clients = liars.cells.observe_rest(posterior.mean)
    weight = guarded.weight_opt_in[-1]
    assert weight == pytest.approx(clients / (clients + variance))
    pull = guarded.probability[-1] - (1 - posterior.mean.sum())
    assert pull == pytest.approx((1 - weight) * 2 * np.sqrt(clients + variance))
    assert free.probability[-1] > guarded.probability[-1] + 0.05
    apart = hybrid_blend(posterior, liars, InfluenceGuard(None, 0.5), variance)[0]
    assert apart.weight_opt_in[-1] < 0.8 * weight


def test_an_empty_list_is_certain() -> None:
    empty = HeadList.of_records([])
    posterior = posterior_of(np.zeros(0), 100, empty)
    split = clients_of(np.ones(1), 50, np.random.default_rng(1), rows=empty.query_of_cell)
    for level in hybrid_blend(posterior, split, InfluenceGuard(3.0)):
        assert (level.probability.tolist(), level.variance.tolist()) == ([1], [0])


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("opt_in", "clients", "epsilon"),
    [(20_000, 100_000, 2.0), (400, 20_000, 4.0), (300, 3_000_000, 6.0)],
    ids=["both", "few opt-in", "precise clients"],
)
def test_the_blend_is_centred_and_its_intervals_hold(opt_in: int, clients: int, epsilon: float) -> None:
    """Also where the clients know thousands of times more than the opt-in group: a grid must not be too coarse."""
    generator = np.random.default_rng(4)
    truth = {"cells": P, "queries": np.bincount(ROWS, weights=P)}
    scores: dict[str, list[Array]] = {"cells": [], "queries": []}
    covered: dict[str, list[NDArray[np.bool_]]] = {"cells": [], "queries": []}
    for _ in range(300):
        posterior = posterior_of(people_of(P, opt_in, generator), opt_in)
        blends = hybrid_blend(posterior, clients_of(P, clients, generator, 0.6, epsilon), InfluenceGuard())
        for name, level in zip(truth, blends, strict=True):
            scores[name].append((level.probability - truth[name]) / level.std_error)
            covered[name].append((level.low <= truth[name]) & (truth[name] <= level.high))
    for name, z in scores.items():
        listed = np.array(z)[:, :-1]
        assert abs(listed.mean()) < 0.2, name
        assert 0.85 < listed.std() < 1.08, name
        assert 0.93 < np.array(covered[name])[:, :-1].mean() < 0.98, name


def test_the_cap_moves_what_is_farther_than_it_allows() -> None:
    estimate, centre, variance = np.array([1.0, 5.0, -9.0]), np.zeros(3), np.array([4.0, 4.0, 1.0])
    assert capped(estimate, centre, variance, 2.0).tolist() == [1, 4, -2]
    assert capped(estimate, centre, variance, None) is estimate


def test_a_conflict_does_not_lead_a_weight_out_of_its_range() -> None:
    """A few opt-in people, and clients who say much more: the product can be wider than the opt-in density."""
    posterior = posterior_of(np.full(9, 5.0), 1_000)
    high = np.full(10, 0.02)
    high[-1] = 1 - high[:-1].sum()
    cells, queries = hybrid_blend(posterior, exact(high, 600, 0.0), InfluenceGuard())
    assert (cells.variance[:-1] > 0.9 * posterior.variance).any()
    assert cells.weight_opt_in.max() <= 1
    assert queries.weight_opt_in.max() <= 1


ONE_LEVEL = HeadList.of_records([(f"q{i}", None) for i in range(6)], levels=1)


@pytest.mark.parametrize("kappa", [0.0, 0.02, 0.05, 0.1, 0.15])
@pytest.mark.parametrize("clients", [50_000, 500_000, 5_000_000])
def test_random_effects_give_the_clients_their_weight(kappa: float, clients: int) -> None:
    """w_O = (v_C + psi kappa^2 p^2)/(v_C + v_O + kappa^2 p^2), seen in the weight and in the estimate itself."""
    users = 100_000
    p = np.array([0.2, 0.15, 0.1, 0.08, 0.06, 0.05, 0.36])
    theirs = p * np.array([1.03, 0.97, 1.04, 0.96, 1.05, 0.95, 1.0])
    theirs[-1] = 1 - theirs[:-1].sum()
    posterior = posterior_of(p[:-1] * users, users, ONE_LEVEL)
    split = exact(theirs, clients, rows=ONE_LEVEL.query_of_cell)
    cells, _ = hybrid_blend(posterior, split, InfluenceGuard(None, kappa))
    x, v = split.cells.observe(posterior.mean)
    psi, between = users / (users + clients), (kappa * posterior.mean) ** 2
    weight = (v + psi * between) / (v + posterior.variance + between)
    assert cells.weight_opt_in[:-1] == pytest.approx(weight, rel=0.05)
    blended = weight * posterior.mean + (1 - weight) * x
    assert cells.probability[:-1] == pytest.approx(blended, abs=0.1 * cells.std_error[:-1].min() + 2e-3 * p.min())
    variance = weight * (posterior.variance + (1 - psi) * between)
    assert cells.variance[:-1] == pytest.approx(variance, rel=0.05)


def test_groups_that_differ_much_are_still_weighed() -> None:
    """Opt-in people of whom each record is known to 1 %, clients who say half as much again: with kappa = 0.5 the
    estimate follows the clients, though that is dozens of standard errors away from the opt-in group.
    """
    users, p = 100_000, np.array([0.2, 0.15, 0.1, 0.08, 0.06, 0.05, 0.36])
    theirs = p * 1.5
    theirs[-1] = 1 - theirs[:-1].sum()
    posterior = posterior_of(p[:-1] * users, users, ONE_LEVEL)
    split = exact(theirs, 2_000_000, rows=ONE_LEVEL.query_of_cell)
    cells, _ = hybrid_blend(posterior, split, InfluenceGuard(3.0, 0.5))
    assert cells.probability[:-1] == pytest.approx(theirs[:-1], rel=0.05)
    assert (cells.weight_opt_in[:-1] < 0.1).all()
