"""Words, coins, integers and subsets: exact, and of two types that do not mix."""

import copy
import json
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import assume, given
from hypothesis import strategies as st

from blendp.errors import ParameterError, RandomnessError
from blendp.mechanisms import DiscreteLaplace, ThresholdList, TwoStage
from blendp.privacy import Budget
from blendp.randomness import DerivedRandom, Random, ReleaseRandom, SimulationRandom, require_release
from tests.support import KnownKey, Script, goodness

SOURCES = pytest.mark.parametrize("source", [KnownKey, SimulationRandom])


def test_release_words_are_the_aes_counter_stream() -> None:
    random = KnownKey(123)
    drawn = np.concatenate([random.words(3), random.words(200_001), random.words(2)]).astype("<u8").tobytes()
    block = Cipher(algorithms.AES256((123).to_bytes(32, "big")), modes.ECB()).encryptor()
    counters = b"".join(i.to_bytes(16, "big") for i in range(len(drawn) // 16 + 1))
    assert block.update(counters)[: len(drawn)] == drawn


def test_a_derived_source_is_a_function_of_key_purpose_and_data() -> None:
    key = bytes(range(32))
    first = DerivedRandom(key, "list", b"ab", b"c")
    require_release(first)
    drawn = first.words(8).tolist()
    assert DerivedRandom(key, "list", b"ab", b"c").words(8).tolist() == drawn
    others = [
        DerivedRandom(bytes(32), "list", b"ab", b"c"),
        DerivedRandom(key, "release", b"ab", b"c"),
        DerivedRandom(key, "list", b"a", b"bc"),
        DerivedRandom(key, "list", b"abc"),
        DerivedRandom(key, "list", b"c", b"ab"),
        DerivedRandom(key, "list", b"ab", b"c", b""),
        DerivedRandom(key, "list", b"ab", b"b"),
    ]
    seen = [tuple(other.words(8).tolist()) for other in others]
    assert len({*seen, tuple(drawn)}) == 8
    assert not set(drawn) & {word for some in seen for word in some}


def test_a_derived_source_has_a_whole_key_and_hides_it() -> None:
    with pytest.raises(ParameterError, match="key = '16 bytes' is not allowed: it must be 32 bytes"):
        DerivedRandom(bytes(16), "list")
    random = DerivedRandom(bytes(32), "list")
    assert repr(random) == "DerivedRandom()"
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(RandomnessError):
            copied(random)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_derived_source_is_of_no_use_in_a_forked_process() -> None:
    random = DerivedRandom(bytes(32), "list")
    random.words(4)

    def draw() -> list[int]:
        for _ in range(2):
            with pytest.raises(RandomnessError, match="derive it there"):
                random.words(4)
        return [1]

    assert in_a_fork(draw) == [1]


def test_two_release_sources_differ() -> None:
    assert not np.array_equal(ReleaseRandom().words(4), ReleaseRandom().words(4))


def test_release_source_hides_its_key_and_cannot_be_copied() -> None:
    random = ReleaseRandom()
    assert repr(random) == "ReleaseRandom()"
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(RandomnessError, match="cannot be copied"):
            attempt(random)


def _child(random: ReleaseRandom, queue: "multiprocessing.SimpleQueue[list[int]]") -> None:
    queue.put(random.words(4).tolist())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_gets_another_stream() -> None:
    random = ReleaseRandom()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=_child, args=(random, queue))
    process.start()
    theirs = queue.get()
    process.join()
    assert theirs != random.words(4).tolist()


class Interrupted(ReleaseRandom):
    """Its operating system fails to give a key, as often as the test says, in a forked process only."""

    def __init__(self, failures: int) -> None:
        self.parent, self.failures = os.getpid(), failures
        super().__init__()

    def _fresh_key(self) -> bytes:
        if os.getpid() != self.parent and self.failures:
            self.failures -= 1
            raise KeyboardInterrupt
        return super()._fresh_key()


def in_a_fork(draw: Callable[[], list[int]]) -> list[int]:
    """What ``draw`` gives in a forked process."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(write, json.dumps(draw()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    sequence: list[int] = json.loads(answer)
    return sequence


def insisting(random: ReleaseRandom) -> list[int]:
    """Four words, asked for again after every interrupt."""
    while True:
        try:
            sequence: list[int] = random.words(4).tolist()
            return sequence
        except KeyboardInterrupt:
            continue


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("failures", [0, 1, 2])
def test_a_forked_process_never_draws_its_parents_words(failures: int) -> None:
    """Nor if it was interrupted before it had a key of its own."""
    random = Interrupted(failures)
    random.words(1)
    drawn = [in_a_fork(lambda: insisting(random)) for _ in range(2)]
    drawn.append(random.words(4).tolist())
    assert len({word for sequence in drawn for word in sequence}) == 12


class Slow(ReleaseRandom):
    """In a forked process the key comes only after another thread has asked for words."""

    def __init__(self) -> None:
        self.asked, self.entered = threading.Event(), threading.Event()
        super().__init__()

    def _fresh_key(self) -> bytes:
        if threading.current_thread().name == "first":
            self.entered.set()
            self.asked.wait(10)
        return super()._fresh_key()


def two_threads(random: Slow) -> list[int]:
    """Words that a second thread draws while the first still waits for the new key."""
    first = threading.Thread(target=random.words, args=(1,), name="first", daemon=True)
    first.start()
    random.entered.wait(10)
    drawn: list[int] = random.words(4).tolist()
    random.asked.set()
    first.join(10)
    return drawn


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_second_thread_of_a_forked_process_never_draws_the_parents_words() -> None:
    random = Slow()
    theirs = in_a_fork(lambda: two_threads(random))
    assert len({*theirs, *random.words(4).tolist()}) == 8


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_number_that_comes_back_is_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grandchild may get the number of a process that has ended."""
    number = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: number)
    random = ReleaseRandom()
    theirs = in_a_fork(lambda: random.words(4).tolist())
    assert len({*theirs, *random.words(4).tolist()}) == 8


