"""The noise has the law it claims: edges bit for bit, samples with power, both ways of sampling alike."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from blendp.errors import ParameterError, RandomnessError
from blendp.mechanisms.rounded_gaussian import RoundedGaussian
from blendp.mechanisms.rounded_gaussian.rounded_gaussian import _direct_edges, _stepped_edges
from blendp.privacy import hockey_stick
from blendp.privacy.gaussian import gaussian_delta
from blendp.randomness import Random, SimulationRandom
from tests.support import KnownKey, Script, goodness
from tests.unit.mechanisms.exact_law import CountingRandom
from tests.unit.privacy import exact_normal

SAMPLE = 100_000
WORD = (1 << 64) - 1


@pytest.mark.parametrize("sigma", ["1/16", "7/10", "9/2", "15003/1024", "600", "12345/7"])
def test_edges_are_the_law_to_the_last_of_64_bits(sigma: str) -> None:
    noise = RoundedGaussian(Fraction(sigma))
    ascending = noise._tail.edges
    size = len(ascending)
    assert ascending[0] == 0
    for x in {max(1, size // 7), size // 2, size - 1, size, 1, min(2, size), min(3, size)}:
        exact = exact_normal.upper_tail((x - Fraction(1, 2)) / noise.sigma)
        assert int(ascending[size - x]) == math.floor(exact * 2**64)
        assert noise.tail_bits(x, 200) == math.floor(exact * 2**200)


@pytest.mark.parametrize("sigma", ["8", "1001/100", "37"])
def test_steps_and_single_evaluations_make_the_same_table(sigma: str) -> None:
    noise = RoundedGaussian(Fraction(sigma))
    assert _stepped_edges(noise) == _direct_edges(noise)


def test_a_doubtful_edge_is_computed_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all edges in doubt the table is the same."""
    noise = RoundedGaussian(Fraction(9))
    asked: list[int] = []
    single = RoundedGaussian.tail_bits

    def counted(self: RoundedGaussian, x: int, bits: int) -> int:
        asked.append(x)
        return single(self, x, bits)

    monkeypatch.setattr(RoundedGaussian, "tail_bits", counted)
    sure = _stepped_edges(noise)
    assert asked == [1]
    monkeypatch.setattr("blendp.mechanisms.rounded_gaussian.rounded_gaussian._SLACK_BITS", 95)
    assert _stepped_edges(noise) == sure
    assert len(asked) > len(sure)


def test_far_tails_are_zero_bits_without_a_series() -> None:
    noise = RoundedGaussian(Fraction(1))
    assert noise.tail_bits(10**9, 64) == 0
    assert noise.tail_bits(30, 64) == 0
    assert noise.tail_bits(30, 700) == math.floor(exact_normal.upper_tail(Fraction(59, 2), 800) * 2**700) > 0


def law_on(noise: RoundedGaussian, reach: int) -> np.ndarray:
    """P(X <= -reach), P(X = x) for -reach < x < reach, P(X >= reach)."""
    inner = noise.probability(np.arange(-reach + 1, reach))
    tail = noise.at_least(reach)
    return np.concatenate([[tail], inner, [tail]])


@pytest.mark.statistical
@pytest.mark.parametrize("source", [KnownKey, SimulationRandom])
@pytest.mark.parametrize("sigma", [0.6, 2.0, 40.0])
def test_samples_follow_the_law_and_no_other_scale(source: Callable[[int], Random], sigma: float) -> None:
    noise = RoundedGaussian(Fraction(sigma))
    reach = math.ceil(6 * sigma)
    sample = noise.draw(SAMPLE, source(3))
    counts = np.bincount(np.clip(sample, -reach, reach) + reach, minlength=2 * reach + 1)
    assert goodness(counts, law_on(noise, reach)) > 1e-4
    for wrong in (0.7, 1.3):
        assert goodness(counts, law_on(RoundedGaussian(Fraction(sigma * wrong)), reach)) < 1e-20


@pytest.mark.statistical
def test_it_is_the_rounded_normal_law() -> None:
    sample = RoundedGaussian(Fraction(3)).draw(SAMPLE, KnownKey(9))
    normal = np.rint(np.random.default_rng(0).normal(0, 3, SAMPLE)).astype(np.int64)
    table = np.array([np.bincount(np.clip(x, -10, 10) + 10, minlength=21) for x in (sample, normal)])
    assert stats.chi2_contingency(table).pvalue > 1e-4


@pytest.mark.parametrize("sigma", ["1/3", "5/2", "321"])
def test_one_by_one_and_by_table_are_the_same_draws(sigma: str) -> None:
    random, noise = KnownKey(4), RoundedGaussian(Fraction(sigma))
    singles = [int(RoundedGaussian(Fraction(sigma)).draw(1, random)[0]) for _ in range(60)]
    assert noise.draw(60, KnownKey(4)).tolist() == singles
    assert "_tail" in vars(noise)


