"""What clients send and what that says: own values, exact losses, frequencies and variances at their ends."""

import numpy as np
import pytest

from blendp.arrays import Array
from blendp.survey import AnyLaw, Clusters, Joint, Promise, client_level, design, respond
from blendp.survey.designs import pair_bounds
from tests.support import KnownKey

SIZES, CLIENTS = (2, 3, 4), 400


def variance_at(f: Array, hit: float, stray: float, reports: int) -> Array:
    """Of (s/n - q)/(p - q), where s counts the reports that name a value: each does with probability q + f (p - q)."""
    share = stray + f * (hit - stray)
    return share * (1 - share) / (reports * (hit - stray) ** 2)


@pytest.mark.parametrize("method", ["split", "cbp"])
def test_frequencies_beyond_their_range_have_the_variance_of_its_end(method: str) -> None:
    """Every client names the first value of each attribute, and no client the last."""
    chosen = design(AnyLaw(SIZES), CLIENTS, Promise(3.0), method=method)
    (group,) = chosen.groups
    supports = []
    for randomiser, size in zip(group.randomisers, SIZES, strict=True):
        named = np.full(size, CLIENTS * randomiser.size // 2)
        named[0], named[-1] = CLIENTS, 0
        supports.append(named)
    level = client_level(chosen, supports)
    start = 0
    for randomiser, named, size in zip(group.randomisers, supports, SIZES, strict=True):
        part = slice(start, start + size)
        hit, stray = randomiser.hit, randomiser.stray
        raw = (named / CLIENTS - stray) / (hit - stray)
        assert raw[0] > 1
        assert raw[-1] < 0
        assert level.probability[part] == pytest.approx(raw)
        assert level.variance[part] == pytest.approx(variance_at(np.clip(raw, 0, 1), hit, stray, CLIENTS))
        assert level.floor[part] == pytest.approx(variance_at(np.zeros(size), hit, stray, CLIENTS))
        start += size


@pytest.mark.parametrize("method", ["split", "sample"])
def test_a_client_whose_reports_hide_nothing_sends_its_own_values(method: str) -> None:
    chosen = design(AnyLaw(SIZES), CLIENTS, Promise(50.0), method=method)
    record = (1, 2, 3)
    for number, group in enumerate(chosen.groups):
        own = tuple((record[attribute],) for attribute in group.attributes)
        assert respond(chosen, number, record, KnownKey(number)) == own


def test_a_design_reveals_no_more_than_its_reports_and_names_several_of_many_values() -> None:
    """A weak promise: the record's epsilon is the sum of those of its reports, and reports name half of the values."""
    weak = design(AnyLaw((40, 40)), CLIENTS, Promise(0.4), method="split")
    (group,) = weak.groups
    assert group.epsilons == pytest.approx((0.2, 0.2))
    assert weak.losses.record == pytest.approx(0.4, rel=1e-8)
    assert weak.losses.record <= 0.4
    assert weak.losses.by_attribute == pytest.approx((0.4, 0.4), rel=1e-8)
    assert weak.losses.kind == "exact"
    assert group.widths == (18, 18)  # 40/(e^0.2 + 1) = 18.007


def test_what_clusters_say_of_pairs_is_what_their_joint_law_says() -> None:
    generator = np.random.default_rng(2)
    first, second = generator.dirichlet(np.ones(6)).reshape(2, 3), generator.dirichlet(np.ones(4)).reshape(2, 2)
    clusters = Clusters((((0, 2), Joint(first)), ((1, 3), Joint(second))))
    whole = Joint(np.einsum("ac,bd->abcd", first, second))
    assert clusters.sizes == whole.sizes
    stated, true = pair_bounds(clusters), pair_bounds(whole)
    assert stated is not None
    assert true is not None
    for of_clusters, of_whole in zip(stated, true, strict=True):
        assert of_clusters.keys() == of_whole.keys()
        for pair, law in of_whole.items():
            assert of_clusters[pair] == pytest.approx(law)
