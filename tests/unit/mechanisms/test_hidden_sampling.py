"""Hidden sampling: its exact channel, cell by cell, its losses against enumeration, its supports and its estimate."""

import math
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from blendp.errors import ParameterError, RandomnessError
from blendp.mechanisms import HiddenSampling
from blendp.mechanisms.hidden_sampling import hidden_sampling
from blendp.privacy import worst_log_ratio
from blendp.randomness import Random, ReleaseRandom, SimulationRandom
from tests.support import KnownKey, branches, goodness

SMALL: list[tuple[float, tuple[int, ...]]] = [
    (1.0, (2,)),
    (2.0, (4,)),
    (0.7, (2, 2)),
    (1.5, (2, 3)),
    (3.0, (4, 2)),
    (0.5, (2, 2, 2)),
    (2.0, (2, 3, 2)),
]
Box = Mapping[tuple[int, int], NDArray[np.float64]]


def name(randomiser: HiddenSampling) -> str:
    return f"{randomiser.inner:g}-{'x'.join(map(str, randomiser.values))}"


def all_records(values: tuple[int, ...]) -> list[tuple[int, ...]]:
    return list(product(*(range(m) for m in values)))


def exact(randomiser: HiddenSampling, report: tuple[int, ...], record: tuple[int, ...]) -> Fraction:
    """P(report | record) as the sum over the attribute that is drawn."""
    d, total = len(randomiser.values), Fraction(0)
    for drawn in range(d):
        p = Fraction(randomiser.coins[drawn], 1 << 53)
        ways = p if report[drawn] == record[drawn] else (1 - p) / (randomiser.values[drawn] - 1)
        for j, m in enumerate(randomiser.values):
            ways *= 1 if j == drawn else Fraction(1, m)
        total += ways / d
    return total


def conditionals(values: tuple[int, ...], joint: NDArray[np.float64]) -> dict[tuple[int, int], NDArray[np.float64]]:
    """P(b_j = x | b_i = s) of a joint law, for all ordered pairs."""
    laws = {}
    for i, j in product(range(len(values)), repeat=2):
        if i != j:
            rest = tuple(k for k in range(len(values)) if k not in (i, j))
            pair = joint.sum(axis=rest)
            pair = pair if i < j else pair.T
            laws[i, j] = pair / pair.sum(axis=1, keepdims=True)
    return laws


def enumerated_losses(randomiser: HiddenSampling, joint: NDArray[np.float64]) -> list[float]:
    """The largest log-ratio of P(report | b_i = s) for every attribute i, from the whole channel and joint law."""
    losses = []
    for i, m in enumerate(randomiser.values):
        own = np.indices(randomiser.values)[i].ravel()
        given_own = np.array([np.where(own == s, joint.ravel(), 0) for s in range(m)])
        given_own /= given_own.sum(axis=1, keepdims=True)
        losses.append(worst_log_ratio(given_own @ randomiser.channel()))
    return losses


def enumerated_bounds(randomiser: HiddenSampling, low: Box, high: Box) -> list[float]:
    """The largest log-ratio for every attribute, over all reports and values, with either end of the boxes."""
    values, bounds = randomiser.values, []
    p = [coin / 2**53 for coin in randomiser.coins]
    other = [m * (1 - p[j]) / (m - 1) for j, m in enumerate(values)]

    def weight(box: Box, i: int, s: int, report: tuple[int, ...]) -> float:
        shares = [float(v == s) if j == i else box[i, j][s, v] for j, v in enumerate(report)]
        return sum(other[j] + (m * p[j] - other[j]) * shares[j] for j, m in enumerate(values))

    for i, m in enumerate(values):
        choices = product(all_records(values), range(m), range(m))
        ratios = [weight(high, i, s, v) / weight(low, i, z, v) for v, s, z in choices if s != z]
        bounds.append(math.log(max(ratios)))
    return bounds


def random_joint(values: tuple[int, ...], generator: np.random.Generator) -> NDArray[np.float64]:
    """From nearly uniform to nearly deterministic, every value of every attribute possible."""
    spread = float(generator.choice([0.05, 0.3, 1.0, 10.0]))
    law = generator.dirichlet(np.full(math.prod(values), spread)) + 1e-6
    joint = (law / law.sum()).reshape(values)
    if generator.random() < 0.3:
        joint = np.where(joint < np.median(joint), 0, joint)
        joint[tuple(np.arange(max(values)) % m for m in values)] += 0.01
    return np.asarray(joint / joint.sum())