def test_a_table_is_made_when_it_pays() -> None:
    noise, random = RoundedGaussian(Fraction(800)), KnownKey(8)
    without = np.concatenate([noise.draw(33, random) for _ in range(3)])
    assert "_tail" not in vars(noise)
    with_table = noise.draw(1, random)
    assert "_tail" in vars(noise)
    assert np.concatenate([without, with_table]).tolist() == noise.draw(100, KnownKey(8)).tolist()


@pytest.mark.parametrize("guess", [0, 1, 2, 3, 4, 10, 10**6])
def test_a_wrong_guess_changes_no_draw(guess: int, monkeypatch: pytest.MonkeyPatch) -> None:
    uniforms = [0, 1, WORD >> 60, WORD >> 9, WORD >> 3, WORD >> 1, WORD]
    drawn = RoundedGaussian(Fraction(2)).draw(len(uniforms), Script([*uniforms, 5, 5]))
    monkeypatch.setattr(RoundedGaussian, "_guess", lambda *_: guess)
    for word, x in zip(uniforms, drawn.tolist(), strict=True):
        assert RoundedGaussian(Fraction(2)).draw(1, Script([word, 5])) == x


def test_scales_too_large_for_a_table_are_drawn_one_by_one() -> None:
    noise = RoundedGaussian(Fraction(10**7))
    sample = noise.draw(50, KnownKey(2))
    assert 0.7e7 < sample.std() < 1.4e7


@pytest.mark.parametrize("several", [1, 4])
def test_a_word_on_an_edge_is_settled_by_further_bits(several: int) -> None:
    """Alone (by bisection) and among others (by table)."""
    noise = RoundedGaussian(Fraction(7, 5))

    def draw(word: int, *more: int) -> int:
        fresh = RoundedGaussian(noise.sigma)
        return int(fresh.draw(several, Script([word, *[1 << 63] * (several - 1), *more]))[0])

    for x in (1, 3):
        edge = noise.tail_bits(x, 64)
        following, third = noise.tail_bits(x, 128) & WORD, noise.tail_bits(x, 192) & WORD
        assert draw(edge - 1) == x
        assert draw(edge + 1) == x - 1
        assert draw(edge, following - 1) == x
        assert draw(edge, following + 1) == x - 1
        assert draw(edge, following, third - 1) == x
        assert draw(edge, following, third + 1) == x - 1
        assert draw(edge ^ WORD, following - 1) == -x
    far = draw(0, 0, 5)
    assert far > len(noise._tail.edges)
    assert draw(WORD, 0, 5) == -far


@pytest.mark.statistical
def test_reaching_has_the_probability_of_the_tail() -> None:
    """Every position by itself, common and rare together; positions are independent."""
    noise = RoundedGaussian(Fraction(12))
    thresholds = np.array([1, 2, 5, 20, 25, 30, 25, 36, 44, 25, 1000])
    repeats = 40_000
    p = noise.at_least(thresholds)
    positions, values = noise.draw_reaching(np.tile(thresholds, repeats), KnownKey(6))
    assert (np.diff(positions) > 0).all()
    assert (values >= np.tile(thresholds, repeats)[positions]).all()
    reached = np.zeros(repeats * len(thresholds), dtype=bool)
    reached[positions] = True
    hits = reached.reshape(repeats, len(thresholds)).astype(np.float64)
    z = (hits.sum(axis=0) - repeats * p) / np.sqrt(repeats * p * (1 - p) + 1e-9)
    assert np.abs(z).max() < 4.5
    assert hits[:, -1].sum() == 0
    assert np.abs(np.corrcoef(hits[:, :-1].T) - np.eye(10)).max() < 4.5 / math.sqrt(repeats)


@pytest.mark.statistical
@pytest.mark.parametrize("threshold", [1, 10, 22, 30])
def test_how_many_reach_is_binomial(threshold: int) -> None:
    noise, random = RoundedGaussian(Fraction(12)), KnownKey(8)
    size, repeats = 60, 2_500
    p = float(noise.at_least(threshold))
    sizes = np.bincount(
        [len(noise.draw_reaching(np.full(size, threshold), random)[0]) for _ in range(repeats)], minlength=61
    )
    assert goodness(sizes, stats.binom.pmf(np.arange(size + 1), size, p)) > 1e-4
    for wrong in (0.7, 1.3):
        assert goodness(sizes, stats.binom.pmf(np.arange(size + 1), size, p * wrong)) < 1e-8


@pytest.mark.statistical
@pytest.mark.parametrize("source", [KnownKey, SimulationRandom])
@pytest.mark.parametrize("threshold", [1, 9, 25, 40])
def test_what_reaches_has_the_law_of_noise_that_does(source: Callable[[int], Random], threshold: int) -> None:
    """Below, at and above the zeros from which positions are thinned; no other scale has this law."""
    noise, wanted = RoundedGaussian(Fraction(12)), 6_000
    draws = math.ceil(wanted / float(noise.at_least(threshold)))
    positions, values = noise.draw_reaching(np.full(draws, threshold), source(threshold))
    assert abs(len(positions) - wanted) < 5 * math.sqrt(wanted)
    reach = 60
    counts = np.bincount(np.minimum(values, reach) - threshold, minlength=reach - threshold + 1)

    def law(sigma: Fraction) -> np.ndarray:
        x, other = np.arange(threshold, reach), RoundedGaussian(sigma)
        return np.append(other.probability(x), other.at_least(reach)) / other.at_least(threshold)

    assert goodness(counts, law(Fraction(12))) > 1e-4
    for wrong in (Fraction(7, 10), Fraction(13, 10)):
        assert goodness(counts, law(12 * wrong)) < 1e-8


