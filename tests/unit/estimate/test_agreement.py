"""Do the groups tell the same story? False alarms as often as said, differences found, and liars told from others."""

import numpy as np
import pytest
from scipy import stats

from blendp.arrays import Array
from blendp.curator import OptInCounts
from blendp.estimate import Arm, CrossCheck, Posterior, Split, cross_check, opt_in_posterior
from blendp.estimate.agreement import SIGNIFICANT
from blendp.headlist import HeadList
from blendp.mechanisms import SubsetSelection
from blendp.reports import frequency_oracle

LIST = HeadList.of_records((f"q{i:02}", f"u{j}") for i in range(12) for j in range(i % 3 + 1))
ROWS = LIST.query_of_cell
P = np.append(0.02 / np.arange(1, LIST.cells) ** 0.4, 0.0)
P[-1] = 1 - P.sum()
USERS, CLIENTS, NOISE = 20_000, 400_000, 2.0


def posterior_of(p: Array, generator: np.random.Generator, users: int = USERS) -> Posterior:
    people = generator.multinomial(users, p)[:-1] + generator.normal(0, NOISE**0.5, LIST.cells - 1)
    counts = OptInCounts(LIST, users, np.append(people, users - people.sum()), np.full(LIST.cells, NOISE))
    return opt_in_posterior(counts, counts, "none")


def arm(
    items: int,
    users: int,
    law: Array,
    generator: np.random.Generator,
    liars: int = 0,
    target: int = 0,
    oracle: str = "split",
) -> Arm:
    randomiser = frequency_oracle(oracle, 4.0, items)
    supports = randomiser.supports_of_counts(generator.multinomial(users - liars, law), generator)
    supports[target] += liars
    return Arm(randomiser, users, supports)


def clients_of(
    p: Array, generator: np.random.Generator, users: int = CLIENTS, share: float = 0.5, oracle: str = "split"
) -> Split:
    asked = round(share * users)
    of_queries = np.asarray(np.bincount(ROWS, weights=p), dtype=np.float64)
    return Split(
        arm(LIST.queries + 1, asked, of_queries, generator, oracle=oracle),
        arm(LIST.cells, users - asked, p, generator, oracle=oracle),
        ROWS,
    )


def other_people(kappa: float, generator: np.random.Generator) -> Array:
    """Probabilities that differ from P by so much of their size, all over the list."""
    p = P * np.maximum(1 + kappa * generator.standard_normal(LIST.cells), 0.05)
    p[-1] = 1 - p[:-1].sum()
    return p


@pytest.mark.statistical
@pytest.mark.parametrize(("share", "oracle"), [(0.0, "split"), (0.6, "split"), (0.0, "apart"), (0.6, "apart")])
def test_false_alarms_are_as_rare_as_said(share: float, oracle: str) -> None:
    generator = np.random.default_rng(1)
    runs = 200
    checks = [
        cross_check(posterior_of(P, generator), clients_of(P, generator, share=share, oracle=oracle), generator)
        for _ in range(runs)
    ]
    p_values = np.array([one.p_value for one in checks], dtype=np.float64)
    for level in (0.05, 0.2, 0.5):
        low, high = stats.binom.interval(0.999, runs, level)
        assert low <= (p_values < level).sum() <= high
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3
    z = np.concatenate([one.z for one in checks])
    assert abs(z.mean()) < 0.05
    assert z.std() == pytest.approx(1, abs=0.04)
    assert np.mean([one.kappa > 0 for one in checks]) < 0.12
    assert max(one.kappa for one in checks) < 0.25
    assert sum(len(one.flagged) > 0 for one in checks) <= stats.binom.ppf(0.999, runs, SIGNIFICANT)


@pytest.mark.statistical
@pytest.mark.parametrize("kappa", [0.2, 0.5])
def test_groups_that_differ_throughout_are_found_and_how_much(kappa: float) -> None:
    generator = np.random.default_rng(2)
    kappas, limits = [], []
    for _ in range(20):
        check = cross_check(
            posterior_of(P, generator), clients_of(other_people(kappa, generator), generator), generator
        )
        assert check.differ
        assert "do not tell the same story" in check.statement
        kappas.append(check.kappa)
        limits.append(check.kappa_max or np.inf)
    assert np.mean(np.array(kappas) > 0) >= 0.8
    assert np.median(kappas) == pytest.approx(kappa, rel=0.25)
    assert np.mean(np.array(limits) > kappa) >= 0.8
    assert np.max(limits) < 2.5 * kappa