@pytest.mark.parametrize("randomiser", [HiddenSampling(*case) for case in SMALL], ids=name)
def test_the_code_draws_exactly_the_channel_it_states(randomiser: HiddenSampling) -> None:
    """Follow every path of decisions through the code, with exact fractions."""
    records = all_records(randomiser.values)
    channel = randomiser.channel()
    for row, record in enumerate(records):
        drawn = [Fraction(0)] * len(records)

        def draw(random: Random, record: tuple[int, ...] = record) -> int:
            return records.index(tuple(randomiser.draw([record], random)[0].tolist()))

        for report, probability in branches(draw):
            drawn[report] += probability
        assert drawn == [exact(randomiser, report, record) for report in records]
        assert sum(drawn) == 1
        assert channel[row] == pytest.approx([float(p) for p in drawn], rel=1e-14)


@pytest.mark.parametrize("randomiser", [HiddenSampling(*case) for case in SMALL], ids=name)
def test_both_losses_are_those_of_the_channel(randomiser: HiddenSampling) -> None:
    records = all_records(randomiser.values)
    whole = one = Fraction(1)
    for report, first, second in product(records, repeat=3):
        ratio = exact(randomiser, report, first) / exact(randomiser, report, second)
        whole = max(whole, ratio)
        if sum(a != b for a, b in zip(first, second, strict=True)) == 1:
            one = max(one, ratio)
    assert whole < Fraction(Decimal(randomiser.inner).exp(Context(prec=80)))
    assert randomiser.loss() == pytest.approx(math.log(whole), abs=1e-15)
    assert randomiser.one_attribute_loss() == pytest.approx(math.log(one), abs=1e-15)
    assert randomiser.loss() == pytest.approx(worst_log_ratio(randomiser.channel()), abs=1e-13)


@settings(max_examples=200)
@given(inner=st.floats(1e-6, 50), values=st.lists(st.integers(2, 5000), min_size=1, max_size=6))
def test_the_record_loses_inner_and_one_attribute_no_more(inner: float, values: list[int]) -> None:
    randomiser = HiddenSampling(inner, tuple(values))
    assert 0 < randomiser.one_attribute_loss() <= randomiser.loss() <= inner
    if inner < 20:
        assert randomiser.loss() == pytest.approx(inner, abs=1e-5)
    whole = 1 << 53
    target = Fraction(Decimal(inner).exp(Context(prec=80)))
    for m, coin in zip(values, randomiser.coins, strict=True):
        assert 1 < Fraction(coin * (m - 1), whole - coin) < target
        assert coin + 1 == whole or Fraction((coin + 1) * (m - 1), whole - coin - 1) > target


@settings(max_examples=200)
@given(epsilon=st.floats(0.01, 6), attributes=st.integers(1, 12), m=st.integers(2, 200))
def test_published_epsilon_holds_for_one_of_equal_attributes_and_not_for_the_record(
    epsilon: float, attributes: int, m: int
) -> None:
    randomiser = HiddenSampling.published(epsilon, [m] * attributes)
    assert randomiser.inner == pytest.approx(math.log(attributes * (math.exp(epsilon) - 1) + 1))
    assert randomiser.one_attribute_loss() == pytest.approx(epsilon, abs=1e-10)
    assert randomiser.loss() == pytest.approx(randomiser.inner, abs=1e-10)
    assert (randomiser.loss() > epsilon + 1e-3) == (attributes > 1)


@settings(max_examples=200)
@given(epsilon=st.floats(0.1, 4), values=st.lists(st.integers(2, 60), min_size=2, max_size=6))
def test_published_epsilon_fails_for_the_attribute_with_most_values(epsilon: float, values: list[int]) -> None:
    randomiser = HiddenSampling.published(epsilon, values)
    e = math.exp(randomiser.inner)
    weights = np.array([m / (e + m - 1) for m in values])
    worst = math.log1p((math.exp(epsilon) - 1) * weights.max() / weights.mean())
    assert randomiser.one_attribute_loss() == pytest.approx(worst, abs=1e-10)
    assert (randomiser.one_attribute_loss() > epsilon + 1e-7) == (len(set(values)) > 1)


