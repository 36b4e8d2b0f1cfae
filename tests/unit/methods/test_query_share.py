"""How many clients report the query: what promises the smallest errors, from released numbers alone."""

import numpy as np
import pytest
from scipy.stats import binom

from blendp.curator import OptInCounts
from blendp.errors import ParameterError
from blendp.estimate import Arm, InfluenceGuard, Posterior, Split, hybrid_blend, opt_in_posterior
from blendp.headlist import HeadList
from blendp.mechanisms import SubsetSelection
from blendp.methods.query_share import (
    SHARES,
    best_oracle,
    best_query_share,
    fits,
    predicted_error,
    predicted_errors,
    sturdiest,
)

MANY_URLS = HeadList.of_records((f"q{i}", f"u{j:02}") for i in range(4) for j in range(12))
ONE_URL = HeadList.of_records((f"q{i:02}", "u") for i in range(30))


def posterior_of(head_list: HeadList, users: int, mass: float = 0.3) -> Posterior:
    people = np.full(head_list.cells, users * mass / (head_list.cells - 1))
    people[-1] = users * (1 - mass)
    counts = OptInCounts(head_list, users, people, np.full(head_list.cells, 2.0))
    return opt_in_posterior(counts, counts, "none")


def randomisers(head_list: HeadList, epsilon: float) -> tuple[SubsetSelection, SubsetSelection]:
    return SubsetSelection(epsilon, head_list.queries + 1), SubsetSelection(epsilon, head_list.cells)