def test_kappa_has_no_jump() -> None:
    """Clients who drift away from the opt-in group: kappa begins at 0 and no step of it is large."""
    generator = np.random.default_rng(6)
    posterior, far = posterior_of(P, generator), other_people(0.6, generator)
    kappas = []
    for part in np.linspace(0, 1, 41):
        law = P + part * (far - P)
        of_queries = np.asarray(np.bincount(ROWS, weights=law), dtype=np.float64)
        arms = []
        for items, probabilities in ((LIST.queries + 1, of_queries), (LIST.cells, law)):
            randomiser = SubsetSelection(4.0, items)
            expected = randomiser.stray + probabilities * (randomiser.hit - randomiser.stray)
            arms.append(Arm(randomiser, CLIENTS, np.rint(CLIENTS * expected).astype(np.int64)))
        kappas.append(cross_check(posterior, Split(arms[0], arms[1], ROWS), np.random.default_rng(7)).kappa)
    assert kappas[0] == 0
    assert kappas[-1] > 0.3
    assert np.abs(np.diff(kappas)).max() < 0.08


def test_one_record_however_far_off_hardly_moves_kappa() -> None:
    """What one record can say is bounded, so that liars do not choose whom the blend believes."""
    generator = np.random.default_rng(8)
    for target in (0, 3, 20):
        posterior, honest = posterior_of(P, generator), clients_of(P, generator)
        supports = honest.cells.supports.copy()
        supports[target] += honest.cells.users // 10
        cells = Arm(honest.cells.randomiser, honest.cells.users, supports)
        check = cross_check(posterior, Split(honest.queries, cells, ROWS), generator)
        assert abs(check.z[target]) > 20
        assert check.kappa == 0


@pytest.mark.statistical
def test_a_few_records_under_attack_are_flagged_but_do_not_make_other_people_of_the_clients() -> None:
    """2 % of the clients name one of three records, or its query: the overall test fails, kappa stays 0."""
    generator = np.random.default_rng(3)
    targets = [0, 5, 20]
    for _ in range(10):
        posterior, honest = posterior_of(P, generator), clients_of(P, generator)
        raised = []
        for one, places in ((honest.queries, ROWS[targets]), (honest.cells, np.array(targets))):
            supports = one.supports.copy()
            np.add.at(supports, places, round(0.02 * one.users / len(targets)))
            raised.append(Arm(one.randomiser, one.users, supports))
        check = cross_check(posterior, Split(raised[0], raised[1], ROWS), generator)
        assert check.differ
        assert check.kappa == 0
        assert set(targets) <= set(check.flagged.tolist())
        assert len(check.flagged) <= 9  # the other cells of the same queries may be pulled along
        assert (check.z[targets] > 5).all()


def test_the_same_generator_gives_the_same_check() -> None:
    generator = np.random.default_rng(4)
    posterior, split = posterior_of(P, generator), clients_of(P, generator)
    one, two = (cross_check(posterior, split, np.random.default_rng(9)) for _ in range(2))
    assert one.p_value == two.p_value
    assert np.array_equal(one.z, two.z)


@pytest.mark.parametrize(("users", "clients", "share"), [(0, 500, 0.5), (500, 0, 0.5), (500, 500, 1.0)])
def test_where_there_is_nothing_to_compare(users: int, clients: int, share: float) -> None:
    generator = np.random.default_rng(5)
    check = cross_check(posterior_of(P, generator, users), clients_of(P, generator, clients, share), generator)
    assert (check.p_value, check.kappa, check.statistic, check.differ) == (None, 0, 0, False)
    assert len(check.flagged) == 0
    assert "could not be compared" in check.statement
    assert check.to_dict()["p_value"] is None


def test_an_empty_list_has_nothing_to_compare() -> None:
    empty = HeadList.of_records([])
    counts = OptInCounts(empty, 100, np.array([100.0]), np.zeros(1))
    single = SubsetSelection(4.0, 1)
    one = Arm(single, 50, np.array([50]))
    check = cross_check(
        opt_in_posterior(counts, counts), Split(one, one, empty.query_of_cell), np.random.default_rng(1)
    )
    assert check.p_value is None


@pytest.mark.parametrize(("p_value", "share"), [(0.9975, "100 %"), (1.0, "100 %"), (0.304, "30 %"), (0.0123, "1.2 %")])
def test_chances_are_plain_numbers(p_value: float, share: str) -> None:
    assert f"by chance in {share} of releases" in CrossCheck(np.array([0.1]), 0.01, p_value, 0.0).statement


def test_a_check_says_what_it_found() -> None:
    quiet = CrossCheck(np.array([0.1, -0.5]), 0.26, 0.8, 0.0)
    assert "tell the same story, as far as can be seen" in quiet.statement
    assert "80 %" in quiet.statement
    assert "cannot tell how large" in quiet.statement
    assert "up to 23 %" in CrossCheck(np.array([0.1]), 0.01, 0.5, 0.0, 0.231).statement
    loud = CrossCheck(np.array([0.1, -7.0]), 49.0, 0.001, 0.0)
    assert loud.flagged.tolist() == [1]
    assert loud.differ
    document = CrossCheck(np.array([4.0, -7.0]), 65.0, 0.001, 0.3).to_dict()
    assert document["flagged_cells"] == [0, 1]
    assert document["differ"] is True
    assert "30 %" in document["statement"]