@pytest.mark.parametrize(
    ("epsilon", "values", "one", "record"),
    [(1.0, (2, 2), 1.0, 1.4899), (1.0, (2, 40), 1.2400, 1.4899), (1.0, (2,) * 9 + (1000,), 2.2815, 2.9005)],
)
def test_losses_of_the_published_choice(epsilon: float, values: tuple[int, ...], one: float, record: float) -> None:
    randomiser = HiddenSampling.published(epsilon, values)
    assert randomiser.one_attribute_loss() == pytest.approx(one, abs=5e-5)
    assert randomiser.loss() == pytest.approx(record, abs=5e-5)


@pytest.mark.parametrize("values", [(2,), (2, 2), (3, 2), (2, 3, 3), (3, 3, 3), (2, 2, 2, 2), (7, 9), (3, 2, 2, 3)])
def test_attribute_losses_are_those_of_the_enumerated_joint_law(values: tuple[int, ...]) -> None:
    generator = np.random.default_rng(11)
    for _ in range(40):
        randomiser, joint = HiddenSampling(generator.uniform(0.1, 5), values), random_joint(values, generator)
        laws = conditionals(values, joint)
        assert randomiser.attribute_losses(laws, laws) == pytest.approx(enumerated_losses(randomiser, joint), abs=1e-12)