def test_what_reaches_is_the_inverse_of_one_uniform_number() -> None:
    """Without thinning, the same words give the same noise."""
    noise = RoundedGaussian(Fraction(12))
    everything = noise.draw(500, KnownKey(5))
    positions, values = noise.draw_reaching(np.full(500, 3), KnownKey(5))
    assert positions.tolist() == np.flatnonzero(everything >= 3).tolist()
    assert values.tolist() == everything[everything >= 3].tolist()


def test_a_survivor_on_the_edge_is_settled_by_further_bits() -> None:
    noise = RoundedGaussian(Fraction(12))
    x = 40
    edge = noise.tail_bits(x, 64)
    zeros = 64 - edge.bit_length()
    assert zeros >= 4
    following, third = noise.tail_bits(x, 128) & WORD, noise.tail_bits(x, 192) & WORD
    heads = [1 << 63] * (zeros - 1)  # one coin each: its bit survives

    def reached(word: int, *more: int) -> list[list[int]]:
        # the last zero is the first bit of a whole word; then one word makes the choice of one among one
        script = Script([*heads, 0, 0, word << zeros, *more])
        return [each.tolist() for each in noise.draw_reaching(np.array([x]), script)]

    assert reached(edge - 1) == [[0], [x]]
    assert reached(edge + 1) == [[], []]
    assert reached(edge, following - 1) == [[0], [x]]
    assert reached(edge, following + 1) == [[], []]
    assert reached(edge, following, third - 1) == [[0], [x]]
    assert reached(edge, following, third + 1) == [[], []]
    above = noise.tail_bits(x + 3, 64)
    assert reached(above, noise.tail_bits(x + 3, 128) - (above << 64) - 1) == [[0], [x + 3]]
    assert reached(above, noise.tail_bits(x + 3, 128) - (above << 64) + 1) == [[0], [x + 2]]


def test_beyond_the_table_only_64_zeros_reach() -> None:
    noise = RoundedGaussian(Fraction(3, 2))
    x = len(noise._tail.edges) + 2
    edge = noise.tail_bits(x, 128)
    assert 0 < edge < 1 << 64
    heads = [1 << 63] * 63
    for word, reached in ((edge - 1, [[0], [x]]), (edge + 1, [[], []])):
        answer = noise.draw_reaching(np.array([x]), Script([*heads, 0, 0, 0, word]))
        assert [each.tolist() for each in answer] == reached
    assert [len(each) for each in noise.draw_reaching(np.zeros(0, dtype=np.int64), KnownKey(1))] == [0, 0]


def test_rare_events_cost_two_bits() -> None:
    random = CountingRandom(1)
    noise = RoundedGaussian(Fraction(50))
    thresholds = np.tile(np.arange(190, 290), 10_000)
    positions, _ = noise.draw_reaching(thresholds, random)
    assert random.drawn < len(thresholds) / 25
    expected = float(noise.at_least(thresholds).sum())
    assert abs(len(positions) - expected) < 5 * math.sqrt(expected)


@pytest.mark.parametrize("sigma", ["1/16", "1/4", "3/5", "199/100", "2", "35/2"])
def test_moments_and_tails_are_those_of_the_law(sigma: str) -> None:
    noise = RoundedGaussian(Fraction(sigma))
    x = np.arange(-400, 401)
    p = noise.probability(x)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert (p * x**2).sum() == pytest.approx(noise.variance, rel=1e-9)
    for bound in (-3, 0, 1, 5):
        assert float(noise.at_least(bound)) == pytest.approx(p[x >= bound].sum(), abs=1e-12)


@pytest.mark.parametrize(("sigma", "shift"), [("3/2", 1), ("6", 4), ("30", 30)])
def test_no_shift_is_told_better_than_by_the_continuous_noise(sigma: str, shift: int) -> None:
    noise = RoundedGaussian(Fraction(sigma))
    x = np.arange(-700, 701)
    for epsilon in (0.1, 1.0, 3.0):
        exact = hockey_stick(noise.probability(x - shift), noise.probability(x), epsilon)
        bound = gaussian_delta(shift / float(noise.sigma), epsilon)
        assert 0.5 * bound < exact <= bound


def test_released_noise_takes_released_randomness() -> None:
    noise = RoundedGaussian(Fraction(2))
    assert len(noise.release(5, KnownKey(1))) == 5
    with pytest.raises(RandomnessError):
        noise.release(5, SimulationRandom(1))  # type: ignore[arg-type]


@pytest.mark.parametrize("sigma", [Fraction(0), Fraction(-1), Fraction(1, 100), Fraction(10**10)])
def test_scales_out_of_range_are_refused(sigma: Fraction) -> None:
    with pytest.raises(ParameterError, match="sigma"):
        RoundedGaussian(sigma)