@pytest.mark.parametrize(
    "release",
    [
        lambda random: DiscreteLaplace.for_counts(1, 1).release(1, random),
        lambda random: ThresholdList(Budget(4, 1e-5)).release(np.array([9]), random),
        lambda random: TwoStage(Budget(4), np.array([2, 1])).release([0], random),
    ],
)
def test_simulation_randomness_is_refused_where_a_release_is_made(release: object) -> None:
    with pytest.raises(RandomnessError, match="not for released data"):
        release(SimulationRandom(0))  # type: ignore[operator]
    release(ReleaseRandom())  # type: ignore[operator]


def test_simulation_is_reproducible_and_spawns_independent_streams() -> None:
    assert np.array_equal(SimulationRandom(5).words(9), SimulationRandom(5).words(9))
    first, second = (SimulationRandom(5) for _ in range(2))
    children = [first.spawn().words(4).tolist(), first.spawn().words(4).tolist(), SimulationRandom(5).words(4).tolist()]
    assert len({tuple(child) for child in children}) == 3
    assert second.spawn().words(4).tolist() == children[0]
    with pytest.raises(ParameterError, match="seed"):
        SimulationRandom(-1)


def test_coins_compare_53_bits_with_the_numerator() -> None:
    numerator = 3 << 50
    edge = numerator << 11
    random = Script([0, edge - 1, edge, (1 << 64) - 1])
    assert random.coins(numerator, 4).tolist() == [True, True, False, False]
    assert not Script([0]).coins(0, 1)[0]
    assert Script([(1 << 64) - 1]).coins(1 << 53, 1)[0]


@given(bound=st.integers(1, 2**32), word=st.integers(0, 2**32 - 1))
def test_below_keeps_or_redraws_exactly_as_lemire_says(bound: int, word: int) -> None:
    kept = (word * bound) % 2**32 >= 2**32 % bound
    # one scripted word holds two 32-bit draws, the low half first
    second = 2**32 - 1  # kept for every bound
    random = Script([word, second])
    value = int(random.below(bound, 1)[0])
    assert value == ((word * bound) >> 32 if kept else (second * bound) >> 32)


@given(bound=st.integers(1, 2000), data=st.data())
def test_every_value_of_below_is_kept_for_equally_many_words(bound: int, data: st.DataObject) -> None:
    """The words that give a value are a run of floor(2^32 / bound): its ends are kept, their neighbours are not."""
    value = data.draw(st.integers(0, bound - 1))
    first = -(-(value * 2**32 + 2**32 % bound) // bound)
    last = first + 2**32 // bound - 1
    elsewhere = 2**32 - 1 if value < bound - 1 else 2**32 % bound  # a word that is kept, for another value
    assume(bound > 1)
    for word, kept in ((first - 1, False), (first, True), (last, True), (last + 1, False)):
        if 0 <= word < 2**32:
            assert (int(Script([word, elsewhere]).below(bound, 1)[0]) == value) is kept


@SOURCES
@pytest.mark.parametrize("bound", [1, 2, 7, 100])
def test_below_is_uniform(source: Callable[[int], Random], bound: int) -> None:
    random = source(7)
    drawn = random.below(np.full(50_000, bound), 50_000)
    assert goodness(np.bincount(drawn, minlength=bound), np.full(bound, 1 / bound)) > 1e-4
    assert drawn.max() < bound


@SOURCES
@pytest.mark.parametrize(("population", "size"), [(5, 2), (16, 2), (6, 5)])
def test_every_subset_is_equally_likely(source: Callable[[int], Random], population: int, size: int) -> None:
    random = source(7)
    index = {subset: i for i, subset in enumerate(combinations(range(population), size))}
    counts = np.zeros(len(index), dtype=np.int64)
    for _ in range(6_000):
        counts[index[tuple(random.subset(population, size).tolist())]] += 1
    assert goodness(counts, np.full(len(index), 1 / len(index))) > 1e-4


@given(population=st.integers(0, 400), share=st.floats(0, 1), seed=st.integers(0, 99))
def test_a_subset_is_ascending_distinct_and_of_the_size_asked(population: int, share: float, seed: int) -> None:
    size = round(share * population)
    chosen = SimulationRandom(seed).subset(population, size)
    assert len(chosen) == size
    assert (np.diff(chosen) > 0).all()
    assert size == 0 or (chosen[0] >= 0 and chosen[-1] < population)


def test_bounds_beyond_32_bits_are_refused_and_each_redraw_keeps_its_own_bound() -> None:
    with pytest.raises(ParameterError, match="bounds"):
        SimulationRandom(0).below(2**32 + 1, 1)
    # the first of two draws is refused and drawn again with its own bound
    random = Script([(5 << 32) | 0, 2**32 - 1])
    assert random.below([3, 10], 2).tolist() == [2, (5 * 10) >> 32]