@settings(max_examples=100)
@given(
    inner=st.floats(0.05, 8),
    values=st.sampled_from([(2, 2), (2, 3), (3, 3), (2, 2, 2), (3, 2, 3)]),
    width=st.floats(0, 1),
    seed=st.integers(0, 1 << 32),
)
def test_attribute_losses_of_boxes_are_never_below_the_truth(
    inner: float, values: tuple[int, ...], width: float, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    randomiser, joint = HiddenSampling(inner, values), random_joint(values, generator)
    laws = conditionals(values, joint)
    rows = {pair: width * generator.random((len(law), 1)) for pair, law in laws.items()}
    low = {pair: np.maximum(law - rows[pair] * generator.random(law.shape), 0) for pair, law in laws.items()}
    high = {pair: np.minimum(law + rows[pair] * generator.random(law.shape), 1) for pair, law in laws.items()}
    bounds = randomiser.attribute_losses(low, high)
    assert (bounds >= np.array(enumerated_losses(randomiser, joint)) - 1e-12).all()
    assert (bounds <= randomiser.loss()).all()
    assert bounds == pytest.approx(enumerated_bounds(randomiser, low, high), abs=1e-12)


def test_attribute_losses_between_ignorance_identity_and_independence() -> None:
    """Boxes that allow all, and attributes that repeat each other, lose inner; a uniform stranger hides best."""
    generator = np.random.default_rng(12)
    randomiser, pairs = HiddenSampling(1.7, (4, 4, 4)), [(i, j) for i in range(3) for j in range(3) if i != j]
    nothing: Box = {pair: np.zeros((4, 4)) for pair in pairs}
    everything: Box = {pair: np.ones((4, 4)) for pair in pairs}
    same: Box = {pair: np.eye(4) for pair in pairs}
    uniform: Box = {pair: np.full((4, 4), 0.25) for pair in pairs}
    losses = [randomiser.attribute_losses(*box) for box in ((nothing, everything), (same, same), (uniform, uniform))]
    assert losses[0] == pytest.approx(np.full(3, randomiser.loss()), abs=1e-14)
    assert losses[1] == pytest.approx(np.full(3, randomiser.loss()), abs=1e-14)
    e = math.exp(1.7)
    hidden = math.log((4 * e / (e + 3) + 2) / (4 / (e + 3) + 2))
    assert losses[2] == pytest.approx(np.full(3, hidden), abs=1e-12)
    laws = [generator.dirichlet(np.ones(4)) for _ in range(3)]
    independent: Box = {(i, j): np.tile(laws[j], (4, 1)) for i, j in pairs}
    assert (randomiser.attribute_losses(independent, independent) > hidden).all()


@settings(max_examples=100)
@given(
    inner=st.floats(0.05, 8), values=st.lists(st.integers(2, 12), min_size=1, max_size=5), seed=st.integers(0, 1 << 32)
)
def test_independent_attributes_lose_no_more_than_a_change_of_one(inner: float, values: list[int], seed: int) -> None:
    """Certain attributes, of which a value never occurs, lose just that."""
    generator, randomiser = np.random.default_rng(seed), HiddenSampling(inner, tuple(values))
    laws = [generator.dirichlet(np.full(m, 0.5)) for m in values]
    certain = [np.eye(m)[0] for m in values]
    pairs = [(i, j) for i in range(len(values)) for j in range(len(values)) if i != j]
    for alone in (laws, certain):
        box: Box = {(i, j): np.tile(alone[j], (values[i], 1)) for i, j in pairs}
        losses = randomiser.attribute_losses(box, box)
        assert (losses <= randomiser.one_attribute_loss() + 1e-12).all()
    assert losses.max() == pytest.approx(randomiser.one_attribute_loss(), abs=1e-12)


def test_attribute_losses_in_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values, generator = (5, 8, 3), np.random.default_rng(13)
    randomiser, laws = HiddenSampling(2.0, values), conditionals(values, random_joint(values, generator))
    low, high = ({pair: law * scale for pair, law in laws.items()} for scale in (0.9, 1.0))
    at_once = randomiser.attribute_losses(low, high)
    for cells in (1, 100):
        monkeypatch.setattr(hidden_sampling, "_MAX_CELLS", cells)
        assert np.array_equal(randomiser.attribute_losses(low, high), at_once)


@pytest.mark.parametrize(("inner", "values"), SMALL)
def test_estimates_are_unbiased_with_the_stated_variance(inner: float, values: tuple[int, ...]) -> None:
    """Exact means and variances over the law of one report."""
    randomiser = HiddenSampling(inner, values)
    joint = random_joint(values, np.random.default_rng(14))
    codes, reports = np.indices(values).reshape(len(values), -1), joint.ravel() @ randomiser.channel()
    for j, m in enumerate(values):
        indicators = np.eye(m)[codes[j]]
        right = np.where(np.eye(m) == 1, randomiser.hit[j], randomiser.stray[j])
        assert randomiser.channel() @ indicators == pytest.approx(right[codes[j]], abs=1e-14)
        frequency, estimates = joint.ravel() @ indicators, randomiser.estimate(j, indicators, 1)
        assert reports @ estimates == pytest.approx(frequency, abs=1e-12)
        spread = reports @ (estimates - frequency) ** 2
        assert spread == pytest.approx(randomiser.variance(j, frequency, 1), rel=1e-10)
        assert randomiser.variance(j, frequency, 50) == pytest.approx(spread / 50, rel=1e-10)
        assert estimates.sum(axis=1) == pytest.approx(np.ones(len(estimates)))


def test_the_marginal_channel_comes_from_the_coins() -> None:
    randomiser = HiddenSampling(2.0, (3, 50, 2))
    for j, (m, coin) in enumerate(zip(randomiser.values, randomiser.coins, strict=True)):
        p = Fraction(coin, 1 << 53)
        q = (1 - p) / (m - 1)
        assert randomiser.hit[j] == float(p / 3 + Fraction(2, 3 * m))
        assert randomiser.stray[j] == float(q / 3 + Fraction(2, 3 * m))
    with pytest.raises(ValueError, match="read-only"):
        randomiser.hit[0] = 1


@pytest.mark.statistical
@pytest.mark.parametrize("source", [KnownKey, SimulationRandom])
@pytest.mark.parametrize(("inner", "values", "record"), [(1.5, (3, 2), (2, 0)), (2.5, (2, 3, 2), (1, 1, 0))])
def test_both_sources_draw_the_same_channel(
    source: Callable[[int], Random], inner: float, values: tuple[int, ...], record: tuple[int, ...]
) -> None:
    """Every report, with enough draws to tell it from the channel of an inner a fifth less or a quarter more."""
    randomiser = HiddenSampling(inner, values)
    drawn = randomiser.draw(np.tile(record, (60_000, 1)), source(3))
    row, cells = int(np.ravel_multi_index(record, values)), math.prod(values)
    counts = np.bincount(np.ravel_multi_index(tuple(drawn.T), values), minlength=cells)
    assert goodness(counts, randomiser.channel()[row]) > 1e-4
    for scale in (0.8, 1.25):
        assert goodness(counts, HiddenSampling(scale * inner, values).channel()[row]) < 1e-9


@pytest.mark.statistical
def test_estimates_of_many_people_spread_as_stated() -> None:
    """And those of an inner a fifth less or a quarter more are biased."""
    values, users, runs = (3, 5), 2000, 400
    randomiser, generator, random = HiddenSampling(2.0, values), np.random.default_rng(15), KnownKey(15)
    joint = np.outer([0.7, 0.2, 0.1], [0.6, 0.4, 0, 0, 0])
    codes = np.stack(np.unravel_index(generator.choice(joint.size, (runs, users), p=joint.ravel()), values), axis=-1)
    supports = [randomiser.supports(people, random) for people in codes]
    for j in range(2):
        frequency = joint.sum(axis=1 - j)
        totals = np.array([support[j] for support in supports])
        estimates = randomiser.estimate(j, totals, users)
        error = np.sqrt(randomiser.variance(j, frequency, users) / runs)
        assert np.abs((estimates.mean(axis=0) - frequency) / error).max() < 4.5
        assert np.abs(estimates.var(axis=0) / (runs * error**2) - 1).max() < 4.5 * math.sqrt(2 / runs)
        for scale in (0.8, 1.25):
            other = HiddenSampling(scale * 2.0, values).estimate(j, totals, users).mean(axis=0)
            assert np.abs((other - frequency) / error).max() > 9


@pytest.mark.parametrize("values", [(5,), (2, 7), (3, 3, 40)])
def test_supports_are_the_counts_of_the_reports_draw_for_draw(values: tuple[int, ...]) -> None:
    randomiser = HiddenSampling(1.0, values)
    people = np.arange(70_000)[:, None] ** 2 % np.array(values)
    before = people.copy()
    reports = randomiser.draw(people, SimulationRandom(1))
    totals = randomiser.supports(people, SimulationRandom(1))
    assert np.array_equal(people, before)
    assert reports.shape == people.shape
    for j, m in enumerate(values):
        assert np.array_equal(totals[j], np.bincount(reports[:, j], minlength=m))
        assert totals[j].dtype == np.int64
        kept = (reports[:, j] == people[:, j]).mean()
        assert kept == pytest.approx(randomiser.hit[j], abs=4.5 * math.sqrt(0.25 / len(people)))


def test_one_person_and_nobody() -> None:
    randomiser = HiddenSampling(1.0, (2, 3))
    random = ReleaseRandom()
    reports = np.concatenate([randomiser.draw([[1, 2]], random) for _ in range(50)])
    assert reports.shape == (50, 2)
    assert (reports >= 0).all()
    assert (reports < [2, 3]).all()
    empty: list[ArrayLike] = [[], np.empty((0, 2))]
    for nobody in empty:
        assert randomiser.draw(nobody, random).shape == (0, 2)
        assert [total.tolist() for total in randomiser.supports(nobody, random)] == [[0, 0], [0, 0, 0]]


def test_only_cryptographic_randomness_is_released() -> None:
    randomiser = HiddenSampling(1.0, (2, 3))
    assert randomiser.release([[0, 1], [1, 2]], ReleaseRandom()).shape == (2, 2)
    with pytest.raises(RandomnessError, match="SimulationRandom is not for released data"):
        randomiser.release([[0, 1]], SimulationRandom(1))  # type: ignore[arg-type]


def test_one_line_for_people() -> None:
    assert str(HiddenSampling.published(1.0, (2, 40))) == (
        "hidden sampling (ε = 1.49 for the record, 1.24 for one attribute): 2 attributes, one answered with ε = 1.49"
    )
    assert "1 attribute," in str(HiddenSampling(1.0, (2,)))


@pytest.mark.parametrize("inner", [0.0, -1.0, math.nan, math.inf, 51, True, "1"])
def test_impossible_inner_epsilons_are_refused(inner: float) -> None:
    with pytest.raises(ParameterError, match="inner"):
        HiddenSampling(inner, (2, 3))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, 51, True])