@pytest.mark.parametrize("head_list", [MANY_URLS, ONE_URL], ids=["many URLs", "one URL"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("users", [300, 50_000])
def test_the_share_is_the_most_even_of_those_with_about_the_least_predicted_errors(
    head_list: HeadList, epsilon: float, users: int
) -> None:
    posterior, (queries, cells) = posterior_of(head_list, users), randomisers(head_list, epsilon)
    chosen = best_query_share(posterior, queries, cells, head_list, 100_000)
    errors = np.array(predicted_errors(SHARES, posterior, queries, cells, head_list, 100_000))
    least = errors[:, errors.sum(axis=0).argmin()]
    good = [share for share, each in zip(SHARES, errors.T, strict=True) if (0.99 * each <= least).all()]
    assert chosen in good
    assert abs(chosen - 0.5) == min(abs(share - 0.5) for share in good)
    assert np.isfinite(errors).all()
    assert min(SHARES) == 0
    assert max(SHARES) == 0.8  # where few answer, liars who choose to are many


def test_no_sum_pays_more_than_a_hundredth_for_an_even_share() -> None:
    """In each draw for itself; of the shares that are not left out, unless all are."""
    rising, flat = np.linspace(1.0, 1.5, len(SHARES)), np.ones(len(SHARES))
    falling = 2.0 - 1e-3 * np.arange(len(SHARES))
    errors = np.array([np.stack([rising, flat, falling], axis=1), np.stack([flat, flat, flat], axis=1)])
    assert np.array(SHARES)[sturdiest(errors)].tolist() == [0.0, 0.5, 0.5]
    errors[1, 12:, 1] = 0.9  # queries pay nothing, records 1/9, to be even
    assert SHARES[sturdiest(errors)[1]] == SHARES[12]
    most = np.array([rising[3], np.inf])[:, None, None]
    assert np.array(SHARES)[sturdiest(errors, most)].tolist() == [0.0, SHARES[12], 0.5]
    assert sturdiest(errors, np.zeros((2, 1, 1))).tolist() == sturdiest(errors).tolist()


@pytest.mark.parametrize("share", [0.0, 0.003, 0.3, 0.5, 0.95])
@pytest.mark.parametrize("clients", [1, 30, 5_000, 400_000])
def test_clients_who_follow_their_coins_are_hardly_ever_suspected(share: float, clients: int) -> None:
    """By the exact law of how many report the query: at most once in 10,000 releases."""
    every = np.arange(clients + 1)
    near = every[np.abs(every - share * clients) <= 12 * np.sqrt(share * (1 - share) * clients) + 30]
    misfits = [number for number in near.tolist() if not fits(share, number, clients)]
    assert binom.pmf(misfits, clients, share).sum() <= 1e-4
    assert binom.pmf(near, clients, share).sum() > 1 - 1e-9


def test_clients_who_choose_their_question_are_noticed() -> None:
    """One in a hundred, who all give the answer that fewer give; and one who answers what nobody is asked."""
    for share in (0.5, 0.8, 0.95):
        assert fits(share, round(share * 400_000), 400_000)
        assert not fits(share, round(0.99 * share * 400_000), 400_000)
        assert not fits(1 - share, 400_000 - round(0.99 * share * 400_000), 400_000)
    assert not fits(0.0, 1, 400_000)
    assert fits(0.0, 0, 400_000)
    assert fits(0.4, 0, 0)


@pytest.mark.statistical
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_the_prediction_comes_true(share: float) -> None:
    """The errors that the blend then states, and makes, are those that were predicted."""
    head_list, users, clients, generator = MANY_URLS, 20_000, 100_000, np.random.default_rng(1)
    queries, cells = randomisers(head_list, 4.0)
    rows = head_list.query_of_cell
    p = np.full(head_list.cells, 0.3 / (head_list.cells - 1))
    p[-1] = 0.7
    said, stated, actual = [], [], []
    for _ in range(100):
        people = generator.multinomial(users, p) + generator.normal(0, 2**0.5, head_list.cells)
        counts = OptInCounts(head_list, users, people, np.full(head_list.cells, 2.0))
        posterior = opt_in_posterior(counts, counts, "none")
        asked = round(share * clients)
        split = Split(
            Arm(
                queries,
                asked,
                queries.supports_of_counts(generator.multinomial(asked, np.bincount(rows, weights=p)), generator),
            ),
            Arm(cells, clients - asked, cells.supports_of_counts(generator.multinomial(clients - asked, p), generator)),
            rows,
        )
        of_cells, of_queries = hybrid_blend(posterior, split, InfluenceGuard())
        listed = head_list.record_cells
        said.append(predicted_error(share, posterior, queries, cells, head_list, clients))
        stated.append(of_cells.std_error[listed].sum() + of_queries.std_error[:-1].sum())
        error = np.abs(of_cells.probability - p)[listed].sum()
        error += np.abs(of_queries.probability - np.bincount(rows, weights=p))[:-1].sum()
        actual.append(error * (np.pi / 2) ** 0.5)
    assert np.mean(stated) == pytest.approx(np.mean(said), rel=0.03)
    assert np.mean(actual) == pytest.approx(np.mean(said), rel=0.08)


def test_it_depends_on_the_released_numbers() -> None:
    """Lists of many URLs are better asked by query first; with hardly any clients the opt-in group settles it."""
    queries, cells = randomisers(MANY_URLS, 1.0)
    wide = posterior_of(MANY_URLS, 500)
    chosen = best_query_share(wide, queries, cells, MANY_URLS, 1_000_000)
    again = best_query_share(posterior_of(MANY_URLS, 500), queries, cells, MANY_URLS, 1_000_000)
    assert chosen == again
    others = {
        best_query_share(posterior_of(MANY_URLS, users), queries, cells, MANY_URLS, 1_000_000)
        for users in (500, 50_000, 5_000_000)
    }
    assert len(others) > 1


@pytest.mark.parametrize("clients", [0, 1])
def test_without_clients_there_is_nothing_to_choose(clients: int) -> None:
    assert best_query_share(posterior_of(ONE_URL, 500), *randomisers(ONE_URL, 1.0), ONE_URL, clients) == 0


@pytest.mark.parametrize("clients", range(2, 25))
def test_any_small_number_of_clients_has_a_share(clients: int) -> None:
    posterior = posterior_of(ONE_URL, 500)
    queries, cells = randomisers(ONE_URL, 1.0)
    assert best_query_share(posterior, queries, cells, ONE_URL, clients) in SHARES
    assert all(np.isfinite(predicted_error(share, posterior, queries, cells, ONE_URL, clients)) for share in SHARES)


def test_one_level_and_empty_lists_ask_for_the_record() -> None:
    one_level = HeadList.of_records([("a", None), ("b", None)], levels=1)
    empty = HeadList.of_records([])
    for head_list in (one_level, empty):
        posterior = posterior_of(head_list, 500) if head_list.records else posterior_of_nothing(head_list)
        assert best_query_share(posterior, *randomisers(head_list, 1.0), head_list, 1_000) == 0


def posterior_of_nothing(empty: HeadList) -> Posterior:
    counts = OptInCounts(empty, 500, np.array([500.0]), np.zeros(1))
    return opt_in_posterior(counts, counts)


@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_expected_probabilities_above_one_are_borne(epsilon: float) -> None:
    """Noise can make the sum of a query's cells larger than 1."""
    head_list = HeadList.of_records([("q", "u")])
    posterior = posterior_of(head_list, 500, mass=1.2)
    queries, cells = randomisers(head_list, epsilon)
    for share in SHARES:
        assert predicted_error(share, posterior, queries, cells, head_list, 1_000) > 0


def test_the_share_can_serve_queries_or_records_alone() -> None:
    posterior, (queries, cells) = posterior_of(MANY_URLS, 2_000), randomisers(MANY_URLS, 4.0)
    chosen = {
        sharpest: best_query_share(posterior, queries, cells, MANY_URLS, 100_000, sharpest)
        for sharpest in ("queries", "both", "records")
    }
    assert chosen["queries"] > chosen["both"] > chosen["records"]

    def error(share: float, sharpest: str) -> float:
        return predicted_error(share, posterior, queries, cells, MANY_URLS, 100_000, sharpest)

    for share in (0.0, 0.4):
        assert error(share, "queries") + error(share, "records") == pytest.approx(error(share, "both"))
    for sharpest, share in chosen.items():
        assert 0.99 * error(share, sharpest) <= min(error(one, sharpest) for one in SHARES)
    with pytest.raises(ParameterError, match="sharpest"):
        error(0.0, "neither")


def test_the_wildcard_is_apart_where_that_promises_smaller_errors() -> None:
    """On long lists that few hold it does; where most hold something listed, or a list is short, it does not."""
    long = HeadList.of_records((f"q{i:03}", "u") for i in range(200))
    short = HeadList.of_records([("a", "u"), ("b", "u")])
    assert best_oracle(posterior_of(long, 5_000, mass=0.1), 4.0, long) == "apart"
    assert best_oracle(posterior_of(long, 5_000, mass=0.95), 4.0, long) == "split"
    assert best_oracle(posterior_of(short, 5_000), 4.0, short) == "split"
    assert best_oracle(posterior_of(long, 5_000, mass=0.1), 2.0**-41, long) == "split"
    empty = HeadList(())
    assert best_oracle(opt_in_posterior_of_nothing(), 4.0, empty) == "split"


def opt_in_posterior_of_nothing() -> Posterior:
    counts = OptInCounts(HeadList(()), 10, np.array([10.0]), np.array([2.0]))
    return opt_in_posterior(counts, counts, "none")