def test_impossible_epsilons_are_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        HiddenSampling.published(epsilon, (2, 3))


@pytest.mark.parametrize("m", [2, 3, 50, 999, 1_000_000])
def test_an_inner_that_the_coin_cannot_show_is_refused(m: int) -> None:
    for inner in (1e-17, 1e-300, 5e-324):
        with pytest.raises(ParameterError, match=rf"2\^-52 times .*, {m}\."):
            HiddenSampling(inner, (2, m))
    assert 0 < HiddenSampling(m * 2.0**-51, (2, m)).one_attribute_loss() <= m * 2.0**-51


@pytest.mark.parametrize("values", [(), (1,), (2, 1), (2, 2.0), (2, True), (2, 1_000_001), "23"])
def test_impossible_attributes_are_refused(values: tuple[int, ...]) -> None:
    for make in (HiddenSampling, HiddenSampling.published):
        with pytest.raises(ParameterError, match="values"):
            make(1.0, values)


def test_attributes_are_kept_as_a_tuple() -> None:
    assert HiddenSampling(1.0, [2, 3]) == HiddenSampling(1.0, (2, 3))  # type: ignore[arg-type]
    assert hash(HiddenSampling(1.0, (2, 3))) == hash(HiddenSampling(1.0, (2, 3)))


@pytest.mark.parametrize("codes", [[0, 1], [[0]], [[0, 1, 1]], [[0, 3]], [[2, 0]], [[-1, 0]], [[0.0, 1.0]], [[[0, 1]]]])
def test_impossible_records_are_refused(codes: list[list[int]]) -> None:
    randomiser = HiddenSampling(1.0, (2, 3))
    for use in (randomiser.draw, randomiser.supports):
        with pytest.raises(ParameterError, match="codes"):
            use(codes, SimulationRandom(1))


def test_impossible_conditionals_are_refused() -> None:
    randomiser = HiddenSampling(1.0, (2, 3))
    law = {(0, 1): np.full((2, 3), 1 / 3), (1, 0): np.full((3, 2), 1 / 2)}
    assert randomiser.attribute_losses(law, law).shape == (2,)
    for pair in law:
        less = {other: value for other, value in law.items() if other != pair}
        for low, high in ((less, law), (law, less)):
            with pytest.raises(ParameterError, match=rf"\[{pair[0]}, {pair[1]}\].*all ordered pairs"):
                randomiser.attribute_losses(low, high)
    for low_part, high_part, match in (
        (law[1, 0], law[0, 1], r"of shape \(2, 3\)"),
        (law[0, 1] - 0.5, law[0, 1], "0 <= low"),
        (law[0, 1], law[0, 1] + 0.7, "high <= 1"),
        (law[0, 1] * [1.1, 1, 0.5], law[0, 1] * [1, 1, 2], "low <= high"),
        (law[0, 1] * math.nan, law[0, 1], "0 <= low"),
        (law[0, 1] * 1.1, law[0, 1] * 1.2, "sum 1"),
        (law[0, 1] * 0.8, law[0, 1] * 0.9, "sum 1"),
    ):
        with pytest.raises(ParameterError, match=match):
            randomiser.attribute_losses({**law, (0, 1): low_part}, {**law, (0, 1): high_part})


def test_conditionals_that_rounding_took_out_of_range_are_taken_back() -> None:
    randomiser = HiddenSampling(30.0, (2, 2))
    right = np.array([[1.0, 0.0], [0.0, 1.0]])
    wrong = np.array([[1 + 1e-12, -1e-12], [-1e-12, 1 + 1e-12]])
    losses = [randomiser.attribute_losses(*[{(0, 1): law, (1, 0): law}] * 2) for law in (right, wrong)]
    assert losses[1] == pytest.approx(losses[0], abs=1e-14)


def test_numbers_of_users_attributes_and_large_channels() -> None:
    randomiser = HiddenSampling(1.0, (2, 3))
    for users in (0, -1, 1.5):
        with pytest.raises(ParameterError, match="users"):
            randomiser.estimate(0, [1, 2], users)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="users"):
            randomiser.variance(0, 0.1, users)  # type: ignore[arg-type]
    for attribute in (-1, 2, 0.5):
        with pytest.raises(ParameterError, match="attribute"):
            randomiser.estimate(attribute, [1, 2], 3)  # type: ignore[arg-type]
    assert HiddenSampling(1.0, (32, 32)).channel().sum(axis=1) == pytest.approx(np.ones(1024))
    with pytest.raises(ParameterError, match="they need no channel"):
        HiddenSampling(1.0, (32, 33)).channel()
